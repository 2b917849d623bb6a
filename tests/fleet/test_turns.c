/* Who was at work beside whom: a part of the helper, which is a program of its own. */
#include "fleet/helper/turns.c"

#include "fleet/helper/sampler_turns.c"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define PERIOD_NS INT64_C(4583592)

static void assert_near(double is, double wanted)
{
	assert_true(fabs(is - wanted) < 1e-6);
}

/* ---- one window ---- */

/* Two processors, of which the second is idle at first. */
static void test_window(void **state)
{
	struct turns t = { .n = 0 };
	struct turns_told told;

	(void)state;
	turns_begin(&t, 2, 1000);
	turns_add(&t, 0, 900, TURNS_SELF, true, false);	  /* before it */
	turns_add(&t, 0, 1500, TURNS_SELF, false, false); /* it is there still */
	turns_add(&t, 0, 2000, TURNS_SELF, true, false);
	turns_add(&t, 0, 3000, TURNS_OURS, false, false); /* the clock */
	turns_add(&t, 1, 4000, TURNS_IDLE, true, false);
	turns_add(&t, 0, 6000, TURNS_OURS, true, false); /* so long beside the other one */
	turns_add(&t, 1, 7000, TURNS_OURS, true, false);
	turns_add(&t, 1, 9000, TURNS_OTHER, true, false);
	turns_add(&t, 0, 9500, TURNS_OTHER, true, false); /* no processor was left for it */
	turns_add(&t, 1, 10000, TURNS_OURS, true, false);
	turns_end(&t, 12000, 0);
	assert_near(t.seen_ns, 11000); /* of which 10 in the window */
	assert_near(t.idle_ns, 4000 * 1.1);
	assert_near(t.shut_out_ns, 2000 * 1.1);
	assert_near(t.beside_ns, 2000 * 1.1);
	told = turns_of(&t, 22000, 19000);
	assert_int_equal(told.idle_ns, 8800);
	assert_int_equal(told.shut_out_ns, 4400);
	turns_begin(&t, 2, 20000);
	turns_add(&t, 0, 21000, TURNS_SELF, true, false);
	turns_add(&t, 0, 24000, TURNS_OURS, true, false);
	turns_add(&t, 1, 29000, TURNS_OURS, false, false);
	turns_end(&t, 30000, 3000);		    /* who is on the first processor in the last part would not have been met yet */
	assert_near(t.seen_ns, 11000 + 6000 * 2.5); /* from where the last one ended to where this one did */
	assert_near(t.idle_ns, 4400);
	turns_release(&t);
	assert_int_equal(turns_of(&t, 88000, 0).idle_ns, -1);
}

/* What the accounts charge is no waiting, though it was seen that none was at work; but where several were at work beside each other for
 * longer than none was, or had no processor, it is known better what was seen. */
static void test_charged(void **state)
{
	struct turns t = { .seen_ns = 1000, .idle_ns = 300, .beside_ns = 50 };

	(void)state;
	assert_int_equal(turns_of(&t, 2000, 1600).idle_ns, 500);
	assert_int_equal(turns_of(&t, 2000, 2200).idle_ns, 0);
	t.beside_ns = 400;
	assert_int_equal(turns_of(&t, 2000, 2100).idle_ns, 600);
	t = (struct turns){ .seen_ns = 1000, .idle_ns = 300, .shut_out_ns = 200 };
	assert_int_equal(turns_of(&t, 2000, 1600).idle_ns, 600);
	t = (struct turns){ .seen_ns = 1000 }; /* while it was looked, one was at work all the time */
	assert_int_equal(turns_of(&t, 2000, 1600).idle_ns, 400);
}

/* What made so many changes that the window was over early stands for its own time alone: what came then, the next window tells. */
static void test_over_early(void **state)
{
	struct turns t = { .n = 0 };

	(void)state;
	turns_begin(&t, 2, 1000);
	turns_add(&t, 0, 2000, TURNS_SELF, true, false);
	turns_add(&t, 1, 4000, TURNS_OURS, true, false);
	turns_add(&t, 1, 12000, TURNS_IDLE, true, true);
	turns_add(&t, 0, 12000, TURNS_IDLE, true, true);
	turns_end(&t, 50000000, 0);
	assert_near(t.seen_ns, 11000);
	assert_near(t.idle_ns, 8000 * 1.1);
	turns_begin(&t, 2, 100000000);
	turns_add(&t, 0, 100000000, TURNS_SELF, true, false);
	turns_add(&t, 0, 140000000, TURNS_OURS, false, false);
	turns_end(&t, 150000000, 10000000);
	assert_near(t.idle_ns, 8000 * 1.1);
	assert_true(t.seen_ns > 100000000);
	turns_release(&t);
}

