/* The command assay calibrate, which measures the error rates of decisions in this laboratory. It runs a version against itself, unchanged
 * and with injected slowdowns, until the budget ends. Then it draws comparisons from these runs (gate/nightly/replay.h). */
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/decide/effect.h"
#include "gate/nightly/replay.h"
#include "fleet/commands/cmd_fleet.h"
#include "runs/commands/cmd_run.h"

#include <math.h>

#define VERSIONS (2 + INJECTION_KINDS)
#define SEED	 17
#define BUDGET_S 600.
#define PAIRS	 120
#define PERCENT	 5

struct arguments {
	const char *selector;
	double min_effect, budget_s;
	int64_t percent, pairs;
	struct host_choice hosts;
};

struct calibration_work {
	const struct arguments *a;
	char *versions[VERSIONS]; /* the version, the same version again, and the version with each injected slowdown */
	struct launch_options launch;
	int64_t began_ns, began_ms, first;
	double before_s; /* seconds that earlier, interrupted sessions measured */
	struct calibration_entry *out;
	char *name, *version, *input; /* application, version and input in the selector; the last two are NULL if not given */
	char *application;	      /* name of the application in the store */
};

static enum assay_status name_versions(struct calibration_work *c, struct assay_error *err)
{
	struct manifest manifest;
	enum assay_status st = manifest_open(cli_directory(), c->name, &manifest, err);
	const char *version;

	if (st)
		return st;
	version = c->version ? c->version : manifest.versions[manifest.n_versions - 1].name;
	c->versions[0] = mem_string(version);
	c->versions[1] = mem_format("%s" MANIFEST_COPY_SUFFIX, version);
	for (int kind = 0; kind < INJECTION_KINDS; kind++) {
		char text[INJECTION_TEXT_BYTES];

		injection_format(&(struct injection){ (enum injection_kind)kind, (unsigned)c->a->percent }, text);
		c->versions[2 + kind] = mem_format("%s+%s", version, text);
	}
	manifest_release(&manifest);
	return ASSAY_OK;
}

static double remaining_s(const struct calibration_work *c)
{
	return c->a->budget_s - c->before_s - (double)(clock_monotonic_ns() - c->began_ns) / 1e9;
}

/* Sets the seed. It stays the same until the calibration is finished, so that the command finds its runs after an interruption. */
static enum assay_status find_seed(struct calibration_work *c, struct assay_error *err)
{
	struct calibration kept;
	enum assay_status st = calibration_read(cli_directory(), &kept, err);
	struct buf text = BUF_INIT;

	if (st)
		return st;
	buf_format(&text, "%s\n%s\n%s\n%u\n%s\n%s", c->name, c->input ? c->input : "", c->versions[0], (unsigned)c->a->percent,
		   c->a->hosts.hosts ? c->a->hosts.hosts : "", c->a->hosts.exclude ? c->a->hosts.exclude : "");
	for (size_t i = 0; i < kept.n; i++)
		buf_format(&text, "\n%s", kept.items[i].plan);
	c->launch.choice.has_seed = true;
	c->launch.choice.seed = digest_seed(text.bytes);
	buf_release(&text);
	calibration_release(&kept);
	return ASSAY_OK;
}

/* Returns the seconds that earlier sessions measured on the machine that ran longest. */
static double stored_measurement_s(const struct calibration_work *c, const struct launch *launch)
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

/* Returns the mean number of repetitions, each with all versions, that a machine has made since `since_ms`. */
static double repetitions_since(const struct launch *launch, int64_t since_ms)
{
	size_t n = 0;

	for (size_t i = 0; i < launch->rows.n; i++)
		n += launch->rows.items[i].taken_ms >= since_ms;
	return (double)n / (VERSIONS * (double)launch->n);
}

/* Returns the next total number of repetitions, or 0 to stop. It is limited by the budget, and by the number that two pairs with all
 * interim analyses use. */
static int64_t next_repetitions(const struct calibration_work *c, int64_t now, double block, double block_s)
{
	int64_t most = 2 * analysis_repetitions(c->first, ANALYSES_MAX), next = now + (now < c->first * 2 ? now : c->first * 2);
	double each_s = block_s / fmax(block, 1);

	if (block <= 0) /* all runs existed already: make two repetitions to measure their time */
		next = now + 2;
	next = next < most ? next : most;
	if (each_s * (double)(next - now) > remaining_s(c))
		next = now + (remaining_s(c) > 0 ? (int64_t)(remaining_s(c) / each_s) / 2 * 2 : 0);
	if (next < 2 * c->first) /* fewer repetitions would give no pair */
		next = 2 * c->first;
	return next > now && !cmd_run_cancelled ? next : 0;
}

