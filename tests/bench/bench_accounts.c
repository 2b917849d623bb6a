/* Measures what collecting the kernel's resource usage counters costs a command. Makes ROUNDS rounds of two runs in alternating order.
 * One run is bare; the helper makes the other one as it makes all runs, without samples. This program reads the output through a pipe.
 *
 *    bench_accounts ROUNDS COMMAND [ARG]...
 *
 * Prints one line per run: round, way (0: bare, 1: with counters), user and system time of the command in us, its wall-clock time in ns,
 * user and system time of the helper in us (0 for a bare run). Fails if a counter is missing, except for the number of started
 * processes, which is unknown after process ids have wrapped around. */
#include "base/clock.h"
#include "fleet/engine/local_command.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BARE, WITH_ACCOUNTS, WAYS };

struct cost {
	int64_t command_us, wall_ns, helper_us;
};

static int64_t cpu_us(const struct rusage *u)
{
	return 1000000 * (int64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) + u->ru_utime.tv_usec + u->ru_stime.tv_usec;
}

/* Reads and discards all output until both ends are closed. */
static void drain(const int ends[2])
{
	struct pollfd from[2] = { { .fd = ends[0], .events = POLLIN }, { .fd = ends[1], .events = POLLIN } };
	static char bytes[65536];

	while (from[0].fd >= 0 || from[1].fd >= 0) {
		if (poll(from, 2, -1) < 0)
			continue;
		for (int i = 0; i < 2; i++) {
			if (from[i].revents && read(from[i].fd, bytes, sizeof(bytes)) <= 0) {
				close(from[i].fd);
				from[i].fd = -1;
			}
		}
	}
}

static bool run_bare(char *const *words, struct cost *out)
{
	int of_out[2], of_err[2], status = -1;
	struct rusage used;
	int64_t begun = clock_monotonic_ns();
	pid_t pid = pipe(of_out) || pipe(of_err) ? -1 : fork();

	if (pid == 0) {
		setsid();
		if (freopen("/dev/null", "r", stdin) && dup2(of_out[1], 1) == 1 && dup2(of_err[1], 2) == 2) {
			for (int i = 0; i < 2; i++) {
				close(of_out[i]);
				close(of_err[i]);
			}
			execvp(words[0], words);
		}
		_exit(127);
	}
	if (pid < 0)
		return false;
	close(of_out[1]);
	close(of_err[1]);
	drain((const int[2]){ of_out[0], of_err[0] });
	if (wait4(pid, &status, 0, &used) != pid)
		return false;
	*out = (struct cost){ cpu_us(&used), clock_monotonic_ns() - begun, 0 };
	return WIFEXITED(status) && WEXITSTATUS(status) != 127;
}

static bool run_by_helper(char *const *words, size_t n, struct cost *out)
{
	const struct local_command command = { .words = (const char *const *)words, .n = n, .timeout_ms = 600 * 1000 };
	struct rusage before, after;
	struct local_report said;
	struct assay_error err;
	bool ok;

	getrusage(RUSAGE_CHILDREN, &before);
	if (local_command_run(&command, &said, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return false;
	}
	getrusage(RUSAGE_CHILDREN, &after);
	ok = said.ok && said.result.minor_faults >= 0 && said.result.run_delay_ns >= 0 && said.result.read_bytes >= 0 &&
	     said.result.processes > 0;
	*out = (struct cost){ said.result.user_us + said.result.sys_us, said.result.wall_ns, 0 };
	out->helper_us = cpu_us(&after) - cpu_us(&before) - out->command_us;
	local_report_release(&said);
	return ok;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0;
	bool ok = rounds > 0;

	for (int i = 0; i < rounds * WAYS && ok; i++) {
		int round = i / WAYS, way = (i + round) % WAYS;
		struct cost cost;

		ok = way == BARE ? run_bare(argv + 2, &cost) : run_by_helper(argv + 2, (size_t)argc - 2, &cost);
		if (ok)
			printf("%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 "\n", round, way, cost.command_us, cost.wall_ns, cost.helper_us);
		fflush(stdout);
	}
	if (!ok)
		fprintf(stderr, "bench_accounts: %s: it failed, or an account of it is missing\n", argc > 2 ? argv[2] : "no command");
	return !ok;
}
