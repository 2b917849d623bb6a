/* Evaluates a decision tree on counters (tree.h): learns from good and bad runs of all programs except one, and judges that one.
 *
 *    bench_detect_tree FILE     reads lines `PROGRAM LABEL FUNCTION DIRECTORY`; LABEL is "good" or the kind of fault in FUNCTION
 *       run PROGRAM LABEL NAME FUNCTION label      printed for each run and function, TAB-separated
 *
 * A row is the mean of a function's samples in a run. In bad runs, the tree learns only from the faulty function. */
#include "base/mem.h"
#include "gate/detect/observe.h"
#include "tests/bench/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH	   8
#define LEAF	   2
#define LABELS_MAX 32

struct row {
	size_t program, label; /* `label`: the truth */
	bool learn;
	char *text; /* program, label of the run, its name, function */
	double *values;
};

static struct row *rows;
static size_t n_rows, rows_capacity, columns;
static const char *programs[256], *labels[LABELS_MAX] = { "good" };
static size_t n_programs, n_labels = 1;

static _Noreturn void fail(const char *text)
{
	fprintf(stderr, "bench_detect_tree: %s\n", text);
	exit(1);
}

static size_t number_of(const char **names, size_t *n, size_t max, const char *name)
{
	for (size_t i = 0; i < *n; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	if (*n == max)
		fail("too many names");
	names[*n] = mem_string(name);
	return (*n)++;
}

/* Adds the mean of each function in each run of a directory. */
static void add_means(const struct side *side, const struct observed *seen, const char *program, const char *label, const char *function)
{
	const struct observations *o = &seen->observations;
	size_t p = o->values.cols, groups = o->functions * o->runs;
	double *sum = mem_new(groups * p, sizeof(*sum)), *weight = mem_new(groups, sizeof(*weight));

	columns = p;
	for (size_t i = 0; i < o->values.rows; i++) {
		size_t g = o->function[i] * o->runs + o->run[i];

		weight[g] += o->weight[i];
		for (size_t j = 0; j < p; j++)
			sum[g * p + j] += o->weight[i] * (isnan(mat_get(&o->values, i, j)) ? 0.0 : mat_get(&o->values, i, j));
	}
	for (size_t g = 0; g < groups; g++) {
		const char *name = o->functions_names[g / o->runs];
		bool here = strcmp(name, function) == 0, good = strcmp(label, "good") == 0;
		struct row *row;

		if (weight[g] <= 0.0)
			continue;
		rows = mem_grow(rows, n_rows, &rows_capacity, sizeof(*rows));
		row = &rows[n_rows++];
		row->program = number_of(programs, &n_programs, 256, program);
		row->label = good || !here ? 0 : number_of(labels, &n_labels, LABELS_MAX, label);
		row->learn = good || here;
		row->text = mem_format("%s\t%s\t%s\t%s", program, label, side->runs[g % o->runs].name, name);
		row->values = mem_new(p, sizeof(double));
		for (size_t j = 0; j < p; j++)
			row->values[j] = sum[g * p + j] / weight[g];
	}
	free(sum);
	free(weight);
}

static void read_directory(const char *program, const char *label, const char *function, const char *directory)
{
	struct assay_error err;
	struct side side;
	struct observed seen;

	if (side_read(directory, &side, &err) || observe(&side, &observe_defaults, &seen, &err))
		fail(err.text);
	add_means(&side, &seen, program, label, function);
	observed_release(&seen);
	side_release(&side);
}

static void leave_out(size_t program)
{
	struct mat X = mat_new(n_rows, columns);
	size_t *label = mem_new(n_rows, sizeof(*label)), n = 0;
	struct tree *tree;

	for (size_t i = 0; i < n_rows; i++) {
		if (rows[i].program == program || !rows[i].learn)
			continue;
		memcpy(X.at + n * columns, rows[i].values, columns * sizeof(double));
		label[n++] = rows[i].label;
	}
	X.rows = n;
	tree_fit(&X, label, n_labels, DEPTH, LEAF, &tree);
	for (size_t i = 0; i < n_rows; i++) {
		if (rows[i].program == program)
			printf("run\t%s\t%s\n", rows[i].text, labels[tree_label(tree, rows[i].values)]);
	}
	tree_free(tree);
	free(label);
	mat_release(&X);
}

int main(int argc, char **argv)
{
	char program[128], label[128], function[128], directory[1024];
	FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (!in)
		fail("usage: bench_detect_tree FILE");
	while (fscanf(in, "%127s %127s %127s %1023s", program, label, function, directory) == 4)
		read_directory(program, label, function, directory);
	fclose(in);
	for (size_t i = 0; i < n_programs; i++)
		leave_out(i);
	return 0;
}
