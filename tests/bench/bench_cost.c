/* Measures prediction errors of cost models on held-out inputs, per number of learned inputs, and the gate's decisions on pairs.
 *    bench_cost FILE [errors]      errors and decisions, or only the errors
 *    bench_cost FILE sensitivity   errors and selected columns per lambda, and how much the draws agree on the columns
 *    bench_cost FILE selected      names of the counters that the model of all inputs needs
 * FILE has TAB-separated values from tests/bench/cost_programs.py: a line of names, then a line per input: cost, size, other static
 * features, counters. Each number of inputs has models of five draws. The error is the mean of |prediction / cost - 1| over all inputs
 * not drawn, and over those that resemble the learned inputs, the only ones that `assay` predicts. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "gate/decide/effect.h"
#include "model/sparse/sparse.h"
#include "model/sparse/excess.h"
#include "model/sparse/lasso.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DRAWS	 5
#define ROWS_MAX 1000
#define WAYS	 4

#define COLUMNS_MAX 5000

static char *names[COLUMNS_MAX];
static double *data[ROWS_MAX];	    /* [rows][columns] */
static size_t rows, columns, known; /* `known`: number of leading columns known before a run: cost and static features */

static void read_rows(const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL, *rest, *word;
	size_t room = 0;

	if (!file || getline(&line, &room, file) < 0)
		exit(2);
	for (rest = line; (word = strsep(&rest, "\t\n")) && *word && columns < COLUMNS_MAX; columns++) {
		known += !strchr(word, ' '); /* only names of counters contain spaces */
		names[columns] = mem_string(word);
	}
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
	double error, answered, unlike, inside, terms, seconds;
};

/* Fits a model to the rows order[0..n), with the first `features` columns; adds its errors on the other rows to `*out`. */
static void try(const size_t *order, size_t n, size_t features, const struct sparse_options *how, struct tally *out)
{
	struct mat X = mat_new(n, features);
	double *y = mem_new(n, sizeof(*y)), off = 0.0, inside = 0.0, off_answered = 0.0;
	size_t *group = mem_new(n, sizeof(*group)), answered = 0;
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
		const double *row = &data[order[i]][1];
		double value = sparse_predict(&model, row), ratio = data[order[i]][0] / value,
		       error = sparse_error(data[order[i]][0], value);

		off += error;
		if (sparse_find_dissimilar(&model, row, 0.0) == SIZE_MAX) {
			off_answered += error;
			inside += ratio < model.interval && ratio > 1.0 / model.interval;
			answered++;
		}
	}
	out->error += off / (double)(rows - n) / DRAWS;
	out->answered += answered ? off_answered / (double)answered / DRAWS : (double)NAN;
	out->unlike += 1.0 / DRAWS - (double)answered / (double)(rows - n) / DRAWS;
	out->inside += answered ? inside / (double)answered / DRAWS : (double)NAN;
	sparse_release(&model);
	mat_release(&X);
	free(group);
	free(y);
}

/* ---- pairs of versions with different inputs per version ---- */

#define PAIRS	   100
#define BASELINE   (rows >= 180 ? 140 : 100)
#define MIN_EFFECT .03
#define INPUTS_MIN 5 /* minimum number of compared inputs, as in the gate */

/* Returns the rows order[from..to) with all features. Writes their costs to y[]. */
static struct mat rows_of(const size_t *order, size_t from, size_t to, double *y)
{
	struct mat X = mat_new(to - from, columns - 1);

	for (size_t k = from; k < to; k++) {
		y[k - from] = data[order[k]][0];
		memcpy(X.at + (k - from) * X.cols, &data[order[k]][1], X.cols * sizeof(double));
	}
	return X;
}

static int by_size(const void *a, const void *b)
{
	double x = data[*(const size_t *)a][1], y = data[*(const size_t *)b][1];

	return (x > y) - (x < y);
}

