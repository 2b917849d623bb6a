/* Tests the colours in the report's style sheet: they must be readable on their background, and distinguishable for users without red or
 * green cones. Simulation of protanopia and deuteranopia: Machado, Oliveira and Fernandes, IEEE Transactions on Visualization and Computer
 * Graphics 15(6), 2009, severity 1. Difference: CIE 1976, where 2.3 is just noticeable. Contrast: WCAG 2.1. */
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "fingerprint/battery/stressor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define BUILT_IN_APART 20. /* least difference of the built-in batteries' main categories */
#define ALL_APART      10.

struct colour {
	double rgb[3]; /* linear, 0 to 1 */
};

static char *light, *dark; /* the parts of the style sheet for light and for dark colours */

static int read_sheet(void **state)
{
	const char *source = getenv("ASSAY_SOURCE");
	struct buf sheet = BUF_INIT;
	struct assay_error err;
	char *path, *at;

	(void)state;
	if (!source)
		return 1;
	path = mem_format("%s/gate/page/style.css", source);
	if (file_read(path, 1u << 20, &sheet, &err))
		return 1;
	free(path);
	light = buf_take(&sheet);
	at = strstr(light, "prefers-color-scheme: dark");
	if (!at)
		return 1;
	dark = mem_string(at);
	*at = '\0';
	return 0;
}

static int forget_sheet(void **state)
{
	(void)state;
	free(light);
	free(dark);
	return 0;
}

static double linear(long value)
{
	double v = (double)value / 255;

	return v <= .04045 ? v / 12.92 : pow((v + .055) / 1.055, 2.4);
}

/* Returns the value of --NAME: #rrggbb (or #rgb). */
static struct colour colour_named(const char *sheet, const char *name)
{
	char *key = mem_format("--%s: #", name);
	const char *at = strstr(sheet, key);
	struct colour c;
	size_t n;

	if (!at)
		fail_msg("no %s in the style sheet", key);
	at += strlen(key);
	n = strspn(at, "0123456789abcdef");
	assert_true(n == 3 || n == 6);
	for (size_t i = 0; i < 3; i++) {
		char digits[3] = { at[i * n / 3], at[i * n / 3 + (n == 6)], 0 };

		c.rgb[i] = linear(strtol(digits, NULL, 16));
	}
	free(key);
	return c;
}

static double luminance(const struct colour *c)
{
	return .2126 * c->rgb[0] + .7152 * c->rgb[1] + .0722 * c->rgb[2];
}

static double contrast(const struct colour *a, const struct colour *b)
{
	double x = luminance(a), y = luminance(b);

	return (fmax(x, y) + .05) / (fmin(x, y) + .05);
}

enum vision { TRICHROMAT, PROTANOPE, DEUTERANOPE, VISIONS };

static struct colour as_seen(const struct colour *c, enum vision vision)
{
	static const double matrices[VISIONS][3][3] = {
		{ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
		{ { .152286, 1.052583, -.204868 }, { .114503, .786281, .099216 }, { -.003882, -.048116, 1.051998 } },
		{ { .367322, .860646, -.227968 }, { .280085, .672501, .047413 }, { -.011820, .042940, .968881 } },
	};
	struct colour seen = { { 0 } };

	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < 3; k++)
			seen.rgb[i] += matrices[vision][i][k] * c->rgb[k];
		seen.rgb[i] = fmin(fmax(seen.rgb[i], 0), 1);
	}
	return seen;
}

static double lab_f(double t)
{
	return t > 216. / 24389 ? cbrt(t) : (24389. / 27 * t + 16) / 116;
}

static void to_lab(const struct colour *c, double lab[3])
{
	double x = lab_f((.4124564 * c->rgb[0] + .3575761 * c->rgb[1] + .1804375 * c->rgb[2]) / .95047);
	double y = lab_f(.2126729 * c->rgb[0] + .7151522 * c->rgb[1] + .0721750 * c->rgb[2]);
	double z = lab_f((.0193339 * c->rgb[0] + .1191920 * c->rgb[1] + .9503041 * c->rgb[2]) / 1.08883);

	lab[0] = 116 * y - 16;
	lab[1] = 500 * (x - y);
	lab[2] = 200 * (y - z);
}

