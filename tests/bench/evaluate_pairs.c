#include "tests/bench/evaluate.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/running/run.h"

#include <inttypes.h>
#include <math.h>

#define INTEGER_MAX 9007199254740992.0 /* 2^53 */

/* Size of a place in the file as text, such as "PAIRS.json: pair 3, candidate". */
#define PLACE_BYTES 300

ORDER_BY(compare_integers, int64_t, BY_VALUE)

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

static bool pairs_has(const cJSON *object, const char *key)
{
	const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);

	return member && !cJSON_IsNull(member);
}

/* Reads a list of integers >= 0. An empty list is an error, because it would match no result. */
static void pairs_parse_list(struct json_reader *r, const cJSON *object, const char *key, struct evaluate_list *out)
{
	const cJSON *array = NULL, *item;

	if (pairs_has(object, key))
		array = json_reader_array(r, object, key, 0, EVALUATE_LIST_MAX);
	if (r->st || !array)
		return;
	if (cJSON_GetArraySize(array) == 0)
		json_reader_fail(r, "'%s' has no element: leave it out to mean all", key);
	out->items = mem_new((size_t)cJSON_GetArraySize(array), sizeof(*out->items));
	cJSON_ArrayForEach(item, array)
	{
		double value = cJSON_IsNumber(item) ? item->valuedouble : -1;

		if (value < 0 || value > INTEGER_MAX || floor(value) != value)
			json_reader_fail(r, "element %zu of '%s' is not a whole number from 0", out->n + 1, key);
		out->items[out->n++] = r->st ? 0 : (int64_t)value;
	}
	sort_list(out);
}

/* Reads "timestamps", in seconds or milliseconds as text_parse_time_ms() accepts them. */
static void pairs_parse_timestamps(struct json_reader *r, const cJSON *object, struct evaluate_list *out)
{
	pairs_parse_list(r, object, "timestamps", out);
	for (size_t i = 0; !r->st && i < out->n; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%" PRId64, out->items[i]);
		if (!text_parse_time_ms(text, &out->items[i]))
			json_reader_fail(r, "'%s' in 'timestamps' is past the year 9999", text);
	}
	sort_list(out);
}

static void pairs_parse_selector(struct json_reader *r, const char *text, struct evaluate_side *out)
{
	if (!r->st)
		r->st = run_parse_selector(text, &out->application, &out->version, r->err);
	if (r->st == ASSAY_E_USAGE)
		r->st = assay_add_context(r->err, "%s", r->name);
}

static void pairs_parse_object(struct json_reader *r, const cJSON *object, struct evaluate_side *out)
{
	static const char *const keys[] = { "application", "version", "repetitions", "timestamps" };
	const char *version;

	json_reader_check_keys(r, object, "a side", keys, sizeof(keys) / sizeof(keys[0]));
	pairs_parse_selector(r, json_reader_text(r, object, "application"), out);
	if (pairs_has(object, "version")) {
		version = json_reader_text(r, object, "version");
		if (run_name_fault(version))
			json_reader_fail(r, "'version' is not the name of a version");
		if (out->version)
			json_reader_fail(r, "the version is given twice");
		if (!r->st)
			out->version = mem_string(version);
	}
	pairs_parse_list(r, object, "repetitions", &out->repetitions);
	pairs_parse_timestamps(r, object, &out->timestamps);
}

static void pairs_parse_side(struct json_reader *r, const cJSON *pair, const char *key, struct evaluate_side *out)
{
	const cJSON *side = cJSON_GetObjectItemCaseSensitive(pair, key);
	const char *outer = r->name;
	char place[PLACE_BYTES];

	snprintf(place, sizeof(place), "%s, %s", outer, key);
	r->name = place;
	if (cJSON_IsString(side))
		pairs_parse_selector(r, side->valuestring, out);
	else if (cJSON_IsObject(side))
		pairs_parse_object(r, side, out);
	else
		json_reader_fail(r, "expected APP[@VERSION] as a string, or an object with 'application'");
	r->name = outer;
}

