/* String functions as a machine without clever ones would run them: byte by byte, and ASSAY_KNOB_STRINGS times over the bytes.
 * Preloaded into every program of an emulated host. Nothing is called from here: a call could end in one of these. */
#include <stddef.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* Keeps the compiler from doing better than one byte at a time. */
#define STEP __asm__ volatile("" ::: "memory")

/* The headers' prototypes come with nonnull and restrict; these are the same functions. Four of the names cannot be written in this
 * project (base/banned.h). */
EXPORT void *memcpy(void *to, const void *from, size_t n);
EXPORT void *memmove(void *to, const void *from, size_t n);
EXPORT void *memset(void *to, int c, size_t n);
EXPORT int memcmp(const void *a, const void *b, size_t n);
EXPORT void *memchr(const void *s, int c, size_t n);
EXPORT size_t strlen(const char *s);
EXPORT size_t strnlen(const char *s, size_t n);
EXPORT int strcmp(const char *a, const char *b);
EXPORT int strncmp(const char *a, const char *b, size_t n);
EXPORT char *naive_strcpy(char *to, const char *from) __asm__("strcpy");
EXPORT char *naive_strncpy(char *to, const char *from, size_t n) __asm__("strncpy");
EXPORT char *naive_strcat(char *to, const char *from) __asm__("strcat");
EXPORT char *naive_strncat(char *to, const char *from, size_t n) __asm__("strncat");
EXPORT char *strchr(const char *s, int c);
EXPORT char *strrchr(const char *s, int c);
EXPORT char *index(const char *s, int c);
EXPORT char *rindex(const char *s, int c);

static unsigned further; /* passes over the bytes, besides the one that does the work */

__attribute__((constructor)) static void start(void)
{
	const char *level = getenv("ASSAY_KNOB_STRINGS");
	unsigned passes = 0;

	for (; level && *level >= '0' && *level <= '9' && passes < 1000; level++)
		passes = passes * 10 + (unsigned)(*level - '0');
	further = passes ? passes - 1 : 0;
}

static void read_again(const void *bytes, size_t n)
{
	const volatile unsigned char *b = bytes;

	for (unsigned pass = 0; pass < further; pass++) {
		for (size_t i = 0; i < n; i++)
			(void)b[i];
	}
}

static void copy_up(unsigned char *to, const unsigned char *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		STEP;
	}
}

void *memcpy(void *to, const void *from, size_t n)
{
	read_again(from, n);
	copy_up(to, from, n);
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	read_again(from, n);
	if (t <= f || t >= f + n) {
		copy_up(t, f, n);
		return to;
	}
	while (n--) {
		t[n] = f[n];
		STEP;
	}
	return to;
}

void *memset(void *to, int c, size_t n)
{
	unsigned char *t = to;

	for (size_t i = 0; i < n; i++) {
		t[i] = (unsigned char)c;
		STEP;
	}
	read_again(to, n);
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;
	size_t i = 0;

	while (i < n && x[i] == y[i]) {
		i++;
		STEP;
	}
	read_again(a, i);
	return i < n ? x[i] - y[i] : 0;
}

/* Casting const away is what the standard's own prototypes ask for. */
static void *unconst(const void *p)
{
	union {
		const void *from;
		void *to;
	} u = { .from = p };

	return u.to;
}

void *memchr(const void *s, int c, size_t n)
{
	const unsigned char *b = s;
	size_t i = 0;

	while (i < n && b[i] != (unsigned char)c) {
		i++;
		STEP;
	}
	read_again(s, i);
	return i < n ? unconst(b + i) : NULL;
}

size_t strnlen(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i]) {
		i++;
		STEP;
	}
	read_again(s, i);
	return i;
}

size_t strlen(const char *s)
{
	return strnlen(s, (size_t)-1);
}

int strncmp(const char *a, const char *b, size_t n)
{
	const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
	size_t i = 0;

	while (i < n && x[i] && x[i] == y[i]) {
		i++;
		STEP;
	}
	read_again(a, i);
	return i < n ? x[i] - y[i] : 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, (size_t)-1);
}

char *naive_strcpy(char *to, const char *from)
{
	memcpy(to, from, strlen(from) + 1);
	return to;
}

char *naive_strncpy(char *to, const char *from, size_t n)
{
	size_t length = strnlen(from, n);

	memcpy(to, from, length);
	memset(to + length, 0, n - length);
	return to;
}

char *naive_strncat(char *to, const char *from, size_t n)
{
	size_t end = strlen(to), length = strnlen(from, n);

	memcpy(to + end, from, length);
	to[end + length] = '\0';
	return to;
}

char *naive_strcat(char *to, const char *from)
{
	return naive_strncat(to, from, (size_t)-1);
}

char *strchr(const char *s, int c)
{
	size_t i = 0;

	while (s[i] && s[i] != (char)c) {
		i++;
		STEP;
	}
	read_again(s, i);
	return s[i] == (char)c ? unconst(s + i) : NULL;
}

char *strrchr(const char *s, int c)
{
	size_t i = strlen(s) + 1;

	while (i && s[i - 1] != (char)c) {
		i--;
		STEP;
	}
	return i ? unconst(s + i - 1) : NULL;
}

char *index(const char *s, int c)
{
	return strchr(s, c);
}

char *rindex(const char *s, int c)
{
	return strrchr(s, c);
}
