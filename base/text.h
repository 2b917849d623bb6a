/* Text utilities: checked numbers, nearest names, dates. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;

/* Parses a decimal number without blanks. False leaves *out: NaN, infinity, hexadecimal, overflow. Underflow: 0 or the nearest denormal. */
bool text_double(const char *text, double *out);
/* Parses "90", "90s", "2m" or "8h" into seconds, above 0 and at most a year. False: anything else. */
#define TEXT_SPAN_SECONDS_MAX (366 * 86400.0)
bool text_span(const char *text, double *seconds);
bool text_int64(const char *text, int64_t *out);

/* Returns the nearest of words[0..n) by edit distance; NULL: none is near enough to be meant (distance above 1 + length/3). */
const char *text_nearest(const char *word, const char *const *words, size_t n);

/* Returns the index of `word` in words[0..n); SIZE_MAX: none. text_among() reports whether there is one; words may be const or not. */
size_t text_index(const char *const *words, size_t n, const char *word);
#define text_among(words, n, word) (text_index((const char *const *)(words), n, word) != SIZE_MAX)

/* Writes the shortest decimal text that reads back as the same double (at most 17 digits). `out` needs TEXT_DOUBLE_BYTES. */
#define TEXT_DOUBLE_BYTES 32
const char *text_from_double(double value, char *out);

/* Writes a measured value as precisely as its noise permits: its last digit has the place of the noise's first (1234.56 with 3 is "1235",
 * with 300 "1200"). Writes at most six digits, and six if the noise is 0. Finite; `out` needs TEXT_DOUBLE_BYTES. */
const char *text_from_measured(double value, double noise, char *out);

/* Formats a number for users, with so many decimals. Uses three digits and an exponent from a million on, and if the decimals would be
 * zeros only. In arguments of a format: text_fixed(x, 3).text. text_signed(): with a sign, and 0 if the decimals would be zeros only. */
struct text_number {
	char text[TEXT_DOUBLE_BYTES];
};
struct text_number text_fixed(double value, int decimals);
struct text_number text_signed(double value, int decimals);

/* Formats an estimated probability, never as certain: "0.97", ">0.99", "<0.01". */
struct text_number text_probability(double p);

/* Writes a duration such as "3 min 20 s". `out` needs TEXT_DURATION_BYTES. */
#define TEXT_DURATION_BYTES 32
const char *text_duration(double seconds, char *out);

/* Writes "2017-06-15T06:00:00Z" from milliseconds since 1970 UTC (shows milliseconds unless 0). `out` needs TEXT_DATE_BYTES. */
#define TEXT_DATE_BYTES 32
const char *text_from_ms(int64_t ms, char *out);

/* Reads a time since 1970, below 1e11 in seconds, else in milliseconds, perhaps with a fraction; or a date: "2026-11-23", "20261123",
 * "202611232001", "2026-11-23T20:01", "2026-11-23 20:01:23.5+01:00" (UTC without a zone). False, and *ms unchanged: a date that does not
 * exist, is before 1970 or after the year 9999. */
bool text_time_ms(const char *text, int64_t *ms);
/* Reads a day such as "2026-11-23" as its start in UTC, ms since 1970. ASSAY_E_USAGE leaves *ms unchanged. */
enum assay_status text_day(const char *text, int64_t *ms, struct assay_error *err);

const char *text_plural(size_t n); /* "" for 1, else "s" */

/* Orders texts (char *) for qsort() and bsearch(), as strcmp(). */
int text_order(const void *a, const void *b);
const char *text_file_name(const char *path); /* text after the last slash, unless it is empty */

bool text_is_utf8(const char *bytes, size_t n);

/* Returns the size of the control character at `text`; 0: none. Control characters are those of ASCII; those of Latin-1 in UTF-8, which
 * terminals also obey ("\u009b" starts a sequence); and Unicode characters that end lines, change the direction of text (Bidi_Control,
 * Unicode Standard Annex 9: a name then looks like another) or are invisible, except joiners of letters. */
size_t text_control(const char *text);

/* Prints outside text; '?' replaces control characters. */
void text_put(const char *text, FILE *to);

/* Writes outside text for a message: on one line ('?' replaces control characters), without its middle if long. TEXT_SHOWN_BYTES fit. */
#define TEXT_SHOWN_BYTES 80
const char *text_shown(const char *text, char *out);

/* Formats as vsnprintf(), but replaces the middle of a longer text by " ... ", because messages end with their remedy. size: 16 or more. */
void text_fit(char *out, size_t size, const char *fmt, va_list args) __attribute__((format(printf, 3, 0)));
void text_fit_format(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same functions with buffers that live until the block ends. */
#define TEXT_DOUBLE(value) text_from_double(value, (char[TEXT_DOUBLE_BYTES]){ 0 })
#define TEXT_MS(ms)	   text_from_ms(ms, (char[TEXT_DATE_BYTES]){ 0 })
#define TEXT_SHOWN(text)   text_shown(text, (char[TEXT_SHOWN_BYTES]){ 0 })

/* Appends an argument quoted for a shell: unchanged if that is safe, else in single quotes. For commands on other machines, and for
 * commands that users are to copy. */
void text_add_shell_word(struct buf *out, const char *word);
char *text_shell_line(const char *const *words); /* all of them, up to NULL, as one line; free() it */
/* Returns a command of this program for a sentence: 'assay WORDS', between other quotes if an argument contains that one. free() it. */
char *text_command(const char *const *words);

#endif