static char *pairs_parse_word(struct json_reader *r, const cJSON *object, const char *key)
{
	const char *text = pairs_has(object, key) ? json_reader_text(r, object, key) : NULL;

	if (text && run_name_fault(text))
		json_reader_fail(r, "'%s' is empty, too long, or has control characters or an '@'", key);
	return text && !r->st ? mem_string(text) : NULL;
}

static bool pairs_parse_bool(struct json_reader *r, const cJSON *object, const char *key)
{
	const cJSON *member = r->st ? NULL : cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsBool(member))
		json_reader_fail(r, "'%s' must be true or false", key);
	return cJSON_IsTrue(member);
}

static void pairs_parse_pair(struct json_reader *r, const cJSON *object, struct evaluate_pair *out)
{
	static const char *const keys[] = { "baseline", "candidate", "changed", "label", "cluster" };

	json_reader_check_keys(r, object, "a pair", keys, sizeof(keys) / sizeof(keys[0]));
	pairs_parse_side(r, object, "baseline", &out->sides[0]);
	pairs_parse_side(r, object, "candidate", &out->sides[1]);
	out->changed = pairs_parse_bool(r, object, "changed");
	out->label = pairs_parse_word(r, object, "label");
	out->cluster = pairs_parse_word(r, object, "cluster");
}

/* Reads the pairs from `root` and releases it. `root` is NULL if parsing failed with status `st`. */
static enum assay_status pairs_parse_root(const char *name, cJSON *root, enum assay_status st, struct evaluate_pairs *out,
					  struct assay_error *err)
{
	struct json_reader r = { name, err, st };
	struct evaluate_pairs pairs = { 0 };
	int n = cJSON_IsArray(root) ? cJSON_GetArraySize(root) : 0;
	char place[PLACE_BYTES];
	const cJSON *item;

	if (n == 0)
		json_reader_fail(&r, "expected a list of pairs: [{\"baseline\": ..., \"candidate\": ..., \"changed\": false}]");
	else if (n > EVALUATE_PAIRS_MAX)
		r.st = assay_fail(err, ASSAY_E_LIMIT, "%s: %d pairs, more than %d", name, n, EVALUATE_PAIRS_MAX);
	else
		pairs.items = mem_new((size_t)n, sizeof(*pairs.items));
	r.name = place;
	for (item = pairs.items ? root->child : NULL; item && !r.st; item = item->next) {
		struct evaluate_pair *pair = &pairs.items[pairs.n];

		pair->number = ++pairs.n;
		snprintf(place, sizeof(place), "%.80s: pair %zu", name, pair->number);
		pairs_parse_pair(&r, item, pair);
	}
	cJSON_Delete(root);
	*out = pairs;
	if (r.st)
		evaluate_pairs_release(out);
	return r.st;
}

enum assay_status evaluate_pairs_parse(const char *name, const char *text, size_t n, struct evaluate_pairs *out, struct assay_error *err)
{
	cJSON *root = NULL;
	enum assay_status st = json_parse(name, text, n, &root, err);

	return pairs_parse_root(name, root, st, out, err);
}

enum assay_status evaluate_pairs_read(const char *path, struct evaluate_pairs *out, struct assay_error *err)
{
	cJSON *root = NULL;
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, JSON_BYTES_MAX, &text, err);

	if (!st)
		st = json_parse(path, text.bytes, text.size, &root, err);
	buf_release(&text);
	return pairs_parse_root(path, root, st, out, err);
}

void evaluate_pairs_release(struct evaluate_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n + pairs->n_left_out; i++) {
		for (int side = 0; side < 2; side++) {
			mem_free(pairs->items[i].sides[side].application, pairs->items[i].sides[side].version,
				 pairs->items[i].sides[side].repetitions.items, pairs->items[i].sides[side].timestamps.items);
		}
		mem_free(pairs->items[i].label, pairs->items[i].cluster, pairs->items[i].left_out);
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
