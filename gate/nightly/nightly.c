#include "gate/nightly/nightly.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "fingerprint/battery/battery.h"
#include "fleet/cmd_fleet.h"
#include "fleet/engine/local_command.h"
#include "fleet/lab/lab.h"
#include "gate/nightly/baselines.h"
#include "gate/nightly/night.h"
#include "gate/nightly/suite.h"
#include "gate/nightly/suspects.h"
#include "runs/prune.h"
#include "runs/running/artefact.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/time.h>
#include <unistd.h>

#define GIB		(1024. * 1024 * 1024)
#define QUOTA_NEARLY	.9
#define FREE_LITTLE_GIB .25
#define GIT_MS		(10 * 60 * 1000)
#define COMPARED_MAX	100000

struct freezing {
	struct lab *lab;
	const char *file;
	const struct suite *suite;
	const volatile sig_atomic_t *cancelled;
	const struct suite_entry *entry;
	char *chosen;		  /* the entry's hosts, each by its name where it says "any N of"; NULL: all */
	struct manifest manifest; /* of the application at hand */
	const char *name;	  /* of the manifest, as commands take it */
	struct night_comparisons *out;
	size_t capacity;
	struct buf unchanged; /* those whose baseline is the candidate itself: not compared */
	struct assay_error *err;
};

/* ---- git ---- */

