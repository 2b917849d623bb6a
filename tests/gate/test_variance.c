/* Tests runs whose truth is known: which process was slow, when, why, and what that cost. */
#include "base/file.h"
#include "fleet/cgroup/stops.h"
#include "gate/variance/answer.h"
#include "gate/variance/stored_runs.h"
#include "gate/variance/waits.h"
#include "tests/gate/made_run.h"
#include "tests/model/v_measure.h"
#include "tests/scratch.h"

static const struct variance_options usual_options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };

static void analyse(const struct made_options *o, const struct variance_options *options, struct variance *v)
{
	static int runs;
	char *directory = mem_format("run%d", runs++);
	const char *name = directory;
	struct fragments f;
	struct assay_error err;

	assert_int_equal(mkdir(directory, 0755), 0);
	assert_int_equal(made_run(directory, o), 0);
	check(record_files_read(&name, 1, &f, &err), &err);
	check(variance_analyse(&f, options, v, &err), &err);
	free(directory);
}

static void analyse_one(int ranks, bool counted, struct made_disturbance d, struct variance *v)
{
	const struct made_options o = {
		.ranks = ranks, .seconds = 4, .noise = .01, .seed = 3, .counted = counted, .disturbances = &d, .n = 1
	};

	analyse(&o, &usual_options, v);
}

static double share_of(const struct region *r, enum loss_cause cause)
{
	for (size_t i = 0; i < r->breakdown.n; i++)
		if (r->breakdown.parts[i].cause == cause)
			return r->breakdown.parts[i].impact_s / r->breakdown.loss_s;
	return 0;
}

/* Checks each kind of disturbance on one of four ranks for a third of the run: one region matches it in time and cause, its loss is within
 * 10 % of the truth, and the parts add up. */
