/* Rows that quiho_parse takes are within what the header promises, and written as a file they are read as the same rows. */
#include "base/csv.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/machine.h"
#include "runs/running/quiho.h"
#include "runs/running/run.h"

#include <inttypes.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct quiho_row *row, size_t lines)
{
	char *application = quiho_application(row->benchmark, row->test);

	ASSAY_BUG_IF(!(row->value >= 0 && row->value <= RUN_METRIC_MAX));
	ASSAY_BUG_IF(row->taken_ms < 0 || row->repetition < 1 || row->place.line < 2 || row->place.line > lines);
	ASSAY_BUG_IF(machine_check_id(row->machine, NULL) || !run_name_ok(application));
	free(application);
}

static void add_row(struct buf *out, const struct quiho_row *row)
{
	static const char *const directions[] = { "", "lower", "higher" };
	char value[TEXT_DOUBLE_BYTES], taken[32], repetition[32];
	/* a number below 1e11 is read as seconds */
	int64_t timestamp = row->taken_ms < INT64_C(100000000000) ? row->taken_ms / 1000 : row->taken_ms;

	snprintf(taken, sizeof(taken), "%" PRId64, timestamp);
	snprintf(repetition, sizeof(repetition), "%" PRId64, row->repetition);
	csv_add(out, row->url, true);
	csv_add(out, row->revision, false);
	csv_add(out, row->user, false);
	csv_add(out, taken, false);
	csv_add(out, row->benchmark, false);
	csv_add(out, row->machine, false);
	csv_add(out, repetition, false);
	csv_add(out, row->test, false);
	csv_add(out, text_from_double(row->value, value), false);
	csv_add(out, row->version, false);
	csv_add(out, directions[row->direction], false);
	buf_char(out, '\n');
}

static bool equal(const struct quiho_row *a, const struct quiho_row *b)
{
	return strcmp(a->url, b->url) == 0 && strcmp(a->revision, b->revision) == 0 && strcmp(a->user, b->user) == 0 &&
	       strcmp(a->machine, b->machine) == 0 && strcmp(a->benchmark, b->benchmark) == 0 && strcmp(a->test, b->test) == 0 &&
	       strcmp(a->version, b->version) == 0 && a->taken_ms == b->taken_ms && a->repetition == b->repetition &&
	       a->value == b->value && a->direction == b->direction;
}

static void check_written(const struct quiho *quiho)
{
	struct assay_error err = { .text = "" };
	struct buf text = BUF_INIT;
	struct quiho again;

	buf_text(&text, "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result,version,direction\n");
	for (size_t i = 0; i < quiho->n; i++)
		add_row(&text, &quiho->rows[i]);
	if (quiho_parse("again", text.bytes, text.size, &again, &err)) {
		fprintf(stderr, "%s\n", err.text);
		ASSAY_BUG_IF("what was written cannot be read" != NULL);
	}
	ASSAY_BUG_IF(again.n != quiho->n);
	for (size_t i = 0; i < again.n; i++)
		ASSAY_BUG_IF(!equal(&again.rows[i], &quiho->rows[i]));
	quiho_release(&again);
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	struct assay_error err = { .text = "" };
	struct quiho quiho;

	if (quiho_parse("fuzz", text, size, &quiho, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n') || quiho.rows);
	} else {
		for (size_t i = 0; i < quiho.n; i++)
			check_row(&quiho.rows[i], size + 1);
		check_written(&quiho);
	}
	quiho_release(&quiho);
	free(text);
	return 0;
}