#define SHIFTS 3
static const double slower[] = { 1.0, 1.05, 1.1 };
#define SLOWER (sizeof(slower) / sizeof(slower[0]))

struct calls {
	size_t decided[SLOWER][DECISIONS], holds, unlike, inputs, pairs;
};

static enum decision decide(const struct sparse_excess *excess, double times)
{
	struct effect_pair pair = { .log_ratio = excess->log_ratio + log(times), .noise = excess->noise, .noise_df = excess->df };

	return effect_compute(&pair, 1, 1, &(struct effect_request){ MIN_EFFECT, EFFECT_LEVEL }, NULL).decision;
}

/* Judges a candidate that ran order[from..to) with costs `slower` times as high. Adds the result to the first element of `out` whose
 * limit in `share` is not below the candidate's share of unlike inputs. */
static void call(const struct sparse *model, const size_t *order, size_t from, size_t to, const double *share, struct calls *out)
{
	double y[ROWS_MAX], ratio[ROWS_MAX];
	struct mat X = rows_of(order, from, to, y);
	struct sparse_excess excess;
	size_t n = 0;

	for (size_t i = 0; i < X.rows; i++) {
		if (sparse_find_dissimilar(model, X.at + i * X.cols, 0.0) != SIZE_MAX)
			continue;
		memmove(X.at + n * X.cols, X.at + i * X.cols, X.cols * sizeof(double));
		y[n++] = y[i];
	}
	while (share && (double)(X.rows - n) > *share * (double)X.rows) {
		share++;
		out++;
	}
	out->pairs++;
	out->unlike += X.rows - n;
	out->inputs += X.rows;
	X.rows = n;
	if (n >= INPUTS_MIN) {
		excess = sparse_excess_compute(model, &X, y, ratio);
		out->holds += fabs(excess.log_ratio) < stats_t_quantile(.975, excess.df) * excess.noise;
		for (size_t s = 0; s < SLOWER; s++)
			out->decided[s][decide(&excess, slower[s])]++;
	}
	mat_release(&X);
}

/* ---- slowdown of one loop ---- */

#define LOOP_LEAST .02 /* minimum share of a loop in all counts, for loops that get an injected slowdown */

/* Returns the column of a random loop whose share of the counts is above LOOP_LEAST. */
static size_t choose_loop(struct rng *rng)
{
	for (;;) {
		size_t j = known + rng_below(rng, columns - known);
		double loop = 0.0, all = 0.0;

		for (size_t i = 0; i < rows; i++) {
			loop += data[i][j];
			for (size_t k = known; k < columns; k++)
				all += data[i][k];
		}
		if (strncmp(names[j], "loop ", 5) == 0 && loop > LOOP_LEAST * all)
			return j;
	}
}

/* Reports whether two names denote the same source line. A name has the form KIND FILE:LINE[:COLUMN] FUNCTION. */
static bool is_line(const char *name, const char *of)
{
	size_t n = strcspn(of + strcspn(of, ":") + 1, ": ") + strcspn(of, ":") + 1 - strcspn(of, " ") - 1;
	const char *a = strchr(name, ' '), *b = strchr(of, ' ');

	return a && b && strncmp(a, b, n + 1) == 0 && strchr(": ", a[n + 1]);
}

/* Reports whether a term uses the source line of column `loop`, or a column that is always identical to it. */
static bool has_line(const struct sparse *model, const struct sparse_term *one, size_t loop)
{
	for (size_t k = 0; k < one->degree; k++) {
		size_t column = one->column[k];

		if (is_line(names[column + 1], names[loop]) || model->column[loop - 1].same_as == column)
			return true;
	}
	return false;
}

struct planted {
	size_t called, first;
};

/* Judges a candidate with the inputs order[from..to), in which each iteration of the loop costs `each` more. */
static void call_planted(const struct sparse *model, const size_t *order, size_t from, size_t to, size_t loop, double each,
			 struct planted *out)
{
	double y[ROWS_MAX], ratio[ROWS_MAX];
	struct mat X = rows_of(order, from, to, y);
	struct sparse_excess excess;
	struct sparse_part *parts = mem_new(model->terms + 1, sizeof(*parts));
	size_t n = 0, most = 0;

