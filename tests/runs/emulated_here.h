/* Runs the emulation inside the test's own process. The test calls the hooks from C instead of compiled code, so that sanitizers can check
 * them. One file of a test includes this header and defines the emulated code. test_emulation.c tests real programs. */
#ifndef TESTS_EMULATED_HERE_H
#define TESTS_EMULATED_HERE_H

#include "runs/inside/samples/samples.h"
#include "tests/scratch.h"

#include <dirent.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES		     60000
#define EMULATED_THREADS_MAX 4

/* Hooks of runs/inside/emulate/emulation.h, declared as compiled programs see them. */
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_read4(void *at);
void __tsan_write4(void *at);
void __tsan_write16(void *at);
void __tsan_unaligned_write8(void *at);
void __tsan_read_range(void *at, size_t bytes);
void __tsan_write_range(void *at, size_t bytes);
int __tsan_atomic32_fetch_add(volatile int *at, int value, int order);
void __sanitizer_cov_trace_pc(void);
void runtime_finish(void);

/* The linker creates these from _exit() and _Exit() in real programs. The test defines them itself. */
_Noreturn void __real__exit(int status);
_Noreturn void __real__Exit(int status);
_Noreturn void __real__exit(int status)
{
	_exit(status);
}

_Noreturn void __real__Exit(int status)
{
	_Exit(status);
}

/* Replaces dl_iterate_phdr() in functions.c. A test can set a function that is called during the lookup. */
static void (*while_looking_up)(void);
int emulated_iterate_phdr(int (*look)(struct dl_phdr_info *, size_t, void *), void *data);
int emulated_iterate_phdr(int (*look)(struct dl_phdr_info *, size_t, void *), void *data)
{
	if (while_looking_up)
		while_looking_up();
	return dl_iterate_phdr(look, data);
}

/* ---- reading the counts ---- */

static struct samples parent, child; /* the counts of this process, and of the child that it forked */

static inline void read_all(const char *directory)
{
	DIR *files = opendir(directory);
	const struct dirent *entry;

	if (!files)
		fail_msg("no directory '%s'", directory);
	while (files && (entry = readdir(files))) {
		char *path = mem_format("%s/%s", directory, entry->d_name);
		struct assay_error err;

		if (entry->d_name[0] != '.') {
			bool own = strtol(entry->d_name, NULL, 10) == (long)getpid();

			if (samples_read(path, own ? &parent : &child, &err))
				fail_msg("%s", err.text);
			remove(path);
		}
		free(path);
	}
	closedir(files);
	remove(directory);
}

static inline const struct samples_function *find(const struct samples *s, const char *name)
{
	for (size_t i = 0; i < s->n_functions; i++)
		if (strcmp(s->functions[i].name, name) == 0)
			return &s->functions[i];
	fail_msg("no function '%s'", name);
	abort();
}

static inline double sum(const struct samples *s, const char *function, const char *counter)
{
	const struct samples_function *f = find(s, function);
	size_t c = samples_find_counter(s, counter);
	double total = 0;

	assert_true(c < s->n_counters);
	for (size_t i = 0; i < f->n; i++)
		total += s->self_counts[(f->first + i) * s->n_counters + c];
	return total;
}

static inline uint64_t calls(const struct samples *s, const char *function)
{
	size_t f = (size_t)(find(s, function) - s->functions);
	uint64_t total = 0;

	for (size_t i = 0; i < s->n_calls; i++)
		total += s->calls[i].function == f ? s->calls[i].calls : 0;
	return total;
}

/* Returns the sum of a counter over all calls of a function, callees excluded. */
static inline double all_calls(const struct samples *s, const char *function, const char *counter)
{
	struct samples_total total;
	double sum;

	samples_total_find(s, (size_t)(find(s, function) - s->functions), &total);
	assert_true(total.known && total.complete);
	sum = total.sums[samples_find_counter(s, counter)];
	samples_total_release(&total);
	return sum;
}

/* Checks that the sums of all functions and the rest outside selected functions add up to the total of the process. */
static inline void check_sums(const struct samples *s, size_t counter)
{
	char *all = mem_format("total:%s", s->counters[counter]), *rest = mem_format("rest:%s", s->counters[counter]);
	double expected = strtod(samples_info(s, all), NULL), got = strtod(samples_info(s, rest), NULL);

	for (size_t i = 0; i < s->n_calls; i++)
		got += s->calls[i].sums[counter];
	if (got != expected)
		fail_msg("%s: %.0f, and the functions' and the rest's sum is %.0f", all, expected, got);
	free(all);
	free(rest);
}

/* Runs the emulated code and then the tests. The emulation starts with the process if ASSAY_EMULATE_DIRECTORY is set. So the test sets this
 * variable to a new directory and executes itself again. */
static inline int emulated_main(char **argv, void (*emulated)(void), int (*tests)(void))
{
	char directory[] = "/tmp/assay-test-XXXXXX";
	int failed;

	if (!getenv("ASSAY_EMULATE_DIRECTORY")) {
		if (!mkdtemp(directory) || setenv("ASSAY_EMULATE_DIRECTORY", directory, 1))
			return 1;
		execv("/proc/self/exe", argv);
		return 1;
	}
	emulated();
	runtime_finish();
	read_all(getenv("ASSAY_EMULATE_DIRECTORY"));
	failed = tests();
	samples_release(&parent);
	samples_release(&child);
	return failed;
}

#endif
