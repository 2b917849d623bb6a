/* assay explore */
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/cmd.h"
#include "gate/explore/explore.h"
#include "model/lapack.h"

#include <string.h>

#define DEFAULT_SHOWN 6
#define CHOSEN_MAX    50

struct arguments {
	const char *path;
	struct cli_list selectors;
};

/* ---- which applications ---- */

struct sets {
	struct run_set *items; /* [n] */
	size_t n, capacity;
};

static void sets_release(struct sets *sets)
{
	mem_release_all(sets->items, sets->n, run_set_release);
}

/* Takes the runs over, or drops them where they are there already. */
static void sets_add(struct sets *sets, struct run_set *runs)
{
	for (size_t i = 0; i < sets->n; i++) {
		if (strcmp(sets->items[i].application, runs->application) == 0 && strcmp(sets->items[i].version, runs->version) == 0) {
			run_set_release(runs);
			return;
		}
	}
	mem_append(sets->items, sets->n, &sets->capacity, *runs);
}

static enum assay_status load_chosen(struct lab *lab, const struct cli_list *selectors, struct sets *sets, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < selectors->n; i++) {
		struct run_set runs = { 0 };

		st = evidence_runs(lab, selectors->items[i], &runs, err);
		if (!st)
			sets_add(sets, &runs);
	}
	return st;
}

/* Most machines first. */
ORDER_BY(compare_listings, struct run_listing, BY_DOWN(machines) BY_TEXT(application) BY_TEXT(version))

static bool same_suite(const char *a, const char *b)
{
	size_t n = strcspn(a, "/");

	return strcspn(b, "/") == n && strncmp(a, b, n) == 0;
}

/* picked[n] are set for those that are shown: one of each suite first, then the others. */
static size_t pick(const struct run_listing *list, size_t n, bool *picked)
{
	size_t count = 0;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < n && count < DEFAULT_SHOWN; i++) {
			bool take = list[i].with_fingerprint > 0 && !picked[i];

			for (size_t k = 0; round == 0 && k < n && take; k++)
				take = !(picked[k] && same_suite(list[k].application, list[i].application));
			picked[i] = picked[i] || take;
			count += take;
		}
	}
	return count;
}

static enum assay_status load_most(struct lab *lab, struct sets *sets, struct omissions *omissions, struct assay_error *err)
{
	struct run_listing *list = NULL;
	size_t n = 0, others = 0;
	bool *picked = NULL;
	enum assay_status st = run_list(&lab->store, &list, &n, err);

	if (st)
		return st;
	order_sort(list, n, compare_listings);
	picked = mem_new(n, sizeof(*picked));
	pick(list, n, picked);
	for (size_t i = 0; !st && i < n; i++) {
		struct run_set runs = { 0 };

		others += !picked[i];
		if (picked[i])
			st = run_load(&lab->store, list[i].application, list[i].version, &runs, err);
		if (!st && picked[i])
			sets_add(sets, &runs);
	}
	if (others)
		omissions_add(omissions, "'--app APP@VERSION' shows the profile of a chosen one", "%zu other version%s of applications",
			      others, text_plural(others));
	free(picked);
	run_list_free(list, n);
	return st;
}

/* ---- the page ---- */

static void explore_answer(const struct explore *e, const struct explore_application *applications, size_t n, const char *path,
			   struct document *d)
{
	char *rank = e->pca.n ? mem_format(", effective rank %.1f", e->features.effective_rank) : mem_string("");

	doc_line(d, "%zu machine%s of %zu hardware type%s, %zu stressor%s%s: the page is %s", e->machines, text_plural(e->machines),
		 e->n_types, text_plural(e->n_types), e->n_stressors, text_plural(e->n_stressors), rank, path);
	doc_set(d, "file", path);
	doc_set(d, "machines", e->machines);
	doc_set(d, "hardware_types", e->n_types);
	doc_set(d, "stressors", e->n_stressors);
	doc_set(d, "groups", e->features.groups);
	if (e->pca.n)
		doc_set(d, "effective_rank", e->features.effective_rank);
	doc_list(d, "applications");
	for (size_t i = 0; i < n; i++) {
		doc_object(d, NULL);
		doc_set(d, "application", applications[i].runs.application);
		doc_set(d, "version", applications[i].runs.version);
		doc_set(d, "trust", profile_verdict_text(applications[i].shown.profile.verdict));
		doc_end(d);
	}
	doc_end(d);
	free(rank);
}

static enum assay_status explore_write(const struct lab *lab, const struct evidence *evidence, struct sets *sets,
				       struct omissions *omissions, const char *path, struct document *d, struct assay_error *err)
{
	struct explore_application *applications = mem_new(sets->n, sizeof(*applications));
	struct buf page = BUF_INIT;
	struct explore explore;
	enum assay_status st;

	explore_of(evidence, &explore);
	for (size_t i = 0; i < sets->n; i++)
		explore_application_of(evidence, &sets->items[i], &applications[i], omissions);
	explore_page(&explore, applications, sets->n, omissions, lab->config.name, &page);
	st = file_replace(path, page.bytes, page.size, 0644, err);
	if (!st)
		explore_answer(&explore, applications, sets->n, path, d);
	mem_release_all(applications, sets->n, explore_application_release);
	explore_release(&explore);
	buf_release(&page);
	return st;
}

static enum assay_status explore_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct omissions omissions = { 0 };
	struct evidence evidence = { 0 };
	struct sets sets = { 0 };
	enum assay_status st = a->selectors.n ? load_chosen(lab, &a->selectors, &sets, err) : load_most(lab, &sets, &omissions, err);

	if (!st)
		st = lapack_load(err);
	if (!st)
		st = evidence_load(lab, &evidence, err);
	if (!st)
		st = explore_write(lab, &evidence, &sets, &omissions, a->path, d, err);
	omissions_release(&omissions);
	sets_release(&sets);
	evidence_release(&evidence);
	return st;
}

static enum assay_status explore_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	if (a->selectors.n > CHOSEN_MAX)
		return assay_fail(err, ASSAY_E_USAGE, "--app: at most %d applications on one page", CHOSEN_MAX);
	return ASSAY_OK;
}

static const struct cli_option options[] = {
	CLI_OPTION(TEXT, "output", "FILE", struct arguments, path, "The page, replaced as a whole (required)", .letter = 'o',
		   .required = true),
	CLI_LIST("app", "APP[@VERSION]", struct arguments, selectors, "Show this application's profile; may be given several times"),
	CLI_END,
};

const struct command explore_command = {
	.name = "explore",
	.summary = "write an HTML page about the machines, with charts",
	.about = "Writes one HTML page about the machines of the catalog: how much every stressor varies over them and how well it "
		 "repeats, which stressors are correlated, in how many things the machines really differ (principal components, effective "
		 "rank), and what applications stress. The page is one file and loads nothing.\n\n"
		 "Only fingerprints of one battery, version of stress-ng and architecture are on it, those that most machines have; what "
		 "is left out is listed. Without --app it shows up to six applications, those that ran on most machines, each from another "
		 "suite (the part before the '/') as long as there are others.",
	.examples = "  assay explore -o machines.html\n"
		    "  assay explore -o machines.html --app hpccg --app stream/add-1@imported\n",
	.options = options,
	.check = explore_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, explore_run),
};
