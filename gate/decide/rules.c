#include "gate/decide/rules.h"

#include "base/error.h"

enum rule rule_of(const struct rule_input *in)
{
	enum { R = 1u << DECISION_REGRESSION, I = 1u << DECISION_IMPROVED, P = 1u << DECISION_PASS, U = 1u << DECISION_INCONCLUSIVE };
	enum { NONE = 1u << RULE_UNKNOWN, ANY = R | I | P | U };
	unsigned performance = 1u << in->performance, processor = 1u << in->processor, own = 1u << in->own;

	ASSAY_BUG_IF(in->performance >= DECISIONS || in->processor > RULE_UNKNOWN || in->own > RULE_UNKNOWN);
	RULE_ROWS(RULE_WHEN)
	return RULES;
}

ROWS_FUNCTION(rule_code, enum rule, RULE_ROWS, RULE_CODE)
ROWS_FUNCTION(rule_text, enum rule, RULE_ROWS, RULE_TEXT)

enum decision rule_decision(enum rule rule)
{
	static const enum decision decisions[] = { RULE_ROWS(RULE_DECISION) };

	ASSAY_BUG_IF(rule >= RULES);
	return decisions[rule];
}

bool rule_by_processor(enum rule rule)
{
	return rule == RULE_COMPUTES_MORE || rule == RULE_HIDDEN || rule == RULE_ALIKE_BUT_BUSY || rule == RULE_BETTER_BUT_BUSY;
}