	for (size_t i = 0; i < X.rows; i++) {
		if (sparse_find_dissimilar(model, X.at + i * X.cols, 0.0) != SIZE_MAX)
			continue;
		memmove(X.at + n * X.cols, X.at + i * X.cols, X.cols * sizeof(double));
		y[n] = y[i] + each * mat_get(&X, n, loop - 1);
		n++;
	}
	X.rows = n;
	excess = sparse_excess_compute(model, &X, y, ratio);
	out->called += decide(&excess, 1.0) == DECISION_REGRESSION;
	for (size_t i = 0; i < n; i++)
		ratio[i] = exp(ratio[i] - excess.usual) - 1.0;
	sparse_terms_compute(model, &X, ratio, 1.2533 * model->error_mean, parts);
	for (size_t t = 0; t < model->terms; t++)
		most = parts[t + 1].added_share > parts[most + 1].added_share ? t : most;
	out->first += has_line(model, &model->term[most], loop);
	free(parts);
	mat_release(&X);
}

/* ---- inputs larger than all learned inputs ---- */

#define BEYOND	  50
#define CANDIDATE 60
static const double shares[] = { 0.0, .05, .1, .25, .5, 1.0 };
#define SHARES (sizeof(shares) / sizeof(shares[0]))

/* Measures decisions if the baseline learns from the smaller half of the inputs and a growing part of the candidate's inputs is larger. */
static void beyond(const bool *counted)
{
	static struct calls calls[SHARES];
	struct rng rng;

	rng_seed(&rng, 21);
	for (int i = 0; i < BEYOND; i++) {
		size_t order[ROWS_MAX], group[ROWS_MAX], half = rows / 2, large = (size_t)(CANDIDATE * i / (BEYOND - 1));
		struct mat learned;
		struct sparse model;
		double y[ROWS_MAX];

		for (size_t k = 0; k < rows; k++)
			group[k] = order[k] = k;
		qsort(order, rows, sizeof(*order), by_size);
		rng_shuffle(&rng, order, half);
		rng_shuffle(&rng, order + half, rows - half);
		learned = rows_of(order, CANDIDATE, half, y);
		sparse_fit(&learned, y, group, half - CANDIDATE, &(struct sparse_options){ .degree = 2, .counted = counted }, &model);
		memcpy(order, order + half, large * sizeof(*order));
		call(&model, order, 0, CANDIDATE, shares, calls);
		sparse_release(&model);
		mat_release(&learned);
	}
	printf("\n| unlike, at most | pairs | 1.00: pass | regression | 1.05: regression | 1.10: regression |\n| --- | --- | --- | --- | "
	       "--- | --- |\n");
	for (size_t k = 0; k < SHARES; k++)
		printf("| %.0f %% | %zu | %zu | %zu | %zu | %zu |\n", 100 * shares[k], calls[k].pairs, calls[k].decided[0][DECISION_PASS],
		       calls[k].decided[0][DECISION_REGRESSION], calls[k].decided[1][DECISION_REGRESSION],
		       calls[k].decided[2][DECISION_REGRESSION]);
}

