/* Measures how often the detector reports a normal run, or a function in it, as anomalous. Fits a detector to each block of synthetic
 * normal runs (tests/model/made_up_runs.h) and judges one new normal run and one with a fault. Prints a line per kind of data and number
 * of runs, and a total line; docs/evidence/statistics.md has the table. Arguments: blocks (default 300, for an error of about 0.01 in
 * the total), "autoencoder" or "mahalanobis" (default), folds, first kind of data (0 to 3). */
#include "base/stats.h"
#include "base/text.h"
#include "model/parallel.h"
#include "tests/bench/rivals.h"
#include "tests/model/made_up_runs.h"

#include <stdio.h>

#define FUNCTIONS 3

static const char *const kinds[] = { "noise", "heavy", "exact", "inputs" };
static const struct {
	size_t runs;
	double rate;
} rows[] = { { 10, 1.0 / 11 }, { 20, .1 }, { 40, .05 } };

struct work {
	enum kind kind;
	size_t runs;
	struct detector_options options;
	bool *anomalous, *function, *found; /* [blocks] */
};

static void one_block(void *context, size_t b)
{
	struct work *k = context;
	struct world w = { .kind = k->kind,
			   .functions = FUNCTIONS,
			   .runs = k->runs,
			   .fault = SIZE_MAX,
			   .missing = k->kind == INPUTS ? .1 : 0,
			   .seed = 3 * b };
	struct made normal = make(&w), sides[2];
	struct detector_options options = k->options;
	struct detector *d;
	struct assay_error err;

	w.runs = 1;
	w.seed++;
	sides[0] = make(&w);
	w.seed++;
	w.missing = 0;
	w.fault = b % FUNCTIONS;
	w.column = 4;
	w.factor = 1.5;
	w.part = 1;
	sides[1] = make(&w);
	options.seed = b;
	ASSAY_BUG_IF(detector_fit(&normal.o, &options, &d, &err));
	for (size_t i = 0; i < 2; i++) {
		struct detection got;

		ASSAY_BUG_IF(detector_judge(d, &sides[i].o, &got, &err));
		if (i == 0)
			k->anomalous[b] = got.runs_anomalous > 0;
		for (size_t f = 0; i == 0 && f < FUNCTIONS; f++)
			k->function[b] |= got.functions[f].anomalous;
		if (i == 1)
			k->found[b] = got.functions[w.fault].anomalous;
		detection_release(&got);
		made_release(&sides[i]);
	}
	detector_free(d);
	made_release(&normal);
}

static double share(const bool *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* Returns a limit of the 95 % interval of Clopper and Pearson (Biometrika 26(4), 1934): a binomial tail of 0.025. */
static double bound(double hits, double n, bool upper)
{
	double low = 0, high = 1;

	if (upper ? hits >= n : hits <= 0)
		return upper;
	for (int i = 0; i < 60; i++) {
		double p = (low + high) / 2,
		       tail = upper ? 1 - stats_beta_inc(p, hits + 1, n - hits) : stats_beta_inc(p, hits, n - hits + 1);

		if ((tail > .025) == upper)
			low = p;
		else
			high = p;
	}
	return low;
}

/* Sums over all lines. */
struct sums {
	double asked, hits, blocks;
};

static void measure(enum kind kind, size_t runs, double rate, size_t blocks, const struct detector_options *options, struct sums *sums)
{
	struct work k = { .kind = kind,
			  .runs = runs,
			  .options = *options,
			  .anomalous = mem_new(blocks, 1),
			  .function = mem_new(blocks, 1),
			  .found = mem_new(blocks, 1) };
	double asked = floor(rate * (double)(runs + 1) + 1e-9) / (double)(runs + 1), measured, hits, n = (double)blocks;

	k.options.rate = rate;
	parallel_for(blocks, parallel_threads(), one_block, &k);
	measured = share(k.anomalous, blocks);
	hits = measured * n;
	printf("| %s | %zu | %.4f | %.4f (%.4f to %.4f) | %.4f | %.3f |\n", kinds[kind], runs, asked, measured, bound(hits, n, false),
	       bound(hits, n, true), share(k.function, blocks), share(k.found, blocks));
	fflush(stdout);
	sums->asked += asked * n;
	sums->hits += hits;
	sums->blocks += n;
	free(k.anomalous);
	free(k.function);
	free(k.found);
}

int main(int argc, char **argv)
{
	struct detector_options options = detector_defaults;
	struct sums sums = { .asked = 0 };
	int64_t blocks = 300, folds = (int64_t)options.folds, first = 0;

	if ((argc > 1 && (!text_parse_int64(argv[1], &blocks) || blocks < 1)) ||
	    (argc > 3 && (!text_parse_int64(argv[3], &folds) || folds < 2)) ||
	    (argc > 4 && (!text_parse_int64(argv[4], &first) || first < 0)))
		return 2;
	options.folds = (size_t)folds;
	options.scorer = argc > 2 && !strcmp(argv[2], "autoencoder") ? &scorer_autoencoder : &scorer_mahalanobis;
	options.clusters = 1;
	printf("| data | runs | asked | measured (95 %% interval) | any function | half more of a counter in one function found |\n"
	       "| --- | --- | --- | --- | --- | --- |\n");
	for (size_t kind = (size_t)first; kind < 4; kind++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			measure((enum kind)kind, rows[i].runs, rows[i].rate, (size_t)blocks, &options, &sums);
	}
	printf("| all | | %.4f | %.4f (%.4f to %.4f) | | |\n", sums.asked / sums.blocks, sums.hits / sums.blocks,
	       bound(sums.hits, sums.blocks, false), bound(sums.hits, sums.blocks, true));
	return 0;
}
