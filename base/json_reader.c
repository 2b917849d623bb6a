#include "base/json_reader.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>

#define EXACT_MAX 9007199254740992.0 /* 2^53; doubles represent all integers up to this number */

void json_reader_fail(struct json_reader *r, const char *fmt, ...)
{
	char *text;

	if (r->st)
		return;
	mem_format_va(text, fmt);
	r->st = assay_fail(r->err, ASSAY_E_FORMAT, "%s: %s", r->name, text);
	free(text);
}

static const char *type_text(const cJSON *node)
{
	if (cJSON_IsString(node))
		return "a string";
	if (cJSON_IsNumber(node))
		return "a number";
	if (cJSON_IsBool(node))
		return "a boolean";
	if (cJSON_IsObject(node))
		return "an object";
	return cJSON_IsArray(node) ? "an array" : "null";
}

void json_reader_check_keys(struct json_reader *r, const cJSON *object, const char *what, const char *const *keys, size_t n)
{
	const cJSON *member;

	if (!r->st && !cJSON_IsObject(object))
		json_reader_fail(r, "%s must be an object, not %s", what, type_text(object));
	for (member = r->st ? NULL : object->child; member && !r->st; member = member->next) {
		const char *nearest;

		if (text_is_among(keys, n, member->string))
			continue;
		nearest = text_nearest(member->string, keys, n);
		json_reader_fail(r, "unknown key '%s' in %s%s%s%s", TEXT_SANITIZED(member->string), what, nearest ? " (did you mean '" : "",
				 nearest ? nearest : "", nearest ? "'?)" : "");
	}
}

/* Returns the member; NULL if it is absent or null, or if an error occurred earlier or now. */
static const cJSON *find_member(struct json_reader *r, const cJSON *object, const char *key)
{
	const cJSON *member;

	if (r->st)
		return NULL;
	if (!cJSON_IsObject(object)) {
		json_reader_fail(r, "expected an object with '%s', found %s", key, type_text(object));
		return NULL;
	}
	member = cJSON_GetObjectItemCaseSensitive(object, key);
	return member && !cJSON_IsNull(member) ? member : NULL;
}

bool json_reader_has(struct json_reader *r, const cJSON *object, const char *key)
{
	return find_member(r, object, key) != NULL;
}

static const cJSON *find_typed_member(struct json_reader *r, const cJSON *object, const char *key, cJSON_bool (*is)(const cJSON *),
				      const char *wanted)
{
	const cJSON *member = find_member(r, object, key);

	if (!member)
		json_reader_fail(r, "'%s' is missing", key);
	else if (!is(member))
		json_reader_fail(r, "'%s' must be %s, not %s", key, wanted, type_text(member));
	return r->st ? NULL : member;
}

const char *json_reader_text(struct json_reader *r, const cJSON *object, const char *key)
{
	const cJSON *member = find_typed_member(r, object, key, cJSON_IsString, "a string");

	return member ? member->valuestring : "";
}

double json_reader_number(struct json_reader *r, const cJSON *object, const char *key, double low, double high)
{
	const cJSON *member = find_typed_member(r, object, key, cJSON_IsNumber, "a number");
	double value = member ? member->valuedouble : low;

	if (!(value >= low && value <= high))
		json_reader_fail(r, "'%s' is %g, not between %g and %g", key, value, low, high);
	return r->st ? low : value;
}

int64_t json_reader_integer(struct json_reader *r, const cJSON *object, const char *key, int64_t low, int64_t high)
{
	const cJSON *member = find_typed_member(r, object, key, cJSON_IsNumber, "an integer");
	double value = member ? member->valuedouble : 0;

	/* 2^53 itself is refused: it may have been 2^53 + 1 in the file */
	if (fabs(value) >= EXACT_MAX || value != trunc(value) || (int64_t)value < low || (int64_t)value > high)
		json_reader_fail(r, "'%s' must be an integer from %lld to %lld, not %s", key, (long long)low, (long long)high,
				 TEXT_DOUBLE(value));
	return r->st ? low : (int64_t)value;
}

const cJSON *json_reader_object(struct json_reader *r, const cJSON *object, const char *key)
{
	return find_typed_member(r, object, key, cJSON_IsObject, "an object");
}

const cJSON *json_reader_array(struct json_reader *r, const cJSON *object, const char *key, size_t low, size_t high)
{
	const cJSON *array = find_typed_member(r, object, key, cJSON_IsArray, "an array");
	size_t n = array ? (size_t)cJSON_GetArraySize(array) : low;

	if (low == high && n != low)
		json_reader_fail(r, "'%s' has %zu element%s, not %zu", key, n, text_plural(n), low);
	else if (n < low || n > high)
		json_reader_fail(r, "'%s' has %zu element%s, not %zu to %zu", key, n, text_plural(n), low, high);
	return r->st ? NULL : array;
}
