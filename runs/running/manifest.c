#include "fleet/agent/program.h"
#include "runs/running/manifest.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "runs/running/manifest_words.h"
#include "runs/running/run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>

static void manifest_version_release(struct manifest_version *version)
{
	mem_free(version->name, version->stem);
	for (size_t i = 0; i < version->n_own; i++) {
		mem_free(version->own[i].architecture, version->own[i].directory);
		manifest_words_release(&version->own[i].build);
	}
	mem_free(version->own, version->repository, version->reference);
	manifest_words_release(&version->command);
	manifest_words_release(&version->environment);
}

static void manifest_input_release(struct manifest_input *input)
{
	free(input->name);
	manifest_words_release(&input->arguments);
	manifest_words_release(&input->environment);
}

void manifest_release(struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->n_versions; i++)
		manifest_version_release(&manifest->versions[i]);
	for (size_t i = 0; i < manifest->n_inputs; i++)
		manifest_input_release(&manifest->inputs[i]);
	mem_free(manifest->versions, manifest->inputs, manifest->file, manifest->directory, manifest->text, manifest->application,
		 manifest->description, manifest->work, manifest->inputs_of, manifest->left_out);
	manifest_words_release(&manifest->features);
	manifest_words_release(&manifest->files);
	free(manifest->files_lines);
	manifest_words_release(&manifest->command);
	manifest_words_release(&manifest->environment);
	metric_release(&manifest->metric);
	manifest_probe_release(&manifest->probe);
	*manifest = (struct manifest){ .file = NULL };
}

/* ---- versions that are not written down ---- */

static void manifest_copy_words(const struct manifest_words *from, struct manifest_words *to)
{
	*to = (struct manifest_words){ NULL, 0 };
	for (size_t i = 0; i < from->n; i++)
		manifest_words_add(to, from->items[i]);
}

static char *manifest_copy_text(const char *text)
{
	return text ? mem_string(text) : NULL;
}

static void manifest_add_derived(struct manifest *manifest, size_t of, const char *name, const char *reference)
{
	struct manifest_version from = manifest->versions[of], *to;

	manifest->versions = mem_resize(manifest->versions, manifest->n_versions + 1, sizeof(*manifest->versions));
	to = &manifest->versions[manifest->n_versions++];
	*to = from;
	to->name = mem_string(name);
	to->stem = mem_string(from.stem ? from.stem : from.name);
	to->own = mem_new(from.n_own, sizeof(*to->own));
	for (size_t i = 0; i < from.n_own; i++) {
		to->own[i].architecture = manifest_copy_text(from.own[i].architecture);
		to->own[i].directory = manifest_copy_text(from.own[i].directory);
		manifest_copy_words(&from.own[i].build, &to->own[i].build);
	}
	to->repository = manifest_copy_text(from.repository);
	to->reference = manifest_copy_text(reference ? reference : from.reference);
	manifest_copy_words(&from.command, &to->command);
	manifest_copy_words(&from.environment, &to->environment);
}

size_t manifest_addition(const char *name)
{
	const char *plus = strrchr(name, '+');
	struct plantation ignored;

	return plus && plus > name && (strcmp(plus, MANIFEST_AGAIN) == 0 || plant_read(plus + 1, &ignored)) ? strlen(plus) : 0;
}

void manifest_derive(struct manifest *manifest, const char *name)
{
	size_t n = strlen(name), added = manifest_addition(name), of;
	bool is_commit = n > MANIFEST_COMMIT_DIGITS + 1 && name[n - MANIFEST_COMMIT_DIGITS - 1] == '-' &&
			 strspn(name + n - MANIFEST_COMMIT_DIGITS, "0123456789abcdef") == MANIFEST_COMMIT_DIGITS;
	char *stem;

	if ((!added && !is_commit) || manifest_find_version(manifest, name) != SIZE_MAX)
		return;
	stem = mem_bytes(name, added ? n - added : n - MANIFEST_COMMIT_DIGITS - 1);
	if (added)
		manifest_derive(manifest, stem);
	of = manifest_find_version(manifest, stem);
	if (of != SIZE_MAX && (added || (manifest->versions[of].kind == MANIFEST_GIT && !manifest->versions[of].stem)))
		manifest_add_derived(manifest, of, name, added ? NULL : name + n - MANIFEST_COMMIT_DIGITS);
	if (of != SIZE_MAX && added)
		(void)plant_read(name + n - added + 1, &manifest->versions[manifest->n_versions - 1].plant);
	free(stem);
}

