/* JSON that machines write, by cJSON, with the checks that it leaves to its callers. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_BYTES_MAX (64u << 20)

/* Parses text[0..n) whole: nothing but blanks may follow, no duplicate keys, no NUL, UTF-8 only, numbers finite. Errors start
 * with "name:line: ". cJSON_Delete() the result. */
enum assay_status json_parse(const char *name, const char *text, size_t n, cJSON **out, struct assay_error *err);
enum assay_status json_read(const char *path, cJSON **out, struct assay_error *err);

/* Every key of the object must be in keys[0..n); else an error that names the key and the nearest known one. */
enum assay_status json_keys(const char *name, const cJSON *object, const char *what, const char *const *keys, size_t n,
			    struct assay_error *err);

/* Members by type; the error names the file and the member. A member that is absent (or null) is an error when `required`,
 * otherwise *out is left alone and ASSAY_OK returned. Strings are borrowed from the object. */
enum assay_status json_string(const char *name, const cJSON *object, const char *key, bool required, const char **out,
			      struct assay_error *err);
enum assay_status json_number(const char *name, const cJSON *object, const char *key, bool required, double *out, struct assay_error *err);
enum assay_status json_integer(const char *name, const cJSON *object, const char *key, bool required, int64_t low, int64_t high,
			       int64_t *out, struct assay_error *err);
enum assay_status json_object(const char *name, const cJSON *object, const char *key, bool required, const cJSON **out,
			      struct assay_error *err);
enum assay_status json_array(const char *name, const cJSON *object, const char *key, bool required, const cJSON **out,
			     struct assay_error *err);

/* The member `key`: the number, or null where it is not finite. JSON has none that is not, and json_text() aborts at one. */
void json_add_number(cJSON *object, const char *key, double value);

/* The document as indented text with a final newline, doubles as in text_from_double; free() it. */
char *json_text(const cJSON *root);

/* Appends json_text(root) and deletes root. */
struct buf;
void json_add(struct buf *out, cJSON *root);

#endif
