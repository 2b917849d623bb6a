/* String functions that repeat their work ASSAY_KNOB_STRINGS times, preloaded into all programs of an emulated host. The C library's own
 * functions do the work, so that long texts slow down as much as short ones. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* Functions that can be repeated with the same arguments. Each row is X(name, result, parameters, arguments). The prototypes in the headers
 * also have nonnull and restrict. */
#define FUNCTIONS(X)                                                                                                                       \
	X(memcpy, void *, (void *to, const void *from, size_t n), (to, from, n))                                                           \
	X(memset, void *, (void *to, int c, size_t n), (to, c, n))                                                                         \
	X(memcmp, int, (const void *a, const void *b, size_t n), (a, b, n))                                                                \
	X(memchr, void *, (const void *s, int c, size_t n), (s, c, n))                                                                     \
	X(strlen, size_t, (const char *s), (s))                                                                                            \
	X(strnlen, size_t, (const char *s, size_t n), (s, n))                                                                              \
	X(strcmp, int, (const char *a, const char *b), (a, b))                                                                             \
	X(strncmp, int, (const char *a, const char *b, size_t n), (a, b, n))                                                               \
	X(strchr, char *, (const char *s, int c), (s, c))                                                                                  \
	X(strrchr, char *, (const char *s, int c), (s, c))
#define MEMMOVE(X) X(memmove, void *, (void *to, const void *from, size_t n), (to, from, n))

#define REAL_MEMBER(name, type, parameters, arguments) type(*name) parameters;
#define REAL_FIND(name, type, parameters, arguments)   find(&real.name, #name, sizeof(real.name));

static struct {
	FUNCTIONS(REAL_MEMBER)
	MEMMOVE(REAL_MEMBER)
} real;				   /* NULL until they are found: constructors of other libraries may run before this library's */
static unsigned extra_repetitions; /* number of additional repetitions */

/* Finds a function and stores its address bytewise, because ISO C does not allow a cast from `void *` to a function pointer. */
static void find(void *pointer, const char *name, size_t n)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	const unsigned char *from = (const unsigned char *)&symbol;
	unsigned char *to = pointer;

	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

static void find_all(void)
{
	MEMMOVE(REAL_FIND)
	FUNCTIONS(REAL_FIND)
}

__attribute__((constructor)) static void start(void)
{
	const char *level = getenv("ASSAY_KNOB_STRINGS");
	unsigned times = 0;

	for (; level && *level >= '0' && *level <= '9' && times < 1000; level++)
		times = times * 10 + (unsigned)(*level - '0');
	find_all();
	extra_repetitions = times;
}

#define DEFINE(name, type, parameters, arguments)                                                                                          \
	EXPORT type name parameters;                                                                                                       \
	type name parameters                                                                                                               \
	{                                                                                                                                  \
		if (!real.name)                                                                                                            \
			find_all();                                                                                                        \
		for (unsigned pass = 0; pass < extra_repetitions; pass++)                                                                  \
			real.name arguments;                                                                                               \
		return real.name arguments;                                                                                                \
	}
FUNCTIONS(DEFINE)

/* Four functions have other names in C, because base/banned.h forbids the real ones. */
EXPORT void *memmove(void *to, const void *from, size_t n);
EXPORT char *string_copy(char *to, const char *from) __asm__("strcpy");
EXPORT char *string_copy_n(char *to, const char *from, size_t n) __asm__("strncpy");
EXPORT char *string_add(char *to, const char *from) __asm__("strcat");
EXPORT char *string_add_n(char *to, const char *from, size_t n) __asm__("strncat");
EXPORT char *index(const char *s, int c);
EXPORT char *rindex(const char *s, int c);

/* Repeats only the reading. The source and the destination may overlap, so the copy must be made once. */
void *memmove(void *to, const void *from, size_t n)
{
	if (!real.memmove)
		find_all();
	for (unsigned pass = 0; pass < extra_repetitions; pass++)
		real.memcmp(from, from, n);
	return real.memmove(to, from, n);
}

char *string_copy(char *to, const char *from)
{
	memcpy(to, from, strlen(from) + 1);
	return to;
}

char *string_copy_n(char *to, const char *from, size_t n)
{
	size_t length = strnlen(from, n);

	memcpy(to, from, length);
	memset(to + length, 0, n - length);
	return to;
}

char *string_add_n(char *to, const char *from, size_t n)
{
	size_t end = strlen(to), length = strnlen(from, n);

	memcpy(to + end, from, length);
	to[end + length] = '\0';
	return to;
}

char *string_add(char *to, const char *from)
{
	return string_add_n(to, from, (size_t)-1);
}

char *index(const char *s, int c)
{
	return strchr(s, c);
}

char *rindex(const char *s, int c)
{
	return strrchr(s, c);
}
