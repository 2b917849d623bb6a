/* Reads a stored resource usage of a run, partly from a host. Checks that each value that is accepted is a number or unknown. */
#include "base/mem.h"
#include "fleet/agent/signature.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	char *text = mem_bytes((const char *)data, size);
	struct run_usage run_usage;
	enum assay_status st = run_usage_parse(text, &run_usage, &err);

	ASSAY_BUG_IF((st != ASSAY_OK) != (*err.text != '\0'));
	ASSAY_BUG_IF(!st && (run_usage.counters.wall_ns < -1 || run_usage.counters.tick_ns < -1));
	run_usage_release(&run_usage);
	free(text);
	return 0;
}
