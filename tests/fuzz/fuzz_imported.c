/* Checks that rates that imported_read_machines() accepts satisfy its contract, and are the same if written and read again. */
#include "base/csv.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/machine.h"
#include "runs/running/imported.h"
#include "runs/running/run.h"

#include <inttypes.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct imported_row *row, size_t lines)
{
	ASSAY_BUG_IF(!row->rate || !(row->value >= 0 && row->value <= RUN_METRIC_MAX));
	ASSAY_BUG_IF(row->taken_ms < 0 || row->repetition < 1 || row->place.line < 2 || row->place.line > lines);
	ASSAY_BUG_IF(machine_check_id(row->machine, NULL) || run_name_fault(row->name) || run_name_fault(row->battery));
}

static void add_row(struct buf *out, const struct imported_row *row)
{
	const char *const texts[] = {
		row->machine, row->name, row->battery, row->battery_hash, row->stress_ng, row->architecture, row->type
	};
	char value[TEXT_DOUBLE_BYTES];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		csv_add(out, texts[i], i == 0);
	/* a number below 1e11 is read as seconds */
	buf_format(out, ",%" PRId64 ",%" PRId64 ",%s\n", row->taken_ms < INT64_C(100000000000) ? row->taken_ms / 1000 : row->taken_ms,
		   row->repetition, text_from_double(row->value, value));
}

static bool equal(const struct imported_row *a, const struct imported_row *b)
{
	return strcmp(a->machine, b->machine) == 0 && strcmp(a->name, b->name) == 0 && strcmp(a->battery, b->battery) == 0 &&
	       strcmp(a->battery_hash, b->battery_hash) == 0 && strcmp(a->stress_ng, b->stress_ng) == 0 &&
	       strcmp(a->architecture, b->architecture) == 0 && strcmp(a->type, b->type) == 0 && a->repetition == b->repetition &&
	       a->value == b->value;
}

static void check_written(const struct imported *imported)
{
	struct assay_error err = { .text = "" };
	struct buf text = BUF_INIT;
	struct imported again;

	buf_text(&text, "machine,stressor,battery,battery_hash,stress_ng,architecture,type,time,repetition,rate\n");
	for (size_t i = 0; i < imported->n; i++)
		add_row(&text, &imported->rows[i]);
	if (imported_read_machines("again", text.bytes, text.size, &again, &err)) {
		fprintf(stderr, "%s\n", err.text);
		ASSAY_BUG_IF("what was written cannot be read" != NULL);
	}
	ASSAY_BUG_IF(again.n != imported->n);
	for (size_t i = 0; i < again.n; i++)
		ASSAY_BUG_IF(!equal(&again.rows[i], &imported->rows[i]));
	imported_release(&again);
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	struct assay_error err = { .text = "" };
	struct imported imported;

	if (imported_read_machines("fuzz", text, size, &imported, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n') || imported.rows);
	} else {
		ASSAY_BUG_IF(imported.n_failed);
		for (size_t i = 0; i < imported.n; i++)
			check_row(&imported.rows[i], size + 1);
		check_written(&imported);
	}
	imported_release(&imported);
	free(text);
	return 0;
}
