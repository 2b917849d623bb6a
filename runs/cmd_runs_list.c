#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "fleet/cmd_lab.h"
#include "runs/cmd.h"
#include "runs/running/run.h"

#include <inttypes.h>

static const char doc[] = "Lists the applications and versions that have results, on how many machines, how many runs failed, and which "
			  "direction of the metric is better."
			  "\vExample:\n"
			  "  assay runs list";

static void print_human(const struct run_listing *list, size_t n, struct buf *out)
{
	static const char *const headings[] = { "application", "version", "better", "results", "machines", "with fingerprint", "failed", "first", "last" };
	struct table table;

	if (n == 0) {
		buf_text(out, "No results yet: 'assay run APP' runs an application, 'assay import quiho DIR' brings in recorded ones.\n");
		return;
	}
	table_init(&table, "lllrrrrll", headings);
	for (size_t i = 0; i < n; i++) {
		char date[TEXT_DATE_BYTES];

		table_cell(&table, "%s", list[i].application);
		table_cell(&table, "%s", list[i].version);
		table_cell(&table, "%s", list[i].higher_is_better ? "higher" : "lower");
		table_cell(&table, "%" PRId64, list[i].runs);
		table_cell(&table, "%" PRId64, list[i].machines);
		table_cell(&table, "%" PRId64, list[i].with_fingerprint);
		table_cell(&table, "%" PRId64, list[i].failed);
		table_cell(&table, "%.10s", text_from_ms(list[i].first_ms, date));
		table_cell(&table, "%.10s", text_from_ms(list[i].last_ms, date));
	}
	table_print(&table, out);
	table_release(&table);
}

static void print_json(const struct run_listing *list, size_t n, struct buf *out)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *array = cJSON_AddArrayToObject(root, "applications");

	for (size_t i = 0; i < n; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "application", list[i].application);
		cJSON_AddStringToObject(object, "version", list[i].version);
		cJSON_AddBoolToObject(object, "higher_is_better", list[i].higher_is_better);
		cJSON_AddNumberToObject(object, "results", (double)list[i].runs);
		cJSON_AddNumberToObject(object, "failed", (double)list[i].failed);
		cJSON_AddNumberToObject(object, "machines", (double)list[i].machines);
		cJSON_AddNumberToObject(object, "with_fingerprint", (double)list[i].with_fingerprint);
		cJSON_AddNumberToObject(object, "first_ms", (double)list[i].first_ms);
		cJSON_AddNumberToObject(object, "last_ms", (double)list[i].last_ms);
	}
	json_add(out, root);
}

int cmd_runs_list(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, NULL, NULL, doc, NULL, NULL, NULL };
	struct run_listing *list = NULL;
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, NULL, STORE_READ);
	size_t n = 0;

	if (!st)
		st = run_list(&cmd.lab.store, &list, &n, &cmd.err);
	if (!st)
		(cmd.cli.format == CLI_JSON ? print_json : print_human)(list, n, &cmd.out);
	run_list_free(list, n);
	return cmd_lab_end(&cmd, st, 0);
}
