#include "gate/nightly/decision.h"

#define RULE_ROW(constant, code, decision, verdicts, left_out, fresh, control, chance, alike, crashes, text)                               \
	{ code, text, decision, verdicts, fresh, left_out, control, chance, alike, crashes },

static const struct {
	const char *code, *text;
	enum decision decision;
	unsigned verdicts, fresh;
	enum decision_condition left_out, control, chance, alike, crashes;
} rules[DECISION_RULES] = { DECISION_RULE_ROWS(RULE_ROW) };

static bool meets(enum decision_condition condition, bool value)
{
	return condition == DECISION_EITHER || (condition == DECISION_YES) == value;
}

enum decision_rule decision_rule_of(const struct decision_input *in)
{
	enum decision_rule rule = 0;

	ASSAY_BUG_IF(in->verdict >= DECISIONS || in->fresh > FRESH_NOT_SEEN);
	while (rule < DECISION_RULES &&
	       !(rules[rule].verdicts & 1u << in->verdict && rules[rule].fresh & 1u << in->fresh &&
		 meets(rules[rule].left_out, in->left_out) && meets(rules[rule].control, in->control_moved) &&
		 meets(rules[rule].chance, in->chance) && meets(rules[rule].alike, in->alike) && meets(rules[rule].crashes, in->crashes)))
		rule++;
	return rule;
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
