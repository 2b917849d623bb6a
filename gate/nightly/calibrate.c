#include "gate/nightly/calibrate.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "gate/decide/effect.h"

#include <math.h>

#define VERSIONS (2 + PLANT_KINDS)
#define SEED	 17

struct calibrating {
	const struct calibrate_options *o;
	char *versions[VERSIONS]; /* itself, again, and with each planted slowdown */
	struct launch_options launch;
	int64_t began_ns, began_ms, first;
	double before_s; /* what sessions that were killed have measured */
	struct calibration_entry *out;
	char *application; /* as stored */
	char *input;	   /* borrowed; NULL: the only one */
};

/* ---- measuring ---- */

static enum assay_status name_versions(struct calibrating *c, struct assay_error *err)
{
	struct manifest manifest;
	enum assay_status st = manifest_open(c->o->directory, c->o->application, &manifest, err);
	const char *version;

	if (st)
		return st;
	version = c->o->version ? c->o->version : manifest.versions[manifest.n_versions - 1].name;
	c->versions[0] = mem_string(version);
	c->versions[1] = mem_format("%s" MANIFEST_AGAIN, version);
	for (int kind = 0; kind < PLANT_KINDS; kind++) {
		char text[PLANT_BYTES];

		plant_write(&(struct plantation){ (enum plant_kind)kind, c->o->percent }, text);
		c->versions[2 + kind] = mem_format("%s+%s", version, text);
	}
	manifest_release(&manifest);
	return ASSAY_OK;
}

static double left_s(const struct calibrating *c)
{
	return c->o->budget_s - c->before_s - (double)(clock_monotonic_ns() - c->began_ns) / 1e9;
}

/* The same for the same question until it is answered: by it the runs of a session that was killed are found. */
static enum assay_status find_seed(struct calibrating *c, struct assay_error *err)
{
	const struct calibrate_options *o = c->o;
	struct calibration kept;
	enum assay_status st = calibration_read(o->directory, &kept, err);
	struct buf text = BUF_INIT;

	if (st)
		return st;
	buf_format(&text, "%s\n%s\n%s\n%u\n%s\n%s", o->application, o->input ? o->input : "", c->versions[0], o->percent,
		   o->hosts.hosts ? o->hosts.hosts : "", o->hosts.exclude ? o->hosts.exclude : "");
	for (size_t i = 0; i < kept.n; i++)
		buf_format(&text, "\n%s", kept.items[i].plan);
	c->launch.choice.has_seed = true;
	c->launch.choice.seed = digest_seed(text.bytes);
	buf_release(&text);
	calibration_release(&kept);
	return ASSAY_OK;
}

/* Of the machine that ran the longest. */
static double measured_before_s(const struct calibrating *c, const struct launch *launch)
{
	double most = 0, sum = 0;

	for (size_t i = 0; i < launch->rows.n; i++) {
		const struct execution_row *row = &launch->rows.items[i];

		if (i && strcmp(row->machine, row[-1].machine) != 0)
			sum = 0;
		if (row->taken_ms < c->began_ms && row->wall_ns > 0)
			sum += (double)row->wall_ns / 1e9;
		most = fmax(most, sum);
	}
	return most;
}

/* Repetitions of all versions that a machine has made since. */
static double repetitions_since(const struct launch *launch, int64_t since_ms)
{
	size_t n = 0;

	for (size_t i = 0; i < launch->rows.n; i++)
		n += launch->rows.items[i].taken_ms >= since_ms;
	return (double)n / (VERSIONS * (double)launch->n);
}

/* As many as the time allows by what the last ones took, up to what two pairs of all looks take. 0: no more. */
static int64_t next_repetitions(const struct calibrating *c, int64_t now, double block, double block_s)
{
	int64_t most = 2 * looks_repetitions(c->first, LOOKS_MAX), next = now + (now < c->first * 2 ? now : c->first * 2);
	double each_s = block_s / fmax(block, 1);

	if (block <= 0) /* all was there: two show what they take */
		next = now + 2;
	next = next < most ? next : most;
	if (each_s * (double)(next - now) > left_s(c))
		next = now + (left_s(c) > 0 ? (int64_t)(left_s(c) / each_s) / 2 * 2 : 0);
	if (next < 2 * c->first) /* fewer would be for nothing */
		next = 2 * c->first;
	return next > now && !(c->o->cancelled && *c->o->cancelled) ? next : 0;
}

