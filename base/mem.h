/* Allocation that never returns NULL. Callers first check sizes from outside against a named limit. A failure therefore means that the
 * machine is out of memory: the program prints one line and exits. Free the results with free(). */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

/* Returns count * size zeroed bytes. `count` may be 0. Aborts if the product overflows. */
void *mem_new(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Resizes `old` to count * size bytes, like reallocarray(). New bytes are not zeroed. */
void *mem_resize(void *old, size_t count, size_t size) __attribute__((returns_nonnull, warn_unused_result));
char *mem_string(const char *text) __attribute__((malloc, returns_nonnull));
char *mem_bytes(const char *bytes, size_t n) __attribute__((malloc, returns_nonnull)); /* returns a copy of n bytes, followed by a NUL */
char *mem_format(const char *fmt, ...) __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));
/* Sets `text` to the formatted text, inside a function whose parameters end with `fmt, ...`. The caller frees the text. */
#define mem_format_va(text, fmt)                                                                                                           \
	do {                                                                                                                               \
		va_list following;                                                                                                         \
		va_start(following, fmt);                                                                                                  \
		(text) = mem_vformat(fmt, following);                                                                                      \
		va_end(following);                                                                                                         \
	} while (0)
char *mem_vformat(const char *fmt, va_list args) __attribute__((malloc, returns_nonnull, format(printf, 1, 0)));

/* Returns `array` with room for one more element after its `used` elements. If the array is full, moves it and updates *capacity. */
void *mem_grow(void *array, size_t used, size_t *capacity, size_t size) __attribute__((returns_nonnull, warn_unused_result));
/* Appends the value given as last argument to `array`, and increases `used`. */
#define mem_append(array, used, capacity, ...)                                                                                             \
	((array) = mem_grow(array, used, capacity, sizeof(*(array))), (void)((array)[(used)++] = __VA_ARGS__))

/* Appends an element, increases `used`, and returns a pointer to the element, which is not zeroed. */
#define mem_append_slot(array, used, capacity) ((array) = mem_grow(array, used, capacity, sizeof(*(array))), &(array)[(used)++])
/* Calls free() for each argument. Arguments may be NULL. */
#define mem_free(...) mem_free_each((void *[]){ __VA_ARGS__ }, sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *))
void mem_free_each(void *const *pointers, size_t n);
/* Frees each of the n pointers in `array`, then the array itself. `array` may be NULL if n is 0. */
void mem_free_all(void *array, size_t n);
/* Calls release() for each element of array[0..n), then frees `array`. */
#define mem_release_all(array, n, release)                                                                                                 \
	do {                                                                                                                               \
		for (size_t each = 0; each < (n); each++)                                                                                  \
			release(&(array)[each]);                                                                                           \
		free(array);                                                                                                               \
	} while (0)

#endif