size_t manifest_find_version(const struct manifest *manifest, const char *name)
{
	for (size_t i = 0; i < manifest->n_versions; i++)
		if (strcmp(manifest->versions[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

const struct manifest_own *manifest_own_of(const struct manifest_version *version, const char *architecture)
{
	for (size_t i = 0; i < version->n_own; i++) {
		const char *of = version->own[i].architecture;

		if (!of || strcmp(of, architecture) == 0)
			return &version->own[i];
	}
	return NULL;
}

char *manifest_own_reason(const struct manifest *manifest, const struct manifest_version *version, const char *architecture)
{
	struct buf text = BUF_INIT;

	buf_format(&text, "version '%s' is for ", version->name);
	for (size_t i = 0; i < version->n_own; i++)
		buf_format(&text, "%s%s", i ? ", " : "", version->own[i].architecture);
	buf_format(&text, " alone, not for %s: add that to its '%s' (%s, line %zu)", architecture,
		   version->kind == MANIFEST_GIT ? "build" : "directory", manifest->file, version->line);
	return buf_take(&text);
}

size_t manifest_find_input(const struct manifest *manifest, const char *name)
{
	for (size_t i = 0; i < manifest->n_inputs; i++)
		if (strcmp(manifest->inputs[i].name, name) == 0)
			return i;
	return manifest->inputs_of && !*manifest->inputs[0].name ? 0 : SIZE_MAX;
}

char *manifest_repository(const struct manifest *manifest, const struct manifest_version *version)
{
	const char *path = version->repository;

	return *path == '/' ? mem_string(path) : mem_format("%s/%s", manifest->directory, path);
}

char *manifest_stored_name(const struct manifest *manifest, size_t input)
{
	const char *name = manifest->inputs[input].name;

	return *name ? mem_format("%s/%s", manifest->application, name) : mem_string(manifest->application);
}

/* Manifests from YAML. */

#define SECONDS_MIN .1
#define SECONDS_MAX 604800. /* a week */

/* ---- texts ---- */

static enum assay_status manifest_check_name(const struct manifest_reader *r, size_t line, const char *what, const char *name)
{
	if (run_name_ok(name) && !strpbrk(name, "/,") && *name != '-' && *name != ' ' && name[strlen(name) - 1] != ' ')
		return ASSAY_OK;
	return manifest_fail(r, ASSAY_E_FORMAT, line,
			     "'%s' cannot be the name of %s: 1 to %d bytes of text, none of @ / and comma, no - in front, no "
			     "blanks around it",
			     TEXT_SHOWN(name), what, RUN_NAME_BYTES_MAX);
}

/* A text of one line that is not empty. */
static enum assay_status manifest_parse_text(const struct manifest_reader *r, const struct yaml_node *node, const char *key, char **out)
{
	const char *text = NULL;
	enum assay_status st = yaml_string(r->file, node, &text, r->err);

	if (st)
		return st;
	if (!manifest_is_line(text))
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' must be a text of one line", key);
	free(*out);
	*out = mem_string(text);
	return ASSAY_OK;
}

/* Absent: *out stays. */
static enum assay_status manifest_parse_line(const struct manifest_reader *r, const struct yaml_node *map, const char *key, char **out)
{
	const struct yaml_node *node = yaml_get(map, key);

	return node ? manifest_parse_text(r, node, key, out) : ASSAY_OK;
}

/* ---- versions ---- */

/* The architectures that a map of them has, in their order, each with nothing yet. */
static enum assay_status manifest_parse_architectures(const struct manifest_reader *r, const struct yaml_node *map, const char *key,
						      struct manifest_version *v)
{
	if (map->n_items == 0 || map->n_items > PROGRAM_ARCHITECTURES)
		return manifest_fail(r, ASSAY_E_FORMAT, map->line, "'%s' as a map has an item for each architecture, such as x86_64", key);
	for (size_t i = 0; i < PROGRAM_ARCHITECTURES; i++)
		for (size_t k = 0; k < map->n_items; k++)
			if (strcmp(map->items[k].key, program_architectures[i]) == 0)
				v->own[v->n_own++].architecture = mem_string(program_architectures[i]);
	return v->n_own == map->n_items
		   ? ASSAY_OK
		   : manifest_fail(r, ASSAY_E_FORMAT, map->line, "'%s' is a map of architectures as 'uname -m' names them: %s, %s", key,
				   program_architectures[0], program_architectures[1]);
}

/* `directory` or `build` of one architecture: the item of a map, or what holds for all; NULL: nothing. */
static enum assay_status manifest_item_of(const struct manifest_reader *r, const struct yaml_node *node, const char *key,
					  const char *architecture, const struct yaml_node **out)
{
	*out = node;
	if (!node || node->kind != YAML_MAP)
		return ASSAY_OK;
	*out = yaml_get(node, architecture);
	return *out ? ASSAY_OK : manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' has nothing for %s", key, architecture);
}

/* What the version has for itself: `directory` and, of git, `build`. Each may be a map of architectures; where both are, of the same. */
static enum assay_status manifest_parse_own(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_version *v)
{
	const struct yaml_node *directory = yaml_get(node, "directory"), *build = yaml_get(node, "build"), *item;
	const struct yaml_node *map = build && build->kind == YAML_MAP ? build : directory;
	bool apart = map && map->kind == YAML_MAP;
	enum assay_status st = ASSAY_OK;

	v->own = mem_new(PROGRAM_ARCHITECTURES, sizeof(*v->own));
	if (apart)
		st = manifest_parse_architectures(r, map, map == build ? "build" : "directory", v);
	else
		v->n_own = 1;
	if (!st && apart && directory && directory != map && directory->kind == YAML_MAP && directory->n_items != v->n_own)
		st = manifest_fail(r, ASSAY_E_FORMAT, directory->line, "'directory' and 'build' are of different architectures");
	for (size_t i = 0; !st && i < v->n_own; i++) {
		struct manifest_own *own = &v->own[i];

		st = manifest_item_of(r, directory, "directory", own->architecture, &item);
		if (!st && item)
			st = manifest_parse_text(r, item, "directory", &own->directory);
		if (!st)
			st = manifest_item_of(r, build, "build", own->architecture, &item);
		if (!st && item)
			st = manifest_command_parse(r, item, MANIFEST_LITERAL, &own->build);
	}
	return st;
}

static enum assay_status manifest_check_git(const struct manifest_reader *r, const struct yaml_node *node, const struct manifest_version *v)
{
	const char *colon = strchr(v->repository, ':'), *slash = strchr(v->repository, '/');

	if (colon && (!slash || colon < slash))
		return manifest_fail(r, ASSAY_E_FORMAT, node->line,
				     "the repository must be a directory of this machine: clone it first, and name the clone");
	if (!v->reference)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'git' has no 'reference': a tag, branch or commit");
	if (*v->reference == '-')
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "a reference does not begin with '-'");
	for (size_t i = 0; i < v->n_own; i++) {
		const char *directory = v->own[i].directory;

		if (directory && (*directory == '/' || manifest_leads_up(directory)))
			return manifest_fail(r, ASSAY_E_FORMAT, node->line,
					     "the directory of 'git' is below the work tree: no '/' in front, no '..'");
	}
	return ASSAY_OK;
}

static enum assay_status manifest_parse_git(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_version *v)
{
	static const char *const keys[] = { "repository", "reference", "build", "directory" };
	enum assay_status st = manifest_keys(r, node, "git", keys, sizeof(keys) / sizeof(keys[0]));

	v->kind = MANIFEST_GIT;
	if (st)
		return st;
	v->repository = mem_string(".");
	st = manifest_parse_line(r, node, "repository", &v->repository);
	if (!st)
		st = manifest_parse_line(r, node, "reference", &v->reference);
	if (!st)
		st = manifest_parse_own(r, node, v);
	return st ? st : manifest_check_git(r, node, v);
}

static enum assay_status manifest_parse_version(const struct manifest_reader *r, const struct yaml_node *map, const struct yaml_node *node,
						struct manifest_version *v)
{
	static const char *const keys[] = { "directory", "git", "command", "environment" };
	enum assay_status st = manifest_check_name(r, node->line, "a version", node->key);
	const struct yaml_node *value;

	v->name = mem_string(node->key);
	v->line = node->line;
	if (st || !yaml_get(map, node->key))
		return st; /* nothing of its own */
	st = manifest_keys(r, node, "a version", keys, sizeof(keys) / sizeof(keys[0]));
	if (!st && yaml_get(node, "directory") && yaml_get(node, "git"))
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "the version '%s' has both 'directory' and 'git': one of them", v->name);
	if (!st && yaml_get(node, "directory")) {
		v->kind = MANIFEST_DIR;
		st = manifest_parse_own(r, node, v);
	}
	if (!st && (value = yaml_get(node, "git")))
		st = manifest_parse_git(r, value, v);
	if (!st && (value = yaml_get(node, "command")))
		st = manifest_command_parse(r, value, MANIFEST_ARGUMENTS, &v->command);
	if (!st && (value = yaml_get(node, "environment")))
		st = manifest_environment_parse(r, value, &v->environment);
	return st;
}

static enum assay_status manifest_parse_versions(const struct manifest_reader *r, const struct yaml_node *map, struct manifest *m)
{
	enum assay_status st = ASSAY_OK;

	if (map->kind != YAML_MAP || map->n_items == 0)
		return manifest_fail(r, ASSAY_E_FORMAT, map->line, "'versions' is " MANIFEST_VERSIONS_HINT);
	if (map->n_items > MANIFEST_VERSIONS_MAX)
		return manifest_fail(r, ASSAY_E_LIMIT, map->line, "more than %d versions", MANIFEST_VERSIONS_MAX);
	m->versions = mem_new(map->n_items, sizeof(*m->versions));
	for (size_t i = 0; !st && i < map->n_items; i++) {
		struct manifest_version *v = &m->versions[m->n_versions++];

		st = manifest_parse_version(r, map, &map->items[i], v);
		if (!st && m->command.n == 0 && v->command.n == 0)
			st = manifest_fail(r, ASSAY_E_FORMAT, v->line,
					   "the version '%s' has no command, and the manifest has none either: write 'command: "
					   "[PROGRAM, ARGUMENT]' here or there",
					   v->name);
	}
	return st;
}

/* ---- inputs ---- */

static enum assay_status manifest_parse_input(const struct manifest_reader *r, const struct yaml_node *node, const char *const *keys,
					      size_t n_keys, struct manifest_input *in)
{
	enum assay_status st = yaml_keys(r->file, node, "an input", keys, n_keys, r->err);
	const struct yaml_node *value;

	in->line = node->line;
	if (!st && (value = yaml_get(node, "arguments")))
		st = manifest_words_parse(r, value, MANIFEST_EXPANDED, &in->arguments);
	if (!st && (value = yaml_get(node, "environment")))
		st = manifest_environment_parse(r, value, &in->environment);
	return st;
}

/* A map by name, or a list of maps that have a name. */
static enum assay_status manifest_parse_named_input(const struct manifest_reader *r, const struct yaml_node *all,
						    const struct yaml_node *node, struct manifest_input *in)
{
	static const char *const keys[] = { "arguments", "environment", "name" };
	enum assay_status st = ASSAY_OK;

	if (all->kind == YAML_MAP) {
		in->name = mem_string(node->key);
		in->line = node->line;
		if (yaml_get(all, node->key))
			st = manifest_parse_input(r, node, keys, 2, in);
	} else {
		st = manifest_parse_input(r, node, keys, 3, in);
		if (!st)
			st = manifest_parse_line(r, node, "name", &in->name);
		if (!st && !in->name)
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "this input has no 'name'");
	}
	return st ? st : manifest_check_name(r, node->line, "an input", in->name);
}

static enum assay_status manifest_parse_inputs(const struct manifest_reader *r, const struct yaml_node *all, struct manifest *m)
{
	enum assay_status st = ASSAY_OK;

	if (all->kind == YAML_SCALAR || all->n_items == 0)
		return manifest_fail(r, ASSAY_E_FORMAT, all->line,
				     "'inputs' is a map with at least one input, such as {small: {arguments: [10]}, large: "
				     "{arguments: [1000]}}, or is left out");
	if (all->n_items > MANIFEST_INPUTS_MAX)
		return manifest_fail(r, ASSAY_E_LIMIT, all->line, "more than %d inputs", MANIFEST_INPUTS_MAX);
	m->inputs = mem_new(all->n_items, sizeof(*m->inputs));
	for (size_t i = 0; !st && i < all->n_items; i++) {
		struct manifest_input *in = &m->inputs[m->n_inputs++];

		st = manifest_parse_named_input(r, all, &all->items[i], in);
		for (size_t k = 0; !st && k < i; k++)
			if (strcmp(m->inputs[k].name, in->name) == 0)
				st = manifest_fail(r, ASSAY_E_FORMAT, in->line, "the input '%s' appears twice (first on line %zu)",
						   in->name, m->inputs[k].line);
		if (!st && strlen(m->application) + 1 + strlen(in->name) > RUN_NAME_BYTES_MAX)
			st = manifest_fail(r, ASSAY_E_FORMAT, in->line,
					   "the names of application and input are together longer than %d bytes", RUN_NAME_BYTES_MAX - 1);
	}
	return st;
}

static void manifest_add_default_input(struct manifest *m)
{
	m->inputs = mem_new(1, sizeof(*m->inputs));
	m->inputs[0].name = mem_string("");
	m->inputs[0].line = 1;
	m->n_inputs = 1;
}

/* ---- all of it ---- */

static char *manifest_stem_of(const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	size_t n = strlen(name);

	return mem_bytes(name, n > 5 && strcmp(name + n - 5, ".yaml") == 0 ? n - 5 : n);
}

static char *manifest_directory_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return !slash ? mem_string(".") : slash == file ? mem_string("/") : mem_bytes(file, (size_t)(slash - file));
}

