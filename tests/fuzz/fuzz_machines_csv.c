/* Hardware from machines.csv: no machine is made, and what is taken can be written into the catalog and read again. */
#include "runs/running/quiho.c"

#include "tests/fuzz/small_catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	struct catalog catalog = small_catalog();
	struct assay_error err = { .text = "" };
	struct csv_use use;

	if (quiho_machines_parse("fuzz", text, size, &catalog, &use, &err))
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n') || use.left_out);
	if (use.left_out)
		ASSAY_BUG_IF(strncmp(use.first.text, "fuzz:", 5) != 0 || strchr(use.first.text, '\n'));
	ASSAY_BUG_IF(catalog.n != 2);
	small_catalog_check(&catalog);
	catalog_release(&catalog);
	free(text);
	return 0;
}
