#include "runs/running/quiho.h"

#include "base/csv.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/machine.h"
#include "runs/running/run.h"

enum { URL, REVISION, USER, TIMESTAMP, BENCHMARK, MACHINE, REPETITION, TEST, RESULT, VERSION, DIRECTION, COLUMNS };

#define REPETITION_MAX 1000000

ROWS_FUNCTION(quiho_skip_code, enum quiho_skip, QUIHO_SKIP_ROWS, ROWS_CODE)
ROWS_FUNCTION(quiho_skip_text, enum quiho_skip, QUIHO_SKIP_ROWS, ROWS_TEXT)

char *quiho_application(const char *benchmark, const char *test)
{
	if (!*test || strcmp(benchmark, test) == 0)
		return mem_string(benchmark);
	return mem_format("%s/%s", benchmark, test);
}

static bool names_ok(const struct quiho_row *row)
{
	char *application;
	bool ok;

	if (machine_check_id(row->machine, NULL) || !run_name_ok(row->benchmark) || (*row->test && !run_name_ok(row->test)) ||
	    (*row->version && !run_name_ok(row->version)))
		return false;
	application = quiho_application(row->benchmark, row->test);
	ok = run_name_ok(application);
	free(application);
	return ok;
}

static bool read_direction(const char *word, enum quiho_direction *out)
{
	*out = !*word ? QUIHO_NO_DIRECTION : strcmp(word, "higher") == 0 ? QUIHO_HIGHER : QUIHO_LOWER;
	return *out != QUIHO_LOWER || strcmp(word, "lower") == 0;
}

/* The values of a row; returns why it cannot be used, or QUIHO_SKIPS. */
static enum quiho_skip read_values(const struct csv *csv, const size_t *index, struct quiho_row *row)
{
	if (!text_double(csv->fields[index[RESULT]], &row->value))
		return QUIHO_NOT_A_NUMBER;
	if (row->value < 0)
		return QUIHO_NEGATIVE;
	if (row->value > RUN_METRIC_MAX)
		return QUIHO_TOO_LARGE;
	if (row->value == 0)
		row->value = 0; /* not -0: equal values must have equal texts */
	if (!text_timestamp_ms(csv->fields[index[TIMESTAMP]], &row->taken_ms))
		return QUIHO_BAD_TIME;
	if (!text_int64(csv->fields[index[REPETITION]], &row->repetition) || row->repetition < 1 || row->repetition > REPETITION_MAX)
		return QUIHO_BAD_REPETITION;
	if (!names_ok(row))
		return QUIHO_BAD_NAME;
	return read_direction(index[DIRECTION] == SIZE_MAX ? "" : csv->fields[index[DIRECTION]], &row->direction) ? QUIHO_SKIPS :
														     QUIHO_BAD_DIRECTION;
}

static void add_row(struct quiho *quiho, const struct csv *csv, const size_t *index)
{
	struct quiho_row row = { csv->fields[index[URL]],       csv->fields[index[REVISION]], csv->fields[index[USER]],
				 csv->fields[index[MACHINE]],   csv->fields[index[BENCHMARK]], csv->fields[index[TEST]],
				 index[VERSION] == SIZE_MAX ? "" : csv->fields[index[VERSION]], 0, 0, 0,
				 QUIHO_NO_DIRECTION, csv->line };
	enum quiho_skip skip = read_values(csv, index, &row);

	if (skip != QUIHO_SKIPS) {
		if (!quiho->skipped[skip].count++)
			quiho->skipped[skip].first_line = csv->line;
		return;
	}
	quiho->rows = mem_grow(quiho->rows, quiho->n, &quiho->capacity, sizeof(*quiho->rows));
	quiho->rows[quiho->n++] = row;
}

enum assay_status quiho_parse(const char *name, char *text, size_t n, struct quiho *out, struct assay_error *err)
{
	static const char *const columns[COLUMNS] = { "giturl",  "commit",     "user", "timestamp", "benchmark",
						      "machine", "repetition", "test", "result",    "?version", "?direction" };
	size_t index[COLUMNS];
	struct quiho quiho = { 0 };
	struct csv csv;
	bool more = true;
	enum assay_status st;

	csv_init(&csv, name, text, n);
	st = csv_header(&csv, columns, COLUMNS, index, err);
	while (!st) {
		st = csv_next(&csv, &more, err);
		if (st || !more)
			break;
		add_row(&quiho, &csv, index);
	}
	csv_release(&csv);
	*out = quiho;
	if (st)
		quiho_release(out);
	return st;
}

void quiho_release(struct quiho *quiho)
{
	free(quiho->rows);
	*quiho = (struct quiho){ 0 };
}
