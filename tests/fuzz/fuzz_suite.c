/* Checks that a suite.yaml that is accepted satisfies the contract in suite.h, and that errors name a place in the file. */
#include "gate/nightly/suite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct suite s;

	if (suite_parse("fuzz", (const char *)data, size, &s, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n') || s.entries);
		return 0;
	}
	ASSAY_BUG_IF(s.n < 1 || s.n > SUITE_ENTRIES_MAX || s.machines < 1 || s.deadline_minute >= 1440 || !*s.releases || !*s.battery);
	for (size_t i = 0; i < s.n; i++) {
		const struct suite_entry *e = &s.entries[i];

		ASSAY_BUG_IF(!*e->application || e->baseline_kind.n < 1 || !(e->min_effect >= 0 && e->min_effect <= 1) ||
			     !(e->budget_s >= 0));
	}
	ASSAY_BUG_IF(s.deadline_minute >= 0 && suite_deadline_ms(&s, 1000) <= 1000);
	suite_release(&s);
	return 0;
}
