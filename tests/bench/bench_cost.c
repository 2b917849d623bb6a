/* bench_cost FILE: how far models of the cost err on inputs that were left out, by the number of inputs learned. FILE has TAB-separated
 * values, as tests/bench/cost_programs.py prints them: names, then a row an input: its cost, its size, what else is known of it, and what
 * was counted in it. Of each number of inputs, models of ten draws of so many; the error is the mean of |cost / prediction - 1| over all
 * that were not drawn. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "gate/decide/effect.h"
#include "model/sparse/sparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DRAWS	 5
#define ROWS_MAX 1000
#define WAYS	 4

static double *data[ROWS_MAX];	    /* [rows][columns] */
static size_t rows, columns, known; /* the first `known` of a row are its cost and what is known before a run */

static void read_rows(const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL, *rest, *word;
	size_t room = 0;

	if (!file || getline(&line, &room, file) < 0)
		exit(2);
	for (rest = line; (word = strsep(&rest, "\t\n")) && *word; columns++)
		known += !strchr(word, ' '); /* names of counts have blanks */
	while (rows < ROWS_MAX && getline(&line, &room, file) >= 0) {
		data[rows] = mem_new(columns, sizeof(double));
		rest = line;
		for (size_t n = 0; n < columns && (word = strsep(&rest, "\t\n")); n++)
			data[rows][n] = strtod(word, NULL);
		rows++;
	}
	free(line);
	fclose(file);
}

struct tally {
	double error, inside, terms, seconds;
};

/* Learns from order[0..n), with the first `features` columns. */
static void try(const size_t *order, size_t n, size_t features, const struct sparse_options *how, struct tally *out)
{
	struct mat X = mat_new(n, features);
	double *y = mem_new(n, sizeof(*y)), off = 0.0, inside = 0.0;
	size_t *group = mem_new(n, sizeof(*group));
	struct sparse model;
	clock_t began;

	for (size_t i = 0; i < n; i++) {
		group[i] = i;
		y[i] = data[order[i]][0];
		memcpy(X.at + i * features, &data[order[i]][1], features * sizeof(double));
	}
	began = clock();
	sparse_fit(&X, y, group, n, how, &model);
	out->seconds += (double)(clock() - began) / CLOCKS_PER_SEC / DRAWS;
	out->terms += (double)model.terms / DRAWS;
	for (size_t i = n; i < rows; i++) {
		double value = sparse_predict(&model, &data[order[i]][1]), ratio = data[order[i]][0] / fmax(value, 1e-9);

		off += fabs(ratio - 1.0);
		inside += ratio < model.interval && ratio > 1.0 / model.interval;
	}
	out->error += off / (double)(rows - n) / DRAWS;
	out->inside += inside / (double)(rows - n) / DRAWS;
	sparse_release(&model);
	mat_release(&X);
	free(group);
	free(y);
}

/* ---- pairs of versions with different inputs on both sides ---- */

#define PAIRS	   100
#define BASELINE   140
#define MIN_EFFECT .03

/* As gate/cost/cost_gate.c compares them. */
static enum decision decide(const struct sparse *m, const double *apart, size_t n)
{
	double was = stats_sd(m->apart, m->runs) / sqrt((double)m->runs) * sqrt(1.0 + (double)m->terms),
	       is = stats_sd(apart, n) / sqrt((double)n);
	struct effect_pair pair = { .log_ratio = stats_mean(apart, n) - stats_mean(m->apart, m->runs), .noise = hypot(was, is) };

	pair.noise_df =
	    pow(pair.noise, 4.0) / (pow(is, 4.0) / ((double)n - 1.0) + pow(was, 4.0) / fmax(1.0, (double)m->runs - 1.0 - (double)m->terms));
	return effect_of(&pair, 1, 1, &(struct effect_asked){ MIN_EFFECT, EFFECT_LEVEL }, NULL).decision;
}

/* The baseline learns from some inputs, the candidate ran all others; `slower` times as dear. */
static void pairs(void)
{
	static const double slower[] = { 1.0, 1.05, 1.1 };
	size_t called[3][DECISIONS] = { { 0 } };
	struct rng rng;

	rng_seed(&rng, 19);
	for (int i = 0; i < PAIRS; i++) {
		size_t order[ROWS_MAX], group[BASELINE];
		struct mat X = mat_new(BASELINE, columns - 1);
		double y[BASELINE], apart[ROWS_MAX];
		struct sparse model;

		for (size_t k = 0; k < rows; k++)
			order[k] = k;
		rng_shuffle(&rng, order, rows);
		for (size_t k = 0; k < BASELINE; k++) {
			group[k] = k;
			y[k] = data[order[k]][0];
			memcpy(X.at + k * X.cols, &data[order[k]][1], X.cols * sizeof(double));
		}
		sparse_fit(&X, y, group, BASELINE, &(struct sparse_options){ .degree = 2 }, &model);
		for (int s = 0; s < 3; s++) {
			size_t n = 0;

			for (size_t k = BASELINE; k < rows; k++) {
				if (sparse_unlike(&model, &data[order[k]][1]) == SIZE_MAX)
					apart[n++] = log(slower[s] * data[order[k]][0] / sparse_predict(&model, &data[order[k]][1]));
			}
			called[s][decide(&model, apart, n)]++;
		}
		sparse_release(&model);
		mat_release(&X);
	}
	printf("\n| the candidate, %d pairs | pass | improved | regression | inconclusive |\n| --- | --- | --- | --- | --- |\n", PAIRS);
	for (int s = 0; s < 3; s++)
		printf("| %.2f times as dear | %zu | %zu | %zu | %zu |\n", slower[s], called[s][DECISION_PASS],
		       called[s][DECISION_IMPROVED], called[s][DECISION_REGRESSION], called[s][DECISION_INCONCLUSIVE]);
}

static void errors(void)
{
	static const size_t learned[] = { 14, 28, 40, 60, 140 };
	const struct {
		struct sparse_options how;
		size_t features;
	} ways[] = { { { .degree = 2 }, 1 },
		     { { .degree = 2 }, known - 1 },
		     { { .degree = 2, .paper = true }, columns - 1 },
		     { { .degree = 2 }, columns - 1 } };

	printf(
	    "| inputs learned | size only | known before | published procedure | default | inside the default's interval | terms | s |\n");
	printf("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t k = 0; k < sizeof(learned) / sizeof(learned[0]) && learned[k] < rows; k++) {
		struct tally t[WAYS] = { { 0 } };
		struct rng rng;

		rng_seed(&rng, 19 + k);
		for (int draw = 0; draw < DRAWS; draw++) {
			size_t order[ROWS_MAX];

			for (size_t i = 0; i < rows; i++)
				order[i] = i;
			rng_shuffle(&rng, order, rows);
			for (int way = 0; way < WAYS; way++)
				try(order, learned[k], ways[way].features, &ways[way].how, &t[way]);
		}
		printf("| %zu | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.2f | %.1f | %.2f |\n", learned[k], 100 * t[0].error,
		       100 * t[1].error, 100 * t[2].error, 100 * t[3].error, t[3].inside, t[3].terms, t[3].seconds);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	read_rows(argv[1]);
	errors();
	if (rows >= BASELINE + 40)
		pairs();
	return 0;
}
