/* The probe's hooks, called from C on a stack that is an array: what is in other people's processes, compiled as everything else here, with
 * sanitizers too. Real programs, real stacks: cli_probe.sh. */
#include "runs/probe/probe.h"
#include "runs/samples/samples.h"
#include "tests/scratch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 64

struct probe probe;

/* What probe_start.c and probe_dlopen.c have. */
void probe_say(const char *text, const char *more, int errnum)
{
	(void)errnum;
	fail_msg("%s%s", text, more);
}

void *probe_library(const char *file, int mode)
{
	return dlopen(file, mode);
}

/* The thread's stack is the array, from its end on downwards. */
static uintptr_t *stack_begin(void)
{
	uintptr_t *slots = mem_new(SLOTS, sizeof(*slots));
	struct probe_thread *t;

	if (!probe_self) /* not begun by our pthread_create() */
		memset(probe_near, 0, sizeof(probe_near));
	t = probe_self ? probe_self : probe_thread_begin(0, 1);
	assert_non_null(t);
	t->stack_low = (uintptr_t)slots;
	t->stack_bytes = SLOTS * sizeof(*slots);
	for (size_t i = 0; i < SLOTS; i++)
		slots[i] = 1000 + i; /* return addresses */
	return slots;
}

/* A probe without functions' code, and the stack of this thread. end() them. */
static uintptr_t *begin(uint64_t budget_ppm, uint64_t file_bytes_max)
{
	const struct record_options options = {
		.directory = ".", .back_end = RECORD_TIME, .ticks_per_s = 1000000000u, .brief = true, .chunk_bytes = 65536,
		.names_bytes_max = 8192, .file_bytes_max = file_bytes_max,
	};

	probe = (struct probe){
		.frame_bytes = sizeof(struct probe_frame), .threads = 1, .budget_ppm = budget_ppm,
		.cost_sampled = 300, .cost_counted = 2, .cost_clock = 40,
	};
	probe.functions = mmap(NULL, RECORD_FUNCTIONS_MAX * sizeof(probe.functions[0]), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(probe.functions != MAP_FAILED);
	assert_int_equal(record_open(&probe.writer, &options), 0);
	for (uint32_t i = 0; i < 600; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(record_function(&probe.writer, i, "m", name), i);
		probe.functions[i].seed = (i + 1) * 0x9e3779b97f4a7c15u;
	}
	probe_saved_init();
	return stack_begin();
}

/* As the stub, and probe_trampoline.c behind it. */
static void enter(uint32_t function, uintptr_t *slot)
{
	if (--*(function < PROBE_NEAR ? &probe_near[function] : &probe_far[function]) < 0 && !probe_enter(function, slot))
		probe_enter_slowly(function, slot);
}

/* As a return to the address in the slot. */
static void leave(uintptr_t *slot)
{
	uint64_t now;

	if (*slot != (uintptr_t)probe_return)
		return;
	now = probe_leave(slot);
	if (now)
		probe_leave_slowly(slot, now);
}

static void end(struct samples *samples, uintptr_t *slots)
{
	struct assay_error err;

	probe_threads_end();
	record_close(&probe.writer);
	if (samples_read(probe.writer.path, samples, &err))
		fail_msg("%s", err.text);
	free(slots);
	probe_self = NULL;
	probe_threads = NULL;
	munmap(probe.functions, RECORD_FUNCTIONS_MAX * sizeof(probe.functions[0]));
	memset(&probe, 0, sizeof(probe));
}

static uint64_t calls_of(const struct samples *s, uint32_t function)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < s->n_calls; i++)
		calls += s->calls[i].function == function ? s->calls[i].calls : 0;
	return calls;
}

/* A handler of signals runs on a stack of its own, which lies above the thread's, while a hook is at work there: it has to stay so. */
static void test_handler_on_another_stack(void **state)
{
	uintptr_t elsewhere[4] = { 0 }, *slots = begin(0, RECORD_FILE_BYTES);
	struct samples s;

	(void)state;
	enter(0, &slots[30]);
	assert_true((uintptr_t)elsewhere > (uintptr_t)&slots[20]);
	probe_self->busy = (uintptr_t)&slots[20];
	enter(1, &elsewhere[1]);
	assert_int_equal(probe_self->busy, (uintptr_t)&slots[20]);
	assert_int_equal(elsewhere[1], 0);
	probe_self->busy = 0;
	leave(&slots[30]);
	end(&s, slots);
	assert_int_equal(s.n, 1);
	samples_release(&s);
}

