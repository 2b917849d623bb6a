/* Allocation that does not return NULL: sizes from outside are checked against a named limit before they come here, so
 * failure means that the machine is out of memory, and the program ends with one line. Free with free(). */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

/* count * size bytes, zeroed; a product that overflows aborts. count may be 0. */
void *mem_new(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Like reallocarray; new bytes are not zeroed. */
void *mem_resize(void *old, size_t count, size_t size) __attribute__((returns_nonnull, warn_unused_result));
char *mem_string(const char *text) __attribute__((malloc, returns_nonnull));
char *mem_bytes(const char *bytes, size_t n) __attribute__((malloc, returns_nonnull)); /* n bytes and a final NUL */
char *mem_format(const char *fmt, ...) __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));
/* In a function of `fmt, ...`: the text that they make. free() it. */
#define mem_formatted(text, fmt)                                                                                                           \
	do {                                                                                                                               \
		va_list following;                                                                                                         \
		va_start(following, fmt);                                                                                                  \
		(text) = mem_format_list(fmt, following);                                                                                  \
		va_end(following);                                                                                                         \
	} while (0)
char *mem_format_list(const char *fmt, va_list args) __attribute__((malloc, returns_nonnull, format(printf, 1, 0)));

/* Room for one more element after `used` ones: returns `array`, moved when full, and updates *capacity. */
void *mem_grow(void *array, size_t used, size_t *capacity, size_t size) __attribute__((returns_nonnull, warn_unused_result));
/* That element, which the last argument is; `used` counts it. */
#define mem_append(array, used, capacity, ...)                                                                                             \
	((array) = mem_grow(array, used, capacity, sizeof(*(array))), (void)((array)[(used)++] = __VA_ARGS__))

/* A pointer to that element, not zeroed, which `used` counts then. */
#define mem_next(array, used, capacity) ((array) = mem_grow(array, used, capacity, sizeof(*(array))), &(array)[(used)++])
/* free() of each; NULL is accepted. */
#define mem_free(...) mem_free_each((void *[]){ __VA_ARGS__ }, sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *))
void mem_free_each(void *const *pointers, size_t n);
/* Frees each of n things that an array points to, and the array, which may be NULL where n is 0. */
void mem_free_all(void *array, size_t n);
/* release() of each of array[0..n), and frees the array. */
#define mem_release_all(array, n, release)                                                                                                 \
	do {                                                                                                                               \
		for (size_t each = 0; each < (n); each++)                                                                                  \
			release(&(array)[each]);                                                                                           \
		free(array);                                                                                                               \
	} while (0)

#endif
