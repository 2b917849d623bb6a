/* What sampling costs a command: PAIRS runs with it and without, in turn.
 *
 *   bench_sampling PAIRS COMMAND [ARG]...
 *
 * prints a line a run: pair, sampled (0, 1), user and system time of the command in microseconds, samples. It fails where nothing is
 * sampled. */
#include "base/mem.h"
#include "fleet/engine/local_command.h"
#include "gate/profile/sampled.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int run(const char *const *words, size_t n, int pair, bool sample)
{
	const struct local_command command = { .words = words, .n = n, .sample = sample, .timeout_ms = 600 * 1000 };
	static struct sampled sampled;
	struct local_said said;
	struct assay_error err;

	sampled = (struct sampled){ .n = 0 };
	if (local_command_run(&command, &said, &err) || !said.ok) {
		fprintf(stderr, "%s: %s\n", words[0], said.ok ? err.text : said.fault);
		return 1;
	}
	if (said.samples && sampled_add(&sampled, said.samples, words[0], NULL, &err))
		fprintf(stderr, "%s\n", err.text);
	printf("%d,%d,%" PRId64 ",%" PRIu64 "\n", pair, sample, said.result.user_us + said.result.sys_us, sampled.user + sampled.kernel);
	fflush(stdout);
	if (sample && sampled.user + sampled.kernel == 0)
		fprintf(stderr, "nothing was sampled:\n%s", said.samples ? said.samples : "");
	local_said_release(&said);
	return sample && sampled.user + sampled.kernel == 0;
}

int main(int argc, char **argv)
{
	int pairs = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0, failed = pairs < 1;

	for (int pair = 0; pair < pairs && !failed; pair++)
		for (int turn = 0; turn < 2 && !failed; turn++)
			failed = run((const char *const *)argv + 2, (size_t)argc - 2, pair, (pair + turn) % 2);
	return failed;
}
