/* Manifests from YAML. */
#include "runs/running/manifest_internal.h"

#include "base/mem.h"
#include "base/text.h"
#include "runs/running/run.h"

#include <stdarg.h>

#define SECONDS_MIN .1
#define SECONDS_MAX 604800. /* a week */

enum assay_status manifest_fail(const struct manifest_reader *r, enum assay_status status, size_t line, const char *fmt, ...)
{
	char text[ASSAY_ERROR_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return assay_fail(r->err, status, "%s:%zu: %s", r->file, line, text);
}

/* ---- texts ---- */

bool manifest_has_control(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	}
	return false;
}

static enum assay_status check_name(const struct manifest_reader *r, size_t line, const char *what, const char *name)
{
	char shown[TEXT_SHOWN_BYTES];

	if (run_name_ok(name) && !strpbrk(name, "/,") && *name != '-' && *name != ' ' && name[strlen(name) - 1] != ' ')
		return ASSAY_OK;
	return manifest_fail(r, ASSAY_E_FORMAT, line,
	                     "'%s' cannot be the name of %s: 1 to %d bytes of text, none of @ / and comma, no - in front, no "
	                     "blanks around it",
	                     text_shown(name, shown), what, RUN_NAME_BYTES_MAX);
}

/* A text of one line that is not empty; absent: *out stays. */
static enum assay_status take_line(const struct manifest_reader *r, const struct yaml_node *map, const char *key, char **out)
{
	const struct yaml_node *node = yaml_get(map, key);
	const char *text = NULL;
	enum assay_status st = node ? yaml_string(r->file, node, &text, r->err) : ASSAY_OK;

	if (st || !node)
		return st;
	if (!*text || manifest_has_control(text))
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'%s' must be a text of one line", key);
	free(*out);
	*out = mem_string(text);
	return ASSAY_OK;
}

/* ---- versions ---- */

bool manifest_has_parent(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
			return true;
	}
	return false;
}

static enum assay_status check_git(const struct manifest_reader *r, const struct yaml_node *node,
                                   const struct manifest_version *v)
{
	const char *colon = strchr(v->repository, ':'), *slash = strchr(v->repository, '/');

	if (colon && (!slash || colon < slash))
		return manifest_fail(r, ASSAY_E_FORMAT, node->line,
		                     "the repository must be a directory of this machine: clone it first, and name the clone");
	if (!v->reference)
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "'git' has no 'reference': a tag, branch or commit");
	if (*v->reference == '-')
		return manifest_fail(r, ASSAY_E_FORMAT, node->line, "a reference does not begin with '-'");
	if (v->directory && (*v->directory == '/' || manifest_has_parent(v->directory)))
		return manifest_fail(r, ASSAY_E_FORMAT, node->line,
		                     "the directory of 'git' is below the work tree: no '/' in front, no '..'");
	return ASSAY_OK;
}

static enum assay_status take_git(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_version *v)
{
	static const char *const keys[] = {"repository", "reference", "build", "directory"};
	enum assay_status st = yaml_keys(r->file, node, "git", keys, sizeof(keys) / sizeof(keys[0]), r->err);
	const struct yaml_node *build;

	v->kind = MANIFEST_GIT;
	if (st)
		return st;
	v->repository = mem_string(".");
	st = take_line(r, node, "repository", &v->repository);
	if (!st)
		st = take_line(r, node, "reference", &v->reference);
	if (!st)
		st = take_line(r, node, "directory", &v->directory);
	if (!st && (build = yaml_get(node, "build")))
		st = manifest_take_command(r, build, MANIFEST_LITERAL, &v->build);
	return st ? st : check_git(r, node, v);
}

static enum assay_status take_version(const struct manifest_reader *r, const struct yaml_node *map, const struct yaml_node *node,
                                      struct manifest_version *v)
{
	static const char *const keys[] = {"directory", "git", "command", "environment"};
	enum assay_status st = check_name(r, node->line, "a version", node->key);
	const struct yaml_node *value;

	v->name = mem_string(node->key);
	v->line = node->line;
	if (st || !yaml_get(map, node->key))
		return st; /* nothing of its own */
	st = yaml_keys(r->file, node, "a version", keys, sizeof(keys) / sizeof(keys[0]), r->err);
	if (!st && yaml_get(node, "directory") && yaml_get(node, "git"))
		st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "the version '%s' has both 'directory' and 'git': one of them",
		                   v->name);
	if (!st)
		st = take_line(r, node, "directory", &v->directory);
	if (!st && v->directory)
		v->kind = MANIFEST_DIR;
	if (!st && (value = yaml_get(node, "git")))
		st = take_git(r, value, v);
	if (!st && (value = yaml_get(node, "command")))
		st = manifest_take_command(r, value, MANIFEST_ARGUMENTS, &v->command);
	if (!st && (value = yaml_get(node, "environment")))
		st = manifest_take_environment(r, value, &v->environment);
	return st;
}

