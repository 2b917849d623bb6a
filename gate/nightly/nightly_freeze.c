/* Lists the comparisons of a new night, with fixed versions, from suite.yaml, manifests, git branches and baselines. */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/engine/host_choice.h"
#include "fleet/engine/local_command.h"
#include "fleet/lab/lab.h"
#include "gate/nightly/baselines.h"
#include "gate/nightly/nightly.h"
#include "runs/running/artefact.h"

#include <fnmatch.h>

#define COMPARED_MAX	  100000
#define WHOLE_APPLICATION SIZE_MAX /* input index that means all inputs */

struct listing_state {
	struct lab *lab;
	const struct suite *suite;
	const struct nightly_options *options;
	const struct suite_entry *entry;
	bool *selected_by_suite;  /* [inventory.n], true if an entry of the suite selects the host */
	char *selected_hosts;	  /* names of the hosts of the current entry; NULL means all hosts */
	char *no_host_reason;	  /* reason why the current entry has no usable host; NULL if it has one */
	struct manifest manifest; /* manifest of the current application */
	const char *name;	  /* name of the manifest in apps/ */
	struct night_comparisons *out;
	size_t capacity;
	struct nightly_start_notes *notes;
	char *no_baseline_reason; /* reason why there is no baseline; NULL if there is one */
	bool unknown_names;	  /* suite.yaml itself names an unknown version, input or application */
	size_t n_no_such;
	struct assay_error *err;
};

/* Runs git in a version's repository. `words` ends with NULL. Returns the first line of output; NULL if git fails. The caller frees it. */
static char *git_line(const struct listing_state *f, const struct manifest_version *version, const char *const *words)
{
	char *repository = manifest_repository(&f->manifest, version), *line = NULL;
	struct assay_error ignored;
	struct buf said = BUF_INIT;

	if (!local_git(repository, words, f->options->cancelled, &said, &ignored)) {
		line = buf_take(&said);
		line[strcspn(line, "\n")] = '\0';
	}
	buf_release(&said);
	free(repository);
	return line;
}
#define GIT(f, version, ...) git_line(f, version, (const char *const[]){ __VA_ARGS__, NULL })

/* Returns the name NAME-COMMIT of a revision in the version's repository; NULL if the revision does not exist. The caller frees it. */
static char *version_at_revision(const struct listing_state *f, const struct manifest_version *version, const char *revision)
{
	char *asked = mem_format("%s^{commit}", revision), *name = NULL;
	char *commit = GIT(f, version, "rev-parse", "--verify", "--quiet", "--end-of-options", asked);

	if (commit && strlen(commit) > MANIFEST_COMMIT_DIGITS)
		name = mem_format("%s-%.*s", version->derived_from ? version->derived_from : version->name, MANIFEST_COMMIT_DIGITS, commit);
	mem_free(commit, asked);
	return name;
}

static bool is_tag(const struct listing_state *f, const struct manifest_version *version)
{
	char *asked = mem_format("refs/tags/%s", version->reference);
	char *found = GIT(f, version, "rev-parse", "--verify", "--quiet", "--end-of-options", asked);
	bool tag = found != NULL;

	mem_free(found, asked);
	return tag;
}

/* Fails because the manifest has no version (or input) with this name. The message suggests a similar name or lists the known names. */
static enum assay_status fail_unknown_name(struct listing_state *f, bool input, const char *name)
{
	size_t n = input ? f->manifest.n_inputs : f->manifest.n_versions;
	const char **names = mem_new(n + 3, sizeof(*names)), *nearest;
	struct buf hint = BUF_INIT;

	buf_text(&hint, "known: ");
	for (size_t i = 0; i < n; i++) {
		names[i] = input ? f->manifest.inputs[i].name : f->manifest.versions[i].name;
		buf_format(&hint, "%s%s", i ? ", " : "", names[i]);
	}
	memcpy(names + n, (const char *const[]){ SUITE_ACCEPTED, SUITE_RELEASE, SUITE_PREVIOUS }, 3 * sizeof(*names));
	nearest = text_nearest(name, names, input ? n : n + 3);
	f->unknown_names = true;
	assay_fail(f->err, ASSAY_E_USAGE, SUITE_FILE ":%zu: '%s' has no %s '%s' (%s%s%s)", f->entry->line, f->manifest.file,
		   input ? "input" : "version", TEXT_SANITIZED(name), nearest ? "did you mean '" : hint.bytes, nearest ? nearest : "",
		   nearest ? "'?" : "");
	buf_release(&hint);
	free(names);
	return ASSAY_E_USAGE;
}

