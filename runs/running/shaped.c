#include "runs/running/shaped.h"

#include "base/mem.h"
#include "runs/running/run_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- to the store ---- */

#define AT_PLACE "plan = ? AND machine = ? AND version = ? AND input = ?"

static enum assay_status forget(struct store *store, const struct shaped_place *p, struct assay_error *err)
{
	enum assay_status st =
	    store_do(store, err, "DELETE FROM shaped_run WHERE " AT_PLACE, "tttt", p->plan, p->machine, p->version, p->input);

	return st ? st : store_do(store, err, "DELETE FROM shaped_dose WHERE " AT_PLACE, "tttt", p->plan, p->machine, p->version, p->input);
}

static enum assay_status put_run(struct store *store, const struct shaped_place *p, size_t ordinal, const struct count_run *r,
				 const char *refused, struct assay_error *err)
{
	return store_do(store, err,
			"INSERT INTO shaped_run (plan, machine, version, input, ordinal, application, shape, large, cpu_s, user_s, wall_s, "
			"faults, transfers, bytes, refused) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			"ttttittiddddddt", p->plan, p->machine, p->version, p->input, (int64_t)ordinal, p->application,
			r->shape < SHAPES ? shapes[r->shape].name : "", (int64_t)r->large, r->cpu_s, r->user_s, r->wall_s, r->faults,
			r->transfers, r->bytes, refused);
}

static enum assay_status put_doses(struct store *store, const struct shaped_place *p, const struct counts *c, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	int64_t ordinal = 0;

	for (size_t k = 0; k < 2 * SHAPE_MEANS; k++)
		for (size_t i = 0; !st && i < c->doses[k / 2][k % 2].n; i++)
			st = store_do(store, err,
				      "INSERT INTO shaped_dose (plan, machine, version, input, ordinal, means, large, ns) VALUES (?, ?, ?, "
				      "?, ?, ?, ?, ?)",
				      "ttttitid", p->plan, p->machine, p->version, p->input, ordinal++,
				      shape_means_code((enum shape_means)(k / 2)), (int64_t)(k % 2), c->doses[k / 2][k % 2].pairs[i]);
	return st;
}

enum assay_status shaped_put(struct store *store, const struct shaped_place *place, const struct counts *counts, struct assay_error *err)
{
	const double none = (double)NAN;
	size_t ordinal = 0;
	enum assay_status st = store_begin(store, err);

	if (!st)
		st = forget(store, place, err);
	for (size_t i = 0; !st && i < counts->n; i++)
		st = put_run(store, place, ordinal++, &counts->runs[i], NULL, err);
	for (unsigned shape = 0; !st && shape < SHAPES; shape++) {
		struct count_run refusal = {
			.shape = shape, .cpu_s = none, .user_s = none, .wall_s = none, .faults = none, .transfers = none, .bytes = none
		};

		if (counts->of[shape].refused)
			st = put_run(store, place, ordinal++, &refusal, counts->of[shape].refused, err);
	}
	if (!st)
		st = put_doses(store, place, counts, err);
	return store_end(store, st, err);
}

enum assay_status shaped_has(struct store *store, const struct shaped_place *p, bool *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err, "SELECT 1 FROM shaped_run WHERE " AT_PLACE " LIMIT 1", "tttt", p->plan,
					 p->machine, p->version, p->input);

	*out = store_next(store, stmt, &st, err);
	return store_finish(stmt, st);
}

enum assay_status shaped_of_plan(struct store *store, const char *plan, const char *machine, size_t *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_ask(store, &stmt, err,
		      "SELECT count(*) FROM (SELECT DISTINCT machine, version, input FROM shaped_run WHERE plan = ?1 AND "
		      "(?2 IS NULL OR machine = ?2))",
		      "tt", plan, machine);

	*out = store_next(store, stmt, &st, err) ? (size_t)sqlite3_column_int64(stmt, 0) : 0;
	return store_finish(stmt, st);
}

/* ---- and back ---- */

/* SHAPES: by this name there is none. */
static unsigned shape_of(const char *name)
{
	unsigned shape = 0;

	while (shape < SHAPES && strcmp(shapes[shape].name, name) != 0)
		shape++;
	return shape;
}

/* Shapes of a newer program, whose names this one does not know, are left out. */
static void load_run(sqlite3_stmt *stmt, struct counts *c)
{
	const char *name = store_text(stmt, 0), *refused = store_text(stmt, 8);
	unsigned shape = shape_of(name);

	if (shape == SHAPES && *name)
		return;
	if (*refused && shape < SHAPES) {
		free(c->of[shape].refused);
		c->of[shape].refused = mem_string(refused);
	}
	if (*refused)
		return;
	c->runs = mem_grow(c->runs, c->n, &c->capacity, sizeof(*c->runs));
	c->runs[c->n] = (struct count_run){ .shape = shape,
					    .large = sqlite3_column_int(stmt, 1) != 0,
					    .cpu_s = store_double(stmt, 2),
					    .user_s = store_double(stmt, 3),
					    .wall_s = store_double(stmt, 4),
					    .faults = store_double(stmt, 5),
					    .transfers = store_double(stmt, 6),
					    .bytes = store_double(stmt, 7) };
	c->wall_s += c->runs[c->n++].wall_s;
}