static void disturbed(void **state)
{
	static const struct {
		struct made_disturbance d;
		enum loss_cause cause;
		double loss_s;
	} rows[] = {
		{ { 1, 1, 2.5, 2, MADE_QUEUE }, LOSS_QUEUE, .715 },	   { { 2, 1, 2.5, 1.5, MADE_SLOW }, LOSS_PROCESSOR, .475 },
		{ { 0, 1, 2.5, 2, MADE_FAULTS }, LOSS_MINOR, .715 },	   { { 3, 1, 1, .8, MADE_STOP }, LOSS_STOPPED, .8 },
		{ { 2, 1, 2.5, 2, MADE_NOBODY }, LOSS_WAITING, .715 },	   { { 1, 1, 2.5, 2, MADE_THROTTLED }, LOSS_THROTTLED, .715 },
		{ { 0, 1, 2.5, 2, MADE_STEAL }, LOSS_STEAL, .715 },	   { { 3, 1, 2.5, 1.5, MADE_CLOCK }, LOSS_CLOCK, .475 },
		{ { 1, 1, 2.5, 2, MADE_MEMORY }, LOSS_MEMORY, .715 },	   { { 0, 1, 2.5, 2, MADE_THREADS }, LOSS_OWN_QUEUE, .715 },
		{ { 2, 1, 2.5, 2, MADE_CHILDREN }, LOSS_OWN_QUEUE, .715 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct made_disturbance d = rows[i].d;
		const struct region *r;
		struct variance v;
		double sum = 0;

		d.to_s = d.kind == MADE_STOP ? d.from_s + .8 : d.to_s;
		analyse_one(4, true, d, &v);
		assert_int_equal(v.n_regions, 1);
		r = &v.regions[0];
		assert_int_equal(r->n, 1);
		assert_int_equal(v.fragments.processes[r->members[0].process].rank, d.rank);
		assert_int_equal(r->activity, ACTIVITY_COMPUTATION);
		assert_true(fabs(r->from_s - d.from_s) < .05 && fabs(r->to_s - d.to_s) < .05);
		if (fabs(r->estimated_s / rows[i].loss_s - 1) >= .1)
			fail_msg("row %zu: lost %.3f s instead of %.3f s", i, r->estimated_s, rows[i].loss_s);
		assert_true(share_of(r, rows[i].cause) > .8);
		for (size_t k = 0; k < r->breakdown.n; k++)
			sum += r->breakdown.parts[k].impact_s;
		assert_float_equal(sum, r->breakdown.loss_s, 1e-4);
		assert_float_equal(r->verified, 1, 1e-9);
		variance_release(&v);
	}
}

/* Checks that each estimate is in its interval, and that no part is larger than the loss. */
static void intervals(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (int i = 0; i < 12; i++) {
		const struct made_disturbance d[] = {
			{ 1, 1, 2 + rng_double(&rng), 1.3 + 2 * rng_double(&rng), i % 2 ? MADE_FAULTS : MADE_QUEUE },
			{ 1, 1.2, 1.4 + rng_double(&rng), 1.3 + rng_double(&rng), i % 3 ? MADE_FAULTS : MADE_CLOCK }
		};
		const struct made_options o = {
			.ranks = 2, .seconds = 4, .noise = .05, .seed = (uint64_t)(100 * i + 1), .counted = true, .disturbances = d, .n = 2
		};
		struct variance v;

		analyse(&o, &usual_options, &v);
		assert_true(v.n_regions > 0);
		for (size_t r = 0; r < v.n_regions; r++)
			for (size_t k = 0; k < v.regions[r].breakdown.n; k++) {
				const struct breakdown_part *p = &v.regions[r].breakdown.parts[k];

				assert_true(p->low_s <= p->impact_s + 1e-9 && p->impact_s <= p->high_s + 1e-9);
				assert_true(p->low_s >= -1e-9 && p->high_s <= v.regions[r].breakdown.loss_s + 1e-9);
			}
		variance_release(&v);
	}
}

/* Checks uncounted work that grows while another program runs all the time. More switches are a result of the longer time, not its cause.
 * The text says that it may be more work, whatever cause it names. */
static void more_of_all(void **state)
{
	const struct made_disturbance d[] = { { -1, 0, 99, 2, MADE_QUEUE }, { 1, 1.5, 2.1, 7, MADE_TURNS } };
	const struct made_options o = { .ranks = 2, .seconds = 4, .noise = .05, .seed = 3, .disturbances = d, .n = 2 };
	struct variance v;
	bool found = false;

	(void)state;
	analyse(&o, &usual_options, &v);
	for (size_t r = 0; r < v.n_regions; r++) {
		found |= v.regions[r].from_s > 1 && v.regions[r].to_s < 2.5;
		assert_float_equal(share_of(&v.regions[r], LOSS_SWITCHES), 0, .05);
	}
	assert_true(found);
	variance_release(&v);
}

/* Checks that times alone show a run-queue delay, and finer counters show its cause, even if they exist for only the later half of it. */
static void finer(void **state)
{
	static const struct {
		enum made_kind kind;
		double from_s;
		enum loss_cause cause;
		size_t regions; /* a quota becomes a region of its own once counters show it */
	} rows[] = { { MADE_QUEUE, 99, LOSS_WAITING, 1 },	{ MADE_THROTTLED, 99, LOSS_WAITING, 1 },
		     { MADE_QUEUE, 1.8, LOSS_QUEUE, 1 },	{ MADE_THROTTLED, 1.8, LOSS_THROTTLED, 2 },
		     { MADE_CHILDREN, 1.8, LOSS_OWN_QUEUE, 1 }, { MADE_SLOW, 99, LOSS_PROCESSOR, 1 },
		     { MADE_MEMORY, 1.8, LOSS_MEMORY, 1 } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct made_disturbance d = { 1, 1, 2.5, 2, rows[i].kind };
		const struct made_options o = { .ranks = 4,
						.seconds = 4,
						.noise = .01,
						.seed = 3,
						.counted = true,
						.finer_from_s = rows[i].from_s,
						.disturbances = &d,
						.n = 1 };
		struct variance v;
		double lost = 0;

		analyse(&o, &usual_options, &v);
		for (size_t r = 0; r < v.n_regions; r++)
			lost += v.regions[r].estimated_s;
		assert_int_equal(v.n_regions, rows[i].regions);
		if (fabs(lost / .715 - 1) >= .1)
			fail_msg("row %zu: lost %.3f s", i, lost);
		assert_true(share_of(&v.regions[v.n_regions - 1], rows[i].cause) > .8);
		variance_release(&v);
	}
}

/* Checks calls that wait for a disk, with and without a counter of such waits. */
static void disk(void **state)
{
	(void)state;
	for (int counted = 0; counted < 2; counted++) {
		const struct made_options o = { .ranks = 4,
						.seconds = 6,
						.noise = .01,
						.seed = 3,
						.counted = true,
						.is_one_host = true,
						.files = true,
						.finer_from_s = counted ? 0 : 99,
						.slow_calls = 2,
						.slow_from_s = 2,
						.slow_to_s = 4,
						.also_slow_s = .001 };
		struct variance v;

		analyse(&o, &usual_options, &v);
		assert_int_equal(v.n_regions, 2); /* the disk slows one process more than the other */
		assert_int_equal(v.regions[0].activity, ACTIVITY_IO);
		assert_int_equal(v.regions[0].members[0].process, 1);
		assert_true(share_of(&v.regions[0], counted ? LOSS_DISK : LOSS_CALLS) > .9);
		variance_release(&v);
	}
}

/* Checks a process without a CPU, first in a computation and then in a write: this is one region. */
static void adjoining(void **state)
{
	const struct made_disturbance d = { 1, 1, 2, 2, MADE_QUEUE };
	const struct made_options o = { .ranks = 4,
					.seconds = 6,
					.noise = .01,
					.seed = 3,
					.counted = true,
					.files = true,
					.queued = true,
					.slow_calls = 2,
					.slow_from_s = 2,
					.slow_to_s = 3,
					.disturbances = &d,
					.n = 1 };
	struct variance v;

	(void)state;
	analyse(&o, &usual_options, &v);
	assert_int_equal(v.n_regions, 1);
	assert_int_equal(v.regions[0].n, 1);
	assert_int_equal(v.regions[0].members[0].process, 1);
	assert_true(fabs(v.regions[0].from_s - 1) < .1 && fabs(v.regions[0].to_s - 3) < .1);
	assert_true(fabs(v.regions[0].estimated_s / (.476 + .656) - 1) < .1);
	assert_true(share_of(&v.regions[0], LOSS_QUEUE) > .8);
	variance_release(&v);
}

/* Checks that nothing is found in undisturbed runs, steady or not, with several sizes of work by turns; coverage is nearly complete. */
static void undisturbed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		const struct made_options o = { .ranks = 2,
						.seconds = 3,
						.noise = seed % 2 ? .02 : .25,
						.seed = 100 * seed,
						.counted = seed % 3,
						.coupled = seed % 4 == 0,
						.several_works = seed % 3 == 1 };
		struct variance v;

		analyse(&o, &usual_options, &v);
		assert_int_equal(v.n_regions, 0);
		assert_true(v.covered_s > .95 * v.total_s);
		variance_release(&v);
	}
}