/* Sets *out to the name of a version for this night: NAME-COMMIT if its git reference can move, else NAME. The caller frees *out. */
static enum assay_status resolve_version(struct listing_state *f, const char *name, char **out)
{
	char commit[VARIANT_COMMIT_BYTES] = "";
	const struct manifest_version *version;
	enum assay_status st = ASSAY_OK;
	size_t i;

	manifest_derive(&f->manifest, name);
	i = manifest_find_version(&f->manifest, name);
	if (i == SIZE_MAX)
		return fail_unknown_name(f, false, name);
	version = &f->manifest.versions[i];
	if (version->kind == MANIFEST_GIT)
		st = artefact_resolve_commit(&f->manifest, i, f->options->cancelled, commit, f->err);
	if (st)
		return st;
	if (version->kind != MANIFEST_GIT || version->derived_from || is_tag(f, version) ||
	    strncmp(version->reference, commit, strlen(version->reference)) == 0)
		*out = mem_string(name);
	else
		*out = mem_format("%s-%.*s", name, MANIFEST_COMMIT_DIGITS, commit);
	manifest_derive(&f->manifest, *out);
	return ASSAY_OK;
}

static const struct manifest_version *find_version(struct listing_state *f, const char *candidate)
{
	size_t i = manifest_find_version(&f->manifest, candidate);

	ASSAY_BUG_IF(i == SIZE_MAX);
	return &f->manifest.versions[i];
}

/* Reports whether `name` can be an earlier version of the candidate. For a branch, it must be a commit of the same branch. */
static bool is_earlier(struct listing_state *f, const char *name, const char *candidate)
{
	const struct manifest_version *earlier, *now;
	size_t i;

	manifest_derive(&f->manifest, name);
	i = manifest_find_version(&f->manifest, name);
	if (i == SIZE_MAX || strcmp(name, candidate) == 0)
		return false;
	now = find_version(f, candidate);
	earlier = &f->manifest.versions[i];
	return !now->derived_from || strcmp(earlier->derived_from ? earlier->derived_from : earlier->name, now->derived_from) == 0;
}

/* Adds `text` to the notes if it is new. */
static void add_note(struct manifest_arguments *note, const char *text)
{
	if (!text_is_among(note->items, note->n, text))
		manifest_arguments_add(note, text);
}

/* Reports whether the commit of an earlier version still exists: a rewrite of the branch can remove it. If it is gone, adds a note. */
static bool is_version_available(struct listing_state *f, const char *name)
{
	char commit[VARIANT_COMMIT_BYTES] = "";
	size_t i = manifest_find_version(&f->manifest, name);
	struct assay_error why;
	char *text;

	if (!f->manifest.versions[i].derived_from || !artefact_resolve_commit(&f->manifest, i, f->options->cancelled, commit, &why))
		return true;
	text = mem_format("%s@%s is not used as an earlier version: %s, so its history was rewritten", f->name, name, why.text);
	add_note(&f->notes->missing_baselines, text);
	free(text);
	return false;
}

/* Sets *out to the latest candidate of an earlier night that differs from this candidate. Does not set *out if there is none. */
static enum assay_status find_previous_night(struct listing_state *f, const char *candidate, char **out)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    &f->lab->store, &stmt, f->err,
	    "SELECT c.candidate FROM night_comparison AS c JOIN night AS n ON n.id = c.night WHERE c.manifest = ? AND c.state = "
	    "'decided' AND c.plan <> '' ORDER BY n.rowid DESC, c.number",
	    "t", f->name);

	while (store_next(&f->lab->store, stmt, &st, f->err)) {
		if (!*out && is_earlier(f, store_text(stmt, 0), candidate) && is_version_available(f, store_text(stmt, 0)))
			*out = mem_string(store_text(stmt, 0));
	}
	return store_finalize(stmt, st);
}