static enum assay_status manifest_parse_numbers(const struct manifest_reader *r, const struct yaml_node *root, struct manifest *m)
{
	const struct yaml_node *node;
	enum assay_status st = ASSAY_OK;
	double seconds = 600;

	m->repetitions = 5;
	m->warm_ups = 1;
	if ((node = yaml_get(root, "time_limit")))
		st = yaml_double(r->file, node, SECONDS_MIN, SECONDS_MAX, &seconds, r->err);
	m->time_limit_ms = (int64_t)(seconds * 1000 + .5);
	if (!st && (node = yaml_get(root, "repetitions")))
		st = yaml_int(r->file, node, 1, MANIFEST_REPETITIONS_MAX, &m->repetitions, r->err);
	m->sampling = true;
	if (!st && (node = yaml_get(root, "sampling")))
		st = yaml_bool(r->file, node, &m->sampling, r->err);
	if (!st && (node = yaml_get(root, "variance")))
		st = yaml_bool(r->file, node, &m->variance, r->err);
	if (!st && (node = yaml_get(root, "warm_ups")))
		st = yaml_int(r->file, node, 0, MANIFEST_REPETITIONS_MAX, &m->warm_ups, r->err);
	return st;
}

/* Names, places and what is deployed. */
static enum assay_status manifest_parse_texts(const struct manifest_reader *r, const struct yaml_node *root, struct manifest *m)
{
	const struct yaml_node *node = yaml_get(root, "application");
	const char *text = NULL;
	enum assay_status st;

