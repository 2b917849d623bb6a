#include "base/mem.h"

#include "base/error.h"

static void *check_allocation(void *p, size_t bytes)
{
	if (!p) {
		fprintf(stderr, "assay: out of memory (%zu bytes asked for)\n", bytes);
		exit(1);
	}
	return p;
}

static size_t checked_product(size_t count, size_t size)
{
	size_t bytes;

	ASSAY_BUG_IF(__builtin_mul_overflow(count, size, &bytes));
	return bytes ? bytes : 1;
}

void *mem_new(size_t count, size_t size)
{
	size_t bytes = checked_product(count, size);

	return check_allocation(calloc(1, bytes), bytes);
}

void *mem_resize(void *old, size_t count, size_t size)
{
	size_t bytes = checked_product(count, size);

	return check_allocation(realloc(old, bytes), bytes);
}

char *mem_bytes(const char *bytes, size_t n)
{
	char *copy = mem_new(n + 1, 1);

	memcpy(copy, bytes, n);
	return copy;
}

char *mem_string(const char *text)
{
	return mem_bytes(text, strlen(text));
}

char *mem_vformat(const char *fmt, va_list args)
{
	char *text = NULL;

	return check_allocation(vasprintf(&text, fmt, args) < 0 ? NULL : text, 0);
}

char *mem_format(const char *fmt, ...)
{
	char *text;

	mem_format_va(text, fmt);
	return text;
}

void *mem_grow(void *array, size_t used, size_t *capacity, size_t size)
{
	if (array && used < *capacity)
		return array;
	*capacity = used < 8 ? 16 : 2 * used;
	return mem_resize(array, *capacity, size);
}

void mem_free_each(void *const *pointers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(pointers[i]);
}

void mem_free_all(void *array, size_t n)
{
	mem_free_each(array, n);
	free(array);
}