/* Returns the version before a candidate that no earlier night measured: the parent commit on a branch, otherwise the previous version in
 * the manifest; NULL if there is none. */
static char *find_previous(struct listing_state *f, const char *candidate)
{
	const struct manifest_version *version = find_version(f, candidate);
	size_t i = (size_t)(version - f->manifest.versions);
	char *parent, *name;

	if (!version->derived_from)
		return i ? mem_string(f->manifest.versions[i - 1].name) : NULL;
	parent = mem_format("%s^", version->reference);
	name = version_at_revision(f, version, parent);
	free(parent);
	return name;
}

/* Returns the manifest's last version named like a release, or else the last release tag before the candidate; NULL if there is none. */
static char *find_release(struct listing_state *f, const char *candidate)
{
	const struct manifest_version *version = find_version(f, candidate);
	char *parent, *tag, *name = NULL;

	for (size_t i = f->manifest.n_versions; i-- > 0;) {
		const struct manifest_version *v = &f->manifest.versions[i];

		if (!v->derived_from && strcmp(v->name, candidate) != 0 && fnmatch(f->suite->releases, v->name, 0) == 0)
			return mem_string(v->name);
	}
	if (version->kind != MANIFEST_GIT)
		return NULL;
	parent = mem_format("%s^", version->reference);
	tag = GIT(f, version, "describe", "--tags", "--abbrev=0", "--match", f->suite->releases, parent);
	name = tag ? version_at_revision(f, version, tag) : NULL;
	mem_free(tag, parent);
	return name;
}

/* Adds a note that an accepted baseline expired. If no earlier accepted baseline replaces it, also sets f->why. */
static void explain_expired(struct listing_state *f, const char *application, const struct baseline *expired, const struct baseline *counts)
{
	char *what = baselines_expired_text(expired), *note;

	if (counts) {
		note = mem_format("accepted baseline of %s: %s, and '%s', accepted before it, is used again", application, what,
				  counts->version);
	} else {
		note = mem_format("accepted baseline of %s: %s, and no other baseline is left: 'assay baseline accept %s@%s --reason TEXT' "
				  "accepts it again (or another version); 'against: previous' in suite.yaml needs no baseline",
				  application, what, application, expired->version);
		f->no_baseline_reason = mem_string(note);
	}
	add_note(&f->notes->expired, note);
	mem_free(note, what);
}

/* Sets *out to the accepted baseline; NULL if no entry is valid. Sets f->why if an entry expired. Errors name the line of the entry. */
static enum assay_status find_accepted(struct listing_state *f, const char *application, char **out)
{
	struct baselines all;
	int64_t now_ms = clock_real_ms();
	enum assay_status st = baselines_read(f->lab->directory, &all, f->err);
	const struct baseline *found = st ? NULL : baselines_find(&all, application, now_ms);
	const struct baseline *expired = st ? NULL : baselines_find_expired(&all, application, now_ms);

	if (expired)
		explain_expired(f, application, expired, found);
	if (found)
		st = resolve_version(f, found->version, out);
	f->unknown_names = false; /* the unknown name is from baselines.yaml, not from suite.yaml */
	if (found && st) {
		char *why = mem_string(f->err->text);

		*out = mem_string(found->version);
		st = assay_fail(f->err, st,
				"%s: " BASELINES_FILE ":%zu accepted it as the baseline of %s; where the history of its repository was "
				"rewritten, fetch that commit again, or accept another version ('assay baseline accept %s@VERSION --reason "
				"TEXT')",
				why, found->line, application, application);
		free(why);
	}
	baselines_release(&all);
	return st;
}

/* Sets *out to the version that `word`, a value of 'against', selects. If there is none, sets *out to NULL and f->why to the reason. On
 * failure, *out is the name of the missing version, or NULL. */
