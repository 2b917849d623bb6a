/* Selectors: which application and version are meant. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/running/run.h"

#define VERSIONS_SHOWN 20

enum assay_status run_selector(const char *text, char **application, char **version, struct assay_error *err)
{
	const char *at = strrchr(text, '@');
	char shown[TEXT_SHOWN_BYTES];
	char *name = mem_bytes(text, at ? (size_t)(at - text) : strlen(text));

	if (!run_name_ok(name) || (at && !run_name_ok(at + 1))) {
		free(name);
		return assay_fail(err, ASSAY_E_USAGE, "'%s' is not APP or APP@VERSION", text_shown(text, shown));
	}
	*application = name;
	*version = at ? mem_string(at + 1) : NULL;
	return ASSAY_OK;
}

/* Results of an application with inputs are stored as NAME/INPUT, and people leave the input out. "a/x, a/y"; empty: there are none. */
static char *inputs_of(const struct run_listing *list, size_t n, const char *application)
{
	struct buf text = BUF_INIT;
	size_t length = strlen(application), shown = 0;

	for (size_t i = 0; i < n; i++) {
		if (strncmp(list[i].application, application, length) != 0 || list[i].application[length] != '/')
			continue;
		if (i && strcmp(list[i - 1].application, list[i].application) == 0) /* another version */
			continue;
		if (shown++ < VERSIONS_SHOWN)
			buf_format(&text, "%s%s", shown > 1 ? ", " : "", list[i].application);
	}
	if (shown > VERSIONS_SHOWN)
		buf_format(&text, " and %zu more", shown - VERSIONS_SHOWN);
	return buf_take(&text);
}

static enum assay_status no_application(const struct run_listing *list, size_t n, const char *application, struct assay_error *err)
{
	char *inputs = inputs_of(list, n, application);
	const char **names = mem_new(n, sizeof(char *));
	enum assay_status st = ASSAY_OK;
	const char *nearest;

	for (size_t i = 0; i < n; i++)
		names[i] = list[i].application;
	nearest = text_nearest(application, names, n);
	free(names);
	if (*inputs)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "'%s' has results by input, say which: %s", application, inputs);
	free(inputs);
	if (st)
		return st;
	if (n == 0)
		return assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s': the laboratory has no runs yet ('assay run APP' makes some, 'assay "
				  "import quiho DIR' brings in recorded ones)", application);
	if (nearest)
		return assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s' (did you mean '%s'? 'assay runs list' shows all)", application, nearest);
	return assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s' ('assay runs list' shows all)", application);
}

static int compare_latest(const void *a, const void *b)
{
	const struct run_listing *x = *(const struct run_listing *const *)a, *y = *(const struct run_listing *const *)b;

	if (x->last_ms != y->last_ms)
		return x->last_ms > y->last_ms ? -1 : 1;
	return (x > y) - (x < y);
}

/* All of them in the order of the list; of many, those that ran last, the latest first. */
static char *versions_of(const struct run_listing *list, size_t n, const char *application)
{
	const struct run_listing **versions = mem_new(n, sizeof(*versions));
	struct buf text = BUF_INIT;
	size_t found = 0, shown;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i].application, application) == 0)
			versions[found++] = &list[i];
	}
	if (found > VERSIONS_SHOWN)
		qsort(versions, found, sizeof(*versions), compare_latest);
	shown = found > VERSIONS_SHOWN ? VERSIONS_SHOWN : found;
	buf_text(&text, found > shown ? "the latest are " : "");
	for (size_t i = 0; i < shown; i++)
		buf_format(&text, "%s%s", i ? ", " : "", versions[i]->version);
	if (found > shown)
		buf_format(&text, ", and there are %zu more", found - shown);
	free(versions);
	return buf_take(&text);
}

static enum assay_status resolve(const struct run_listing *list, size_t n, const char *application, const char *version, char **out,
				 struct assay_error *err)
{
	const struct run_listing *found = NULL;
	size_t versions = 0;
	enum assay_status st;
	char *all;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i].application, application) != 0)
			continue;
		versions++;
		if (!version || strcmp(list[i].version, version) == 0)
			found = &list[i];
	}
	if (versions == 0)
		return no_application(list, n, application, err);
	if (found && (version || versions == 1)) {
		*out = mem_string(found->version);
		return ASSAY_OK;
	}
	all = versions_of(list, n, application);
	if (version)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "'%s' has no version '%s': %s%s", application, version, versions > VERSIONS_SHOWN ? "" : "it has ", all);
	else
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has several versions, say which as %s@VERSION: %s", application, application, all);
	free(all);
	return st;
}

enum assay_status run_resolve(struct store *store, const char *application, const char *version, char **out, struct assay_error *err)
{
	struct run_listing *list = NULL;
	size_t n = 0;
	enum assay_status st = run_list(store, &list, &n, err);

	if (!st)
		st = resolve(list, n, application, version, out, err);
	run_list_free(list, n);
	return st;
}
