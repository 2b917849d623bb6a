/* Small things on text: numbers that are checked, nearest words, dates. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;

/* Decimal numbers, whole text, no blanks. NaN, infinities, hexadecimal and what overflows a double are refused; a value that
 * underflows becomes 0 or the nearest denormal. False leaves *out alone. */
bool text_double(const char *text, double *out);
/* Seconds from "90", "90s", "2m" or "8h", above 0 and at most a year. False for anything else. */
#define TEXT_SPAN_SECONDS_MAX (366 * 86400.0)
bool text_span(const char *text, double *seconds);
bool text_int64(const char *text, int64_t *out);

/* The word of words[0..n) with the smallest edit distance to `word`, or NULL when none is near enough to be meant
 * (distance above 1 + length/3). */
const char *text_nearest(const char *word, const char *const *words, size_t n);

/* Which of words[0..n) it is; SIZE_MAX: none. text_among(): is it one, whether these may be changed or not? */
size_t text_index(const char *const *words, size_t n, const char *word);
#define text_among(words, n, word) (text_index((const char *const *)(words), n, word) != SIZE_MAX)

/* The shortest decimal text that reads back as the same double (at most 17 digits). `out` needs TEXT_DOUBLE_BYTES. */
#define TEXT_DOUBLE_BYTES 32
const char *text_from_double(double value, char *out);

/* A measured value for people, as far as its noise lets it be known: the last digit is the one of which the noise takes the first (1234.56
 * with 3 is "1235", with 300 "1200"); six digits at most, and where the noise is 0. Finite; `out` needs TEXT_DOUBLE_BYTES. */
const char *text_from_measured(double value, double noise, char *out);

/* A number for people, with so many decimals; with three digits and an exponent from a million on, and where the decimals would show
 * nothing of it but zeros. As an argument of a format: text_fixed(x, 3).text. text_signed(): with a sign, and 0 where the decimals show
 * nothing. */
struct text_number {
	char text[TEXT_DOUBLE_BYTES];
};
struct text_number text_fixed(double value, int decimals);
struct text_number text_signed(double value, int decimals);

/* An estimated probability: what is not known to be sure does not look as if: "0.97", ">0.99", "<0.01". */
struct text_number text_probability(double p);

/* Writes a duration such as "3 min 20 s". `out` needs TEXT_DURATION_BYTES. */
#define TEXT_DURATION_BYTES 32
const char *text_duration(double seconds, char *out);

/* "2017-06-15T06:00:00Z" from milliseconds since 1970 UTC (milliseconds are shown only when not 0). `out` needs TEXT_DATE_BYTES. */
#define TEXT_DATE_BYTES 32
const char *text_from_ms(int64_t ms, char *out);

/* Reads a time since 1970, below 1e11 in seconds, else in milliseconds, with or without a fraction; or a date: "2026-11-23", "20261123",
 * "202611232001", "2026-11-23T20:01", "2026-11-23 20:01:23.5+01:00" (UTC without a zone). False for a date that does not exist, before 1970
 * or past the year 9999; *ms stays then. */
bool text_time_ms(const char *text, int64_t *ms);
/* The start of a day such as "2026-11-23", UTC, in ms since 1970. *ms stays after ASSAY_E_USAGE. */
enum assay_status text_day(const char *text, int64_t *ms, struct assay_error *err);

const char *text_plural(size_t n); /* "" for one, else "s" */

/* For qsort() and bsearch(): items that are texts (char *), as strcmp() has them. */
int text_order(const void *a, const void *b);
const char *text_file_name(const char *path); /* after its last slash, unless nothing is there */

bool text_is_utf8(const char *bytes, size_t n);

/* Bytes of the control character that text starts with, 0 when it starts with none: those of ASCII; of Latin-1 as UTF-8 has them, which
 * terminals obey as well ("\u009b" is the start of their sequences); and characters of Unicode that end lines, turn the direction of
 * what follows (Bidi_Control, Unicode Standard Annex 9: a name then reads as another) or are not seen. Joiners of letters stay. */
size_t text_control(const char *text);

/* Outside text, whose control characters become '?'. */
void text_put(const char *text, FILE *to);

/* Outside text for a message: on one line (control characters become '?'), without its middle when long. `out` needs TEXT_SHOWN_BYTES. */
#define TEXT_SHOWN_BYTES 80
const char *text_shown(const char *text, char *out);

/* As vsnprintf(). Of a text that is longer the middle goes, with " ... " in its place: messages end with their remedy. size: at least 16.
 */
void text_fit(char *out, size_t size, const char *fmt, va_list args) __attribute__((format(printf, 3, 0)));
void text_fit_format(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* These with room that is there until the block ends. */
#define TEXT_DOUBLE(value) text_from_double(value, (char[TEXT_DOUBLE_BYTES]){ 0 })
#define TEXT_MS(ms)	   text_from_ms(ms, (char[TEXT_DATE_BYTES]){ 0 })
#define TEXT_SHOWN(text)   text_shown(text, (char[TEXT_SHOWN_BYTES]){ 0 })

/* Adds a word as a shell reads it back: as it is where that is safe, else in single quotes. For commands on other machines, and for those
 * that we suggest to people. */
void text_add_shell_word(struct buf *out, const char *word);
char *text_shell_line(const char *const *words); /* all of them, NULL after the last one, as one line; free() it */
/* The same as a command of this program in a sentence: 'assay WORDS'; between other marks where a word needs those for itself. */
char *text_command(const char *const *words);

#endif