/* Reports whether there are no earlier runs to continue, so that a new plan is needed. */
static bool is_new_plan(const struct calibration_work *c, const struct launch *launch, enum assay_status st)
{
	bool other = st == ASSAY_E_USAGE || st == ASSAY_E_CONFLICT || st == ASSAY_E_NOTFOUND;

	return c->launch.resume && !c->first && (other || (!st && launch->nothing_to_resume));
}

static enum assay_status add_block(struct calibration_work *c, struct launch *launch, int64_t block_ms, double block_s, bool *more,
				   struct assay_error *err)
{
	int64_t now = launch->plan.repetitions, next;

	if (!c->first) {
		c->first = launch->manifest.repetitions;
		c->before_s = stored_measurement_s(c, launch);
		c->application = manifest_stored_name(&launch->manifest, manifest_find_input(&launch->manifest, launch->plan.inputs[0]));
		memcpy(c->out->plan, launch->plan.id, sizeof(c->out->plan));
	}
	c->launch.resume = true;
	next = next_repetitions(c, now, repetitions_since(launch, block_ms), block_s);
	*more = next && launch_outcome(launch) != LAUNCH_ALL_FAILED;
	return *more ? plan_add_repetitions(&launch->lab.store, launch->plan.id, next, EFFECT_LEVEL, err) : ASSAY_OK;
}

static enum assay_status measure_versions(struct calibration_work *c, struct assay_error *err)
{
	enum assay_status st = find_seed(c, err);
	bool more = true;

	c->launch.resume = c->launch.by_seed = true;
	while (!st && more) {
		int64_t block_ns = clock_monotonic_ns(), block_ms = clock_real_ms();
		struct launch launch;

		st = launch_run(&c->launch, &launch, err);
		if (is_new_plan(c, &launch, st)) {
			c->launch.resume = false;
			st = ASSAY_OK;
		} else if (!st) {
			st = add_block(c, &launch, block_ms, (double)(clock_monotonic_ns() - block_ns) / 1e9, &more, err);
		}
		launch_release(&launch);
	}
	return st;
}

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

/* Returns the CPU time of a run in microseconds, because slowdowns are injected as CPU time; the metric if it is not known. */
static double run_cost(const struct run *run)
{
	int64_t cpu_us = run->usage.user_us + run->usage.sys_us;

	return cpu_us > 0 ? (double)cpu_us : run->metric;
}

/* Returns the measured slowdown of `b` relative to `a`: the geometric mean over machines of the ratio of medians, minus 1. Returns NaN if
 * no machine ran both. */
