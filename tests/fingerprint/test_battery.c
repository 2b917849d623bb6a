/* Tests batteries from YAML, and the parser of the output of stress-ng. */
#include "base/mem.h"
#include "fingerprint/battery/battery.h"
#include "fingerprint/battery/stressng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ONE "name: b\nstressors:\n  - { stressor: cpu }\n"

static void test_parse(void **state)
{
	static const struct {
		const char *what, *text;
		enum assay_status status;
		const char *error; /* part of the message */
	} rows[] = {
		{ "smallest", ONE, ASSAY_OK, NULL },
		{ "all keys",
		  "name: b\npasses: 5\nseconds: 0.5\nlimits: { memory_bytes: 1000000, file_bytes: 4096, open_files: 64, processes: 32 }\n"
		  "stressors:\n  - { name: n, stressor: stream, arguments: [--stream-l3-size, 4M], categories: [memory, cpu], seconds: 1, "
		  "dangerous: yes }\n",
		  ASSAY_OK, NULL },
		{ "unknown key", "name: b\nstressors:\n  - { stresor: cpu }\n", ASSAY_E_FORMAT, "did you mean 'stressor'" },
		{ "no name", "stressors:\n  - { stressor: cpu }\n", ASSAY_E_FORMAT, "no name" },
		{ "no stressors", "name: b\n", ASSAY_E_FORMAT, "no stressors" },
		{ "empty list", "name: b\nstressors: []\n", ASSAY_E_LIMIT, "1 to" },
		{ "entry without stressor", "name: b\nstressors:\n  - { seconds: 1 }\n", ASSAY_E_FORMAT, ":3:" },
		{ "twice", ONE "  - { stressor: cpu }\n", ASSAY_E_FORMAT, "line 3" },
		{ "twice, but named", ONE "  - { stressor: cpu, name: cpu2, arguments: [--cpu-method, pi] }\n", ASSAY_OK, NULL },
		{ "an option as stressor", "name: b\nstressors:\n  - { stressor: --help }\n", ASSAY_E_FORMAT, "does not start with '-'" },
		{ "writes elsewhere", "name: b\nstressors:\n  - { stressor: cpu, arguments: [--temp-path, /etc] }\n", ASSAY_E_FORMAT,
		  "--temp-path" },
		{ "writes elsewhere, abbreviated", "name: b\nstressors:\n  - { stressor: cpu, arguments: [--temp-p, /etc] }\n",
		  ASSAY_E_FORMAT, "--temp-p" },
		{ "with equals sign", "name: b\nstressors:\n  - { stressor: cpu, arguments: [--yaml=/etc/passwd] }\n", ASSAY_E_FORMAT,
		  "--yaml" },
		{ "short option", "name: b\nstressors:\n  - { stressor: cpu, arguments: [-t, 9999] }\n", ASSAY_E_FORMAT, "-t" },
		{ "negative number is no option", "name: b\nstressors:\n  - { stressor: cpu, arguments: [\"-1\"] }\n", ASSAY_OK, NULL },
		{ "no time", ONE "seconds: 0\n", ASSAY_E_FORMAT, "seconds" },
		{ "too long", ONE "seconds: 1e9\n", ASSAY_E_FORMAT, ":4:" },
		{ "not a number", ONE "passes: many\n", ASSAY_E_FORMAT, "many" },
		{ "unknown category", "name: b\nstressors:\n  - { stressor: cpu, categories: [memmory] }\n", ASSAY_E_FORMAT, "'memory'" },
		{ "a name with an at sign", "name: b\nstressors:\n  - { stressor: cpu, name: cpu@slow }\n", ASSAY_E_FORMAT, "letters" },
		{ "a list", "- a\n", ASSAY_E_FORMAT, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assay_error err = { 0 };
		struct battery battery;
		enum assay_status st = battery_parse("b.yaml", rows[i].text, strlen(rows[i].text), &battery, &err);

		if (st != rows[i].status || (rows[i].error && !strstr(err.text, rows[i].error)))
			fail_msg("%s: status %d, '%s'", rows[i].what, (int)st, err.text);
		if (!st && strstr(rows[i].text, "limits"))
			assert_true(battery.limits.memory_bytes == 1000000 && battery.limits.file_bytes == 4096 &&
				    battery.limits.open_files == 64 && battery.limits.processes == 32);
		battery_release(&battery);
	}
}

/* Writes the hash of a battery's text to `hash`. The text must parse. */
static void hash_of(const char *text, char *hash)
{
	struct battery battery;

	assert_int_equal(battery_parse("b.yaml", text, strlen(text), &battery, NULL), ASSAY_OK);
	memcpy(hash, battery.hash, sizeof(battery.hash));
	battery_release(&battery);
}

static void test_hash(void **state)
{
	static const struct {
		const char *what, *text;
		bool same; /* same hash as the first row */
	} rows[] = {
		{ "first", "name: b\nstressors:\n  - { stressor: cpu }\n  - { stressor: qsort, arguments: [--qsort-size, 1024] }\n", true },
		{ "comment and order",
		  "# c\nname: b\nstressors:\n  - { stressor: qsort, arguments: [--qsort-size, 1024] }\n  - { stressor: cpu }\n", true },
		{ "another name of the battery",
		  "name: c\nstressors:\n  - { stressor: cpu }\n  - { stressor: qsort, arguments: [--qsort-size, 1024] }\n", true },
		{ "categories",
		  "name: b\nstressors:\n  - { stressor: cpu, categories: [os] }\n  - { stressor: qsort, arguments: [--qsort-size, 1024] "
		  "}\n",
		  true },
		{ "a dangerous one beside",
		  "name: b\nstressors:\n  - { stressor: cpu }\n  - { stressor: qsort, arguments: [--qsort-size, 1024] }\n  - { stressor: "
		  "vm, dangerous: true }\n",
		  true },
		{ "an argument", "name: b\nstressors:\n  - { stressor: cpu }\n  - { stressor: qsort, arguments: [--qsort-size, 1025] }\n",
		  false },
		{ "words apart",
		  "name: b\nstressors:\n  - { stressor: cpu }\n  - { stressor: qsort, arguments: [\"--qsort-size 1024\"] }\n", false },
		{ "seconds",
		  "name: b\nseconds: 0.3\nstressors:\n  - { stressor: cpu }\n  - { stressor: qsort, arguments: [--qsort-size, 1024] }\n",
		  false },
		{ "passes",
		  "name: b\npasses: 4\nstressors:\n  - { stressor: cpu }\n  - { stressor: qsort, arguments: [--qsort-size, 1024] }\n",
		  false },
		{ "a feature's name",
		  "name: b\nstressors:\n  - { stressor: cpu, name: c }\n  - { stressor: qsort, arguments: [--qsort-size, 1024] }\n",
		  false },
	};
	char first[FINGERPRINT_ID_BYTES], other[FINGERPRINT_ID_BYTES];

	(void)state;
	hash_of(rows[0].text, first);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		hash_of(rows[i].text, other);
		if ((strcmp(first, other) == 0) != rows[i].same)
			fail_msg("%s: the hash is %s", rows[i].what, rows[i].same ? "another" : "the same");
	}
}

