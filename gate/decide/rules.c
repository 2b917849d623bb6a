#include "gate/decide/rules.h"

#include "base/error.h"

#define RULE_ROW(constant, code, decision, performance, processor, own, same_build, disturbed, text)                                       \
	{ code, text, decision, performance, processor, own, same_build, disturbed },

static const struct {
	const char *code, *text;
	enum decision decision;
	unsigned performance, processor, own;
	enum rule_condition same_build, disturbed;
} rules[RULES] = { RULE_ROWS(RULE_ROW) };

static bool meets(enum rule_condition condition, bool value)
{
	return condition == RULE_EITHER || (condition == RULE_YES) == value;
}

enum rule rule_of(const struct rule_input *in)
{
	enum rule rule = 0;

	ASSAY_BUG_IF(in->performance >= DECISIONS || in->processor > RULE_UNKNOWN || in->own > RULE_UNKNOWN);
	while (rule < RULES && !(rules[rule].performance & 1u << in->performance && rules[rule].processor & 1u << in->processor &&
				 rules[rule].own & 1u << in->own && meets(rules[rule].same_build, in->same_build) &&
				 meets(rules[rule].disturbed, in->disturbed)))
		rule++;
	return rule;
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
