#include "gate/profile/stored.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "runs/running/execution.h"

#include <inttypes.h>
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
		size_t version = SIZE_MAX;

		if (!manifest_parse("manifest", text, strlen(text), &manifest, &unread)) {
			manifest_derive(&manifest, runs->version);
			version = manifest_find_version(&manifest, runs->version);
		}

		if (version != SIZE_MAX) {
			const struct manifest_words *own = &manifest.versions[version].command, *words = own->n ? own : &manifest.command;

			free(*out);
			*out = mem_string(words->items[0]);
		}
		manifest_release(&manifest);
	}
	return store_finish(stmt, st);
}

/* Samples of other distances than those before would count more or less than they; without one, it is said why there are none. */
static bool is_alike(const struct sampled *sampled, const char *samples)
{
	long long period_ns = strtoll(samples, NULL, 10);

	return period_ns > 0 && (sampled->period_ns == 0 || period_ns == sampled->period_ns);
}

/* All samples up to the end of a machine's runs, which stand together. */
struct stored_tally {
	const char *machine;
	uint64_t of[SAMPLED_CLASSES_MAX], in[SAMPLED_FUNCTIONS_MAX], user, kernel;
};

/* Runs with samples stand first. */
struct stored_runs {
	struct level_run *items;
	struct parts_run *met; /* [sampled_runs] */
	size_t n;
	struct stored_tally *tallies; /* [n_tallies], of machines with samples */
	size_t n_tallies, tallies_capacity;
	char *refusal; /* why one has none */
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
		tally->of[i] = sampled->classes[i].count;
	for (size_t i = 0; i < sampled->n_functions; i++)
		tally->in[i] = sampled->functions[i].count;
}

static void stored_put_run(struct stored_time *stored, struct stored_runs *runs, struct level_run run, struct parts_run met)
{
	if (met.user + met.kernel > 0) {
		runs->items[runs->n++] = runs->items[stored->sampled_runs];
		runs->items[stored->sampled_runs] = run;
		runs->met[stored->sampled_runs++] = met;
		stored_count(&stored->sampled, run.machine, runs);
	} else {
		runs->items[runs->n++] = run;
	}
}

/* Of an execution that was stored without a signature only its times are known. */
static enum assay_status stored_add(struct stored_time *stored, const struct execution_row *row, const char *program,
				    struct stored_runs *runs, struct assay_error *err)
{
	struct sampled *sampled = &stored->sampled;
	uint64_t user = sampled->user, kernel = sampled->kernel, processes = sampled->processes, threads = sampled->threads;
	struct signature signature;
	enum assay_status st = signature_parse(row->signature, &signature, err);

	/* How long a phase takes differs between machines. */
	sampled->slices_over = runs->n_tallies > 0 && strcmp(runs->tallies[0].machine, row->machine) != 0;
	if (!st && signature.samples && is_alike(sampled, signature.samples))
		st = sampled_add(sampled, signature.samples, program, NULL, err);
	else if (!st && signature.samples && !runs->refusal)
		runs->refusal = mem_string(signature.samples);
	processes = sampled->processes - processes;
	signature.of.wall_ns = row->wall_ns;
	signature.of.user_us = row->user_us;
	signature.of.sys_us = row->sys_us;
	stored_put_run(stored, runs,
		       level_run_of(row->machine, &signature.of, fmax(processes ? (double)processes : (double)signature.of.processes, 1),
				    (double)(sampled->threads - threads)),
		       (struct parts_run){ sampled->user - user, sampled->kernel - kernel });
	signature_release(&signature);
	return st;
}

/* By how much the mean of the part that a class, or with `in` a function, has of its level may be off over machines, 90 %; 0 where there
 * are no two. */
static double stored_reach(const struct stored_runs *runs, size_t index, bool in, bool kernel)
{
	double sum = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < runs->n_tallies; i++) {
		static const struct stored_tally nothing;
		const struct stored_tally *to = &runs->tallies[i], *from = i ? to - 1 : &nothing;
		uint64_t all = kernel ? to->kernel - from->kernel : to->user - from->user;
		uint64_t met = in ? to->in[index] - from->in[index] : to->of[index] - from->of[index];
		double part = all ? (double)met / (double)all : 0;

		sum += part;
		squares += part * part;
		n += all > 0;
	}
	return n < 2 ? 0.0
		     : stats_t_quantile(.95, (double)(n - 1)) *
			   sqrt(fmax(squares - sum * sum / (double)n, 0.0) / (double)(n - 1) / (double)n);
}

/* Whose the part is: an index of sampled->classes, or with `in` of ->functions; SIZE_MAX: a level's. */
static size_t stored_whose(const struct sampled *s, const struct part *part, bool in)
{
	bool kernel = part->of == LEVEL_KERNEL;

	for (size_t i = 0; in && i < s->n_functions; i++)
		if (part->name == s->functions[i].name)
			return i;
	for (size_t i = 0; !in && i < s->n; i++)
		if (part->name == s->classes[i].name && s->classes[i].kernel == kernel)
			return i;
	return SIZE_MAX;
}

