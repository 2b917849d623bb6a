#include "base/text.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/error.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>

static const char *skip_digits(const char *s)
{
	while (*s >= '0' && *s <= '9')
		s++;
	return s;
}

static const char *skip_sign(const char *s)
{
	return *s == '+' || *s == '-' ? s + 1 : s;
}

/* Reports whether the text is a decimal number. strtod() would also accept spaces, "inf", "nan" and hexadecimal. */
static bool is_decimal(const char *s)
{
	const char *from = skip_sign(s);
	size_t digits;

	s = skip_digits(from);
	digits = (size_t)(s - from);
	if (*s == '.') {
		from = s + 1;
		s = skip_digits(from);
		digits += (size_t)(s - from);
	}
	if (!digits)
		return false;
	if (*s == 'e' || *s == 'E') {
		from = skip_sign(s + 1);
		s = skip_digits(from);
		if (s == from)
			return false;
	}
	return !*s;
}

/* Relies on the "C" locale, which the program keeps: strtod() uses the locale's decimal point. */
bool text_parse_double(const char *text, double *out)
{
	double value;

	if (!is_decimal(text))
		return false;
	value = strtod(text, NULL);
	if (!isfinite(value))
		return false;
	*out = value;
	return true;
}

bool text_parse_duration(const char *text, double *seconds)
{
	size_t length = strlen(text), unit = length > 1 && strchr("smh", text[length - 1]) ? 1 : 0;
	char *number = mem_bytes(text, length - unit);
	double units = 0, each = unit && text[length - 1] == 'm' ? 60 : unit && text[length - 1] == 'h' ? 3600 : 1;
	bool ok = text_parse_double(number, &units) && units > 0 && units <= TEXT_DURATION_S_MAX / each;

	free(number);
	*seconds = units * each;
	return ok;
}

bool text_parse_int64(const char *text, int64_t *out)
{
	const char *digits = skip_sign(text), *end = skip_digits(digits);
	intmax_t value;

	if (end == digits || *end)
		return false;
	errno = 0;
	value = strtoimax(text, NULL, 10);
	if (errno)
		return false;
	*out = value;
	return true;
}

#define NEAREST_BYTES_MAX 64 /* maximum length of compared texts; keys are short, but outside text may be long */

/* Returns the edit distance. A swap of two neighbours counts as one edit ("optimal string alignment"; Damerau, CACM 7(3), 1964). */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][NEAREST_BYTES_MAX + 1];
	size_t *older = rows[0], *old = rows[1], *row = rows[2];

	for (size_t j = 0; j <= m; j++)
		older[j] = old[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *spare = older;

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = old[j - 1] + (a[i - 1] != b[j - 1]);

			if (old[j] + 1 < best)
				best = old[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && older[j - 2] + 1 < best)
				best = older[j - 2] + 1;
			row[j] = best;
		}
		older = old;
		old = row;
		row = spare;
	}
	return old[m];
}

const char *text_nearest(const char *word, const char *const *words, size_t n)
{
	size_t length = strlen(word), best = 2 + length / 3;
	const char *nearest = NULL;

	if (length > NEAREST_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t other = strlen(words[i]), d;

		if (other > NEAREST_BYTES_MAX)
			continue;
		d = edit_distance(word, length, words[i], other);
		if (d < best) {
			best = d;
			nearest = words[i];
		}
	}
	return nearest;
}

#define DIGITS_MAX 17 /* digits that suffice to distinguish all doubles */

struct decimal { /* decimal number d.ddd * 10^exponent */
	char digits[DIGITS_MAX + 1];
	size_t n;
	int exponent;
};

static struct decimal decimal_from(double value, size_t n)
{
	struct decimal d = { .n = n };
	char text[TEXT_DOUBLE_BYTES];
	const char *s = text;

	snprintf(text, sizeof(text), "%.*e", (int)n - 1, value);
	for (size_t i = 0; i < n; s++)
		if (*s != '.')
			d.digits[i++] = *s;
	d.exponent = (int)strtol(s + 1, NULL, 10); /* + 1 skips the 'e' */
	return d;
}

static double decimal_value(const struct decimal *d)
{
	char text[TEXT_DOUBLE_BYTES];

	snprintf(text, sizeof(text), "%c.%se%d", d->digits[0], d->digits + 1, d->exponent);
	return strtod(text, NULL);
}