	m->application = manifest_stem_of(r->file);
	m->work = mem_string(MANIFEST_DIRECTORY);
	st = manifest_parse_line(r, root, "application", &m->application);
	if (!st)
		st = manifest_check_name(r, node ? node->line : 1, "an application", m->application);
	if (!st && (node = yaml_get(root, "description")))
		st = yaml_string(r->file, node, &text, r->err);
	if (!st && node)
		m->description = mem_string(text);
	if (!st)
		st = manifest_parse_line(r, root, "work", &m->work);
	if (!st && (*m->work != '/' || manifest_leads_up(m->work)))
		st = manifest_fail(r, ASSAY_E_FORMAT, yaml_get(root, "work")->line,
				   "'work' is a directory of the hosts: it starts with '/', without '..', such as " MANIFEST_DIRECTORY);
	if (!st && (node = yaml_get(root, "files")))
		st = manifest_words_parse(r, node, MANIFEST_LITERAL, &m->files);
	m->files_lines = mem_new(m->files.n, sizeof(*m->files_lines));
	for (size_t i = 0; !st && i < m->files.n; i++) {
		m->files_lines[i] = node->n_items == m->files.n ? node->items[i].line : node->line;
		if (!manifest_is_line(m->files.items[i]))
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "an item of 'files' is not a text of one line");
	}
	return st;
}

