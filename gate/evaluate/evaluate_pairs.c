#include "gate/evaluate/evaluate_pairs.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/running/run.h"

#include <inttypes.h>
#include <math.h>

#define INTEGER_MAX 9007199254740992.0 /* 2^53 */

/* Where in the file: "PAIRS.json: pair 3, candidate". */
#define PLACE_BYTES 300

static int compare_integers(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort_list(struct evaluate_list *list)
{
	size_t n = 0;

	if (!list->n)
		return;
	qsort(list->items, list->n, sizeof(*list->items), compare_integers);
	for (size_t i = 0; i < list->n; i++) {
		if (i == 0 || list->items[i] != list->items[n - 1])
			list->items[n++] = list->items[i];
	}
	list->n = n;
}

/* A list of whole numbers from 0. An empty one would leave nothing, and is surely not meant. */
static enum assay_status parse_list(const char *place, const cJSON *object, const char *key, struct evaluate_list *out,
				    struct assay_error *err)
{
	const cJSON *array = NULL, *item;
	enum assay_status st = json_array(place, object, key, false, &array, err);
	int n;

	if (st || !array)
		return st;
	n = cJSON_GetArraySize(array);
	if (n == 0)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' has no element: leave it out to mean all", place, key);
	if (n > EVALUATE_LIST_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s: '%s' has %d elements, more than %d", place, key, n, EVALUATE_LIST_MAX);
	out->items = mem_new((size_t)n, sizeof(*out->items));
	cJSON_ArrayForEach(item, array) {
		double value = cJSON_IsNumber(item) ? item->valuedouble : -1;

		if (value < 0 || value > INTEGER_MAX || floor(value) != value)
			return assay_fail(err, ASSAY_E_FORMAT, "%s: element %zu of '%s' is not a whole number from 0", place, out->n + 1, key);
		out->items[out->n++] = (int64_t)value;
	}
	sort_list(out);
	return ASSAY_OK;
}

/* Seconds or milliseconds, as text_timestamp_ms() has it. */
static enum assay_status parse_timestamps(const char *place, const cJSON *object, struct evaluate_list *out, struct assay_error *err)
{
	enum assay_status st = parse_list(place, object, "timestamps", out, err);

	for (size_t i = 0; !st && i < out->n; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%" PRId64, out->items[i]);
		if (!text_timestamp_ms(text, &out->items[i]))
			st = assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' in 'timestamps' is past the year 9999", place, text);
	}
	if (!st)
		sort_list(out);
	return st;
}

static enum assay_status parse_selector(const char *place, const char *text, struct evaluate_side *out, struct assay_error *err)
{
	if (!run_selector(text, &out->application, &out->version, err))
		return ASSAY_OK;
	return assay_context(err, "%s", place);
}

static enum assay_status parse_object(const char *place, const cJSON *object, struct evaluate_side *out, struct assay_error *err)
{
	static const char *const keys[] = { "application", "version", "repetitions", "timestamps" };
	const char *application = NULL, *version = NULL;
	enum assay_status st = json_keys(place, object, "a side", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (!st)
		st = json_string(place, object, "application", true, &application, err);
	if (!st)
		st = json_string(place, object, "version", false, &version, err);
	if (!st && version && !run_name_ok(version))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: 'version' is not the name of a version", place);
	if (!st)
		st = parse_selector(place, application, out, err);
	if (!st && version && out->version)
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: the version is given twice", place);
	if (!st && version)
		out->version = mem_string(version);
	if (!st)
		st = parse_list(place, object, "repetitions", &out->repetitions, err);
	if (!st)
		st = parse_timestamps(place, object, &out->timestamps, err);
	return st;
}

static enum assay_status parse_side(const char *pair, const cJSON *object, const char *key, struct evaluate_side *out,
				    struct assay_error *err)
{
	const cJSON *side = cJSON_GetObjectItemCaseSensitive(object, key);
	char place[PLACE_BYTES];

	snprintf(place, sizeof(place), "%s, %s", pair, key);
	if (cJSON_IsString(side))
		return parse_selector(place, side->valuestring, out, err);
	if (cJSON_IsObject(side))
		return parse_object(place, side, out, err);
	return assay_fail(err, ASSAY_E_FORMAT, "%s: needed is APP[@VERSION] as a string, or an object with 'application'", place);
}

static enum assay_status parse_word(const char *place, const cJSON *object, const char *key, char **out, struct assay_error *err)
{
	const char *text = NULL;
	enum assay_status st = json_string(place, object, key, false, &text, err);

	if (!st && text && !run_name_ok(text))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' is empty, too long, or has control characters or an '@'", place, key);
	if (!st && text)
		*out = mem_string(text);
	return st;
}

static enum assay_status parse_pair(const char *place, const cJSON *object, struct evaluate_pair *out, struct assay_error *err)
{
	static const char *const keys[] = { "baseline", "candidate", "changed", "label", "cluster" };
	const cJSON *changed = cJSON_GetObjectItemCaseSensitive(object, "changed");
	enum assay_status st = json_keys(place, object, "a pair", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (!st)
		st = parse_side(place, object, "baseline", &out->sides[0], err);
	if (!st)
		st = parse_side(place, object, "candidate", &out->sides[1], err);
	if (!st && !cJSON_IsBool(changed))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: 'changed' must be true or false", place);
	if (!st)
		st = parse_word(place, object, "label", &out->label, err);
	if (!st)
		st = parse_word(place, object, "cluster", &out->cluster, err);
	out->changed = cJSON_IsTrue(changed);
	return st;
}

static enum assay_status parse_root(const char *name, const cJSON *root, struct evaluate_pairs *out, struct assay_error *err)
{
	char place[PLACE_BYTES];
	const cJSON *item;
	int n = cJSON_IsArray(root) ? cJSON_GetArraySize(root) : 0;

	if (n == 0)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: needed is a list of pairs: [{\"baseline\": ..., \"candidate\": ..., "
				  "\"changed\": false}]", name);
	if (n > EVALUATE_PAIRS_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s: %d pairs, more than %d", name, n, EVALUATE_PAIRS_MAX);
	out->items = mem_new((size_t)n, sizeof(*out->items));
	cJSON_ArrayForEach(item, root) {
		enum assay_status st;

		snprintf(place, sizeof(place), "%s: pair %zu", text_path_end(name, TEXT_SHOWN_BYTES), out->n + 1);
		out->items[out->n].number = out->n + 1;
		st = parse_pair(place, item, &out->items[out->n++], err);
		if (st)
			return st;
	}
	return ASSAY_OK;
}

enum assay_status evaluate_pairs_parse(const char *name, const char *text, size_t n, struct evaluate_pairs *out,
				       struct assay_error *err)
{
	struct evaluate_pairs pairs = { 0 };
	cJSON *root = NULL;
	enum assay_status st = json_parse(name, text, n, &root, err);

	if (!st)
		st = parse_root(name, root, &pairs, err);
	cJSON_Delete(root);
	*out = pairs;
	if (st)
		evaluate_pairs_release(out);
	return st;
}

enum assay_status evaluate_pairs_read(const char *path, struct evaluate_pairs *out, struct assay_error *err)
{
	struct evaluate_pairs pairs = { 0 };
	cJSON *root = NULL;
	enum assay_status st = json_read(path, &root, err);

	if (!st)
		st = parse_root(path, root, &pairs, err);
	cJSON_Delete(root);
	*out = pairs;
	if (st)
		evaluate_pairs_release(out);
	return st;
}

void evaluate_pairs_release(struct evaluate_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n + pairs->n_left_out; i++) {
		for (int side = 0; side < 2; side++) {
			free(pairs->items[i].sides[side].application);
			free(pairs->items[i].sides[side].version);
			free(pairs->items[i].sides[side].repetitions.items);
			free(pairs->items[i].sides[side].timestamps.items);
		}
		free(pairs->items[i].label);
		free(pairs->items[i].cluster);
		free(pairs->items[i].left_out);
	}
	free(pairs->items);
	*pairs = (struct evaluate_pairs){ 0 };
}

static void list_text(struct buf *out, const char *what, const struct evaluate_list *list)
{
	if (list->n)
		buf_text(out, what);
	for (size_t i = 0; i < list->n; i++)
		buf_format(out, "%s%" PRId64, i ? "," : " ", list->items[i]);
}

char *evaluate_side_text(const struct evaluate_side *side)
{
	struct buf text = BUF_INIT;

	buf_text(&text, side->application);
	if (side->version)
		buf_format(&text, "@%s", side->version);
	list_text(&text, "; repetitions", &side->repetitions);
	list_text(&text, "; time stamps", &side->timestamps);
	return buf_take(&text);
}
