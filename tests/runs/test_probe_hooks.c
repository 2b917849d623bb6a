/* Tests the entry and exit of calls: nested, left by a jump, on another stack, in the same slot, too deep, and without room in the file. */
#include "runs/inside/probe/probe_frames.c"

#include "tests/runs/probe_stack.h"

/* Checks a signal handler on another stack, above the thread's, while a hook runs on the thread's stack. The hook's state must survive. */
static void test_handler_on_another_stack(void **state)
{
	uintptr_t elsewhere[4] = { 0 }, *slots = begin(0, RECORD_FILE_BYTES);
	struct samples s;

	(void)state;
	enter(0, &slots[30]);
	assert_true((uintptr_t)elsewhere > (uintptr_t)&slots[20]);
	slots[14] = (uintptr_t)probe_in_enter;
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

/* f0 calls f1, which calls itself. Function numbers with near and with far counters are used. */
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
		assert_true(sample->self_ns <= sample->ns);
	}
	assert_int_equal(calls_of(&s, 0), 2000);
	assert_int_equal(calls_of(&s, 1), 4000);
	assert_int_equal(calls_of(&s, 501), 4000);
	samples_release(&s);
}

/* A jump leaves f1 and f2 and returns to f0, which calls f3 at a slot between theirs. */
static void test_jump(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES);
	(void)state;
	for (int i = 0; i < 1000; i++) {
		enter(0, &slots[40]);
		enter(1, &slots[30]);
		enter(2, &slots[10]);
		slots[10] = 77;
		enter(3, &slots[20]);
		leave(&slots[20]);
		slots[30] = 78; /* the program has overwritten the return address */
		leave(&slots[40]);
	}
	end(&s, slots);
	/* The durations of f1 and f2 are unknown: the calls are counted, but give no samples. */
	assert_int_equal(s.n, 2000);
	for (size_t i = 0; i < s.n; i++) {
		assert_true(!s.items[i].unwound && (s.items[i].function == 0 || s.items[i].function == 3));
		assert_int_equal(s.items[i].depth, s.items[i].function == 3 ? 2 : 0); /* f2 was no longer on the stack */
	}
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(s.functions[i].n_late_ends, i == 1 || i == 2 ? 1000 : 0);
	assert_int_equal(calls_of(&s, 1), 1000);
	samples_release(&s);
}

/* f0 ends with a jump to f1, in the same slot. */
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

/* Checks that short calls are sampled and all calls counted, and that two runs sample the same calls. */
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

/* Checks that calls are counted but not measured if they are too deep, on another stack, or in a hook that a signal interrupted. */
static void test_not_measured(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES), elsewhere[2] = { 5, 6 }, *deep = mem_new(PROBE_DEPTH_MAX + 20, sizeof(*deep));

	(void)state;
	enter(0, &slots[10]);
	leave(&slots[10]);
	enter(0, &elsewhere[0]);
	assert_int_equal(elsewhere[0], 5);
	slots[14] = (uintptr_t)probe_in_enter;
	probe_self->busy = (uintptr_t)&slots[20];
	enter(0, &slots[10]);
	assert_int_equal(slots[10], 1010);
	probe_self->busy = 0;
	probe_self->stack = (struct probe_stack){ (uintptr_t)deep, (PROBE_DEPTH_MAX + 20) * sizeof(*deep) };
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

/* Checks that return addresses are restored even if the file is full. */
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

/* Checks the compiler's hooks at entry and exit, for a recursive function and for one that ends without the exit hook. */
static void test_instrumented(void **state)
{
	struct samples s;
	uintptr_t *slots = begin(0, RECORD_FILE_BYTES);

	(void)state;
	for (int i = 0; i < 100; i++) {
		instrumented_enter(0, &slots[40]);
		instrumented_enter(1, &slots[30]);
		instrumented_enter(1, &slots[20]);
		instrumented_leave(1, &slots[20]);
		instrumented_leave(1, &slots[30]);
		instrumented_enter(2, &slots[30]); /* left by a jump */
		instrumented_leave(0, &slots[40]);
	}
	end(&s, slots);
	assert_int_equal(s.n, 300);
	assert_int_equal(s.functions[2].n_late_ends, 100);
	assert_int_equal(calls_of(&s, 1), 200);
	assert_int_equal(calls_of(&s, 2), 100);
	samples_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_handler_on_another_stack),
		SCRATCH_TEST(test_nested),
		SCRATCH_TEST(test_jump),
		SCRATCH_TEST(test_tail_call),
		SCRATCH_TEST(test_budget),
		SCRATCH_TEST(test_not_measured),
		SCRATCH_TEST(test_full),
		SCRATCH_TEST(test_instrumented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
