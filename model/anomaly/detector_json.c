#include "model/anomaly/detector_json.h"

#include "base/json.h"
#include "base/mem.h"

#include <string.h>

const char *const detector_scalings[DETECTOR_SCALINGS] = { "asinh", "unit" };
const char *const detector_thresholds[DETECTOR_THRESHOLDS] = { "held_out", "deviation", "fixed" };
const char *const detector_droppings[DETECTOR_DROPPINGS] = { "used", "not_counted", "constant" };

enum assay_status detector_fail(struct assay_error *err, const char *key, const char *what)
{
	return assay_fail(err, ASSAY_E_FORMAT, DETECTOR_NAME ": '%s' %s", key, what);
}

enum assay_status detector_read_number(const cJSON *object, const char *key, double low, double high, double *out, struct assay_error *err)
{
	enum assay_status st = json_number(DETECTOR_NAME, object, key, true, out, err);

	if (!st && !(*out >= low && *out <= high))
		return assay_fail(err, ASSAY_E_FORMAT, DETECTOR_NAME ": '%s' must be between %g and %g", key, low, high);
	return st;
}

enum assay_status detector_read_size(const cJSON *object, const char *key, size_t low, size_t high, size_t *out, struct assay_error *err)
{
	int64_t value = 0;
	enum assay_status st = json_integer(DETECTOR_NAME, object, key, true, (int64_t)low, (int64_t)high, &value, err);

	*out = (size_t)value;
	return st;
}

enum assay_status detector_read_bool(const cJSON *object, const char *key, bool *out, struct assay_error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	*out = cJSON_IsTrue(item);
	return cJSON_IsBool(item) ? ASSAY_OK : detector_fail(err, key, "must be true or false");
}

enum assay_status detector_read_word(const cJSON *object, const char *key, const char *const *words, size_t n, size_t *out,
				   struct assay_error *err)
{
	const char *text = NULL;
	enum assay_status st = json_string(DETECTOR_NAME, object, key, true, &text, err);

	for (*out = 0; !st && *out < n && strcmp(text, words[*out]) != 0;)
		++*out;
	return !st && *out == n ? detector_fail(err, key, "is nothing that is known") : st;
}

/* *n is given unless it is SIZE_MAX; then it is how many there are, `most` at most. *out: free() it, also after an error. */
enum assay_status detector_read_numbers(const cJSON *object, const char *key, double low, double high, size_t most, size_t *n, double **out,
				      struct assay_error *err)
{
	const cJSON *array = NULL, *item;
	enum assay_status st = json_array(DETECTOR_NAME, object, key, true, &array, err);
	size_t there = st ? 0 : (size_t)cJSON_GetArraySize(array), i = 0;

	if (st)
		return st;
	if (there > most || (*n != SIZE_MAX && there != *n))
		return detector_fail(err, key, "has not as many elements as it must");
	*n = there;
	*out = mem_new(there + 1, sizeof(**out));
	cJSON_ArrayForEach(item, array) {
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= low && item->valuedouble <= high))
			return assay_fail(err, ASSAY_E_FORMAT, DETECTOR_NAME ": element %zu of '%s' must be a number between %g and %g", i + 1, key, low, high);
		(*out)[i++] = item->valuedouble;
	}
	return ASSAY_OK;
}

enum assay_status detector_read_indices(const cJSON *object, const char *key, size_t below, size_t most, size_t *n, size_t **out,
				      struct assay_error *err)
{
	double *numbers = NULL;
	enum assay_status st = detector_read_numbers(object, key, 0.0, (double)below - 1.0, most, n, &numbers, err);

	if (!st)
		*out = mem_new(*n + 1, sizeof(**out));
	for (size_t i = 0; !st && i < *n; i++) {
		(*out)[i] = (size_t)numbers[i];
		if ((double)(*out)[i] != numbers[i])
			st = detector_fail(err, key, "must consist of whole numbers");
	}
	free(numbers);
	return st;
}