/* The first line that git says in the repository of a version; NULL when it fails. free() it. */
static char *git_line(const struct freezing *f, const struct manifest_version *version, const char *const *words, size_t n)
{
	const char *all[16] = { "git", "-C" };
	const struct local_command command = { .words = all, .n = n + 3, .git = true, .timeout_ms = GIT_MS, .cancelled = f->cancelled };
	char *repository = manifest_repository(&f->manifest, version), *line = NULL;
	struct local_said said = { .ok = false };
	struct assay_error ignored;

	ASSAY_BUG_IF(n + 3 > sizeof(all) / sizeof(all[0]));
	all[2] = repository;
	for (size_t i = 0; i < n; i++)
		all[3 + i] = words[i];
	if (!local_command_run(&command, &said, &ignored) && said.ok)
		line = mem_bytes(said.out, strcspn(said.out, "\n"));
	local_said_release(&said);
	free(repository);
	return line;
}
#define GIT(f, version, ...)                                                                                                               \
	git_line(f, version, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* A version at a revision of its repository, NAME-COMMIT; NULL where there is no such revision. free() it. */
static char *version_at(const struct freezing *f, const struct manifest_version *version, const char *revision)
{
	char *asked = mem_format("%s^{commit}", revision), *name = NULL;
	char *commit = GIT(f, version, "rev-parse", "--verify", "--quiet", "--end-of-options", asked);

	if (commit && strlen(commit) > MANIFEST_COMMIT_DIGITS)
		name = mem_format("%s-%.*s", version->stem ? version->stem : version->name, MANIFEST_COMMIT_DIGITS, commit);
	free(commit);
	free(asked);
	return name;
}

static bool is_tag(const struct freezing *f, const struct manifest_version *version)
{
	char *asked = mem_format("refs/tags/%s", version->reference);
	char *found = GIT(f, version, "rev-parse", "--verify", "--quiet", "--end-of-options", asked);
	bool tag = found != NULL;

	free(found);
	free(asked);
	return tag;
}

/* ---- candidates ---- */

/* The version's name for this night: what may move is named by where it is now. free() *out. */
static enum assay_status freeze_version(struct freezing *f, const char *name, char **out)
{
	char commit[ARTEFACT_COMMIT_BYTES] = "", shown[TEXT_SHOWN_BYTES];
	const struct manifest_version *version;
	enum assay_status st = ASSAY_OK;
	size_t i;

	manifest_derive(&f->manifest, name);
	i = manifest_find_version(&f->manifest, name);
	if (i == SIZE_MAX)
		return assay_fail(f->err, ASSAY_E_USAGE, "%s:%zu: '%s' has no version '%s'", f->file, f->entry->line, f->manifest.file,
				  text_shown(name, shown));
	version = &f->manifest.versions[i];
	if (version->kind == MANIFEST_GIT)
		st = artefact_check(&f->manifest, i, f->cancelled, commit, f->err);
	if (st)
		return st;
	if (version->kind != MANIFEST_GIT || version->stem || is_tag(f, version) ||
	    strncmp(version->reference, commit, strlen(version->reference)) == 0)
		*out = mem_string(name);
	else
		*out = mem_format("%s-%.*s", name, MANIFEST_COMMIT_DIGITS, commit);
	manifest_derive(&f->manifest, *out);
	return ASSAY_OK;
}

/* ---- baselines ---- */

static const struct manifest_version *version_of(struct freezing *f, const char *candidate)
{
	size_t i = manifest_find_version(&f->manifest, candidate);

	ASSAY_BUG_IF(i == SIZE_MAX);
	return &f->manifest.versions[i];
}

/* Could this be the same thing at an earlier time? Of a branch, the branch; of versions with names of their own, any of them. */
static bool is_earlier(struct freezing *f, const char *name, const char *candidate)
{
	const struct manifest_version *earlier, *now;
	size_t i;

	manifest_derive(&f->manifest, name);
	i = manifest_find_version(&f->manifest, name);
	if (i == SIZE_MAX || strcmp(name, candidate) == 0)
		return false;
	now = version_of(f, candidate);
	earlier = &f->manifest.versions[i];
	return !now->stem || strcmp(earlier->stem ? earlier->stem : earlier->name, now->stem) == 0;
}

/* The latest other candidate of an earlier night; NULL where there is none. */
static enum assay_status find_previous_night(struct freezing *f, const char *candidate, char **out)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_ask(&f->lab->store, &stmt, f->err,
		      "SELECT c.candidate FROM night_comparison AS c JOIN night AS n ON n.id = c.night WHERE c.manifest = ? AND c.state = "
		      "'decided' AND c.plan <> '' ORDER BY n.started_ms DESC, c.number",
		      "t", f->name);

	while (store_next(&f->lab->store, stmt, &st, f->err)) {
		if (!*out && is_earlier(f, store_text(stmt, 0), candidate))
			*out = mem_string(store_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	return st;
}

/* In the first night: of a branch the commit before, else the version before it in the manifest. */
static char *find_before(struct freezing *f, const char *candidate)
{
	const struct manifest_version *version = version_of(f, candidate);
	size_t i = (size_t)(version - f->manifest.versions);
	char *parent, *name;

	if (!version->stem)
		return i ? mem_string(f->manifest.versions[i - 1].name) : NULL;
	parent = mem_format("%s^", version->reference);
	name = version_at(f, version, parent);
	free(parent);
	return name;
}

/* The last version of the manifest that is called as releases are, else the last tag before the candidate that is. */
static char *find_release(struct freezing *f, const char *candidate)
{
	const struct manifest_version *version = version_of(f, candidate);
	char *parent, *tag, *name = NULL;

	for (size_t i = f->manifest.n_versions; i-- > 0;) {
		const struct manifest_version *v = &f->manifest.versions[i];

		if (!v->stem && strcmp(v->name, candidate) != 0 && fnmatch(f->suite->releases, v->name, 0) == 0)
			return mem_string(v->name);
	}
	if (version->kind != MANIFEST_GIT)
		return NULL;
	parent = mem_format("%s^", version->reference);
	tag = GIT(f, version, "describe", "--tags", "--abbrev=0", "--match", f->suite->releases, parent);
	name = tag ? version_at(f, version, tag) : NULL;
	free(tag);
	free(parent);
	return name;
}

/* *out: NULL where there is none, and *why says so. */
static enum assay_status find_baseline(struct freezing *f, const char *candidate, size_t input, const char *word, char **out,
				       const char **against, const char **why)
{
	char *application = manifest_stored_name(&f->manifest, input), *accepted = NULL;
	enum assay_status st = ASSAY_OK;

	*out = NULL;
	*against = word;
	*why = "";
	if (strcmp(word, SUITE_ACCEPTED) == 0)
		st = baselines_accepted(f->lab->directory, application, clock_real_ms(), &accepted, f->err);
	free(application);
	if (accepted) {
		st = freeze_version(f, accepted, out);
		free(accepted);
	} else if (st) {
		return st;
	} else if (strcmp(word, SUITE_RELEASE) == 0) {
		*out = find_release(f, candidate);
		*why = "no version and no tag is called as 'releases' of suite.yaml says";
	} else if (strcmp(word, SUITE_PREVIOUS) == 0 || strcmp(word, SUITE_ACCEPTED) == 0) {
		*against = SUITE_PREVIOUS;
		*why = "there is no earlier version";
		st = find_previous_night(f, candidate, out);
		if (!st && !*out)
			*out = find_before(f, candidate);
	} else {
		*against = "version";
		st = freeze_version(f, word, out);
	}
	return st;
}

/* ---- comparisons ---- */

/* Of one application: the others are measured nevertheless. What suite.yaml has wrong is told before anything is. */
static bool costs_one_application(const struct freezing *f, enum assay_status st)
{
	return st && st != ASSAY_E_USAGE && !(f->cancelled && *f->cancelled);
}

static bool is_there(const struct night_comparisons *all, const char *application, const char *candidate, const char *baseline)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct night_comparison *c = &all->items[i];

		if (strcmp(c->application, application) == 0 && strcmp(c->candidate, candidate) == 0 && strcmp(c->baseline, baseline) == 0)
			return true;
	}
	return false;
}

