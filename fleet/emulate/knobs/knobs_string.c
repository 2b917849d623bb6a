/* String functions that do their work ASSAY_KNOB_STRINGS times more. Preloaded into every program of an emulated host. The functions are
 * those of the C library, so that a long text is slowed as much as a short one; until they are found, which may call some of these, there
 * are simple ones. */
#include <dlfcn.h>
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

/* name, what is returned, parameters */
#define REAL(X)                                                                                                                            \
	X(memcpy, void *, (void *, const void *, size_t))                                                                                  \
	X(memmove, void *, (void *, const void *, size_t))                                                                                 \
	X(memset, void *, (void *, int, size_t))                                                                                           \
	X(memcmp, int, (const void *, const void *, size_t))                                                                               \
	X(memchr, void *, (const void *, int, size_t))                                                                                     \
	X(strlen, size_t, (const char *))                                                                                                  \
	X(strnlen, size_t, (const char *, size_t))                                                                                         \
	X(strcmp, int, (const char *, const char *))                                                                                       \
	X(strncmp, int, (const char *, const char *, size_t))                                                                              \
	X(strchr, char *, (const char *, int))                                                                                             \
	X(strrchr, char *, (const char *, int))

#define REAL_MEMBER(name, type, parameters) type(*name) parameters;
#define REAL_FIND(name, type, parameters)   find(&real.name, #name, sizeof(real.name));

static struct {
	REAL(REAL_MEMBER)
} real;			 /* NULL: not found yet */
static unsigned further; /* times, besides the one that counts */

/* ISO C has no cast from an object's address to a function's. */
static void find(void *pointer, const char *name, size_t n)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	const unsigned char *from = (const unsigned char *)&symbol;
	unsigned char *to = pointer;

	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

__attribute__((constructor)) static void start(void)
{
	const char *level = getenv("ASSAY_KNOB_STRINGS");
	unsigned times = 0;

	for (; level && *level >= '0' && *level <= '9' && times < 1000; level++)
		times = times * 10 + (unsigned)(*level - '0');
	REAL(REAL_FIND)
	further = times;
}

/* What the C library's function gives, after it has done so `further` times; falls through where it is not known yet. */
#define REALLY(name, ...)                                                                                                                  \
	do {                                                                                                                               \
		for (unsigned pass_ = 0; real.name && pass_ < further; pass_++)                                                            \
			real.name(__VA_ARGS__);                                                                                            \
		if (real.name)                                                                                                             \
			return real.name(__VA_ARGS__);                                                                                     \
	} while (0)

static void copy_up(unsigned char *to, const unsigned char *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		STEP;
	}
}

void *memcpy(void *to, const void *from, size_t n)
{
	REALLY(memcpy, to, from, n);

	copy_up(to, from, n);
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	/* Where it is and where it goes may overlap: it is read again, not moved again. */
	for (unsigned pass = 0; real.memmove && pass < further; pass++)
		real.memcmp(from, from, n);
	if (real.memmove)
		return real.memmove(to, from, n);
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

	REALLY(memset, to, c, n);
	for (size_t i = 0; i < n; i++) {
		t[i] = (unsigned char)c;
		STEP;
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;
	size_t i = 0;

	REALLY(memcmp, a, b, n);
	while (i < n && x[i] == y[i]) {
		i++;
		STEP;
	}
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

	REALLY(memchr, s, c, n);
	while (i < n && b[i] != (unsigned char)c) {
		i++;
		STEP;
	}
	return i < n ? unconst(b + i) : NULL;
}

size_t strnlen(const char *s, size_t n)
{
	size_t i = 0;

	REALLY(strnlen, s, n);
	while (i < n && s[i]) {
		i++;
		STEP;
	}
	return i;
}

size_t strlen(const char *s)
{
	REALLY(strlen, s);

	return strnlen(s, (size_t)-1);
}

int strncmp(const char *a, const char *b, size_t n)
{
	const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
	size_t i = 0;

	REALLY(strncmp, a, b, n);
	while (i < n && x[i] && x[i] == y[i]) {
		i++;
		STEP;
	}
	return i < n ? x[i] - y[i] : 0;
}

int strcmp(const char *a, const char *b)
{
	REALLY(strcmp, a, b);

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

	REALLY(strchr, s, c);
	while (s[i] && s[i] != (char)c) {
		i++;
		STEP;
	}
	return s[i] == (char)c ? unconst(s + i) : NULL;
}

char *strrchr(const char *s, int c)
{
	size_t i = strlen(s) + 1;

	REALLY(strrchr, s, c);
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
