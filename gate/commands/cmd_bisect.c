/* The command assay bisect, which finds the commit that made an application slower. It builds versions between a good and a bad commit from
 * git and compares them with the good one. It makes as few comparisons as the noise allows. All results are stored, so the same command
 * continues after an interruption. */
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "fleet/engine/local_command.h"
#include "gate/commands/gate_commands.h"
#include "gate/commands/cmd_evidence.h"
#include "gate/nightly/judge.h"
#include "gate/nightly/spend.h"
#include "fleet/commands/cmd_fleet.h"
#include "runs/commands/cmd_run.h"
#include "runs/inside/variants/variant.h"

#include <math.h>

#define COMMITS_MAX	    100000
#define ERROR_RATE_DEFAULT  .05 /* assumed minimum probability that a comparison decides wrongly */
#define CERTAIN_PROBABILITY .95
#define UNDECIDED_TRIES_MAX 2 /* number of undecided comparisons after which a commit is skipped */
#define STEPS_MAX	    200
#define SAME_EFFECT_SHARE                                                                                                                  \
	.2 /* a commit that is already built is preferred if it splits the posterior less evenly by at most this difference */

/* Probabilistic bisection: finds the first bad item among n items by tests whose answers may be wrong (Horstein, IEEE Transactions on
 * Information Theory 9(3), 1963; Waeber, Frazier and Henderson, SIAM Journal on Control and Optimization 51(3), 2013). */
struct bisection {
	size_t n;
	double error_rate; /* minimum probability of a wrong answer */
	double *posterior; /* [n] probability that each item is the first bad one; the sum is 1 */
	size_t *n_answers; /* [n] number of answers about each item */
	bool *skipped;	   /* [n] true if the item cannot be tested, or remains undecided */
};

/* Prepares the search among n > 0 items. The last item is known to be bad. */
static void bisection_init(struct bisection *b, size_t n, double error_rate)
{
	*b = (struct bisection){ n, error_rate, mem_new(n, sizeof(*b->posterior)), mem_new(n, sizeof(*b->n_answers)),
				 mem_new(n, sizeof(*b->skipped)) };
	for (size_t i = 0; i < n; i++)
		b->posterior[i] = 1.0 / (double)n;
}

/* Accepts a zeroed struct. */
static void bisection_release(struct bisection *b)
{
	mem_free(b->posterior, b->n_answers, b->skipped);
	*b = (struct bisection){ 0 };
}

/* Returns the item to test next: the one that splits the posterior most evenly. Prefers an item that was tested before, and is built, if it
 * splits nearly as evenly. Returns SIZE_MAX if no test would add information. */
static size_t bisection_next(const struct bisection *b)
{
	double before = 0, nearest = .5, known_nearest = .5;
	size_t best = SIZE_MAX, known = SIZE_MAX;

	for (size_t i = 0; i + 1 < b->n; i++) { /* the last item is known to be bad */
		double distance;

		before += b->posterior[i]; /* probability that item i is bad */
		distance = fabs(before - .5);
		if (b->skipped[i])
			continue;
		if (distance < nearest) {
			nearest = distance;
			best = i;
		}
		if (b->n_answers[i] && distance < known_nearest) {
			known_nearest = distance;
			known = i;
		}
	}
	return known != SIZE_MAX && known_nearest <= nearest + SAME_EFFECT_SHARE && known_nearest < .5 - SAME_EFFECT_SHARE ? known : best;
}

/* Updates the posterior with an answer about item `at`. `bad` is the probability that it is bad, limited because no answer is certain. */
static void bisection_update(struct bisection *b, size_t at, double bad)
{
	double sum = 0;

	bad = fmin(fmax(bad, b->error_rate), 1.0 - b->error_rate);
	for (size_t i = 0; i < b->n; i++) {
		b->posterior[i] *= i <= at ? bad : 1.0 - bad;
		sum += b->posterior[i];
	}
	for (size_t i = 0; i < b->n; i++)
		b->posterior[i] /= sum;
	b->n_answers[at]++;
}

/* Sets [*from, *to] to the range that most probably contains the first bad item, and returns its probability. The range has several items
 * only if all but the last were skipped. */
static double bisection_best_range(const struct bisection *b, size_t *from, size_t *to)
{
	double best = -1, sum = 0;

	for (size_t end = 0, begin = 0; end < b->n; end++) { /* skipped items cannot be distinguished from the tested item after them */
		sum += b->posterior[end];
		if (b->skipped[end] && end + 1 < b->n)
			continue;
		if (sum > best) {
			best = sum;
			*from = begin;
			*to = end;
		}
		begin = end + 1;
		sum = 0;
	}
	return best;
}