/* Measures decisions if the baseline learns from some inputs and the candidate ran all others, or the smaller or larger half of them. */
static void pairs(void)
{
	static const char *const what[SHIFTS] = { "all others", "the smaller half", "the larger half" };
	static struct calls calls[SHIFTS];
	static struct planted planted[SLOWER];
	bool *counted = mem_new(columns - 1, sizeof(*counted));
	struct rng rng, loops;

	for (size_t j = known - 1; j < columns - 1; j++)
		counted[j] = true;
	rng_seed(&rng, 19);
	rng_seed(&loops, 20);
	for (int i = 0; i < PAIRS; i++) {
		size_t order[ROWS_MAX], group[ROWS_MAX], middle = BASELINE + (rows - BASELINE) / 2, loop;
		struct mat learned;
		double y[ROWS_MAX], share = 0.0;
		struct sparse model;

		for (size_t k = 0; k < rows; k++)
			order[k] = k;
		rng_shuffle(&rng, order, rows);
		for (size_t k = 0; k < BASELINE; k++)
			group[k] = k;
		qsort(order + BASELINE, rows - BASELINE, sizeof(*order), by_size);
		learned = rows_of(order, 0, BASELINE, y);
		sparse_fit(&learned, y, group, BASELINE, &(struct sparse_options){ .degree = 2, .counted = counted }, &model);
		call(&model, order, BASELINE, rows, NULL, &calls[0]);
		call(&model, order, BASELINE, middle, NULL, &calls[1]);
		call(&model, order, middle, rows, NULL, &calls[2]);
		loop = choose_loop(&loops);
		for (size_t k = 0; k < rows; k++)
			share += data[k][loop] / data[k][0] / (double)rows;
		for (size_t s = 1; s < SLOWER; s++)
			call_planted(&model, order, BASELINE, rows, loop, (slower[s] - 1.0) / share, &planted[s]);
		sparse_release(&model);
		mat_release(&learned);
	}
	printf("\n| the candidate's inputs | unlike | interval holds | times as dear | pass | improved | regression | inconclusive |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (int k = 0; k < SHIFTS; k++) {
		for (size_t s = 0; s < SLOWER; s++)
			printf("| %s | %.1f %% | %.2f | %.2f | %zu | %zu | %zu | %zu |\n", what[k],
			       100.0 * (double)calls[k].unlike / (double)calls[k].inputs, (double)calls[k].holds / PAIRS, slower[s],
			       calls[k].decided[s][DECISION_PASS], calls[k].decided[s][DECISION_IMPROVED],
			       calls[k].decided[s][DECISION_REGRESSION], calls[k].decided[s][DECISION_INCONCLUSIVE]);
	}
	printf("\n| planted in one loop | regression | its line is first |\n| --- | --- | --- |\n");
	for (size_t s = 1; s < SLOWER; s++)
		printf("| %.0f %% | %zu | %zu |\n", 100.0 * (slower[s] - 1.0), planted[s].called, planted[s].first);
	beyond(counted);
	free(counted);
}

static void errors(void)
{
	static const size_t learned[] = { 14, 28, 40, 60, 140, 300 };
	bool *counted = mem_new(columns - 1, sizeof(*counted));
	const struct {
		struct sparse_options how;
		size_t features;
	} ways[] = { { { .degree = 3 }, 1 },
		     { { .degree = 3 }, known - 1 },
		     { { .degree = 2, .paper = true }, columns - 1 },
		     { { .degree = 2, .counted = counted }, columns - 1 } };

	for (size_t j = known - 1; j < columns - 1; j++)
		counted[j] = true;
	printf("| inputs learned | size only | known before | published procedure | default | unlike | default of the others | of these "
	       "inside the interval | terms | s |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
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
		printf("| %zu | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.2f | %.1f | %.2f |\n", learned[k],
		       100 * t[0].error, 100 * t[1].error, 100 * t[2].error, 100 * t[3].error, 100 * t[3].unlike, 100 * t[3].answered,
		       t[3].inside, t[3].terms, t[3].seconds);
		fflush(stdout);
	}
	free(counted);
}

/* ---- sensitivity ---- */

#define OF_DRAWS 10
#define STEPS	 11 /* number of lambdas, from the largest to the smallest */

static bool *counted_columns(void)
{
	bool *counted = mem_new(columns - 1, sizeof(*counted));

	for (size_t j = known - 1; j < columns - 1; j++)
		counted[j] = true;
	return counted;
}

struct at_lambda {
	double ratio, error[2], columns;
};

