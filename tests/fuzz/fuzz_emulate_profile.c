/* Checks that a profile that is accepted is within its limits, and that errors name the file. */
#include "base/mem.h"
#include "fleet/emulate/emulate_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_limits(const struct emulate_profile *p)
{
	unsigned sum = 0;

	for (int i = 0; i < EMULATE_CLASSES; i++) {
		ASSAY_BUG_IF(p->divisions[i] > EMULATE_CLASS_DIVISIONS_MAX);
		sum += p->divisions[i];
	}
	ASSAY_BUG_IF(sum > EMULATE_DIVISIONS_MAX);
	ASSAY_BUG_IF(p->hog_mib > 64 || p->hog_percent > 100 || !p->hog_mib != !p->hog_percent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct emulate_profile p;
	struct assay_error err = { .text = "" };

	if (emulate_profile_parse("fuzz", "p", (const char *)data, size, &p, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0);
		return 0;
	}
	check_limits(&p);
	emulate_profile_release(&p);
	return 0;
}