static enum assay_status take_versions(const struct manifest_reader *r, const struct yaml_node *map, struct manifest *m)
{
	enum assay_status st = ASSAY_OK;

	if (map->kind != YAML_MAP || map->n_items == 0)
		return manifest_fail(r, ASSAY_E_FORMAT, map->line,
		                     "'versions' is a map with at least one version, such as {old: {directory: build-old}, "
		                     "new: {directory: build-new}}");
	if (map->n_items > MANIFEST_VERSIONS_MAX)
		return manifest_fail(r, ASSAY_E_LIMIT, map->line, "more than %d versions", MANIFEST_VERSIONS_MAX);
	m->versions = mem_new(map->n_items, sizeof(*m->versions));
	for (size_t i = 0; !st && i < map->n_items; i++) {
		struct manifest_version *v = &m->versions[m->n_versions++];

		st = take_version(r, map, &map->items[i], v);
		if (!st && m->command.n == 0 && v->command.n == 0)
			st = manifest_fail(r, ASSAY_E_FORMAT, v->line,
			                   "the version '%s' has no command, and the manifest has none either", v->name);
	}
	return st;
}

/* ---- inputs ---- */

static enum assay_status take_input(const struct manifest_reader *r, const struct yaml_node *node, const char *const *keys,
                                    size_t n_keys, struct manifest_input *in)
{
	enum assay_status st = yaml_keys(r->file, node, "an input", keys, n_keys, r->err);
	const struct yaml_node *value;

	in->line = node->line;
	if (!st && (value = yaml_get(node, "arguments")))
		st = manifest_take_words(r, value, MANIFEST_EXPANDED, &in->arguments);
	if (!st && (value = yaml_get(node, "environment")))
		st = manifest_take_environment(r, value, &in->environment);
	return st;
}

/* A map by name, or a list of maps that have a name. */
static enum assay_status take_named_input(const struct manifest_reader *r, const struct yaml_node *all,
                                          const struct yaml_node *node, struct manifest_input *in)
{
	static const char *const keys[] = {"arguments", "environment", "name"};
	enum assay_status st = ASSAY_OK;

	if (all->kind == YAML_MAP) {
		in->name = mem_string(node->key);
		in->line = node->line;
		if (yaml_get(all, node->key))
			st = take_input(r, node, keys, 2, in);
	} else {
		st = take_input(r, node, keys, 3, in);
		if (!st)
			st = take_line(r, node, "name", &in->name);
		if (!st && !in->name)
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "this input has no 'name'");
	}
	return st ? st : check_name(r, node->line, "an input", in->name);
}

static enum assay_status take_inputs(const struct manifest_reader *r, const struct yaml_node *all, struct manifest *m)
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

		st = take_named_input(r, all, &all->items[i], in);
		for (size_t k = 0; !st && k < i; k++) {
			if (strcmp(m->inputs[k].name, in->name) == 0)
				st = manifest_fail(r, ASSAY_E_FORMAT, in->line,
				                   "the input '%s' stands here again (first on line %zu)", in->name,
				                   m->inputs[k].line);
		}
		if (!st && strlen(m->application) + 1 + strlen(in->name) > RUN_NAME_BYTES_MAX)
			st = manifest_fail(r, ASSAY_E_FORMAT, in->line,
			                   "the names of application and input are together longer than %d bytes",
			                   RUN_NAME_BYTES_MAX - 1);
	}
	return st;
}

static void one_input(struct manifest *m)
{
	m->inputs = mem_new(1, sizeof(*m->inputs));
	m->inputs[0].name = mem_string("");
	m->inputs[0].line = 1;
	m->n_inputs = 1;
}

/* ---- all of it ---- */

static char *stem_of(const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	size_t n = strlen(name);

	return mem_bytes(name, n > 5 && strcmp(name + n - 5, ".yaml") == 0 ? n - 5 : n);
}

static char *directory_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return !slash ? mem_string(".") : slash == file ? mem_string("/") : mem_bytes(file, (size_t)(slash - file));
}

static enum assay_status take_numbers(const struct manifest_reader *r, const struct yaml_node *root, struct manifest *m)
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
	if (!st && (node = yaml_get(root, "warm_ups")))
		st = yaml_int(r->file, node, 0, MANIFEST_REPETITIONS_MAX, &m->warm_ups, r->err);
	return st;
}

