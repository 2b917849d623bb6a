#include "runs/running/foreign.h"

#include "base/buf.h"
#include "base/order.h"
#include "runs/running/foreign_reader.h"

#include <math.h>

ROWS_FUNCTION(foreign_code, enum foreign_tool, FOREIGN_ROWS, ROWS_CODE)
ROWS_FUNCTION(foreign_text, enum foreign_tool, FOREIGN_ROWS, ROWS_TEXT)

#define RESULTS_MAX 1000000
#define SAMPLES_MAX 1000 /* limit per benchmark; protects the store from tools that record each of millions of calls */

void foreign_release(struct foreign_result *result)
{
	mem_free_all(result->texts, result->n_texts);
	free(result->rows);
	cJSON_Delete(result->root);
	imported_release(&result->imported);
	*result = (struct foreign_result){ .tool = FOREIGN_TOOLS };
}

const char *foreign_own_text(struct foreign_reader *r, char *text)
{
	mem_append(r->result->texts, r->result->n_texts, &r->result->texts_capacity, text);
	return text;
}

struct foreign_row foreign_row_init(struct foreign_reader *r, struct imported_place place, const char *machine)
{
	struct foreign_row row = { .to = { .tool = foreign_code(r->result->tool),
					   .machine = machine,
					   .name = "",
					   .version = "",
					   .metric = "",
					   .battery = "",
					   .battery_hash = "",
					   .stress_ng = "",
					   .architecture = "",
					   .type = "" },
				   .texts = { "", NULL, NULL, "lower" },
				   .mark = "" };

	while (r->start < r->options->n_starts && r->at >= r->options->starts[r->start].bytes)
		r->start++;
	row.to.taken_ms = r->start < r->options->n_starts ? r->options->starts[r->start].taken_ms : r->options->taken_ms;
	row.to.turns = r->options->interleaved ? RUN_ORDER_STATED : RUN_ORDER_NUMBERED;
	row.to.place = place;
	return row;
}

void foreign_row_add(struct foreign_reader *r, struct foreign_row row)
{
	struct foreign_result *to = r->result;

	to->several_applications = to->several_applications || (to->n_rows && strcmp(to->rows[0].name, row.name) != 0);
	r->is_truncated = to->n_rows == RESULTS_MAX;
	row.at = to->n_rows;
	if (!r->is_truncated)
		mem_append(to->rows, to->n_rows, &to->capacity, row);
}

void foreign_row_fail(struct foreign_reader *r, struct foreign_row *row, enum execution_outcome outcome, const char *fmt, ...)
{
	char *text;

	mem_format_va(text, fmt);
	row->to.outcome = execution_outcome_code(outcome);
	row->to.failure = foreign_own_text(r, mem_string(TEXT_SANITIZED(text)));
	free(text);
}

bool foreign_row_value(struct foreign_reader *r, struct foreign_row *row, const cJSON *value, double unit)
{
	bool is_number = cJSON_IsNumber(value);

	if (is_number && isfinite(value->valuedouble * unit))
		row->texts.result = foreign_own_text(r, mem_string(TEXT_DOUBLE(value->valuedouble * unit)));
	else if (is_number || (cJSON_IsString(value) && !*value->valuestring))
		foreign_row_fail(r, row, EXECUTION_NO_METRIC, "its result is not a finite number");
	return *row->texts.result || row->to.failure;
}

bool foreign_row_time(struct foreign_reader *r, struct foreign_row *row, const char *text)
{
	int64_t ms = row->to.taken_ms;
	bool is_time = !text || text_parse_time_ms(text, &ms);

	if (is_time && !imported_is_in_future(ms))
		row->to.taken_ms = ms;
	else if (!r->options->is_time_given) {
		imported_exclude(&r->result->imported, IMPORTED_BAD_TIME, &row->to.place, "'%s' is %s; give the time with --time TIME",
				 TEXT_SANITIZED(text ? text : text_from_ms(ms, (char[TEXT_DATE_BYTES]){ 0 })),
				 is_time ? "in the future" : "neither a date, such as 2026-11-23T20:01:23+01:00, nor seconds since 1970");
		return false;
	}
	return true;
}

