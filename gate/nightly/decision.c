#include "gate/nightly/decision.h"

#define RULE_CODE(constant, code, decision, when, text)	    code,
#define RULE_TEXT(constant, code, decision, when, text)	    text,
#define RULE_DECISION(constant, code, decision, when, text) decision,
#define RULE_WHEN(constant, code, decision, when, text)                                                                                    \
	if (when)                                                                                                                          \
		return constant;

enum decision_rule decision_rule_of(const struct decision_input *in)
{
	bool slower = in->verdict == DECISION_REGRESSION;

	ASSAY_BUG_IF(in->verdict >= DECISIONS || in->fresh > FRESH_DISTURBED);
	DECISION_RULE_ROWS(RULE_WHEN)
	return DECISION_RULES;
}

ROWS_FUNCTION(decision_rule_code, enum decision_rule, DECISION_RULE_ROWS, RULE_CODE)
ROWS_FUNCTION(decision_rule_text, enum decision_rule, DECISION_RULE_ROWS, RULE_TEXT)

enum decision decision_rule_decision(enum decision_rule rule)
{
	static const enum decision decisions[] = { DECISION_RULE_ROWS(RULE_DECISION) };

	ASSAY_BUG_IF(rule >= DECISION_RULES);
	return decisions[rule];
}