static enum assay_status manifest_parse_root(const struct manifest_reader *r, const struct yaml_node *root, struct manifest *m)
{
	static const char *const keys[] = { "application", "description", "files",     "command",     "environment", "inputs",
					    "versions",	   "time_limit",  "metric",    "repetitions", "warm_ups",    "work",
					    "probe",	   "sampling",	  "inputs_of", "features",    "variance" };
	enum assay_status st = manifest_keys(r, root, "a manifest", keys, sizeof(keys) / sizeof(keys[0]));
	const struct yaml_node *node;

	if (!st)
		st = manifest_parse_texts(r, root, m);
	if (!st && (node = yaml_get(root, "command")))
		st = manifest_command_parse(r, node, MANIFEST_ARGUMENTS, &m->command);
	if (!st && (node = yaml_get(root, "environment")))
		st = manifest_environment_parse(r, node, &m->environment);
	if (!st && !yaml_get(root, "versions"))
		st = manifest_fail(r, ASSAY_E_FORMAT, root->line, "the manifest has no 'versions': " MANIFEST_VERSIONS_HINT);
	if (!st)
		st = manifest_parse_versions(r, yaml_get(root, "versions"), m);
	if (!st && yaml_get(root, "inputs") && (node = yaml_get(root, "inputs_of")))
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "either 'inputs' or 'inputs_of'");
	if (!st)
		st = manifest_parse_line(r, root, "inputs_of", &m->inputs_of);
	if (!st && (node = yaml_get(root, "inputs")))
		st = manifest_parse_inputs(r, node, m);
	else if (!st)
		manifest_add_default_input(m);
	if (!st && (node = yaml_get(root, "inputs_of")))
		m->inputs[0].line = node->line;
	if (!st && (node = yaml_get(root, "features")))
		st = manifest_command_parse(r, node, MANIFEST_ARGUMENTS, &m->features);
	if (!st)
		st = manifest_parse_numbers(r, root, m);
	if (!st && (node = yaml_get(root, "metric")))
		st = metric_parse(r, node, &m->metric);
	else if (!st)
		m->metric.unit = mem_string("s"); /* wall */
	if (!st && (node = yaml_get(root, "probe")))
		st = manifest_probe_parse(r, node, &m->probe);
	return st ? st : manifest_check_places(r, m);
}