static enum assay_status add_comparison(struct freezing *f, const char *candidate, const char *baseline, const char *against,
					const char *detail, size_t input)
{
	const struct suite_entry *e = f->entry;
	char *application = manifest_stored_name(&f->manifest, input);
	enum assay_status st = ASSAY_OK;

	if (f->out->n >= COMPARED_MAX) {
		st = assay_fail(f->err, ASSAY_E_LIMIT, "'%s' asks for more than %d comparisons", f->file, COMPARED_MAX);
	} else if (!is_there(f->out, application, candidate, baseline)) {
		f->out->items = mem_grow(f->out->items, f->out->n, &f->capacity, sizeof(*f->out->items));
		f->out->items[f->out->n++] =
		    (struct night_comparison){ .manifest = mem_string(f->name),
					       .application = mem_string(application),
					       .input = mem_string(f->manifest.inputs[input].name),
					       .candidate = mem_string(candidate),
					       .baseline = mem_string(baseline),
					       .against = mem_string(against),
					       .hosts = mem_string(f->chosen ? f->chosen : ""),
					       .min_effect = e->min_effect > 0 ? e->min_effect : f->lab->config.min_effect,
					       .min_gain = e->min_gain,
					       .budget_s = e->budget_s,
					       .detail = mem_string(detail) };
	}
	free(application);
	return st;
}

static enum assay_status freeze_baselines(struct freezing *f, const char *candidate, size_t input)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < f->entry->against.n; i++) {
		const char *against, *why;
		char *baseline = NULL;

		st = find_baseline(f, candidate, input, f->entry->against.items[i], &baseline, &against, &why);
		if (costs_one_application(f, st))
			st = add_comparison(f, candidate, "", against, f->err->text, input);
		else if (!st && baseline && strcmp(baseline, candidate) == 0) {
			char *application = manifest_stored_name(&f->manifest, input);

			buf_format(&f->unchanged, "%s%s@%s", f->unchanged.size ? ", " : "", application, candidate);
			free(application);
		} else if (!st) {
			st = add_comparison(f, candidate, baseline ? baseline : "", against, baseline ? "" : why, input);
		}
		free(baseline);
	}
	return st;
}

static enum assay_status freeze_candidate(struct freezing *f, const char *name)
{
	const struct manifest_words *inputs = &f->entry->inputs;
	char *candidate = NULL, shown[TEXT_SHOWN_BYTES];
	enum assay_status st = freeze_version(f, name, &candidate);

	if (costs_one_application(f, st))
		return add_comparison(f, name, "", "version", f->err->text, 0);
	for (size_t i = 0; !st && !inputs->n && i < f->manifest.n_inputs; i++)
		st = freeze_baselines(f, candidate, i);
	for (size_t i = 0; !st && i < inputs->n; i++) {
		size_t input = manifest_find_input(&f->manifest, inputs->items[i]);

		st = input != SIZE_MAX ? freeze_baselines(f, candidate, input)
				       : assay_fail(f->err, ASSAY_E_USAGE, "%s:%zu: '%s' has no input '%s'", f->file, f->entry->line,
						    f->manifest.file, text_shown(inputs->items[i], shown));
	}
	free(candidate);
	return st;
}

