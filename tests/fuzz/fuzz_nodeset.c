/* Checks that a node set, expanded, folded and expanded again, is the same set of names, and that errors contain the text. */
#include "base/mem.h"
#include "fleet/inventory/nodeset.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the names and removes duplicates. */
static void tidy(struct nodeset *set)
{
	size_t kept = 0;

	if (set->n)
		qsort(set->names, set->n, sizeof(char *), compare);
	for (size_t i = 0; i < set->n; i++) {
		if (kept && strcmp(set->names[kept - 1], set->names[i]) == 0)
			free(set->names[i]);
		else
			set->names[kept++] = set->names[i];
	}
	set->n = kept;
}

static void check_set(struct nodeset *set)
{
	char *folded = nodeset_fold((const char *const *)set->names, set->n);
	struct assay_error err;
	struct nodeset again;
	size_t n;

	for (size_t i = 0; i < set->n; i++) {
		ASSAY_BUG_IF(!*set->names[i] || strlen(set->names[i]) > NODESET_NAME_BYTES_MAX);
		ASSAY_BUG_IF(strpbrk(set->names[i], ",[]\n\t\033"));
	}
	ASSAY_BUG_IF(nodeset_expand(folded, &again, &err));
	n = again.n;
	tidy(set);
	tidy(&again);
	ASSAY_BUG_IF(again.n != n || set->n != n); /* no name occurs twice */
	for (size_t i = 0; i < n; i++)
		ASSAY_BUG_IF(strcmp(set->names[i], again.names[i]) != 0);
	nodeset_release(&again);
	free(folded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	struct assay_error err = { .text = "" };
	struct nodeset set;

	if (nodeset_expand(text, &set, &err)) {
		ASSAY_BUG_IF(set.names || err.text[0] != '\'' || !strstr(err.text, "', character ") || strchr(err.text, '\n'));
	} else {
		ASSAY_BUG_IF(set.n == 0 || set.n > NODESET_NAMES_MAX);
		check_set(&set);
		nodeset_release(&set);
	}
	free(text);
	return 0;
}
