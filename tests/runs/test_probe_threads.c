/* Tests threads and children of the probe, announced or not: the owner of each call, and the kernel's counters in them. */
#include "runs/inside/probe/probe_thread.c"

#include "tests/runs/probe_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* Checks that a child has its own file, without calls that started in the parent. */
static void test_fork(void **state)
{
	struct samples s;
	uintptr_t *slots;
	int status;
	pid_t child;

	(void)state;
	probe_thread_init();
	slots = begin(0, RECORD_FILE_BYTES);
	enter(0, &slots[40]);
	enter(1, &slots[30]);
	leave(&slots[30]);
	leave(&slots[40]);
	enter(0, &slots[40]); /* no longer the first call of f0 */
	child = fork();
	for (int i = 0; i < (child ? 10 : 3); i++) {
		enter(1, &slots[30]);
		leave(&slots[30]);
	}
	leave(&slots[40]);
	if (child == 0) {
		end(&s, slots);
		_exit(s.n == 3 && s.items[0].function == 1 && s.items[0].ordinal == 0 && calls_of(&s, 1) == 3 && calls_of(&s, 0) == 0 ? 0
																      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	end(&s, slots);
	assert_int_equal(s.n, 13);
	samples_release(&s);
}

static const uint32_t near_and_far[] = { 1, 300 };

static void call_both(uintptr_t *slot, int n)
{
	for (int i = 0; i < 2 * n; i++) {
		enter(near_and_far[i % 2], slot);
		leave(slot);
	}
}

/* Checks that a child counts its calls from its start, even with few samples. It knows their durations from its parent. */
static void test_fork_with_budget(void **state)
{
	uintptr_t *slots;
	struct samples s;
	int status;
	pid_t child;

	(void)state;
	probe_thread_init();
	slots = begin(30000, RECORD_FILE_BYTES);
	call_both(&slots[40], 20000);
	child = fork();
	if (child == 0) {
		call_both(&slots[40], 100000);
		end(&s, slots);
		for (int i = 0; i < 2; i++) {
			const struct sample *first = &s.items[s.functions[near_and_far[i]].first];

			if (calls_of(&s, near_and_far[i]) != 100000 || first->weight == 1 || first->ordinal >= first->weight)
				_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	end(&s, slots);
	assert_int_equal(calls_of(&s, 300), 20000);
	samples_release(&s);
}

/* Checks that a child whose file cannot be created continues without records, and that its parent's file does not change. */
static void test_fork_without_a_file(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES);
	int status;
	pid_t child;

	(void)state;
	enter(0, &slots[40]);
	child = fork();
	if (child == 0)
		memcpy(probe.writer.directory, "/none", sizeof("/none"));
	for (int i = 0; i < 2000; i++) {
		enter(1, &slots[30]);
		leave(&slots[30]);
	}
	leave(&slots[40]);
	if (child == 0) {
		probe_threads_end();
		_exit(probe.writer.header || slots[40] != 1040);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	end(&s, slots);
	assert_int_equal(s.n, 2001);
	samples_release(&s);
}

static void *thread(void *argument)
{
	uintptr_t *slots = stack_begin();

	for (int i = 0; i < 3000; i++) {
		enter(0, &slots[40]);
		enter(300, &slots[20]);
		leave(&slots[20]);
		leave(&slots[40]);
	}
	free(slots);
	return argument;
}

/* Checks that ended threads leave their tables to later threads. */
static void test_threads(void **state)
{
	struct samples s;
	uintptr_t *slots;

	(void)state;
	probe_thread_init();
	slots = begin(0, RECORD_FILE_BYTES);
	for (int round = 0; round < 3; round++) {
		pthread_t threads[4];

		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, thread, NULL), 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
	end(&s, slots);
	assert_int_equal(s.n, 12 * 6000);
	assert_int_equal(calls_of(&s, 300), 12 * 3000);
	samples_release(&s);
}

/* Calls both functions until their next samples are some calls away. These counts stay in the thread's tables. */
static void *leaves_counts(void *argument)
{
	uintptr_t *slots = stack_begin();
	int *calls = argument;

	for (*calls = 0; *calls < 100000 || probe_far[300] < 2 || probe_near[1] < 2; ++*calls)
		call_both(&slots[40], 1);
	free(slots);
	return argument;
}

static void *calls_once(void *argument)
{
	uintptr_t *slots = stack_begin();

	call_both(&slots[40], 1);
	free(slots);
	return argument;
}

/* Checks that a thread that reuses the tables of an ended one counts from its own start and measures its first calls. */
static void test_threads_again_with_budget(void **state)
{
	struct samples s;
	uintptr_t *slots;
	pthread_t one;
	int calls;

	(void)state;
	probe_thread_init();
	slots = begin(30000, RECORD_FILE_BYTES);
	assert_int_equal(pthread_create(&one, NULL, leaves_counts, &calls), 0);
	assert_int_equal(pthread_join(one, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_create(&one, NULL, calls_once, NULL), 0);
		assert_int_equal(pthread_join(one, NULL), 0);
	}
	end(&s, slots);
	for (int i = 0; i < 2; i++) {
		size_t first = 0, of = near_and_far[i];

		assert_int_equal(calls_of(&s, near_and_far[i]), calls + 3);
		for (size_t k = 0; k < s.functions[of].n; k++)
			first += s.items[s.functions[of].first + k].ordinal == 0;
		assert_int_equal(first, 4);
	}
	samples_release(&s);
}

/* Checks that a child that starts threads before its first measured call has all calls in its file, its own and theirs. */
static void test_fork_then_threads(void **state)
{
	struct samples s;
	uintptr_t *slots;
	pthread_t threads[4];
	int status;
	pid_t child;

	(void)state;
	probe_thread_init();
	slots = begin(0, RECORD_FILE_BYTES);
	enter(1, &slots[40]);
	leave(&slots[40]);
	enter(1, &slots[40]);
	child = fork();
	for (int i = 0; !child && i < 4; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; !child && i < 4; i++)
		pthread_join(threads[i], NULL);
	enter(2, &slots[30]);
	leave(&slots[30]);
	leave(&slots[40]);
	if (child == 0) {
		end(&s, slots);
		_exit(s.n == 4 * 6000 + 1 && calls_of(&s, 2) == 1 && calls_of(&s, 0) == 4 * 3000 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	end(&s, slots);
	assert_int_equal(s.n, 3);
	samples_release(&s);
}

/* A thread whose start and end the probe does not see. Its first call is of a function with a far counter. */
static void *untold_thread(void *argument)
{
	uintptr_t slots[2] = { 1, 2 };

	memset(probe_near, 0, sizeof(probe_near));
	for (int i = 0; i < 10; i++) {
		enter(300, &slots[1]);
		leave(&slots[1]);
	}
	return argument;
}

static void test_threads_of_others(void **state)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct samples s;
	uintptr_t *slots;

	(void)state;
	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	probe_thread_init();
	slots = begin(0, RECORD_FILE_BYTES);
	for (int i = 0; i < 5; i++) {
		pthread_t one;

		assert_int_equal(create(&one, NULL, untold_thread, NULL), 0);
		assert_int_equal(pthread_join(one, NULL), 0);
		assert_int_equal(probe.threads, 1);
	}
	end(&s, slots);
	assert_int_equal(s.n, 50);
	assert_int_equal(calls_of(&s, 300), 50);
	for (size_t i = 0; i < s.n; i++) {
		assert_int_equal(s.items[i].ordinal, i % 10);
		assert_int_equal(s.items[i].threads, 2);
	}
	samples_release(&s);
}

/* A signal handler runs before the thread has been registered. Its call registers the thread. */
static void *interrupted(void *argument)
{
	uintptr_t slots[2] = { 1, 2 };

	memset(probe_near, 0, sizeof(probe_near));
	__atomic_fetch_add(&probe.threads, 1, __ATOMIC_RELAXED); /* as pthread_create() does */
	enter(1, &slots[0]);
	leave(&slots[0]);
	probe_thread_start();
	for (int i = 0; i < 10; i++) {
		enter(0, &slots[1]);
		enter(1, &slots[0]);
		leave(&slots[0]);
		leave(&slots[1]);
	}
	return argument;
}

static void test_handler_before_thread(void **state)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct samples s;
	uintptr_t *slots;
	pthread_t one;

	(void)state;
	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	probe_thread_init();
	slots = begin(0, RECORD_FILE_BYTES);
	assert_int_equal(create(&one, NULL, interrupted, NULL), 0);
	assert_int_equal(pthread_join(one, NULL), 0);
	assert_int_equal(probe.threads, 1);
	end(&s, slots);
	assert_int_equal(s.n, 21);
	assert_int_equal(s.n_calls, 2);
	assert_int_equal(calls_of(&s, 0), 10);
	assert_int_equal(calls_of(&s, 1), 11);
	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(s.items[i].thread, 0);
	samples_release(&s);
}

/* Checks that the probe does not read or close files that the program opened with the descriptors of closed counters. */
static void test_software_files_replaced(void **state)
{
	static const char *const names[] = { "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES" };
	struct probe_software software;
	uint64_t values[2];
	char text[32];
	int ends[2], failed = software_start(names, 2, &software);

	(void)state;
	if (failed == EACCES || failed == EPERM || failed == ENOSYS) {
		print_message("not tested: this user may not count\n");
		skip();
	}
	assert_int_equal(failed, 0);
	assert_true(software_read(&software, 2, values));
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(write(ends[1], "twenty-four bytes of its", 24), 24);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(dup2(ends[0], software.files[i]), software.files[i]);
	assert_false(software_read(&software, 2, values));
	software_end(&software, 2);
	assert_int_equal(read(software.files[1], text, sizeof(text)), 24);
	close(software.files[0]);
	close(software.files[1]);
	assert_false(software_read(&software, 2, values));
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_fork),
		SCRATCH_TEST(test_fork_with_budget),
		SCRATCH_TEST(test_fork_without_a_file),
		SCRATCH_TEST(test_threads),
		SCRATCH_TEST(test_threads_again_with_budget),
		SCRATCH_TEST(test_fork_then_threads),
		SCRATCH_TEST(test_threads_of_others),
		SCRATCH_TEST(test_handler_before_thread),
		SCRATCH_TEST(test_software_files_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
