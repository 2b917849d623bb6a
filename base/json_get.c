/* The members of json.h's objects, by type. */
#include "base/json.h"

#include "base/text.h"

#include <math.h>

#define EXACT_MAX 9007199254740992.0 /* 2^53: up to here every integer is a double */

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

static bool is_known(const char *key, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

enum assay_status json_keys(const char *name, const cJSON *object, const char *what, const char *const *keys, size_t n,
			    struct assay_error *err)
{
	const cJSON *member;

	if (!cJSON_IsObject(object))
		return assay_fail(err, ASSAY_E_FORMAT, "%s: %s must be an object, not %s", name, what, type_text(object));
	cJSON_ArrayForEach(member, object)
	{
		const char *nearest;
		char shown[TEXT_SHOWN_BYTES];

		if (is_known(member->string, keys, n))
			continue;
		nearest = text_nearest(member->string, keys, n);
		return assay_fail(err, ASSAY_E_FORMAT, "%s: unknown key '%s' in %s%s%s%s", name, text_shown(member->string, shown), what,
				  nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "");
	}
	return ASSAY_OK;
}

/* *out is NULL when the member is absent (or null) and need not be there. */
static enum assay_status find(const char *name, const cJSON *object, const char *key, bool required, const cJSON **out,
			      struct assay_error *err)
{
	const cJSON *member;

	*out = NULL;
	if (!cJSON_IsObject(object))
		return assay_fail(err, ASSAY_E_FORMAT, "%s: expected an object with '%s', found %s", name, key, type_text(object));
	member = cJSON_GetObjectItemCaseSensitive(object, key);
	if (member && !cJSON_IsNull(member))
		*out = member;
	else if (required)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' is missing", name, key);
	return ASSAY_OK;
}

static enum assay_status fail_type(const char *name, const char *key, const char *wanted, const cJSON *there, struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' must be %s, not %s", name, key, wanted, type_text(there));
}

enum assay_status json_string(const char *name, const cJSON *object, const char *key, bool required, const char **out,
			      struct assay_error *err)
{
	const cJSON *member;
	enum assay_status st = find(name, object, key, required, &member, err);

	if (st || !member)
		return st;
	if (!cJSON_IsString(member))
		return fail_type(name, key, "a string", member, err);
	*out = member->valuestring;
	return ASSAY_OK;
}

enum assay_status json_number(const char *name, const cJSON *object, const char *key, bool required, double *out, struct assay_error *err)
{
	const cJSON *member;
	enum assay_status st = find(name, object, key, required, &member, err);

	if (st || !member)
		return st;
	if (!cJSON_IsNumber(member))
		return fail_type(name, key, "a number", member, err);
	*out = member->valuedouble;
	return ASSAY_OK;
}

enum assay_status json_integer(const char *name, const cJSON *object, const char *key, bool required, int64_t low, int64_t high,
			       int64_t *out, struct assay_error *err)
{
	const cJSON *member;
	enum assay_status st = find(name, object, key, required, &member, err);
	char there[TEXT_DOUBLE_BYTES];
	double value;

	if (st || !member)
		return st;
	if (!cJSON_IsNumber(member))
		return fail_type(name, key, "an integer", member, err);
	value = member->valuedouble;
	/* 2^53 itself may have been 2^53 + 1 in the file */
	if (fabs(value) >= EXACT_MAX || value != trunc(value) || (int64_t)value < low || (int64_t)value > high)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' must be an integer from %lld to %lld, not %s", name, key, (long long)low,
				  (long long)high, text_from_double(value, there));
	*out = (int64_t)value;
	return ASSAY_OK;
}

enum assay_status json_object(const char *name, const cJSON *object, const char *key, bool required, const cJSON **out,
			      struct assay_error *err)
{
	const cJSON *member;
	enum assay_status st = find(name, object, key, required, &member, err);

	if (st || !member)
		return st;
	if (!cJSON_IsObject(member))
		return fail_type(name, key, "an object", member, err);
	*out = member;
	return ASSAY_OK;
}

enum assay_status json_array(const char *name, const cJSON *object, const char *key, bool required, const cJSON **out,
			     struct assay_error *err)
{
	const cJSON *member;
	enum assay_status st = find(name, object, key, required, &member, err);

	if (st || !member)
		return st;
	if (!cJSON_IsArray(member))
		return fail_type(name, key, "an array", member, err);
	*out = member;
	return ASSAY_OK;
}
