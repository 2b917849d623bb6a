#include "fleet/agent/signature.h"

#include "base/json_reader.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define EXACT_MAX (INT64_C(1) << 53) /* integers up to this limit are exact in JSON */

static const struct counter_row {
	const char *name, *text;
	size_t at;
} rows[] = {
#define ACCOUNT_ROW(member, text) { #member, text, offsetof(struct helper_result, member) },
	HELPER_USAGE_ROWS(ACCOUNT_ROW)
#undef ACCOUNT_ROW
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static int64_t counter_get(const struct helper_result *result, size_t at)
{
	int64_t value;

	memcpy(&value, (const char *)result + at, sizeof(value));
	return value;
}

size_t run_usage_count(void)
{
	return ROWS;
}

int64_t run_usage_counter(const struct helper_result *result, size_t i, const char **name, const char **text)
{
	*name = rows[i].name;
	*text = rows[i].text;
	return counter_get(result, rows[i].at);
}

void run_usage_release(struct run_usage *run_usage)
{
	free(run_usage->samples);
	*run_usage = (struct run_usage){ .samples = NULL };
}

/* Returns the samples in an answer; NULL if there are none or they exceed RUN_USAGE_SAMPLES_BYTES_MAX. Names of files may have any bytes,
 * so non-ASCII bytes are replaced by '?' unless the whole text is UTF-8. The caller frees the text. */
static char *find_samples(const struct helper_answer *answer)
{
	const struct helper_file *file = answer->n_files == 1 ? answer->files : NULL;
	char *text = file && file->bytes && file->n <= RUN_USAGE_SAMPLES_BYTES_MAX ? mem_string(file->bytes) : NULL;
	bool is_text = !text || text_is_utf8(text, strlen(text));

	for (char *c = text; !is_text && *c; c++)
		*c = *c & '\x80' ? '?' : *c;
	return text;
}

char *run_usage_to_json(const struct helper_answer *answer)
{
	cJSON *root = answer->ended && !answer->refusal ? cJSON_CreateObject() : NULL;
	char *samples = find_samples(answer), *text;

	for (size_t i = 0; root && i < ROWS; i++) {
		int64_t value = counter_get(&answer->result, rows[i].at);

		if (value >= 0 && value < EXACT_MAX)
			cJSON_AddNumberToObject(root, rows[i].name, (double)value);
	}
	if (root && samples)
		cJSON_AddStringToObject(root, "samples", samples);
	text = root ? cJSON_PrintUnformatted(root) : NULL;
	cJSON_Delete(root);
	free(samples);
	return text;
}

enum assay_status run_usage_parse(const char *text, struct run_usage *out, struct assay_error *err)
{
	struct run_usage run_usage = { .samples = NULL };
	struct json_reader r = { "signature", err, ASSAY_OK };
	cJSON *root = NULL;

	memset(&run_usage.counters, 0xff, sizeof(run_usage.counters)); /* sets every number to -1 */
	if (*text)
		r.st = json_parse("signature", text, strlen(text), &root, err);
	if (root && !cJSON_IsObject(root))
		json_reader_fail(&r, "an object was expected");
	for (size_t i = 0; root && i < ROWS; i++) {
		int64_t value = json_reader_has(&r, root, rows[i].name) ? json_reader_integer(&r, root, rows[i].name, 0, EXACT_MAX) : -1;

		memcpy((char *)&run_usage.counters + rows[i].at, &value, sizeof(value));
	}
	if (root && json_reader_has(&r, root, "samples"))
		run_usage.samples = mem_string(json_reader_text(&r, root, "samples"));
	cJSON_Delete(root);
	*out = run_usage;
	if (r.st)
		run_usage_release(out);
	return r.st;
}

void run_usage_add_members(struct document *d, const char *key, const struct helper_result *result)
{
	doc_object(d, key);
	for (size_t i = 0; i < ROWS; i++) {
		int64_t value = counter_get(result, rows[i].at);

		doc_set(d, rows[i].name, value >= 0 ? doc_value_from(value) : DOC_NULL_VALUE);
	}
	doc_end(d);
}

static double counter_median(const struct helper_result *const *results, size_t n, size_t at)
{
	double *values = mem_new(n, sizeof(*values)), median;
	size_t known = 0;

	for (size_t r = 0; r < n; r++) {
		int64_t value = counter_get(results[r], at);

		if (value >= 0)
			values[known++] = (double)value;
	}
	median = known ? stats_median(values, known) : (double)NAN;
	free(values);
	return median;
}

void run_usage_add_medians(struct document *d, const char *key, const struct helper_result *const *results, size_t n)
{
	double ratio = counter_median(results, n, offsetof(struct helper_result, instructions)) /
		       counter_median(results, n, offsetof(struct helper_result, cycles));

	doc_heading(d, "Counted by the kernel, per run (medians)");
	doc_object(d, key);
	if (!key)
		doc_hide_from_programs(d);
	for (size_t i = 0; i < ROWS; i++) {
		double median = counter_median(results, n, rows[i].at);

		if (*rows[i].text && !isnan(median))
			doc_showf(d, rows[i].name, rows[i].text, median, "%.0f", median);
		else
			doc_set(d, rows[i].name, median);
	}
	if (isfinite(ratio))
		doc_showf(d, NULL, "instructions per cycle", ratio, "%.2f", ratio);
	doc_end(d);
}
