/* Types from a file: what is given can be written into the catalog and read again; errors name the file. */
#include "fingerprint/catalog/types.h"

#include "tests/fuzz/small_catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct lab_config config = { 0 };
	char *text = mem_bytes((const char *)data, size);
	struct catalog catalog = small_catalog();
	struct assay_error err = { .text = "" };
	struct types types;
	struct csv_use use;

	if (types_read_file("fuzz", text, size, &catalog, &use, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n') || use.left_out);
	} else {
		const struct machine *m1 = catalog_find(&catalog, "m1");

		if (use.left_out)
			ASSAY_BUG_IF(strncmp(use.first.text, "fuzz:", 5) != 0 || strchr(use.first.text, '\n'));
		ASSAY_BUG_IF((use.used > 0) != (m1->fingerprints[0].type || m1->fingerprints[1].type));
		types_of(&catalog, &config, &types);
		ASSAY_BUG_IF(types.n < 1 || types.n > 2 || types.n_members != 2);
		types_release(&types);
	}
	small_catalog_check(&catalog);
	catalog_release(&catalog);
	free(text);
	return 0;
}
