#include "gate/comparison/weigh.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/variance/answer.h"
#include "gate/variance/stored_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct weighed_run {
	const char *machine; /* borrowed from the list of stored runs */
	double seconds, lost_s;
};

struct weighed_runs {
	struct stored_runs stored;
	struct weighed_run *items; /* [stored.n] the analysed runs; struct variance_effect_side has their number */
};

/* Returns the seconds that a run lost to the environment. Processes run in parallel, so this is the largest loss of a single process. */
static double time_lost_to_environment(const struct variance *v)
{
	double *lost = mem_new(v->fragments.n_processes, sizeof(*lost)), most = 0;

	for (size_t r = 0; r < v->n_regions; r++)
		for (size_t i = 0; region_is_by_environment(&v->regions[r]) && i < v->regions[r].n; i++) {
			const struct region_member *m = &v->regions[r].members[i];

			lost[m->process] += region_elapsed_s(m) * region_environment_share(&v->regions[r]);
			most = fmax(most, lost[m->process]);
		}
	free(lost);
	return most;
}

static void keep_worst_region(const struct variance *v, const struct sample_file *file, struct variance_effect_side *side)
{
	for (size_t r = 0; r < v->n_regions; r++) {
		const struct region *g = &v->regions[r];
		char *who, *lost, *why;

		if (!region_is_by_environment(g) || g->elapsed_s <= side->worst_s)
			continue;
		who = variance_region_processes(v, g);
		lost = variance_format_seconds(g->elapsed_s);
		why = variance_region_causes(v, g);
		free(side->worst);
		side->worst_s = g->elapsed_s;
		side->worst = mem_format("in repetition %lld on %s, %s lost %s from %.2f s to %.2f s: %s", (long long)file->repetition,
					 file->machine, who, lost, g->from_s, g->to_s, why);
		mem_free(who, lost, why);
	}
}

/* Counts a run that could not be analysed. Keeps the reason of the first such run, and takes ownership of `why`. */
static void note_unread_run(char *why, struct variance_effect_side *side)
{
	if (side->unseen++)
		free(why);
	else
		side->not_analysed_reason = why;
}

static void add_run_loss(const struct variance *v, const struct sample_file *file, struct weighed_runs *runs,
			 struct variance_effect_side *side)
{
	struct weighed_run *run = &runs->items[side->runs++];

	*run = (struct weighed_run){ file->machine, v->fragments.span_s, time_lost_to_environment(v) };
	side->seconds += run->seconds;
	side->lost_s += run->lost_s;
	keep_worst_region(v, file, side);
}

/* Reports whether the comparison uses this recorded run. Runs of other architectures, or excluded by `assay nightly`, do not count. */
static bool is_file_of_run(const struct run_set *set, const struct sample_file *file)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct run *run = &set->items[i];

		if (run->repetition == file->repetition && strcmp(run->machine, file->machine) == 0 && strcmp(run->plan, file->plan) == 0)
			return true;
	}
	return false;
}

static void add_side_losses(struct lab *lab, const struct run_set *set, struct weighed_runs *runs, struct variance_effect_side *side)
{
	static const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };
	struct assay_error err;

	*runs = (struct weighed_runs){ .items = NULL };
	if (!*set->plan || stored_runs_list(lab, set->application, set->version, set->plan, &runs->stored, &err))
		return;
	runs->items = mem_new(runs->stored.n, sizeof(*runs->items));
	for (size_t i = 0; i < runs->stored.n; i++) {
		const struct sample_file *file = &runs->stored.files[runs->stored.items[i].first];
		struct variance v;
		char *incomplete;

		if (!is_file_of_run(set, file))
			continue;
		if (stored_run_variance(lab, &runs->stored, i, &options, &v, &err)) {
			note_unread_run(mem_string(err.text), side);
			continue;
		}
		incomplete = variance_explain_incomplete(&v.fragments);
		if (incomplete)
			note_unread_run(incomplete, side);
		else
			add_run_loss(&v, file, runs, side);
		variance_release(&v);
	}
	if (side->runs) {
		side->seconds /= (double)side->runs;
		side->lost_s /= (double)side->runs;
	}
}

/* Returns the mean time of a machine's runs in seconds; NaN if there are none. Subtracts the lost time if `ratio_without_loss` is true. */
static double machine_mean(const struct weighed_runs *runs, size_t n, const char *machine, bool ratio_without_loss)
{
	double sum = 0;
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (strcmp(runs->items[i].machine, machine) == 0) {
			sum += runs->items[i].seconds - (ratio_without_loss ? fmin(runs->items[i].lost_s, runs->items[i].seconds) : 0);
			found++;
		}
	return found ? sum / (double)found : (double)NAN;
}

