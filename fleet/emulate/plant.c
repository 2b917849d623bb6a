#include "fleet/emulate/plant.h"

#include "fleet/cgroup/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (16u << 20) /* larger than a core's share of most last-level caches */
#define LINE_BYTES   64u
#define CALLS	     64u
#define ROUNDS	     20000u

ROWS_FUNCTION(injection_kind_name, enum injection_kind, INJECTION_ROWS, ROWS_CODE)
ROWS_FUNCTION(injection_kind_text, enum injection_kind, INJECTION_ROWS, ROWS_TEXT)

bool injection_parse(const char *text, struct injection *out)
{
	for (int kind = 0; kind < INJECTION_KINDS; kind++) {
		const char *word = injection_kind_name((enum injection_kind)kind), *digits = text + strlen(word);
		unsigned percent = 0;

		if (strncmp(text, word, strlen(word)) != 0 || *digits < '1' || *digits > '9' || strlen(digits) > 3 ||
		    strspn(digits, "0123456789") != strlen(digits))
			continue;
		while (*digits)
			percent = 10 * percent + (unsigned)(*digits++ - '0');
		if (percent > INJECTION_PERCENT_MAX)
			return false;
		*out = (struct injection){ (enum injection_kind)kind, percent };
		return true;
	}
	return false;
}

void injection_format(const struct injection *plant, char text[INJECTION_TEXT_BYTES])
{
	snprintf(text, INJECTION_TEXT_BYTES, "%s%u", injection_kind_name(plant->kind), plant->percent % 1000);
}

/* ---- using CPU time ---- */

static int64_t own_cpu_ns(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) ? 0 : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void spend_computing(void)
{
	static volatile unsigned long long sink;
	unsigned long long x = sink;

	for (unsigned i = 0; i < ROUNDS; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

/* Writes once to each cache line of a part of the buffer, so that the lines are fetched and written back. */
static void spend_memory_traffic(unsigned char *buffer)
{
	static size_t at;

	for (unsigned i = 0; i < 1024; i++, at = (at + LINE_BYTES) % BUFFER_BYTES)
		((volatile unsigned char *)buffer)[at]++;
}

static void spend_system_calls(void)
{
	for (unsigned i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
}

static void spend_cpu_time(enum injection_kind kind, int64_t until_ns)
{
	unsigned char *buffer = kind == INJECTION_MEMORY ? malloc(BUFFER_BYTES) : NULL;

	while (own_cpu_ns() < until_ns) {
		if (buffer)
			spend_memory_traffic(buffer);
		else if (kind == INJECTION_CALLS)
			spend_system_calls();
		else
			spend_computing();
	}
	free(buffer);
}

/* ---- the wrapper process ---- */

static uint64_t read_run_delay(pid_t id)
{
	char text[128];
	const char *delay;

	process_text(text, sizeof(text), "/proc/%d/schedstat", (int)id);
	delay = strchr(text, ' ');
	return delay ? strtoull(delay, NULL, 10) : 0;
}

/* Waits for the command, uses the CPU time and ends like the command. A signal to the whole process group also ends this process. */
static _Noreturn void wait_and_inject(pid_t id, const struct injection *plant, int64_t begun_ns, uint64_t *delay_ns)
{
	siginfo_t info;
	struct rusage usage;
	int status = 0;
	int64_t ns;

	while (waitid(P_PID, (id_t)id, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	*delay_ns = read_run_delay(id);
	while (waitpid(id, &status, 0) < 0 && errno == EINTR)
		;
	getrusage(RUSAGE_CHILDREN, &usage);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
		_exit(128 + WTERMSIG(status));
	}
	ns = ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	     ((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	spend_cpu_time(plant->kind, begun_ns + ns / 100 * plant->percent); /* this includes CPU time that the wrapper has used */
	_exit(WEXITSTATUS(status));
}

int injection_fork(const struct injection *plant, int close_fd, uint64_t *delay_ns)
{
	int64_t begun_ns = own_cpu_ns();
	pid_t id = fork();

	if (id == 0)
		return 0;
	if (id < 0)
		return -1;
	close(close_fd);
	/* The wrapper must not keep the input of the command open. */
	close(0);
	wait_and_inject(id, plant, begun_ns, delay_ns);
}
