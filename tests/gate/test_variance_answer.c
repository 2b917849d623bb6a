/* Tests the answer: it says that waiting is not judged, and names stops, and run time that several threads lost at once. */
#include "tests/gate/said.h"
#include "tests/scratch.h"

#include <math.h>
#include <string.h>

enum { WRITE, PAUSE, SITES };

struct made {
	struct fragments f;
	size_t capacity;
	double now[2];
};

static void add(struct made *m, uint32_t thread, uint32_t from, uint32_t to, enum activity activity, double time_s)
{
	m->f.items = mem_grow(m->f.items, m->f.n, &m->capacity, sizeof(*m->f.items));
	m->f.items[m->f.n++] = (struct fragment){ .start_s = m->now[thread],
						  .time_s = time_s,
						  .thread = thread,
						  .from = from,
						  .to = to,
						  .weight = 1,
						  .activity = (uint16_t)activity,
						  .basis = from == FRAGMENT_NO_SITE ? BASIS_ARGUMENTS : BASIS_UNVERIFIED,
						  .peer = -1 };
	m->now[thread] += time_s;
}

static void analyse(struct made *m, struct variance *v)
{
	static const char *const names[SITES] = { "write", "pause" };
	const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };
	struct fragment_process *p = mem_new(1, sizeof(*p));
	struct assay_error err;

	m->f.sites = mem_new(SITES, sizeof(*m->f.sites));
	m->f.n_sites = SITES;
	for (size_t s = 0; s < SITES; s++)
		m->f.sites[s] =
		    (struct fragment_site){ mem_string("-"), mem_string(names[s]), 16 * s, mem_string(""), false, mem_string("main") };
	*p = (struct fragment_process){ .name = mem_string("process 7 (app)"),
					.program = mem_string("app"),
					.host = mem_string(""),
					.rank = -1,
					.pid = 7,
					.end_s = fmax(m->now[0], m->now[1]),
					.thread_s = m->now[0] + m->now[1],
					.n = m->f.n,
					.n_snapshots = m->f.n_snapshots,
					.finished = true };
	m->f.processes = p;
	m->f.n_processes = 1;
	m->f.span_s = p->end_s;
	m->f.is_one_host = true;
	check(variance_analyse(&m->f, &options, v, &err), &err);
}

/* Checks two threads that are slow at the same time: together they lost more than the run did. */
static void slow_beside(void **state)
{
	struct made m = { .capacity = 0 };
	struct variance v;
	char *text;

	(void)state;
	for (uint32_t thread = 0; thread < 2; thread++)
		for (size_t i = 0; i < 400; i++) {
			bool slow = i >= 150 && i < 250;

			add(&m, thread, WRITE, WRITE, ACTIVITY_COMPUTATION, slow ? .02 : .005);
			add(&m, thread, FRAGMENT_NO_SITE, WRITE, ACTIVITY_IO, 1e-6);
		}
	analyse(&m, &v);
	assert_int_equal(v.n_regions, 1);
	assert_true(fabs(v.regions[0].estimated_s - 3) < .1);
	assert_true(fabs(v.regions[0].elapsed_s - 1.5) < .05);
	text = said(&v);
	assert_non_null(strstr(text, " of run time ("));
	assert_non_null(strstr(text, " summed over its threads)"));
	free(text);
	variance_release(&v);
}

/* Checks a process that mostly waits, as usual: no waiting is reported, and coverage refers to the rest. */
static void waits_by_design(void **state)
{
	struct made m = { .capacity = 0 };
	struct variance v;
	char *text;

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		add(&m, 0, WRITE, PAUSE, ACTIVITY_COMPUTATION, .001);
		add(&m, 0, FRAGMENT_NO_SITE, PAUSE, ACTIVITY_WAITING, .004 + .003 * (double)(i * 7 % 11));
		add(&m, 0, FRAGMENT_NO_SITE, WRITE, ACTIVITY_IO, 1e-6);
		m.now[0] += .0001;
	}
	analyse(&m, &v);
	assert_int_equal(v.n_regions, 0);
	assert_true(variance_coverage(&v) > .9 && v.covered_s < .1 * v.total_s);
	text = said(&v);
	assert_non_null(strstr(text, "no variance found in the "));
	assert_non_null(strstr(text, " % of the time was waiting, which is not judged; 9"));
	free(text);
	variance_release(&v);
}