static double measured_slowdown(const struct run_set *a, const struct run_set *b)
{
	double *x = mem_new(a->n + 1, sizeof(*x)), *y = mem_new(b->n + 1, sizeof(*y)), sum = 0;
	size_t machines = 0;

	for (size_t i = 0, end; i < a->n; i = end) {
		size_t n = 0, m = 0;

		for (end = i; end < a->n && strcmp(a->items[end].machine, a->items[i].machine) == 0; end++)
			x[n++] = run_cost(&a->items[end]);
		for (size_t k = 0; k < b->n; k++) {
			if (strcmp(b->items[k].machine, a->items[i].machine) == 0)
				y[m++] = run_cost(&b->items[k]);
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
		share[n] = run_withheld_share(set->items[i].withheld_ns[RUN_WAITED], set->items[i].usage.wall_ns);
		n += isnan(share[n]) ? 0 : 1;
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

static enum assay_status compare_versions(struct calibration_work *c, struct lab *lab, const struct evidence *evidence,
					  struct run_set sets[VERSIONS], struct assay_error *err)
{
	struct calibration_entry *out = c->out;
	struct replay replay = { .min_effect = c->a->min_effect > 0 ? c->a->min_effect : lab->config.min_effect, .first = c->first };
	struct rng rng;

	rng_seed(&rng, SEED);
	replay.repetitions = fewest_repetitions(&sets[0]);
	for (int i = 1; i < VERSIONS; i++)
		replay.repetitions = fewest_repetitions(&sets[i]) < replay.repetitions ? fewest_repetitions(&sets[i]) : replay.repetitions;
	/* If there are few repetitions, the first interim analysis is made earlier. */
	while (replay.first > 2 && 2 * replay.first > replay.repetitions)
		replay.first--;
	out->repetitions = replay.repetitions;
	out->min_effect = replay.min_effect;
	for (int i = 1; i < VERSIONS; i++) {
		struct calibration_injected *p = i > 1 ? &out->injected[out->n_planted++] : NULL;

		replay.sides[0] = &sets[0];
		replay.sides[1] = &sets[i];
		replay.identical = i == 1;
		if (p) {
			p->injection = (struct injection){ (enum injection_kind)(i - 2), (unsigned)c->a->percent };
			p->measured = measured_slowdown(&sets[0], &sets[i]);
		}
		if (!replay_pairs(evidence, &lab->config, &replay, (size_t)(p ? (c->a->pairs + 1) / 2 : c->a->pairs), &rng,
				  p ? &p->counts : &out->identical))
			return assay_fail(err, ASSAY_E_NODATA,
					  "%lld repetitions are too few for a comparison and its confirmation: give a longer --budget",
					  (long long)replay.repetitions);
	}
	out->run_delay_share = median_waited(&sets[0]);
	keep_machines(&sets[0], out);
	return ASSAY_OK;
}

static enum assay_status store_calibration(struct calibration_work *c, struct assay_error *err)
{
	struct run_set sets[VERSIONS] = { 0 };
	struct evidence evidence = { 0 };
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st = lab_open(cli_directory(), STORE_READ, &lab, err);

	if (!st)
		st = evidence_load(&lab, &evidence, err);
	for (int i = 0; !st && i < VERSIONS; i++)
		st = run_load_plan(&lab.store, c->application, c->versions[i], c->out->plan, &sets[i], err);
	c->out->application = mem_string(c->application);
	c->out->version = mem_string(c->versions[0]);
	c->out->taken_ms = clock_real_ms();
	if (!st)
		st = compare_versions(c, &lab, &evidence, sets, err);
	for (int i = 0; i < VERSIONS; i++)
		run_set_release(&sets[i]);
	evidence_release(&evidence);
	lab_close(&lab);
	return st;
}

static void describe_row(const char *what, const struct calibration_injected *p, const struct replay_counts *c, struct document *d)
{
	doc_row(d);
	doc_set(d, "kind", p ? injection_kind_name(p->injection.kind) : "identical");
	doc_show(d, NULL, "planted", what);
	doc_set(d, "percent", p ? doc_value_integer(p->injection.percent) : DOC_NULL_VALUE);
	doc_set(d, "measured", p ? p->measured : (double)NAN);
	doc_showf(d, NULL, "measured", p ? p->measured : (double)NAN, "%+.1f %%", p ? 100 * p->measured : 0.);
	doc_show(d, "pairs", "pairs", c->pairs);
	doc_set(d, "resampled", c->pairs - c->distinct);
	for (int i = 0; i < DECISION_NOTHING_MEASURED; i++)
		doc_show(d, decision_text((enum decision)i), decision_text((enum decision)i), c->decision[i]);
	doc_show(d, "seen_again", "confirmed", c->confirmed[DECISION_REGRESSION]);
	doc_show(d, "improved_again", "confirmed improved", c->confirmed[DECISION_IMPROVED]);
	doc_showf(d, "repetitions", "repetitions", c->mean_repetitions, "%.1f", c->mean_repetitions);
}

static void describe_calibration(const struct calibration_entry *e, struct document *d)
{
	size_t called = e->identical.decision[DECISION_REGRESSION], faster = e->identical.decision[DECISION_IMPROVED], found = 0,
	       injected = 0;

	for (size_t i = 0; i < e->n_planted; i++) {
		found += e->injected[i].counts.decision[DECISION_REGRESSION];
		injected += e->injected[i].counts.pairs;
	}
	doc_answer(d, called || faster ? DOC_DOUBTFUL : DOC_GOOD, "calibrated",
		   "%zu of %zu identical pairs were called slower, and %zu faster; an injected slowdown of %u %% was found in %zu of %zu",
		   called, e->identical.pairs, faster, e->injected[0].injection.percent, found, injected);
	doc_set(d, "application", e->application);
	doc_set(d, "version", e->version);
	doc_set(d, "plan", e->plan);
	doc_set(d, "taken_ms", e->taken_ms);
	doc_set(d, "min_effect", e->min_effect);
	doc_show(d, "machines", "machines", e->n_machines);
	doc_show(d, "runs_each", "repetitions of each version", e->repetitions);
	doc_showf(d, "waited", "waited for a CPU", e->run_delay_share, "%.1f %% of their time", 100 * e->run_delay_share);
	doc_table(d, "comparisons");
	describe_row("nothing", NULL, &e->identical, d);
	for (size_t i = 0; i < e->n_planted; i++) {
		char *what = mem_format("%u %% %s", e->injected[i].injection.percent, injection_kind_text(e->injected[i].injection.kind));

		describe_row(what, &e->injected[i], &e->injected[i].counts, d);
		free(what);
	}
	doc_end(d);
	doc_line(d, "%zu identical pairs share no run with another pair; the others combine the same runs in other ways.",
		 e->identical.distinct);
	doc_line(d, "Kept in " CALIBRATION_FILE "; keep this file in git. Decisions quote it.");
}

static enum assay_status run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	struct calibration_entry entry = { .run_delay_share = (double)NAN };
	struct calibration_work c = { .a = arguments, .began_ns = clock_monotonic_ns(), .began_ms = clock_real_ms(), .out = &entry };
	enum assay_status st = run_parse_selector(c.a->selector, &c.name, &c.version, err);

	(void)none;
	c.input = st ? NULL : strchr(c.name, '/');
	if (c.input)
		*c.input++ = '\0';
	if (!st)
		st = name_versions(&c, err);
	c.launch = (struct launch_options){ .directory = cli_directory(),
					    .command = cli_command_name(),
					    .application = c.name,
					    .hosts = c.a->hosts,
					    .choice = { .versions = { c.versions, VERSIONS }, .inputs = { &c.input, c.input ? 1 : 0 } } };
	cmd_run_set_callbacks(&c.launch);
	if (!st)
		st = measure_versions(&c, err);
	if (!st)
		st = store_calibration(&c, err);
	if (!st)
		describe_calibration(&entry, d);
	if (!st)
		st = calibration_put(cli_directory(), &entry, err);
	else
		calibration_entry_release(&entry);
	for (int i = 0; i < VERSIONS; i++)
		free(c.versions[i]);
	mem_free(c.name, c.version, c.application);
	return st;
}

static const struct cli_option words[] = { CLI_ARGUMENT("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option options[] = {
	CLI_DURATION("budget", struct arguments, budget_s,
		     "Time to measure, at least that of one comparison: 90s, 20m or 2h (default: 10m)"),
	CLI_INTEGER("percent", "N", struct arguments, percent, 1, INJECTION_PERCENT_MAX, "Inject slowdowns of N % (default: 5)"),
	CLI_INTEGER("pairs", "N", struct arguments, pairs, 2, 100000,
		    "Compare N identical pairs, and half as many of each slowdown (default: 120)"),
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CMD_FLEET_HOSTS(struct arguments, hosts),
	CLI_END,
};
static const struct arguments defaults = { .budget_s = BUDGET_S, .percent = PERCENT, .pairs = PAIRS };

const struct command calibrate_command = {
	.name = "calibrate",
	.summary = "measure how often this laboratory's decisions are wrong",
	.about = "Runs A/A controls of VERSION (default: the manifest's last one), and VERSION against itself with injected slowdowns. "
		 "After each slowed run, a wrapper spends the given percentage of its CPU time again, on computing, memory traffic, or "
		 "system calls. Then compares pairs drawn from these runs as a night does. Reports how often identical pairs are called "
		 "slower or faster, and how often a slowdown is found. The result is kept in " CALIBRATION_FILE
		 " with its date and conditions. Each decision quotes it, and warns if it is old. After an interruption the same command "
		 "continues with the rest of its budget.",
	.examples = "  assay calibrate myapp --budget 30m\n"
		    "  assay calibrate myapp/large@v2 --percent 3\n",
	.exit_status = "0 calibrated; 1 failure, 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, run),
};
