#include "gate/report/heatmap.h"

#include "base/linkage.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/report/sections.h"

#include <math.h>

/* The kind of fingerprint that most of them are; the first of equals. */
static const struct fingerprint *heatmap_kind(const struct fingerprint *const *chosen, size_t n)
{
	const struct fingerprint *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t count = 0;

		for (size_t j = 0; j < n; j++)
			count += fingerprint_comparable(chosen[i], chosen[j]);
		if (count > most) {
			most = count;
			best = chosen[i];
		}
	}
	return best;
}

/* Whether a stressor was tried under this fingerprint: it has a rate, a recorded 0, or a reason for having none. */
static bool heatmap_tried(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor, struct fingerprint_summary *s)
{
	*s = fingerprint_summarise(set, f, stressor);
	return s->measured || s->zero || (f->reasons && f->reasons[stressor]);
}

/* Medians of all stressors that have one; fills map->rate, stressors and unmeasured. */
static void heatmap_rates(const struct fingerprint_set *set, struct heatmap *map)
{
	size_t rows = map->rate.rows, p = set->n_stressors, cols = 0;
	double *column = mem_new(rows, sizeof(double));

	map->rate = mat_new(rows, p);
	for (size_t j = 0; j < p; j++) {
		size_t measured = 0, tried = 0;

		for (size_t i = 0; i < rows; i++) {
			struct fingerprint_summary s;

			tried += heatmap_tried(set, map->fingerprints[i], j, &s);
			measured += s.measured > 0;
			column[i] = s.median;
		}
		if (measured) {
			for (size_t i = 0; i < rows; i++)
				mat_set(&map->rate, i, cols, column[i]);
			map->stressors[cols++] = j;
		} else if (tried) {
			map->unmeasured[map->n_unmeasured++] = j;
		}
	}
	for (size_t i = 0; i < rows; i++) /* close up */
		memmove(&map->rate.at[i * cols], &map->rate.at[i * p], cols * sizeof(double));
	map->rate.cols = cols;
	free(column);
}

static void standardise_column(const struct heatmap *map, size_t j, double *logs)
{
	size_t rows = map->z.rows, n = 0;
	double mean, sd;

	for (size_t i = 0; i < rows; i++) {
		if (!isnan(mat_get(&map->rate, i, j)))
			logs[n++] = log(mat_get(&map->rate, i, j));
	}
	mean = stats_mean(logs, n);
	sd = stats_sd(logs, n);
	if (!(sd > 1e-12 * fmax(1, fabs(mean)))) /* only rounding */
		sd = (double)INFINITY;
	for (size_t i = 0; i < rows; i++)
		map->z.at[i * map->z.cols + j] = (log(mat_get(&map->rate, i, j)) - mean) / sd;
}

static void heatmap_standardise(struct heatmap *map)
{
	double *logs = mem_new(map->rate.rows, sizeof(double));

	map->z = mat_new(map->rate.rows, map->rate.cols);
	for (size_t j = 0; j < map->z.cols; j++)
		standardise_column(map, j, logs);
	free(logs);
}

/* ---- order ---- */

/* Element k of item i: of a row, or of a column. */
static double heatmap_element(const struct mat *z, bool of_rows, size_t i, size_t k)
{
	return of_rows ? mat_get(z, i, k) : mat_get(z, k, i);
}

static double heatmap_distance(const struct mat *z, bool of_rows, size_t a, size_t b)
{
	size_t n = of_rows ? z->cols : z->rows, common = 0;
	double sum = 0;

	for (size_t k = 0; k < n; k++) {
		double difference = heatmap_element(z, of_rows, a, k) - heatmap_element(z, of_rows, b, k);

		if (isnan(difference))
			continue;
		sum += difference * difference;
		common++;
	}
	return common ? sqrt(sum * (double)n / (double)common) : 2 * sqrt((double)n); /* nothing in common: as far as anything */
}

static size_t *heatmap_order(const struct mat *z, bool of_rows)
{
	size_t n = of_rows ? z->rows : z->cols;
	size_t *order = mem_new(n, sizeof(size_t));
	struct mat distance = mat_new(n, n);

	for (size_t a = 0; a < n; a++) {
		for (size_t b = a + 1; b < n; b++) {
			double d = heatmap_distance(z, of_rows, a, b);

			mat_set(&distance, a, b, d);
			mat_set(&distance, b, a, d);
		}
	}
	linkage_order(&distance, order);
	mat_release(&distance);
	return order;
}

static void heatmap_permute(struct mat *m, const size_t *rows, const size_t *cols)
{
	struct mat out = mat_new(m->rows, m->cols);

	for (size_t i = 0; i < m->rows; i++) {
		for (size_t j = 0; j < m->cols; j++)
			mat_set(&out, i, j, mat_get(m, rows[i], cols[j]));
	}
	mat_release(m);
	*m = out;
}