/* Checks records of short calls whose weights represent more time than there was, since recording takes time, too. Half of the other time
 * repeats. */
static void stand_for_more(void **state)
{
	struct made m = { .capacity = 0 };
	struct variance v;
	char *text;

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		add(&m, 0, FRAGMENT_NO_SITE, PAUSE, ACTIVITY_WAITING, .001);
		m.f.items[m.f.n - 1].weight = 2;
		add(&m, 0, PAUSE, PAUSE, ACTIVITY_COMPUTATION, .001);
	}
	add(&m, 0, PAUSE, WRITE, ACTIVITY_COMPUTATION, .3);
	analyse(&m, &v);
	assert_true(fabs(variance_coverage(&v) - .5) < .01);
	text = said(&v);
	assert_non_null(strstr(text, "no variance found in the 25 % of the time that could be judged\n"));
	free(text);
	variance_release(&v);
}

/* Adds a snapshot with the total time for which the process was stopped. */
static void stopped_told(struct made *m, size_t *capacity, double stopped_s)
{
	struct snapshot *at = mem_append_slot(m->f.snapshots, m->f.n_snapshots, capacity);

	*at = (struct snapshot){ .at_s = m->now[0] };
	for (size_t a = 0; a < USAGE_COUNTERS; a++)
		at->value[a] = (double)NAN;
	at->value[USAGE_CPU] = .01 * m->now[0];
	at->value[USAGE_STOPPED] = stopped_s;
}

/* Checks that a stop that the kernel reports is named wherever it happened: in a wait, in a longer wait, or without any records. */
static void stopped_in_wait(void **state)
{
	static const struct {
		double waited_s, stopped_s;
		size_t stops, regions; /* stops, one after the other */
		bool unseen;
	} rows[] = {
		{ 1, .95, 1, 1, false }, { 5, .95, 1, 1, false }, { 1, 0, 1, 0, false }, { .04, .03, 20, 1, false }, { 1, .95, 1, 1, true }
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct made m = { .capacity = 0 };
		struct variance v;
		double stopped = 0, began = 0, ended = 0;
		char *text;
		size_t capacity = 0;

		for (size_t i = 0; i < 300; i++) {
			bool longer = i >= 150 && i < 150 + rows[r].stops;

			add(&m, 0, PAUSE, PAUSE, ACTIVITY_COMPUTATION, .001);
			began = i == 150 ? m.now[0] : began;
			stopped_told(&m, &capacity, stopped);
			add(&m, 0, FRAGMENT_NO_SITE, PAUSE, ACTIVITY_WAITING,
			    longer ? rows[r].waited_s : .004 + .0003 * (double)(i * 7 % 11));
			if (longer && rows[r].unseen)
				m.f.n--;
			stopped += longer ? rows[r].stopped_s : 0;
			ended = longer ? m.now[0] : ended;
		}
		analyse(&m, &v);
		if (v.n_regions != rows[r].regions)
			fail_msg("row %zu: %zu regions", r, v.n_regions);
		if (v.n_regions) {
			const struct region *one = &v.regions[0];

			assert_non_null(strstr(text = said(&v), "stopped: process 7 (app) lost "));
			assert_null(strstr(text, "was not counted"));
			free(text);
			assert_true(one->condition && fabs(one->estimated_s - stopped) < .02 * stopped);
			assert_true(fabs(one->from_s - began) < .01 && fabs(one->to_s - ended) < .01);
			assert_true(one->breakdown.n == 1 && one->breakdown.parts[0].cause == LOSS_STOPPED);
		}
		variance_release(&v);
	}
}

int suite_variance_answer(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_beside),
		cmocka_unit_test(waits_by_design),
		cmocka_unit_test(stand_for_more),
		cmocka_unit_test(stopped_in_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
