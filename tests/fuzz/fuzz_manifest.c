/* Checks that a manifest that is accepted is within its limits, has a command for each version and input, needs reasonable time, and has
 * the same hash if it is written and read again. */
#include "base/buf.h"
#include "base/mem.h"
#include "runs/running/manifest.h"
#include "runs/running/run.h"

#include <inttypes.h>
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Appends a quoted text. Sets *plain to false if the text contains other than printable ASCII characters. */
static void add_quoted(struct buf *out, const char *text, bool *plain)
{
	buf_char(out, '"');
	for (; *text; text++) {
		*plain = *plain && *text >= ' ' && *text <= '~';
		if (*text == '"' || *text == '\\')
			buf_char(out, '\\');
		buf_char(out, *text);
	}
	buf_char(out, '"');
}

static void add_words(struct buf *out, const char *key, const struct manifest_arguments *words, bool *plain)
{
	ASSAY_BUG_IF(words->n > MANIFEST_ARGUMENTS_MAX);
	if (words->n == 0)
		return;
	buf_format(out, "%s: [", key);
	for (size_t i = 0; i < words->n; i++) {
		buf_text(out, i ? ", " : "");
		add_quoted(out, words->items[i], plain);
	}
	buf_text(out, "], ");
}

static void add_environment(struct buf *out, const struct manifest_arguments *words, bool *plain)
{
	if (words->n == 0)
		return;
	buf_text(out, "environment: {");
	for (size_t i = 0; i < words->n; i++) {
		size_t name = strcspn(words->items[i], "=");

		ASSAY_BUG_IF(name == 0 || !words->items[i][name]);
		buf_format(out, "%s%.*s: ", i ? ", " : "", (int)name, words->items[i]);
		add_quoted(out, words->items[i] + name + 1, plain);
	}
	buf_text(out, "}, ");
}

static void add_pair(struct buf *out, const char *key, const char *value, bool *plain)
{
	if (!value)
		return;
	buf_format(out, "%s: ", key);
	add_quoted(out, value, plain);
	buf_text(out, ", ");
}

/* Appends a version's own settings as a map: for all architectures, or for each one. */
static void add_own(struct buf *out, const struct manifest_version *v, bool *plain)
{
	bool apart = v->n_own_files && v->own[0].architecture, builds = false, directories = false;

	for (size_t i = 0; i < v->n_own_files; i++) {
		ASSAY_BUG_IF(!v->own[i].architecture == apart ||
			     manifest_find_own_files(v, apart ? v->own[i].architecture : "any") != &v->own[i]);
		ASSAY_BUG_IF(v->kind == MANIFEST_DIR && !v->own[i].directory);
		builds = builds || v->own[i].build.n;
		directories = directories || v->own[i].directory;
	}
	for (size_t i = 0; !apart && i < v->n_own_files; i++) {
		add_words(out, "build", &v->own[i].build, plain);
		add_pair(out, "directory", v->own[i].directory, plain);
	}
	if (apart && builds) {
		buf_text(out, "build: {");
		for (size_t i = 0; i < v->n_own_files; i++)
			add_words(out, v->own[i].architecture, &v->own[i].build, plain);
		buf_text(out, "}, ");
	}
	if (apart && directories) {
		buf_text(out, "directory: {");
		for (size_t i = 0; i < v->n_own_files; i++)
			add_pair(out, v->own[i].architecture, v->own[i].directory, plain);
		buf_text(out, "}, ");
	}
}

static void add_version(struct buf *out, const struct manifest_version *v, bool *plain)
{
	ASSAY_BUG_IF(run_name_fault(v->name) || strpbrk(v->name, "/,"));
	ASSAY_BUG_IF(v->kind == MANIFEST_GIT && (!v->repository || !v->reference || *v->reference == '-'));
	add_quoted(out, v->name, plain);
	buf_text(out, ": {");
	if (v->kind == MANIFEST_GIT) {
		buf_text(out, "git: {");
		add_pair(out, "repository", v->repository, plain);
		add_pair(out, "reference", v->reference, plain);
	}
	ASSAY_BUG_IF(v->kind == MANIFEST_SOURCES && (!v->repository || v->reference));
	if (v->kind == MANIFEST_SOURCES)
		add_pair(out, "sources", v->repository, plain);
	add_own(out, v, plain);
	buf_text(out, v->kind == MANIFEST_GIT ? "}, " : "");
	add_words(out, "command", &v->command, plain);
	add_environment(out, &v->environment, plain);
	buf_text(out, "}, ");
}

static void add_inputs(struct buf *out, const struct manifest *m, bool *plain)
{
	if (!*m->inputs[0].name)
		return;
	buf_text(out, "inputs: {");
	for (size_t i = 0; i < m->n_inputs; i++) {
		char *name = manifest_stored_name(m, i);

		ASSAY_BUG_IF(run_name_fault(name));
		free(name);
		add_quoted(out, m->inputs[i].name, plain);
		buf_text(out, ": {");
		add_words(out, "arguments", &m->inputs[i].arguments, plain);
		add_environment(out, &m->inputs[i].environment, plain);
		buf_text(out, "}, ");
	}
	buf_text(out, "}, ");
}

