/* Reads members of JSON objects without a check after each call: the reader keeps the first error. After an error, every function returns
 * the lowest permitted value, "", false or NULL. An absent or null member is an error; json_reader_has() tests optional ones. */
#ifndef BASE_JSON_READER_H
#define BASE_JSON_READER_H

#include "base/json.h"

struct json_reader {
	const char *name; /* name of the document, with which error texts start */
	struct assay_error *err;
	enum assay_status st;
};

/* Sets the reader's error to ASSAY_E_FORMAT and "name: text". Does nothing if the reader has an error already. */
void json_reader_fail(struct json_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Requires that all keys of `object` are in keys[0..n). The error names the object (`what`), the unknown key and the nearest known key. */
void json_reader_check_keys(struct json_reader *r, const cJSON *object, const char *what, const char *const *keys, size_t n);
bool json_reader_has(struct json_reader *r, const cJSON *object, const char *key);
const char *json_reader_text(struct json_reader *r, const cJSON *object, const char *key); /* returns a text that belongs to `object` */
double json_reader_number(struct json_reader *r, const cJSON *object, const char *key, double low, double high);
int64_t json_reader_integer(struct json_reader *r, const cJSON *object, const char *key, int64_t low, int64_t high);
const cJSON *json_reader_object(struct json_reader *r, const cJSON *object, const char *key);
const cJSON *json_reader_array(struct json_reader *r, const cJSON *object, const char *key, size_t low,
			       size_t high); /* requires that the array has `low` to `high` elements */

#endif
