/* The signature of a run as it is stored, of which the samples are a host's: what is not refused is a number or not known. */
#include "base/mem.h"
#include "fleet/agent/signature.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	char *text = mem_bytes((const char *)data, size);
	struct signature signature;
	enum assay_status st = signature_parse(text, &signature, &err);

	ASSAY_BUG_IF((st != ASSAY_OK) != (*err.text != '\0'));
	ASSAY_BUG_IF(!st && (signature.of.wall_ns < -1 || signature.of.tick_ns < -1));
	signature_release(&signature);
	free(text);
	return 0;
}