/* Adds the errors of the LASSO of single columns, fitted to order[0..n), on all other rows, at each of STEPS lambdas. */
static void add_lambdas(const size_t *order, size_t n, struct at_lambda *out)
{
	static const struct lasso_options how = { .is_intercept_bounded = true, .refit = true, .smallest = 1e-3 };
	double y[ROWS_MAX], weight[ROWS_MAX];
	struct mat X = rows_of(order, 0, n, y);
	struct lasso_path path;

	for (size_t i = 0; i < n; i++)
		weight[i] = 1.0 / (y[i] * y[i]);
	lasso_path_compute(&X, y, weight, &how, NULL, &path);
	for (size_t s = 0; s < STEPS; s++) {
		size_t k = s * (LASSO_LAMBDAS - 1) / (STEPS - 1);

		out[s].ratio = path.lambda[k] / path.lambda[0];
		for (size_t j = 0; j < X.cols; j++)
			out[s].columns += (mat_get(&path.beta, k, j) != 0.0) / (double)OF_DRAWS;
		for (size_t i = n; i < rows; i++) {
			double value[2] = { path.intercept[k], path.refitted_intercept[k] };

			for (size_t j = 0; j < X.cols; j++) {
				value[0] += mat_get(&path.beta, k, j) * data[order[i]][1 + j];
				value[1] += mat_get(&path.refitted, k, j) * data[order[i]][1 + j];
			}
			for (int f = 0; f < 2; f++)
				out[s].error[f] += sparse_error(data[order[i]][0], value[f]) / (double)(rows - n) / OF_DRAWS;
		}
	}
	lasso_path_release(&path);
	mat_release(&X);
}

/* Returns the number of columns in both draws divided by the number of columns in at least one of them; 1 if both are empty. */
static double both_have(const bool *a, const bool *b)
{
	size_t both = 0, one = 0;

	for (size_t j = 0; j < columns - 1; j++) {
		both += a[j] && b[j];
		one += a[j] || b[j];
	}
	return one ? (double)both / (double)one : 1.0;
}

struct kept_of {
	size_t terms[OF_DRAWS], products, never, same, first;
	bool *has[OF_DRAWS]; /* [columns - 1] */
};

static void add_kept(const size_t *order, size_t n, size_t draw, const struct sparse_column *all, struct kept_of *out)
{
	size_t group[ROWS_MAX];
	double y[ROWS_MAX];
	struct mat X = rows_of(order, 0, n, y);
	bool *counted = counted_columns();
	struct sparse model, first;

	for (size_t i = 0; i < n; i++)
		group[i] = i;
	sparse_fit(&X, y, group, n, &(struct sparse_options){ .degree = 2, .counted = counted }, &model);
	sparse_fit(&X, y, group, n, &(struct sparse_options){ .degree = 1, .counted = counted }, &first);
	out->terms[draw] = model.terms;
	out->first += first.terms;
	out->has[draw] = mem_new(columns - 1, sizeof(bool));
	for (size_t j = 0; j < columns - 1; j++) {
		out->never += model.column[j].same_as == j;
		out->same += model.column[j].same_as != j && model.column[j].same_as != SIZE_MAX;
		if (sparse_uses_column(&model, j))
			out->has[draw][all[j].same_as == SIZE_MAX ? j : all[j].same_as] = true;
	}
	for (size_t t = 0; t < model.terms; t++)
		out->products += model.term[t].degree > 1;
	sparse_release(&first);
	sparse_release(&model);
	mat_release(&X);
	free(counted);
}