static void heatmap_sort(struct heatmap *map)
{
	size_t *rows = heatmap_order(&map->z, true), *cols = heatmap_order(&map->z, false);
	const struct fingerprint **fingerprints = mem_new(map->z.rows, sizeof(*fingerprints));
	size_t *stressors = mem_new(map->z.cols, sizeof(size_t));

	for (size_t i = 0; i < map->z.rows; i++)
		fingerprints[i] = map->fingerprints[rows[i]];
	for (size_t j = 0; j < map->z.cols; j++)
		stressors[j] = map->stressors[cols[j]];
	heatmap_permute(&map->z, rows, cols);
	heatmap_permute(&map->rate, rows, cols);
	mem_free(map->fingerprints, map->stressors);
	map->fingerprints = fingerprints;
	map->stressors = stressors;
	mem_free(rows, cols);
}

void heatmap_of(const struct fingerprint_set *set, const struct fingerprint *const *chosen, size_t n, struct heatmap *out)
{
	const struct fingerprint *kind = heatmap_kind(chosen, n);
	struct heatmap map = { .fingerprints = mem_new(n, sizeof(struct fingerprint *)),
			       .stressors = mem_new(set->n_stressors, sizeof(size_t)),
			       .unmeasured = mem_new(set->n_stressors, sizeof(size_t)) };

	for (size_t i = 0; i < n; i++) {
		if (fingerprint_comparable(chosen[i], kind))
			map.fingerprints[map.rate.rows++] = chosen[i];
		else
			map.incomparable++;
	}
	heatmap_rates(set, &map);
	heatmap_standardise(&map);
	heatmap_sort(&map);
	*out = map;
}

void heatmap_release(struct heatmap *map)
{
	mem_free(map->fingerprints, map->stressors, map->unmeasured);
	mat_release(&map->z);
	mat_release(&map->rate);
	*map = (struct heatmap){ 0 };
}

/* ---- the section: a table, so that it can be read aloud, copied and printed ---- */

#define FARTHEST 2.5 /* standard deviations: the ends of the colours */
#define FEW	 24  /* stressors: there is room for wider cells */

static void heatmap_row(const struct heatmap *map, size_t i, const struct fingerprint_set *set, bool used, struct document *d)
{
	doc_row(d);
	doc_style(d, used ? "used" : "unused");
	doc_show(d, NULL, "Machine", map->fingerprints[i]->machine);
	for (size_t j = 0; j < map->z.cols; j++) {
		const char *stressor = set->stressors[map->stressors[j]];
		double z = mat_get(&map->z, i, j);

		doc_showf(d, NULL, stressor, z, "%s", page_signed(z, 1).text);
		if (isnan(z)) {
			doc_style(d, "hx");
			continue;
		}
		page_colour(d, z, FARTHEST, "");
		doc_data(d, "r", "%.3g", mat_get(&map->rate, i, j));
	}
}

static void heatmap_table(const struct heatmap *map, const struct fingerprint_set *set, const struct page_machines *machines,
			  struct document *d)
{
	const struct fingerprint *f = map->fingerprints[0];
	struct buf text = BUF_INIT;
	size_t unused = 0;

	page_colours(d, "slower than most", "faster than most", FARTHEST, "z from \u22122.5 to +2.5", true);
	doc_table(d, NULL);
	doc_style(d, map->z.cols <= FEW ? "heat wide few" : "heat wide");
	doc_caption(d, "Heat map of fingerprints");
	doc_column(d, "Machine", "corner");
	for (size_t j = 0; j < map->z.cols; j++)
		page_column(d, set->stressors[map->stressors[j]]);
	for (size_t i = 0; i < map->z.rows; i++) {
		bool used = false;

		for (size_t k = 0; k < machines->n; k++)
			used |= machines->fingerprints[k] == map->fingerprints[i] && machines->used[k];
		heatmap_row(map, i, set, used, d);
		unused += !used;
	}
	doc_end(d);
	buf_format(&text, "%zu machine%s, %zu stressors. Battery %s, stress-ng: %s, architecture: %s.", map->z.rows,
		   text_plural(map->z.rows), map->z.cols, f->battery, f->stress_ng, f->architecture);
	if (unused)
		buf_format(&text, " %zu of the machines, in italics, %s not part of the comparison.", unused, unused == 1 ? "is" : "are");
	doc_styled(d, "muted", "%s", text.bytes);
	buf_release(&text);
}

void report_heatmap(struct document *d, const struct heatmap *map, const struct fingerprint_set *set, const struct page_machines *machines)
{
	doc_section(
	    d, "fingerprints", "Fingerprints", "The machines' fingerprints",
	    "How fast each machine is at each stressor, against the mean of these machines: z-scores of the logarithms of the rates. "
	    "Machines that are alike stand together, and so do stressors.");
	if (map->z.rows && map->z.cols) {
		heatmap_table(map, set, machines, d);
	} else
		doc_styled(d, "empty",
			   "None of these results belongs to a fingerprint. " DOC_CODE "assay fingerprint run" DOC_END
			   " takes fingerprints.");
}
