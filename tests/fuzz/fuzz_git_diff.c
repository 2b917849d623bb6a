/* Reads the output of git diff. Checks that each hunk names a file and counts its lines correctly, and that errors name a line. */
#include "base/mem.h"
#include "runs/inside/changes/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = { .hunks = NULL };
	struct assay_error err = { .text = "" };
	size_t lines = 1, claimed = 0;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	if (source_parse((const char *)data, size, &source, &err))
		ASSAY_BUG_IF(!strstr(err.text, "output of git diff"));
	for (size_t i = 0; i < source.n_hunks; i++) {
		const struct hunk *hunk = &source.hunks[i];

		claimed += (size_t)hunk->old.lines + hunk->new.lines + 1;
		ASSAY_BUG_IF(hunk->old.file && strlen(hunk->old.file) > size);
		ASSAY_BUG_IF(hunk->new.file &&strlen(hunk->new.file) > size);
	}
	ASSAY_BUG_IF(claimed > lines);
	source_release(&source);
	return 0;
}