struct arguments {
	const char *selector, *good, *bad;
	double min_effect, budget_s;
	struct host_choice hosts;
};

struct step {
	size_t commit;
	enum decision decision;
	double ratio, low, high, level;
	char *skip_reason;	   /* reason why the commit could not be measured; NULL if it was; owned */
	char *not_measured_reason; /* `skip_reason` of struct judgement; NULL if the commit was not measured; owned */
};

struct bisect {
	const struct arguments *a;
	char *name, *version, *input; /* application, version and input in the selector; the last two are NULL if not given */
	struct manifest manifest;
	const char *stem; /* name of the version in the manifest */
	char *repository, *application;
	char good[VARIANT_COMMIT_BYTES];
	char (*commits)[VARIANT_COMMIT_BYTES]; /* [n] from the commit after the good one to the bad one */
	size_t n;
	size_t *tries; /* [n] number of comparisons of each commit */
	struct step *steps;
	size_t n_steps;
	struct bisection search;
	struct assay_error *err;
};

/* Lists the commits after the good one up to the bad one. Follows only first parents, so a merged branch counts as one commit. */
static enum assay_status list_commits(struct bisect *b, const char *bad)
{
	char *range = mem_format("%s..%s", b->good, bad);
	struct buf text = BUF_INIT;
	enum assay_status st = LOCAL_GIT(b->repository, &cmd_run_cancelled, &text, b->err, "merge-base", "--is-ancestor", b->good, bad);

	if (st && !cmd_run_cancelled)
		st = assay_fail(b->err, ASSAY_E_USAGE, "'%s' is not an ancestor of '%s'", b->a->good, b->a->bad);
	if (!st)
		st = LOCAL_GIT(b->repository, &cmd_run_cancelled, &text, b->err, "rev-list", "--reverse", "--first-parent", range, "--");
	for (char *rest = text.bytes, *line; !st && (line = strsep(&rest, "\n")) && *line && b->n < COMMITS_MAX;) {
		if ((b->n & (b->n - 1)) == 0)
			b->commits = mem_resize(b->commits, b->n ? 2 * b->n : 1, sizeof(*b->commits));
		snprintf(b->commits[b->n++], VARIANT_COMMIT_BYTES, "%s", line);
	}
	if (!st && !b->n)
		st = assay_fail(b->err, ASSAY_E_USAGE, "'%s' and '%s' are the same commit", b->a->good, b->a->bad);
	else if (!st && strcmp(b->commits[b->n - 1], bad) != 0)
		st =
		    assay_fail(b->err, ASSAY_E_LIMIT, "more than %d commits lie between '%s' and '%s'", COMMITS_MAX, b->a->good, b->a->bad);
	buf_release(&text);
	free(range);
	return st;
}

/* Returns the seed of a comparison. The same question has the same seed, so that earlier results are found again. */
static uint64_t step_seed(const struct bisect *b, size_t commit, size_t round)
{
	char *text = mem_format("bisect\n%s\n%s\n%s\n%zu", b->application, b->good, b->commits[commit], round);
	uint64_t seed = digest_seed(text);

	free(text);
	return seed;
}

static enum assay_status judge_plan(struct bisect *b, char *const versions[2], const char *plan, double min_effect, struct step *step)
{
	struct judge_request q = { .application = b->application,
				   .baseline = versions[0],
				   .candidate = versions[1],
				   .machines = 1,
				   .no_comparison_reason = (char[]){ "" } };
	struct judgement j = { .document = NULL };
	struct evidence evidence = { 0 };
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st = lab_open(cli_directory(), STORE_READ, &lab, b->err);

	snprintf(q.plan, sizeof(q.plan), "%s", plan);
	q.min_effect = min_effect > 0 || st ? min_effect : lab.config.min_effect;
	if (!st)
		st = evidence_load(&lab, &evidence, b->err);
	if (!st)
		st = judge_decide(&lab, &evidence, &q, &j, b->err);
	if (!st) {
		step->decision = j.decision;
		step->ratio = j.ratio;
		step->low = j.low;
		step->high = j.high;
		step->level = j.level;
		step->not_measured_reason = j.why;
		j.why = NULL;
	}
	judgement_release(&j);
	evidence_release(&evidence);
	lab_close(&lab);
	return st;
}

/* Reports whether an error concerns only this commit, for example a failed build. The search then continues. */
static bool is_application_error(enum assay_status st)
{
	return st == ASSAY_E_USAGE || st == ASSAY_E_IO || st == ASSAY_E_NODATA || st == ASSAY_E_NOTFOUND || st == ASSAY_E_LIMIT;
}

