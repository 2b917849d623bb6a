/* Checks that a machine from machine_parse(), written, read and written again, is the same text, and that its file name is safe. */
#include "fingerprint/catalog/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_file_name(const char *id)
{
	char *name = machine_file_name(id);

	ASSAY_BUG_IF(name[0] == '.' || strchr(name, '/') || strlen(name) > 255);
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct machine machine;
	char *text, *again;

	if (machine_parse("fuzz", (const char *)data, size, &machine, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n'));
		ASSAY_BUG_IF(machine.id || machine.fingerprints);
		return 0;
	}
	ASSAY_BUG_IF(machine_check_id(machine.id, NULL));
	check_file_name(machine.id);
	text = machine_to_json(&machine);
	machine_release(&machine);
	if (machine_parse("fuzz", text, strlen(text), &machine, &err)) {
		fprintf(stderr, "%s\n%s\n", err.text, text);
		ASSAY_BUG_IF("what was written cannot be read" != NULL);
	}
	again = machine_to_json(&machine);
	ASSAY_BUG_IF(strcmp(text, again) != 0);
	machine_release(&machine);
	free(again);
	free(text);
	return 0;
}
