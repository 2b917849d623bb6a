/* Checks that accepted features are sorted, have unique printable names and finite values, and are the same if written and read again. */
#include "base/mem.h"
#include "runs/inside/features/run_features.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct run_features *f)
{
	struct buf text = BUF_INIT;
	struct run_features again;
	struct assay_error err;

	for (size_t i = 0; i < f->n; i++) {
		ASSAY_BUG_IF(i && strcmp(f->items[i - 1].name, f->items[i].name) >= 0);
		ASSAY_BUG_IF(!isfinite(f->items[i].value) || !f->items[i].name[0] || strchr(f->items[i].name, '\n'));
		ASSAY_BUG_IF(run_features_find(f, f->items[i].name) != &f->items[i]);
	}
	run_features_print(f, &text);
	ASSAY_BUG_IF(run_features_text_parse(text.bytes ? text.bytes : "", text.size, &again, &err));
	ASSAY_BUG_IF(again.n != f->n);
	for (size_t i = 0; i < f->n; i++)
		ASSAY_BUG_IF(strcmp(f->items[i].name, again.items[i].name) != 0 || f->items[i].value != again.items[i].value);
	run_features_release(&again);
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	char name[] = "fuzz";
	const struct run_features_file file = { name, (char *)(uintptr_t)data, size };
	struct run_features f;

	if (run_features_parse(&file, 1, &f, &err))
		ASSAY_BUG_IF(!err.text[0]);
	else
		check(&f);
	run_features_release(&f);
	if (run_features_text_parse((const char *)data, size, &f, &err))
		ASSAY_BUG_IF(!err.text[0]);
	else
		check(&f);
	run_features_release(&f);
	return 0;
}