/* Adds one to the last digit, with carry. */
static void increment_decimal(struct decimal *d)
{
	size_t i = d->n;

	while (i > 0 && d->digits[i - 1] == '9')
		d->digits[--i] = '0';
	if (i > 0) {
		d->digits[i - 1]++;
		return;
	}
	d->digits[0] = '1';
	d->exponent++;
}

/* Returns the shortest decimal that reads back as `value`. A normal double preserves 15 digits (DBL_DIG), so shorter decimals need no test.
 * Denormals preserve fewer. At a power of two, the doubles below are closer than those above: if the nearest decimal fails, the next may
 * succeed. */
static struct decimal shortest_decimal(double value)
{
	int exponent;
	bool power_of_two = frexp(value, &exponent) == 0.5;
	struct decimal d;

	for (size_t n = value < DBL_MIN ? 1 : DBL_DIG; n < DIGITS_MAX; n++) {
		d = decimal_from(value, n);
		if (decimal_value(&d) == value)
			return d;
		if (!power_of_two)
			continue;
		increment_decimal(&d);
		if (decimal_value(&d) == value)
			return d;
	}
	return decimal_from(value, DIGITS_MAX);
}

/* Writes the decimal with an exponent if it is below 1e-4 or at least 1e16, else without. text_from_double() writes integers below 1e16. */
static void format_decimal(const struct decimal *d, char *out, size_t bytes)
{
	int e = d->exponent;

	if (e < -4 || e >= 16)
		snprintf(out, bytes, "%c%s%se%d", d->digits[0], d->n > 1 ? "." : "", d->digits + 1, e);
	else if (e < 0)
		snprintf(out, bytes, "0.%.*s%s", -e - 1, "000", d->digits);
	else
		snprintf(out, bytes, "%.*s.%s", e + 1, d->digits, d->digits + e + 1);
}

size_t text_index(const char *const *words, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(words[i], word) == 0)
			return i;
	}
	return SIZE_MAX;
}

const char *text_from_double(double value, char *out)
{
	size_t sign = signbit(value) ? 1 : 0;
	struct decimal d;

	ASSAY_BUG_IF(!isfinite(value));
	if (fabs(value) < 1e16 && value == trunc(value)) {
		snprintf(out, TEXT_DOUBLE_BYTES, "%.0f", value);
		return out;
	}
	d = shortest_decimal(fabs(value));
	while (d.n > 1 && d.digits[d.n - 1] == '0')
		d.digits[--d.n] = '\0';
	out[0] = '-';
	format_decimal(&d, out + sign, TEXT_DOUBLE_BYTES - sign);
	return out;
}

#define MEASURED_DIGITS 6

const char *text_from_measured(double value, double noise, char *out)
{
	double first = floor(log10(fabs(value))), last = noise > 0 ? floor(log10(noise)) : -HUGE_VAL; /* decimal exponents */

	ASSAY_BUG_IF(!isfinite(value));
	last = fmin(fmax(last, first - MEASURED_DIGITS + 1), first); /* one digit if the noise exceeds the value */
	if (value == 0)
		snprintf(out, TEXT_DOUBLE_BYTES, "0");
	else if (!(noise > 0) || first < -5 || first >= 15)
		snprintf(out, TEXT_DOUBLE_BYTES, "%.*g", (int)(first - last) + 1, value);
	else
		snprintf(out, TEXT_DOUBLE_BYTES, "%.*f", last < 0 ? (int)-last : 0,
			 last > 0 ? round(value / pow(10, last)) * pow(10, last) : value);
	return out;
}

#define FIXED_MAX 1e6

struct text_number text_fixed(double value, int decimals)
{
	struct text_number out;
	double size = fabs(value);

	if (size >= FIXED_MAX || (size > 0 && size < .5 * pow(10, -decimals)))
		snprintf(out.text, sizeof(out.text), "%.3g", value);
	else
		snprintf(out.text, sizeof(out.text), "%.*f", decimals, value);
	return out;
}

struct text_number text_signed(double value, int decimals)
{
	struct text_number out;

	if (fabs(value) >= FIXED_MAX)
		snprintf(out.text, sizeof(out.text), "%+.3g", value);
	else
		snprintf(out.text, sizeof(out.text), "%+.*f", decimals, value);
	return out;
}

struct text_number text_probability(double p)
{
	struct text_number out;

	if (p >= .995 || p < .005)
		snprintf(out.text, sizeof(out.text), p < .005 ? "<0.01" : ">0.99");
	else
		snprintf(out.text, sizeof(out.text), "%.2f", p);
	return out;
}

