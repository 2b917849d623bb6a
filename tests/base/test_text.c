#include "base/text.h"

#include "base/error.h"
#include "base/rng.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_double(void **state)
{
	static const struct {
		const char *text;
		bool good;
		double value;
	} rows[] = {
		{ "0", true, 0 },
		{ "-1.5e3", true, -1500 },
		{ "+2", true, 2 },
		{ ".5", true, .5 },
		{ "5.", true, 5 },
		{ "1e-400", true, 0 },
		{ "5e-324", true, 4.9406564584124654e-324 },
		{ "1.7976931348623157e308", true, DBL_MAX },
		{ "1e309", false, 0 },
		{ "-1e999", false, 0 },
		{ "", false, 0 },
		{ ".", false, 0 },
		{ "-", false, 0 },
		{ "e5", false, 0 },
		{ "1e", false, 0 },
		{ "1e+", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "1,5", false, 0 },
		{ "0x10", false, 0 },
		{ "nan", false, 0 },
		{ "inf", false, 0 },
		{ "1.2.3", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double value = 42;

		if (text_parse_double(rows[i].text, &value) != rows[i].good)
			fail_msg("'%s' is %staken", rows[i].text, rows[i].good ? "not " : "");
		assert_true(value == (rows[i].good ? rows[i].value : 42));
	}
}

/* Checks spans of time. More than a year is refused: it is a typing error, and would overflow as nanoseconds. */
static void test_span(void **state)
{
	static const struct {
		const char *text;
		double seconds; /* expected seconds; 0: refused */
	} rows[] = { { "90", 90 },
		     { "90s", 90 },
		     { "1.5m", 90 },
		     { "8h", 28800 },
		     { "8784h", TEXT_DURATION_S_MAX },
		     { "31622400", 31622400 },
		     { "8785h", 0 },
		     { "0s", 0 },
		     { "-1h", 0 },
		     { "9999999999999h", 0 },
		     { "1e308h", 0 },
		     { "1d", 0 },
		     { "h", 0 },
		     { "", 0 },
		     { "3 h", 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double seconds = 0;

		if (text_parse_duration(rows[i].text, &seconds) != (rows[i].seconds > 0))
			fail_msg("'%s' is %staken", rows[i].text, rows[i].seconds > 0 ? "not " : "");
		assert_true(rows[i].seconds <= 0 || seconds == rows[i].seconds);
	}
}

static void test_int64(void **state)
{
	static const struct {
		const char *text;
		bool good;
		int64_t value;
	} rows[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "+17", true, 17 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "", false, 0 },
		{ "-", false, 0 },
		{ "1.0", false, 0 },
		{ " 1", false, 0 },
		{ "1x", false, 0 },
		{ "0x1", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t value = 42;

		if (text_parse_int64(rows[i].text, &value) != rows[i].good)
			fail_msg("'%s' is %staken", rows[i].text, rows[i].good ? "not " : "");
		assert_int_equal(value, rows[i].good ? rows[i].value : 42);
	}
}

static void test_nearest(void **state)
{
	static const char *const words[] = { "port", "host", "user", "architecture", "types" };
	static const struct {
		const char *word, *expected;
	} rows[] = {
		{ "prot", "port" }, /* a swap counts as one edit */
		{ "ohts", "host" }, /* two swaps; as other edits they would be more than the two that are allowed for four letters */
		{ "pxyz", NULL },   /* three edits */
		{ "hosts", "host" },
		{ "Host", "host" },
		{ "usr", "user" },
		{ "ype", "types" }, /* two edits, and two are allowed for three letters */
		{ "py", NULL },
		{ "architectrue", "architecture" },
		{ "arkitektur", "architecture" }, /* four edits, and four are allowed for ten letters */
		{ "banana", NULL },
		{ "", NULL },
	};
	char longest[300];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *found = text_nearest(rows[i].word, words, 5);

		if (found != rows[i].expected && (!found || !rows[i].expected || strcmp(found, rows[i].expected) != 0))
			fail_msg("'%s': found %s", rows[i].word, found ? found : "nothing");
	}
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_null(text_nearest(longest, words, 5));
	assert_null(text_nearest("port", words, 0));
}

static void check_shortest(double value)
{
	char text[TEXT_DOUBLE_BYTES], digits[TEXT_DOUBLE_BYTES];
	double back = 0;
	size_t n = 0;

	text_from_double(value, text);
	if (!text_parse_double(text, &back) || memcmp(&back, &value, sizeof(value)) != 0)
		fail_msg("%.17g became '%s'", value, text);
	for (const char *s = text; *s && *s != 'e'; s++)
		n += *s >= '0' && *s <= '9' && (n || *s != '0');
	/* The correctly rounded number with one digit less must differ. Otherwise there is a shorter text. */
	if (n < 2 || (fabs(value) < 1e16 && value == trunc(value)))
		return;
	snprintf(digits, sizeof(digits), "%.*e", (int)n - 2, value);
	if (strtod(digits, NULL) == value)
		fail_msg("'%s' is longer than '%s'", text, digits);
}

static void test_from_double(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ -0.0, "-0" },
		{ .1, "0.1" },
		{ .3, "0.3" },
		{ .1 + .2, "0.30000000000000004" },
		{ 100000, "100000" },
		{ 1e15, "1000000000000000" },
		{ 9007199254740993.0, "9007199254740992" },
		{ 1e16, "1e16" },
		{ 1e22, "1e22" },
		{ -1.5, "-1.5" },
		{ 123456.789, "123456.789" },
		{ 1e-4, "0.0001" },
		{ 1.25e-5, "1.25e-5" },
		{ DBL_MAX, "1.7976931348623157e308" },
		{ DBL_MIN, "2.2250738585072014e-308" },
		{ 4.9406564584124654e-324, "5e-324" },
		/* With sixteen digits, only numbers above the value read back as it: at a power of two, the gap below is smaller. */
		{ 0x1p-44, "5.684341886080802e-14" },
		{ 0x1p89, "6.189700196426902e26" },
	};
	struct rng rng;
	char text[TEXT_DOUBLE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(text_from_double(rows[i].value, text), rows[i].text);
	for (int e = -1074; e <= 1023; e++) {
		check_shortest(ldexp(1, e));
		check_shortest(nextafter(ldexp(1, e), 0));
	}
	rng_seed(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = rng_next(&rng);
		double value;

		memcpy(&value, &bits, sizeof(value));
		if (isfinite(value))
			check_shortest(value);
	}
}