/* f0 calls f1, which calls itself; twice each, near and far from the thread's storage. */
static void test_nested(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES);

	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t base = k * 500;

		for (int i = 0; i < 2000; i++) {
			enter(base, &slots[30]);
			enter(base + 1, &slots[20]);
			enter(base + 1, &slots[10]);
			leave(&slots[10]);
			leave(&slots[20]);
			leave(&slots[30]);
		}
	}
	for (size_t i = 0; i < SLOTS; i++)
		assert_int_equal(slots[i], 1000 + i);
	end(&s, slots);
	assert_int_equal(s.n, 12000);
	for (size_t i = 0; i < s.n; i++) {
		const struct sample *sample = &s.items[i];
		uint32_t which = sample->function % 500;

		assert_int_equal(sample->depth, which == 0 ? 0 : 1 + sample->ordinal % 2);
		assert_int_equal(sample->weight, 1);
		assert_false(sample->unwound || sample->estimated);
		assert_true(sample->alone_ns <= sample->ns);
	}
	assert_int_equal(calls_of(&s, 0), 2000);
	assert_int_equal(calls_of(&s, 1), 4000);
	assert_int_equal(calls_of(&s, 501), 4000);
	samples_release(&s);
}

/* f1 and f2 are left by a jump to f0, which calls f3 at a place between theirs. */
static void test_jump(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES);
	size_t unwound = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		enter(0, &slots[40]);
		enter(1, &slots[30]);
		enter(2, &slots[10]);
		slots[10] = 77;
		enter(3, &slots[20]);
		leave(&slots[20]);
		slots[30] = 78; /* overwritten */
		leave(&slots[40]);
	}
	end(&s, slots);
	assert_int_equal(s.n, 4000);
	for (size_t i = 0; i < s.n; i++) {
		assert_true(s.items[i].unwound == (s.items[i].function == 1 || s.items[i].function == 2));
		assert_int_equal(s.items[i].depth, s.items[i].function == 3 ? 2 : s.items[i].function); /* f2 was gone by then */
		unwound += s.items[i].unwound;
	}
	assert_int_equal(unwound, 2000);
	samples_release(&s);
}

/* f0 ends by jumping to f1, at the same slot. */
static void test_tail_call(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES);

	(void)state;
	for (int i = 0; i < 100; i++) {
		enter(0, &slots[40]);
		enter(1, &slots[40]);
		leave(&slots[40]);
		leave(&slots[40]);
		assert_int_equal(slots[40], 1040);
	}
	end(&s, slots);
	assert_int_equal(s.n, 200);
	assert_false(s.items[0].unwound);
	samples_release(&s);
}

/* Short calls are sampled, and all of them are counted; two runs take the same ones. */
static void test_budget(void **state)
{
	struct samples s;

	(void)state;
	for (int run = 0; run < 2; run++) {
		uintptr_t *slots = begin(30000, RECORD_FILE_BYTES);
		uint64_t weights = 0;

		for (int i = 0; i < 300000; i++) {
			enter(7, &slots[40]);
			leave(&slots[40]);
		}
		end(&s, slots);
		assert_in_range(s.n, 4, 100000);
		assert_int_equal(calls_of(&s, 7), 300000);
		for (size_t i = 0; i < s.n; i++)
			weights += s.items[i].weight;
		assert_in_range(weights, 300000 / 2, 300000 * 2);
		assert_true(s.items[s.n - 1].weight > 1 && s.items[s.n - 1].estimated);
		samples_release(&s);
	}
}

/* Deeper than there are frames, on another stack, in a hook that a signal interrupted: counted, not measured. */
static void test_not_measured(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES), elsewhere[2] = { 5, 6 }, *deep = mem_new(PROBE_DEPTH_MAX + 20, sizeof(*deep));

	(void)state;
	enter(0, &slots[10]);
	leave(&slots[10]);
	enter(0, &elsewhere[0]);
	assert_int_equal(elsewhere[0], 5);
	probe_self->busy = (uintptr_t)&slots[20];
	enter(0, &slots[10]);
	assert_int_equal(slots[10], 1010);
	probe_self->busy = 0;
	probe_self->stack_low = (uintptr_t)deep;
	probe_self->stack_bytes = (PROBE_DEPTH_MAX + 20) * sizeof(*deep);
	for (size_t i = PROBE_DEPTH_MAX + 20; i-- > 0;)
		enter(1, &deep[i]);
	assert_int_equal(probe_self->depth, PROBE_DEPTH_MAX);
	for (size_t i = 0; i < PROBE_DEPTH_MAX + 20; i++)
		leave(&deep[i]);
	end(&s, slots);
	free(deep);
	assert_int_equal(s.n, 1 + PROBE_DEPTH_MAX);
	assert_int_equal(calls_of(&s, 0), 3);
	assert_int_equal(calls_of(&s, 1), PROBE_DEPTH_MAX + 20);
	samples_release(&s);
}

