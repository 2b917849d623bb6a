/* Options that several commands of this folder have. Each takes what stands behind the option, and refuses what it cannot be. */
#ifndef GATE_CMD_PARSE_H
#define GATE_CMD_PARSE_H

#include <argp.h>
#include <stdbool.h>

double cmd_parse_min_effect(const char *arg, const struct argp_state *state); /* --min-effect FRACTION */
bool cmd_parse_is_paper(const char *arg, const struct argp_state *state);     /* --model NAME of a profile: paper, else time */

#endif
