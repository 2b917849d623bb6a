/* The hash of what a manifest measures. Comments, blanks and the order of versions, inputs and variables do not change it; nor do
 * `description`, a metric's `unit` (both are for people), repetitions and warm_ups (how often, not what). */
#include "runs/running/manifest_internal.h"

#include "base/buf.h"
#include "base/mem.h"

#include <inttypes.h>

/* Length before text: no two lists of words give the same bytes. NULL is not "". */
static void add_text(struct buf *out, const char *text)
{
	if (text)
		buf_format(out, "%zu:%s\n", strlen(text), text);
	else
		buf_text(out, "-\n");
}

static void add_words(struct buf *out, const struct manifest_words *words)
{
	buf_format(out, "%zu words\n", words->n);
	for (size_t i = 0; i < words->n; i++)
		add_text(out, words->items[i]);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_set(struct buf *out, const struct manifest_words *words)
{
	struct manifest_words sorted = {mem_new(words->n, sizeof(char *)), words->n};

	for (size_t i = 0; i < words->n; i++)
		sorted.items[i] = words->items[i];
	qsort(sorted.items, sorted.n, sizeof(char *), compare_texts);
	add_words(out, &sorted);
	free(sorted.items);
}

static int compare_versions(const void *a, const void *b)
{
	return strcmp((*(const struct manifest_version *const *)a)->name, (*(const struct manifest_version *const *)b)->name);
}

static void add_versions(struct buf *out, const struct manifest *manifest)
{
	const struct manifest_version **sorted = mem_new(manifest->n_versions, sizeof(*sorted));

	for (size_t i = 0; i < manifest->n_versions; i++)
		sorted[i] = &manifest->versions[i];
	qsort(sorted, manifest->n_versions, sizeof(*sorted), compare_versions);
	for (size_t i = 0; i < manifest->n_versions; i++) {
		add_text(out, sorted[i]->name);
		buf_format(out, "kind %d\n", (int)sorted[i]->kind);
		add_text(out, sorted[i]->directory);
		add_text(out, sorted[i]->repository);
		add_text(out, sorted[i]->reference);
		add_words(out, &sorted[i]->build);
		add_words(out, &sorted[i]->command);
		add_set(out, &sorted[i]->environment);
	}
	free(sorted);
}

static int compare_inputs(const void *a, const void *b)
{
	return strcmp((*(const struct manifest_input *const *)a)->name, (*(const struct manifest_input *const *)b)->name);
}

static void add_inputs(struct buf *out, const struct manifest *manifest)
{
	const struct manifest_input **sorted = mem_new(manifest->n_inputs, sizeof(*sorted));

	for (size_t i = 0; i < manifest->n_inputs; i++)
		sorted[i] = &manifest->inputs[i];
	qsort(sorted, manifest->n_inputs, sizeof(*sorted), compare_inputs);
	for (size_t i = 0; i < manifest->n_inputs; i++) {
		add_text(out, sorted[i]->name);
		add_words(out, &sorted[i]->arguments);
		add_set(out, &sorted[i]->environment);
	}
	free(sorted);
}

static void add_metric(struct buf *out, const struct metric *metric)
{
	add_text(out, metric_source_word(metric->source));
	add_text(out, metric->pattern);
	add_text(out, metric->name);
	buf_format(out, "%s %s\n", metric->cpu_time ? "cpu" : "real", metric->higher_is_better ? "higher" : "lower");
}

void manifest_update_hash(struct manifest *manifest)
{
	struct buf text = BUF_INIT;

	buf_text(&text, "manifest 1\n");
	add_text(&text, manifest->application);
	add_set(&text, &manifest->files);
	add_words(&text, &manifest->command);
	add_set(&text, &manifest->environment);
	buf_format(&text, "%zu versions\n", manifest->n_versions);
	add_versions(&text, manifest);
	buf_format(&text, "%zu inputs\n", manifest->n_inputs);
	add_inputs(&text, manifest);
	add_text(&text, manifest->work);
	buf_format(&text, "%" PRId64 " ms\n", manifest->time_limit_ms);
	add_metric(&text, &manifest->metric);
	digest_sha256(text.bytes, text.size, manifest->hash);
	buf_release(&text);
}

void manifest_hash_run(const struct manifest *manifest, size_t version, size_t input, bool with_metric, char hex[DIGEST_HEX_BYTES])
{
	const struct manifest_version *v = &manifest->versions[version];
	const struct manifest_input *i = &manifest->inputs[input];
	struct buf text = BUF_INIT;

	buf_text(&text, "run 1\n");
	add_words(&text, v->command.n ? &v->command : &manifest->command);
	add_set(&text, &manifest->environment);
	add_set(&text, &v->environment);
	add_words(&text, &i->arguments);
	add_set(&text, &i->environment);
	add_text(&text, manifest->work);
	if (with_metric)
		add_metric(&text, &manifest->metric);
	digest_sha256(text.bytes, text.size, hex);
	buf_release(&text);
}

static void hash_end(struct buf *text, char hex[DIGEST_HEX_BYTES])
{
	digest_sha256(text->bytes, text->size, hex);
	buf_release(text);
}

void manifest_terms_of(const struct manifest *manifest, size_t version, size_t input, struct manifest_terms *out)
{
	const struct manifest_input *i = &manifest->inputs[input];
	struct buf metric = BUF_INIT, shared = BUF_INIT, command = BUF_INIT;

	*out = (struct manifest_terms){ .higher_is_better = manifest->metric.higher_is_better };
	add_metric(&metric, &manifest->metric);
	hash_end(&metric, out->metric);
	add_set(&shared, &manifest->files);
	add_set(&shared, &manifest->environment);
	add_words(&shared, &i->arguments);
	add_set(&shared, &i->environment);
	add_text(&shared, manifest->work);
	hash_end(&shared, out->shared);
	if (manifest->versions[version].command.n)
		return;
	add_words(&command, &manifest->command);
	hash_end(&command, out->command);
}
