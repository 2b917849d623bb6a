/* JSON of programs, by cJSON, with the checks that cJSON leaves to its callers. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_BYTES_MAX (64u << 20)

/* Parses all of text[0..n): only blanks may follow the value, no duplicate keys, no NUL, UTF-8 only, finite numbers. Errors start with
 * "name:line: ". cJSON_Delete() the result. */
enum assay_status json_parse(const char *name, const char *text, size_t n, cJSON **out, struct assay_error *err);

#define JSON_UNREADABLE 0x7f /* DEL, a control character in no name */

/* Does the same for programs that violate RFC 8259. Numbers that are not finite or too long ("NaN", "-Infinity", "1e999") become "". In
 * strings, JSON_UNREADABLE replaces non-ASCII bytes of invalid UTF-8, control characters, and backslashes of unknown escapes. Below the
 * outermost object a key may be repeated; json_get() finds the first. text[n] is NUL; changes text. */
enum assay_status json_parse_loosely(const char *name, char *text, size_t n, cJSON **out, struct assay_error *err);

/* Adds the member `key`: the number, or null if it is not finite. JSON has no such numbers, and json_text() aborts at one. */
void json_add_number(cJSON *object, const char *key, double value);

/* Return a member; its text ("": none), its number (NaN: none), or a count (0: no number above 0). */
cJSON *json_get(const cJSON *object, const char *key);
const char *json_get_text(const cJSON *object, const char *key);
double json_get_number(const cJSON *object, const char *key);
size_t json_get_count(const cJSON *object, const char *key);

/* Returns the document as indented text with a final newline, doubles as in text_from_double; free() it. */
char *json_text(const cJSON *root);
/* Returns it on one line, with numbers in cJSON's format. */
char *json_line(const cJSON *root);

/* Appends json_text(root) and deletes root. */
struct buf;
void json_add(struct buf *out, cJSON *root);

#endif