/* ---- many ---- */

struct machine {
	struct turns turns;
	int64_t now_ns, drained_ns, met_ns[2], wanted[2], told[2], begun_ns;
	double all, idle;
	enum turns_who on[2];
};

static void change(struct machine *m, uint32_t processor, enum turns_who to)
{
	if (m->on[processor] == to)
		return;
	if (m->told[processor] < m->wanted[processor]) {
		m->told[processor]++;
		turns_add(&m->turns, processor, (uint64_t)m->now_ns, m->on[processor], true, m->told[processor] == m->wanted[processor]);
	}
	m->on[processor] = to;
}

/* This process takes the second processor for 20 us, and begins a window. */
static void drain(struct machine *m)
{
	enum turns_who was = m->on[1];

	turns_end(&m->turns, (uint64_t)m->now_ns, 5 * PERIOD_NS / 2);
	turns_begin(&m->turns, 2, (uint64_t)m->now_ns);
	for (size_t i = 0; i < 2; i++)
		m->wanted[i] = m->told[i] + TURNS_CHANGES;
	m->drained_ns = m->now_ns;
	m->on[1] = TURNS_SELF;
	m->now_ns += 20000;
	change(m, 1, was);
}

static void spend(struct machine *m, int64_t ns)
{
	for (int64_t end_ns = m->now_ns + ns; m->now_ns < end_ns;) {
		int64_t next_ns = end_ns;
		int ours = (m->on[0] == TURNS_OURS) + (m->on[1] == TURNS_OURS);

		for (size_t i = 0; i < 2; i++)
			next_ns = m->met_ns[i] + PERIOD_NS < next_ns ? m->met_ns[i] + PERIOD_NS : next_ns;
		next_ns = m->drained_ns + 50000000 < next_ns ? m->drained_ns + 50000000 : next_ns;
		next_ns = next_ns > m->now_ns ? next_ns : m->now_ns;
		m->all += (double)(next_ns - m->now_ns);
		m->idle += ours == 0 ? (double)(next_ns - m->now_ns) : 0;
		m->now_ns = next_ns;
		for (uint32_t i = 0; i < 2; i++) {
			if (m->met_ns[i] + PERIOD_NS > m->now_ns)
				continue;
			m->met_ns[i] = m->now_ns;
			if (m->on[i] != TURNS_IDLE)
				turns_add(&m->turns, i, (uint64_t)m->now_ns, m->on[i], false, false);
		}
		if (m->drained_ns + 50000000 <= m->now_ns)
			drain(m);
	}
}

/* By turns, as long as they are drawn: one thread that computes; processes that begin others, which goes on for a moment beside them;
 * threads that hand a processor over. For how long none is at work is found, though the first have no changes and the last have more than
 * are told. */