/* One whose manifest says nothing that can be understood: neither versions nor inputs are known. */
static enum assay_status add_unreadable(struct freezing *f, const char *name)
{
	struct manifest_input none = { .name = (char[]){ "" } };
	char *application = mem_string(name);
	enum assay_status st;

	f->manifest = (struct manifest){ .application = application, .inputs = &none, .n_inputs = 1 };
	st = add_comparison(f, f->entry->candidates.n ? f->entry->candidates.items[0] : "?", "", "version", f->err->text, 0);
	free(application);
	return st;
}

static enum assay_status freeze_application(struct freezing *f, const char *name)
{
	const struct manifest_words *candidates = &f->entry->candidates;
	enum assay_status st = manifest_open(f->lab->directory, name, &f->manifest, f->err);

	f->name = name;
	if (costs_one_application(f, st) && st != ASSAY_E_NOTFOUND)
		return add_unreadable(f, name);
	if (st)
		return assay_context(f->err, "%s:%zu", f->file, f->entry->line);
	if (!candidates->n) {
		char *last = mem_string(f->manifest.versions[f->manifest.n_versions - 1].name);

		st = freeze_candidate(f, last);
		free(last);
	}
	for (size_t i = 0; !st && i < candidates->n; i++)
		st = freeze_candidate(f, candidates->items[i]);
	manifest_release(&f->manifest);
	return st;
}

/* ---- entries ---- */

/* Named by itself, or by the first pattern that it fits. */
static bool is_entrys(const struct suite *suite, const struct suite_entry *entry, const char *name)
{
	if (strcmp(entry->application, name) == 0)
		return true;
	for (const struct suite_entry *e = suite->entries; e < entry; e++) {
		if (fnmatch(e->application, name, 0) == 0)
			return false;
	}
	return fnmatch(entry->application, name, 0) == 0;
}

static bool is_asked(const struct manifest_words *only, const char *name)
{
	bool asked = only->n == 0;

	for (size_t i = 0; i < only->n; i++)
		asked = asked || fnmatch(only->items[i], name, 0) == 0;
	return asked;
}

/* A night stays on the machines with which it began. */
static enum assay_status choose_hosts(struct freezing *f)
{
	const struct cmd_fleet_choice choice = { .hosts = f->entry->hosts };
	const struct host **hosts = NULL;
	size_t n = 0;
	enum assay_status st = cmd_fleet_hosts(&f->lab->config.inventory, &choice, &hosts, &n, f->err);

	free(f->chosen);
	f->chosen = st || !f->entry->hosts		 ? NULL
		    : inventory_has_any(f->entry->hosts) ? cmd_fleet_fold(hosts, n)
							 : mem_string(f->entry->hosts);
	free(hosts);
	return st ? assay_context(f->err, "%s:%zu", f->file, f->entry->line) : ASSAY_OK;
}

static enum assay_status freeze_entry(struct freezing *f, char **names, size_t n, const struct manifest_words *only)
{
	bool pattern = strpbrk(f->entry->application, "*?[") != NULL;
	enum assay_status st = choose_hosts(f);

	if (!st && !pattern && is_asked(only, f->entry->application))
		return freeze_application(f, f->entry->application); /* which says what there is, if it is not there */
	for (size_t i = 0; !st && pattern && i < n; i++) {
		if (is_entrys(f->suite, f->entry, names[i]) && is_asked(only, names[i]))
			st = freeze_application(f, names[i]);
	}
	return st;
}

/* `suite`: its file's name is `file`, for messages. only: these applications (patterns); n == 0: all. A comparison without a baseline is
 * among them, with its reason in `detail`; one whose baseline is the candidate itself is not, but in *unchanged (free() it; NULL: none),
 * for nothing has changed since. What contradicts the laboratory (unknown hosts, applications, versions) is ASSAY_E_USAGE. *out
 * is overwritten; night_comparisons_release() it. */
