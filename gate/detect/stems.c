#include "gate/detect/stems.h"

#include "base/mem.h"
#include "runs/inside/changes/functions.h"

#include <string.h>

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void stems_add(struct stems *names, const char *symbol)
{
	names->items = mem_grow(names->items, names->n, &names->capacity, sizeof(names->items[0]));
	names->items[names->n++] = mem_bytes(symbol, functions_stem(symbol));
}

void stems_sort(struct stems *names)
{
	size_t kept = 0;

	if (names->n)
		qsort(names->items, names->n, sizeof(names->items[0]), by_text);
	for (size_t i = 0; i < names->n; i++) {
		if (kept && strcmp(names->items[kept - 1], names->items[i]) == 0)
			free(names->items[i]);
		else
			names->items[kept++] = names->items[i];
	}
	names->n = kept;
}

size_t stems_find(const struct stems *names, const char *symbol)
{
	char *stem = mem_bytes(symbol, functions_stem(symbol));
	const char *key = stem;
	char **found = names->n ? bsearch(&key, names->items, names->n, sizeof(names->items[0]), by_text) : NULL;

	free(stem);
	return found ? (size_t)(found - names->items) : SIZE_MAX;
}

void stems_release(struct stems *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct stems){ .items = NULL };
}

void stems_of(const struct side *side, struct stems *out)
{
	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++) {
			const struct samples *s = &side->runs[r].files[f];

			for (size_t k = 0; k < s->n_functions; k++)
				if (s->functions[k].n)
					stems_add(out, s->functions[k].name);
		}
		stems_sort(out); /* of each run, so that the list stays short */
	}
}