const char *foreign_machine(const struct foreign_reader *r, const char *said)
{
	const char *machine = r->options->machine ? r->options->machine : said;

	return machine && *machine ? machine : NULL;
}

enum assay_status foreign_fail_no_machine(const struct foreign_reader *r)
{
	return assay_fail(r->err, ASSAY_E_USAGE, "%s does not name the machine: give it with --machine NAME", r->options->name);
}

const char *foreign_mark(struct foreign_reader *r, char **parts, size_t n)
{
	struct buf text = BUF_INIT;

	order_sort(parts, n, text_compare);
	for (size_t i = 0; i < n; i++) {
		buf_format(&text, "%s%s%s", i ? ", " : " (", parts[i], i + 1 == n ? ")" : "");
		free(parts[i]);
	}
	return foreign_own_text(r, buf_take(&text));
}

static bool is_word(const char *text, const char *const *words)
{
	while (*words && strcasecmp(text, *words) != 0)
		words++;
	return *words;
}

enum foreign_status foreign_classify_text(const char *text)
{
	static const char *const missing[] = { "", "nan", "inf", "infinity", "na", "n/a", "null", "none", "-", NULL };
	static const char *const failures[] = { "fail",	  "failed", "failure", "error",	  "timeout",
						"killed", "crash",  "crashed", "skipped", NULL };
	static const char *const successes[] = { "ok", "success", "successful", "succeeded", "pass", "passed", NULL };
	double number;

	if (is_word(text + (*text && text[1] && (*text == '+' || *text == '-')), missing))
		return FOREIGN_MISSING;
	if (is_word(text, failures))
		return FOREIGN_FAILURE;
	return (text_parse_double(text, &number) ? number == 0 : is_word(text, successes)) ? FOREIGN_SUCCESS : FOREIGN_OTHER;
}

void foreign_row_add_text(struct foreign_reader *r, struct foreign_row row, const char *text)
{
	enum foreign_status word = foreign_classify_text(text);
	double number;

	if (!row.to.failure && word <= FOREIGN_FAILURE)
		foreign_row_fail(r, &row, EXECUTION_NO_METRIC, "its result is '%s'", text);
	if (!row.to.failure && !text_parse_double(text, &number) && word == FOREIGN_SUCCESS)
		imported_exclude(&r->result->imported, IMPORTED_PASSED, &row.to.place, "%s: '%s'", TEXT_SANITIZED(row.name), text);
	else
		foreign_row_add(r, row);
}

/* ---- rows for imported.h ---- */

ORDER_POINTERS_BY(compare_rows, struct foreign_row,
		  BY_TEXT(name) BY_TEXT(mark) BY_TEXT(to.version) BY_TEXT(to.machine) BY_ASC(to.taken_ms) BY_ASC(at))

/* Numbers the repetitions of a benchmark at one time, also failed ones, in file order. Marks rows that several benchmarks may have. */
static void number_rows(struct foreign_reader *r)
{
	struct foreign_result *result = r->result;
	struct foreign_row **sorted = mem_new(result->n_rows, sizeof(*sorted));
	size_t ordinal = 0, first = 0;

	for (size_t i = 0; i < result->n_rows; i++)
		sorted[i] = &result->rows[i];
	order_sort(sorted, result->n_rows, compare_rows);
	for (size_t i = 0; i < result->n_rows; i++) {
		const struct foreign_row *before = i ? sorted[i - 1] : NULL;
		struct foreign_row *row = sorted[i];
		bool of_one = before && strcmp(before->name, row->name) == 0 && strcmp(before->mark, row->mark) == 0,
		     of_version = of_one && strcmp(before->to.version, row->to.version) == 0,
		     of_machine = of_version && strcmp(before->to.machine, row->to.machine) == 0;

		result->versions = result->versions || (of_one && !of_version);
		ordinal = of_machine && before->to.taken_ms == row->to.taken_ms ? ordinal + 1 : 1;
		first = of_machine ? first : i;
		if (!row->texts.repetition) {
			row->texts.repetition = foreign_own_text(r, mem_format("%zu", ordinal));
			row->to.turns = row->to.turns == RUN_ORDER_STATED ? RUN_ORDER_STATED : RUN_ORDER_COUNTED;
		}
		row->is_ambiguous = sorted[first]->is_ambiguous || row->benchmark_number != sorted[first]->benchmark_number;
		for (size_t k = i; row->is_ambiguous && !sorted[first]->is_ambiguous;)
			sorted[--k]->is_ambiguous = true; /* marks all earlier rows with this name, too */
	}
	free(sorted);
}

