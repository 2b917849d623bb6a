/* Reads and prints JSON with cJSON, and adds the checks that cJSON leaves to its callers. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_BYTES_MAX (64u << 20)

/* Parses text[0..n). Only whitespace may follow the value. Refuses duplicate keys, NUL, invalid UTF-8 and numbers that are not finite.
 * Errors start with "name:line: ". cJSON_Delete() the result. */
enum assay_status json_parse(const char *name, const char *text, size_t n, cJSON **out, struct assay_error *err);

#define JSON_UNREADABLE 0x7f /* DEL, a control character that no name contains */

/* Does the same for output of programs that violate RFC 8259. Numbers that are not finite or too long ("NaN", "-Infinity", "1e999") become
 * "". In strings, JSON_UNREADABLE replaces non-ASCII bytes of invalid UTF-8, control characters, and backslashes of unknown escapes. Below
 * the outermost object, keys may repeat; json_get() finds the first. text[n] must be NUL. Changes `text`. */
enum assay_status json_parse_loosely(const char *name, char *text, size_t n, cJSON **out, struct assay_error *err);

/* Adds the member `key`: the number, or null if it is not finite, because JSON has no such numbers and json_text() aborts at one. */
void json_add_number(cJSON *object, const char *key, double value);

/* Return the member `key`; its text ("" if none), its number (NaN if none), or its count (0 unless its number is above 0). */
cJSON *json_get(const cJSON *object, const char *key);
const char *json_get_text(const cJSON *object, const char *key);
double json_get_number(const cJSON *object, const char *key);
size_t json_get_count(const cJSON *object, const char *key);

/* Returns the document as indented text with a final newline, numbers as by text_from_double(). free() it. */
char *json_text(const cJSON *root);
/* Returns the document on one line, numbers in cJSON's format. free() it. */
char *json_line(const cJSON *root);

/* Appends json_text(root), and deletes `root`. */
struct buf;
void json_add(struct buf *out, cJSON *root);

#endif
