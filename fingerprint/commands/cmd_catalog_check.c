/* assay catalog check */
#include "base/clock.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fleet/lab/lab.h"

static void add_answer(const struct catalog *catalog, const struct fingerprint_set *set, const struct catalog_problems *problems,
		       const struct catalog_problems *remarks, struct document *d)
{
	if (problems->n)
		doc_line(d, "%zu problem%s; %zu machine%s and %zu raw fingerprint%s were checked\n", problems->n, text_plural(problems->n),
			 catalog->n, text_plural(catalog->n), set->n, text_plural(set->n));
	else
		doc_line(d, "All is well: %zu machine%s, %zu fingerprint%s, each as its raw record says; the database is whole.",
			 catalog->n, text_plural(catalog->n), set->n, text_plural(set->n));
	for (size_t i = 0; i < problems->n; i++)
		doc_line(d, "%s", problems->texts[i]);
	for (size_t i = 0; i < remarks->n; i++)
		doc_line(d, "remark: %s", remarks->texts[i]);
	doc_set(d, "machines", catalog->n);
	doc_set(d, "fingerprints", set->n);
	doc_texts(d, "problems", problems->texts, problems->n);
	doc_texts(d, "remarks", remarks->texts, remarks->n);
	d->exit_status = problems->n ? assay_status_exit(ASSAY_E_FORMAT) : 0;
}

static enum assay_status catalog_check_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	struct catalog_problems problems = { 0 }, remarks = { 0 };
	struct fingerprint_set set = { 0 };
	struct catalog catalog = { 0 };
	enum assay_status st = store_check(&lab->store, err);

	(void)arguments;
	if (!st)
		st = fingerprint_load(&lab->store, &set, err);
	if (!st)
		st = catalog_load(lab->machines, &problems, &catalog, err);
	if (!st) {
		catalog_check(&catalog, &set, clock_real_ms(), &problems, &remarks);
		add_answer(&catalog, &set, &problems, &remarks, d);
	}
	catalog_problems_release(&problems);
	catalog_problems_release(&remarks);
	fingerprint_set_release(&set);
	catalog_release(&catalog);
	return st;
}

const struct command catalog_check_command = {
	.name = "catalog check",
	.summary = "check every file of the catalog, and the database",
	.about = "Checks the catalog and the store: every file valid, no identity twice, every summary that of its raw record, the "
		 "database whole. Prints one line for each problem or remark.",
	.examples = "  assay catalog check && git -C machines commit -a\n",
	.exit_status = "0 when all is well, 2 when the catalog needs mending, 1 when the database is damaged.",
	.lab = CLI_LAB_READ,
	.run = catalog_check_run,
};
