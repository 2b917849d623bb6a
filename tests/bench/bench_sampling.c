/* Measures what sampling costs a command. Makes ROUNDS rounds of three runs in varying order: without sampling, as the laboratory
 * samples runs, and as `stat` does. bench_sampling ROUNDS COMMAND [ARG]...
 *
 * Prints one line per run: round, way of sampling (0, 1, 2), user and system time of the command in us, number of samples. Fails if a
 * command is never sampled. */
#include "base/mem.h"
#include "fleet/engine/local_command.h"
#include "gate/profile/sampled.h"
#include "runs/running/execute.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WITHOUT, AS_RUNS, AS_HERE, WAYS };

static uint64_t samples[WAYS];

static int run(const char *const *words, size_t n, int round, int way)
{
	const struct local_command command = { .words = words,
					       .n = n,
					       .sample = way != WITHOUT,
					       .sample_ns = way == AS_RUNS ? EXECUTE_SAMPLE_NS : 0,
					       .timeout_ms = 600 * 1000 };
	static struct sampled sampled;
	struct local_report said;
	struct assay_error err;

	sampled = (struct sampled){ .n = 0 };
	if (local_command_run(&command, &said, &err) || !said.ok) {
		fprintf(stderr, "%s: %s\n", words[0], said.ok ? err.text : said.fault);
		return 1;
	}
	if (said.samples && sampled_add(&sampled, said.samples, words[0], NULL, &err))
		fprintf(stderr, "%s\n", err.text);
	printf("%d,%d,%" PRId64 ",%" PRIu64 "\n", round, way, said.result.user_us + said.result.sys_us, sampled.user + sampled.kernel);
	fflush(stdout);
	samples[way] += sampled.user + sampled.kernel;
	local_report_release(&said);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0, failed = rounds < 1;

	for (int round = 0; round < rounds && !failed; round++)
		for (int turn = 0; turn < WAYS && !failed; turn++) /* balances the order of the three ways */
			failed = run((const char *const *)argv + 2, (size_t)argc - 2, round,
				     (round % 2 ? WAYS - 1 - turn + round : turn + round) % WAYS);
	for (int way = AS_RUNS; way < WAYS && !failed; way++) {
		failed = samples[way] == 0;
		if (failed)
			fprintf(stderr, "%s was never sampled\n", argv[2]);
	}
	return failed;
}
