/* Writes record files of a simulated run whose disturbances are known: tool_variance DIRECTORY RANKS SECONDS [OPTION]...
 * [RANK:FROM:TO:KIND:FACTOR]...
 * Options: run=NUMBER of the recording; killed=PID: the process of the first file, which then has no end; unset: the clock is in 1970;
 * set=SECONDS: the clock was set forward by so much before the last rank started; one: all ranks on one host; host=NAME: prefix of host
 * names; whole: the work of SECONDS undisturbed seconds, however long it takes; silent: no counters of the operating system; counted,
 * coupled, halves: see made_run.h. KIND: queue, stop, slow, faults, work, nobody, throttled, steal, clock. */
#include "tests/gate/made_run.h"

#include <stdio.h>
#include <stdlib.h>

static bool disturbance_parse(const char *text, struct made_disturbance *d)
{
	static const char *const kinds[MADE_KINDS] = { "queue", "stop", "slow", "faults", "work", "nobody", "throttled", "steal", "clock" };
	char kind[16];

	if (sscanf(text, "%d:%lf:%lf:%15[a-z]:%lf", &d->rank, &d->from_s, &d->to_s, kind, &d->factor) != 5)
		return false;
	for (int k = 0; k < MADE_KINDS; k++)
		if (kinds[k] && strcmp(kind, kinds[k]) == 0) {
			d->kind = (enum made_kind)k;
			return true;
		}
	return false;
}

int main(int argc, char **argv)
{
	struct made_disturbance disturbances[16];
	struct made_options o = { .noise = .01, .seed = 1, .disturbances = disturbances };

	if (argc < 4)
		return 2;
	o.ranks = (int)strtol(argv[2], NULL, 10);
	o.seconds = strtod(argv[3], NULL);
	for (int i = 4; i < argc; i++) {
		if (strcmp(argv[i], "counted") == 0)
			o.counted = true;
		else if (strcmp(argv[i], "coupled") == 0)
			o.coupled = true;
		else if (strcmp(argv[i], "halves") == 0)
			o.halves = true;
		else if (strncmp(argv[i], "run=", 4) == 0)
			o.recording = strtoul(argv[i] + 4, NULL, 10);
		else if (strncmp(argv[i], "host=", 5) == 0)
			o.host = argv[i] + 5;
		else if (strcmp(argv[i], "one") == 0)
			o.is_one_host = true;
		else if (strncmp(argv[i], "set=", 4) == 0) {
			o.set = o.ranks;
			o.set_s = strtod(argv[i] + 4, NULL);
		} else if (strcmp(argv[i], "unset") == 0)
			o.unset = true;
		else if (strncmp(argv[i], "killed=", 7) == 0)
			o.killed = strtoul(argv[i] + 7, NULL, 10);
		else if (strcmp(argv[i], "silent") == 0)
			o.uncounted_system = true;
		else if (strcmp(argv[i], "whole") == 0)
			o.steps = (size_t)(o.seconds / (MADE_STEP_S + 2 * MADE_CALL_S));
		else if (o.n >= 16 || !disturbance_parse(argv[i], &disturbances[o.n++]))
			return 2;
	}
	return o.ranks < 1 || o.ranks > 4096 ? 2 : made_run(argv[1], &o) != 0;
}
