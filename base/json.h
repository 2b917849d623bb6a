/* Reads and prints JSON with cJSON, and adds checks that cJSON does not make. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_BYTES_MAX (64u << 20)

/* Parses text[0..n), which must be one value and whitespace. Refuses duplicate keys, NUL, invalid UTF-8 and numbers that are not finite.
 * Errors start with "name:line: ". Free the result with cJSON_Delete(). */
enum assay_status json_parse(const char *name, const char *text, size_t n, cJSON **out, struct assay_error *err);

#define JSON_UNREADABLE 0x7f /* DEL, a control character that no name contains */

/* Parses like json_parse(), but accepts output of programs that violate RFC 8259. Numbers that are not finite or too long ("NaN",
 * "-Infinity", "1e999") become "". In strings, JSON_UNREADABLE replaces control characters, backslashes of unknown escapes, and non-ASCII
 * bytes of invalid UTF-8. Keys may repeat below the outermost object; json_get() finds the first. text[n] must be NUL. Changes `text`. */
enum assay_status json_parse_lenient(const char *name, char *text, size_t n, cJSON **out, struct assay_error *err);

/* Adds the number as member `key`, or null if it is not finite, because JSON has no such numbers and json_text() aborts at them. */
void json_add_number(cJSON *object, const char *key, double value);

/* Return the member `key` (NULL if none), its text ("" if none), its number (NaN if none), or its count (0 unless the number exceeds 0). */
cJSON *json_get(const cJSON *object, const char *key);
const char *json_get_text(const cJSON *object, const char *key);
double json_get_number(const cJSON *object, const char *key);
size_t json_get_count(const cJSON *object, const char *key);

/* Returns the document as indented text with a final newline. Numbers are printed by text_from_double(). The caller frees the result. */
char *json_text(const cJSON *root);
/* Returns the document on one line that ends with a newline. Numbers are in cJSON's format. The caller frees the result. */
char *json_line(const cJSON *root);

/* Appends json_text(root) to `out`, and deletes `root`. */
struct buf;
void json_append_text(struct buf *out, cJSON *root);

#endif
