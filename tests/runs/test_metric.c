/* Tests the metric: one number from a run's usage and output, or the reason for its absence. */
#include "runs/running/manifest.h"
#include "runs/running/metric.h"
#include "runs/running/metric.c"
#include "tests/scratch.h"

#include <math.h>

/* Returns a manifest with this metric. */
static struct manifest manifest_with(const char *metric)
{
	char *text = mem_format("command: [true]\nversions: {a: }\nmetric: %s\n", metric);
	struct manifest m;
	struct assay_error err;

	check(manifest_parse("m.yaml", text, strlen(text), &m, &err), &err);
	free(text);
	return m;
}

static void check_value(double got, double expected)
{
	if (!(fabs(got - expected) <= 1e-12 * fabs(expected)))
		fail_msg("%.17g, not %.17g", got, expected);
}

static enum assay_status read_text(const char *metric, const char *output, size_t n, double *value, char **warning, struct assay_error *err)
{
	static const struct metric_usage usage = { 1, 1, 1 };
	struct manifest m = manifest_with(metric);
	enum assay_status st = metric_read(&m.metric, &usage, output, n, value, warning, err);

	manifest_release(&m);
	return st;
}

struct row {
	const char *what, *metric, *output;
	double value;
	const char *said; /* part of the warning, or of the error if there is no value; NULL: neither */
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double value = -1;
		char *warning;
		struct assay_error err;
		enum assay_status st = read_text(rows[i].metric, rows[i].output, strlen(rows[i].output), &value, &warning, &err);

		check_fails(rows[i].what, st, rows[i].value > 0 ? ASSAY_OK : ASSAY_E_NODATA, &err, rows[i].said ? rows[i].said : "");
		if (st && (strchr(err.text, '\n') || value >= 0))
			fail_msg("%s: '%s', %g", rows[i].what, err.text, value);
		if (!st)
			check_value(value, rows[i].value);
		if (!st && (!warning != !rows[i].said || (warning && !strstr(warning, rows[i].said))))
			fail_msg("%s: the warning is '%s'", rows[i].what, warning ? warning : "");
		free(warning);
	}
}