static void add_metric(struct buf *out, const struct metric *metric, bool *plain)
{
	buf_format(out, "metric: {source: %s, ", metric_source_name(metric->source));
	add_pair(out, "pattern", metric->pattern, plain);
	add_pair(out, "name", metric->name, plain);
	if (metric->source == METRIC_REGEX)
		buf_format(out, "direction: %s, ", metric->higher_is_better ? "higher" : "lower");
	if (metric->source == METRIC_GOOGLE_BENCHMARK)
		buf_format(out, "time: %s, ", metric->cpu_time ? "cpu" : "real");
	buf_text(out, "}, ");
}

/* Checks that the probe's settings, as they are stored with a plan, are YAML with the same meaning. */
static void check_probe(const struct manifest *m)
{
	char *kept = manifest_probe_text(&m->probe), *text = mem_format("command: [a]\nversions: {a: }\nprobe: %s", kept), *again;
	struct assay_error err = { .text = "" };
	struct manifest other;
	bool plain = true;

	ASSAY_BUG_IF(!(m->probe.budget >= 0 && m->probe.budget <= 1) || (!m->probe.changed && m->probe.functions.n == 0));
	for (const char *at = kept; *at; at++)
		plain = plain && (*at == '\n' || (*at >= ' ' && *at <= '~'));
	if (plain && manifest_parse("again", text, strlen(text), &other, &err)) {
		fprintf(stderr, "%s\n%s\n", err.text, text);
		ASSAY_BUG_IF("what is kept cannot be read" != NULL);
	} else if (plain) {
		again = manifest_probe_text(&other.probe);
		ASSAY_BUG_IF(strcmp(again, kept) != 0);
		free(again);
		manifest_release(&other);
	}
	free(text);
	free(kept);
}

static void check_again(const struct manifest *m)
{
	struct assay_error err = { .text = "" };
	struct buf text = BUF_INIT;
	struct manifest again;
	bool plain = true;

	buf_text(&text, "{");
	add_pair(&text, "application", m->application, &plain);
	add_words(&text, "files", &m->files, &plain);
	add_words(&text, "command", &m->command, &plain);
	add_environment(&text, &m->environment, &plain);
	buf_text(&text, "versions: {");
	for (size_t i = 0; i < m->n_versions; i++)
		add_version(&text, &m->versions[i], &plain);
	buf_text(&text, "}, ");
	add_inputs(&text, m, &plain);
	add_metric(&text, &m->metric, &plain);
	add_pair(&text, "work", m->work, &plain);
	buf_format(&text, "time_limit: %" PRId64 ".%03" PRId64 "}\n", m->time_limit_ms / 1000, m->time_limit_ms % 1000);
	if (plain) {
		if (manifest_parse("again", text.bytes, text.size, &again, &err)) {
			fprintf(stderr, "%s\n%s\n", err.text, text.bytes);
			ASSAY_BUG_IF("what was written cannot be read" != NULL);
		}
		if (strcmp(again.hash, m->hash) != 0) {
			fprintf(stderr, "%s\n", text.bytes);
			ASSAY_BUG_IF("what was written has another hash" != NULL);
		}
		manifest_release(&again);
	}
	buf_release(&text);
}

static void check_commands(const struct manifest *m)
{
	const struct manifest_directories places = { "/files", "/build", "/work" };
	size_t last_version = m->n_versions - 1, last_input = m->n_inputs - 1;

	for (size_t i = 0; i < m->n_versions; i++) {
		struct manifest_directories own = places;
		struct manifest_arguments command, environment;

		if (m->versions[i].kind == MANIFEST_NO_FILES)
			own.build = NULL; /* must not be used in this case */
		manifest_command(m, false, i, i % m->n_inputs, &own, &command, &environment);
		ASSAY_BUG_IF(command.n == 0 || !*command.items[0]);
		manifest_arguments_release(&command);
		manifest_arguments_release(&environment);
	}
	ASSAY_BUG_IF(manifest_find_version(m, m->versions[last_version].name) != last_version);
	ASSAY_BUG_IF(manifest_find_input(m, m->inputs[last_input].name) != last_input);
}

static void check_metric(const struct manifest *m, const char *text, size_t n)
{
	const struct metric_usage usage = { 1, 1, 1 };
	struct assay_error err = { .text = "" };
	char *warning = NULL;
	double value = 0;

	if (!metric_read(&m->metric, &usage, text, n, &value, &warning, &err))
		ASSAY_BUG_IF(!isfinite(value) || value <= 0);
	free(warning);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct manifest m;

	if (manifest_parse("fuzz", (const char *)data, size, &m, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n') || m.versions);
		return 0;
	}
	ASSAY_BUG_IF(m.n_versions < 1 || m.n_versions > MANIFEST_VERSIONS_MAX || m.n_inputs < 1 || m.n_inputs > MANIFEST_INPUTS_MAX);
	ASSAY_BUG_IF(m.repetitions < 1 || m.repetitions > MANIFEST_REPETITIONS_MAX || m.warm_ups < 0 || m.time_limit_ms < 100);
	ASSAY_BUG_IF(*m.work != '/' || run_name_fault(m.application) || strlen(m.hash) != DIGEST_HEX_BYTES - 1 || m.text_bytes != size);
	check_commands(&m);
	check_metric(&m, (const char *)data, size);
	check_again(&m);
	check_probe(&m);
	manifest_release(&m);
	return 0;
}
