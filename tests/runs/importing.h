/* Imports files of rates and of results into a laboratory, as `assay import` does. Include this header before tests/scratch.h. */
#ifndef TESTS_IMPORTING_H
#define TESTS_IMPORTING_H

#include "base/mem.h"
#include "runs/running/foreign.h"
#include "runs/running/imported.h"

#include <string.h>

/* Imports the text `csv` as file "f.csv". Overwrites *result. */
static inline enum assay_status import_rates(struct lab *lab, const char *csv, struct imported_result *result, struct assay_error *err)
{
	const struct imported_options options = { .file = "d/f.csv", .version = IMPORTED_NAME };
	char *text = mem_string(csv);
	struct imported read;
	enum assay_status st = imported_read_machines(options.file, text, strlen(text), &read, err);

	if (!st)
		st = imported_store(lab, &read, &options, result, err);
	imported_release(&read);
	free(text);
	return st;
}

static inline enum assay_status import_results(struct lab *lab, const char *csv, const char *version, struct imported_result *result,
					       struct assay_error *err)
{
	const struct imported_options options = { .file = "d/f.csv", .version = version };
	const struct foreign_options how = { .name = options.file, .tool = FOREIGN_CSV };
	char *text = mem_string(csv);
	struct foreign_result read;
	enum assay_status st = foreign_read(text, strlen(text), &how, &read, err);

	if (!st)
		st = imported_store(lab, &read.imported, &options, result, err);
	foreign_release(&read);
	free(text);
	return st;
}

#endif