static enum assay_status measure_commit(struct bisect *b, size_t commit, double min_effect, struct step *step)
{
	char *versions[] = { mem_format("%s-%.*s", b->stem, MANIFEST_COMMIT_DIGITS, b->good),
			     mem_format("%s-%.*s", b->stem, MANIFEST_COMMIT_DIGITS, b->commits[commit]) };
	struct launch_options o = { .directory = cli_directory(),
				    .command = cli_command_name(),
				    .application = b->name,
				    .hosts = b->a->hosts,
				    .choice = { .versions = { versions, 2 },
						.inputs = { &b->input, b->input ? 1 : 0 },
						.has_seed = true,
						.seed = step_seed(b, commit, b->tries[commit]++) },
				    .resume = true,
				    .by_seed = true };
	struct sequential_result sequential_result = { .plan = "" };
	enum assay_status st;

	*step = (struct step){ commit, DECISION_NOTHING_MEASURED, (double)NAN, (double)NAN, (double)NAN, (double)NAN, NULL, NULL };
	cmd_run_set_callbacks(&o);
	st = sequential_measure(
	    &o, &(struct sequential_options){ .min_effect = min_effect, .budget_s = b->a->budget_s, .exclude_disturbed = true },
	    &sequential_result, b->err);
	if (st && is_application_error(st) && !cmd_run_cancelled) {
		step->skip_reason = mem_string(b->err->text);
		st = ASSAY_OK;
	} else if (!st && *sequential_result.plan) {
		st = judge_plan(b, versions, sequential_result.plan, min_effect, step);
	}
	if (!st && cmd_run_cancelled)
		st = assay_fail(b->err, ASSAY_E_IO, "interrupted; the same command continues");
	sequential_result_release(&sequential_result);
	mem_free(versions[0], versions[1]);
	return st;
}

static void report_step(const struct bisect *b, const struct step *step)
{
	if (!cli_is_quiet())
		cli_note("%.12s (%zu of %zu): %s", b->commits[step->commit], step->commit + 1, b->n,
			 step->skip_reason ? step->skip_reason : decision_text(step->decision));
}

static enum assay_status add_step(struct bisect *b, size_t commit, double min_effect, struct step **out)
{
	enum assay_status st;

	b->steps = mem_resize(b->steps, b->n_steps + 1, sizeof(*b->steps));
	st = measure_commit(b, commit, min_effect, &b->steps[b->n_steps]);
	*out = &b->steps[b->n_steps];
	if (!st) {
		b->n_steps++;
		report_step(b, *out);
	}
	return st;
}

/* Returns the probability that a commit is slower than the good one by more than min_effect. It follows from the decision, or from the
 * interval if the decision is inconclusive. NaN if it is not known. */
static double probability_slower(const struct step *step, double min_effect)
{
	double width = log(step->high / step->low) / 2;

	if (decision_is_finding(step->decision) || step->decision == DECISION_PASS)
		return step->decision == DECISION_REGRESSION;
	if (step->decision != DECISION_INCONCLUSIVE || !(width > 0))
		return (double)NAN;
	return stats_normal_cdf(log(step->ratio / (1 + min_effect)) / width * stats_normal_quantile((1 + step->level) / 2));
}

static void update_beliefs(struct bisect *b, const struct step *step, double min_effect)
{
	double bad = probability_slower(step, min_effect);

	if (!isnan(bad))
		bisection_update(&b->search, step->commit, bad);
	if (step->skip_reason || (!(bad <= 0) && !(bad >= 1) && b->tries[step->commit] >= UNDECIDED_TRIES_MAX))
		b->search.skipped[step->commit] = true;
}

/* Compares commits until the first bad one is certain. A commit is bad if it is slower by more than min_effect, which is half of the whole
 * slowdown on a log scale. */
static enum assay_status search(struct bisect *b, double min_effect)
{
	enum assay_status st = ASSAY_OK;
	size_t from, to, next;

	while (!st && b->n_steps < STEPS_MAX && bisection_best_range(&b->search, &from, &to) < CERTAIN_PROBABILITY &&
	       (next = bisection_next(&b->search)) != SIZE_MAX) {
		struct step *step;

		st = add_step(b, next, min_effect, &step);
		if (!st)
			update_beliefs(b, step, min_effect);
	}
	return st;
}

static size_t count_builds(const struct bisect *b)
{
	size_t n = 1; /* the good commit */

	for (size_t i = 0; i < b->n; i++)
		n += b->tries[i] > 0;
	return n;
}

