#include "gate/cmd_parse.h"

#include "base/cli.h"
#include "base/text.h"

double cmd_parse_min_effect(const char *arg, const struct argp_state *state)
{
	double fraction = 0;

	if (!text_double(arg, &fraction) || fraction < 1e-6 || fraction > 1)
		cli_refuse(state, "--min-effect is a fraction between 0.000001 and 1 (0.05 is 5 %%), not '%s'", arg);
	return fraction;
}

bool cmd_parse_is_paper(const char *arg, const struct argp_state *state)
{
	bool paper = strcmp(arg, "paper") == 0;

	if (!paper && strcmp(arg, "time") != 0)
		cli_refuse(state, "unknown model '%s': there are time and paper", arg);
	return paper;
}