static enum assay_status find_baseline(struct listing_state *f, const char *candidate, size_t input, const char *word, char **out,
				       const char **baseline_kind)
{
	bool accepted = strcmp(word, SUITE_ACCEPTED) == 0;
	const char *why = NULL;
	enum assay_status st = ASSAY_OK;

	*out = NULL;
	*baseline_kind = word;
	free(f->no_baseline_reason);
	f->no_baseline_reason = NULL;
	if (accepted) {
		char *application = manifest_stored_name(&f->manifest, input);

		st = find_accepted(f, application, out);
		free(application);
	}
	if (st || *out || f->no_baseline_reason)
		return st;
	if (strcmp(word, SUITE_RELEASE) == 0) {
		*out = find_release(f, candidate);
		why = "no version and no tag matches 'releases' of suite.yaml (default: v*); 'git tag v1.0' makes one";
	} else if (strcmp(word, SUITE_PREVIOUS) == 0 || accepted) {
		*baseline_kind = SUITE_PREVIOUS;
		why = "there is no earlier version";
		st = find_previous_night(f, candidate, out);
		if (!st && !*out)
			*out = find_previous(f, candidate);
	} else {
		*baseline_kind = "version";
		st = resolve_version(f, word, out);
		if (st)
			*out = mem_string(word);
	}
	if (!st && !*out)
		f->no_baseline_reason = mem_string(why);
	return st;
}

/* Reports whether an error affects only one application, so that the night can measure the others. */
static bool is_fault_of_application(const struct listing_state *f, enum assay_status st)
{
	return st && f->out->n < COMPARED_MAX && !*f->options->cancelled;
}

static bool has_comparison(const struct night_comparisons *all, const char *application, const char *candidate, const char *baseline)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct night_comparison *c = &all->items[i];

		if (strcmp(c->application, application) == 0 && strcmp(c->candidate, candidate) == 0 && strcmp(c->baseline, baseline) == 0)
			return true;
	}
	return false;
}

static enum assay_status add_comparison(struct listing_state *f, const char *candidate, const char *baseline, const char *baseline_kind,
					const char *detail, size_t input)
{
	const struct suite_entry *e = f->entry;
	char *application = input != WHOLE_APPLICATION ? manifest_stored_name(&f->manifest, input) : mem_string(f->name);
	enum assay_status st = ASSAY_OK;

	if (f->out->n >= COMPARED_MAX) {
		st = assay_fail(f->err, ASSAY_E_LIMIT, "'" SUITE_FILE "' asks for more than %d comparisons", COMPARED_MAX);
	} else if (!has_comparison(f->out, application, candidate, baseline)) {
		if (f->unknown_names)
			add_note(&f->notes->unknown_names, detail);
		f->n_no_such += f->unknown_names;
		mem_append(f->out->items, f->out->n, &f->capacity,
			   (struct night_comparison){ .manifest = mem_string(f->name),
						      .application = mem_string(application),
						      .input = mem_string(input != WHOLE_APPLICATION ? f->manifest.inputs[input].name : ""),
						      .candidate = mem_string(candidate),
						      .baseline = mem_string(baseline),
						      .baseline_kind = mem_string(baseline_kind),
						      .hosts = mem_string(f->selected_hosts ? f->selected_hosts : ""),
						      .min_effect = e->min_effect > 0 ? e->min_effect : f->lab->config.min_effect,
						      .min_gain = e->min_gain,
						      .budget_s = e->budget_s,
						      .detail = mem_string(f->no_host_reason ? f->no_host_reason : detail) });
	}
	f->unknown_names = false;
	free(application);
	return st;
}

static enum assay_status add_baselines(struct listing_state *f, const char *candidate, size_t input)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < f->entry->baseline_kind.n; i++) {
		const char *baseline_kind;
		char *baseline = NULL;

		st = find_baseline(f, candidate, input, f->entry->baseline_kind.items[i], &baseline, &baseline_kind);
		if (is_fault_of_application(f, st))
			st = add_comparison(f, candidate, baseline ? baseline : "", baseline_kind, f->err->text, input);
		else if (!st && baseline && strcmp(baseline, candidate) == 0) {
			char *application = manifest_stored_name(&f->manifest, input), *same = mem_format("%s@%s", application, candidate);

			add_note(&f->notes->unchanged, same);
			mem_free(same, application);
		} else if (!st) {
			st = add_comparison(f, candidate, baseline ? baseline : "", baseline_kind, baseline ? "" : f->no_baseline_reason,
					    input);
		}
		free(baseline);
	}
	return st;
}

