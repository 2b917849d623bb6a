/* Allocation that never returns NULL. Sizes from outside are checked against a named limit before, so failure means that the machine is out
 * of memory: the program ends with one line. Free with free(). */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

/* Returns count * size bytes, zeroed; aborts if the product overflows. count may be 0. */
void *mem_new(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Resizes like reallocarray; new bytes are not zeroed. */
void *mem_resize(void *old, size_t count, size_t size) __attribute__((returns_nonnull, warn_unused_result));
char *mem_string(const char *text) __attribute__((malloc, returns_nonnull));
char *mem_bytes(const char *bytes, size_t n) __attribute__((malloc, returns_nonnull)); /* n bytes and a final NUL */
char *mem_format(const char *fmt, ...) __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));
/* Formats the text in a function with `fmt, ...`. free() it. */
#define mem_formatted(text, fmt)                                                                                                           \
	do {                                                                                                                               \
		va_list following;                                                                                                         \
		va_start(following, fmt);                                                                                                  \
		(text) = mem_format_list(fmt, following);                                                                                  \
		va_end(following);                                                                                                         \
	} while (0)
char *mem_format_list(const char *fmt, va_list args) __attribute__((malloc, returns_nonnull, format(printf, 1, 0)));

/* Returns `array` with room for one more element after `used` ones, moved if it was full; updates *capacity. */
void *mem_grow(void *array, size_t used, size_t *capacity, size_t size) __attribute__((returns_nonnull, warn_unused_result));
/* Appends the last argument as an element; increases `used`. */
#define mem_append(array, used, capacity, ...)                                                                                             \
	((array) = mem_grow(array, used, capacity, sizeof(*(array))), (void)((array)[(used)++] = __VA_ARGS__))

/* Appends an element, not zeroed, and returns a pointer to it; increases `used`. */
#define mem_next(array, used, capacity) ((array) = mem_grow(array, used, capacity, sizeof(*(array))), &(array)[(used)++])
/* Calls free() for each; accepts NULL. */
#define mem_free(...) mem_free_each((void *[]){ __VA_ARGS__ }, sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *))
void mem_free_each(void *const *pointers, size_t n);
/* Frees each of n elements that an array points to, and the array (may be NULL if n is 0). */
void mem_free_all(void *array, size_t n);
/* Calls release() for each of array[0..n), and frees the array. */
#define mem_release_all(array, n, release)                                                                                                 \
	do {                                                                                                                               \
		for (size_t each = 0; each < (n); each++)                                                                                  \
			release(&(array)[each]);                                                                                           \
		free(array);                                                                                                               \
	} while (0)

#endif
