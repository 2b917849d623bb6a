#include "gate/profile/stored.h"

#include "base/mem.h"
#include "base/stats.h"
#include "runs/running/execution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sets *out to the first argument of the command of the version's runs; "" if it is not known. The caller frees *out. */
static enum assay_status stored_program(struct store *store, const struct run_set *runs, char **out, struct assay_error *err)
{
	struct manifest manifest = { .file = NULL };
	struct assay_error unread;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err, "SELECT manifest FROM plan WHERE id = ?", "t", runs->plan);

	*out = mem_string("");
	if (store_next(store, stmt, &st, err)) {
		const char *text = store_text(stmt, 0);
		size_t version = SIZE_MAX;

		if (!manifest_parse("manifest", text, strlen(text), &manifest, &unread)) {
			manifest_derive(&manifest, runs->version);
			version = manifest_find_version(&manifest, runs->version);
		}

		if (version != SIZE_MAX) {
			const struct manifest_arguments *own = &manifest.versions[version].command,
							*words = own->n ? own : &manifest.command;

			free(*out);
			*out = mem_string(words->items[0]);
		}
		manifest_release(&manifest);
	}
	return store_finalize(stmt, st);
}

/* Reports whether the samples have the same period as the earlier ones, because samples of different periods cannot be added. A text
 * without a period states why there are no samples. */
static bool is_similar(const struct sampled *sampled, const char *samples)
{
	long long period_ns = strtoll(samples, NULL, 10);

	return period_ns > 0 && (sampled->period_ns == 0 || period_ns == sampled->period_ns);
}

/* Cumulative numbers of samples after the last run of a machine. The runs of a machine are adjacent. */
struct stored_tally {
	const char *machine;
	uint64_t class_samples[SAMPLED_CLASSES_MAX], function_samples[SAMPLED_FUNCTIONS_MAX], user, kernel;
};

struct stored_runs {
	struct stored_tally *tallies; /* [n_tallies] one per machine with samples */
	size_t n_tallies, tallies_capacity;
	char *refusal;	   /* text that states why a run has no usable samples; NULL if all have */
	struct code *code; /* finds functions in this machine's files for samples that contain addresses */
};

static void stored_count(const struct sampled *sampled, const char *machine, struct stored_runs *runs)
{
	struct stored_tally *tally;

	if (runs->n_tallies == 0 || strcmp(runs->tallies[runs->n_tallies - 1].machine, machine) != 0) {
		runs->tallies = mem_grow(runs->tallies, runs->n_tallies, &runs->tallies_capacity, sizeof(*runs->tallies));
		runs->n_tallies++;
	}
	tally = &runs->tallies[runs->n_tallies - 1];
	*tally = (struct stored_tally){ .machine = machine, .user = sampled->user, .kernel = sampled->kernel };
	for (size_t i = 0; i < sampled->n; i++)
		tally->class_samples[i] = sampled->classes[i].count;
	for (size_t i = 0; i < sampled->n_functions; i++)
		tally->function_samples[i] = sampled->functions[i].count;
}

/* Adds the times and samples of a run. If it was stored without a signature, only the times are known. */
static enum assay_status stored_add(struct stored_time *stored, const struct execution_row *row, const struct run *run,
				    struct stored_runs *runs, struct assay_error *err)
{
	struct sampled *sampled = &stored->sampled;
	uint64_t user = sampled->user, kernel = sampled->kernel, processes = sampled->processes, threads = sampled->threads;
	struct stored_run *to = &stored->runs[stored->n];
	struct run_usage *run_usage = &to->run_usage;
	enum assay_status st = run_usage_parse(row->run_usage, run_usage, err);

	/* Only runs of the first machine have slices, because the duration of a phase differs between machines. */
	sampled->no_more_slices = runs->n_tallies > 0 && strcmp(runs->tallies[0].machine, run->machine) != 0;
	if (!st && run_usage->samples && is_similar(sampled, run_usage->samples)) {
		st = sampled_add(sampled, run_usage->samples, stored->program, strstr(run_usage->samples, " at ") ? runs->code : NULL, err);
	} else if (!st && run_usage->samples) {
		runs->refusal = runs->refusal ? runs->refusal : mem_string(run_usage->samples);
		free(run_usage->samples);
		run_usage->samples = NULL;
	}
	processes = sampled->processes - processes;
	run_usage->counters.wall_ns = row->wall_ns;
	run_usage->counters.user_us = row->user_us;
	run_usage->counters.sys_us = row->sys_us;
	to->run = run;
	to->time = level_run_make(run->machine, &run_usage->counters,
				  fmax(processes ? (double)processes : (double)run_usage->counters.processes, 1),
				  (double)(sampled->threads - threads));
	to->sample_counts = (struct parts_run){ sampled->user - user, sampled->kernel - kernel };
	if (to->sample_counts.user + to->sample_counts.kernel > 0) {
		stored->sampled_runs++;
		stored_count(sampled, run->machine, runs);
	}
	stored->n++;
	return st;
}

/* Returns half the 90 % interval, over machines, of the mean share that a class has in its level; 0 for fewer than two machines. `in`
 * selects functions instead of classes. */