/* Checks that calls that are slow now and then, at random, are usual for the run; a series of slow calls is not. */
static void sporadic(void **state)
{
	struct made_disturbance d = { 1, 1, 2, 2, MADE_QUEUE };
	struct variance v;

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct made_options o = { .ranks = 2, .seconds = 4, .noise = .02, .seed = 100 * seed, .counted = true, .sporadic = true };

		analyse(&o, &usual_options, &v);
		assert_int_equal(v.n_regions, 0);
		variance_release(&v);
		o.disturbances = &d;
		o.n = 1;
		analyse(&o, &usual_options, &v);
		assert_int_equal(v.n_regions, 1);
		assert_int_equal(v.regions[0].activity, ACTIVITY_COMPUTATION);
		variance_release(&v);
	}
}

/* Checks one of two ranks slow throughout, and all ranks slow at once. A waiting rank is followed to the rank that it waited for. */
static void places(void **state)
{
	struct made_disturbance d = { 1, 0, 99, 1.5, MADE_QUEUE };
	const struct made_options coupled = {
		.ranks = 4, .seconds = 4, .noise = .01, .seed = 3, .counted = true, .coupled = true, .disturbances = &d, .n = 1
	};
	struct variance v;

	(void)state;
	analyse_one(2, true, d, &v);
	assert_int_equal(v.n_regions, 1);
	assert_int_equal(v.regions[0].members[0].process, 1);
	assert_true(v.regions[0].members[0].throughout);
	for (size_t part = 0; part < 2; part++) {
		char *text = variance_region_sentence(&v, &v.regions[0]);

		assert_non_null(strstr(text, part ? " for as long as it ran, from 0 s to " : " throughout the run ("));
		free(text);
		v.fragments.span_s *= 2; /* other processes ran longer */
	}
	variance_release(&v);

	d = (struct made_disturbance){ -1, 1, 2, 2, MADE_QUEUE };
	analyse_one(3, true, d, &v);
	assert_int_equal(v.n_regions, 1);
	assert_int_equal(v.regions[0].n, 3);
	variance_release(&v);

	d = (struct made_disturbance){ 2, 1, 2, 2, MADE_QUEUE };
	analyse(&coupled, &usual_options, &v);
	assert_int_equal(v.n_regions, 2);
	assert_int_equal(v.regions[1].activity, ACTIVITY_COMMUNICATION);
	assert_int_equal(v.regions[1].n, 3);
	assert_int_equal(v.regions[1].causing_region, 0);
	assert_int_equal(v.regions[0].members[0].process, 2);
	variance_release(&v);
}

/* Checks that a process whose calls are slow throughout, and do not name their partners, is compared with the others. */
static void unnamed(void **state)
{
	const struct made_options o = {
		.ranks = 4, .seconds = 6, .noise = .01, .seed = 3, .counted = true, .is_one_host = true, .slow_calls = 2, .slow_to_s = 99
	};
	struct variance v;

	(void)state;
	analyse(&o, &usual_options, &v);
	assert_int_equal(v.n_regions, 1);
	assert_int_equal(v.regions[0].activity, ACTIVITY_COMMUNICATION);
	assert_int_equal(v.regions[0].n, 1);
	assert_int_equal(v.regions[0].members[0].process, 1);
	assert_int_equal(v.regions[0].causing_region, VARIANCE_NONE);
	assert_true(v.regions[0].members[0].throughout);
	variance_release(&v);
}

/* Checks two processes whose calls are slow at the same time for an unknown reason: they are one region if they lost about as much. */
static void alike(void **state)
{
	static const struct {
		double also_s;
		size_t regions;
	} rows[] = { { .0035, 1 }, { .001, 2 } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct made_options o = { .ranks = 4,
						.seconds = 6,
						.noise = .01,
						.seed = 3,
						.counted = true,
						.is_one_host = true,
						.slow_calls = 2,
						.slow_from_s = 2,
						.slow_to_s = 4,
						.also_slow_s = rows[i].also_s };
		struct variance v;

		analyse(&o, &usual_options, &v);
		assert_int_equal(v.n_regions, rows[i].regions);
		assert_int_equal(v.regions[0].members[0].process, 1);
		assert_int_equal(v.regions[rows[i].regions - 1].n, i ? 1 : 2);
		variance_release(&v);
	}
}

/* Checks two processes that are slow at the same time: the calls of a third one say for which of them it waited. */
static void partners(void **state)
{
	const struct made_disturbance d[] = { { 1, .5, 3, 2, MADE_QUEUE }, { 2, 1.2, 1.8, 2, MADE_QUEUE } };
	const struct made_options o = {
		.ranks = 3, .seconds = 4, .noise = .01, .seed = 3, .counted = true, .pair = true, .disturbances = d, .n = 2
	};
	struct variance v;
	size_t followed = 0;

	(void)state;
	analyse(&o, &usual_options, &v);
	for (size_t r = 0; r < v.n_regions; r++)
		if (v.regions[r].activity == ACTIVITY_COMMUNICATION && v.regions[r].members[0].process == 0) {
			assert_int_equal(v.regions[r].waited_for, 2);
			assert_true(v.regions[r].causing_region != VARIANCE_NONE);
			assert_int_equal(v.regions[v.regions[r].causing_region].members[0].process, 2);
			followed++;
		}
	assert_int_equal(followed, 1);
	variance_release(&v);
}