/* Can these runs not go on? Then there are new ones. */
static bool is_to_begin(const struct calibrating *c, const struct launch *launch, enum assay_status st)
{
	bool other = st == ASSAY_E_USAGE || st == ASSAY_E_CONFLICT || st == ASSAY_E_NOTFOUND;

	return c->launch.resume && !c->first && (other || (!st && launch->nothing));
}

static enum assay_status grow(struct calibrating *c, struct launch *launch, int64_t block_ms, double block_s, bool *more,
			      struct assay_error *err)
{
	int64_t now = launch->plan.repetitions, next;

	if (!c->first) {
		c->first = launch->manifest.repetitions;
		c->before_s = measured_before_s(c, launch);
		c->application = manifest_stored_name(&launch->manifest, manifest_find_input(&launch->manifest, launch->plan.inputs[0]));
		memcpy(c->out->plan, launch->plan.id, sizeof(c->out->plan));
	}
	c->launch.resume = true;
	next = next_repetitions(c, now, repetitions_since(launch, block_ms), block_s);
	*more = next && launch_outcome(launch) != LAUNCH_ALL_FAILED;
	return *more ? plan_grow(&launch->lab.store, launch->plan.id, next, EFFECT_LEVEL, err) : ASSAY_OK;
}

static enum assay_status measure(struct calibrating *c, struct assay_error *err)
{
	enum assay_status st = find_seed(c, err);
	bool more = true;

	c->launch.resume = c->launch.of_seed = true;
	while (!st && more) {
		int64_t block_ns = clock_monotonic_ns(), block_ms = clock_real_ms();
		struct launch launch;

		st = launch_run(&c->launch, &launch, err);
		if (is_to_begin(c, &launch, st)) {
			c->launch.resume = false;
			st = ASSAY_OK;
		} else if (!st) {
			st = grow(c, &launch, block_ms, (double)(clock_monotonic_ns() - block_ns) / 1e9, &more, err);
		}
		launch_release(&launch);
	}
	return st;
}

/* ---- comparing ---- */

static int64_t fewest_repetitions(const struct run_set *set)
{
	int64_t fewest = 0, last = 0;

	for (size_t i = 0; i < set->n; i++) {
		last = set->items[i].repetition;
		if (i + 1 == set->n || strcmp(set->items[i].machine, set->items[i + 1].machine) != 0)
			fewest = !fewest || last < fewest ? last : fewest;
	}
	return fewest;
}

/* Processor time where it is known, for that is what was planted; else the metric. */
static double cost_of(const struct run *run)
{
	int64_t cpu_us = run->usage.user_us + run->usage.sys_us;

	return cpu_us > 0 ? (double)cpu_us : run->metric;
}

/* How much more the planted version takes, by the medians of machines. */
static double slower_by(const struct run_set *a, const struct run_set *b)
{
	double *x = mem_new(a->n + 1, sizeof(*x)), *y = mem_new(b->n + 1, sizeof(*y)), sum = 0;
	size_t machines = 0;

	for (size_t i = 0, end; i < a->n; i = end) {
		size_t n = 0, m = 0;

		for (end = i; end < a->n && strcmp(a->items[end].machine, a->items[i].machine) == 0; end++)
			x[n++] = cost_of(&a->items[end]);
		for (size_t k = 0; k < b->n; k++) {
			if (strcmp(b->items[k].machine, a->items[i].machine) == 0)
				y[m++] = cost_of(&b->items[k]);
		}
		if (!m || !(stats_median(x, n) > 0))
			continue;
		sum += log(stats_median(y, m) / stats_median(x, n));
		machines++;
	}
	mem_free(x, y);
	return machines ? expm1(sum / (double)machines) : (double)NAN;
}

static double median_waited(const struct run_set *set)
{
	double *share = mem_new(set->n + 1, sizeof(*share)), median = (double)NAN;
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++) {
		if (set->items[i].usage.wall_ns > 0 && set->items[i].withheld_ns[RUN_WAITED] >= 0)
			share[n++] = (double)set->items[i].withheld_ns[RUN_WAITED] / (double)set->items[i].usage.wall_ns;
	}
	if (n)
		median = stats_median(share, n);
	free(share);
	return median;
}

