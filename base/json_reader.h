/* Reads members of JSON objects without a check after each: the first error is kept, after it nothing is read any more, and every
 * function returns the lowest value that it may, "", false or NULL. A member that is absent or null is an error: what need not be there
 * is asked for by json_reader_has() first. */
#ifndef BASE_JSON_READER_H
#define BASE_JSON_READER_H

#include "base/json.h"

struct json_reader {
	const char *name; /* of the document; errors start with it */
	struct assay_error *err;
	enum assay_status st;
};

/* Keeps an error of its own, ASSAY_E_FORMAT, unless there is one; the text starts with the name. */
void json_reader_fail(struct json_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Every key of the object must be in keys[0..n); else an error that names the key and the nearest known one. */
void json_reader_keys(struct json_reader *r, const cJSON *object, const char *what, const char *const *keys, size_t n);
bool json_reader_has(struct json_reader *r, const cJSON *object, const char *key);
const char *json_reader_text(struct json_reader *r, const cJSON *object, const char *key); /* borrowed */
double json_reader_number(struct json_reader *r, const cJSON *object, const char *key, double low, double high);
int64_t json_reader_integer(struct json_reader *r, const cJSON *object, const char *key, int64_t low, int64_t high);
const cJSON *json_reader_object(struct json_reader *r, const cJSON *object, const char *key);
const cJSON *json_reader_array(struct json_reader *r, const cJSON *object, const char *key, size_t low,
			       size_t high); /* by number of elements */

#endif