/* A part of the time differs between machines by more than few samples let it. */
static void stored_widen(struct stored_time *stored, const struct stored_runs *runs)
{
	for (size_t i = 0; i < stored->parts.n; i++) {
		struct part *part = &stored->parts.items[i];
		bool in = part->depth == PART_FUNCTION;
		size_t whose = stored_whose(&stored->sampled, part, in);
		double reach;

		if (whose == SIZE_MAX)
			continue;
		reach = stored->levels.of[part->of].share * stored_reach(runs, whose, in, part->of == LEVEL_KERNEL);
		part->low = fmin(part->low, fmax(part->share - reach, 0.0));
		part->high = fmax(part->high, fmin(part->share + reach, 1.0));
	}
}

/* Once all runs are known. */
static void stored_end(struct stored_time *stored, struct stored_runs *runs)
{
	double cpu_s = 0;

	for (size_t i = 0; i < stored->sampled_runs; i++)
		cpu_s += runs->items[i].user + runs->items[i].sys;
	parts_divide(&stored->sampled, runs->met, runs->items, stored->sampled_runs);
	levels_of(runs->items, runs->n, &stored->levels);
	parts_of(&stored->levels, &stored->sampled, cpu_s, &stored->parts);
	stored_widen(stored, runs);
}

enum assay_status stored_time_load(struct store *store, const struct run_set *runs, struct stored_time **out, struct assay_error *err)
{
	struct stored_runs of = { .items = mem_new(runs->n + 1, sizeof(*of.items)), .met = mem_new(runs->n, sizeof(*of.met)) };
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
	mem_free(of.refusal, of.met, of.tallies, of.items, program);
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

/* ---- as folded stacks ---- */

/* The mean time of a run, in microseconds, of which levels are parts; 0: not known. */
static double time_us(const struct run_set *runs, const struct levels *levels)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct metric_usage *u = &runs->items[i].usage;

		if (u->wall_ns <= 0)
			continue;
		sum += fmax((double)u->wall_ns / 1e3, (double)u->user_us + (double)u->sys_us);
		n++;
	}
	return n && levels->runs ? sum / (double)n * (1 - fmin(fmax(levels->delay, 0), 1)) : 0;
}

struct line {
	enum level of;
	const char *name;     /* borrowed; NULL: what of the level is in no part */
	const char *function; /* likewise, of the part */
	double us[2];
};

struct lines {
	struct line *items;
	size_t n, capacity;
};

/* None before any. */
static int compare_names(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = x->of != y->of ? (x->of > y->of) - (x->of < y->of) : compare_names(x->name, y->name);

	return order ? order : compare_names(x->function, y->function);
}

static double *time_of(struct lines *lines, int side, enum level of, const char *name, const char *function)
{
	struct line wanted = { .of = of, .name = name, .function = function };

	for (size_t i = 0; i < lines->n; i++) {
		if (compare_lines(&lines->items[i], &wanted) == 0)
			return &lines->items[i].us[side];
	}
	lines->items = mem_grow(lines->items, lines->n, &lines->capacity, sizeof(*lines->items));
	lines->items[lines->n] = wanted;
	return &lines->items[lines->n++].us[side];
}

/* Each part without those below it. */
static void add_side(const struct stored_time *stored, double us, int side, struct lines *lines)
{
	for (size_t i = 0; i < stored->parts.n; i++) {
		const struct part *part = &stored->parts.items[i];
		double of_part = us * part->share;

		switch (part->depth) {
		case PART_TIME:
			*time_of(lines, side, part->of, NULL, NULL) += of_part;
			break;
		case PART_CATEGORY:
			*time_of(lines, side, part->of, part->name, NULL) += of_part;
			*time_of(lines, side, part->of, NULL, NULL) -= of_part;
			break;
		default:
			*time_of(lines, side, part->of, part->category, part->name) += of_part;
			*time_of(lines, side, part->of, part->category, NULL) -= of_part;
		}
	}
}

/* ';' divides frames, and the numbers stand behind the last blank. */
static void add_frame(const char *text, struct buf *out)
{
	for (size_t control; *text; text += control ? control : 1) {
		control = text_control(text);
		buf_char(out, control || *text == ';' ? '_' : *text);
	}
}

size_t folded_difference(const struct run_set runs[2], struct stored_time *const stored[2], struct buf *out)
{
	struct lines lines = { .n = 0 };
	size_t written = 0;

	for (int side = 0; side < 2; side++) {
		double us = time_us(&runs[side], &stored[side]->levels);

		if (us > 0)
			add_side(stored[side], us, side, &lines);
	}
	order_sort(lines.items, lines.n, compare_lines);
	for (size_t i = 0; i < lines.n; i++) {
		const struct line *line = &lines.items[i];
		int64_t us[2] = { llround(fmax(line->us[0], 0)), llround(fmax(line->us[1], 0)) };

		if (!us[0] && !us[1])
			continue;
		add_frame(runs[1].application, out);
		buf_format(out, ";%s", level_text(line->of));
		for (int k = 0; k < 2; k++) {
			const char *frame = k ? line->function : line->name;

			buf_text(out, frame ? ";" : "");
			add_frame(frame ? frame : "", out);
		}
		buf_format(out, " %" PRId64 " %" PRId64 "\n", us[0], us[1]);
		written++;
	}
	free(lines.items);
	return written;
}
