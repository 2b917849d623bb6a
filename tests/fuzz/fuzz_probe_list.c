/* Tests the parser that the probe runs inside another program: the list's entries are words of its text, in order, one per valid line. */
#include "runs/inside/probe/probe_list.c"

#include "base/error.h"
#include "base/mem.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void probe_report(const char *text, const char *more, int errnum)
{
	(void)text, (void)more, (void)errnum;
}

static bool is_within(const char *word, const char *text, size_t size)
{
	return word > text && strlen(word) > 0 && word + strlen(word) <= text + size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	struct probe_list list = { .n = 0 };
	size_t lines = 1, functions = 0, bad;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	for (size_t i = 0; i + 1 < size; i++)
		functions += (i == 0 || text[i - 1] == '\n') && memcmp(text + i, "f ", 2) == 0;
	list.items = mem_new(lines, sizeof(list.items[0]));
	bad = list_parse(text, size, &list);
	ASSAY_BUG_IF(list.n > functions || bad > lines || (bad != 0) != (list.n < functions));
	for (size_t i = 0; i < list.n; i++) {
		const struct probe_entry *e = &list.items[i];

		ASSAY_BUG_IF(!is_within(e->module, text, size) || !is_within(e->name, text, size));
		ASSAY_BUG_IF(strpbrk(e->module, " \n") || strchr(e->name, '\n'));
		ASSAY_BUG_IF(e->name <= e->module || (i && e->module <= list.items[i - 1].name));
	}
	free(list.items);
	free(text);
	return 0;
}
