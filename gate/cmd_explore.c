#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cmd_lab.h"
#include "gate/cmd.h"
#include "gate/explore/explore.h"

static const char doc[] =
    "Writes one HTML page about the machines of the catalog: how much every stressor varies over them and how well it "
    "repeats, which stressors move together, in how many things the machines really differ (principal components, "
    "effective rank), and what applications stress. The page is one file and loads nothing.\vExample:\n"
    "  assay explore -o machines.html\n"
    "  assay explore -o machines.html --app hpccg --app stream/add-1@imported\n"
    "\n"
    "Only fingerprints of one battery, version of stress-ng and architecture stand on it, those that most machines have; "
    "what is left out is listed. Without --app it shows up to six applications, those that ran on most machines, each "
    "from another suite (what stands before the '/') as long as there are others.\n"
    "\n"
    "The exit status is 0 when the page was written.";

enum { OPTION_APP = 256 };

#define DEFAULT_SHOWN 6
#define CHOSEN_MAX    50

static const struct argp_option options[] = { { "output", 'o', "FILE", 0, "The page, replaced as a whole (needed)", 1 },
					      { "app", OPTION_APP, "APP[@VERSION]", 0,
						"Show this application's profile; may be given several times", 1 },
					      { 0 } };

struct arguments {
	const char *path;
	const char *selectors[CHOSEN_MAX];
	size_t n;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		if (!*arg)
			cli_refuse(state, "the file behind -o is empty");
		a->path = arg;
		return 0;
	case OPTION_APP:
		if (a->n == CHOSEN_MAX)
			cli_refuse(state, "--app: at most %d applications on one page", CHOSEN_MAX);
		a->selectors[a->n++] = arg;
		return 0;
	case ARGP_KEY_ARG:
		cli_refuse(state, "too many arguments: '%s'; applications are chosen with --app", arg);
	case ARGP_KEY_SUCCESS:
		if (!a->path)
			cli_refuse(state, "-o FILE is needed: where to write the page");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- which applications ---- */

struct sets {
	struct run_set *items; /* [n] */
	size_t n, capacity;
};

static void sets_release(struct sets *sets)
{
	for (size_t i = 0; i < sets->n; i++)
		run_set_release(&sets->items[i]);
	free(sets->items);
}

/* Takes the runs over, or drops them where they are there already. */
static void sets_add(struct sets *sets, struct run_set *runs)
{
	for (size_t i = 0; i < sets->n; i++) {
		if (strcmp(sets->items[i].application, runs->application) == 0 &&
		    strcmp(sets->items[i].version, runs->version) == 0) {
			run_set_release(runs);
			return;
		}
	}
	sets->items = mem_grow(sets->items, sets->n, &sets->capacity, sizeof(*sets->items));
	sets->items[sets->n++] = *runs;
}

static enum assay_status load_chosen(struct lab *lab, const struct arguments *a, struct sets *sets, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < a->n; i++) {
		struct run_set runs = { 0 };

		st = evidence_runs(lab, a->selectors[i], &runs, err);
		if (!st)
			sets_add(sets, &runs);
	}
	return st;
}

/* Most machines first. */
static int compare_listings(const void *a, const void *b)
{
	const struct run_listing *x = a, *y = b;
	int order = (x->machines < y->machines) - (x->machines > y->machines);

	if (!order)
		order = strcmp(x->application, y->application);
	return order ? order : strcmp(x->version, y->version);
}

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

static enum assay_status load_most(struct lab *lab, struct sets *sets, struct report_omissions *omissions,
				   struct assay_error *err)
{
	struct run_listing *list = NULL;
	size_t n = 0, others = 0;
	bool *picked = NULL;
	enum assay_status st = run_list(&lab->store, &list, &n, err);

	if (st)
		return st;
	if (n)
		qsort(list, n, sizeof(*list), compare_listings);
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
		report_omit(omissions, "'--app APP@VERSION' shows the profile of a chosen one",
			    "%zu other version%s of applications", others, text_plural(others));
	free(picked);
	run_list_free(list, n);
	return st;
}

/* ---- the page ---- */

static cJSON *json_of(const struct explore *e, const struct explore_application *applications, size_t n, const char *path)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(root, "file", path);
	cJSON_AddNumberToObject(root, "machines", (double)e->machines);
	cJSON_AddNumberToObject(root, "hardware_types", (double)e->n_types);
	cJSON_AddNumberToObject(root, "stressors", (double)e->n_stressors);
	cJSON_AddNumberToObject(root, "groups", (double)e->features.groups);
	if (e->pca.n)
		json_add_number(root, "effective_rank", e->features.effective_rank);
	list = cJSON_AddArrayToObject(root, "applications");
	for (size_t i = 0; i < n; i++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "application", applications[i].runs.application);
		cJSON_AddStringToObject(item, "version", applications[i].runs.version);
		cJSON_AddStringToObject(item, "trust", profile_verdict_text(applications[i].profile.verdict));
		cJSON_AddItemToArray(list, item);
	}
	return root;
}

static void say(const struct explore *e, const char *path, struct buf *out)
{
	buf_format(out, "%zu machine%s of %zu hardware type%s, %zu stressor%s", e->machines, text_plural(e->machines), e->n_types,
		   text_plural(e->n_types), e->n_stressors, text_plural(e->n_stressors));
	if (e->pca.n)
		buf_format(out, ", effective rank %.1f", e->features.effective_rank);
	buf_format(out, ": the page is %s\n", path);
}

static enum assay_status write_page(struct cmd_lab *cmd, const struct evidence *evidence, struct sets *sets,
				    struct report_omissions *omissions, const char *path)
{
	struct explore_application *applications = mem_new(sets->n, sizeof(*applications));
	struct buf page = BUF_INIT;
	struct explore explore;
	enum assay_status st;

	explore_of(evidence, &explore);
	for (size_t i = 0; i < sets->n; i++)
		explore_application_of(evidence, &sets->items[i], &applications[i], omissions);
	explore_page(&explore, applications, sets->n, omissions, cmd->lab.config.name, &page);
	st = file_replace(path, page.bytes, page.size, 0644, &cmd->err);
	if (!st && cmd->cli.format == CLI_JSON)
		json_add(&cmd->out, json_of(&explore, applications, sets->n, path));
	else if (!st)
		say(&explore, path, &cmd->out);
	for (size_t i = 0; i < sets->n; i++)
		explore_application_release(&applications[i]);
	free(applications);
	explore_release(&explore);
	buf_release(&page);
	return st;
}

int cmd_explore(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, NULL, doc, NULL, NULL, NULL };
	struct report_omissions omissions = { 0 };
	struct evidence evidence = { 0 };
	struct arguments a = { 0 };
	struct sets sets = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_READ);

	if (!st && a.n)
		st = load_chosen(&cmd.lab, &a, &sets, &cmd.err);
	else if (!st)
		st = load_most(&cmd.lab, &sets, &omissions, &cmd.err);
	if (!st)
		st = evidence_load(&cmd.lab, &evidence, &cmd.err);
	if (!st)
		st = write_page(&cmd, &evidence, &sets, &omissions, a.path);
	report_omissions_release(&omissions);
	sets_release(&sets);
	evidence_release(&evidence);
	return cmd_lab_end(&cmd, st, 0);
}