static void keep_machines(const struct run_set *set, struct calibration_entry *out)
{
	out->machines = mem_new(set->n, sizeof(*out->machines));
	for (size_t i = 0; i < set->n; i++) {
		if (!out->n_machines || strcmp(out->machines[out->n_machines - 1], set->items[i].machine) != 0)
			out->machines[out->n_machines++] = mem_string(set->items[i].machine);
	}
}

static enum assay_status compare(struct calibrating *c, struct lab *lab, const struct evidence *evidence, struct run_set sets[VERSIONS],
				 struct assay_error *err)
{
	struct calibration_entry *out = c->out;
	struct replay replay = { .min_effect = c->o->min_effect > 0 ? c->o->min_effect : lab->config.min_effect, .first = c->first };
	struct rng rng;

	rng_seed(&rng, SEED);
	replay.repetitions = fewest_repetitions(&sets[0]);
	for (int i = 1; i < VERSIONS; i++)
		replay.repetitions = fewest_repetitions(&sets[i]) < replay.repetitions ? fewest_repetitions(&sets[i]) : replay.repetitions;
	/* Little time: the first look is made of what there is. */
	while (replay.first > 2 && 2 * replay.first > replay.repetitions)
		replay.first--;
	out->repetitions = replay.repetitions;
	out->min_effect = replay.min_effect;
	for (int i = 1; i < VERSIONS; i++) {
		struct calibration_planted *p = i > 1 ? &out->planted[out->n_planted++] : NULL;

		replay.sides[0] = &sets[0];
		replay.sides[1] = &sets[i];
		replay.identical = i == 1;
		if (p) {
			p->plant = (struct plantation){ (enum plant_kind)(i - 2), c->o->percent };
			p->measured = slower_by(&sets[0], &sets[i]);
		}
		if (!replay_pairs(evidence, &lab->config, &replay, (size_t)(p ? (c->o->pairs + 1) / 2 : c->o->pairs), &rng,
				  p ? &p->counts : &out->identical))
			return assay_fail(err, ASSAY_E_NODATA,
					  "%lld repetitions are too few for one comparison and another one to confirm it: give it more "
					  "time by --budget",
					  (long long)replay.repetitions);
	}
	out->waited = median_waited(&sets[0]);
	keep_machines(&sets[0], out);
	return ASSAY_OK;
}

static enum assay_status conclude(struct calibrating *c, struct assay_error *err)
{
	struct run_set sets[VERSIONS] = { 0 };
	struct evidence evidence = { 0 };
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st = lab_open(c->o->directory, STORE_READ, &lab, err);

	if (!st)
		st = evidence_load(&lab, &evidence, err);
	for (int i = 0; !st && i < VERSIONS; i++)
		st = run_load_plan(&lab.store, c->application, c->versions[i], c->out->plan, &sets[i], err);
	c->out->application = mem_string(c->application);
	c->out->version = mem_string(c->versions[0]);
	c->out->taken_ms = clock_real_ms();
	if (!st)
		st = compare(c, &lab, &evidence, sets, err);
	for (int i = 0; i < VERSIONS; i++)
		run_set_release(&sets[i]);
	evidence_release(&evidence);
	lab_close(&lab);
	return st;
}

enum assay_status calibrate_run(const struct calibrate_options *options, struct calibration_entry *out, struct assay_error *err)
{
	struct calibrating c = {
		.o = options, .began_ns = clock_monotonic_ns(), .began_ms = clock_real_ms(), .out = out, .input = options->input
	};
	enum assay_status st;

	*out = (struct calibration_entry){ .waited = (double)NAN };
	st = name_versions(&c, err);
	c.launch = (struct launch_options){ .directory = options->directory,
					    .command = options->command,
					    .application = options->application,
					    .hosts = options->hosts,
					    .choice = { .versions = { c.versions, VERSIONS }, .inputs = { &c.input, c.input ? 1 : 0 } } };
	options->watch(&c.launch);
	if (!st)
		st = measure(&c, err);
	if (!st)
		st = conclude(&c, err);
	for (int i = 0; i < VERSIONS; i++)
		free(c.versions[i]);
	free(c.application);
	return st;
}
