/* Reads calibration.json, which comes from git. Checks that an accepted file is written with the same contents, and can be quoted. */
#include "base/mem.h"
#include "gate/comparison/calibration.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct calibration first, second;
	enum assay_status st = calibration_parse("c", (const char *)data, size, &first, &err);
	char *text, *again;

	ASSAY_BUG_IF((st != ASSAY_OK) != (*err.text != '\0'));
	if (st)
		return 0;
	text = calibration_to_json(&first);
	ASSAY_BUG_IF(calibration_parse("c", text, strlen(text), &second, &err));
	again = calibration_to_json(&second);
	ASSAY_BUG_IF(strcmp(text, again) != 0);
	free(calibration_quote_make(&first, first.n ? first.items[0].application : "", NULL, 0, 0, 30).stale);
	free(again);
	free(text);
	calibration_release(&second);
	calibration_release(&first);
	return 0;
}