static enum assay_status nightly_freeze(struct lab *lab, const char *file, const struct suite *suite, const struct manifest_words *only,
					const volatile sig_atomic_t *cancelled, struct night_comparisons *out, char **unchanged,
					struct assay_error *err)
{
	struct freezing f = { .lab = lab, .file = file, .suite = suite, .cancelled = cancelled, .out = out, .err = err };
	char *directory = mem_format("%s/apps", lab->directory), **names = NULL;
	enum assay_status st;
	size_t n = 0;

	*out = (struct night_comparisons){ NULL, 0 };
	st = file_names(directory, ".yaml", &names, &n, err);
	for (size_t i = 0; i < n; i++)
		names[i][strlen(names[i]) - strlen(".yaml")] = '\0';
	for (size_t i = 0; !st && i < suite->n; i++) {
		f.entry = &suite->entries[i];
		st = freeze_entry(&f, names, n, only);
	}
	*unchanged = f.unchanged.size ? buf_take(&f.unchanged) : NULL;
	if (!st && !out->n && !*unchanged)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' names nothing to compare%s", file, only->n ? " among these applications" : "");
	file_names_free(names, n);
	free(directory);
	free(f.chosen);
	if (st)
		night_comparisons_release(out);
	return st;
}

static enum assay_status night_begin_or_go_on(struct nightly *n, struct assay_error *err);
static enum assay_status night_work(struct nightly *n, struct assay_error *err);
static enum assay_status night_lock(const char *directory, int *fd, struct assay_error *err);

/* ---- the way of a night ---- */

enum assay_status nightly_run(const struct nightly_options *options, char id[DIGEST_ID_BYTES], struct assay_error *err)
{
	struct nightly n = { .options = options };
	int lock = -1;
	enum assay_status st = night_lock(options->directory, &lock, err);

	if (!st)
		st = night_begin_or_go_on(&n, err);
	if (!st) {
		nightly_log(&n, "%zu comparison%s", n.comparisons.n, text_plural(n.comparisons.n));
		st = night_work(&n, err);
	}
	if (st)
		nightly_log(&n, "stopped: %s", err->text);
	else if (n.night.finished_ms)
		nightly_log(&n, "ended with status %d", n.night.exit_status);
	else
		nightly_log(&n, "interrupted by signal %d; the next 'assay nightly' goes on", (int)*options->cancelled);
	memcpy(id, n.night.id, DIGEST_ID_BYTES);
	cJSON_Delete(n.notes);
	night_comparisons_release(&n.comparisons);
	night_release(&n.night);
	suite_release(&n.suite);
	if (lock >= 0)
		close(lock);
	return st;
}

static enum assay_status night_work(struct nightly *n, struct assay_error *err)
{
	enum assay_status st = nightly_fingerprints(n, err);
	struct suspects suspects = { NULL, NULL, 0 };

	if (!st)
		suspects_find(n, &suspects);
	n->suspects = &suspects;
	for (size_t i = 0; !st && i < n->comparisons.n && !nightly_is_over(n); i++) {
		struct night_comparison *c = &n->comparisons.items[suspects.order[i]];

		if (c->state != NIGHT_WAITING && c->state != NIGHT_MEASURING)
			continue;
		st = nightly_measure(n, c, err);
		if (!st)
			st = nightly_judge(n, c, err);
	}
	for (size_t i = 0; !st && i < n->comparisons.n && !nightly_is_over(n); i++) {
		if (n->comparisons.items[i].state == NIGHT_CONFIRMING)
			st = nightly_confirm(n, &n->comparisons.items[i], err);
	}
	if (!st && (!*n->options->cancelled || *n->options->cancelled == SIGALRM)) { /* else it goes on next time */
		st = nightly_conclude(n, err);
		if (!st)
			nightly_hook(n);
	}
	n->suspects = NULL;
	suspects_release(&suspects);
	return st;
}

/* ---- one at a time ---- */

static enum assay_status night_lock(const char *directory, int *fd, struct assay_error *err)
{
	char *private = mem_format("%s/.assay", directory), *path = mem_format("%s/night.lock", private);
	enum assay_status st = file_make_directory(private, 0700, err);

