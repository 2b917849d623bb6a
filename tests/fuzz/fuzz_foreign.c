/* Reads results of other tools. Checks that each row is exactly one of result, failure and excluded, that accepted rows satisfy the
 * contract in imported.h, and that errors name the file. The first byte chooses the tool, the second one the options. */
#include "base/mem.h"
#include "fingerprint/catalog/machine.h"
#include "runs/running/foreign.h"
#include "runs/running/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct imported_row *row)
{
	ASSAY_BUG_IF(row->rate || run_name_fault(row->name) || machine_check_id(row->machine, NULL));
	ASSAY_BUG_IF(row->taken_ms < 0 || row->repetition < 1);
}

static void check_rows(const struct foreign_result *result)
{
	const struct imported *imported = &result->imported;
	size_t n = imported->n + imported->n_stated_failures;

	for (int i = 0; i < IMPORTED_SKIPS; i++) {
		ASSAY_BUG_IF(!imported->skipped[i].count != !imported->skipped[i].first);
		n += imported->skipped[i].count;
	}
	ASSAY_BUG_IF(n == 0 || n < result->n_rows || imported->n_stated_failures > imported->n_failed);
	for (size_t i = 0; i < imported->n; i++) {
		check_row(&imported->rows[i]);
		ASSAY_BUG_IF(!(imported->rows[i].value > 0 && imported->rows[i].value <= RUN_METRIC_MAX) || imported->rows[i].outcome);
	}
	for (size_t i = 0; i < imported->n_failed; i++) {
		check_row(&imported->failed[i]);
		ASSAY_BUG_IF(!imported->failed[i].outcome || !imported->failed[i].failure);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const columns[] = { "result=value", "name=threads", "ignore=*" };
	struct assay_error err = { .text = "" };
	struct foreign_options options = { .name = "fuzz", .tool = FOREIGN_TOOLS, .taken_ms = INT64_C(1700000000000) };
	struct foreign_earlier_import start = { size / 2, INT64_C(1600000000000), "old" };
	struct foreign_result result;
	char *text;

	if (size < 2)
		return 0;
	options.tool = (enum foreign_tool)(data[0] % (FOREIGN_TOOLS + 1));
	options.machine = data[1] & 16 ? "node1" : NULL;
	options.application = data[1] & 32 ? "app" : NULL;
	options.metric = data[1] & 64 ? data[0] & 128 ? "B/op" : "cpu_time" : NULL;
	options.columns = columns;
	options.n_columns = data[1] & 128 ? 3 : 0;
	options.is_time_given = data[1] & 32;
	options.starts = &start;
	options.n_starts = data[1] & 8 ? 1 : 0;
	text = mem_bytes((const char *)data + 2, size - 2);
	if (foreign_read(text, size - 2, &options, &result, &err))
		ASSAY_BUG_IF(!strstr(err.text, "fuzz") || strchr(err.text, '\n'));
	else
		check_rows(&result);
	foreign_release(&result);
	free(text);
	return 0;
}