static double stored_interval_reach(const struct stored_runs *runs, size_t index, bool in, bool kernel)
{
	double sum = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < runs->n_tallies; i++) {
		static const struct stored_tally nothing;
		const struct stored_tally *to = &runs->tallies[i], *from = i ? to - 1 : &nothing;
		uint64_t all = kernel ? to->kernel - from->kernel : to->user - from->user;
		uint64_t met = in ? to->function_samples[index] - from->function_samples[index]
				  : to->class_samples[index] - from->class_samples[index];
		double part = all ? (double)met / (double)all : 0;

		sum += part;
		squares += part * part;
		n += all > 0;
	}
	return n < 2 ? 0.0
		     : stats_t_quantile(.95, (double)(n - 1)) *
			   sqrt(fmax(squares - sum * sum / (double)n, 0.0) / (double)(n - 1) / (double)n);
}

/* Returns the index of the part in s->functions if `in` is true, otherwise in s->classes; SIZE_MAX for a level. */
static size_t stored_find_class(const struct sampled *s, const struct part *part, bool in)
{
	bool kernel = part->level == LEVEL_KERNEL;

	for (size_t i = 0; in && i < s->n_functions; i++)
		if (part->name == s->functions[i].name)
			return i;
	for (size_t i = 0; !in && i < s->n; i++)
		if (part->name == s->classes[i].name && s->classes[i].kernel == kernel)
			return i;
	return SIZE_MAX;
}

/* Widens the intervals of parts that differ between machines by more than sampling error. */
static void stored_widen(struct stored_time *stored, const struct stored_runs *runs)
{
	for (size_t i = 0; i < stored->parts.n; i++) {
		struct part *part = &stored->parts.items[i];
		bool in = part->depth == PART_FUNCTION;
		size_t whose = stored_find_class(&stored->sampled, part, in);
		double reach;

		if (whose == SIZE_MAX)
			continue;
		reach = stored->levels.of[part->level].share * stored_interval_reach(runs, whose, in, part->level == LEVEL_KERNEL);
		part->low = fmin(part->low, fmax(part->share - reach, 0.0));
		part->high = fmax(part->high, fmin(part->share + reach, 1.0));
	}
}

/* Computes times and parts after all runs were added. The samples divide the CPU time of the runs that have samples. */
static void stored_end(struct stored_time *stored, const struct stored_runs *runs)
{
	struct level_run *times = mem_new(stored->n, sizeof(*times));
	struct parts_run *met = mem_new(stored->n, sizeof(*met));
	size_t sampled = 0, rest = stored->sampled_runs;
	double cpu_s = 0;

	for (size_t i = 0; i < stored->n; i++) {
		struct stored_run *run = &stored->runs[i];
		bool any = run->sample_counts.user + run->sample_counts.kernel > 0;

		met[sampled] = any ? run->sample_counts : met[sampled];
		cpu_s += any ? run->time.user + run->time.sys : 0;
		times[any ? sampled++ : rest++] = run->time;
	}
	parts_divide_cpu_time(&stored->sampled, met, times, stored->sampled_runs);
	levels_compute(times, stored->n, &stored->levels);
	parts_compute(&stored->levels, &stored->sampled, cpu_s, &stored->parts);
	stored_widen(stored, runs);
	for (size_t i = stored->n; i-- > 0;) {
		struct stored_run *run = &stored->runs[i];

		run->time = times[run->sample_counts.user + run->sample_counts.kernel > 0 ? --sampled : --rest];
	}
	mem_free(times, met);
}

/* Returns the plan if all runs are of one plan; otherwise NULL. The plan limits the query, which loads a signature per execution. */
static const char *common_plan(const struct run_set *runs)
{
	for (size_t i = 1; i < runs->n; i++)
		if (strcmp(runs->items[i].plan, runs->items[0].plan) != 0)
			return NULL;
	return runs->n && *runs->items[0].plan ? runs->items[0].plan : NULL;
}

enum assay_status stored_time_load(struct store *store, const struct run_set *runs, struct stored_time **out, struct assay_error *err)
{
	struct stored_time *stored = mem_new(1, sizeof(*stored));
	struct stored_runs of = { .code = code_new() };
	struct execution_rows rows;
	enum assay_status st = execution_load_results(store, runs->application, runs->version, common_plan(runs), &rows, err);

	stored->runs = mem_new(runs->n, sizeof(*stored->runs));
	if (!st)
		st = stored_program(store, runs, &stored->program, err);
	for (size_t i = 0; !st && i < runs->n; i++) {
		const struct execution_row *row = execution_find_run(&rows, &runs->items[i]);

		if (row && row->wall_ns >= 0 && row->user_us >= 0 && row->sys_us >= 0)
			st = stored_add(stored, row, &runs->items[i], &of, err);
	}
	if (!st && of.refusal && stored->sampled_runs == 0)
		st = sampled_add(&stored->sampled, of.refusal, stored->program, NULL, err);
	if (!st)
		stored_end(stored, &of);
	code_free(of.code);
	mem_free(of.refusal, of.tallies);
	execution_rows_release(&rows);
	if (st) {
		stored_time_free(stored);
		stored = NULL;
	}
	*out = stored;
	return st;
}

void stored_time_free(struct stored_time *stored)
{
	if (!stored)
		return;
	for (size_t i = 0; i < stored->n; i++)
		run_usage_release(&stored->runs[i].run_usage);
	parts_release(&stored->parts);
	mem_free(stored->runs, stored->program, stored);
}
