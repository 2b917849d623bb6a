/* What the outputs of `assay run` count. */
#include "base/mem.h"
#include "base/stats.h"
#include "runs/cmd_run.h"

#include <math.h>

const char *cmd_run_span(double seconds, char out[CMD_RUN_SPAN_BYTES])
{
	long whole = lround(seconds);

	if (seconds < 10)
		snprintf(out, CMD_RUN_SPAN_BYTES, "%.1f s", seconds);
	else if (whole < 100)
		snprintf(out, CMD_RUN_SPAN_BYTES, "%ld s", whole);
	else if (whole < 6000)
		snprintf(out, CMD_RUN_SPAN_BYTES, "%ld min %02ld s", whole / 60, whole % 60);
	else
		snprintf(out, CMD_RUN_SPAN_BYTES, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
	return out;
}

/* ---- counting ---- */

static bool matches(const char *wanted, const char *name)
{
	return !wanted || strcmp(wanted, name) == 0;
}

struct cmd_run_tally cmd_run_tally(const struct cmd_run_view *view, const char *machine, const char *version, const char *input)
{
	struct cmd_run_tally t = { 0, 0 };

	for (size_t i = 0; i < view->n_rows; i++) {
		const struct execution_row *row = &view->rows[i];

		if (!matches(machine, row->machine) || !matches(version, row->version) || !matches(input, row->input))
			continue;
		t.ok += row->outcome == EXECUTION_OK;
		t.failed += row->outcome != EXECUTION_OK;
	}
	return t;
}

struct cmd_run_samples cmd_run_samples(const struct cmd_run_view *view, const char *version, const char *input)
{
	struct cmd_run_samples s = { 0, 0 };

	for (size_t i = 0; i < view->n_samples; i++) {
		if (!matches(version, view->samples[i].version) || !matches(input, view->samples[i].input))
			continue;
		s.files++;
		s.bytes += (double)view->samples[i].bytes;
	}
	return s;
}

double cmd_run_median(const struct cmd_run_view *view, const char *version, const char *input, double *noise)
{
	double *values = mem_new(view->n_rows, sizeof(double)), *medians = mem_new(view->n, sizeof(double)), median;
	double *deviations = mem_new(view->n, sizeof(double));
	size_t n_medians = 0;

	for (size_t m = 0; m < view->n; m++) {
		size_t n = 0;

		for (size_t i = 0; i < view->n_rows; i++) {
			const struct execution_row *row = &view->rows[i];

			if (row->outcome == EXECUTION_OK && strcmp(row->machine, view->hosts[m]->id) == 0 &&
			    strcmp(row->version, version) == 0 && strcmp(row->input, input) == 0)
				values[n++] = row->metric;
		}
		if (n) {
			deviations[n_medians] = stats_mad(values, n);
			medians[n_medians++] = stats_median(values, n);
		}
	}
	median = n_medians ? stats_median(medians, n_medians) : (double)NAN;
	if (noise)
		*noise = n_medians ? stats_median(deviations, n_medians) : (double)NAN;
	free(deviations);
	free(medians);
	free(values);
	return median;
}

size_t cmd_run_each(const struct cmd_run_view *view)
{
	return view->plan->n_versions * view->plan->n_inputs * (size_t)view->plan->repetitions;
}

int cmd_run_exit(const struct cmd_run_view *view)
{
	struct cmd_run_tally t = cmd_run_tally(view, NULL, NULL, NULL);
	bool all = t.failed == 0 && t.ok == view->n * cmd_run_each(view);

	for (size_t i = 0; i < view->n; i++)
		all = all && view->results[i].fleet.outcome == FLEET_OK;
	return all ? 0 : (t.ok ? 7 : 1);
}

char *cmd_run_stored_name(const struct cmd_run_view *view, const char *input)
{
	return manifest_stored_name(view->manifest, manifest_find_input(view->manifest, input));
}

const struct stack_row *cmd_run_first_stack(const struct stack_rows *rows, size_t i)
{
	while (i > 0 && strcmp(rows->items[i - 1].version, rows->items[i].version) == 0)
		i--;
	return &rows->items[i];
}