/* Returns the name under which the row is stored. */
static const char *row_name(struct foreign_reader *r, const struct foreign_row *row)
{
	const char *prefix = r->options->application;
	bool one = prefix && !r->result->several_applications;

	return foreign_own_text(r,
				mem_format("%s%s%s%s", prefix ? prefix : "", prefix && !one ? "/" : "", one ? "" : row->name, row->mark));
}

static void rows_add_to_import(struct foreign_reader *r)
{
	struct foreign_result *result = r->result;
	struct imported *imported = &result->imported;
	const struct imported_row *shown;

	number_rows(r);
	for (size_t i = 0; i < result->n_rows; i++) {
		struct foreign_row *row = &result->rows[i];

		row->to.name = row_name(r, row);
		if (row->is_ambiguous)
			imported_exclude(imported, IMPORTED_AMBIGUOUS, &row->to.place, "%s", TEXT_SANITIZED(row->to.name));
		else
			imported_add(imported, row->to, &row->texts);
	}
	shown = imported->n ? imported->rows : imported->failed;
	result->application = shown ? shown->name : "";
	result->version = shown ? shown->version : "";
	result->several_applications = false;
	for (size_t i = 0; i < imported->n && !result->several_applications; i++)
		result->several_applications = strcmp(imported->rows[i].name, result->application) != 0;
}

char *foreign_value_text(const cJSON *value)
{
	char *text = cJSON_IsString(value) ? mem_string(value->valuestring) : json_line(value);

	text[strcspn(text, "\n")] = '\0';
	return text;
}

const char *foreign_benchmark_mark(struct foreign_reader *r, char *label, const cJSON *parameters)
{
	const char *mark;
	const cJSON *one;
	char **parts = mem_new((size_t)cJSON_GetArraySize(parameters) + 1, sizeof(char *));
	size_t n = 0;

	if (label)
		parts[n++] = label;
	cJSON_ArrayForEach(one, parameters)
	{
		char *value = foreign_value_text(one);

		parts[n++] = mem_format("%s=%s", one->string ? one->string : "", value);
		free(value);
	}
	mark = foreign_mark(r, parts, n);
	free(parts);
	return mark;
}

double foreign_unit_seconds(const char *unit)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "msec", 1e-3 },
		      { "s", 1 },     { "min", 60 },  { "hr", 3600 }, { "day", 86400 } };
	size_t n = strcspn(unit, "/");

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == n && strncmp(units[i].name, unit, n) == 0)
			return units[i].seconds;
	return 0;
}

enum assay_status foreign_list_read(struct foreign_reader *r, const char *key, const char *machine, foreign_add add)
{
	const cJSON *root = r->result->root, *list = key ? json_get(root, key) : root, *item;
	size_t index = 0;

	machine = foreign_machine(r, machine);
	if (!cJSON_IsArray(list) && (key || !cJSON_IsObject(root)))
		return assay_fail(r->err, ASSAY_E_FORMAT, "%s is not of %s: it has no list%s%s%s", r->options->name,
				  foreign_text(r->result->tool), key ? " '" : "", key ? key : "", key ? "'" : "");
	if (!machine)
		return foreign_fail_no_machine(r);
	for (item = cJSON_IsArray(list) ? list->child : root; item; item = item->next)
		add(r, item, index++, machine);
	return ASSAY_OK;
}

void foreign_samples_add(struct foreign_reader *r, struct foreign_row row, const cJSON *values, double unit, const cJSON *counts)
{
	size_t n = (size_t)cJSON_GetArraySize(values), wanted = n < SAMPLES_MAX ? n : SAMPLES_MAX, taken = 0;
	const cJSON *value, *count = counts ? counts->child : NULL;

	r->result->n_thinned += n - wanted;
	row.to.place.at = 0;
	cJSON_ArrayForEach(value, values)
	{
		double divisor = !counts ? 1 : cJSON_IsNumber(count) ? count->valuedouble : 0;
		struct foreign_row one = row;

		if (row.to.place.at++ == taken * n / wanted) {
			taken++;
			if (divisor > 0 && foreign_row_value(r, &one, value, unit / divisor))
				foreign_row_add(r, one);
			else
				imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &one.to.place, "%s: the value %s",
						 TEXT_SANITIZED(row.name), divisor > 0 ? "is not a number" : "has no number of iterations");
		}
		count = count ? count->next : NULL;
	}
}

