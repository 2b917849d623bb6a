#include "gate/nightly/decision.h"

#define RULE_ROW(constant, code, decision, when, text) { code, text, decision },
static const struct {
	const char *code, *text;
	enum decision decision;
} rules[DECISION_RULES] = { DECISION_RULE_ROWS(RULE_ROW) };

#define RULE_WHEN(constant, code, decision, when, text)                                                                                    \
	if (when)                                                                                                                          \
		return constant;

enum decision_rule decision_rule_of(const struct decision_input *in)
{
	bool slower = in->verdict == DECISION_REGRESSION;

	ASSAY_BUG_IF(in->verdict >= DECISIONS || in->fresh > FRESH_NOT_SEEN);
	DECISION_RULE_ROWS(RULE_WHEN)
	return DECISION_RULES;
}

const char *decision_rule_code(enum decision_rule rule)
{
	ASSAY_BUG_IF(rule >= DECISION_RULES);
	return rules[rule].code;
}

const char *decision_rule_text(enum decision_rule rule)
{
	ASSAY_BUG_IF(rule >= DECISION_RULES);
	return rules[rule].text;
}

enum decision decision_rule_decision(enum decision_rule rule)
{
	ASSAY_BUG_IF(rule >= DECISION_RULES);
	return rules[rule].decision;
}
