#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/cmd.h"
#include "fingerprint/cmd_catalog_edit.h"

static const char doc[] = "Checks the catalog and the store: every file valid, no identity twice, every summary that of its raw record, "
			  "the database whole. Prints one line a problem or remark; exit status 0 when all is well, 2 when the catalog needs mending, "
			  "1 when the database is damaged."
			  "\vExample:\n"
			  "  assay catalog check && git -C machines commit -a";

static void print_human(const struct catalog *catalog, const struct fingerprint_set *set, const struct catalog_problems *problems,
			const struct catalog_problems *remarks, struct buf *out)
{
	for (size_t i = 0; i < remarks->n; i++)
		buf_format(out, "remark: %s\n", remarks->texts[i]);
	for (size_t i = 0; i < problems->n; i++)
		buf_format(out, "%s\n", problems->texts[i]);
	if (problems->n)
		buf_format(out, "\n%zu problem%s; %zu machine%s and %zu raw fingerprint%s were checked\n", problems->n,
			   text_plural(problems->n), catalog->n, text_plural(catalog->n), set->n, text_plural(set->n));
	else
		buf_format(out, "All is well: %zu machine%s, %zu fingerprint%s, each as its raw record says; the database is whole.\n",
			   catalog->n, text_plural(catalog->n), set->n, text_plural(set->n));
}

static void print_json(const struct catalog *catalog, const struct fingerprint_set *set, const struct catalog_problems *problems,
		       const struct catalog_problems *remarks, struct buf *out)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *list;

	cJSON_AddNumberToObject(root, "machines", (double)catalog->n);
	cJSON_AddNumberToObject(root, "fingerprints", (double)set->n);
	list = cJSON_AddArrayToObject(root, "problems");
	for (size_t i = 0; i < problems->n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(problems->texts[i]));
	list = cJSON_AddArrayToObject(root, "remarks");
	for (size_t i = 0; i < remarks->n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(remarks->texts[i]));
	json_add(out, root);
}

int cmd_catalog_check(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, NULL, NULL, doc, NULL, NULL, NULL };
	struct catalog_problems problems = { 0 }, remarks = { 0 };
	struct fingerprint_set set = { 0 };
	struct catalog catalog = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, NULL, STORE_READ);
	int decided = 0;

	if (!st)
		st = store_check(&cmd.lab.store, &cmd.err);
	if (!st)
		st = fingerprint_load(&cmd.lab.store, &set, &cmd.err);
	if (!st)
		st = catalog_load(cmd.lab.machines, &problems, &catalog, &cmd.err);
	if (!st) {
		catalog_check(&catalog, &set, cmd_catalog_now_ms(), &problems, &remarks);
		(cmd.cli.format == CLI_JSON ? print_json : print_human)(&catalog, &set, &problems, &remarks, &cmd.out);
		decided = problems.n ? assay_status_exit(ASSAY_E_FORMAT) : 0;
	}
	catalog_problems_release(&problems);
	catalog_problems_release(&remarks);
	fingerprint_set_release(&set);
	catalog_release(&catalog);
	return cmd_lab_end(&cmd, st, decided);
}
