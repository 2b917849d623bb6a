/* Builds programs of tests/apps with `assay build --for counters`, runs them, and reads their counts with runs/inside/samples/samples.h. */
#ifndef TESTS_EMULATED_PROGRAMS_H
#define TESTS_EMULATED_PROGRAMS_H

#include "runs/inside/samples/samples.h"

#include "tests/scratch.h"

#include <dirent.h>
#include <math.h>

#define MILLI 1000.0

static inline const char *environment(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail_msg("%s is not set: run this by ctest", name);
	return value;
}

static inline int shell(const char *command)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

__attribute__((format(printf, 1, 2))) static inline void must(const char *fmt, ...)
{
	char command[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	if (shell(command))
		fail_msg("failed: %s", command);
}

/* Builds ./PROGRAM from a source file of tests/apps. */
static inline void build(const char *compiler, const char *flags, const char *source, const char *program)
{
	must("'%s' build --for counters -- %s -O2 -D_GNU_SOURCE -w '%s/tests/apps/%s' %s -pthread -o %s", environment("ASSAY"), compiler,
	     environment("ASSAY_SOURCE"), source, flags, program);
}

static inline int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Shell prefix that pins a command to the first CPU that this process may use. That need not be CPU 0. */
#define ONE_PROCESSOR "taskset -c \"$(taskset -cp $$ | sed 's/.*: \\([0-9]*\\).*/\\1/')\" "

/* Runs a command and reads its sample files into `out`, sorted by process id. Returns their number. */
static inline size_t run(const char *options, const char *command, struct samples *out, size_t n_max)
{
	struct dirent **names;
	struct assay_error err;
	int n;

	must("rm -rf s && '%s' record --for counters -o s %s -- %s >emulated", environment("ASSAY"), options, command);
	n = scandir("s", &names, is_file, versionsort);
	assert_true(n > 0 && (size_t)n <= n_max);
	for (int i = 0; i < n; i++) {
		char *path = mem_format("s/%s", names[i]->d_name);

		check(samples_read(path, &out[i], &err), &err);
		free(path);
		free(names[i]);
	}
	free(names);
	return (size_t)n;
}

static inline double total(const struct samples *samples, const char *counter)
{
	char key[128];
	const char *text;

	snprintf(key, sizeof(key), "total:emulated:%s", counter);
	text = samples_info(samples, key);
	if (!text)
		fail_msg("no %s", key);
	return strtod(text, NULL);
}

/* Returns a counter per 1000 accesses and blocks. Potential HITM events are counted in thousandths, and so is their rate. */
static inline double rate(const struct samples *samples, const char *counter)
{
	return MILLI * total(samples, counter) / (total(samples, "accesses") + total(samples, "blocks"));
}

static inline size_t function_of(const struct samples *samples, const char *name)
{
	for (size_t i = 0; i < samples->n_functions; i++) {
		if (strcmp(samples->functions[i].name, name) == 0)
			return i;
	}
	fail_msg("no function %s", name);
	return 0;
}

/* Returns the sum of a counter over the samples of a function. */
static inline double samples_sum(const struct samples *s, const char *function, const char *counter)
{
	size_t f = function_of(s, function), c = samples_find_counter(s, counter);
	double sum = 0;

	for (size_t k = s->functions[f].first; k < s->functions[f].first + s->functions[f].n; k++)
		sum += s->values[k * s->n_counters + c];
	return sum;
}

static inline void check_near(const char *what, double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance))
		fail_msg("%s: %g, not %g", what, got, expected);
}

#endif
