#include "runs/running/manifest_parse.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "fleet/agent/program.h"
#include "runs/running/run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>

void manifest_arguments_release(struct manifest_arguments *words)
{
	mem_free_all(words->items, words->n);
	*words = (struct manifest_arguments){ NULL, 0 };
}

void manifest_arguments_add(struct manifest_arguments *words, const char *word)
{
	words->items = mem_resize(words->items, words->n + 1, sizeof(char *));
	words->items[words->n++] = mem_string(word);
}

/* Frees the members. Accepts a zeroed struct. */
static void manifest_probe_release(struct manifest_probe *probe)
{
	manifest_arguments_release(&probe->functions);
	manifest_arguments_release(&probe->counters);
	free(probe->module);
	*probe = (struct manifest_probe){ .module = NULL };
}

static void manifest_version_release(struct manifest_version *version)
{
	mem_free(version->name, version->derived_from);
	for (size_t i = 0; i < version->n_own_files; i++) {
		mem_free(version->own[i].architecture, version->own[i].directory);
		manifest_arguments_release(&version->own[i].build);
	}
	mem_free(version->own, version->repository, version->reference);
	manifest_arguments_release(&version->command);
	manifest_arguments_release(&version->environment);
}

static void manifest_input_release(struct manifest_input *input)
{
	free(input->name);
	manifest_arguments_release(&input->arguments);
	manifest_arguments_release(&input->environment);
}

void manifest_release(struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->n_versions; i++)
		manifest_version_release(&manifest->versions[i]);
	for (size_t i = 0; i < manifest->n_inputs; i++)
		manifest_input_release(&manifest->inputs[i]);
	mem_free(manifest->versions, manifest->inputs, manifest->file, manifest->directory, manifest->text, manifest->application,
		 manifest->description, manifest->work, manifest->inputs_directory, manifest->excluded_inputs);
	manifest_arguments_release(&manifest->features);
	manifest_arguments_release(&manifest->files);
	free(manifest->files_lines);
	manifest_arguments_release(&manifest->command);
	manifest_arguments_release(&manifest->environment);
	mem_free(manifest->metric.pattern, manifest->metric.name, manifest->metric.unit);
	manifest_probe_release(&manifest->probe);
	*manifest = (struct manifest){ .file = NULL };
}

static void manifest_copy_arguments(const struct manifest_arguments *from, struct manifest_arguments *to)
{
	*to = (struct manifest_arguments){ NULL, 0 };
	for (size_t i = 0; i < from->n; i++)
		manifest_arguments_add(to, from->items[i]);
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
	to->derived_from = mem_string(from.derived_from ? from.derived_from : from.name);
	to->own = mem_new(from.n_own_files, sizeof(*to->own));
	for (size_t i = 0; i < from.n_own_files; i++) {
		to->own[i].architecture = manifest_copy_text(from.own[i].architecture);
		to->own[i].directory = manifest_copy_text(from.own[i].directory);
		manifest_copy_arguments(&from.own[i].build, &to->own[i].build);
	}
	to->repository = manifest_copy_text(from.repository);
	to->reference = manifest_copy_text(reference ? reference : from.reference);
	manifest_copy_arguments(&from.command, &to->command);
	manifest_copy_arguments(&from.environment, &to->environment);
}

size_t manifest_suffix_length(const char *name)
{
	const char *plus = strrchr(name, '+');
	struct injection ignored;

	return plus && plus > name && (strcmp(plus, MANIFEST_COPY_SUFFIX) == 0 || injection_parse(plus + 1, &ignored)) ? strlen(plus) : 0;
}

void manifest_derive(struct manifest *manifest, const char *name)
{
	size_t n = strlen(name), added = manifest_suffix_length(name), of;
	bool is_commit = n > MANIFEST_COMMIT_DIGITS + 1 && name[n - MANIFEST_COMMIT_DIGITS - 1] == '-' &&
			 strspn(name + n - MANIFEST_COMMIT_DIGITS, "0123456789abcdef") == MANIFEST_COMMIT_DIGITS;
	char *stem;

	if ((!added && !is_commit) || manifest_find_version(manifest, name) != SIZE_MAX)
		return;
	stem = mem_bytes(name, added ? n - added : n - MANIFEST_COMMIT_DIGITS - 1);
	if (added)
		manifest_derive(manifest, stem);
	of = manifest_find_version(manifest, stem);
	if (of != SIZE_MAX && (added || (manifest->versions[of].kind == MANIFEST_GIT && !manifest->versions[of].derived_from)))
		manifest_add_derived(manifest, of, name, added ? NULL : name + n - MANIFEST_COMMIT_DIGITS);
	if (of != SIZE_MAX && added)
		(void)injection_parse(name + n - added + 1, &manifest->versions[manifest->n_versions - 1].injection);
	free(stem);
}

