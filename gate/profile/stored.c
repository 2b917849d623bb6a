#include "gate/profile/stored.h"

#include "base/mem.h"
#include "runs/running/execution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first word of the command by which the version's runs were made; "" where that is not known. free() it. */
static enum assay_status stored_program(struct store *store, const struct run_set *runs, char **out, struct assay_error *err)
{
	struct manifest manifest = { .file = NULL };
	struct assay_error unread;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err, "SELECT manifest FROM plan WHERE id = ?", "t", runs->plan);

	*out = mem_string("");
	if (store_next(store, stmt, &st, err)) {
		const char *text = store_text(stmt, 0);
		size_t version = manifest_parse("manifest", text, strlen(text), &manifest, &unread)
				     ? SIZE_MAX
				     : manifest_find_version(&manifest, runs->version);

		if (version != SIZE_MAX) {
			const struct manifest_words *own = &manifest.versions[version].command, *words = own->n ? own : &manifest.command;

			free(*out);
			*out = mem_string(words->items[0]);
		}
		manifest_release(&manifest);
	}
	sqlite3_finalize(stmt);
	return st;
}

/* Samples of other distances than those before would count more or less than they; without one, it is said why there are none. */
static bool is_alike(const struct sampled *sampled, const char *samples)
{
	long long period_ns = strtoll(samples, NULL, 10);

	return period_ns > 0 && (sampled->period_ns == 0 || period_ns == sampled->period_ns);
}

/* Runs with samples stand first. */
struct stored_runs {
	struct level_run *items;
	uint64_t *user, *kernel; /* [sampled_runs], their samples */
	int64_t *faults;
	size_t n;
	char *refusal; /* why one has none */
};

static void stored_put_run(struct stored_time *stored, struct stored_runs *runs, struct level_run run, uint64_t user, uint64_t kernel,
			   int64_t faults)
{
	if (user + kernel > 0) {
		runs->items[runs->n++] = runs->items[stored->sampled_runs];
		runs->items[stored->sampled_runs] = run;
		runs->user[stored->sampled_runs] = user;
		runs->faults[stored->sampled_runs] = faults;
		runs->kernel[stored->sampled_runs++] = kernel;
	} else {
		runs->items[runs->n++] = run;
	}
}

/* Of an execution that was stored without a signature only its times are known. */
static enum assay_status stored_add(struct stored_time *stored, const struct execution_row *row, const char *program,
				    struct stored_runs *runs, struct assay_error *err)
{
	struct sampled *sampled = &stored->sampled;
	uint64_t user = sampled->user, kernel = sampled->kernel, processes = sampled->processes;
	struct signature signature;
	enum assay_status st = signature_parse(row->signature, &signature, err);

	if (!st && signature.samples && is_alike(sampled, signature.samples))
		st = sampled_add(sampled, signature.samples, program, NULL, err);
	else if (!st && signature.samples && !runs->refusal)
		runs->refusal = mem_string(signature.samples);
	processes = sampled->processes - processes;
	signature.of.wall_ns = row->wall_ns;
	signature.of.user_us = row->user_us;
	signature.of.sys_us = row->sys_us;
	stored_put_run(stored, runs,
		       level_run_of(row->machine, &signature.of, fmax(processes ? (double)processes : (double)signature.of.processes, 1)),
		       sampled->user - user, sampled->kernel - kernel, signature.of.minor_faults);
	signature_release(&signature);
	return st;
}

/* Once all runs are known. */
static void stored_end(struct stored_time *stored, struct stored_runs *runs)
{
	double cpu_s = 0;

	for (size_t i = 0; i < stored->sampled_runs; i++)
		cpu_s += runs->items[i].user + runs->items[i].sys;
	parts_divide(&stored->sampled, runs->user, runs->kernel, runs->faults, runs->items, stored->sampled_runs);
	levels_of(runs->items, runs->n, &stored->levels);
	parts_of(&stored->levels, &stored->sampled, cpu_s, &stored->parts);
}

enum assay_status stored_time_load(struct store *store, const struct run_set *runs, struct stored_time **out, struct assay_error *err)
{
	struct stored_runs of = { .items = mem_new(runs->n + 1, sizeof(*of.items)),
				  .user = mem_new(runs->n, sizeof(*of.user)),
				  .kernel = mem_new(runs->n, sizeof(*of.kernel)),
				  .faults = mem_new(runs->n, sizeof(*of.faults)) };
	struct stored_time *stored = mem_new(1, sizeof(*stored));
	struct execution_rows rows;
	char *program = NULL;
	enum assay_status st = execution_results(store, runs->application, runs->version, &rows, err);

	if (!st)
		st = stored_program(store, runs, &program, err);
	for (size_t i = 0; !st && i < runs->n; i++) {
		const struct execution_row *row = execution_of_run(&rows, &runs->items[i]);

		if (row && row->wall_ns >= 0 && row->user_us >= 0 && row->sys_us >= 0)
			st = stored_add(stored, row, program, &of, err);
	}
	if (!st && of.refusal && stored->sampled_runs == 0)
		st = sampled_add(&stored->sampled, of.refusal, program, NULL, err);
	if (!st)
		stored_end(stored, &of);
	free(of.refusal);
	free(of.kernel);
	free(of.faults);
	free(of.user);
	free(of.items);
	free(program);
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
	parts_release(&stored->parts);
	free(stored);
}