const char *text_from_ms(int64_t ms, char *out)
{
	int64_t rest = (ms % 1000 + 1000) % 1000;
	time_t seconds = ms / 1000 - (ms % 1000 < 0); /* rounds down, also before 1970 */
	struct tm tm;
	size_t used;

	/* gmtime_r() cannot fail: the year of any int64_t in ms fits an int. */
	ASSAY_BUG_IF(!gmtime_r(&seconds, &tm));
	used = strftime(out, TEXT_DATE_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	if (rest)
		snprintf(out + used, TEXT_DATE_BYTES - used, ".%03dZ", (int)rest);
	else
		snprintf(out + used, TEXT_DATE_BYTES - used, "Z");
	return out;
}

#define MS_MAX INT64_C(253402300799999) /* last millisecond of the year 9999 */

/* Returns the strptime() format of a date that consists only of digits; NULL for other texts. As numbers, 20261123 would be seconds in
 * 1970, and 202611232001 milliseconds in 1976. */
static const char *compact_date(const char *text)
{
	size_t n = strspn(text, "0123456789");

	if (text[n] || (strncmp(text, "19", 2) != 0 && strncmp(text, "20", 2) != 0))
		return NULL;
	return n == 8 ? "%Y%m%d" : n == 12 ? "%Y%m%d%H%M" : NULL;
}

static bool read_date(const char *text, const char *format, int64_t *ms)
{
	struct tm tm = { .tm_year = 0 }, real;
	const char *rest = strptime(text, format, &tm);
	double part = 0;

	if (rest && (*rest == 'T' || *rest == ' ')) {
		rest = strptime(rest + 1, "%H:%M", &tm);
		if (rest && *rest == ':')
			rest = strptime(rest + 1, "%S", &tm);
		if (rest && *rest == '.') {
			part = fmin(strtod(rest, NULL), 1); /* limited to 1 s, because strtod() also reads the exponent of ".5e99" */
			rest = skip_digits(rest + 1);
		}
		if (rest && *rest)
			rest = strcmp(rest, " UTC") == 0 ? "" : strptime(rest, "%z", &tm);
	}
	real = tm;
	*ms = ((int64_t)timegm(&real) - tm.tm_gmtoff) * 1000 + (int64_t)(part * 1000 + .5);
	/* timegm() turns February 30 into March 2, so that the day or month differs. */
	return rest && !*rest && real.tm_mday == tm.tm_mday && real.tm_mon == tm.tm_mon && labs(tm.tm_gmtoff) < 86400;
}

bool text_parse_time_ms(const char *text, int64_t *ms)
{
	const char *compact = compact_date(text);
	double number;
	int64_t value;

	if (!compact && text_parse_double(text, &number) && number >= 0 && number <= (double)MS_MAX)
		value = (int64_t)(number < 1e11 ? number * 1000 + .5 : number);
	else if (!read_date(text, compact ? compact : "%Y-%m-%d", &value))
		return false;
	if (value < 0 || value > MS_MAX)
		return false;
	*ms = value;
	return true;
}

/* Returns the size of the well-formed UTF-8 sequence at s; 0 if there is none. Table 3-7 of the Unicode standard excludes overlong forms,
 * surrogates, and values above U+10FFFF. */
static size_t utf8_sequence(const unsigned char *s, size_t n)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t length;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (n < length || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

const char *text_plural(size_t n)
{
	return n == 1 ? "" : "s";
}

const char *text_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

int text_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool text_is_utf8(const char *bytes, size_t n)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t length;

	while (n) {
		uint64_t word;

		if (n >= sizeof(word)) { /* skips eight ASCII bytes at once */
			memcpy(&word, s, sizeof(word));
			if (!(word & UINT64_C(0x8080808080808080))) {
				s += sizeof(word);
				n -= sizeof(word);
				continue;
			}
		}
		length = utf8_sequence(s, n);
		if (!length)
			return false;
		s += length;
		n -= length;
	}
	return true;
}

/* First and last character of each range of control characters, in UTF-8. Within a range, only the last byte differs. */
static const struct {
	const char *first, *last;
} controls[] = {
	{ "\xc2\x80", "\xc2\x9f" },		    /* U+0080 to U+009F */
	{ "\xd8\x9c", "\xd8\x9c" },		    /* U+061C, Arabic letter mark */
	{ "\xe2\x80\x8b", "\xe2\x80\x8b" },	    /* U+200B, zero-width space */
	{ "\xe2\x80\x8e", "\xe2\x80\x8f" },	    /* U+200E and U+200F, direction marks */
	{ "\xe2\x80\xa8", "\xe2\x80\xae" },	    /* U+2028 to U+202E: ends of lines and paragraphs, embedded directions */
	{ "\xe2\x81\xa0", "\xe2\x81\xaf" },	    /* U+2060 to U+206F: joiners, invisible operators, isolated directions */
	{ "\xef\xbb\xbf", "\xef\xbb\xbf" },	    /* U+FEFF, byte order mark */
	{ "\xef\xbf\xb9", "\xef\xbf\xbb" },	    /* U+FFF9 to U+FFFB, annotations */
	{ "\xf3\xa0\x80\x80", "\xf3\xa0\x80\xbf" }, /* U+E0000 to U+E007F, tags */
	{ "\xf3\xa0\x81\x80", "\xf3\xa0\x81\xbf" },
};

size_t text_control_char_bytes(const char *text)
{
	unsigned char first = (unsigned char)text[0];

	for (size_t i = 0; first >= 0xc2 && i < sizeof(controls) / sizeof(*controls); i++) {
		size_t last = strlen(controls[i].last) - 1;

		if (strncmp(text, controls[i].first, last) == 0 && (unsigned char)text[last] >= (unsigned char)controls[i].first[last] &&
		    (unsigned char)text[last] <= (unsigned char)controls[i].last[last])
			return last + 1;
	}
	return first < 0x20 || first == 0x7f;
}

void text_print_sanitized(const char *text, FILE *to)
{
	for (size_t control; *text; text += control ? control : 1) {
		control = text_control_char_bytes(text);
		fputc(control ? '?' : *text, to);
	}
}

static bool is_inside_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void text_vformat_elided(char *out, size_t size, const char *fmt, va_list args)
{
	static const char between[] = " ... ";
	size_t head = (size - sizeof(between)) / 2, tail = size - sizeof(between) - head, n;
	va_list again;
	char *all;

	va_copy(again, args);
	n = (size_t)vsnprintf(out, size, fmt, args);
	if (n >= size) {
		all = mem_new(n + 1, 1);
		vsnprintf(all, n + 1, fmt, again);
		while (head && is_inside_character(all[head]))
			head--;
		while (tail && is_inside_character(all[n - tail]))
			tail--;
		snprintf(out, size, "%.*s%s%s", (int)head, all, between, all + n - tail);
		free(all);
	}
	va_end(again);
}

void text_format_elided(char *out, size_t size, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_vformat_elided(out, size, fmt, args);
	va_end(args);
}

const char *text_sanitize(const char *text, char *out)
{
	size_t shown = 0;

	text_format_elided(out, TEXT_SANITIZED_BYTES, "%s", text);
	for (const char *at = out; *at; shown++) {
		size_t control = text_control_char_bytes(at);

		out[shown] = control ? '?' : *at;
		at += control ? control : 1;
	}
	out[shown] = '\0';
	return out;
}

void text_add_shell_argument(struct buf *out, const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,/:@%";

	if (*word && strspn(word, safe) == strlen(word)) {
		buf_text(out, word);
		return;
	}
	buf_char(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_text(out, "'\\''");
		else
			buf_char(out, *word);
	}
	buf_char(out, '\'');
}

char *text_shell_line(const char *const *words)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; words[i]; i++) {
		if (i)
			buf_char(&out, ' ');
		text_add_shell_argument(&out, words[i]);
	}
	return buf_take(&out);
}

char *text_format_command(const char *const *words)
{
	char *line = text_shell_line(words), *command;

	command = mem_format(strchr(line, '\'') ? "\u201cassay %s\u201d" : "'assay %s'", line);
	free(line);
	return command;
}

const char *text_format_duration(double seconds, char *out)
{
	long whole = lround(seconds);

	if (seconds < 10)
		snprintf(out, TEXT_DURATION_BYTES, "%.1f s", seconds);
	else if (whole < 100)
		snprintf(out, TEXT_DURATION_BYTES, "%ld s", whole);
	else if (whole < 6000)
		snprintf(out, TEXT_DURATION_BYTES, "%ld min %02ld s", whole / 60, whole % 60);
	else
		snprintf(out, TEXT_DURATION_BYTES, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
	return out;
}

enum assay_status text_parse_day(const char *text, int64_t *ms, struct assay_error *err)
{
	if (strlen(text) == 10 && text[4] == '-' && text[7] == '-' && text_parse_time_ms(text, ms))
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_USAGE, "'%s' is no day such as 2026-11-23", TEXT_SANITIZED(text));
}
