/* Tests calls and accesses in the emulation: exact numbers, sharing between threads, jumps, and a child process. */
#include "tests/runs/emulated_here.h"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#define CALLS 500
#define STACK 65536

static _Alignas(64) int cells[64], padded[16 * EMULATED_THREADS_MAX], overlapped[16];
static volatile int shared;
static char bytes[1 << 16];

/* ---- emulated functions ---- */

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

/* Writes to adjacent cells. apart() writes to cells 64 bytes apart, one time less, because gcc would merge equal functions. */
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

/* Writes a word and one byte of the next thread's word. */
static __attribute__((noinline)) void overlapping(int *mine)
{
	__tsan_func_entry(__builtin_return_address(0));
	for (int i = 0; i < TIMES; i++)
		__tsan_write_range(mine, sizeof(*mine) + 1);
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
	overlapping(&overlapped[i]);
	together();
	return NULL;
}

/* ---- signal handlers inside the emulation: a signal arrives while it looks up a function with signals blocked ---- */

static _Thread_local bool signal_comes;
static _Thread_local ucontext_t *interrupted, *aside;

static void signal_send(void)
{
	if (signal_comes)
		pthread_kill(pthread_self(), SIGUSR1);
	signal_comes = false;
}

#define SMALL(name, n)                                                                                                                     \
	static __attribute__((noinline)) void name(void)                                                                                   \
	{                                                                                                                                  \
		__tsan_func_entry(__builtin_return_address(0));                                                                            \
		for (int i = 0; i < (n); i++)                                                                                              \
			__tsan_write4(&cells[i]);                                                                                          \
		__tsan_func_exit();                                                                                                        \
		__asm__ volatile("");                                                                                                      \
	}
SMALL(interrupted_once, 2)
SMALL(interrupted_again, 3)
SMALL(in_handler, 4)
SMALL(in_coroutine, 5)
SMALL(after_it, 6)

static void coroutine(void)
{
	in_coroutine();
	setcontext(interrupted);
}

static void handler(int number)
{
	(void)number;
	in_handler();
	if (aside)
		swapcontext(interrupted, aside);
}

/* Runs a handler and a coroutine whose stacks lie within the thread's own stack, above the interrupted function. */
static void *interrupted_thread(void *unused)
{
	char alternate[STACK], other[STACK];
	stack_t stack = { .ss_sp = alternate, .ss_size = STACK }, none = { .ss_flags = SS_DISABLE };
	ucontext_t contexts[2];

	sigaltstack(&stack, NULL);
	signal_comes = true;
	interrupted_once();
	for (int i = 0; i < 10; i++) {
		in_handler();
		interrupted_once();
	}
	getcontext(&contexts[0]);
	contexts[0].uc_stack = (stack_t){ .ss_sp = other, .ss_size = STACK };
	makecontext(&contexts[0], coroutine, 0);
	aside = &contexts[0];
	interrupted = &contexts[1];
	signal_comes = true;
	interrupted_again();
	aside = NULL;
	for (int i = 0; i < 10; i++) {
		after_it();
		in_coroutine();
		interrupted_again();
	}
	sigaltstack(&none, NULL);
	return unused;
}

static void test_handlers(void **state)
{
	(void)state;
	assert_int_equal(calls(&parent, "interrupted_once"), 11);
	assert_int_equal(calls(&parent, "interrupted_again"), 11);
	assert_int_equal(calls(&parent, "after_it"), 10);
	assert_in_range(calls(&parent, "in_handler"), 10, 12); /* calls during a lookup are ambiguous and may not be counted */
	assert_in_range(calls(&parent, "in_coroutine"), 10, 11);
	assert_true(all_calls(&parent, "after_it", "emulated:accesses") == 10 * 6);
	assert_true(all_calls(&parent, "interrupted_once", "emulated:accesses") >= 11 * 2);
	assert_true(all_calls(&parent, "in_handler", "emulated:accesses") == 4.0 * (double)calls(&parent, "in_handler"));
	assert_true(all_calls(&parent, "in_coroutine", "emulated:accesses") == 5.0 * (double)calls(&parent, "in_coroutine"));
}

/* ---- branch prediction: the block that followed this path of eight blocks the last time, and how often in a row ---- */

#define FORETOLD 400 /* paths; few enough that none replaces another */
#define PATH	 8

static struct foretold {
	int block, path[PATH], followed, trust;
} foretold[FORETOLD];
static size_t n_foretold;
static int last_block, last_path[PATH]; /* last block of the function, 0 at its start; last blocks of the thread, oldest first */
static uint64_t expected_misses;

static struct foretold *foretold_on_path(void)
{
	for (size_t i = 0; i < n_foretold; i++)
		if (foretold[i].block == last_block && memcmp(foretold[i].path, last_path, sizeof(last_path)) == 0)
			return &foretold[i];
	if (n_foretold == FORETOLD)
		abort();
	foretold[n_foretold] = (struct foretold){ .block = last_block };
	memcpy(foretold[n_foretold].path, last_path, sizeof(last_path));
	return &foretold[n_foretold++];
}

static void foretell(int block)
{
	struct foretold *f = last_block ? foretold_on_path() : NULL;
	bool right = f && f->followed == block;

	if (f && f->followed && !right)
		expected_misses++;
	if (right)
		f->trust += f->trust < 3;
	else if (f && f->trust > 0)
		f->trust--;
	else if (f)
		f->followed = block;
	if (last_block) {
		memmove(last_path, last_path + 1, sizeof(last_path) - sizeof(last_path[0]));
		last_path[PATH - 1] = block;
	}
	last_block = block;
}