static void test_usage(void **state)
{
	static const struct {
		const char *metric;
		struct metric_usage usage;
		double value;
		const char *error;
	} rows[] = {
		{ "wall", { 1500000000, 1, 1 }, 1.5, NULL },  { "cpu", { 1, 250000, 500000 }, .75, NULL },
		{ "{source: cpu}", { 1, 0, 1 }, 1e-6, NULL }, { "wall", { -1, 1, 1 }, 0, "did not report" },
		{ "cpu", { 1, -1, 5 }, 0, "did not report" }, { "cpu", { 1, 5, -1 }, 0, "did not report" },
		{ "wall", { 0, 1, 1 }, 0, "less wall time" }, { "cpu", { 1, 0, 0 }, 0, "less CPU time" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct manifest m = manifest_with(rows[i].metric);
		double value = -1;
		char *warning;
		struct assay_error err;
		enum assay_status st = metric_read(&m.metric, &rows[i].usage, NULL, 0, &value, &warning, &err);

		check_fails(rows[i].metric, st, rows[i].error ? ASSAY_E_NODATA : ASSAY_OK, &err, rows[i].error ? rows[i].error : "");
		if (!st)
			check_value(value, rows[i].value);
		manifest_release(&m);
	}
}

/* Output of STREAM. */
#define STREAM                                                                                                                             \
	"-------------------------------------------------------------\n"                                                                  \
	"Function    Best Rate MB/s  Avg time     Min time     Max time\n"                                                                 \
	"Copy:           11289.6     0.014400     0.014172     0.014701\n"                                                                 \
	"Scale:          10931.6     0.014856     0.014636     0.015113\n"                                                                 \
	"Add:            12468.7     0.019519     0.019248     0.019951\n"                                                                 \
	"Triad:          12396.2     0.019583     0.019361     0.019826\n"                                                                 \
	"-------------------------------------------------------------\n"

static void test_regex(void **state)
{
	static const struct row rows[] = {
		{ "a column", "{pattern: '^Triad: +([0-9.]+)'}", STREAM, 12396.2, NULL },
		{ "median of lines", "{pattern: '^[A-Z][a-z]+: +([0-9.]+)'}", STREAM, (11289.6 + 12396.2) / 2,
		  "matches 4 lines: the median of their values is taken" },
		{ "last line without its end", "{pattern: 'took (.*) s'}", "took 2 s\ntook 1 s\ntook 4 s", 2, "matches 3 lines" },
		{ "end of a line, and carriage returns", "{pattern: 'took (.*)$'}", "took 2\r\nx\r\n", 2, NULL },
		{ "an exponent", "{pattern: 'x=([-+0-9.eE]+)'}", "x=1.5e-3", 1.5e-3, NULL },
		{ "first match of a line", "{pattern: '([0-9]+)'}", "7 8 9\n", 7,
		  "more than once in 1 line, the first of them line 1: the first match of a line is taken" },
		{ "several of both", "{pattern: '([0-9]+) s'}", "1\n2 s\n3 s 4 s\n5 s 6 s", 3,
		  "more than once in 2 lines, the first of them line 3: the first match of a line is taken, and the median of all lines" },
		{ "the line's ends, once", "{pattern: '^([0-9])|([0-9])$'}", "7 8\n", 7, "more than once in 1 line" },
		{ "its beginning is not what follows a match", "{pattern: '^([0-9])'}", "789\n", 7, NULL },
		{ "alternatives", "{pattern: 'a([0-9]+)|b([0-9]+)'}", "a3\n", 3, NULL },
		{ "group not taken", "{pattern: 'a([0-9]+)|b([0-9]+)'}", "b3\n", 0, "line 1 matches, but the pattern's group is not" },
		{ "no line", "{pattern: 'Triad: +([0-9.]+)$'}", STREAM, 0, "none of the 7 lines that it printed matches 'Triad" },
		{ "one line", "{pattern: '(x)'}", "y\n", 0, "none of the 1 line that" },
		{ "nothing", "{pattern: '(x)'}", "", 0, "printed nothing" },
		{ "not a number", "{pattern: 'took (.*)'}", "x\ntook long\n", 0, "line 2: 'long' is not a number" },
		{ "an empty group", "{pattern: 'took ([0-9]*)'}", "took it\n", 0, "line 1: '' is not a number" },
		{ "thousands", "{pattern: 'took (.*)'}", "took 1,234\n", 0, "'1,234' is not a number" },
		{ "infinity", "{pattern: 'took (.*)'}", "took inf\n", 0, "'inf' is not a number" },
		{ "too large", "{pattern: 'took (.*)'}", "took 1e999\n", 0, "is not a number" },
		{ "zero", "{pattern: 'took (.*)'}", "took 1\ntook 0.0\n", 0, "line 2: the metric is 0; it must be above 0" },
		{ "beyond any rate or time", "{pattern: 'took (.*)'}", "took 1e101\n", 0,
		  "the metric is 1e101; it must be at most 1e+100" },
		{ "negative", "{pattern: 'took (.*)'}", "took -3\n", 0, "the metric is -3" },
	};
	char *line = mem_new(70000, 1);
	double value = 0;
	char *warning;
	struct assay_error err;

	(void)state;
	check_rows(rows, COUNT(rows));
	check(read_text("{pattern: 'x=([0-9])'}", "x=4\0x=5\nx\0=6\nx=6\n", 18, &value, &warning, &err), &err); /* NUL is not a line end */
	check_value(value, 5);
	assert_non_null(strstr(warning, "more than once in 1 line, the first of them line 1"));
	free(warning);
	memset(line, 'x', 66000);
	memcpy(line + 66000, "=4\nx=5\n", 8);
	check(read_text("{pattern: 'x=([0-9])'}", line, strlen(line), &value, &warning, &err), &err); /* a line of this length is skipped */
	check_value(value, 5);
	assert_null(warning);
	free(line);
}

#define CONTEXT(scaling)                                                                                                                   \
	"{\n"                                                                                                                              \
	"  \"context\": {\n"                                                                                                               \
	"    \"date\": \"2026-11-20T12:34:56+00:00\",\n"                                                                                   \
	"    \"host_name\": \"node01\",\n"                                                                                                 \
	"    \"executable\": \"./sort_benchmark\",\n"                                                                                      \
	"    \"num_cpus\": 8,\n"                                                                                                           \
	"    \"mhz_per_cpu\": 2394,\n"                                                                                                     \
	"    \"cpu_scaling_enabled\": " scaling ",\n"                                                                                      \
	"    \"caches\": [\n"                                                                                                              \
	"      {\n"                                                                                                                        \
	"        \"type\": \"Data\",\n"                                                                                                    \
	"        \"level\": 1,\n"                                                                                                          \
	"        \"size\": 32768,\n"                                                                                                       \
	"        \"num_sharing\": 2\n"                                                                                                     \
	"      }\n"                                                                                                                        \
	"    ],\n"                                                                                                                         \
	"    \"load_avg\": [0.52,0.58,0.59],\n"                                                                                            \
	"    \"library_build_type\": \"release\"\n"                                                                                        \
	"  },\n"                                                                                                                           \
	"  \"benchmarks\": [\n"
#define ITERATION(name, index, real, cpu, unit)                                                                                            \
	"    {\n"                                                                                                                          \
	"      \"name\": \"" name "\",\n"                                                                                                  \
	"      \"family_index\": 0,\n"                                                                                                     \
	"      \"per_family_instance_index\": 0,\n"                                                                                        \
	"      \"run_name\": \"" name "\",\n"                                                                                              \
	"      \"run_type\": \"iteration\",\n"                                                                                             \
	"      \"repetitions\": 3,\n"                                                                                                      \
	"      \"repetition_index\": " index ",\n"                                                                                         \
	"      \"threads\": 1,\n"                                                                                                          \
	"      \"iterations\": 56532,\n"                                                                                                   \
	"      \"real_time\": " real ",\n"                                                                                                 \
	"      \"cpu_time\": " cpu ",\n"                                                                                                   \
	"      \"time_unit\": \"" unit "\"\n"                                                                                              \
	"    }"
#define AGGREGATE(name, of, real, cpu)                                                                                                     \
	"    {\n"                                                                                                                          \
	"      \"name\": \"" name "_" of "\",\n"                                                                                           \
	"      \"family_index\": 0,\n"                                                                                                     \
	"      \"per_family_instance_index\": 0,\n"                                                                                        \
	"      \"run_name\": \"" name "\",\n"                                                                                              \
	"      \"run_type\": \"aggregate\",\n"                                                                                             \
	"      \"repetitions\": 3,\n"                                                                                                      \
	"      \"threads\": 1,\n"                                                                                                          \
	"      \"aggregate_name\": \"" of "\",\n"                                                                                          \
	"      \"aggregate_unit\": \"time\",\n"                                                                                            \
	"      \"iterations\": 3,\n"                                                                                                       \
	"      \"real_time\": " real ",\n"                                                                                                 \
	"      \"cpu_time\": " cpu ",\n"                                                                                                   \
	"      \"time_unit\": \"ns\"\n"                                                                                                    \
	"    }"
#define END "\n  ]\n}\n"
#define THREE                                                                                                                              \
	CONTEXT("false")                                                                                                                   \
	ITERATION("BM_sort", "0", "1.2341e+04", "1.21e+04", "ns")                                                                          \
	",\n" ITERATION("BM_sort", "1", "12000", "11000", "ns") ",\n" ITERATION("BM_sort", "2", "15000", "14000", "ns") ",\n" AGGREGATE(   \
	    "BM_sort", "mean", "1", "1") ",\n" AGGREGATE("BM_sort", "cv", "0.1", "0.1") END
#define ERROR_ITEM                                                                                                                         \
	"    {\n"                                                                                                                          \
	"      \"name\": \"BM_open\",\n"                                                                                                   \
	"      \"run_name\": \"BM_open\",\n"                                                                                               \
	"      \"run_type\": \"iteration\",\n"                                                                                             \
	"      \"repetitions\": 1,\n"                                                                                                      \
	"      \"threads\": 1,\n"                                                                                                          \
	"      \"error_occurred\": true,\n"                                                                                                \
	"      \"error_message\": \"cannot open the file\",\n"                                                                             \
	"      \"iterations\": 0,\n"                                                                                                       \
	"      \"real_time\": 0.0000000000000000e+00,\n"                                                                                   \
	"      \"cpu_time\": 0.0000000000000000e+00,\n"                                                                                    \
	"      \"time_unit\": \"ns\"\n"                                                                                                    \
	"    }"
#define TWO CONTEXT("false") ITERATION("BM_a/8", "0", "3", "2", "ms") ",\n" ITERATION("BM_b", "0", "5", "4", "us") END
#define LABELLED(label, family)                                                                                                            \
	"{\"name\": \"x\", \"label\": \"" label "\", \"family_index\": " family                                                            \
	", \"per_family_instance_index\": 0, \"real_time\": 7, \"time_unit\": \"ns\"}"
#define OLD(name) "{\"name\": \"" name "\", \"iterations\": 9, \"real_time\": 7, \"time_unit\": \"ns\"}"
#define GOOGLE	  "google-benchmark"

static void test_google_benchmark(void **state)
{
	static const struct row rows[] = {
		{ "repetitions", GOOGLE, THREE, 12341e-9, NULL },
		{ "CPU time", "{source: google-benchmark, time: cpu}", THREE, 12100e-9, NULL },
		{ "real time", "{source: google-benchmark, time: real, name: BM_sort}", THREE, 12341e-9, NULL },
		{ "milliseconds", "{source: google-benchmark, name: BM_a/8}", TWO, 3e-3, NULL },
		{ "microseconds", "{source: google-benchmark, name: BM_b, time: cpu}", TWO, 4e-6, NULL },
		{ "seconds", GOOGLE, CONTEXT("false") ITERATION("x", "0", "2", "1", "s") END, 2, NULL },
		{ "other lines around it", GOOGLE, "Running ./x\n{starting}\n" THREE "done {really\n", 12341e-9, NULL },
		{ "an old library without run_name and run_type", GOOGLE,
		  "{\"benchmarks\": [{\"name\": \"x\", \"iterations\": 1, \"real_time\": 7, \"cpu_time\": 6, \"time_unit\": \"ns\"}]}",
		  7e-9, NULL },
		{ "several", GOOGLE, TWO, 0, "several results ('BM_a/8', 'BM_b'): name one" },
		{ "another", "{source: google-benchmark, name: BM_c}", TWO, 0, "no result 'BM_c'; its first result is 'BM_a/8'" },
		{ "none", GOOGLE, CONTEXT("false") END, 0, "no measurement" },
		{ "aggregates only", GOOGLE, CONTEXT("false") AGGREGATE("x", "mean", "1", "1") END, 0, "no measurement but aggregates" },
		{ "an error", GOOGLE, CONTEXT("false") ERROR_ITEM END, 0, "'BM_open' was not measured: cannot open the file" },
		{ "an error of another", "{source: google-benchmark, name: BM_b}",
		  CONTEXT("false") ERROR_ITEM ",\n" ITERATION("BM_b", "0", "5", "4", "us") END, 5e-6, NULL },
		{ "skipped", GOOGLE, "{\"benchmarks\": [{\"name\": \"x\", \"skipped\": true, \"skip_message\": \"no GPU\"}]}", 0,
		  "not measured: no GPU" },
		{ "an odd unit", GOOGLE, CONTEXT("false") ITERATION("x", "0", "2", "1", "h") END, 0, "unknown or missing 'time_unit'" },
		{ "no time", GOOGLE, "{\"benchmarks\": [{\"name\": \"x\", \"time_unit\": \"ns\"}]}", 0, "'real_time' is missing" },
		{ "zero", GOOGLE, CONTEXT("false") ITERATION("x", "0", "0", "1", "s") END, 0, "'x': the metric is 0" },
		{ "NaN, as the library writes it", GOOGLE, CONTEXT("false") ITERATION("x", "0", "NaN", "1", "s") END, 0,
		  "not measured: its result is not a finite number" },
		{ "NaN of another time", GOOGLE, CONTEXT("false") ITERATION("x", "0", "2", "-Infinity", "s") END, 2, NULL },
		{ "labels", "{source: google-benchmark, name: x}", "{\"benchmarks\": [" LABELLED("a", "0") ", " LABELLED("b", "0") "]}", 0,
		  "several results ('x (a)', 'x (b)'): name one" },
		{ "a label", "{source: google-benchmark, name: x (b)}",
		  "{\"benchmarks\": [" LABELLED("a", "0") ", " LABELLED("b", "0") "]}", 7e-9, NULL },
		{ "the only label", "{source: google-benchmark, name: x}", "{\"benchmarks\": [" LABELLED("a", "0") "]}", 7e-9, NULL },
		{ "registered twice under one name", GOOGLE, "{\"benchmarks\": [" LABELLED("a", "0") ", " LABELLED("a", "1") "]}", 0,
		  "the result 'x' is in the output twice, and the two" },
		{ "aggregates of an old library", GOOGLE,
		  "{\"benchmarks\": [" OLD("x") ", " OLD("x") ", " OLD("x_mean") ", " OLD(
		      "x_stddev") ", {\"name\": \"x_BigO\", \"cpu_coefficient\": 1, \"big_o\": \"N\"}]}",
		  7e-9, NULL },
		{ "a key twice in a result", GOOGLE,
		  "{\"benchmarks\": [{\"name\": \"x\", \"time_unit\": \"ns\", \"real_time\": 1, \"real_time\": 2}]}", 1e-9, NULL },
		{ "cut", GOOGLE, CONTEXT("false") "    {\n      \"name\": \"x\"\n    }", 0, "found the end: the file is truncated" },
		{ "no JSON", GOOGLE, "BM_sort   12341 ns\n", 0, "no line starts with '{'" },
		{ "a brace without its end", GOOGLE, "}\n{ \"a\": 1\n", 0, "no line starts with '{' and has its '}' after it" },
		{ "hyperfine's", GOOGLE, "{\"results\": []}", 0, "not of Google Benchmark" },
		{ "a nameless one", GOOGLE, "{\"benchmarks\": [{\"real_time\": 1}]}", 0, "it is no object with a name" },
		{ "not objects", GOOGLE, "{\"benchmarks\": [1, []]}", 0, "it is no object with a name" },
		{ "a list", GOOGLE, "[]\n", 0, "no line starts" },
		{ "a key twice", GOOGLE, "{\"benchmarks\": [], \"benchmarks\": []}", 0, "key 'benchmarks' is repeated" },
	};
	double value = 0;
	char *warning;
	struct assay_error err;

	(void)state;
	check_rows(rows, COUNT(rows));
	check(read_text(GOOGLE, CONTEXT("true") ITERATION("x", "0", "2", "1", "s") END,
			strlen(CONTEXT("true") ITERATION("x", "0", "2", "1", "s") END), &value, &warning, &err),
	      &err);
	check_value(value, 2);
	assert_non_null(strstr(warning, "CPU scaling"));
	free(warning);
}

#define RESULT(command, times, exits)                                                                                                      \
	"    {\n"                                                                                                                          \
	"      \"command\": \"" command "\",\n"                                                                                            \
	"      \"mean\": 0.0025234870000000003,\n"                                                                                         \
	"      \"stddev\": 0.0016273091931762692,\n"                                                                                       \
	"      \"median\": 0.002842961,\n"                                                                                                 \
	"      \"user\": 0.0007383333333333334,\n"                                                                                         \
	"      \"system\": 0.0,\n"                                                                                                         \
	"      \"min\": 0.0007601330000000001,\n"                                                                                          \
	"      \"max\": 0.003967367,\n"                                                                                                    \
	"      \"times\": [\n" times "\n      ],\n"                                                                                        \
	"      \"exit_codes\": [\n" exits "\n      ]\n"                                                                                    \
	"    }"
#define PARAMETERS                                                                                                                         \
	"{\"results\": [{\"command\": \"x\", \"times\": [3], \"parameters\": {\"b\": \"1\"}}, "                                            \
	"{\"command\": \"x\", \"times\": [4], \"parameters\": {\"b\": \"2\"}}]}"
#define RESULTS "{\n  \"results\": [\n"
#define TIMES	"        0.003967367,\n        0.0007601330000000001,\n        0.002842961"
#define EXITS	"        0,\n        0,\n        0"

static void test_hyperfine(void **state)
{
	static const struct row rows[] = {
		{ "one command", "hyperfine", RESULTS RESULT("true", TIMES, EXITS) END, .002842961, NULL },
		{ "written anew after each command", "{source: hyperfine, name: false}",
		  RESULTS RESULT("true", TIMES, EXITS) END RESULTS RESULT("true", TIMES, EXITS) ",\n" RESULT("false", "3, 4", "0, 0") END,
		  3.5, NULL },
		{ "several", "hyperfine", RESULTS RESULT("true", TIMES, EXITS) ",\n" RESULT("false", "3, 4", "0, 0") END, 0,
		  "several results ('true', 'false')" },
		{ "another", "{source: hyperfine, name: x}", RESULTS RESULT("true", TIMES, EXITS) END, 0,
		  "no result 'x'; its first result is 'true'" },
		{ "with --ignore-failure", "hyperfine", RESULTS RESULT("true", TIMES, "0, 1, 0") END, 0,
		  "'true' was not measured: exit status 1" },
		{ "fewer exit codes than times", "hyperfine", RESULTS RESULT("true", TIMES, "0") END, 0, "3 times and 1 exit codes" },
		{ "more of them", "hyperfine", RESULTS RESULT("true", TIMES, "0, 0, 0, 0") END, 0, "3 times and 4 exit codes" },
		{ "parameters", "{source: hyperfine, name: x}", PARAMETERS, 0, "several results ('x (b=1)', 'x (b=2)')" },
		{ "a parameter", "{source: hyperfine, name: x (b=2)}", PARAMETERS, 4, NULL },
		{ "a command twice", "hyperfine", RESULTS RESULT("x", TIMES, EXITS) ",\n" RESULT("x", TIMES, EXITS) END, 0,
		  "the result 'x' is in the output twice, and the two" },
		{ "ended by a signal", "hyperfine", RESULTS RESULT("true", TIMES, "0, null, 0") END, 0,
		  "was not measured: ended by a signal" },
		{ "no times", "hyperfine", "{\"results\": [{\"command\": \"x\", \"mean\": 1}]}", 0,
		  "no object with 'command' and a list 'times'" },
		{ "empty times", "hyperfine", "{\"results\": [{\"command\": \"x\", \"times\": []}]}", 0, "no measurement" },
		{ "no number", "hyperfine", "{\"results\": [{\"command\": \"x\", \"times\": [1, \"2\"]}]}", 0, "it is not a number" },
		{ "zero", "hyperfine", "{\"results\": [{\"command\": \"x\", \"times\": [1, 0]}]}", 0, "the metric is 0" },
		{ "no results", "hyperfine", RESULTS END, 0, "the output has no measurement" },
		{ "Google's", "hyperfine", THREE, 0, "not of hyperfine" },
		{ "its text", "hyperfine", "Benchmark 1: true\n  Time (mean):  1.0 ms\n", 0, "no line starts" },
	};

	(void)state;
	check_rows(rows, COUNT(rows));
}

static void test_limits(void **state)
{
	size_t n = METRIC_OUTPUT_BYTES_MAX + 1;
	char *output = mem_new(n, 1);
	double value = 0;
	char *warning;
	struct assay_error err;

	(void)state;
	memset(output, '7', n);
	for (size_t i = 1; i < n; i += 2)
		output[i] = '\n';
	check_fails("bytes", read_text("{pattern: '(7)'}", output, n, &value, &warning, &err), ASSAY_E_NODATA, &err, "the first 16777216");
	check_fails("values", read_text("{pattern: '(7)'}", output, n / 4, &value, &warning, &err), ASSAY_E_NODATA, &err,
		    "line 1000001: more than 1000000 values");
	free(output);
}

int suite_metric(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage),	  cmocka_unit_test(test_regex),	 cmocka_unit_test(test_google_benchmark),
		cmocka_unit_test(test_hyperfine), cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
