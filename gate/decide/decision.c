/* The words, exit statuses and colours of a decision, and the rule that makes one. */
#include "base/stats.h"
#include "gate/decide/effect.h"

#include <math.h>

static const struct {
	const char *text;
	int exit_status;
} rows[] = {
#define ROW(name, text, exit_status) [name] = { text, exit_status },
	DECISION_ROWS(ROW)
#undef ROW
};

const char *decision_text(enum decision decision)
{
	ASSAY_BUG_IF((size_t)decision >= sizeof(rows) / sizeof(rows[0]));
	return rows[decision].text;
}

int decision_exit(enum decision decision)
{
	ASSAY_BUG_IF((size_t)decision >= sizeof(rows) / sizeof(rows[0]));
	return rows[decision].exit_status;
}

int decision_colour(enum decision decision)
{
	switch (decision) {
	case DECISION_PASS:
	case DECISION_IMPROVED:
		return 36;
	case DECISION_REGRESSION:
		return 166;
	default:
		return 214;
	}
}

enum decision effect_decide(double ratio, double low, double high, double min_effect)
{
	double matters = stats_round(1 + min_effect), mirror = stats_round(1 / (1 + min_effect));

	if (isnan(ratio) || isnan(low) || isnan(high))
		return DECISION_INCONCLUSIVE;
	ratio = stats_round(ratio);
	low = stats_round(low);
	high = stats_round(high);
	if (low > 1 && ratio >= matters)
		return DECISION_REGRESSION;
	if (high < 1 && ratio <= mirror)
		return DECISION_IMPROVED;
	return high < matters ? DECISION_PASS : DECISION_INCONCLUSIVE;
}