/* Names, places and what is deployed. */
static enum assay_status take_texts(const struct manifest_reader *r, const struct yaml_node *root, struct manifest *m)
{
	const struct yaml_node *node = yaml_get(root, "application");
	const char *text = NULL;
	enum assay_status st;

	m->application = stem_of(r->file);
	m->work = mem_string(MANIFEST_DIRECTORY);
	st = take_line(r, root, "application", &m->application);
	if (!st)
		st = check_name(r, node ? node->line : 1, "an application", m->application);
	if (!st && (node = yaml_get(root, "description")))
		st = yaml_string(r->file, node, &text, r->err);
	if (!st && node)
		m->description = mem_string(text);
	if (!st)
		st = take_line(r, root, "work", &m->work);
	if (!st && (*m->work != '/' || manifest_has_parent(m->work)))
		st = manifest_fail(r, ASSAY_E_FORMAT, yaml_get(root, "work")->line,
		                   "'work' is a directory of the hosts: it starts with '/', without '..'");
	if (!st && (node = yaml_get(root, "files")))
		st = manifest_take_words(r, node, MANIFEST_LITERAL, &m->files);
	for (size_t i = 0; !st && i < m->files.n; i++) {
		if (!*m->files.items[i] || manifest_has_control(m->files.items[i]))
			st = manifest_fail(r, ASSAY_E_FORMAT, node->line, "an item of 'files' is not a text of one line");
	}
	return st;
}

static enum assay_status take_root(const struct manifest_reader *r, const struct yaml_node *root, struct manifest *m)
{
	static const char *const keys[] = {"application", "description", "files",  "command",     "environment", "inputs",
	                                   "versions",    "time_limit",  "metric", "repetitions", "warm_ups",    "work",
	                                   "probe"};
	enum assay_status st = yaml_keys(r->file, root, "a manifest", keys, sizeof(keys) / sizeof(keys[0]), r->err);
	const struct yaml_node *node;

	if (!st)
		st = take_texts(r, root, m);
	if (!st && (node = yaml_get(root, "command")))
		st = manifest_take_command(r, node, MANIFEST_ARGUMENTS, &m->command);
	if (!st && (node = yaml_get(root, "environment")))
		st = manifest_take_environment(r, node, &m->environment);
	if (!st && !yaml_get(root, "versions"))
		st = manifest_fail(r, ASSAY_E_FORMAT, root->line, "the manifest has no 'versions'");
	if (!st)
		st = take_versions(r, yaml_get(root, "versions"), m);
	if (!st && (node = yaml_get(root, "inputs")))
		st = take_inputs(r, node, m);
	else if (!st)
		one_input(m);
	if (!st)
		st = take_numbers(r, root, m);
	if (!st && (node = yaml_get(root, "metric")))
		st = manifest_take_metric(r, node, &m->metric);
	else if (!st)
		m->metric.unit = mem_string("s"); /* wall */
	if (!st && (node = yaml_get(root, "probe")))
		st = manifest_take_probe(r, node, &m->probe);
	return st ? st : manifest_check_places(r, m);
}

/* What YAML says of a placeholder without quotes helps nobody. */
static void explain_braces(const struct manifest_reader *r, const char *text, size_t n)
{
	char said[ASSAY_ERROR_BYTES];
	const char *at = text, *end = text + n, *next;
	unsigned long line = strtoul(r->err->text + strlen(r->file) + 1, NULL, 10);

	while (at && line-- > 1)
		at = (at = memchr(at, '\n', (size_t)(end - at))) ? at + 1 : NULL;
	next = at ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	if (!at || !manifest_bare_placeholder(at, (size_t)((next ? next : end) - at)))
		return;
	snprintf(said, sizeof(said), "%s", r->err->text);
	assay_fail(r->err, r->err->status, "%s (a word with braces needs quotes: '{work}/x')", said);
}

enum assay_status manifest_parse(const char *file, const char *text, size_t n, struct manifest *out, struct assay_error *err)
{
	struct assay_error local;
	const struct manifest_reader r = {file, err ? err : &local};
	struct manifest m = {
	    .file = mem_string(file), .directory = directory_of(file), .text = mem_bytes(text ? text : "", n), .text_bytes = n};
	struct yaml_node root = {.kind = YAML_SCALAR};
	enum assay_status st = yaml_parse(file, text, n, &root, r.err);

	if (st)
		explain_braces(&r, m.text, n);
	else
		st = take_root(&r, &root, &m);
	if (!st)
		manifest_update_hash(&m);
	yaml_release(&root);
	*out = m;
	if (st)
		manifest_release(out);
	return st;
}