/* Three blocks that no compiler can merge. */
static __attribute__((noinline)) void block(int which)
{
	foretell(which);
	if (which == 1) {
		__sanitizer_cov_trace_pc();
		__asm__ volatile("# 1");
	} else if (which == 2) {
		__sanitizer_cov_trace_pc();
		__asm__ volatile("# 2");
	} else {
		__sanitizer_cov_trace_pc();
		__asm__ volatile("# 3");
	}
}

/* Starts with the block that its caller has just looped over. */
static __attribute__((noinline)) void turned(void)
{
	int outside = last_block;

	__tsan_func_entry(__builtin_return_address(0));
	last_block = 0;
	block(1);
	block(2);
	__tsan_func_exit();
	last_block = outside;
	__asm__ volatile("");
}

/* Loops over one block, some loops just long enough for the shortcut and some too short. Different blocks follow the loops. */
static void *turns(void *unused)
{
	static const int times[] = { 3, 8, 9, 10, 12, 30 };
	uint32_t random = 1;

	__tsan_func_entry(__builtin_return_address(0));
	for (int i = 0; i < 200; i++) {
		random = random * 1664525 + 1013904223;
		for (int k = 0; k < times[(random >> 24) % COUNT(times)]; k++)
			block(1);
		if (random >> 20 & 1)
			block(2 + (random >> 21 & 1));
		else
			turned();
	}
	__tsan_func_exit();
	return unused;
}

static void test_blocks(void **state)
{
	double misses = all_calls(&parent, "turns", "emulated:branch_misses") + all_calls(&parent, "turned", "emulated:branch_misses");

	(void)state;
	assert_in_range(expected_misses, 20, 1000);
	if (misses != (double)expected_misses)
		fail_msg("%.0f branch misses, not %ju, on %zu paths", misses, (uintmax_t)expected_misses, n_foretold);
}

static void wait_for(void *run(void *))
{
	pthread_t one;

	if (pthread_create(&one, NULL, run, NULL))
		abort();
	pthread_join(one, NULL);
}

static void interrupt(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaction(SIGUSR1, &action, NULL);
	while_looking_up = signal_send;
	wait_for(interrupted_thread);
}

static void emulated(void)
{
	pthread_t threads[EMULATED_THREADS_MAX];
	pid_t forked;
	int status;

	interrupt();
	wait_for(turns);
	for (int i = 0; i < CALLS; i++) {
		outer(3);
		jump();
	}
	wide();
	leaf(TIMES);
	for (size_t i = 0; i < EMULATED_THREADS_MAX; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)i)) /* NOLINT: a number */
			abort();
	for (size_t i = 0; i < EMULATED_THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
	forked = fork();
	if (forked == 0) {
		leaf(1000);
		runtime_finish();
		_exit(0);
	}
	if (waitpid(forked, &status, 0) != forked || status)
		abort();
}

static void test_exact(void **state)
{
	(void)state;
	assert_true(parent.finished && child.finished);
	assert_int_equal(parent.unreadable + parent.dropped, 0);
	assert_int_equal(calls(&parent, "outer"), 4 * CALLS);
	assert_int_equal(calls(&parent, "jumper"), CALLS);
	assert_int_equal(calls(&parent, "leaf"), CALLS + 1);
	assert_int_equal(calls(&parent, "side_by_side"), EMULATED_THREADS_MAX);
	assert_true(sum(&parent, "side_by_side", "emulated:accesses") == EMULATED_THREADS_MAX * TIMES);
	assert_true(sum(&parent, "together", "emulated:atomics") == EMULATED_THREADS_MAX * TIMES);
	assert_string_equal(samples_info(&parent, "touches-dropped"), "0");
	assert_string_equal(samples_info(&parent, "threads-not-simulated"), "0");
}

static void test_sharing(void **state)
{
	double per_access = EMULATED_THREADS_MAX * TIMES;

	(void)state;
	assert_true(sum(&parent, "side_by_side", "emulated:hitm_false_milli") / per_access > 100);
	assert_true(sum(&parent, "side_by_side", "emulated:hitm_true_milli") / per_access < 1);
	assert_true(sum(&parent, "apart", "emulated:hitm_false_milli") / per_access < 1);
	assert_true(sum(&parent, "overlapping", "emulated:hitm_true_milli") / per_access > 10);
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

/* Checks that every call counts in the totals, whether it is a sample or not, and however it ended. */
static void test_totals(void **state)
{
	(void)state;
	assert_true(all_calls(&parent, "outer", "emulated:accesses") == 4 * CALLS);
	assert_true(all_calls(&parent, "leaf", "emulated:accesses") == 10 * CALLS + TIMES);
	assert_true(all_calls(&parent, "leaf", "emulated:blocks") == 10 * CALLS + TIMES);
	assert_true(all_calls(&parent, "jumper", "emulated:accesses") == CALLS);
	assert_true(all_calls(&parent, "side_by_side", "emulated:accesses") == EMULATED_THREADS_MAX * TIMES);
	assert_true(all_calls(&parent, "together", "emulated:atomics") == EMULATED_THREADS_MAX * TIMES);
	assert_true(all_calls(&parent, "side_by_side", "emulated:hitm_false_milli") / (EMULATED_THREADS_MAX * TIMES) > 100);
	assert_true(all_calls(&child, "leaf", "emulated:accesses") == 1000);
	for (size_t c = 0; c <= samples_find_counter(&parent, "emulated:simulated"); c++) {
		check_sums(&parent, c);
		check_sums(&child, c);
	}
}

static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_exact),  cmocka_unit_test(test_sharing),	cmocka_unit_test(test_jumps),  cmocka_unit_test(test_child),
		cmocka_unit_test(test_totals), cmocka_unit_test(test_handlers), cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	return emulated_main(argv, emulated, tests);
}
