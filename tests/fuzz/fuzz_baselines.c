/* Checks that each baselines.yaml that is accepted satisfies the contract in baselines.h, and that errors name a place in the file. */
#include "gate/nightly/baselines.h"
#include "runs/running/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct baselines all;

	if (baselines_parse("fuzz", (const char *)data, size, &all, &err))
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n'));
	else
		for (size_t i = 0; i < all.n; i++) {
			const struct baseline *b = &all.items[i], *found = baselines_find(&all, b->application, b->until_ms - 1);

			ASSAY_BUG_IF(run_name_fault(b->application) || run_name_fault(b->version) || !b->reason || b->until_ms <= 0);
			ASSAY_BUG_IF(!found || found < b || found->until_ms < b->until_ms);
		}
	baselines_release(&all);
	return 0;
}