static double difference(const struct colour *a, const struct colour *b, enum vision vision)
{
	struct colour seen[2] = { as_seen(a, vision), as_seen(b, vision) };
	double x[3], y[3];

	to_lab(&seen[0], x);
	to_lab(&seen[1], y);
	return sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2));
}

/* Checks published values: black on white is 21:1; white is L* 100. */
static void test_formulas(void **state)
{
	const struct colour black = { { 0, 0, 0 } }, white = { { 1, 1, 1 } }, red = { { 1, 0, 0 } }, green = { { 0, linear(0x9b), 0 } };
	double lab[3];

	(void)state;
	assert_true(fabs(contrast(&black, &white) - 21) < 1e-9);
	to_lab(&red, lab);
	assert_true(fabs(lab[0] - 53.24) < .02 && fabs(lab[1] - 80.09) < .02 && fabs(lab[2] - 67.2) < .02);
	/* Red and green differ much, and less for users without green cones. */
	assert_true(difference(&red, &green, DEUTERANOPE) < .5 * difference(&red, &green, TRICHROMAT));
}

static bool is_built_in(enum category c)
{
	return c <= CATEGORY_DEVICE || c == CATEGORY_PIPE;
}

static void check_categories(const char *sheet, const char *scheme)
{
	struct colour card = colour_named(sheet, "card"), colours[CATEGORY_COUNT];

	for (int c = 0; c < CATEGORY_COUNT; c++) {
		char *name = mem_format("cat-%s", category_name((enum category)c));

		colours[c] = colour_named(sheet, name);
		if (contrast(&colours[c], &card) < 3)
			fail_msg("%s, %s: contrast %.2f", scheme, name, contrast(&colours[c], &card));
		free(name);
	}
	for (int a = 0; a < CATEGORY_COUNT; a++) {
		for (int b = 0; b < a; b++) {
			double wanted = is_built_in((enum category)a) && is_built_in((enum category)b) ? BUILT_IN_APART : ALL_APART;

			for (int v = 0; v < VISIONS; v++) {
				double d = difference(&colours[a], &colours[b], (enum vision)v);

				if (d < wanted)
					fail_msg("%s: %s and %s are %.1f apart to vision %d", scheme, category_name((enum category)a),
						 category_name((enum category)b), d, v);
			}
		}
	}
}

static void test_categories(void **state)
{
	(void)state;
	check_categories(light, "light");
	check_categories(dark, "dark");
}

/* Checks that steps of the heat map are visible, that its ends differ much, and that each half darkens (or lightens) from the middle on. */
static void check_heat(const char *sheet)
{
	struct colour colours[11];

	for (int i = 0; i < 11; i++) {
		char *name = mem_format("h%d", i);

		colours[i] = colour_named(sheet, name);
		free(name);
	}
	for (int v = 0; v < VISIONS; v++) {
		for (int i = 1; i < 11; i++)
			assert_true(difference(&colours[i], &colours[i - 1], (enum vision)v) > 5);
		for (int i = 1; i <= 5; i++)
			assert_true(difference(&colours[5 - i], &colours[5 + i], (enum vision)v) > 12);
	}
}

static void test_heat(void **state)
{
	(void)state;
	check_heat(light);
	check_heat(dark);
}

static void check_text(const char *sheet)
{
	static const char *const texts[] = { "ink",	   "muted",	   "link",	  "pass",   "improved",
					     "regression", "inconclusive", "environment", "nothing" };
	static const char *const grounds[] = { "card", "page", "soft" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (size_t k = 0; k < sizeof(grounds) / sizeof(grounds[0]); k++) {
			struct colour text = colour_named(sheet, texts[i]), ground = colour_named(sheet, grounds[k]);

			if (contrast(&text, &ground) < 4.5)
				fail_msg("%s on %s: contrast %.2f", texts[i], grounds[k], contrast(&text, &ground));
		}
	}
}

static void test_text(void **state)
{
	(void)state;
	check_text(light);
	check_text(dark);
}

int suite_report_colours(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formulas),
		cmocka_unit_test(test_categories),
		cmocka_unit_test(test_heat),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, read_sheet, forget_sheet);
}
