#include "gate/decide/rules.h"

#include "base/error.h"

#define RULE_ROW(constant, code, decision, when, text) { code, text, decision },
static const struct {
	const char *code, *text;
	enum decision decision;
} rules[RULES] = { RULE_ROWS(RULE_ROW) };

#define RULE_WHEN(constant, code, decision, when, text)                                                                                    \
	if (when)                                                                                                                          \
		return constant;

enum rule rule_of(const struct rule_input *in)
{
	enum { R = 1u << DECISION_REGRESSION, I = 1u << DECISION_IMPROVED, P = 1u << DECISION_PASS, U = 1u << DECISION_INCONCLUSIVE };
	enum { NONE = 1u << RULE_UNKNOWN };
	unsigned performance = 1u << in->performance, processor = 1u << in->processor, own = 1u << in->own;

	ASSAY_BUG_IF(in->performance >= DECISIONS || in->processor > RULE_UNKNOWN || in->own > RULE_UNKNOWN);
	RULE_ROWS(RULE_WHEN)
	return RULES;
}

const char *rule_code(enum rule rule)
{
	ASSAY_BUG_IF(rule >= RULES);
	return rules[rule].code;
}

const char *rule_text(enum rule rule)
{
	ASSAY_BUG_IF(rule >= RULES);
	return rules[rule].text;
}

enum decision rule_decision(enum rule rule)
{
	ASSAY_BUG_IF(rule >= RULES);
	return rules[rule].decision;
}

bool rule_by_processor(enum rule rule)
{
	return rule == RULE_COMPUTES_MORE || rule == RULE_HIDDEN || rule == RULE_ALIKE_BUT_BUSY || rule == RULE_BETTER_BUT_BUSY;
}
