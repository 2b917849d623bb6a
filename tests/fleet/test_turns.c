/* Who was at work beside whom: a part of the helper, which is a program of its own. */
#include "fleet/helper/turns.c"

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
	assert_near(t.at_work_ns, (4000 + 3000 + 1000) * 1.1); /* 11 of the time, of which 10 were seen */
	assert_near(t.beside_ns, 2000 * 1.1);
	assert_near(t.shut_out_ns, 2000 * 1.1);
	assert_near(t.starts, 2 * 1.1);
	assert_near(t.lone_starts, 1.1);
	told = turns_of(&t, 88000, 500, 10, 40);
	assert_int_equal(told.beside_ns, 22000);
	assert_int_equal(told.shut_out_ns, 2200);
	assert_int_equal(told.lone_delay_ns, 1000);
	turns_begin(&t, 2, 20000);
	turns_add(&t, 0, 21000, TURNS_SELF, true, false);
	turns_add(&t, 0, 24000, TURNS_OURS, true, false);
	turns_add(&t, 1, 29000, TURNS_OURS, false, false);
	turns_end(&t, 30000, 3000); /* who is on the first processor in the last part would not have been met yet */
	assert_near(t.at_work_ns, 8800 + (3000 + 6000) * 3);
	assert_near(t.beside_ns, 2200 + 3000 * 3);
	turns_release(&t);
	assert_int_equal(turns_of(&t, 88000, 500, 10, 40).beside_ns, -1);
}

/* ---- many ---- */

struct machine {
	struct turns turns;
	int64_t now_ns, drained_ns, met_ns[2], wanted[2], told[2], begun_ns;
	double at_work, beside, lone, starts, none;
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
	m->starts += to == TURNS_OURS;
	m->lone += to == TURNS_OURS && m->on[0] != TURNS_OURS && m->on[1] != TURNS_OURS;
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
	m->starts -= was == TURNS_OURS;
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
		m->at_work += ours * (double)(next_ns - m->now_ns);
		m->beside += ours > 1 ? (double)(next_ns - m->now_ns) : 0;
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
 * threads that hand a processor over. What is done beside each other is found, though the first have no changes and the last have more than
 * are told.
 */
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
	assert_true(fabs(m.turns.beside_ns / m.turns.at_work_ns / (m.beside / m.at_work) - 1) < .12);
	assert_true(fabs(m.turns.at_work_ns / m.at_work - 1) < .03);
	assert_true(fabs(m.turns.lone_starts / m.turns.starts / (m.lone / m.starts) - 1) < .12);
	assert_true(m.turns.shut_out_ns < 1e-3 * m.at_work);
	turns_release(&m.turns);
}

int suite_turns(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_window), cmocka_unit_test(test_turns) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