static enum assay_status add_candidate(struct listing_state *f, const char *name)
{
	const struct manifest_arguments *inputs = &f->entry->inputs;
	char *candidate = NULL;
	enum assay_status st = resolve_version(f, name, &candidate);

	if (is_fault_of_application(f, st))
		return add_comparison(f, name, "", "version", f->err->text, WHOLE_APPLICATION);
	for (size_t i = 0; !st && !inputs->n && i < f->manifest.n_inputs; i++)
		st = add_baselines(f, candidate, i);
	for (size_t i = 0; !st && i < inputs->n; i++) {
		size_t input = manifest_find_input(&f->manifest, inputs->items[i]);

		st = input != SIZE_MAX ? add_baselines(f, candidate, input) : fail_unknown_name(f, true, inputs->items[i]);
	}
	free(candidate);
	return st;
}

static bool is_pattern(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

/* Adds comparisons of those versions in the manifest that match `pattern`, except the baselines. */
static enum assay_status add_candidates(struct listing_state *f, const char *pattern)
{
	size_t n = f->manifest.n_versions, fitting = 0; /* the count before manifest_derive() appends versions */
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++) {
		char *name = mem_string(f->manifest.versions[i].name);

		if (!f->manifest.versions[i].derived_from && fnmatch(pattern, name, 0) == 0 &&
		    !text_is_among(f->entry->baseline_kind.items, f->entry->baseline_kind.n, name)) {
			st = add_candidate(f, name);
			fitting++;
		}
		free(name);
	}
	if (!st && !fitting)
		st = fail_unknown_name(f, false, pattern);
	return is_fault_of_application(f, st) ? add_comparison(f, pattern, "", "version", f->err->text, WHOLE_APPLICATION) : st;
}

static enum assay_status add_application(struct listing_state *f, const char *name)
{
	const struct manifest_arguments *candidates = &f->entry->candidates;
	enum assay_status st = manifest_open(f->lab->directory, name, &f->manifest, f->err);

	f->name = name;
	f->unknown_names = st == ASSAY_E_NOTFOUND;
	if (f->unknown_names)
		st = assay_add_context(f->err, SUITE_FILE ":%zu", f->entry->line);
	if (!st && !candidates->n) {
		char *last = mem_string(f->manifest.versions[f->manifest.n_versions - 1].name);

		st = add_candidate(f, last);
		free(last);
	}
	for (size_t i = 0; !st && i < candidates->n; i++)
		st = is_pattern(candidates->items[i]) ? add_candidates(f, candidates->items[i]) : add_candidate(f, candidates->items[i]);
	if (is_fault_of_application(f, st))
		st = add_comparison(f, candidates->n ? candidates->items[0] : "?", "", "version", f->err->text, WHOLE_APPLICATION);
	manifest_release(&f->manifest);
	return st;
}

/* Reports whether an entry applies to an application: it has the exact name, or it is the first entry whose pattern matches. */
static bool is_entry_of_application(const struct suite *suite, const struct suite_entry *entry, const char *name)
{
	if (strcmp(entry->application, name) == 0)
		return true;
	for (const struct suite_entry *e = suite->entries; e < entry; e++) {
		if (fnmatch(e->application, name, 0) == 0)
			return false;
	}
	return fnmatch(entry->application, name, 0) == 0;
}

/* Returns the name of the manifest in apps/ whose results are stored under this application; NULL if there is none. The caller frees it. */
static char *manifest_name(const char *laboratory, const char *application, size_t length)
{
	char *directory = mem_format("%s/apps", laboratory), **names = NULL, *found = NULL;
	struct assay_error ignored;
	size_t n = 0;

	(void)file_list_names(directory, ".yaml", &names, &n, &ignored);
	for (size_t i = 0; i < n && !found; i++) {
		struct manifest manifest = { .file = NULL };

		names[i][strlen(names[i]) - strlen(".yaml")] = '\0';
		if (!manifest_open(laboratory, names[i], &manifest, &ignored) && strlen(manifest.application) == length &&
		    strncmp(manifest.application, application, length) == 0)
			found = mem_string(names[i]);
		manifest_release(&manifest);
	}
	file_names_free(names, n);
	free(directory);
	return found;
}