static void test_built_in(void **state)
{
	static const struct {
		const char *name;
		size_t entries, safe;
		int64_t seconds_max; /* time of all passes, without starting stressors */
	} rows[] = { { "quick", 16, 16, 10 }, { "paper", 43, 38, 60 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assay_error err = { 0 };
		struct battery battery;
		int64_t milliseconds = 0;

		if (battery_open(rows[i].name, &battery, &err))
			fail_msg("%s", err.text);
		assert_int_equal(battery.n, rows[i].entries);
		assert_int_equal(battery_select(&battery, NULL, 0, &err), ASSAY_OK);
		assert_int_equal(battery.n, rows[i].safe);
		for (size_t k = 0; k < battery.n; k++) {
			assert_true(battery.entries[k].n_categories > 0);
			milliseconds += battery.passes * battery.entries[k].milliseconds;
		}
		assert_true(milliseconds > 0 && milliseconds <= rows[i].seconds_max * 1000);
		battery_release(&battery);
	}
}

static void test_dangerous(void **state)
{
	static const char text[] =
	    "name: b\nstressors:\n  - { stressor: cpu }\n  - { stressor: resources, dangerous: true }\n  - { stressor: opcode, "
	    "dangerous: true }\n";
	const char *const named[] = { "opcode" }, *const safe[] = { "cpu" };
	char hash[FINGERPRINT_ID_BYTES];
	struct assay_error err;
	struct battery battery;

	(void)state;
	assert_int_equal(battery_parse("b", text, strlen(text), &battery, &err), ASSAY_OK);
	memcpy(hash, battery.hash, sizeof(hash));
	assert_int_equal(battery_select(&battery, safe, 1, &err), ASSAY_E_USAGE);
	assert_int_equal(battery_select(&battery, named, 1, &err), ASSAY_OK);
	assert_int_equal(battery.n, 2);
	assert_string_equal(battery.entries[1].name, "opcode");
	assert_string_not_equal(battery.hash, hash);
	battery_release(&battery);
	assert_int_equal(battery_parse("b", text, strlen(text), &battery, &err), ASSAY_OK);
	assert_int_equal(battery_select(&battery, NULL, 0, &err), ASSAY_OK);
	assert_int_equal(battery.n, 1);
	assert_string_equal(battery.hash, hash);
	battery_release(&battery);
}

#define INFO "---\nsystem-info:\n      stress-ng-version: 0.15.06\n      hostname: x\n\n"
#define GOOD                                                                                                                               \
	"metrics:\n    - stressor: qsort\n      bogo-ops: 13\n      bogo-ops-per-second-usr-sys-time: 47.5\n"                              \
	"      bogo-ops-per-second-real-time: 46.5\n      wall-clock-time: 0.28\n      user-time: 0.27\n      system-time: 0.003\n\n...\n"

#define ITEM(name)                                                                                                                         \
	"    - stressor: " name "\n      bogo-ops: 10\n      wall-clock-time: 0.5\n      user-time: 0.15\n      system-time: 0.05\n"
#define TWICE(a, b) "metrics:\n" ITEM(a) ITEM(b)

static void test_metrics(void **state)
{
	static const struct {
		const char *what, *text;
		enum assay_status status;
		bool measured;
		double per_s;
	} rows[] = {
		{ "as it is written", INFO GOOD, ASSAY_OK, true, 47.5 },
		{ "no operations",
		  INFO
		  "metrics:\n    - stressor: qsort\n      bogo-ops: 0\n      bogo-ops-per-second-usr-sys-time: 0.000000\n"
		  "      bogo-ops-per-second-real-time: 0.0\n      wall-clock-time: 0.28\n      user-time: 0.0\n      system-time: 0.0\n",
		  ASSAY_OK, false, 0 },
		{ "rate excluded",
		  INFO "metrics:\n    - stressor: qsort\n      bogo-ops: 10\n      wall-clock-time: 0.5\n      user-time: 0.15\n"
		       "      system-time: 0.05\n",
		  ASSAY_OK, true, 50 },
		{ "no times",
		  INFO "metrics:\n    - stressor: qsort\n      bogo-ops: 10\n      wall-clock-time: 0.5\n      user-time: 0\n"
		       "      system-time: 0\n",
		  ASSAY_OK, false, 0 },
		{ "another stressor", INFO "metrics:\n    - stressor: cpu\n      bogo-ops: 1\n", ASSAY_E_FORMAT, false, 0 },
		{ "the stressor twice", INFO TWICE("qsort", "qsort"), ASSAY_E_FORMAT, false, 0 },
		{ "another one beside it", INFO TWICE("cpu", "qsort"), ASSAY_OK, true, 50 },
		{ "the first of two", INFO TWICE("qsort", "qsort-size"), ASSAY_OK, true, 50 },
		{ "metrics twice", INFO TWICE("qsort", "cpu") GOOD, ASSAY_E_FORMAT, false, 0 },
		{ "a member twice",
		  INFO "metrics:\n    - stressor: qsort\n      bogo-ops: 10\n      bogo-ops: 11\n      wall-clock-time: 0.5\n"
		       "      user-time: 0.15\n      system-time: 0.05\n",
		  ASSAY_E_FORMAT, false, 0 },
		{ "empty metrics", INFO "metrics:\n", ASSAY_E_FORMAT, false, 0 },
		{ "no version", GOOD, ASSAY_E_FORMAT, false, 0 },
		{ "version with a shell in it", "system-info:\n  stress-ng-version: \"$(x)\"\n" GOOD, ASSAY_E_FORMAT, false, 0 },
		{ "negative",
		  INFO "metrics:\n    - stressor: qsort\n      bogo-ops: -1\n      wall-clock-time: 1\n      user-time: 1\n      "
		       "system-time: 1\n",
		  ASSAY_E_FORMAT, false, 0 },
		{ "not a number",
		  INFO "metrics:\n    - stressor: qsort\n      bogo-ops: nan\n      wall-clock-time: 1\n      user-time: 1\n      "
		       "system-time: 1\n",
		  ASSAY_E_FORMAT, false, 0 },
		{ "a rate that contradicts operations and CPU time",
		  INFO "metrics:\n    - stressor: qsort\n      bogo-ops: 1317\n      bogo-ops-per-second-usr-sys-time: 20000\n"
		       "      wall-clock-time: 0.196\n      user-time: 0.196\n      system-time: 0\n",
		  ASSAY_E_FORMAT, false, 0 },
		{ "a rate that contradicts operations and real time",
		  INFO "metrics:\n    - stressor: qsort\n      bogo-ops: 1317\n      bogo-ops-per-second-real-time: 20000\n"
		       "      wall-clock-time: 0.196\n      user-time: 0.196\n      system-time: 0\n",
		  ASSAY_E_FORMAT, false, 0 },
		{ "clock ticks", /* .025 s, counted as .02 */
		  INFO "metrics:\n    - stressor: qsort\n      bogo-ops: 10\n      bogo-ops-per-second-usr-sys-time: 400\n"
		       "      wall-clock-time: 0.5\n      user-time: 0.02\n      system-time: 0\n",
		  ASSAY_OK, true, 400 },
		{ "rubbish", "\x01\x02", ASSAY_E_FORMAT, false, 0 },
		{ "nothing", "", ASSAY_E_FORMAT, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assay_error err = { 0 };
		struct stressng_metrics m;
		enum assay_status st = stressng_parse(rows[i].text, strlen(rows[i].text), "qsort", &m, &err);

		if (st != rows[i].status || (!st && (m.measured != rows[i].measured || fabs(m.per_s - rows[i].per_s) > 1e-9)))
			fail_msg("%s: status %d, '%s', %d, %g", rows[i].what, (int)st, err.text, m.measured, m.per_s);
		if (!st)
			assert_string_equal(m.version, "0.15.06");
	}
}

/* Checks the stressor null: its name is not quoted in the file, and YAML reads an unquoted null as no value. */
static void test_stressor_null(void **state)
{
	static const char text[] =
	    INFO "metrics:\n    - stressor: null\n      bogo-ops: 10\n      wall-clock-time: 0.5\n      user-time: 0.15\n"
		 "      system-time: 0.05\n";
	struct assay_error err;
	struct stressng_metrics m;

	(void)state;
	assert_int_equal(stressng_parse(text, sizeof(text) - 1, "null", &m, &err), ASSAY_OK);
	assert_true(m.measured);
}

static void test_trust(void **state)
{
	const char *text;

	(void)state;
	assert_int_equal(stressng_classify_exit(0, &text), STRESSNG_MEASURED);
	assert_int_equal(stressng_classify_exit(2, &text), STRESSNG_FAILED);
	assert_int_equal(stressng_classify_exit(3, &text), STRESSNG_MISSING);
	assert_int_equal(stressng_classify_exit(4, &text), STRESSNG_MISSING);
	assert_int_equal(stressng_classify_exit(7, &text), STRESSNG_DISCARDED);
	assert_int_equal(stressng_classify_exit(-1, &text), STRESSNG_FAILED);
	assert_int_equal(stressng_classify_exit(200, &text), STRESSNG_FAILED);
}

int suite_battery(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),	      cmocka_unit_test(test_hash),    cmocka_unit_test(test_built_in),
		cmocka_unit_test(test_dangerous),     cmocka_unit_test(test_metrics), cmocka_unit_test(test_trust),
		cmocka_unit_test(test_stressor_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