size_t foreign_line_length(const char *text, size_t n, size_t at, size_t *next)
{
	const char *end = memchr(text + at, '\n', n - at);
	size_t length = end ? (size_t)(end - text) - at : n - at;

	*next = at + length + (end != NULL);
	return length && text[at + length - 1] == '\r' ? length - 1 : length;
}

/* Parses the JSON in text[0..n) into result->root. If the first line that starts with '{' is a complete object, parses each such line as an
 * object, and ignores other lines. The root is then this object, or an array if there are several. */
static enum assay_status parse_json(struct foreign_reader *r, char *text, size_t n)
{
	struct buf lines = BUF_INIT;
	bool is_lines = false;
	enum assay_status st;
	cJSON *root = NULL;

	for (size_t at = 0, next; at < n; at = next) {
		size_t length = foreign_line_length(text, n, at, &next);

		if (length && text[at] == '{') {
			if (!is_lines && text[at + length - 1] != '}')
				break;
			buf_char(&lines, is_lines ? ',' : '[');
			buf_add(&lines, text + at, length);
			is_lines = true;
		}
		buf_char(&lines, '\n');
	}
	buf_char(&lines, ']');
	st = is_lines ? json_parse_lenient(r->options->name, lines.bytes, lines.size, &root, r->err)
		      : json_parse_lenient(r->options->name, text, n, &root, r->err);
	buf_release(&lines);
	r->result->root = root;
	if (!st && is_lines && !root->child->next) {
		r->result->root = cJSON_DetachItemViaPointer(root, root->child);
		cJSON_Delete(root);
	}
	return st;
}

/* ---- detection of the format ---- */

enum kind { JSON, XML, TEXT };

