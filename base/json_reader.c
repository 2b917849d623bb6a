#include "base/json_reader.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>

void json_reader_fail(struct json_reader *r, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	if (r->st)
		return;
	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&text, fmt, args) < 0);
	va_end(args);
	r->st = assay_fail(r->err, ASSAY_E_FORMAT, "%s: %s", r->name, text);
	free(text);
}

void json_reader_keys(struct json_reader *r, const cJSON *object, const char *what, const char *const *keys, size_t n)
{
	if (!r->st)
		r->st = json_keys(r->name, object, what, keys, n, r->err);
}

const char *json_reader_text(struct json_reader *r, const cJSON *object, const char *key)
{
	const char *text = "";

	if (!r->st)
		r->st = json_string(r->name, object, key, true, &text, r->err);
	return text;
}

double json_reader_number(struct json_reader *r, const cJSON *object, const char *key, double low, double high)
{
	double value = low;

	if (!r->st)
		r->st = json_number(r->name, object, key, true, &value, r->err);
	if (!(value >= low && value <= high))
		json_reader_fail(r, "'%s' is %g, not between %g and %g", key, value, low, high);
	return r->st ? low : value;
}

size_t json_reader_size(struct json_reader *r, const cJSON *object, const char *key, size_t low, size_t high)
{
	int64_t value = (int64_t)low;

	if (!r->st)
		r->st = json_integer(r->name, object, key, true, (int64_t)low, (int64_t)high, &value, r->err);
	return (size_t)value;
}

bool json_reader_bool(struct json_reader *r, const cJSON *object, const char *key)
{
	const cJSON *member = r->st ? NULL : cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsBool(member))
		json_reader_fail(r, "'%s' must be true or false", key);
	return cJSON_IsTrue(member);
}

const cJSON *json_reader_object(struct json_reader *r, const cJSON *object, const char *key)
{
	const cJSON *member = NULL;

	if (!r->st)
		r->st = json_object(r->name, object, key, true, &member, r->err);
	return member;
}

const cJSON *json_reader_array(struct json_reader *r, const cJSON *object, const char *key, size_t low, size_t high)
{
	const cJSON *array = NULL;
	size_t n;

	if (!r->st)
		r->st = json_array(r->name, object, key, true, &array, r->err);
	n = array ? (size_t)cJSON_GetArraySize(array) : low;
	if (low == high && n != low)
		json_reader_fail(r, "'%s' has %zu element%s, not %zu", key, n, text_plural(n), low);
	else if (n < low || n > high)
		json_reader_fail(r, "'%s' has %zu element%s, not %zu to %zu", key, n, text_plural(n), low, high);
	return r->st ? NULL : array;
}

void json_reader_fill(struct json_reader *r, const cJSON *array, const char *key, double low, double high, size_t n, double *out)
{
	const cJSON *item;
	size_t i = 0;

	if (!r->st && (!cJSON_IsArray(array) || (size_t)cJSON_GetArraySize(array) != n))
		json_reader_fail(r, "'%s' must be a list of %zu number%s", key, n, text_plural(n));
	for (item = r->st ? NULL : array->child; item; item = item->next) {
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= low && item->valuedouble <= high)) {
			json_reader_fail(r, "element %zu of '%s' must be a number from %g to %g", i + 1, key, low, high);
			return;
		}
		out[i++] = item->valuedouble;
	}
}

double *json_reader_numbers(struct json_reader *r, const cJSON *object, const char *key, double low, double high, size_t n)
{
	const cJSON *array = json_reader_array(r, object, key, n, n);
	double *out = array ? mem_new(n, sizeof(*out)) : NULL;

	if (out)
		json_reader_fill(r, array, key, low, high, n, out);
	return out;
}
