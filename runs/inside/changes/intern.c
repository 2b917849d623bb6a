#include "runs/inside/changes/intern.h"

#include "base/mem.h"

static void intern_grow(struct intern *intern)
{
	size_t capacity = intern->capacity;

	intern->texts = mem_grow(intern->texts, intern->n, &intern->capacity, sizeof(*intern->texts));
	if (capacity != intern->capacity)
		intern->previous = mem_resize(intern->previous, intern->capacity, sizeof(*intern->previous));
}

static const char *intern_among(const struct intern *intern, const char *bytes, size_t n, size_t last)
{
	for (size_t i = last; i != SIZE_MAX; i = intern->previous[i])
		if (!strncmp(intern->texts[i], bytes, n) && !intern->texts[i][n])
			return intern->texts[i];
	return NULL;
}

const char *intern_find(const struct intern *intern, const char *text)
{
	size_t n = strlen(text), last = SIZE_MAX;

	map_get(&intern->by_hash, map_hash(text, n), &last);
	return intern_among(intern, text, n, last);
}

const char *intern_bytes(struct intern *intern, const char *bytes, size_t n)
{
	uint64_t hash = map_hash(bytes, n);
	const char *found;
	size_t last = SIZE_MAX;

	map_get(&intern->by_hash, hash, &last);
	found = intern_among(intern, bytes, n, last);
	if (found)
		return found;
	intern_grow(intern);
	intern->texts[intern->n] = mem_bytes(bytes, n);
	intern->previous[intern->n] = last;
	map_set(&intern->by_hash, hash, intern->n);
	return intern->texts[intern->n++];
}

const char *intern_text(struct intern *intern, const char *text)
{
	return intern_bytes(intern, text, strlen(text));
}

/* Takes the last component off clean[0..n), unless it is ".." itself: the new length. */
static size_t path_up(const char *clean, size_t n, bool absolute)
{
	size_t start = n;

	while (start && clean[start - 1] != '/')
		start--;
	if (n - start == 2 && !memcmp(clean + start, "..", 2))
		return SIZE_MAX;
	if (n == start)
		return absolute ? n : SIZE_MAX;
	return start > 1 ? start - 1 : start;
}

static void path_add(char *clean, size_t *n, const char *part, size_t length, bool absolute)
{
	size_t shorter;

	if (!length || (length == 1 && part[0] == '.'))
		return;
	if (length == 2 && !memcmp(part, "..", 2)) {
		shorter = path_up(clean, *n, absolute);
		if (shorter != SIZE_MAX) {
			*n = shorter;
			return;
		}
	}
	if (*n && clean[*n - 1] != '/')
		clean[(*n)++] = '/';
	memcpy(clean + *n, part, length);
	*n += length;
}

const char *intern_path(struct intern *intern, const char *directory, const char *path)
{
	char *whole = path[0] == '/' || !directory ? mem_string(path) : mem_format("%s/%s", directory, path);
	char *clean = mem_new(strlen(whole) + 2, 1);
	bool absolute = whole[0] == '/';
	const char *result;
	size_t n = 0;

	if (absolute)
		clean[n++] = '/';
	for (const char *at = whole; *at;) {
		size_t length = strcspn(at, "/");

		path_add(clean, &n, at, length, absolute);
		at += length + (at[length] == '/');
	}
	result = intern_bytes(intern, clean, n);
	mem_free(clean, whole);
	return result;
}

void intern_release(struct intern *intern)
{
	mem_free_all(intern->texts, intern->n);
	free(intern->previous);
	map_release(&intern->by_hash);
	*intern = (struct intern){ .texts = NULL };
}
