/* Functions on text: checked numbers, nearest names, dates, quotes, control characters. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;

/* Parses a decimal number without spaces. For NaN, infinity, hexadecimal or overflow, returns false and leaves *out. Underflow is not an
 * error: *out becomes 0 or a denormal. */
bool text_parse_double(const char *text, double *out);
/* Parses "90", "90s", "2m" or "8h" into seconds. Returns false unless the time is above 0 and at most a year. */
#define TEXT_DURATION_S_MAX (366 * 86400.0)
bool text_parse_duration(const char *text, double *seconds);
bool text_parse_int64(const char *text, int64_t *out);

/* Returns the element of words[0..n) with the smallest edit distance to `word`; NULL if all distances exceed 1 + length/3. */
const char *text_nearest(const char *word, const char *const *words, size_t n);

/* Returns the index of `word` in words[0..n); SIZE_MAX if none. text_is_among() reports whether it is there, for const or other pointers.
 */
size_t text_index(const char *const *words, size_t n, const char *word);
#define text_is_among(words, n, word) (text_index((const char *const *)(words), n, word) != SIZE_MAX)

/* Writes the shortest decimal text that reads back as the same double, at most 17 digits. `out` needs TEXT_DOUBLE_BYTES. */
#define TEXT_DOUBLE_BYTES 32
const char *text_from_double(double value, char *out);

/* Writes a measured value as precisely as its noise permits: the last digit has the place of the noise's first digit. 1234.56 is "1235"
 * with noise 3, "1200" with noise 300. At most six digits; six if the noise is 0. Finite numbers only; `out` needs TEXT_DOUBLE_BYTES. */
const char *text_from_measured(double value, double noise, char *out);

/* text_fixed() formats a number for users with `decimals` decimals. It uses %.3g for a million or more, and if all decimals would be zeros.
 * text_signed() always writes a sign, and permits zeros. Use them as arguments of a format: text_fixed(x, 3).text. */
struct text_number {
	char text[TEXT_DOUBLE_BYTES];
};
struct text_number text_fixed(double value, int decimals);
struct text_number text_signed(double value, int decimals);

/* Formats an estimated probability, which is never shown as 0 or 1: "0.97", ">0.99", "<0.01". */
struct text_number text_probability(double p);

/* Writes a duration as text such as "3 min 20 s". `out` needs TEXT_DURATION_BYTES. */
#define TEXT_DURATION_BYTES 32
const char *text_format_duration(double seconds, char *out);

/* Writes a time in ms since 1970 UTC as "2017-06-15T06:00:00Z"; adds milliseconds unless they are 0. `out` needs TEXT_DATE_BYTES. */
#define TEXT_DATE_BYTES 32
const char *text_from_ms(int64_t ms, char *out);

/* Parses a time or a date into ms since 1970 UTC. A number is in seconds if below 1e11, else in milliseconds; it may have a fraction.
 * Dates: "2026-11-23", "20261123", "202611232001", "2026-11-23T20:01", "2026-11-23 20:01:23.5+01:00" (UTC without a zone). Returns false
 * and leaves *ms if the date does not exist, is before 1970 or after the year 9999. */
bool text_parse_time_ms(const char *text, int64_t *ms);
/* Parses a day such as "2026-11-23". Sets *ms to its start in UTC, in ms since 1970. On failure (ASSAY_E_USAGE), leaves *ms. */
enum assay_status text_parse_day(const char *text, int64_t *ms, struct assay_error *err);

const char *text_plural(size_t n); /* returns "" if n is 1, else "s" */

/* Compares two texts (elements of type char *) by strcmp(), for qsort() and bsearch(). */
int text_compare(const void *a, const void *b);
const char *text_file_name(const char *path); /* returns the text after the last slash; `path` if nothing follows that slash */

bool text_is_utf8(const char *bytes, size_t n);

/* Returns the size of the control character at `text` in bytes; 0 if there is none. Control characters are: those of ASCII; those of
 * Latin-1 in UTF-8, which terminals also obey ("\u009b" starts a sequence); and Unicode characters that end lines, change the direction of
 * text (Bidi_Control, Unicode Standard Annex 9: one name could look like another) or are invisible, except joiners of letters. */
size_t text_control_char_bytes(const char *text);

/* Prints text from outside. '?' replaces control characters. */
void text_print_sanitized(const char *text, FILE *to);

/* Writes outside text on one line, at most TEXT_SANITIZED_BYTES, for a message: '?' replaces control characters, " ... " a long middle. */
#define TEXT_SANITIZED_BYTES 80
const char *text_sanitize(const char *text, char *out);

/* Formats like vsnprintf(), but replaces the middle of a longer text by " ... ", because messages end with their remedy. `size` >= 16. */
void text_vformat_elided(char *out, size_t size, const char *fmt, va_list args) __attribute__((format(printf, 3, 0)));
void text_format_elided(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Call the functions above with a buffer that lives until the enclosing block ends. */
#define TEXT_DOUBLE(value)   text_from_double(value, (char[TEXT_DOUBLE_BYTES]){ 0 })
#define TEXT_DATE(ms)	     text_from_ms(ms, (char[TEXT_DATE_BYTES]){ 0 })
#define TEXT_SANITIZED(text) text_sanitize(text, (char[TEXT_SANITIZED_BYTES]){ 0 })

/* Appends an argument for a shell: unchanged if safe, else in single quotes. For commands that other machines run or that users copy. */
void text_add_shell_argument(struct buf *out, const char *word);
char *text_shell_line(const char *const *words); /* joins `words`, which end with NULL, to a shell command line; free() it */
/* Returns a command of this program for a sentence: 'assay WORDS', in double quotes if it contains single ones. The caller frees the
 * result. */
char *text_format_command(const char *const *words);

#endif