size_t manifest_find_version(const struct manifest *manifest, const char *name)
{
	for (size_t i = 0; i < manifest->n_versions; i++)
		if (strcmp(manifest->versions[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

const struct manifest_own_files *manifest_find_own_files(const struct manifest_version *version, const char *architecture)
{
	for (size_t i = 0; i < version->n_own_files; i++) {
		const char *of = version->own[i].architecture;

		if (!of || strcmp(of, architecture) == 0)
			return &version->own[i];
	}
	return NULL;
}

char *manifest_explain_no_files(const struct manifest *manifest, const struct manifest_version *version, const char *architecture)
{
	struct buf text = BUF_INIT;

	buf_format(&text, "version '%s' is for ", version->name);
	for (size_t i = 0; i < version->n_own_files; i++)
		buf_format(&text, "%s%s", i ? ", " : "", version->own[i].architecture);
	buf_format(&text, " only, not for %s: add it to its '%s' (%s, line %zu)", architecture,
		   manifest_is_built(version) ? "build" : "directory", manifest->file, version->line);
	return buf_take(&text);
}

size_t manifest_find_input(const struct manifest *manifest, const char *name)
{
	for (size_t i = 0; i < manifest->n_inputs; i++)
		if (strcmp(manifest->inputs[i].name, name) == 0)
			return i;
	return manifest->inputs_directory && !*manifest->inputs[0].name ? 0 : SIZE_MAX;
}

bool manifest_is_built(const struct manifest_version *version)
{
	return version->kind == MANIFEST_GIT || version->kind == MANIFEST_SOURCES;
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

/* ---- expansion of placeholders ---- */

struct words_expansion {
	const char *values[PLACEHOLDERS];
};

static char *arguments_expand(const struct words_expansion *e, const char *word)
{
	struct buf out = BUF_INIT;
	struct argument_piece piece;

	while (manifest_next_piece(&word, &piece)) {
		ASSAY_BUG_IF(piece.place == PLACEHOLDER_UNKNOWN || (piece.place < PLACEHOLDERS && !e->values[piece.place]));
		if (piece.place == PLACEHOLDER_NONE)
			buf_add(&out, piece.text, piece.n);
		else
			buf_text(&out, e->values[piece.place]);
	}
	return buf_take(&out);
}

static void arguments_add_expanded(const struct words_expansion *e, const struct manifest_arguments *words, struct manifest_arguments *out)
{
	for (size_t i = 0; i < words->n; i++) {
		char *word = arguments_expand(e, words->items[i]);

		manifest_arguments_add(out, word);
		free(word);
	}
}

/* Adds expanded variables to `out`. A later value of the same variable replaces the earlier one. */
static void arguments_add_variables(const struct words_expansion *e, const struct manifest_arguments *words, struct manifest_arguments *out)
{
	for (size_t i = 0; i < words->n; i++) {
		char *word = arguments_expand(e, words->items[i]);
		size_t name = strcspn(word, "=") + 1, k = 0;

		while (k < out->n && strncmp(out->items[k], word, name) != 0)
			k++;
		if (k == out->n) {
			manifest_arguments_add(out, word);
			free(word);
		} else {
			free(out->items[k]);
			out->items[k] = word;
		}
	}
}

static void arguments_add_command(const struct words_expansion *e, const struct manifest_arguments *words,
				  const struct manifest_input *input, struct manifest_arguments *out)
{
	bool placed = false;

	for (size_t i = 0; i < words->n; i++) {
		const struct manifest_arguments one = { &words->items[i], 1 };
		bool is_arguments = strcmp(words->items[i], "{arguments}") == 0;

		arguments_add_expanded(e, is_arguments ? &input->arguments : &one, out);
		placed = placed || is_arguments;
	}
	if (!placed)
		arguments_add_expanded(e, &input->arguments, out);
}

void manifest_command(const struct manifest *manifest, bool features, size_t version, size_t input,
		      const struct manifest_directories *places, struct manifest_arguments *command, struct manifest_arguments *environment)
{
	const struct manifest_version *v = &manifest->versions[version];
	const struct manifest_input *in = &manifest->inputs[input];
	const struct words_expansion e = { { places->files, places->build, places->work, in->name,
					     v->derived_from ? v->derived_from : v->name, NULL } };

	*command = *environment = (struct manifest_arguments){ NULL, 0 };
	arguments_add_command(&e, features ? &manifest->features : manifest_find_command(manifest, v), in, command);
	arguments_add_variables(&e, &manifest->environment, environment);
	arguments_add_variables(&e, &v->environment, environment);
	arguments_add_variables(&e, &in->environment, environment);
}

void manifest_input_arguments(const struct manifest *manifest, size_t input, struct manifest_arguments *arguments,
			      struct manifest_arguments *environment)
{
	const struct manifest_input *in = &manifest->inputs[input];
	const struct words_expansion e = { { "{files}", "{build}", "{work}", in->name, "{version}", NULL } };

	*arguments = *environment = (struct manifest_arguments){ NULL, 0 };
	arguments_add_expanded(&e, &in->arguments, arguments);
	arguments_add_variables(&e, &in->environment, environment);
}

/* Checks that `name` can be an input's name. Fails with ASSAY_E_FORMAT. */
static enum assay_status manifest_check_listed(const struct manifest_reader *r, const struct manifest *m, size_t line, const char *name)
{
	enum assay_status st = manifest_check_name(r, line, "an input", name);

	if (!st && strlen(m->application) + 1 + strlen(name) > RUN_NAME_BYTES_MAX)
		st = manifest_fail(r, ASSAY_E_FORMAT, line, "the names of application and input '%s' are together longer than %d bytes",
				   name, RUN_NAME_BYTES_MAX - 1);
	return st;
}

/* Replaces the unnamed input by the entries of the directory `inputs_directory`. Excludes entries whose names cannot be inputs. */
static enum assay_status manifest_list_inputs(struct manifest *m, struct assay_error *err)
{
	struct assay_error why;
	const struct manifest_reader r = { m->file, err }, one = { m->file, &why };
	char *directory =
		 *m->inputs_directory == '/' ? mem_string(m->inputs_directory) : mem_format("%s/%s", m->directory, m->inputs_directory),
	     **names;
	size_t n, line = m->inputs[0].line;
	enum assay_status st = file_list_names(directory, "", &names, &n, err);

	if (st)
		assay_add_context(err, "%s:%zu: 'inputs_of'", m->file, line);
	manifest_input_release(&m->inputs[0]);
	m->inputs = mem_resize(m->inputs, n + 1, sizeof(*m->inputs));
	m->n_inputs = 0;
	for (size_t i = 0; i < n; i++) {
		if (!manifest_check_listed(&one, m, line, names[i]))
			m->inputs[m->n_inputs++] = (struct manifest_input){ .name = mem_string(names[i]), .line = line };
		else if (!m->excluded_inputs)
			m->excluded_inputs = mem_string(why.text);
	}
	if (!st && (m->n_inputs == 0 || m->n_inputs > MANIFEST_INPUTS_MAX))
		st = manifest_fail(&r, m->n_inputs ? ASSAY_E_LIMIT : ASSAY_E_NODATA, line,
				   "'inputs_of': there are %zu inputs in '%s', of 1 to %d%s%s", m->n_inputs, directory, MANIFEST_INPUTS_MAX,
				   m->excluded_inputs ? "; " : "", m->excluded_inputs ? m->excluded_inputs : "");
	if (m->excluded_inputs) {
		char *text = mem_format("%zu of %zu names in '%s' excluded: %s", n - m->n_inputs, n, directory, m->excluded_inputs);

		free(m->excluded_inputs);
		m->excluded_inputs = text;
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

/* Fails with the existing names and the most similar one. */
static enum assay_status manifest_fail_unknown(const char *laboratory, const char *name, struct assay_error *err)
{
	char *directory = mem_format("%s/apps", laboratory), shown[TEXT_SANITIZED_BYTES];
	const char *at = strchr(name, '@'), *nearest;
	struct buf list = BUF_INIT;
	bool has_version = false;
	char **names;
	enum assay_status st;
	size_t n;

	(void)file_list_names(directory, ".yaml", &names, &n, err); /* fails if there is no such directory; then there are no names */
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(names[i]) - 5;

		names[i][length] = '\0';
		buf_format(&list, "%s%s", i ? ", " : "", names[i]);
		has_version = has_version || (at && (size_t)(at - name) == length && strncmp(name, names[i], length) == 0);
	}
	nearest = n ? text_nearest(name, (const char *const *)names, n) : NULL;
	if (has_version)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s': it is called '%.*s', and --versions %s chooses its version",
				text_sanitize(name, shown), (int)(at - name), name, at + 1);
	else
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s'%s%s%s: '%s' has %s%s", text_sanitize(name, shown),
				nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "", directory,
				n > 0 ? "" : "no manifest; write one as NAME.yaml, or name a laboratory with -C DIR",
				n > 0 ? list.bytes : "");
	file_names_free(names, n);
	buf_release(&list);
	free(directory);
	return st;
}

static void manifest_register_secrets(const struct manifest *m)
{
	secrets_register(m->environment.items, m->environment.n);
	for (size_t i = 0; i < m->n_versions; i++)
		secrets_register(m->versions[i].environment.items, m->versions[i].environment.n);
	for (size_t i = 0; i < m->n_inputs; i++)
		secrets_register(m->inputs[i].environment.items, m->inputs[i].environment.n);
}

enum assay_status manifest_open(const char *laboratory, const char *what, struct manifest *out, struct assay_error *err)
{
	bool is_path = strchr(what, '/') || manifest_ends_with_yaml(what);
	char *path = is_path ? mem_string(what) : mem_format("%s/apps/%s.yaml", laboratory, what);
	struct buf text = BUF_INIT;
	enum assay_status st = file_read_cached(path, YAML_BYTES_MAX, &text, err);

	*out = (struct manifest){ .file = NULL };
	if (st == ASSAY_E_NOTFOUND && !is_path)
		st = manifest_fail_unknown(laboratory, what, err);
	if (!st)
		st = manifest_parse(path, text.bytes, text.size, out, err);
	manifest_register_secrets(out);
	if (!st && out->inputs_directory)
		st = manifest_list_inputs(out, err);
	buf_release(&text);
	free(path);
	return st;
}