static void test_turns(void **state)
{
	struct machine m = { .now_ns = 1000000, .drained_ns = 1000000 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	turns_begin(&m.turns, 2, (uint64_t)m.now_ns);
	drain(&m);
	for (int turn = 0; turn < 50000; turn++) {
		int64_t end_ns = m.now_ns + 1000000 + (int64_t)(9000000 * rng_double(&rng));

		change(&m, 0, TURNS_OURS);
		if (turn % 3 == 0)
			spend(&m, end_ns - m.now_ns);
		while (m.now_ns < end_ns && turn % 3 == 1) {
			spend(&m, 30000);
			change(&m, 1, TURNS_OURS);
			spend(&m, 10000);
			change(&m, 0, TURNS_IDLE);
			spend(&m, 20000);
			change(&m, 1, TURNS_IDLE);
			spend(&m, 2000);
			change(&m, 0, TURNS_OURS);
		}
		while (m.now_ns < end_ns && turn % 3 == 2) {
			change(&m, 0, TURNS_IDLE);
			spend(&m, 500);
			change(&m, 0, TURNS_OURS);
			spend(&m, 2500);
		}
	}
	assert_true(fabs(m.turns.idle_ns / m.turns.seen_ns / (m.idle / m.all) - 1) < .12);
	assert_true(m.turns.shut_out_ns < 1e-3 * m.all);
	turns_release(&m.turns);
}

/* ---- what the kernel tells ---- */

/* Of two processors, without files. */
static struct sampler_turns told_of_two(void)
{
	struct sampler_turns t = { .n = 2,
				   .known = true,
				   .rings = { { .fd = -1, .wanted = TURNS_CHANGES }, { .fd = -1, .wanted = TURNS_CHANGES } } };

	turns_begin(&t.turns, 2, 1000);
	return t;
}

/* This process leaves the first processor to thread 7; that one waits, and comes again after the second processor was 8's. */
static void tell(struct sampler_turns *t, bool idle_told)
{
	sampler_turns_take(t, 0, 2000, 5, TURNS_SELF, true);
	sampler_turns_came(t, 0, 2000, 5, TURNS_SELF, 20);
	sampler_turns_take(t, 0, 5000, 7, TURNS_OURS, true);
	sampler_turns_came(t, 0, 5000, 7, TURNS_OURS, 20);
	if (idle_told)
		sampler_turns_take(t, 1, 5500, 0, TURNS_IDLE, true);
	sampler_turns_came(t, 1, 5500, 0, TURNS_IDLE, 20);
	sampler_turns_take(t, 1, 8000, 8, TURNS_OURS, true);
	sampler_turns_came(t, 1, 8000, 8, TURNS_OURS, 20);
	if (idle_told)
		sampler_turns_take(t, 0, 8500, 0, TURNS_IDLE, true);
	sampler_turns_came(t, 0, 8500, 0, TURNS_IDLE, 20);
	sampler_turns_take(t, 0, 9000, 7, TURNS_OURS, true);
}

/* Whether or not a kernel tells of what leaves a processor idle no more: who comes there says it. */
static void test_idle_untold(void **state)
{
	(void)state;
	for (int told = 0; told < 2; told++) {
		struct sampler_turns t = told_of_two();

		tell(&t, told);
		assert_int_equal(t.rings[0].told, told ? 4 : 3);
		left_add(&t, &t.rings[0], t.rings[0].left_ns); /* as where a window ends */
		turns_end(&t.turns, 9000, 0);
		assert_near(t.turns.idle_ns, 2 * 500 * (8.0 / 7)); /* the first 1000 were not seen */
		turns_release(&t.turns);
	}
}

/* To tell of a change takes time, which is no waiting: who leaves is there until it has told all, and until another one says that it came.
 */
static void test_telling(void **state)
{
	struct sampler_turns t = told_of_two();

	(void)state;
	sampler_turns_take(&t, 0, 2000, 5, TURNS_SELF, true);
	sampler_turns_came(&t, 0, 2000, 5, TURNS_SELF, 20);
	sampler_turns_take(&t, 0, 5000, 7, TURNS_OURS, true);
	sampler_turns_left(&t, 0, 5600, 7);
	sampler_turns_came(&t, 0, 6000, 7, TURNS_OURS, 20);
	sampler_turns_take(&t, 1, 7000, 8, TURNS_OTHER, true);
	sampler_turns_left(&t, 1, 7100, 9); /* not that one */
	sampler_turns_came(&t, 0, 9000, 0, TURNS_IDLE, 20);
	sampler_turns_take(&t, 0, 12000, 7, TURNS_OURS, true);
	sampler_turns_left(&t, 0, 12400, 7);		      /* nobody says that they came */
	sampler_turns_came(&t, 1, 13000, 10, TURNS_OURS, 20); /* beside that one, which is told later */
	sampler_turns_came(&t, 0, 15000, 0, TURNS_IDLE, 20);
	sampler_turns_take(&t, 0, 16000, 7, TURNS_OURS, true);
	turns_end(&t.turns, 15000, 0);
	assert_near(t.turns.idle_ns, (1000 + 2000) * (14000.0 / 13000));
	turns_release(&t.turns);
}

/* While an idle processor wakes up for a thread that is new, the accounts charge that one; not later, nor where it was not idle, nor before
 * it was. */
static void test_born(void **state)
{
	struct sampler_turns t = told_of_two();

	(void)state;
	t.begun_ns = 400;
	sampler_turns_born(&t, 300, 10);
	sampler_turns_take(&t, 0, 2000, 5, TURNS_SELF, true);
	sampler_turns_came(&t, 0, 2000, 5, TURNS_SELF, 7);
	sampler_turns_born(&t, 3000 - CHARGED_NS, 8);
	sampler_turns_take(&t, 0, 5000, 7, TURNS_OURS, true);
	sampler_turns_came(&t, 0, 5000, 7, TURNS_OURS, 0);
	sampler_turns_came(&t, 1, 7000, 0, TURNS_IDLE, 8);
	sampler_turns_born(&t, 7500 - CHARGED_NS, 9);
	sampler_turns_take(&t, 1, 8000, 8, TURNS_OURS, true);
	sampler_turns_came(&t, 1, 8000, 8, TURNS_OURS, 0);
	sampler_turns_came(&t, 0, 8500, 0, TURNS_IDLE, 8);
	sampler_turns_take(&t, 0, 9000, 8, TURNS_OURS, true);
	sampler_turns_came(&t, 0, 9000, 8, TURNS_OURS, 0);
	sampler_turns_came(&t, 1, 9400, 0, TURNS_IDLE, 9); /* idle since 8000: from there on */
	sampler_turns_came(&t, 0, 9600, 0, TURNS_IDLE, 10);
	sampler_turns_take(&t, 0, 10000, 10, TURNS_OURS, true);
	sampler_turns_take(&t, 1, 10000, 9, TURNS_OURS, true);
	left_add(&t, &t.rings[0], t.rings[0].left_ns);
	left_add(&t, &t.rings[1], t.rings[1].left_ns);
	turns_end(&t.turns, 10000, 0);
	assert_near(t.turns.idle_ns, 0);
	assert_near(t.turns.beside_ns, (2000 + 500 + 400) * (9.0 / 8));
	turns_release(&t.turns);
}

/* What is missing makes all of it unknown; a window that was refused begins no other one. */
static void test_refused(void **state)
{
	struct sampler_turns t = told_of_two();

	(void)state;
	sampler_turns_drain(&t, 60000000, 1, false);
	assert_false(t.known);
	tell(&t, true);
	assert_int_equal(t.turns.n + (size_t)t.rings[0].told, 0);
	sampler_turns_close(&t);
	t = told_of_two();
	while (t.n < TURNS_PROCESSORS)
		t.rings[t.n++].fd = -1;
	sampler_turns_add(&t, 256, -1, 1);
	assert_false(t.known);
	sampler_turns_close(&t);
	t = (struct sampler_turns){ .n = 0 };
	sampler_turns_add(&t, 1 << 20, -1, 1); /* there is no such processor */
	assert_true(t.known);
	sampler_turns_begin(&t);
	assert_false(t.known);
	sampler_turns_close(&t);
}

/* What it costs to be told is bounded: after a window of few changes the next one begins soon, after one of many later by as much. */
static void test_cost(void **state)
{
	static const struct {
		size_t changes;
		double least_ms, most_ms;
	} cases[] = { { 10, 80, 160 }, { 2000, 600, 600 }, { 8000, 2400, 2400 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sampler_turns t = told_of_two();
		double apart_ms;

		t.open = true;
		t.begun_ns = 1000;
		for (size_t k = 0; k < cases[i].changes; k++)
			sampler_turns_take(&t, k % 2, 2000 + 5000 * k, 7 + k % 2, TURNS_OURS, true);
		sampler_turns_drain(&t, 30000000, 0, false);
		assert_true(t.open);
		sampler_turns_drain(&t, 50000000, 0, false);
		assert_false(t.open);
		apart_ms = (double)(t.next_ns - 50000000) / 1e6;
		assert_true(apart_ms >= cases[i].least_ms && apart_ms <= cases[i].most_ms);
		sampler_turns_close(&t);
	}
}

int suite_turns(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_window),  cmocka_unit_test(test_over_early),
					    cmocka_unit_test(test_charged), cmocka_unit_test(test_born),
					    cmocka_unit_test(test_turns),   cmocka_unit_test(test_idle_untold),
					    cmocka_unit_test(test_telling), cmocka_unit_test(test_refused),
					    cmocka_unit_test(test_cost) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
