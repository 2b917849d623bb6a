#include "gate/profile/shaped_rows.h"

#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/battery/battery.h"

#include <math.h>

/* A machine's rows. */
struct place {
	const struct dataset *dataset;
	struct profile_rows *rows;
	const struct counts *counts;
	size_t first, end; /* rows */
	double cost;	   /* geometric mean */
};

/* How many times as long the application takes with the dose of a shape that batteries have; NaN: that is not known. */
static double times_as_long(const struct counts *c, unsigned shape)
{
	const struct count_dose *dose = &c->doses[shapes[shape].means][0];

	if (c->of[shape].refused || dose->n == 0)
		return (double)NAN;
	return 1.0 + fmax(c->of[shape].n, 0.0) * dose->is.ns / 1e9 / c->base_wall_s;
}

static size_t column_of(const struct dataset *d, const char *feature, const char *shape)
{
	char *name = mem_format("%s%c%s", feature, BATTERY_DEARER, shape);
	size_t j = 0;

	while (j < d->X.cols && strcmp(d->features[j], name) != 0)
		j++;
	free(name);
	return j;
}

static void shape_add(const struct place *p, unsigned shape)
{
	struct profile_shaped_rows *to = &p->rows->shaped;
	const struct dataset *d = p->dataset;
	size_t cols = p->rows->rates.cols;
	double longer = times_as_long(p->counts, shape), *rates = &to->rates.at[to->rates.rows * cols];

	if (!(longer >= 1.0 && isfinite(longer)))
		return;
	for (size_t j = 0; j < cols; j++) {
		size_t column = column_of(d, p->rows->features[j], shapes[shape].name);

		rates[j] = column < d->X.cols ? mat_get(&d->X, p->rows->from[p->first], column) : (double)NAN;
		if (!(rates[j] > 0) && mat_get(&p->rows->rates, p->first, j) > 0)
			return;
	}
	to->cost[to->rates.rows] = p->cost * longer;
	to->type[to->rates.rows++] = p->rows->type[p->first];
}

void shaped_rows_of(const struct shaped_machine *machines, size_t n, const struct run_set *runs, const struct dataset *dataset,
		    struct profile_rows *rows)
{
	struct profile_shaped_rows *to = &rows->shaped;

	to->rates = mat_new(n * SHAPES, rows->rates.cols);
	to->rates.rows = 0;
	to->cost = mem_new(n * SHAPES, sizeof(*to->cost));
	to->type = mem_new(n * SHAPES, sizeof(*to->type));
	for (size_t m = 0; m < n; m++) {
		struct place place = { .dataset = dataset, .rows = rows, .counts = &machines[m].counts };
		double logs = 0;

		for (size_t i = 0; i < rows->rates.rows; i++) {
			if (strcmp(runs->items[dataset->run[rows->from[i]]].machine, machines[m].machine) != 0)
				continue;
			place.first = place.end == 0 ? i : place.first;
			place.end = i + 1; /* rows of one machine stand together */
			logs += log(rows->cost[i]);
		}
		place.cost = exp(logs / (double)(place.end - place.first));
		for (unsigned shape = 0; place.end > 0 && shape < SHAPES; shape++)
			shape_add(&place, shape);
	}
}

void shaped_rows_answer(const struct profile *p, struct document *d)
{
	if (p->shaped.rows == 0)
		return;
	doc_object(d, "shaped_rows");
	doc_set(d, "rows", p->shaped.rows);
	doc_set_bool(d, "kept", p->shaped.kept);
	doc_set(d, "error_with", p->shaped.with);
	doc_set(d, "error_without", p->shaped.without);
	doc_end(d);
	doc_line(
	    d, "%zu row%s of machines with something dearer %s: on hardware types left out the error is %.1f %% with and %.1f %% without\n",
	    p->shaped.rows, text_plural(p->shaped.rows), p->shaped.kept ? "help the model" : "do not help the model, and are left out",
	    100 * p->shaped.with, 100 * p->shaped.without);
}