static void describe_commit(const struct bisect *b, const char *key, size_t commit, struct document *d)
{
	struct assay_error ignored;
	struct buf text = BUF_INIT;
	char *subject;

	(void)LOCAL_GIT(b->repository, &cmd_run_cancelled, &text, &ignored, "log", "-1", "--format=%s", b->commits[commit], "--");
	subject = buf_take(&text);
	subject[strcspn(subject, "\n")] = '\0';
	doc_object(d, key);
	doc_set(d, "commit", b->commits[commit]);
	doc_set(d, "subject", subject);
	doc_end(d);
	doc_line(d, "%.12s  %s", b->commits[commit], subject);
	free(subject);
}

static void describe_steps(const struct bisect *b, struct document *d)
{
	doc_line(d, "%s", "");
	doc_table(d, "steps");
	for (size_t i = 0; i < b->n_steps; i++) {
		const struct step *s = &b->steps[i];

		doc_row(d);
		doc_set(d, "commit", b->commits[s->commit]);
		doc_showf(d, NULL, "commit", s->commit, "%.12s", b->commits[s->commit]);
		doc_show(d, "number", "number", s->commit + 1);
		doc_show(d, "decision", "beside the good one", s->skip_reason ? "not measured" : decision_text(s->decision));
		doc_showf(d, "ratio", "ratio", s->ratio, "%s", text_fixed(s->ratio, 3).text);
		doc_set(d, "low", s->low);
		doc_set(d, "high", s->high);
		doc_set(d, "level", s->level);
		doc_showf(d, NULL, "interval", s->low, "%s", effect_format_interval(s->low, s->high, s->level, 3).text);
		if (s->skip_reason)
			doc_show(d, "why", "why", s->skip_reason);
	}
	doc_end(d);
}

static void describe_found(struct bisect *b, struct document *d)
{
	size_t from = 0, to = 0;
	double p = bisection_best_range(&b->search, &from, &to), ratio = b->steps[0].ratio;

	if (p >= CERTAIN_PROBABILITY && from == to) {
		doc_answer(d, DOC_BAD, "found", "%.12s is the first bad commit of %zu (probability %s): %s costs %s times as much as %s",
			   b->commits[from], b->n, text_probability(p).text, b->a->bad, text_fixed(ratio, 3).text, b->a->good);
		d->exit_status = 0;
	} else {
		doc_answer(d, DOC_DOUBTFUL, "not certain", "it is between %.12s and %.12s, %zu of %zu commits (probability %s)",
			   b->commits[from], b->commits[to], to - from + 1, b->n, text_probability(p).text);
		d->exit_status = 4;
	}
	doc_set(d, "outcome", d->exit_status ? "not_certain" : "found");
	doc_set(d, "probability", p);
	describe_commit(b, "first", from, d);
	if (to > from)
		describe_commit(b, "last", to, d);
	doc_line(d, "%zu versions were built, and %zu comparisons made.", count_builds(b), b->n_steps);
}

static void describe_no_change(struct bisect *b, struct document *d)
{
	const struct step *s = &b->steps[0];
	bool known = decision_exit_status(s->decision) == 0;
	const char *why = s->skip_reason						 ? s->skip_reason
			  : known || !s->not_measured_reason || !*s->not_measured_reason ? decision_text(s->decision)
											 : s->not_measured_reason;

	doc_answer(d, decision_tone(s->decision), known ? "nothing to find" : "cannot tell", "%s%s %s slower than %s: %s",
		   known ? "" : "whether ", b->a->bad, known ? "is not" : "is", b->a->good, why);
	doc_set(d, "outcome", known ? "nothing_to_find" : "cannot_tell");
	if (!known && !isnan(s->low))
		doc_line(d, "so far %s costs %s times as much, %s; next: run the same command with a longer --budget to measure more",
			 b->a->bad, text_fixed(s->ratio, 3).text, effect_format_interval(s->low, s->high, s->level, 3).text);
	d->exit_status = s->skip_reason ? 6 : decision_exit_status(s->decision);
}

static void describe_result(struct bisect *b, struct document *d)
{
	if (b->steps[0].decision == DECISION_REGRESSION)
		describe_found(b, d);
	else
		describe_no_change(b, d);
	doc_set(d, "application", b->application);
	doc_set(d, "commits", b->n);
	doc_set(d, "builds", count_builds(b));
	describe_steps(b, d);
}

static enum assay_status choose_version(struct bisect *b)
{
	size_t found = SIZE_MAX, n = 0;