char *nightly_explain_unused_baseline(const char *laboratory, const struct suite *suite, const char *application)
{
	size_t length = strcspn(application, "/");
	const char *input = application[length] ? application + length + 1 : NULL;
	char *name = manifest_name(laboratory, application, length), *text = NULL, *why = NULL;
	const struct suite_entry *last = NULL;
	struct suite own = { .entries = NULL };
	struct assay_error err;
	bool used = false;

	if (!suite && suite_read(laboratory, &own, &text, &err))
		why = mem_string(err.text);
	else if (!name)
		why = mem_format("no readable manifest in apps/ has the name '%.*s'", (int)length, application);
	suite = suite ? suite : &own;
	for (const struct suite_entry *e = suite->entries; !why && e < suite->entries + suite->n; e++) {
		if (!is_entry_of_application(suite, e, name) ||
		    (input && e->inputs.n && !text_is_among(e->inputs.items, e->inputs.n, input)))
			continue;
		last = e;
		used = used || text_is_among(e->baseline_kind.items, e->baseline_kind.n, SUITE_ACCEPTED);
	}
	if (!why && !used)
		why = last ? mem_format(SUITE_FILE ":%zu: its 'against' does not have '" SUITE_ACCEPTED "'", last->line)
			   : mem_format(SUITE_FILE " compares nothing of '%s'", application);
	suite_release(&own);
	mem_free(name, text);
	return why;
}

/* Adds notes on accepted baselines that the suite does not use. If baselines.yaml is unreadable, a dry run fails. A night only adds a note,
 * and makes the comparisons that need no accepted baseline. */
static enum assay_status note_unused(struct listing_state *f)
{
	struct baselines all;
	int64_t now_ms = clock_real_ms();
	enum assay_status st = baselines_read(f->lab->directory, &all, f->err);

	if (st && f->options->dry_run)
		return st;
	if (st)
		add_note(&f->notes->unused, f->err->text);
	for (size_t i = 0; i < all.n; i++) {
		const struct baseline *b = &all.items[i];
		char *reason = baselines_find(&all, b->application, now_ms) == b
				   ? nightly_explain_unused_baseline(f->lab->directory, f->suite, b->application)
				   : NULL;
		char *text = reason ? mem_format("nothing is compared with '%s', the accepted baseline of %s: %s", b->version,
						 b->application, reason)
				    : NULL;

		if (text)
			add_note(&f->notes->unused, text);
		mem_free(text, reason);
	}
	baselines_release(&all);
	return ASSAY_OK;
}

static bool is_requested(const struct listing_state *f, const char *name)
{
	const struct manifest_arguments *selected_applications = &f->options->selected_applications;
	bool asked = selected_applications->n == 0;

	for (size_t i = 0; i < selected_applications->n; i++)
		asked = asked || fnmatch(selected_applications->items[i], name, 0) == 0;
	return asked;
}

/* Marks hosts that this night does not use: those that -x excludes, and retired machines. */
static enum assay_status exclude_hosts(const struct listing_state *f)
{
	struct inventory *inventory = &f->lab->config.inventory;
	bool *kept = mem_new(inventory->n, sizeof(*kept));
	size_t left = 0;
	enum assay_status st = inventory_select(inventory, NULL, f->options->exclude, NULL, kept, f->err);

	for (size_t i = 0; !st && i < inventory->n; i++) {
		left += kept[i];
		if (!kept[i] && !inventory->hosts[i].exclusion_reason)
			inventory->hosts[i].exclusion_reason = mem_string("excluded by -x");
	}
	free(kept);
	if (!st && inventory->n && !left)
		return assay_fail(f->err, ASSAY_E_USAGE, "-x '%s' excludes all hosts", f->options->exclude);
	return st ? st : catalog_exclude_retired(f->lab, f->err);
}