	if (!st) {
		*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (*fd < 0)
			st = assay_fail_errno(err, errno, "cannot write '%s'", path);
		else if (flock(*fd, LOCK_EX | LOCK_NB))
			st = assay_fail(err, ASSAY_E_BUSY,
					"another night of this laboratory goes on ('assay nightly show' shows how far it is)");
	}
	if (st && st != ASSAY_E_BUSY)
		(void)assay_context(err, "a night keeps what it measures in the laboratory '%s', which must be writable", directory);
	free(path);
	free(private);
	return st;
}

/* ---- its deadline ---- */

static volatile sig_atomic_t *to_cancel;

static void on_deadline(int number)
{
	if (!*to_cancel)
		*to_cancel = number;
}

static void deadline_set(struct nightly *n)
{
	int64_t left_ms = n->night.deadline_ms - clock_real_ms();
	struct sigaction action = { .sa_handler = on_deadline, .sa_flags = SA_RESTART };
	struct itimerval timer = { .it_value = { .tv_sec = 0 } };

	if (!n->night.deadline_ms)
		return;
	left_ms = left_ms > 1 ? left_ms : 1;
	timer.it_value.tv_sec = left_ms / 1000;
	timer.it_value.tv_usec = left_ms % 1000 * 1000;
	to_cancel = n->options->cancelled;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

bool nightly_is_over(const struct nightly *n)
{
	return *n->options->cancelled || (n->night.deadline_ms && clock_real_ms() >= n->night.deadline_ms);
}

/* ---- beginning ---- */

enum assay_status nightly_open(const struct nightly *n, struct lab *lab, struct assay_error *err)
{
	enum assay_status st = lab_open_soon(n->options->directory, STORE_WRITE, n->suite.wait_s, n->options->cancelled, lab, err);

	if (!st)
		lab_sign(lab, n->options->command);
	return st;
}

void nightly_note(struct nightly *n, const char *code, const char *fmt, ...)
{
	char *text = NULL;
	cJSON *note = cJSON_CreateObject();
	va_list args;

	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&text, fmt, args) < 0);
	va_end(args);
	cJSON_AddStringToObject(note, "code", code);
	cJSON_AddStringToObject(note, "text", text);
	cJSON_AddItemToArray(n->notes, note);
	n->options->note(text);
	nightly_log(n, "%s: %s", code, text);
	free(text);
}

/* Before anything is measured: a battery that is not there is no battery that gives no fingerprint. */
static enum assay_status check_battery(const char *file, const struct suite *suite, struct assay_error *err)
{
	struct battery battery = { 0 };
	enum assay_status st = ASSAY_OK;

	if (strcmp(suite->battery, SUITE_BATTERY_NONE) != 0)
		st = battery_open(suite->battery, &battery, err);
	battery_release(&battery);
	return st ? assay_context(err, "%s:%zu: 'battery'", file, suite->battery_line) : ASSAY_OK;
}

static enum assay_status read_suite(struct nightly *n, char **text, struct assay_error *err)
{
	char *path = mem_format("%s/" SUITE_FILE, n->options->directory);
	struct buf bytes = BUF_INIT;
	enum assay_status st = file_read(path, YAML_BYTES_MAX, &bytes, err);

	if (st == ASSAY_E_NOTFOUND)
		st = assay_fail(err, ASSAY_E_NOTFOUND,
				"'%s' is not there: it says what is compared every night, at least \"comparisons: [{application: '*'}]\"",
				path);
	if (!st)
		st = suite_parse(path, bytes.bytes ? bytes.bytes : "", bytes.size, &n->suite, err);
	if (!st)
		st = check_battery(path, &n->suite, err);
	*text = mem_bytes(bytes.bytes ? bytes.bytes : "", bytes.size);
	buf_release(&bytes);
	free(path);
	return st;
}

static enum assay_status begin(struct nightly *n, struct lab *lab, char *text, struct assay_error *err)
{
	char *unchanged = NULL;
	enum assay_status st =
	    nightly_freeze(lab, SUITE_FILE, &n->suite, &n->options->only, n->options->cancelled, &n->comparisons, &unchanged, err);

