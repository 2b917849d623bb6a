/* The emulation inside this process: its hooks, which compilers call otherwise, called from C, compiled as everything else here, with
 * sanitizers too. What real programs count: test_emulation.c. */
#include "runs/samples/samples.h"
#include "tests/scratch.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES   60000
#define CALLS   500
#define THREADS 4

/* runs/emulate/emulate.h, as far as programs know it. */
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

/* Of wrap_calls.c, which is not here. */
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

static _Alignas(64) int cells[64], padded[16 * THREADS];
static volatile int shared;
static char bytes[1 << 16];

/* ---- what is emulated ---- */

static __attribute__((noinline)) void leaf(int n)
{
	__tsan_func_entry(__builtin_return_address(0));
	for (int i = 0; i < n; i++) {
		__sanitizer_cov_trace_pc();
		__tsan_write4(&cells[i % 64]);
	}
	__tsan_func_exit();
	__asm__ volatile("");
}

static __attribute__((noinline)) void outer(int depth)
{
	__tsan_func_entry(__builtin_return_address(0));
	__tsan_read4(&cells[0]);
	if (depth)
		outer(depth - 1);
	else
		leaf(10);
	__tsan_func_exit();
	__asm__ volatile("");
}

static __attribute__((noinline)) void jumper(jmp_buf *back)
{
	__tsan_func_entry(__builtin_return_address(0));
	__tsan_write4(&cells[1]);
	longjmp(*back, 1);
}

static void jump(void)
{
	jmp_buf back;

	if (!setjmp(back))
		jumper(&back);
}

static __attribute__((noinline)) void wide(void)
{
	__tsan_func_entry(__builtin_return_address(0));
	for (size_t i = 0; i < sizeof(bytes) - 64; i += 56) {
		__tsan_unaligned_write8(bytes + i);
		__tsan_write16(bytes + i / 16 * 16);
	}
	__tsan_read_range(bytes + 3, 5000);
	__tsan_write_range(bytes + 60, 10);
	__tsan_write_range(bytes, 0);
	__tsan_func_exit();
	__asm__ volatile("");
}

/* Beside each other, or 64 bytes apart (one less, for gcc makes one of two equal functions); and one atomic counter of all. */
static __attribute__((noinline)) void side_by_side(int *mine)
{
	__tsan_func_entry(__builtin_return_address(0));
	for (int i = 0; i < TIMES; i++)
		__tsan_write4(mine);
	__tsan_func_exit();
	__asm__ volatile("");
}

static __attribute__((noinline)) void apart(int *mine)
{
	__tsan_func_entry(__builtin_return_address(0));
	for (int i = 0; i < TIMES - 1; i++)
		__tsan_write4(mine);
	__tsan_func_exit();
	__asm__ volatile("");
}

static __attribute__((noinline)) void together(void)
{
	__tsan_func_entry(__builtin_return_address(0));
	for (int i = 0; i < TIMES; i++)
		__tsan_atomic32_fetch_add(&shared, 1, __ATOMIC_SEQ_CST);
	__tsan_func_exit();
	__asm__ volatile("");
}

static void *thread(void *number)
{
	size_t i = (size_t)(uintptr_t)number;

	side_by_side(&cells[i]);
	apart(&padded[16 * i]);
	together();
	return NULL;
}

static void emulated(void)
{
	pthread_t threads[THREADS];
	pid_t child;
	int status;

	for (int i = 0; i < CALLS; i++) {
		outer(3);
		jump();
	}
	wide();
	leaf(TIMES);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)i)) /* NOLINT: a number */
			abort();
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	child = fork();
	if (child == 0) {
		leaf(1000);
		runtime_finish();
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		abort();
	runtime_finish();
}

/* ---- what was counted ---- */

static struct samples parent, child;

static void read_all(const char *directory)
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

static const struct samples_function *find(const struct samples *s, const char *name)
{
	for (size_t i = 0; i < s->n_functions; i++)
		if (strcmp(s->functions[i].name, name) == 0)
			return &s->functions[i];
	fail_msg("no function '%s'", name);
	return NULL;
}

static double sum(const struct samples *s, const char *function, const char *counter)
{
	const struct samples_function *f = find(s, function);
	size_t c = samples_counter(s, counter);
	double total = 0;

	assert_true(c < s->n_counters);
	for (size_t i = 0; i < f->n; i++)
		total += s->alone[(f->first + i) * s->n_counters + c];
	return total;
}

static uint64_t calls(const struct samples *s, const char *function)
{
	size_t f = (size_t)(find(s, function) - s->functions);
	uint64_t total = 0;

	for (size_t i = 0; i < s->n_calls; i++)
		total += s->calls[i].function == f ? s->calls[i].calls : 0;
	return total;
}

static void test_exact(void **state)
{
	(void)state;
	assert_true(parent.finished && child.finished);
	assert_int_equal(parent.unreadable + parent.dropped, 0);
	assert_int_equal(calls(&parent, "outer"), 4 * CALLS);
	assert_int_equal(calls(&parent, "jumper"), CALLS);
	assert_int_equal(calls(&parent, "leaf"), CALLS + 1);
	assert_int_equal(calls(&parent, "side_by_side"), THREADS);
	assert_true(sum(&parent, "side_by_side", "emulated:accesses") == THREADS * TIMES);
	assert_true(sum(&parent, "together", "emulated:atomics") == THREADS * TIMES);
	assert_string_equal(samples_info(&parent, "touches-dropped"), "0");
	assert_string_equal(samples_info(&parent, "threads-not-simulated"), "0");
}

static void test_sharing(void **state)
{
	double per_access = THREADS * TIMES;

	(void)state;
	assert_true(sum(&parent, "side_by_side", "emulated:hitm_false_milli") / per_access > 100);
	assert_true(sum(&parent, "side_by_side", "emulated:hitm_true_milli") / per_access < 1);
	assert_true(sum(&parent, "apart", "emulated:hitm_false_milli") / per_access < 1);
	assert_true(sum(&parent, "together", "emulated:hitm_true_milli") / per_access > 100);
	assert_true(sum(&parent, "together", "emulated:hitm_false_milli") / per_access < 1);
}

static void test_jumps(void **state)
{
	const struct samples_function *f = find(&parent, "jumper");

	(void)state;
	assert_true(f->n > 0);
	for (size_t i = 0; i < f->n; i++)
		assert_true(parent.items[f->first + i].unwound);
	f = find(&parent, "outer");
	for (size_t i = 0; i < f->n; i++)
		assert_false(parent.items[f->first + i].unwound);
}

static void test_child(void **state)
{
	(void)state;
	assert_int_equal(calls(&child, "leaf"), 1);
	assert_true(sum(&child, "leaf", "emulated:accesses") == 1000);
	assert_true(sum(&child, "leaf", "emulated:blocks") == 1000);
}

/* The emulation begins with the process, where its variable says; so this one begins once more. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact), cmocka_unit_test(test_sharing), cmocka_unit_test(test_jumps), cmocka_unit_test(test_child),
	};
	char directory[] = "/tmp/assay-test-XXXXXX";
	int failed;

	(void)argc;
	if (!getenv("ASSAY_EMULATE_DIRECTORY")) {
		if (!mkdtemp(directory) || setenv("ASSAY_EMULATE_DIRECTORY", directory, 1))
			return 1;
		execv("/proc/self/exe", argv);
		return 1;
	}
	emulated();
	read_all(getenv("ASSAY_EMULATE_DIRECTORY"));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	samples_release(&parent);
	samples_release(&child);
	return failed;
}
