/* The counting program: a static program that the controller installs on a host if counters are requested (protocol: counting.h). It is not
 * a part of the helper, because PAPI's tables are ten times as large as the helper. The helper runs it and ends its processes.
 *
 * counting check    does nothing; tests whether this machine can execute the program */
#include "fleet/counting/count.h"
#include "fleet/counting/pack.h"
#include "fleet/counting/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(PACK_EVENTS_MAX == COUNTING_EVENTS_MAX, "as many can be packed as can be asked for");

/* ---- the counted command ---- */

struct command {
	pid_t id;
	int gate; /* write end of a pipe; closing it without writing a byte ends the child without the command */
};

static volatile sig_atomic_t command_id;

static void pass_on_signal(int signal_number)
{
	if (command_id > 0)
		kill((pid_t)command_id, signal_number);
}

static void handle_signal(int signal_number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(signal_number, &action, NULL);
}

static _Noreturn void command_exec(char *const *words, int gate, pid_t parent)
{
	char go;

	handle_signal(SIGINT, SIG_DFL);
	handle_signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || read(gate, &go, 1) != 1)
		_exit(127);
	execvp(words[0], words);
	fprintf(stderr, "cannot execute '%s': %s\n", words[0], strerror(errno));
	_exit(127);
}

/* Forks a child that waits for a byte from a pipe and then executes the command. From now on, this process passes SIGINT and SIGTERM on to
 * the child and does not end at them. Returns false with errno on failure. */
static bool command_prepare(char *const *words, struct command *out)
{
	pid_t parent = getpid();
	int gate[2];

	if (pipe2(gate, O_CLOEXEC))
		return false;
	handle_signal(SIGINT, pass_on_signal);
	handle_signal(SIGTERM, pass_on_signal);
	out->id = fork();
	if (out->id == 0) {
		close(gate[1]);
		command_exec(words, gate[0], parent);
	}
	command_id = out->id;
	close(gate[0]);
	out->gate = gate[1];
	return out->id > 0;
}

