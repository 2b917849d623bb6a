/* What was found of each function, in order of what it costs. */
#include "base/mem.h"
#include "gate/detect/detect_internal.h"
#include "gate/detect/side_effect.h"
#include "runs/inside/changes/demangle.h"

#include <string.h>

static double badness(const struct detected_function *f)
{
	return f->found->excess * f->share;
}

static int rank(const struct detected_function *f)
{
	return f->side_effect_of ? 2 : !f->anomalous ? 3 : f->kind.improved ? 1 : 0;
}

static int compare_functions(const void *a, const void *b)
{
	const struct detected_function *x = a, *y = b;
	double more = badness(y) - badness(x), score = y->found->score - x->found->score;

	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	if (rank(x) < 3 && more != 0)
		return more > 0 ? 1 : -1;
	if (rank(x) < 3 && score != 0)
		return score > 0 ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The worst function with the same trouble that is known without what it calls, for one that is not. */
static const char *cause_among(const struct detected *d, const struct detected_function *f)
{
	for (size_t i = 0; i < d->n_worse && f->with_nested; i++)
		if (!d->functions[i].with_nested && d->functions[i].kind.trouble == f->kind.trouble)
			return d->functions[i].name;
	return NULL;
}

/* Of those that are worse. */
static void find_side_effects(struct detected *d)
{
	struct side_effect_row *rows = mem_new(d->n, sizeof(rows[0]));
	size_t *at = mem_new(d->n, sizeof(at[0])), *cause = mem_new(d->n, sizeof(cause[0])), n = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct detected_function *f = &d->functions[i];

		if (!f->anomalous || f->kind.improved)
			continue;
		at[n] = i;
		rows[n++] = (struct side_effect_row){ f->symbol, f->kind, observed_calls(&d->seen, f->found->function) };
	}
	side_effects_find(d->input->new, rows, n, cause);
	for (size_t i = 0; i < n; i++)
		if (cause[i] != SIZE_MAX)
			d->functions[at[i]].side_effect_of = d->functions[at[cause[i]]].name;
	free(rows);
	free(at);
	free(cause);
}

static void count_functions(struct detected *d)
{
	for (size_t i = 0; i < d->n; i++) {
		struct detected_function *f = &d->functions[i];

		f->anomalous = f->anomalous && !f->side_effect_of;
		d->n_worse += f->anomalous && !f->kind.improved;
		d->n_improved += f->anomalous && f->kind.improved;
		d->n_side_effects += f->side_effect_of != NULL;
		d->n_small += f->found->anomalous && f->kind.small;
	}
}

void detect_take_functions(struct detected *d)
{
	const struct places *places = d->input->places;

	d->functions = mem_new(d->detection.n, sizeof(d->functions[0]));
	for (size_t i = 0; i < d->detection.n; i++) {
		const struct detection_function *found = &d->detection.functions[i];
		const char *symbol = d->seen.functions[found->function];
		struct detected_function *f = &d->functions[d->n];

		if (!found->known) {
			detect_skip(d, symbol, DETECT_NOT_LEARNED, d->seen.share[found->function]);
			continue;
		}
		*f = (struct detected_function){
			.found = found,
			.name = demangle(symbol),
			.symbol = symbol,
			.place = places ? places_find(places, symbol) : NULL,
			.share = d->seen.share[found->function],
			.with_nested = d->seen.remarks[OBSERVE_INCLUSIVE][found->function] > 0,
			.kind = { .column = SIZE_MAX },
		};
		if (found->anomalous)
			f->kind = kind_of(d->back_end, &d->seen.observations, found);
		f->anomalous = found->anomalous && !f->kind.small;
		d->n++;
	}
	find_side_effects(d);
	count_functions(d);
	if (d->n)
		qsort(d->functions, d->n, sizeof(d->functions[0]), compare_functions);
	for (size_t i = 0; i < d->n_worse; i++)
		d->functions[i].because_of = cause_among(d, &d->functions[i]);
}
