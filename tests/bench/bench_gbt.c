/* Measures the CPU time of one fit with the paper's parameters, s: bench_gbt MATRIX.csv APPLICATION REPEATS
 * MATRIX.csv has a column of names, 43 features, then applications; rows with an empty APPLICATION are ignored. Prints one line of JSON
 * with all samples and the training error, which shows the caller that the fit was made. */
#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "model/published/gbt.h"

#define FEATURES	 43
#define MATRIX_BYTES_MAX (64u << 20)
#define REPEATS_MAX	 100000

struct data {
	struct mat X;
	double *y;
};

static void add_row(struct data *d, char *const *fields, size_t column)
{
	size_t n = d->X.rows++;

	d->X.at = mem_resize(d->X.at, d->X.rows * FEATURES, sizeof(*d->X.at));
	d->y = mem_resize(d->y, d->X.rows, sizeof(*d->y));
	for (size_t j = 0; j < FEATURES; j++)
		mat_set(&d->X, n, j, strtod(fields[1 + j], NULL));
	d->y[n] = strtod(fields[column], NULL);
}

static enum assay_status data_read(const char *path, const char *application, struct data *d, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	struct csv csv = { 0 };
	size_t column;
	bool more;
	enum assay_status st = file_read(path, MATRIX_BYTES_MAX, &text, err);

	if (st)
		goto out;
	csv_init(&csv, path, text.bytes, text.size);
	st = csv_read_header(&csv, &application, 1, &column, err);
	if (st)
		goto out;
	for (;;) {
		st = csv_read_row(&csv, &more, err);
		if (st || !more)
			break;
		if (csv.fields[column][0])
			add_row(d, csv.fields, column);
	}
	if (!st && csv.width <= FEATURES + 1)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: no application behind %d features", path, FEATURES);
out:
	csv_release(&csv);
	buf_release(&text);
	return st;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum assay_status run(const struct data *d, long repeats, struct assay_error *err)
{
	double mse = 0.0;

	printf("{\"program\":\"assay\",\"rows\":%zu,\"seconds\":[", d->X.rows);
	for (long i = 0; i < repeats; i++) {
		double start = cpu_seconds(), seconds;
		struct gbt *gbt;
		enum assay_status st = gbt_fit(&d->X, d->y, &gbt_paper, &gbt, err);

		seconds = cpu_seconds() - start;
		if (st)
			return st;
		printf("%s%.6f", i ? "," : "", seconds);
		mse = gbt_info(gbt).mse[gbt_paper.trees];
		gbt_free(gbt);
	}
	printf("],\"train_mse\":%.17g}\n", mse);
	return ASSAY_OK;
}

int main(int argc, char **argv)
{
	struct data d = { .X = { 0, FEATURES, NULL } };
	struct assay_error err = { 0 };
	double mean[FEATURES], scale[FEATURES];
	long repeats = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	enum assay_status st;

	if (repeats < 1 || repeats > REPEATS_MAX) {
		fprintf(stderr, "usage: bench_gbt MATRIX.csv APPLICATION REPEATS\n");
		return 2;
	}
	st = data_read(argv[1], argv[2], &d, &err);
	if (!st && d.X.rows < 2)
		st = assay_fail(&err, ASSAY_E_NODATA, "%s: fewer than two rows of %s", argv[1], argv[2]);
	if (!st) {
		gbt_standardise(&d.X, mean, scale);
		st = run(&d, repeats, &err);
	}
	if (st)
		fprintf(stderr, "bench_gbt: %s\n", err.text);
	mat_release(&d.X);
	free(d.y);
	return assay_status_exit_code(st);
}