/* Checks a slow connection to an outside host. A rank that waits for this process has the same loss, although few calls are recorded. */
static void other_ends(void **state)
{
	const struct made_options o = { .ranks = 2,
					.seconds = 6,
					.noise = .01,
					.seed = 3,
					.counted = true,
					.pair = true,
					.ends = true,
					.rare = true,
					.slow_calls = 2,
					.slow_from_s = 2,
					.slow_to_s = 4 };
	struct variance v;
	char *said;

	(void)state;
	analyse(&o, &usual_options, &v);
	assert_int_equal(v.n_regions, 2);
	assert_int_equal(v.regions[0].n, 1);
	assert_int_equal(v.regions[0].members[0].process, 1);
	assert_int_equal(v.regions[0].causing_region, VARIANCE_NONE);
	assert_string_equal(v.regions[0].peer, "10.9.9.9:7777");
	assert_true(fabs(v.regions[0].from_s - 2) < .1 && fabs(v.regions[0].to_s - 4) < .1);
	assert_int_equal(v.regions[1].members[0].process, 0);
	assert_int_equal(v.regions[1].waited_for, 1);
	assert_int_equal(v.regions[1].causing_region, 0);
	assert_string_equal(v.regions[1].peer, "10.0.0.1:5");
	assert_non_null(strstr(said = variance_region_sentence(&v, &v.regions[1]), "inside the calls, waiting for rank 1: rank 0 lost "));
	free(said);
	assert_non_null(strstr(said = variance_region_sentence(&v, &v.regions[0]),
			       "inside the calls, waiting for 10.9.9.9:7777 or the network in between"));
	free(said);
	variance_release(&v);
}

/* Checks a window that starts within a stop: the counters before the stop show its cause. */
static void window_edge(void **state)
{
	const struct made_disturbance d = { 0, 1.9, 3, .4, MADE_STOP };
	const struct made_options o = {
		.ranks = 1, .seconds = 4, .noise = .01, .seed = 3, .counted = true, .is_one_host = true, .disturbances = &d, .n = 1
	};
	const struct fragments_window window = { .run_start = { .ns = 1700000000000000000u }, .from_s = 2, .to_s = 4 };
	char *name = mem_format("edge/%d-0.samples", (int)getpid());
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	struct fragments f;
	struct variance v;

	(void)state;
	assert_int_equal(mkdir("edge", 0755), 0);
	assert_int_equal(made_run("edge", &o), 0);
	check(file_read(name, SIZE_MAX, &bytes, &err), &err);
	free(name);
	check(fragments_parse(&(struct fragments_file){ .name = "edge", .bytes = bytes.bytes, .n = bytes.size }, 1, &window, &f, &err),
	      &err);
	check(variance_analyse(&f, &usual_options, &v, &err), &err);
	assert_int_equal(v.n_regions, 1);
	assert_true(share_of(&v.regions[0], LOSS_STOPPED) > .9);
	variance_release(&v);
	buf_release(&bytes);
}

/* Checks records with weights: four slow ones of 32 calls may be chance, a series of thirty is not. */
static void chosen(void **state)
{
	struct made_options o = { .ranks = 2, .seconds = 4, .noise = .01, .seed = 3, .counted = true, .rare = true, .rare_until_s = 1.07 };
	struct variance v;

	(void)state;
	analyse(&o, &usual_options, &v);
	assert_int_equal(v.n_regions, 0);
	variance_release(&v);
	o.rare_until_s = 1.6;
	analyse(&o, &usual_options, &v);
	assert_int_equal(v.n_regions, 1);
	assert_int_equal(v.regions[0].activity, ACTIVITY_COMMUNICATION);
	assert_true(fabs(v.regions[0].from_s - 1) < .1 && fabs(v.regions[0].to_s - 1.6) < .1);
	assert_true(v.regions[0].members[0].error_s > .02 * v.regions[0].members[0].loss_s);
	variance_release(&v);
}

/* Checks two halves with collective calls of their own, and a slow rank in each half at once. A waiting rank is followed to the slow rank
 * of its own half, not to the one that was slow for longer. */
static void collectives(void **state)
{
	const struct made_disturbance d[] = { { 2, .8, 2, 2, MADE_QUEUE }, { 4, .7, 2.1, 2, MADE_SLOW } };
	const struct made_options o = {
		.ranks = 6, .seconds = 4, .noise = .01, .seed = 3, .counted = true, .halves = true, .disturbances = d, .n = 2
	};
	static const size_t slow[] = { 2, 2, SIZE_MAX, 4, SIZE_MAX, 4 };
	struct variance v;
	size_t followed = 0;

	(void)state;
	analyse(&o, &usual_options, &v);
	for (size_t r = 0; r < v.n_regions; r++)
		for (size_t i = 0; v.regions[r].activity == ACTIVITY_COMMUNICATION && i < v.regions[r].n; i++) {
			const struct region *waits = &v.regions[r];

			assert_int_equal(waits->waited_for, slow[waits->members[i].process]);
			assert_true(waits->causing_region != VARIANCE_NONE);
			for (size_t k = 0; k < v.regions[waits->causing_region].n; k++)
				followed += v.regions[waits->causing_region].members[k].process == waits->waited_for;
		}
	assert_int_equal(followed, 4);
	variance_release(&v);
}

/* Checks a long call whose weight represents thousands of short ones: their total time must not exceed the run's time. */
static void heavy(void **state)
{
	const struct made_options o = { .ranks = 2, .seconds = 3, .noise = .01, .seed = 3, .counted = true, .heavy = true };
	struct variance v;

	(void)state;
	analyse(&o, &usual_options, &v);
	assert_true(v.activity_s[ACTIVITY_COMMUNICATION] + v.activity_s[ACTIVITY_COMPUTATION] < 1.1 * v.total_s);
	variance_release(&v);
}

