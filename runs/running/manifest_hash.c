/* Computes the hash of everything in a manifest that affects results. Excludes comments, spaces, the order of versions, inputs and
 * variables, `description`, a metric's `unit`, repetitions, warm_ups and `sampling`. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/running/manifest_parse.h"

#include <inttypes.h>

/* Appends a text with its length before it, so that different lists give different bytes. NULL differs from "". */
static void manifest_add_text(struct buf *out, const char *text)
{
	if (text)
		buf_format(out, "%zu:%s\n", strlen(text), text);
	else
		buf_text(out, "-\n");
}

static void manifest_add_arguments(struct buf *out, const struct manifest_arguments *words)
{
	buf_format(out, "%zu words\n", words->n);
	for (size_t i = 0; i < words->n; i++)
		manifest_add_text(out, words->items[i]);
}

static void manifest_add_set(struct buf *out, const struct manifest_arguments *words)
{
	struct manifest_arguments sorted = { mem_new(words->n, sizeof(char *)), words->n };

	for (size_t i = 0; i < words->n; i++)
		sorted.items[i] = words->items[i];
	qsort(sorted.items, sorted.n, sizeof(char *), text_compare);
	manifest_add_arguments(out, &sorted);
	free(sorted.items);
}

ORDER_POINTERS_BY(manifest_compare_versions, struct manifest_version, BY_TEXT(name))

static void manifest_add_own(struct buf *out, const struct manifest_version *v)
{
	manifest_add_text(out, v->repository);
	manifest_add_text(out, v->reference);
	buf_format(out, "%zu own\n", v->n_own_files);
	for (size_t i = 0; i < v->n_own_files; i++) {
		manifest_add_text(out, v->own[i].architecture);
		manifest_add_text(out, v->own[i].directory);
		manifest_add_arguments(out, &v->own[i].build);
	}
}

static void manifest_add_versions(struct buf *out, const struct manifest *manifest)
{
	const struct manifest_version **sorted = mem_new(manifest->n_versions, sizeof(*sorted));

	for (size_t i = 0; i < manifest->n_versions; i++)
		sorted[i] = &manifest->versions[i];
	qsort(sorted, manifest->n_versions, sizeof(*sorted), manifest_compare_versions);
	for (size_t i = 0; i < manifest->n_versions; i++) {
		manifest_add_text(out, sorted[i]->name);
		buf_format(out, "kind %d\n", (int)sorted[i]->kind);
		manifest_add_own(out, sorted[i]);
		manifest_add_arguments(out, &sorted[i]->command);
		manifest_add_set(out, &sorted[i]->environment);
	}
	free(sorted);
}

ORDER_POINTERS_BY(manifest_compare_inputs, struct manifest_input, BY_TEXT(name))

static void manifest_add_inputs(struct buf *out, const struct manifest *manifest)
{
	const struct manifest_input **sorted = mem_new(manifest->n_inputs, sizeof(*sorted));

	for (size_t i = 0; i < manifest->n_inputs; i++)
		sorted[i] = &manifest->inputs[i];
	qsort(sorted, manifest->n_inputs, sizeof(*sorted), manifest_compare_inputs);
	for (size_t i = 0; i < manifest->n_inputs; i++) {
		manifest_add_text(out, sorted[i]->name);
		manifest_add_arguments(out, &sorted[i]->arguments);
		manifest_add_set(out, &sorted[i]->environment);
	}
	free(sorted);
}

static void manifest_add_metric(struct buf *out, const struct metric *metric)
{
	manifest_add_text(out, metric_source_name(metric->source));
	manifest_add_text(out, metric->pattern);
	manifest_add_text(out, metric->name);
	buf_format(out, "%s %s\n", metric->cpu_time ? "cpu" : "real", metric->higher_is_better ? "higher" : "lower");
}

void manifest_hash_all(struct manifest *manifest)
{
	struct buf text = BUF_INIT;

	buf_text(&text, "manifest 1\n");
	manifest_add_text(&text, manifest->application);
	manifest_add_set(&text, &manifest->files);
	manifest_add_arguments(&text, &manifest->command);
	manifest_add_set(&text, &manifest->environment);
	buf_format(&text, "%zu versions\n", manifest->n_versions);
	manifest_add_versions(&text, manifest);
	buf_format(&text, "%zu inputs\n", manifest->n_inputs);
	manifest_add_inputs(&text, manifest);
	if (manifest->inputs_directory)
		manifest_add_text(&text, manifest->inputs_directory);
	manifest_add_text(&text, manifest->work);
	buf_format(&text, "%" PRId64 " ms\n", manifest->time_limit_ms);
	manifest_add_metric(&text, &manifest->metric);
	digest_sha256(text.bytes, text.size, manifest->hash);
	buf_release(&text);
}

void manifest_hash_run(const struct manifest *manifest, size_t version, size_t input, bool with_metric, char hex[DIGEST_HEX_BYTES])
{
	const struct manifest_version *v = &manifest->versions[version];
	const struct manifest_input *i = &manifest->inputs[input];
	struct buf text = BUF_INIT;

	buf_text(&text, "run 1\n");
	manifest_add_arguments(&text, v->command.n ? &v->command : &manifest->command);
	manifest_add_set(&text, &manifest->environment);
	manifest_add_set(&text, &v->environment);
	manifest_add_arguments(&text, &i->arguments);
	manifest_add_set(&text, &i->environment);
	manifest_add_text(&text, manifest->work);
	if (manifest->variance)
		buf_text(&text, "calls are recorded\n");
	if (with_metric)
		manifest_add_metric(&text, &manifest->metric);
	if (strstr(text.bytes, "{version}")) /* commands with equal arguments then differ between versions */
		manifest_add_text(&text, v->derived_from ? v->derived_from : v->name);
	if (v->injection.percent) {
		char planted[INJECTION_TEXT_BYTES];

		injection_format(&v->injection, planted);
		manifest_add_text(&text, planted);
	}
	digest_sha256(text.bytes, text.size, hex);
	buf_release(&text);
}

static void manifest_hash_end(struct buf *text, char hex[DIGEST_HEX_BYTES])
{
	digest_sha256(text->bytes, text->size, hex);
	buf_release(text);
}

void manifest_hash_terms(const struct manifest *manifest, size_t version, size_t input, struct manifest_hashes *out)
{
	const struct manifest_input *i = &manifest->inputs[input];
	struct buf metric = BUF_INIT, shared = BUF_INIT, command = BUF_INIT;

	*out = (struct manifest_hashes){ .higher_is_better = manifest->metric.higher_is_better };
	manifest_add_metric(&metric, &manifest->metric);
	manifest_hash_end(&metric, out->metric);
	manifest_add_set(&shared, &manifest->files);
	manifest_add_set(&shared, &manifest->environment);
	manifest_add_arguments(&shared, &i->arguments);
	manifest_add_set(&shared, &i->environment);
	manifest_add_text(&shared, manifest->work);
	if (manifest->variance)
		buf_text(&shared, "calls are recorded\n");
	manifest_hash_end(&shared, out->shared);
	if (manifest->versions[version].command.n)
		return;
	manifest_add_arguments(&command, &manifest->command);
	manifest_hash_end(&command, out->command);
}