/* What libyaml says about a placeholder without quotes is of no help. */
static void manifest_explain_braces(const struct manifest_reader *r, const char *text, size_t n)
{
	char said[ASSAY_ERROR_BYTES];
	const char *at = text, *end = text + n, *next;
	unsigned long line = strtoul(r->err->text + strlen(r->file) + 1, NULL, 10);

	while (at && line-- > 1)
		at = (at = memchr(at, '\n', (size_t)(end - at))) ? at + 1 : NULL;
	next = at ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	if (!at || !manifest_has_bare_placeholder(at, (size_t)((next ? next : end) - at)))
		return;
	snprintf(said, sizeof(said), "%s", r->err->text);
	assay_fail(r->err, r->err->status, "%s (a word with braces needs quotes: '{work}/x')", said);
}

enum assay_status manifest_parse(const char *file, const char *text, size_t n, struct manifest *out, struct assay_error *err)
{
	struct assay_error local;
	const struct manifest_reader r = { file, err ? err : &local };
	struct manifest m = {
		.file = mem_string(file), .directory = manifest_directory_of(file), .text = mem_bytes(text ? text : "", n), .text_bytes = n
	};
	struct yaml_node root = { .kind = YAML_SCALAR };
	enum assay_status st = yaml_parse(file, text, n, &root, r.err);

	if (st)
		manifest_explain_braces(&r, m.text, n);
	else
		st = manifest_parse_root(&r, &root, &m);
	if (!st)
		manifest_hash_all(&m);
	yaml_release(&root);
	*out = m;
	if (st)
		manifest_release(out);
	return st;
}

/* ---- files ---- */

/* ASSAY_E_FORMAT: it cannot be an input's name. */
static enum assay_status manifest_check_listed(const struct manifest_reader *r, const struct manifest *m, size_t line, const char *name)
{
	enum assay_status st = manifest_check_name(r, line, "an input", name);

	if (!st && strlen(m->application) + 1 + strlen(name) > RUN_NAME_BYTES_MAX)
		st = manifest_fail(r, ASSAY_E_FORMAT, line, "the names of application and input '%s' are together longer than %d bytes",
				   name, RUN_NAME_BYTES_MAX - 1);
	return st;
}