	for (size_t i = 0; i < b->manifest.n_versions; i++) {
		const struct manifest_version *v = &b->manifest.versions[i];

		if (v->kind != MANIFEST_GIT || (b->version && strcmp(v->name, b->version) != 0))
			continue;
		found = i;
		n++;
	}
	if (n == 0)
		return assay_fail(b->err, ASSAY_E_USAGE, "%s: no version%s%s is built from git", b->manifest.file, b->version ? " " : "",
				  b->version ? TEXT_SANITIZED(b->version) : "");
	if (n > 1)
		return assay_fail(b->err, ASSAY_E_USAGE, "%s: several versions are built from git: name one as APP@VERSION",
				  b->manifest.file);
	b->stem = b->manifest.versions[found].name;
	b->repository = manifest_repository(&b->manifest, &b->manifest.versions[found]);
	return ASSAY_OK;
}

static enum assay_status prepare_bisection(struct bisect *b)
{
	char bad[VARIANT_COMMIT_BYTES];
	size_t input = b->input ? manifest_find_input(&b->manifest, b->input) : 0;
	enum assay_status st = choose_version(b);

	if (!st && (input == SIZE_MAX || (!b->input && b->manifest.n_inputs > 1)))
		st = assay_fail(b->err, ASSAY_E_USAGE, "%s: it has several inputs: name one as APP/INPUT", b->manifest.file);
	if (!st)
		b->application = manifest_stored_name(&b->manifest, input);
	if (!st)
		st = variant_resolve_commit(b->repository, b->a->good, &cmd_run_cancelled, b->good, b->err);
	if (!st)
		st = variant_resolve_commit(b->repository, b->a->bad, &cmd_run_cancelled, bad, b->err);
	if (!st)
		st = list_commits(b, bad);
	if (!st) {
		b->tries = mem_new(b->n, sizeof(*b->tries));
		bisection_init(&b->search, b->n, ERROR_RATE_DEFAULT);
	}
	return st;
}

static void release_bisection(struct bisect *b)
{
	for (size_t i = 0; i < b->n_steps; i++)
		mem_free(b->steps[i].skip_reason, b->steps[i].not_measured_reason);
	mem_free(b->steps, b->commits, b->tries, b->repository, b->application, b->name, b->version);
	bisection_release(&b->search);
	manifest_release(&b->manifest);
}

static enum assay_status run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	struct bisect b = { .a = arguments, .err = err };
	struct step *first;
	enum assay_status st = run_parse_selector(b.a->selector, &b.name, &b.version, err);

	(void)none;
	b.input = st ? NULL : strchr(b.name, '/');
	if (b.input)
		*b.input++ = '\0';
	if (!st)
		st = manifest_open(cli_directory(), b.name, &b.manifest, err);
	if (!st)
		st = prepare_bisection(&b);
	if (!st)
		st = add_step(&b, b.n - 1, b.a->min_effect, &first);
	if (!st && first->decision == DECISION_REGRESSION)
		st = search(&b, sqrt(first->ratio) - 1);
	if (!st)
		describe_result(&b, d);
	release_bisection(&b);
	return st;
}

static const struct cli_option words[] = { CLI_ARGUMENT("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option options[] = {
	CLI_OPTION(TEXT, "good", "REV", struct arguments, good, "Fast (good) revision (required)", .required = true),
	CLI_OPTION(TEXT, "bad", "REV", struct arguments, bad, "Later, slower (bad) revision (required)", .required = true),
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CLI_DURATION("budget", struct arguments, budget_s, "Longest time for each comparison: 90s, 20m or 2h"),
	CMD_FLEET_HOSTS(struct arguments, hosts),
	CLI_END,
};

const struct command bisect_command = {
	.name = "bisect",
	.summary = "find the commit that made an application slower",
	.about =
	    "Searches the commits between two revisions of the git repository from which VERSION of the manifest is built. Finds the first "
	    "commit with at least half of the slowdown. Each commit under test is built and measured in turn with the good revision on the "
	    "fleet until the comparison is decided. A single comparison may be wrong, so the search ends when one commit is 95 % probable. "
	    "Commits that cannot be built or run are skipped. After an interruption the same command continues.",
	.examples = "  assay bisect myapp --good v1.4 --bad main\n"
		    "  assay bisect myapp/large@main --good HEAD~64 --bad HEAD --budget 2m\n",
	.exit_status =
	    "0 commit found, or no slowdown; 4 not certain or inconclusive, 5 environment, 6 nothing measured; 1 failure, 2 usage.",
	.words = words,
	.options = options,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, run),
};