/* Checks that more work is no variance if work is counted. If not, the region says that this is not verified. */
static void uncounted_work(void **state)
{
	struct made_disturbance d = { 1, 1, 2.5, 1.6, MADE_WORK };
	struct variance v;

	(void)state;
	analyse_one(4, true, d, &v);
	assert_int_equal(v.n_regions, 0);
	variance_release(&v);
	analyse_one(4, false, d, &v);
	assert_int_equal(v.n_regions, 1);
	assert_float_equal(v.regions[0].verified, 0, 1e-9);
	assert_true(share_of(&v.regions[0], LOSS_PROCESSOR) > .8);
	variance_release(&v);
}

/* Checks that the clusters match the sizes of work in the run. */
static void clusters(void **state)
{
	const struct made_options o = { .ranks = 2, .seconds = 3, .noise = .1, .seed = 3, .counted = true, .several_works = true };
	struct variance v;
	size_t n = 0, *truth, *found;

	(void)state;
	analyse(&o, &usual_options, &v);
	truth = mem_new(v.fragments.n, sizeof(*truth));
	found = mem_new(v.fragments.n, sizeof(*found));
	for (size_t i = 0; i < v.fragments.n; i++) {
		const struct fragment *f = &v.fragments.items[i];

		if (f->activity != ACTIVITY_COMPUTATION || f->work < 1000)
			continue;
		truth[n] = (size_t)lround(f->work / 1e6);
		found[n++] = f->cluster;
	}
	assert_true(n > 1000);
	assert_true(v_measure(truth, found, n) >= .95);
	free(truth);
	free(found);
	variance_release(&v);
}

/* Checks that a marked region is explained although it is not slow. Without counters of the operating system, the cause is unknown. */
static void marked(void **state)
{
	struct made_disturbance d = { 1, 1, 2.5, 2, MADE_QUEUE };
	const struct made_options silent = {
		.ranks = 2, .seconds = 4, .seed = 1, .uncounted_system = true, .counted = true, .disturbances = &d, .n = 1
	};
	struct variance_options options = usual_options;
	struct fragments f;
	struct assay_error err;
	struct variance v;
	const char *name = "marked";

	(void)state;
	options.marked_rank = 0;
	options.marked_from_s = 1;
	options.marked_to_s = 2;
	analyse(&silent, &options, &v);
	assert_int_equal(v.n_regions, 2);
	assert_true(v.regions[0].marked && v.regions[0].members[0].process == 0);
	assert_float_equal(v.regions[0].loss_s, 0, .02);
	assert_int_equal(v.regions[1].breakdown.parts[0].cause, LOSS_UNKNOWN);
	variance_release(&v);

	options.marked_rank = 7;
	assert_int_equal(mkdir(name, 0755), 0);
	assert_int_equal(made_run(name, &silent), 0);
	check(record_files_read(&name, 1, &f, &err), &err);
	check_fails("no such rank", variance_analyse(&f, &options, &v, &err), ASSAY_E_NOTFOUND, &err, "no process 7");
}

/* Checks that a rank with more work than the others is named, although it is not slower; and so is one of several runs. */
static void named_work(void **state)
{
	const struct made_disturbance d = { 2, 0, 99, 1.3, MADE_WORK }, all = { -1, 0, 99, 1.3, MADE_WORK };
	struct made_options o = { .ranks = 4, .steps = 500, .noise = .01, .seed = 3, .counted = true, .disturbances = &d, .n = 1 };
	static char *names[] = { (char *)(uintptr_t) "a", (char *)(uintptr_t) "b", (char *)(uintptr_t) "c" };
	const char *paths[3] = { "a", "b", "c" };
	struct assay_error err;
	struct fragments f;
	struct variance v;
	double *more;

	(void)state;
	analyse(&o, &usual_options, &v);
	more = additional_work(&v, false);
	for (size_t p = 0; p < 4; p++)
		assert_true(fabs(more[p] - (p == 2 ? .3 : 0)) < .02);
	free(more);
	variance_release(&v);

	o.disturbances = &all;
	for (size_t r = 0; r < 3; r++) {
		o.n = r == 1;
		assert_int_equal(mkdir(names[r], 0755), 0);
		assert_int_equal(made_run(names[r], &o), 0);
	}
	check(record_files_read(paths, 3, &f, &err), &err);
	assert_int_equal(f.n_runs, 3);
	check(variance_analyse(&f, &usual_options, &v, &err), &err);
	more = additional_work(&v, true);
	for (size_t r = 0; r < 3; r++)
		assert_true(fabs(more[r] - (r == 1 ? .3 : 0)) < .02);
	free(more);
	variance_release(&v);
}

static char *answer_text(const char *const *paths, size_t n)
{
	const struct doc_style style = { .columns = 120 };
	struct buf out = BUF_INIT;
	struct assay_error err;
	struct variance v;
	struct fragments f;
	struct document d;

	check(fragments_read(paths, NULL, n, &f, &err), &err);
	check(variance_analyse(&f, &usual_options, &v, &err), &err);
	document_init(&d);
	variance_describe(&v, &d);
	document_json(&d, &style, &out);
	document_human(&d, &style, &out);
	document_release(&d);
	variance_release(&v);
	return buf_take(&out);
}

/* Checks that the order of the files does not matter. */
static void order(void **state)
{
	struct made_disturbance d = { 1, 1, 2, 2, MADE_QUEUE };
	const struct made_options o = { .ranks = 3, .seconds = 3, .noise = .02, .seed = 3, .coupled = true, .disturbances = &d, .n = 1 };
	struct assay_error err;
	const char *paths[3], *turned[3];
	char **names, *one, *other;
	size_t n;

	(void)state;
	assert_int_equal(made_run(".", &o), 0);
	check(file_list_names(".", ".samples", &names, &n, &err), &err);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++)
		paths[i] = turned[n - 1 - i] = names[i];
	one = answer_text(paths, n);
	other = answer_text(turned, n);
	assert_string_equal(one, other);
	free(one);
	free(other);
	file_names_free(names, n);
}

