/* Checks that a selector that is accepted equals its two parts with '@' between them, and that both are valid names. */
#include "base/mem.h"
#include "runs/running/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size), *application = NULL, *version = NULL, *again;
	struct assay_error err = { .text = "" };

	if (run_parse_selector(text, &application, &version, &err)) {
		ASSAY_BUG_IF(application || version || !*err.text || strchr(err.text, '\n'));
		ASSAY_BUG_IF(!run_name_fault(text)); /* a valid name is a selector, too */
	} else {
		again = mem_format("%s%s%s", application, version ? "@" : "", version ? version : "");
		ASSAY_BUG_IF(strcmp(text, again) != 0 || run_name_fault(application) || (version && run_name_fault(version)));
		free(again);
	}
	free(application);
	free(version);
	free(text);
	return 0;
}