/* Formats in the order in which a file is compared with them. A tool may have several formats. */
static const struct format {
	enum foreign_tool tool;
	enum kind kind;
	const char *mark; /* JSON: member of the first object; XML: name of the root element; text: part of the text, "" for any */
	enum assay_status (*read)(struct foreign_reader *r, char *text, size_t n);
} formats[] = {
	{ FOREIGN_PYTEST, JSON, "machine_info", foreign_pytest_read },
	{ FOREIGN_GBENCH, JSON, "benchmarks", foreign_gbench_read },
	{ FOREIGN_HYPERFINE, JSON, "results", foreign_hyperfine_read },
	{ FOREIGN_JMH, JSON, "primaryMetric", foreign_jmh_read },
	{ FOREIGN_CRITERION, JSON, "reason", foreign_criterion_read },
	{ FOREIGN_CRITERION, JSON, "iters", foreign_criterion_read },
	{ FOREIGN_CRITERION, JSON, "median_abs_dev", foreign_criterion_read },
	{ FOREIGN_PERF, JSON, "counter-value", foreign_perf_read },
	{ FOREIGN_PHORONIX, XML, "PhoronixTestSuite", foreign_phoronix_read },
	{ FOREIGN_CATCH2, XML, "Catch2TestRun", foreign_catch2_read },
	{ FOREIGN_CATCH2, XML, "Catch", foreign_catch2_read },
	{ FOREIGN_JUNIT, XML, "testsuites", foreign_junit_read },
	{ FOREIGN_JUNIT, XML, "testsuite", foreign_junit_read },
	{ FOREIGN_GO, TEXT, "goos: ", foreign_go_read },
	{ FOREIGN_GO, TEXT, " ns/op", foreign_go_read },
	{ FOREIGN_CSV, TEXT, "", foreign_csv_read },
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* Returns how to parse a text: by the tool that the user names, else by the first character. */
static enum kind kind_classify(const struct foreign_reader *r, const char *text)
{
	char first = text[strspn(text, " \t\r\n")];

	for (size_t i = 0; i < FORMATS; i++)
		if (formats[i].tool == r->options->tool)
			return formats[i].kind;
	return first == '{' || first == '[' || strncmp(text, "# started on ", 13) == 0 ? JSON : first == '<' ? XML : TEXT;
}

/* Finds the format of a parsed document. */
static enum assay_status find_format(const struct foreign_reader *r, enum kind kind, const char *text, const struct format **out)
{
	const cJSON *root = r->result->root, *first = cJSON_IsArray(root) ? root->child : root;

	for (size_t i = 0; i < FORMATS; i++) {
		const struct format *f = *out = &formats[i];

		if (r->options->tool != FOREIGN_TOOLS ? f->tool == r->options->tool
		    : f->kind != kind		      ? false
		    : kind == JSON		      ? json_get(first, f->mark) != NULL
		    : kind == XML		      ? strcmp(root->string, f->mark) == 0
						      : strstr(text, f->mark) != NULL)
			return ASSAY_OK;
	}
	if (json_get(first, "test-cases"))
		return assay_fail(r->err, ASSAY_E_FORMAT, "%s is Catch2's JSON, which has no benchmarks: write XML with --reporter xml",
				  r->options->name);
	return assay_fail(r->err, ASSAY_E_FORMAT,
			  "%s is %s, but not of a supported tool ('assay result import --help'): write it as CSV, with the columns "
			  "application, version, machine, time, result",
			  r->options->name, kind == JSON ? "JSON" : "XML");
}

/* Fails for UTF-16 and UTF-32, which have a byte order mark or a NUL in the first two bytes. All supported formats start with ASCII. */
static enum assay_status check_encoding(const struct foreign_reader *r, const char *text, size_t n)
{
	if (n < 2 || (memcmp(text, "\xff\xfe", 2) != 0 && memcmp(text, "\xfe\xff", 2) != 0 && text[0] && text[1]))
		return ASSAY_OK;
	return assay_fail(r->err, ASSAY_E_FORMAT,
			  "%s is UTF-16, not UTF-8 (PowerShell's '>' writes UTF-16): convert it, for example with iconv -f UTF-16 -t UTF-8",
			  r->options->name);
}

enum assay_status foreign_read(char *text, size_t n, const struct foreign_options *options, struct foreign_result *result,
			       struct assay_error *err)
{
	struct foreign_reader r = { .options = options, .result = result, .text = text, .err = err };
	size_t mark = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* size of the byte order mark of UTF-8 */
	const struct format *format;
	enum assay_status st;
	bool found = false;
	enum kind kind;

	*result = (struct foreign_result){ .application = "", .version = "" };
	text += mark;
	n -= mark;
	st = check_encoding(&r, text, n);
	kind = kind_classify(&r, text);
	if (!st && kind == JSON)
		st = parse_json(&r, text, n);
	if (!st && kind == XML)
		st = foreign_xml_parse(options->name, text, n, &result->root, err);
	if (!st)
		st = find_format(&r, kind, text, &format);
	result->tool = st ? FOREIGN_TOOLS : format->tool;
	if (!st && options->n_columns && result->tool != FOREIGN_CSV)
		st = assay_fail(err, ASSAY_E_USAGE, "%s has no columns: it was read as %s", options->name, foreign_text(result->tool));
	if (!st)
		st = format->read(&r, text, n);
	if (!st && options->metric && !r.has_metric)
		st = assay_fail(err, ASSAY_E_USAGE, "no benchmark of %s has a metric '%s'", options->name, TEXT_SANITIZED(options->metric));
	if (!st && r.is_truncated)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s has more than %d measurements: divide it", options->name, RESULTS_MAX);
	if (!st)
		rows_add_to_import(&r);
	found = result->n_rows;
	for (int i = 0; i < IMPORTED_SKIPS; i++)
		found = found || result->imported.skipped[i].count;
	if (!st && !found)
		st = assay_fail(err, ASSAY_E_NODATA, "%s has no measurement%s (it was read as %s)", options->name,
				result->aggregates ? " but aggregates: run without --benchmark_report_aggregates_only" : "",
				foreign_text(result->tool));
	return st;
}