/* Returns the ratio candidate / baseline as the geometric mean over machines that recorded both versions; NaN if there are none. */
static double recorded_ratio(const struct weighed_runs runs[2], const struct variance_effect *w, bool ratio_without_loss)
{
	double sum = 0;
	size_t machines = 0;

	for (size_t i = 0; i < w->sides[0].runs; i++) {
		const char *machine = runs[0].items[i].machine;
		double ratio;

		if (i && strcmp(machine, runs[0].items[i - 1].machine) == 0)
			continue; /* this machine was done: runs are sorted by machine */
		ratio = log(machine_mean(&runs[1], w->sides[1].runs, machine, ratio_without_loss) /
			    machine_mean(&runs[0], w->sides[0].runs, machine, ratio_without_loss));
		if (isfinite(ratio)) {
			sum += ratio;
			machines++;
		}
	}
	return machines ? exp(sum / (double)machines) : (double)NAN;
}

bool variance_compute_effect(struct lab *lab, struct verdict *v, struct variance_effect *out)
{
	bool faster = v->effect.decision == DECISION_IMPROVED;
	double matters = stats_round(1 + v->min_effect);
	struct variance_effect_side *slower = &out->sides[!faster];
	struct weighed_runs runs[2];

	*out = (struct variance_effect){ .explains = false };
	add_side_losses(lab, v->baseline, &runs[0], &out->sides[0]);
	add_side_losses(lab, v->candidate, &runs[1], &out->sides[1]);
	out->ratio = recorded_ratio(runs, out, false);
	out->ratio_without_loss = recorded_ratio(runs, out, true);
	out->explains = slower->worst && stats_round(faster ? 1 / out->ratio : out->ratio) >= matters &&
			stats_round(faster ? 1 / out->ratio_without_loss : out->ratio_without_loss) < matters;
	for (int s = 0; s < 2; s++) {
		stored_runs_release(&runs[s].stored);
		free(runs[s].items);
	}
	return out->explains && verdict_blame_environment(
				    v, "variance",
				    mem_format("the candidate's recorded runs took %.3f times as long as the baseline's, but %.3f times "
					       "without what the environment cost them: %s",
					       out->ratio, out->ratio_without_loss, slower->worst));
}

void variance_effect_release(struct variance_effect *w)
{
	mem_free(w->sides[0].worst, w->sides[1].worst, w->sides[0].not_analysed_reason, w->sides[1].not_analysed_reason);
	*w = (struct variance_effect){ .explains = false };
}

void variance_effect_describe(const struct variance_effect *w, struct document *d)
{
	static const char *const names[] = { "baseline", "candidate" };

	if (!w->sides[0].runs && !w->sides[1].runs && !w->sides[0].unseen && !w->sides[1].unseen)
		return;
	doc_section(d, "variance", "Variance", "Time lost to the environment",
		    "The calls of these runs were recorded. They show where repeated work was slow, and why ('assay timeline').");
	doc_object(d, "variance");
	doc_set(d, "ratio", w->ratio);
	doc_set(d, "without", w->ratio_without_loss);
	doc_set_bool(d, "explains", w->explains);
	doc_table(d, "sides");
	for (int s = 0; s < 2; s++) {
		const struct variance_effect_side *side = &w->sides[s];

		doc_row(d);
		doc_show(d, "side", "recorded runs of", names[s]);
		doc_show(d, "runs", "runs", side->runs);
		doc_show(d, "unseen", "excluded", side->unseen);
		doc_showf(d, "seconds", "took, s", side->seconds, "%.3f", side->seconds);
		doc_showf(d, "lost_s", "lost to the environment, s", side->lost_s, "%.3f", side->lost_s);
		doc_show(d, "worst", "most expensive region", side->worst ? side->worst : "-");
	}
	doc_end(d);
	doc_end(d);
	for (int s = 0; s < 2; s++)
		if (w->sides[s].unseen)
			doc_line(d, "%zu recorded run%s of the %s cannot be analysed, and the environment may have slowed %s: %s",
				 w->sides[s].unseen, text_plural(w->sides[s].unseen), names[s], w->sides[s].unseen == 1 ? "it" : "them",
				 w->sides[s].not_analysed_reason);
}