/* Checks more kinds of fragments than the table has room for at first: each is separate, and all are in order. */
static void kinds(void **state)
{
	enum { KINDS = 3000 };
	struct variance v = { .fragments = { .n = 2 * KINDS }, .columns = 1, .column_s = 1, .threshold = VARIANCE_THRESHOLD };
	struct fragment *items = mem_new(2 * KINDS, sizeof(*items));

	(void)state;
	v.fragments.items = items;
	for (size_t i = 0; i < 2 * KINDS; i++)
		items[i] = (struct fragment){ .time_s = 1,
					      .arguments = i * 7919 % KINDS,
					      .from = FRAGMENT_NO_SITE,
					      .weight = 1,
					      .activity = ACTIVITY_IO,
					      .basis = BASIS_ARGUMENTS };
	fragment_clusters_find(&v);
	assert_int_equal(v.n_clusters, KINDS);
	for (size_t c = 0; c < KINDS; c++)
		assert_true(v.clusters[c].arguments == c && v.clusters[c].n == 2);
	for (size_t i = 0; i < 2 * KINDS; i++)
		assert_int_equal(v.clusters[items[i].cluster].arguments, items[i].arguments);
	mem_free(items, v.clusters);
}

static void activities(void **state)
{
	static const struct {
		const char *name;
		uint64_t kind;
		enum activity activity;
		bool moves;
	} rows[] = {
		{ "MPI_Send", 0, ACTIVITY_COMMUNICATION, false },
		{ "MPI_File_read", 0, ACTIVITY_IO, false },
		{ "MPI_Init", 0, ACTIVITY_OTHER, false },
		{ "read", 2, ACTIVITY_IO, true },
		{ "read", 4, ACTIVITY_COMMUNICATION, true },
		{ "write", 3, ACTIVITY_COMMUNICATION, true },
		{ "pthread_mutex_lock", 0, ACTIVITY_WAITING, false },
		{ "fsync", 2, ACTIVITY_IO, false },
		{ "futex", 0, ACTIVITY_WAITING, false },
		{ "fwrite", 2, ACTIVITY_IO, false },
		{ "fwrite", 3, ACTIVITY_COMMUNICATION, false },
		{ "poll", 0, ACTIVITY_WAITING, false },
		{ "polled", 0, ACTIVITY_OTHER, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool moves;

		assert_int_equal(call_activity(rows[i].name, rows[i].kind, &moves), rows[i].activity);
		assert_int_equal(moves, rows[i].moves);
	}
}

/* Makes two processes. The first makes a call every 10 ms, of two clusters by turns; the second half of its calls take longer. The other
 * process starts a call just before each call of the first cluster ends, and `late_s` earlier if that call is slow. One of `two_of` of its
 * calls has weight 2. */
#define OWN_CALLS 40

static void own_run(struct variance *v, bool named, double late_s, uint32_t two_of)
{
	static struct fragment_process processes[2];
	static struct cluster clusters[3];
	static struct fragment items[2 * OWN_CALLS];

	*v = (struct variance){
		.fragments = { .processes = processes, .n_processes = 2, .items = items, .n = COUNT(items), .is_one_host = true },
		.clusters = clusters,
		.n_clusters = 3
	};
	for (int p = 0; p < 2; p++)
		processes[p] = (struct fragment_process){
			.rank = p, .first = (size_t)p * OWN_CALLS, .n = OWN_CALLS, .host = (char *)(uintptr_t) "node"
		};
	for (int c = 0; c < 3; c++)
		clusters[c] = (struct cluster){ .activity = ACTIVITY_COMMUNICATION, .usual_s = .002, .repeated = true };
	for (uint32_t i = 0; i < OWN_CALLS; i++) {
		bool slow = i >= OWN_CALLS - 20;
		double time = slow ? (i % 2 ? .005 : .006 + late_s) : .002;
		struct fragment f = { .start_s = .01 * i, .time_s = time, .weight = 1, .activity = ACTIVITY_COMMUNICATION, .peer = -1 };

		f.cluster = i % 2;
		if (named && i % 2 == 0)
			f.peer = 1;
		items[i] = f;
		f.start_s = i % 2 ? f.start_s + .0055 : f.start_s + time - (named ? .0005 : 20e-6) - (slow ? late_s : 0);
		f.time_s = 1e-6;
		f.process = 1;
		f.cluster = 2;
		f.peer = named ? 0 : -1;
		f.weight = two_of && i % two_of == 0 ? 2 : 1;
		items[OWN_CALLS + i] = f;
	}
}

/* Checks that a wait for another process's message is not a process's own loss. Its own loss is the time of its network, and the delay
 * after the message arrived. */
static void own_loss(void **state)
{
	static const struct {
		bool named;
		double late_s, from_s, own_s;
		uint32_t two_of;
	} rows[] = {
		{ false, 0, .2, .07, 0 },   /* no call says for whom it waited: ten calls took 3 ms longer, and ten 4 ms */
		{ true, 0, .2, .03, 0 },    /* the 4 ms were waits for the other process */
		{ true, .002, .2, .05, 0 }, /* ten messages were noticed 2 ms late */
		{ true, .002, 0, .06, 0 },  /* the region is the whole run: nothing to compare with */
		{ true, .002, .2, .05, 8 }, /* some of the other process's calls were not recorded */
		{ true, .002, .2, .09, 2 }, /* many of them were not recorded */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct region_member m = { .process = 0, .from_s = rows[i].from_s, .to_s = .4, .loss_s = .07 + 10 * rows[i].late_s };
		struct waits known = { .n = 0 };
		struct variance v;

		own_run(&v, rows[i].named, rows[i].late_s, rows[i].two_of);
		assert_true(fabs(waits_own_loss(&v, &known, &m, false) / rows[i].own_s - 1) < .02);
		v.fragments.is_one_host = false; /* clocks may differ */
		assert_float_equal(waits_own_loss(&v, &known, &m, false), m.loss_s, 1e-9);
		waits_release(&known, &v);
	}
}

/* Checks that a run-queue delay that made nothing take longer is no loss. */
static void hidden(void **state)
{
	struct variance v;

	(void)state;
	analyse_one(4, true, (struct made_disturbance){ 1, 1, 2.5, 2, MADE_HIDDEN }, &v);
	assert_int_equal(v.n_regions, 0);
	variance_release(&v);
}

/* Writes readings from outside the process, one every 50 ms, into the record file of the process of `rank`. */
static void readings_put(const char *directory, size_t rank, const struct process_monitor_reading *readings, size_t n)
{
	struct assay_error err;
	char **names, *path;
	size_t n_names;
	FILE *file;

	check(file_list_names(directory, ".samples", &names, &n_names, &err), &err);
	path = mem_format("%s/%s", directory, names[rank]);
	file = fopen(path, "r+b");
	assert_int_equal(fseek(file, RECORD_READINGS_OFFSET, SEEK_SET), 0);
	assert_int_equal(fwrite(readings, sizeof(*readings), n, file), n);
	fclose(file);
	free(path);
	file_names_free(names, n_names);
}

/* Analyses the run in `directory`. */
static void analyse_again(const char *directory, struct variance *v)
{
	struct assay_error err;
	struct fragments f;

	check(record_files_read(&directory, 1, &f, &err), &err);
	check(variance_analyse(&f, &usual_options, v, &err), &err);
}

static uint64_t reading_at(double s)
{
	return 1700000000000000000u + (uint64_t)(s * 1e9);
}

/* Checks that slower computation is proved only if work was counted. */
static void proved(void **state)
{
	(void)state;
	for (int counted = 0; counted < 2; counted++) {
		struct variance v;

		analyse_one(4, counted, (struct made_disturbance){ 1, 1, 2.5, 1.5, MADE_SLOW }, &v);
		assert_true(v.n_regions == 1 && v.regions[0].work_not_excluded == !counted);
		variance_release(&v);
	}
}

/* Checks a stop from 1 s to 1.8 s that is known only from outside readings. */
static void outside(void **state)
{
	const struct made_disturbance d = { 0, 1, 9, .8, MADE_STOP };
	const struct made_options o = { .ranks = 1, .seconds = 4, .noise = .01, .seed = 3, .counted = true, .disturbances = &d, .n = 1 };
	struct process_monitor_reading readings[80] = { { 0 } };
	struct variance v;

	(void)state;
	assert_int_equal(mkdir("outside", 0755), 0);
	assert_int_equal(made_run("outside", &o), 0);
	for (uint32_t i = 0; i < COUNT(readings); i++)
		readings[i] = (struct process_monitor_reading){ .at_ns = reading_at(.05 * (i + 1)),
								.stopped = i < 19   ? 0
									   : i > 35 ? 8000
										    : (i - 19) * 500 };
	readings_put("outside", 0, readings, COUNT(readings));
	analyse_again("outside", &v);
	assert_int_equal(v.n_regions, 1);
	assert_true(v.regions[0].condition && v.regions[0].cause == LOSS_STOPPED);
	assert_true(fabs(v.regions[0].from_s - 1) < .06 && fabs(v.regions[0].to_s - 1.8) < .06);
	assert_true(fabs(v.regions[0].estimated_s / .8 - 1) < .1);
	variance_release(&v);
	/* The reader had no CPU from .3 s to 1.1 s. It then found the process stopped for half of that time, but it ran until 1 s. */
	for (uint32_t i = 0; i < COUNT(readings); i++)
		readings[i].cpu = i < 19 ? 500 * (i + 1) : 10000;
	readings[21].stopped = 4000;
	for (uint32_t i = 22; i < COUNT(readings); i++)
		readings[i].stopped += 3000;
	memmove(&readings[6], &readings[21], (COUNT(readings) - 21) * sizeof(*readings));
	memset(&readings[COUNT(readings) - 15], 0, 15 * sizeof(*readings));
	readings_put("outside", 0, readings, COUNT(readings));
	analyse_again("outside", &v);
	assert_true(v.n_regions == 1 && fabs(v.regions[0].from_s - 1) < .06 && fabs(v.regions[0].estimated_s / .8 - 1) < .1);
	variance_release(&v);
}

/* Checks a process that executes another program: afterwards it is another process, and only that one is stopped. */
static void executed(void **state)
{
	const struct made_disturbance d = { 1, 2, 9, .8, MADE_STOP };
	const struct made_options o = {
		.ranks = 2, .seconds = 4, .noise = .01, .seed = 3, .is_one_host = true, .disturbances = &d, .n = 1
	};
	struct process_monitor_reading readings[80];
	struct record_header h;
	struct variance v;
	char **names, *path;
	struct assay_error err;
	FILE *file;
	size_t n;

	(void)state;
	assert_int_equal(mkdir("executed", 0755), 0);
	assert_int_equal(made_run("executed", &o), 0);
	check(file_list_names("executed", ".samples", &names, &n, &err), &err);
	path = mem_format("executed/%s", names[1]);
	file_names_free(names, n);
	file = fopen(path, "r+b");
	assert_int_equal(fread(&h, sizeof(h), 1, file), 1);
	h.pid = 1000;
	h.started_ns += 1000000000;
	h.started_ticks += h.ticks_per_s;
	h.check = record_header_check(&h);
	rewind(file);
	assert_int_equal(fwrite(&h, sizeof(h), 1, file), 1);
	fclose(file);
	free(path);
	for (uint32_t i = 0; i < COUNT(readings); i++)
		readings[i] = (struct process_monitor_reading){ .at_ns = reading_at(1 + .05 * (i + 1)),
								.stopped = i < 39   ? 0
									   : i > 55 ? 8000
										    : (i - 39) * 500 };
	readings_put("executed", 1, readings, COUNT(readings));
	for (uint32_t i = 0; i < COUNT(readings); i++)
		readings[i] = (struct process_monitor_reading){ .at_ns = reading_at(.05 * (i + 1)) };
	readings_put("executed", 0, readings, COUNT(readings));
	analyse_again("executed", &v);
	assert_in_range(v.fragments.processes[0].n_readings, 19, 20);
	assert_int_equal(v.n_regions, 1);
	assert_true(v.regions[0].n == 1 && v.regions[0].members[0].process == 1 && v.regions[0].cause == LOSS_STOPPED);
	assert_true(fabs(v.regions[0].estimated_s / .8 - 1) < .1);
	variance_release(&v);
}

/* Checks that a short run-queue delay does not hide calls that took longer at the same time, for another reason. */
static void not_hidden(void **state)
{
	const struct made_disturbance d = { 0, 1, 1.8, 2, MADE_QUEUE };
	struct made_options o = { .ranks = 1,
				  .seconds = 4,
				  .noise = .01,
				  .seed = 3,
				  .counted = true,
				  .files = true,
				  .slow_calls = 1,
				  .slow_from_s = 1,
				  .slow_to_s = 1.8,
				  .disturbances = &d,
				  .n = 1 };
	struct variance v;

	(void)state;
	analyse(&o, &usual_options, &v);
	assert_true(v.regions[0].activity == ACTIVITY_IO && !v.regions[0].condition);
	/* .8 s contain 98 steps. */
	if (fabs(v.regions[0].estimated_s / (98 * .004) - 1) > .1)
		fail_msg("%.3f s", v.regions[0].estimated_s);
	variance_release(&v);
}

/* Checks two processes that exchange messages and wait for CPUs at once, in computations and in messages: all of that time is lost. */
static void both_wait(void **state)
{
	const struct made_disturbance d = { -1, 1, 1.8, 1.5, MADE_QUEUE };
	const struct made_options o = { .ranks = 2,
					.seconds = 4,
					.noise = .01,
					.seed = 3,
					.counted = true,
					.is_one_host = true,
					.queued = true,
					.slow_calls = 1,
					.slow_from_s = 1,
					.slow_to_s = 1.8,
					.also_slow_s = .004,
					.disturbances = &d,
					.n = 1 };
	const double lost_s = .8 * .005 / (.002 + 2 * MADE_CALL_S + .005);
	struct process_monitor_reading readings[80];
	struct variance v;

	(void)state;
	assert_int_equal(mkdir("both", 0755), 0);
	assert_int_equal(made_run("both", &o), 0);
	for (uint32_t i = 0; i < COUNT(readings); i++) {
		double at_s = .05 * (i + 1), queue = fmin(fmax(at_s - 1, 0), .8) * lost_s / .8;

		readings[i] = (struct process_monitor_reading){ .at_ns = reading_at(at_s),
								.cpu = (uint32_t)((at_s - queue) * 1e4),
								.run_delay = (uint32_t)(queue * 1e4) };
	}
	readings_put("both", 0, readings, COUNT(readings));
	readings_put("both", 1, readings, COUNT(readings));
	analyse_again("both", &v);
	assert_true(v.n_regions == 1 && v.regions[0].n == 2 && v.regions[0].condition);
	if (fabs(v.regions[0].elapsed_s / lost_s - 1) > .1)
		fail_msg("%.3f s of %.3f s", v.regions[0].elapsed_s, lost_s);
	variance_release(&v);
}

int suite_variance(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(disturbed),      SCRATCH_TEST(undisturbed),  SCRATCH_TEST(sporadic),    SCRATCH_TEST(places),
		SCRATCH_TEST(partners),	      SCRATCH_TEST(chosen),	  SCRATCH_TEST(unnamed),     SCRATCH_TEST(other_ends),
		SCRATCH_TEST(window_edge),    SCRATCH_TEST(alike),	  SCRATCH_TEST(collectives), SCRATCH_TEST(heavy),
		SCRATCH_TEST(uncounted_work), SCRATCH_TEST(clusters),	  SCRATCH_TEST(marked),	     SCRATCH_TEST(order),
		cmocka_unit_test(activities), cmocka_unit_test(kinds),	  SCRATCH_TEST(finer),	     SCRATCH_TEST(disk),
		SCRATCH_TEST(adjoining),      cmocka_unit_test(own_loss), SCRATCH_TEST(intervals),   SCRATCH_TEST(more_of_all),
		SCRATCH_TEST(named_work),     SCRATCH_TEST(hidden),	  SCRATCH_TEST(outside),     SCRATCH_TEST(executed),
		SCRATCH_TEST(not_hidden),     SCRATCH_TEST(both_wait),	  SCRATCH_TEST(proved)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