static enum assay_status load_runs(struct store *store, const struct shaped_place *p, struct counts *c, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err,
					 "SELECT shape, large, cpu_s, user_s, wall_s, faults, transfers, bytes, refused FROM shaped_run "
					 "WHERE " AT_PLACE " ORDER BY ordinal",
					 "tttt", p->plan, p->machine, p->version, p->input);

	while (store_next(store, stmt, &st, err))
		load_run(stmt, c);
	return store_finish(stmt, st);
}

static enum assay_status load_doses(struct store *store, const struct shaped_place *p, struct counts *c, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err, "SELECT means, large, ns FROM shaped_dose WHERE " AT_PLACE " ORDER BY ordinal",
					 "tttt", p->plan, p->machine, p->version, p->input);

	while (store_next(store, stmt, &st, err)) {
		for (size_t means = 0; means < SHAPE_MEANS; means++) {
			struct count_dose *dose = &c->doses[means][sqlite3_column_int(stmt, 1) != 0];

			if (strcmp(shape_means_code((enum shape_means)means), store_text(stmt, 0)) != 0)
				continue;
			mem_append(dose->pairs, dose->n, &dose->capacity, store_double(stmt, 2));
		}
	}
	return store_finish(stmt, st);
}

/* Where runs of the version stand in the store. */
struct stored_place {
	char *machine, *version, *input;
	char plan[DIGEST_ID_BYTES];
};

/* The latest of each machine: places[*n]. */
static enum assay_status find_places(struct store *store, const struct run_set *runs, const struct run_builds *builds,
				     struct stored_place **places, size_t *n, struct assay_error *err)
{
	const struct run_build *counted = run_builds_find(builds, runs->plan);
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st =
	    store_ask(store, &stmt, err,
		      "SELECT DISTINCT s.machine, s.plan, s.version, s.input, p.started_ms FROM shaped_run AS s JOIN plan AS p ON p.id = "
		      "s.plan WHERE s.application = ? AND s.version = ? ORDER BY s.machine, p.started_ms DESC",
		      "tt", runs->application, runs->version);

	while (store_next(store, stmt, &st, err)) {
		const struct run_build *build = run_builds_find(builds, store_text(stmt, 1));

		if (!counted || !build || strcmp(build->id, counted->id) != 0 ||
		    (*n > 0 && strcmp((*places)[*n - 1].machine, store_text(stmt, 0)) == 0))
			continue;
		*places = mem_grow(*places, *n, &capacity, sizeof(**places));
		(*places)[*n] = (struct stored_place){ .machine = mem_string(store_text(stmt, 0)),
						       .version = mem_string(store_text(stmt, 2)),
						       .input = mem_string(store_text(stmt, 3)) };
		snprintf((*places)[(*n)++].plan, DIGEST_ID_BYTES, "%s", store_text(stmt, 1));
	}
	return store_finish(stmt, st);
}

static enum assay_status load_place(struct store *store, const struct stored_place *stored, struct shaped_machine *out,
				    struct assay_error *err)
{
	const struct shaped_place place = {
		.plan = stored->plan, .machine = stored->machine, .version = stored->version, .input = stored->input
	};
	enum assay_status st = load_runs(store, &place, &out->counts, err);

	out->machine = mem_string(stored->machine);
	if (!st)
		st = load_doses(store, &place, &out->counts, err);
	counts_estimate(&out->counts);
	return st;
}

enum assay_status shaped_load(struct store *store, const struct run_set *runs, struct shaped_machine **out, size_t *n,
			      struct assay_error *err)
{
	struct stored_place *places = NULL;
	struct run_builds builds;
	size_t n_places = 0;
	enum assay_status st = run_builds_load(store, runs->application, runs->version, &builds, err);

	*out = NULL;
	*n = 0;
	if (!st)
		st = find_places(store, runs, &builds, &places, &n_places, err);
	*out = mem_new(n_places, sizeof(**out));
	for (size_t i = 0; !st && i < n_places; i++)
		st = load_place(store, &places[i], &(*out)[(*n)++], err);
	for (size_t i = 0; i < n_places; i++)
		mem_free(places[i].machine, places[i].version, places[i].input);
	free(places);
	run_builds_release(&builds);
	if (st) {
		shaped_free(*out, *n);
		*out = NULL;
		*n = 0;
	}
	return st;
}

void shaped_free(struct shaped_machine *machines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(machines[i].machine);
		counts_release(&machines[i].counts);
	}
	free(machines);
}

void shaped_answer(const struct shaped_machine *machines, size_t n, struct document *d)
{
	doc_list(d, "counts");
	for (size_t i = 0; i < n; i++) {
		const struct counts *counts = &machines[i].counts;

		doc_object(d, NULL);
		doc_set(d, "machine", machines[i].machine);
		doc_set(d, "runs", counts->n);
		doc_set(d, "wall_s", counts->base_wall_s);
		doc_heading(d, "%s", machines[i].machine);
		counts_members(counts, d);
		counts_show(counts, d);
		doc_end(d);
	}
	doc_end(d);
}
