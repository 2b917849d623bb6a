/* Tests escaping: any name stays text. Also tests the output of formats. */
#include "base/error.h"
#include "base/text.h"
#include "gate/page/document_html.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "tests/gate/made_up_evidence.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(rows)    (sizeof(rows) / sizeof((rows)[0]))
#define REPLACED_NAMES "\xef\xbf\xbd"

static void test_text(void **state)
{
	static const struct {
		const char *what, *text, *expected;
	} rows[] = {
		{ "nothing", "", "" },
		{ "plain", "node01.example", "node01.example" },
		{ "markup", "</script><b onload=\"x\">", "&lt;/script&gt;&lt;b onload=&quot;x&quot;&gt;" },
		{ "an attribute's end", "a' b\" c&d", "a&#39; b&quot; c&amp;d" },
		{ "an entity is not one", "&lt;&#60;", "&amp;lt;&amp;#60;" },
		{ "line ends and tabs are blanks", "a\tb\nc\rd", "a b c d" },
		{ "control characters",
		  "a\x01"
		  "b\x1b[31mc\x7f",
		  "a" REPLACED_NAMES "b" REPLACED_NAMES "[31mc" REPLACED_NAMES },
		{ "other alphabets", "größe ノード 🜁", "größe ノード 🜁" },
		{ "C1 controls",
		  "a\xc2\x9b"
		  "b\xc2\xa0",
		  "a" REPLACED_NAMES "b\xc2\xa0" },
		{ "direction overrides",
		  "a\xe2\x80\xae"
		  "b\xe2\x81\xa6"
		  "c\xe2\x80\x8f",
		  "a" REPLACED_NAMES "b" REPLACED_NAMES "c" REPLACED_NAMES },
		{ "a zero width joiner is text",
		  "a\xe2\x80\x8d"
		  "b",
		  "a\xe2\x80\x8d"
		  "b" },
		{ "not characters", "\xef\xbf\xbe\xef\xbf\xbf", REPLACED_NAMES REPLACED_NAMES },
		{ "a lone byte of more", "a\x80<", "a" REPLACED_NAMES "&lt;" },
		{ "a start without its rest", "a\xe2\x82<b", "a" REPLACED_NAMES REPLACED_NAMES "&lt;b" },
		{ "a start at the end", "a\xf0\x9f", "a" REPLACED_NAMES REPLACED_NAMES },
		{ "an overlong <", "\xc0\xbc", REPLACED_NAMES REPLACED_NAMES },
		{ "a surrogate", "\xed\xa0\x80", REPLACED_NAMES REPLACED_NAMES REPLACED_NAMES },
		{ "no byte of UTF-8", "\xff<", REPLACED_NAMES "&lt;" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buf out = BUF_INIT;

		html_text(&out, rows[i].text);
		if (strcmp(out.bytes ? out.bytes : "", rows[i].expected) != 0)
			fail_msg("%s: '%s' became '%s'", rows[i].what, rows[i].text, out.bytes);
		buf_release(&out);
	}
}

static void test_format(void **state)
{
	struct buf out = BUF_INIT;

	(void)state;
	html_format(&out, "<b id=\"%s\">%u %zu %s%%</b>", "a\"b", 4u, (size_t)5, "<i>");
	html_format(&out, " %.2f%% %.0f %.3g %g %f", 1.005, -3.0, 1234.5, .5, 1.5);
	assert_string_equal(out.bytes, "<b id=\"a&quot;b\">4 5 &lt;i&gt;%</b> 1.00% -3 1.23e+03 0.5 1.500000");
	buf_release(&out);
}

static void test_name(void **state)
{
	static const struct {
		const char *name, *expected;
	} rows[] = {
		{ "", "<bdi></bdi>" },
		{ "node01", "<bdi>node01</bdi>" },
		{ "a.b-c", "<bdi>a.<wbr>b-<wbr>c</bdi>" },
		{ "<.>", "<bdi>&lt;.<wbr>&gt;</bdi>" },
		{ "a.", "<bdi>a.</bdi>" },
		{ "..", "<bdi>.<wbr>.</bdi>" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buf out = BUF_INIT;

		html_name(&out, rows[i].name);
		assert_string_equal(out.bytes, rows[i].expected);
		buf_release(&out);
	}
}

/* ---- axes of ratios ---- */

static void test_axis(void **state)
{
	static const struct {
		double low, high;
	} rows[] = { { 1, 1 },	  { .97, 1.02 },  { .999, 1.0001 }, { 1.5, 1.6 },    { .5, .6 },
		     { .3, 4 },	  { .0068, .04 }, { 1e-6, 1e-5 },   { 1e-12, 1e12 }, { 1e-300, 1e300 },
		     { 3, 5000 }, { 1.9, 2 },	  { 0, .5 },	    { 2, HUGE_VAL }, { 0, HUGE_VAL } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct svg_axis axis = svg_ratio_axis(rows[i].low, rows[i].high);
		size_t ones = 0;

		assert_true(axis.low < fmax(rows[i].low, 1e-30) && axis.high > fmin(rows[i].high, 1e30) && axis.low < 1 && axis.high > 1);
		assert_in_range(axis.n_ticks, 2, SVG_TICKS_MAX);
		for (size_t k = 0; k < axis.n_ticks; k++) {
			ones += fabs(axis.ticks[k] - 1) < 1e-9;
			assert_true(axis.ticks[k] > axis.low * .999999 && axis.ticks[k] < axis.high * 1.000001);
			assert_true(k == 0 || svg_position(&axis, axis.ticks[k]) > svg_position(&axis, axis.ticks[k - 1]));
		}
		if (ones != 1)
			fail_msg("%g to %g: %zu ticks at 1", rows[i].low, rows[i].high, ones);
		assert_true(svg_position(&axis, rows[i].low) >= 0 && svg_position(&axis, rows[i].high) <= 100);
		assert_true(svg_position(&axis, axis.low / 2) == svg_position(&axis, axis.low) &&
			    svg_position(&axis, axis.high * 2) == svg_position(&axis, axis.high));
	}
}

#define EVIL "</script><b onload=\"x\">\1vh\3&lt;'"

static void fill_table(struct document *d)
{
	doc_table(d, NULL);
	for (int i = 0; i < 3; i++) {
		struct buf svg = BUF_INIT;

		doc_row(d);
		doc_show(d, NULL, "machine", i ? "node" : EVIL);
		doc_attribute(d, "code", "%s", EVIL);
		doc_showf(d, NULL, "change", i - 1, "%+d", i - 1);
		doc_show(d, NULL, "noise", i == 1 ? (double)NAN : .5);
		if (i)
			doc_show(d, NULL, "note", "only here");
		svg_open(20, &svg);
		svg_close(&svg);
		doc_picture(d, "chart", &svg, NULL);
		doc_bar(d, "part", .25 * i);
	}
	doc_end(d);
}

/* Checks every kind of node with markup in all texts: the page is well-formed, nothing is lost, columns of numbers are aligned right. */
static void test_document(void **state)
{
	static const char *const ids[] = { "answer", "here", "section-2", NULL };
	static const char *const parts[] = { "bad",	"runs12", "shown</script>", "a reason", "within", "under it", "raw one\n  two",
					     "\u22121", "25 %",	  "only here",	    NULL };
	static const struct html_page page = { .title = EVIL, .class = "c", .kind = EVIL, .lab = EVIL, .first = "answer", .about = EVIL };
	struct buf out = BUF_INIT;
	struct document d;

	(void)state;
	document_init(&d);
	doc_answer(&d, DOC_BAD, "bad", "%s", EVIL);
	doc_set(&d, "programs", "see this alone");
	doc_show(&d, "runs", "runs", 12);
	doc_section(&d, "here", EVIL, EVIL, EVIL);
	doc_line(&d, DOC_NAME "%s" DOC_END " and " DOC_STRONG "strong" DOC_END DOC_MARK("#here") "link" DOC_END, EVIL);
	doc_list(&d, "reasons");
	doc_reason(&d, EVIL, "a reason");
	doc_item(&d, "shown%s", EVIL);
	doc_end(&d);
	doc_heading(&d, "%s", EVIL);
	doc_fold(&d, "%s", EVIL);
	doc_line(&d, "within");
	doc_end(&d);
	doc_entry(&d, EVIL);
	doc_line(&d, "under it");
	doc_end(&d);
	doc_raw(&d, "raw one\n  two\n" EVIL);
	fill_table(&d);
	html_page(&page, &d, &out);
	check_page("document", out.bytes, ids, parts);
	assert_null(strstr(out.bytes, "<b onload"));
	assert_null(strstr(out.bytes, "see this alone"));
	assert_null(strstr(out.bytes, "class=\"vh\">&lt;"));
	assert_non_null(strstr(out.bytes, "<th role=\"columnheader\" scope=\"col\" class=\"num\"><span>noise</span></th>"));
	assert_non_null(strstr(out.bytes, "<td role=\"cell\" class=\"num\">\u2013</td>"));
	assert_non_null(strstr(out.bytes, "<td role=\"cell\"></td>"));
	document_release(&d);
	buf_release(&out);
}

int suite_html(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text), cmocka_unit_test(test_format),   cmocka_unit_test(test_name),
		cmocka_unit_test(test_axis), cmocka_unit_test(test_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
