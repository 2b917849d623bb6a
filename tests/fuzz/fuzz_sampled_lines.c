/* Reads a host's source lines of sampled addresses. Checks that the addresses are dropped or become lines, in the stored form. */
#include "base/mem.h"
#include "runs/running/sampled_lines.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char directory[] = "/home/b000", path[] = "program", source[] = "/nonexistent/program";
	struct artefact_file file = { .path = path, .source = source };
	const struct artefact files = { .files = &file, .n = 1 };
	const struct sampled_directory deployed = { directory, &files };
	struct sampled_lines lines = { .n = 0 };
	char *text = mem_bytes((const char *)data, size), *out = sampled_lines_add(&lines, text, &deployed, 1);
	const char *rest = out;
	struct sampled_line line;

	ASSAY_BUG_IF(strlen(out) > strlen(text) + 1);
	while (sampled_lines_next(&rest, &line)) {
		ASSAY_BUG_IF(line.file < out || line.file + line.file_bytes >= line.function);
		ASSAY_BUG_IF(line.function + line.function_bytes > rest || memchr(line.function, '\n', line.function_bytes));
	}
	free(out);
	free(text);
	sampled_lines_release(&lines);
	return 0;
}