static void test_measured(void **state)
{
	static const struct {
		double value, noise;
		const char *text;
	} rows[] = {
		{ 1234.56, 3, "1235" },
		{ 1234.56, 300, "1200" },
		{ 1234.56, .3, "1234.6" },
		{ 1234.56, 1e-9, "1234.56" },
		{ 1234567.8, .1, "1234570" },
		{ 9.996, .01, "10.00" },
		{ .0012345, .0002, "0.0012" },
		{ .5, 3, "0.5" },
		{ 7, 80, "7" },
		{ 12.5, 0, "12.5" },
		{ 1 / 3., 0, "0.333333" },
		{ 0, .1, "0" },
		{ -25.25, 2, "-25" },
		{ 1e-9, 1e-12, "1e-09" },
		{ 3.14159e20, 2e18, "3.14e+20" },
		{ DBL_MAX, 1, "1.79769e+308" },
	};
	char text[TEXT_DOUBLE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(text_from_measured(rows[i].value, rows[i].noise, text), rows[i].text);
}

/* Checks that results are never long and never only zeros, and that a probability is never shown as certain. */
static void test_bounded(void **state)
{
	static const struct {
		double value;
		int decimals;
		const char *fixed, *with_sign;
	} rows[] = {
		{ 1.23456, 3, "1.235", "+1.235" },	{ -2.5, 1, "-2.5", "-2.5" },	 { 0, 3, "0.000", "+0.000" },
		{ 999999, 1, "999999.0", "+999999.0" }, { 1e99, 3, "1e+99", "+1e+99" },	 { -1.2345e12, 1, "-1.23e+12", "-1.23e+12" },
		{ 1e-9, 4, "1e-09", "+0.0000" },	{ .0005, 3, "0.001", "+0.001" },
	};
	static const struct {
		double p;
		const char *text;
	} probabilities[] = { { 1, ">0.99" },	{ .996, ">0.99" }, { .994, "0.99" }, { .5, "0.50" },
			      { .005, "0.01" }, { .004, "<0.01" }, { 0, "<0.01" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(text_fixed(rows[i].value, rows[i].decimals).text, rows[i].fixed);
		assert_string_equal(text_signed(rows[i].value, rows[i].decimals).text, rows[i].with_sign);
	}
	for (size_t i = 0; i < sizeof(probabilities) / sizeof(probabilities[0]); i++)
		assert_string_equal(text_probability(probabilities[i].p).text, probabilities[i].text);
}

static void test_dates(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00Z" },
		{ INT64_C(1497506400000), "2017-06-15T06:00:00Z" },
		{ INT64_C(1497506400007), "2017-06-15T06:00:00.007Z" },
		{ INT64_C(951782400000), "2000-02-29T00:00:00Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
		{ INT64_C(253402300799999), "9999-12-31T23:59:59.999Z" },
	};
	char text[TEXT_DATE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(text_from_ms(rows[i].ms, text), rows[i].text);
	assert_int_equal(strlen(text_from_ms(INT64_MAX, text)), strlen("292278994-08-17T07:12:55.807Z"));
	text_from_ms(INT64_MIN, text); /* the sanitizers check this call */
}

static void test_times(void **state)
{
	static const struct {
		const char *text;
		int64_t ms; /* expected milliseconds; -1: refused */
	} rows[] = {
		{ "0", 0 },
		{ "1497506400", INT64_C(1497506400000) },
		{ "1497506400000", INT64_C(1497506400000) },
		{ "99999999999", INT64_C(99999999999000) },
		{ "100000000000", INT64_C(100000000000) },
		{ "253402300799999", INT64_C(253402300799999) },
		{ "253402300800000", -1 },
		{ "20261123", INT64_C(1795392000000) },
		{ "202611232001", INT64_C(1795464060000) },
		{ "19991231", INT64_C(946598400000) },
		{ "20260230", -1 },
		{ "20261301", -1 },
		{ "202611232460", -1 },
		{ "18991231", INT64_C(18991231000) },
		{ "1790899200.5", INT64_C(1790899200500) },
		{ "1790899200.123", INT64_C(1790899200123) },
		{ "1790899200500.9", INT64_C(1790899200500) },
		{ "2026-11-23", INT64_C(1795392000000) },
		{ "2026-02-28 10:00", INT64_C(1772272800000) },
		{ "2026-02-28T10:00Z", INT64_C(1772272800000) },
		{ "2024-02-29T12:00:00", INT64_C(1709208000000) },
		{ "2026-11-23T20:01:23+01:00", INT64_C(1795460483000) },
		{ "2026-11-23 20:01:23 +0100", INT64_C(1795460483000) }, /* as git prints it */
		{ "2026-11-23T20:01:23+01", INT64_C(1795460483000) },
		{ "2026-11-23T20:01:23-05:30", INT64_C(1795483883000) },
		{ "2026-11-23 20:01:23 UTC", INT64_C(1795464083000) },
		{ "2026-11-23T20:01:23.25Z", INT64_C(1795464083250) },
		{ "1970-06-01", INT64_C(13046400000) }, /* less, in milliseconds, than today's time in seconds */
		{ "2026-02-30", -1 },
		{ "2026-02-28 10:00.5e202", -1 },
		{ "2023-02-29", -1 },
		{ "2026-04-31T10:00:00Z", -1 },
		{ "2026-13-01", -1 },
		{ "2026-00-10", -1 },
		{ "2026-11-23T24:00", -1 },
		{ "2026-11-23T20:61", -1 },
		{ "2026-11-23T20:01:23+01:00x", -1 },
		{ "2026-11-23T20:01:23x01:00", -1 },
		{ "2026-11-23T20:01:23+1", -1 },
		{ "2026-11-23T20:01:23+01:60", -1 },
		{ "2026-11-23T20:01:23+24:00", -1 },
		{ "2026-11-23T20:01:23-24", -1 },
		{ "2026-11-23 tomorrow", -1 },
		{ "1969-12-31", -1 },
		{ "1970-01-01T00:30:00+01:00", -1 },
		{ "04/28/17 10:21:33", -1 },
		{ "-5", -1 },
		{ "-5.5", -1 },
		{ "1e300", -1 },
		{ "nan", -1 },
		{ "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t ms = -1;
		bool taken = text_parse_time_ms(rows[i].text, &ms);

		if (taken != (rows[i].ms >= 0) || ms != rows[i].ms)
			fail_msg("'%s' is %lld", rows[i].text, (long long)ms);
	}
}

static void test_utf8(void **state)
{
	static const struct {
		const char *bytes;
		bool good;
	} rows[] = {
		{ "", true },
		{ "plain text that is longer than a word", true },
		{ "\x7f", true },
		{ "\x80", false },
		{ "\xc2\x80", true },
		{ "\xc0\xaf", false }, /* overlong */
		{ "\xc1\xbf", false },
		{ "\xe0\x9f\xbf", false },
		{ "\xe0\xa0\x80", true },
		{ "\xed\x9f\xbf", true },
		{ "\xed\xa0\x80", false }, /* a surrogate */
		{ "\xf0\x8f\xbf\xbf", false },
		{ "\xf0\x90\x80\x80", true },
		{ "\xf4\x8f\xbf\xbf", true },
		{ "\xf4\x90\x80\x80", false }, /* above U+10FFFF */
		{ "\xf5\x80\x80\x80", false },
		{ "1234567\xc3", false }, /* cut at the end of a machine word */
		{ "12345678\xc3\xa9", true },
		{ "1234567\xc3\xa9", true },
		{ "\xe2\x82", false },
		{ "\xe2\x82x", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (text_is_utf8(rows[i].bytes, strlen(rows[i].bytes)) != rows[i].good)
			fail_msg("row %zu is %staken", i, rows[i].good ? "not " : "");
	assert_true(text_is_utf8("a\0b", 3));
}

/* Fills `text` with "é" and then `end`, so that a message of this text and two more characters is `n` bytes long. */
static void fill(char *text, size_t n, const char *end)
{
	size_t i = n % 2;

	memset(text, 'x', i);
	for (; i + 2 + strlen(end) + 2 <= n; i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	memset(text + i, 'y', n - 2 - strlen(end) - i);
	snprintf(text + n - 2 - strlen(end), strlen(end) + 1, "%s", end);
}

static void is_reported(const struct assay_error *err, size_t whole)
{
	size_t n = strlen(err->text);

	assert_true(text_is_utf8(err->text, n));
	if (strcmp(err->text + n - 6, "remedy") != 0 || (strstr(err->text, " ... ") != NULL) != (whole >= ASSAY_ERROR_BYTES))
		fail_msg("of %zu bytes: '%s'", whole, err->text);
}

/* Checks that messages that are too long end with their remedy, and that no character is cut in two. */
static void test_messages_fit(void **state)
{
	char text[3 * ASSAY_ERROR_BYTES];
	struct assay_error err;

	(void)state;
	for (size_t n = ASSAY_ERROR_BYTES - 12; n < 2 * ASSAY_ERROR_BYTES; n += n < ASSAY_ERROR_BYTES + 12 ? 1 : 97) {
		fill(text, n, "remedy");
		assay_fail(&err, ASSAY_E_USAGE, "a %s", text);
		is_reported(&err, n);
		assay_fail(&err, ASSAY_E_USAGE, "remedy");
		assay_add_context(&err, "%s", text);
		is_reported(&err, n + 6);
		fill(text, n - 4, "remedy");
		assay_fail(&err, ASSAY_E_USAGE, "%s", text);
		assay_add_context(&err, "bb");
		assert_memory_equal(err.text, "bb: ", 4);
		is_reported(&err, n - 2);
	}
	assert_int_equal(err.status, ASSAY_E_USAGE);
	assay_fail_errno(&err, ENOENT, "%s", text);
	assert_string_equal(err.text + strlen(err.text) - 27, ": No such file or directory");
}

static void test_shown(void **state)
{
	char out[TEXT_SANITIZED_BYTES], text[200];

	(void)state;
	assert_string_equal(text_sanitize("port", out), "port");
	assert_string_equal(text_sanitize("a\nb\033[31m\x7f", out), "a?b?[31m?");
	assert_string_equal(text_sanitize("a\xc2\x9b"
					  "31m\xc2\xa0\xc3\x9b",
					  out),
			    "a?31m\xc2\xa0\xc3\x9b"); /* a terminal's CSI, replaced; a no-break space and a letter, kept */
	assert_string_equal(text_sanitize("a\u202egnp.exe\u2028b\u2066c\u2069\u200b\ufeff\u061c\U000e0041", out), "a?gnp.exe?b?c?????");
	assert_string_equal(text_sanitize("\u200d\u2010\u2030\u2027\ufb01\ufffd\U0001f600", out),
			    "\u200d\u2010\u2030\u2027\ufb01\ufffd\U0001f600");
	assert_string_equal(text_sanitize("a\xe2\x80", out), "a\xe2\x80"); /* cut in the middle */
	for (size_t i = 0; i < 80; i++)
		memcpy(text + 2 * i, "\xc3\xa9", 2);
	text[160] = '\0';
	text_sanitize(text, out);
	assert_true(text_is_utf8(out, strlen(out)));
	assert_non_null(strstr(out, "\xc3\xa9 ... \xc3\xa9"));
	memset(text, 'x', TEXT_SANITIZED_BYTES - 1);
	text[TEXT_SANITIZED_BYTES - 1] = '\0';
	assert_string_equal(text_sanitize(text, out), text);
}

static void test_file_name(void **state)
{
	(void)state;
	assert_string_equal(text_file_name("/usr/lib/libz.so"), "libz.so");
	assert_string_equal(text_file_name("run"), "run");
	assert_string_equal(text_file_name("/usr/"), "/usr/");
	assert_string_equal(text_file_name(""), "");
}

int suite_text(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_double),	cmocka_unit_test(test_span),	     cmocka_unit_test(test_int64),
		cmocka_unit_test(test_nearest), cmocka_unit_test(test_from_double),  cmocka_unit_test(test_measured),
		cmocka_unit_test(test_utf8),	cmocka_unit_test(test_messages_fit), cmocka_unit_test(test_shown),
		cmocka_unit_test(test_times),	cmocka_unit_test(test_file_name),    cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_dates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