/* The directory's names, in the place of the one that stands for all of them. Those that cannot be names of inputs are left out. */
static enum assay_status manifest_list_inputs(struct manifest *m, struct assay_error *err)
{
	struct assay_error why;
	const struct manifest_reader r = { m->file, err }, one = { m->file, &why };
	char *directory = *m->inputs_of == '/' ? mem_string(m->inputs_of) : mem_format("%s/%s", m->directory, m->inputs_of), **names;
	size_t n, line = m->inputs[0].line;
	enum assay_status st = file_names(directory, "", &names, &n, err);

	if (st)
		assay_context(err, "%s:%zu: 'inputs_of'", m->file, line);
	manifest_input_release(&m->inputs[0]);
	m->inputs = mem_resize(m->inputs, n + 1, sizeof(*m->inputs));
	m->n_inputs = 0;
	for (size_t i = 0; i < n; i++) {
		if (!manifest_check_listed(&one, m, line, names[i]))
			m->inputs[m->n_inputs++] = (struct manifest_input){ .name = mem_string(names[i]), .line = line };
		else if (!m->left_out)
			m->left_out = mem_string(why.text);
	}
	if (!st && (m->n_inputs == 0 || m->n_inputs > MANIFEST_INPUTS_MAX))
		st = manifest_fail(&r, m->n_inputs ? ASSAY_E_LIMIT : ASSAY_E_NODATA, line,
				   "'inputs_of': there are %zu inputs in '%s', of 1 to %d%s%s", m->n_inputs, directory, MANIFEST_INPUTS_MAX,
				   m->left_out ? "; " : "", m->left_out ? m->left_out : "");
	if (m->left_out) {
		char *text = mem_format("%zu of %zu names in '%s' left out: %s", n - m->n_inputs, n, directory, m->left_out);

		free(m->left_out);
		m->left_out = text;
	}
	if (!st)
		manifest_hash_all(m);
	file_names_free(names, n);
	free(directory);
	return st;
}

static bool manifest_ends_with_yaml(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && strcmp(name + n - 5, ".yaml") == 0;
}

/* What could have been meant. */
static enum assay_status manifest_fail_unknown(const char *laboratory, const char *name, struct assay_error *err)
{
	char *directory = mem_format("%s/apps", laboratory), shown[TEXT_SHOWN_BYTES];
	const char *at = strchr(name, '@'), *nearest;
	struct buf list = BUF_INIT;
	bool has_version = false;
	char **names;
	enum assay_status st;
	size_t n;

	(void)file_names(directory, ".yaml", &names, &n, err); /* or none */
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(names[i]) - 5;

		names[i][length] = '\0';
		buf_format(&list, "%s%s", i ? ", " : "", names[i]);
		has_version = has_version || (at && (size_t)(at - name) == length && strncmp(name, names[i], length) == 0);
	}
	nearest = n ? text_nearest(name, (const char *const *)names, n) : NULL;
	if (has_version)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s': it is called '%.*s', and --versions %s chooses its version",
				text_shown(name, shown), (int)(at - name), name, at + 1);
	else
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s'%s%s%s: '%s' has %s%s", text_shown(name, shown),
				nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "", directory,
				n > 0 ? "" : "no manifest; write one as NAME.yaml", n > 0 ? list.bytes : "");
	file_names_free(names, n);
	buf_release(&list);
	free(directory);
	return st;
}

static void manifest_know_secrets(const struct manifest *m)
{
	secrets_know(m->environment.items, m->environment.n);
	for (size_t i = 0; i < m->n_versions; i++)
		secrets_know(m->versions[i].environment.items, m->versions[i].environment.n);
	for (size_t i = 0; i < m->n_inputs; i++)
		secrets_know(m->inputs[i].environment.items, m->inputs[i].environment.n);
}

enum assay_status manifest_open(const char *laboratory, const char *what, struct manifest *out, struct assay_error *err)
{
	bool is_path = strchr(what, '/') || manifest_ends_with_yaml(what);
	char *path = is_path ? mem_string(what) : mem_format("%s/apps/%s.yaml", laboratory, what);
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, YAML_BYTES_MAX, &text, err);

	*out = (struct manifest){ .file = NULL };
	if (st == ASSAY_E_NOTFOUND && !is_path)
		st = manifest_fail_unknown(laboratory, what, err);
	if (!st)
		st = manifest_parse(path, text.bytes, text.size, out, err);
	manifest_know_secrets(out);
	if (!st && out->inputs_of)
		st = manifest_list_inputs(out, err);
	buf_release(&text);
	free(path);
	return st;
}