static int command_wait(pid_t id)
{
	int status = 0;

	while (waitpid(id, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Lets the child execute the command and waits for its end. Returns a status of waitpid(2). The exit status is 127 if execution fails. */
static int command_run(struct command *command)
{
	if (write(command->gate, "g", 1) != 1)
		kill(command->id, SIGKILL);
	close(command->gate);
	return command_wait(command->id);
}

/* Ends the waiting child without running the command. */
static void command_release(struct command *command)
{
	close(command->gate);
	command_wait(command->id);
}

/* Ends this process like the command: with the same exit status, or by the same signal. */
static _Noreturn void exit_like_command(int status)
{
	struct rlimit none = { 0, 0 };

	if (WIFSIGNALED(status)) {
		setrlimit(RLIMIT_CORE, &none);
		handle_signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* ---- plan ---- */

/* The events of one family that can be counted. */
struct event_family {
	const char *names[COUNTING_EVENTS_MAX];
	int handles[COUNTING_EVENTS_MAX];
	size_t n;
};

struct event_families {
	struct pack_table table; /* must be the first member */
	const struct count_backend *way;
	const struct event_family *found;
};

static bool fits_in_run(const struct pack_table *table, const size_t *events, size_t n)
{
	const struct event_families *t = (const struct event_families *)table;
	int handles[COUNTING_EVENTS_MAX];

	for (size_t i = 0; i < n; i++)
		handles[i] = t->found->handles[events[i]];
	return t->way->fits(handles, n);
}

static bool is_requested_name(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static void find_events(const struct count_backend *way, char *const *names, size_t n, const char *refused, struct event_family *out)
{
	char why[COUNTING_REASON_BYTES];

	out->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!way->knows(names[i]) || is_requested_name(names, i, names[i]))
			continue;
		if (refused)
			printf("absent %s %s\n", names[i], refused);
		else if (!way->find(names[i], &out->handles[out->n], why))
			printf("absent %s %s\n", names[i], why);
		else
			out->names[out->n++] = names[i];
	}
}

static size_t find_event(const struct event_family *found, const char *name)
{
	for (size_t i = 0; i < found->n; i++) {
		if (strcmp(found->names[i], name) == 0)
			return i;
	}
	return PACK_NONE;
}

/* Prints the runs of one family, numbered from `before` + 1. Returns the number of the last run. */
static size_t write_runs(const struct count_backend *way, const struct event_family *found, size_t before)
{
	const struct event_families table = { { fits_in_run }, way, found };
	size_t base = find_event(found, COUNTING_INSTRUCTIONS);
	struct pack pack;

	pack_events(&table.table, found->n, base, &pack);
	for (size_t run = 1; run <= pack.runs; run++) {
		printf("run %zu %s %s", before + run, way->family, way->domain());
		if (base != PACK_NONE)
			printf(" %s", found->names[base]);
		for (size_t i = 0; i < found->n; i++) {
			if (i != base && pack.run[i] == run)
				printf(" %s", found->names[i]);
		}
		printf("\n");
	}
	for (size_t i = 0; i < found->n; i++) {
		if (pack.run[i] == 0)
			printf("absent %s it cannot be counted beside " COUNTING_INSTRUCTIONS "\n", found->names[i]);
	}
	return before + pack.runs;
}

static int counting_plan(char *const *names, size_t n)
{
	static const struct count_backend *const ways[] = { &count_hardware, &count_software };
	struct event_family found;
	size_t runs = 0;

	printf(COUNTING_MAGIC "\n");
	for (size_t w = 0; w < 2; w++) {
		char why[COUNTING_REASON_BYTES] = "";
		bool wanted = false, refused;

		for (size_t i = 0; i < n; i++)
			wanted = wanted || ways[w]->knows(names[i]);
		refused = wanted && !ways[w]->init(why);
		if (refused && ways[w] == &count_hardware)
			printf("none %s\n", why);
		find_events(ways[w], names, n, refused ? why : NULL, &found);
		if (found.n > 0)
			runs = write_runs(ways[w], &found, runs);
	}
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}

/* ---- run ---- */

static void report_failed(int file, const char *why)
{
	dprintf(file, COUNTING_MAGIC "\nfailed %s\n", why);
}

static bool counting_prepare(const struct count_backend *way, char *const *names, size_t n, struct event_family *out, char *why)
{
	if (!way->init(why))
		return false;
	for (out->n = 0; out->n < n; out->n++) {
		out->names[out->n] = names[out->n];
		if (!way->knows(names[out->n]) || !way->find(names[out->n], &out->handles[out->n], why))
			return false;
	}
	return true;
}

static int counting_run(const struct count_backend *way, int file, char *const *names, size_t n, char *const *words)
{
	char why[COUNTING_REASON_BYTES] = "no such event";
	long long values[COUNTING_EVENTS_MAX];
	struct command command;
	struct event_family found;
	int status;

	if (!counting_prepare(way, names, n, &found, why)) {
		report_failed(file, why);
		return COUNTING_NOT_COUNTED;
	}
	if (!command_prepare(words, &command)) {
		report_failed(file, strerror(errno));
		return COUNTING_NOT_COUNTED;
	}
	if (!way->start(found.handles, n, command.id, why)) {
		command_release(&command);
		report_failed(file, why);
		return COUNTING_NOT_COUNTED;
	}
	status = command_run(&command);
	if (way->stop(values, n, why)) {
		dprintf(file, COUNTING_MAGIC "\n");
		for (size_t i = 0; i < n; i++)
			dprintf(file, "count %s %lld\n", names[i], values[i]);
	} else {
		report_failed(file, why);
	}
	close(file);
	exit_like_command(status);
}

static const struct count_backend *find_counting_backend(const char *family)
{
	return strcmp(family, COUNTING_HARDWARE) == 0 ? &count_hardware : strcmp(family, COUNTING_SOFTWARE) == 0 ? &count_software : NULL;
}

static int counting_usage(void)
{
	fprintf(stderr, "usage: counting plan EVENT... | counting run FILE hardware|software EVENT... -- COMMAND...\n");
	return 2;
}

int main(int argc, char **argv)
{
	const struct count_backend *way;
	int dashes = 4, file, status;

	if (self_check_arguments(&argc, argv, &status))
		return status;
	if (argc > 2 && argc - 2 <= COUNTING_EVENTS_MAX && strcmp(argv[1], "plan") == 0)
		return counting_plan(argv + 2, (size_t)argc - 2);
	while (dashes < argc && strcmp(argv[dashes], "--") != 0)
		dashes++;
	if (argc < 7 || strcmp(argv[1], "run") != 0 || !(way = find_counting_backend(argv[3])) || dashes == 4 || dashes >= argc - 1 ||
	    dashes - 4 > COUNTING_EVENTS_MAX)
		return counting_usage();
	file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0) {
		fprintf(stderr, "cannot write '%s': %s\n", argv[2], strerror(errno));
		return COUNTING_NOT_COUNTED;
	}
	return counting_run(way, file, argv + 4, (size_t)(dashes - 4), argv + dashes + 1);
}