/* Chooses the hosts of an entry for the whole night. If none is usable, sets f->none, and the entry's comparisons are not measured. */
static enum assay_status choose_hosts(struct listing_state *f)
{
	const struct host_choice choice = { .hosts = f->entry->hosts };
	const struct host **hosts = NULL;
	struct buf exclusion_reason = BUF_INIT;
	struct assay_error ignored;
	size_t n = 0;
	const struct inventory *inventory = &f->lab->config.inventory;
	bool *asked = mem_new(inventory->n, sizeof(*asked));
	enum assay_status st = host_choice_hosts(inventory, &choice, &hosts, &n, &exclusion_reason, f->err);

	mem_free(f->selected_hosts, f->no_host_reason);
	f->selected_hosts = f->no_host_reason = NULL;
	if (!inventory_select(inventory, f->entry->hosts, NULL, NULL, asked, &ignored))
		for (size_t i = 0; i < inventory->n; i++)
			f->selected_by_suite[i] = f->selected_by_suite[i] || asked[i];
	free(asked);
	if (st == ASSAY_E_USAGE && exclusion_reason.size) {
		f->no_host_reason = mem_string(f->err->text);
		st = ASSAY_OK;
	} else if (!st && (exclusion_reason.size || f->entry->hosts)) {
		f->selected_hosts = host_choice_fold(hosts, n);
	}
	buf_release(&exclusion_reason);
	free(hosts);
	return st ? assay_add_context(f->err, SUITE_FILE ":%zu", f->entry->line) : ASSAY_OK;
}

static enum assay_status add_suite_entry(struct listing_state *f, char **names, size_t n)
{
	bool pattern = is_pattern(f->entry->application);
	enum assay_status st = choose_hosts(f);

	if (!st && !pattern && is_requested(f, f->entry->application))
		return add_application(f, f->entry->application); /* if the name is unknown, the error lists known applications */
	for (size_t i = 0; !st && pattern && i < n; i++) {
		if (is_entry_of_application(f->suite, f->entry, names[i]) && is_requested(f, names[i]))
			st = add_application(f, names[i]);
	}
	return st;
}

enum assay_status nightly_list_comparisons(struct lab *lab, const struct suite *suite, const struct nightly_options *options,
					   struct night_comparisons *out, struct nightly_start_notes *notes, struct assay_error *err)
{
	struct listing_state f = { .lab = lab, .suite = suite, .options = options, .out = out, .notes = notes, .err = err };
	char *directory = mem_format("%s/apps", lab->directory), **names = NULL;
	struct buf nothing = BUF_INIT, exclusion_reason = BUF_INIT;
	enum assay_status st;
	size_t n = 0;

	f.selected_by_suite = mem_new(lab->config.inventory.n, sizeof(*f.selected_by_suite));
	*out = (struct night_comparisons){ NULL, 0 };
	st = file_list_names(directory, ".yaml", &names, &n, err);
	for (size_t i = 0; i < n; i++)
		names[i][strlen(names[i]) - strlen(".yaml")] = '\0';
	if (!st)
		st = exclude_hosts(&f);
	for (size_t i = 0; !st && i < suite->n; i++) {
		f.entry = &suite->entries[i];
		st = add_suite_entry(&f, names, n);
	}
	for (size_t i = 0; !st && out->n && f.n_no_such == out->n && !notes->unchanged.n && i < notes->unknown_names.n; i++)
		buf_format(&nothing, "%s%s", i ? "; " : "", notes->unknown_names.items[i]);
	if (nothing.size)
		st = assay_fail(err, ASSAY_E_USAGE, "%s", nothing.bytes);
	if (!st && !out->n && !notes->unchanged.n)
		st = assay_fail(err, ASSAY_E_USAGE, "'" SUITE_FILE "' names nothing to compare%s",
				options->selected_applications.n ? " among these applications" : "");
	if (!st)
		st = note_unused(&f);
	host_choice_add_aside(&lab->config.inventory, f.selected_by_suite, &exclusion_reason);
	if (exclusion_reason.size)
		add_note(&notes->exclusion_reason, exclusion_reason.bytes);
	buf_release(&exclusion_reason);
	buf_release(&nothing);
	file_names_free(names, n);
	mem_free(directory, f.selected_by_suite, f.selected_hosts, f.no_baseline_reason, f.no_host_reason);
	if (st)
		night_comparisons_release(out);
	return st;
}