static int by_number(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

static void print_kept(size_t n, struct kept_of *k)
{
	double alike = 0.0;
	size_t often = 0, ever = 0, used = 0;

	for (size_t a = 0; a < OF_DRAWS; a++) {
		for (size_t b = 0; b < a; b++)
			alike += both_have(k->has[a], k->has[b]) / (OF_DRAWS * (OF_DRAWS - 1) / 2.0);
	}
	for (size_t j = 0; j < columns - 1; j++) {
		size_t draws = 0;

		for (size_t a = 0; a < OF_DRAWS; a++)
			draws += k->has[a][j];
		used += draws;
		ever += draws > 0;
		often += draws >= OF_DRAWS - 1;
	}
	qsort(k->terms, OF_DRAWS, sizeof(k->terms[0]), by_number);
	printf("| %zu | %zu | %.0f | %.0f | %.1f | %zu to %zu | %.1f | %.1f | %zu | %zu | %.2f |\n", n, columns - 1,
	       (double)k->never / OF_DRAWS, (double)k->same / OF_DRAWS, (double)k->first / OF_DRAWS, k->terms[0], k->terms[OF_DRAWS - 1],
	       (double)k->products / OF_DRAWS, (double)used / OF_DRAWS, often, ever, alike);
	for (size_t a = 0; a < OF_DRAWS; a++)
		free(k->has[a]);
}

static void sensitivity(void)
{
	static const size_t learned[] = { 40, 140, 300 };
	size_t all[ROWS_MAX];
	double y[ROWS_MAX];
	struct sparse_column *column = mem_new(columns - 1, sizeof(*column));
	struct mat X;
	struct at_lambda at[sizeof(learned) / sizeof(learned[0])][STEPS] = { { { 0 } } };

	for (size_t i = 0; i < rows; i++)
		all[i] = i;
	X = rows_of(all, 0, rows, y);
	columns_find_dependent(&X, column);
	printf("| inputs learned | columns | never vary | follow another | terms of single columns | terms | of them products | columns "
	       "used | in 9 "
	       "of 10 draws | in any | shared |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t k = 0; k < sizeof(learned) / sizeof(learned[0]) && learned[k] < rows; k++) {
		struct kept_of kept = { .products = 0 };
		struct rng rng;

		rng_seed(&rng, 190 + k);
		for (size_t draw = 0; draw < OF_DRAWS; draw++) {
			rng_shuffle(&rng, all, rows);
			add_lambdas(all, learned[k], at[k]);
			add_kept(all, learned[k], draw, column, &kept);
		}
		print_kept(learned[k], &kept);
		fflush(stdout);
	}
	printf("\n| lambda | 40 inputs: columns | error | fitted again | 140 inputs: columns | error | fitted again | 300 inputs: columns "
	       "| error | "
	       "fitted again |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t s = 0; s < STEPS; s++) {
		printf("| %.3g |", at[0][s].ratio);
		for (size_t k = 0; k < sizeof(learned) / sizeof(learned[0]) && learned[k] < rows; k++)
			printf(" %.1f | %.1f %% | %.1f %% |", at[k][s].columns, 100 * at[k][s].error[0], 100 * at[k][s].error[1]);
		printf("\n");
	}
	mat_release(&X);
	free(column);
}

static void selected(void)
{
	size_t all[ROWS_MAX];
	double y[ROWS_MAX];
	bool *counted = counted_columns();
	struct sparse model;
	struct mat X;

	for (size_t i = 0; i < rows; i++)
		all[i] = i;
	X = rows_of(all, 0, rows, y);
	sparse_fit(&X, y, all, rows, &(struct sparse_options){ .degree = 2, .counted = counted }, &model);
	for (size_t j = known - 1; j < columns - 1; j++)
		if (sparse_uses_column(&model, j))
			printf("%s\n", names[j + 1]);
	sparse_release(&model);
	mat_release(&X);
	free(counted);
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 3)
		return 2;
	read_rows(argv[1]);
	if (argc == 3 && strcmp(argv[2], "errors") != 0) {
		if (strcmp(argv[2], "selected") == 0)
			selected();
		else
			sensitivity();
		return 0;
	}
	errors();
	if (argc == 2 && rows >= BASELINE + 40)
		pairs();
	return 0;
}