	n->night = (struct night){ .started_ms = clock_real_ms(), .suite = text, .notes = mem_string("[]") };
	n->night.deadline_ms = suite_deadline_ms(&n->suite, n->night.started_ms);
	for (size_t i = 0; n->options->budget_s > 0 && i < n->comparisons.n; i++)
		n->comparisons.items[i].budget_s = n->options->budget_s;
	if (!st)
		st = night_begin(&lab->store, &n->night, &n->comparisons, err);
	if (!st && unchanged)
		nightly_note(n, "unchanged", "nothing has changed since what it is compared with: %s", unchanged);
	free(unchanged);
	return st;
}

/* Said before the disk is full, and before anything is measured for nothing. */
static enum assay_status keep_quota(struct nightly *n, struct lab *lab, struct assay_error *err)
{
	struct pruned pruned;
	struct store_space space;
	enum assay_status st = prune_to_quota(lab, &pruned, &space, err);
	char before[TEXT_DATE_BYTES];

	if (pruned.executions || pruned.samples.files)
		nightly_note(
		    n, "quota",
		    "the store was larger than its quota of %.4g GiB: what %lld execution%s printed before %s was removed, and %zu "
		    "sample file%s",
		    lab->config.quota_gib, (long long)pruned.executions, text_plural((size_t)pruned.executions),
		    text_from_ms(pruned.before_ms / 1000 * 1000, before), pruned.samples.files, text_plural(pruned.samples.files));
	if (!st && lab->config.quota_gib > 0 && (double)space.bytes > QUOTA_NEARLY * lab->config.quota_gib * GIB)
		nightly_note(n, "quota", "the store has %.4g GiB of its quota of %.4g", (double)space.bytes / GIB, lab->config.quota_gib);
	if (!st && (double)space.free_bytes < FREE_LITTLE_GIB * GIB)
		nightly_note(n, "disk", "only %.3g GiB are free where the store is", (double)space.free_bytes / GIB);
	return st;
}

/* A night keeps its suite as it was when it began. */
static enum assay_status go_on(struct nightly *n, struct lab *lab, const char *suite_now, struct assay_error *err)
{
	char date[TEXT_DATE_BYTES];
	char *text = mem_format("going on with the night of %s%s", text_from_ms(n->night.started_ms, date),
				strcmp(suite_now, n->night.suite) == 0
				    ? ""
				    : ": suite.yaml was changed since, and this night keeps the one with which it began");
	enum assay_status st;

	n->options->note(text);
	nightly_log(n, "%s", text);
	free(text);
	suite_release(&n->suite);
	st = suite_parse(SUITE_FILE, n->night.suite, strlen(n->night.suite), &n->suite, err);
	return st ? st : night_comparisons_load(&lab->store, n->night.id, &n->comparisons, err);
}

/* One whose deadline has passed in the meantime is brought to its end before another begins. */
static enum assay_status night_begin_or_go_on(struct nightly *n, struct assay_error *err)
{
	struct lab lab = { .lock_fd = -1 };
	char *text = NULL;
	bool again = false;
	enum assay_status st = read_suite(n, &text, err);

	n->notes = cJSON_CreateArray();
	if (!st)
		st = nightly_open(n, &lab, err);
	if (!st) {
		struct assay_error none;

		st = night_unfinished(&lab.store, &n->night, &none);
		if (!st)
			st = go_on(n, &lab, text, err);
		else if (st == ASSAY_E_NOTFOUND) {
			st = begin(n, &lab, text, err);
			text = NULL;
		} else {
			*err = none;
		}
		if (!st)
			st = keep_quota(n, &lab, err);
	}
	lab_close(&lab);
	free(text);
	again = !st && n->night.deadline_ms && clock_real_ms() >= n->night.deadline_ms;
	if (again) {
		st = nightly_conclude(n, err);
		night_comparisons_release(&n->comparisons);
		night_release(&n->night);
		suite_release(&n->suite);
		cJSON_Delete(n->notes);
		return st ? st : night_begin_or_go_on(n, err);
	}
	if (!st)
		deadline_set(n);
	return st;
}
