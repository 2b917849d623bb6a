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

#define JSON_UNREADABLE 0x7f /* in no name: the control character DEL */

/* The same of programs that do not keep to RFC 8259: numbers that are not finite or too long ("NaN", "-Infinity", "1e999") become "", and
 * in strings each byte that is not ASCII where they are not UTF-8, control characters and backslashes of unknown escapes JSON_UNREADABLE;
 * below the outermost object a key may stand twice, of which json_get() has the first. text[n] is NUL; text is changed. */
enum assay_status json_parse_loosely(const char *name, char *text, size_t n, cJSON **out, struct assay_error *err);

/* The member `key`: the number, or null where it is not finite. JSON has none that is not, and json_text() aborts at one. */
void json_add_number(cJSON *object, const char *key, double value);

/* A member, and what it is: a text ("" where there is none), a number (NaN), how many (0 where it is no number above 0). */
cJSON *json_get(const cJSON *object, const char *key);
const char *json_get_text(const cJSON *object, const char *key);
double json_get_number(const cJSON *object, const char *key);
size_t json_get_count(const cJSON *object, const char *key);

/* The document as indented text with a final newline, doubles as in text_from_double; free() it. */
char *json_text(const cJSON *root);
/* On one line, with numbers as cJSON has them. */
char *json_line(const cJSON *root);

/* Appends json_text(root) and deletes root. */
struct buf;
void json_add(struct buf *out, cJSON *root);

#endif