/* The file has no more room: return addresses are put back all the same. */
static void test_full(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, 3 * 65536);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		enter(0, &slots[40]);
		leave(&slots[40]);
		assert_int_equal(slots[40], 1040);
	}
	end(&s, slots);
	assert_true(s.n > 1000 && s.dropped > 1000);
	assert_int_equal(s.n + s.dropped, 20000);
	assert_int_equal(calls_of(&s, 0), 20000);
	samples_release(&s);
}

/* A child has a file of its own; what began in the parent is not in it. */
static void test_fork(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES);
	int status;
	pid_t child;

	(void)state;
	enter(0, &slots[40]);
	enter(1, &slots[30]);
	leave(&slots[30]);
	leave(&slots[40]);
	enter(0, &slots[40]); /* all is as usual by now */
	child = fork();
	for (int i = 0; i < (child ? 10 : 3); i++) {
		enter(1, &slots[30]);
		leave(&slots[30]);
	}
	leave(&slots[40]);
	if (child == 0) {
		end(&s, slots);
		_exit(s.n == 3 && s.items[0].function == 1 && calls_of(&s, 1) == 4 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	end(&s, slots);
	assert_int_equal(s.n, 13);
	samples_release(&s);
}

/* A child whose file cannot be made goes on; nothing of it is recorded, and its parent's file stays as it is. */
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

/* The compiler's calls at both ends, of a function that calls itself and of one that ends without the second call. */
static void test_instrumented(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES);

	(void)state;
	for (int i = 0; i < 100; i++) {
		probe_instrumented_enter(0, &slots[40]);
		probe_instrumented_enter(1, &slots[30]);
		probe_instrumented_enter(1, &slots[20]);
		probe_instrumented_leave(1, &slots[20]);
		probe_instrumented_leave(1, &slots[30]);
		probe_instrumented_enter(2, &slots[30]); /* left by a jump */
		probe_instrumented_leave(0, &slots[40]);
	}
	end(&s, slots);
	assert_int_equal(s.n, 400);
	assert_int_equal(calls_of(&s, 1), 200);
	assert_int_equal(calls_of(&s, 2), 100);
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

/* Threads that are begun, end, and leave their tables to later ones. */
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

/* A child that begins threads before it calls anything that is measured: all of them, and it, are in its file. */
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

/* Begun and ended by somebody else; its first call is of a function that is not counted in thread-local storage itself. */
static void *untold(void *argument)
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

		assert_int_equal(create(&one, NULL, untold, NULL), 0);
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

/* Who closes all files may have others of the same numbers: nothing is read from those, and they stay open. */
static void test_software_files_replaced(void **state)
{
	static const char *const names[] = { "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES" };
	struct probe_software software;
	uint64_t values[2];
	char text[32];
	int ends[2], failed = probe_software_start(names, 2, &software);

	(void)state;
	if (failed == EACCES || failed == EPERM || failed == ENOSYS) {
		print_message("not tested: this user may not count\n");
		skip();
	}
	assert_int_equal(failed, 0);
	assert_true(probe_software_read(&software, 2, values));
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(write(ends[1], "twenty-four bytes of its", 24), 24);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(dup2(ends[0], software.files[i]), software.files[i]);
	assert_false(probe_software_read(&software, 2, values));
	probe_software_end(&software, 2);
	assert_int_equal(read(software.files[1], text, sizeof(text)), 24);
	close(software.files[0]);
	close(software.files[1]);
	assert_false(probe_software_read(&software, 2, values));
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_handler_on_another_stack), SCRATCH_TEST(test_nested), SCRATCH_TEST(test_jump), SCRATCH_TEST(test_tail_call),
		SCRATCH_TEST(test_budget), SCRATCH_TEST(test_not_measured), SCRATCH_TEST(test_full), SCRATCH_TEST(test_fork),
		SCRATCH_TEST(test_instrumented), SCRATCH_TEST(test_threads), SCRATCH_TEST(test_fork_without_a_file),
		SCRATCH_TEST(test_fork_then_threads), SCRATCH_TEST(test_threads_of_others), SCRATCH_TEST(test_software_files_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
