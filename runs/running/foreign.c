#include "runs/running/foreign.h"

#include "base/buf.h"
#include "base/csv.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/running/execution.h"

#include <ctype.h>
#include <expat.h>
#include <math.h>

ROWS_FUNCTION(foreign_code, enum foreign_tool, FOREIGN_ROWS, ROWS_CODE)
ROWS_FUNCTION(foreign_text, enum foreign_tool, FOREIGN_ROWS, ROWS_TEXT)

#define RESULTS_MAX   1000000
#define INSTANCES_MAX 1e6 /* more than the members of any family of benchmarks, or entries of any result */
#define DEPTH_MAX     8	  /* deeper XML elements are ignored */

struct reader {
	const struct foreign_options *options;
	struct foreign_result *result;
	const char *text; /* the whole file */
	size_t at, start; /* offset of the CSV row, else 0; index of the first of options->starts that contains the row */
	bool over;	  /* the file has more than RESULTS_MAX results */
	bool metric_seen; /* some benchmark has the metric options->metric */
	struct assay_error *err;
};

void foreign_release(struct foreign_result *result)
{
	mem_free_all(result->texts, result->n_texts);
	free(result->rows);
	cJSON_Delete(result->root);
	imported_release(&result->imported);
	*result = (struct foreign_result){ .tool = FOREIGN_TOOLS };
}

/* Keeps a text as long as the result. */
static const char *keep(struct reader *r, char *text)
{
	mem_append(r->result->texts, r->result->n_texts, &r->result->texts_capacity, text);
	return text;
}

static struct foreign_row row_of(struct reader *r, struct imported_place place, const char *machine)
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
	row.to.turns = r->options->interleaved ? RUN_TURNS_SAID : RUN_TURNS_NUMBERED;
	row.to.place = place;
	return row;
}

/* Adds a row, failed or not: numbers and names of benchmarks must not depend on how many succeeded. */
static void row_add(struct reader *r, struct foreign_row row)
{
	struct foreign_result *to = r->result;

	to->several = to->several || (to->n_rows && strcmp(to->rows[0].name, row.name) != 0);
	r->over = to->n_rows == RESULTS_MAX;
	row.at = to->n_rows;
	if (!r->over)
		mem_append(to->rows, to->n_rows, &to->capacity, row);
}

/* Marks the row as failed, with a reason. */
static void __attribute__((format(printf, 4, 5)))
row_fail(struct reader *r, struct foreign_row *row, enum execution_outcome outcome, const char *fmt, ...)
{
	char *text;

	mem_formatted(text, fmt);
	row->to.outcome = execution_outcome_code(outcome);
	row->to.failure = keep(r, mem_string(TEXT_SHOWN(text)));
	free(text);
}

/* Reads the row's value from JSON. json_parse_loosely() replaces values that are not finite by "". Returns false if it is not a number. */
static bool row_value(struct reader *r, struct foreign_row *row, const cJSON *value, double unit)
{
	if (cJSON_IsNumber(value))
		row->texts.result = keep(r, mem_string(TEXT_DOUBLE(value->valuedouble * unit)));
	else if (cJSON_IsString(value) && !*value->valuestring)
		row_fail(r, row, EXECUTION_NO_METRIC, "its result is not a finite number");
	return *row->texts.result || row->to.failure;
}

/* Sets the row's time from a text of the file; `text` may be NULL. If the time is invalid, excludes the row and returns false. */
static bool row_time(struct reader *r, struct foreign_row *row, const char *text)
{
	int64_t ms = row->to.taken_ms;
	bool is_time = !text || text_time_ms(text, &ms);

	if (is_time && !imported_in_future(ms))
		row->to.taken_ms = ms;
	else if (!r->options->time_given) {
		imported_leave_out(&r->result->imported, IMPORTED_BAD_TIME, &row->to.place, "'%s' is %s; --time TIME says when it was",
				   TEXT_SHOWN(text ? text : text_from_ms(ms, (char[TEXT_DATE_BYTES]){ 0 })),
				   is_time ? "in the future" : "neither a date, such as 2026-11-23T20:01:23+01:00, nor seconds since 1970");
		return false;
	}
	return true;
}

/* Returns the user's machine, or else the file's; NULL if neither is given. */
static const char *machine_of(const struct reader *r, const char *said)
{
	const char *machine = r->options->machine ? r->options->machine : said;

	return machine && *machine ? machine : NULL;
}

static enum assay_status fail_no_machine(const struct reader *r)
{
	return assay_fail(r->err, ASSAY_E_USAGE, "%s does not say on which machine it was measured: --machine NAME says so",
			  r->options->name);
}

#define NO_MACHINE "it does not say on which machine; --machine NAME says so"

/* Returns a mark such as " (branch=main, size=4)" from parts[0..n), or "". Frees the parts. */
static const char *mark_of(struct reader *r, char **parts, size_t n)
{
	struct buf text = BUF_INIT;

	order_sort(parts, n, text_order);
	for (size_t i = 0; i < n; i++) {
		buf_format(&text, "%s%s%s", i ? ", " : " (", parts[i], i + 1 == n ? ")" : "");
		free(parts[i]);
	}
	return keep(r, buf_take(&text));
}

/* ---- conversion to rows of imported.h ---- */

ORDER_POINTERS_BY(compare_rows, struct foreign_row,
		  BY_TEXT(name) BY_TEXT(mark) BY_TEXT(to.version) BY_TEXT(to.machine) BY_UP(to.taken_ms) BY_UP(at))

/* Numbers repetitions, failed ones too: rows of one benchmark at one time, in file order. Finds names that benchmarks share. */
static void rows_count(struct reader *r)
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
			row->texts.repetition = keep(r, mem_format("%zu", ordinal));
			row->to.turns = row->to.turns == RUN_TURNS_SAID ? RUN_TURNS_SAID : RUN_TURNS_COUNTED;
		}
		row->alike = sorted[first]->alike || row->thing != sorted[first]->thing;
		for (size_t k = i; row->alike && !sorted[first]->alike;)
			sorted[--k]->alike = true; /* back to the first row of that name */
	}
	free(sorted);
}

/* Returns the name that the row is stored under. */
static const char *row_name(struct reader *r, const struct foreign_row *row)
{
	const char *prefix = r->options->application;
	bool one = prefix && !r->result->several;

	return keep(r, mem_format("%s%s%s%s", prefix ? prefix : "", prefix && !one ? "/" : "", one ? "" : row->name, row->mark));
}

static void rows_give(struct reader *r)
{
	struct foreign_result *result = r->result;
	struct imported *imported = &result->imported;
	const struct imported_row *shown;

	rows_count(r);
	for (size_t i = 0; i < result->n_rows; i++) {
		struct foreign_row *row = &result->rows[i];

		row->to.name = row_name(r, row);
		if (row->alike)
			imported_leave_out(imported, IMPORTED_ALIKE, &row->to.place, "%s", TEXT_SHOWN(row->to.name));
		else
			imported_add(imported, row->to, &row->texts);
	}
	shown = imported->n ? imported->rows : imported->failed;
	result->application = shown ? shown->name : "";
	result->version = shown ? shown->version : "";
	result->several = false;
	for (size_t i = 0; i < imported->n && !result->several; i++)
		result->several = strcmp(imported->rows[i].name, result->application) != 0;
}

/* ---- benchmarks in JSON ---- */

static const char *benchmark_name(const cJSON *item)
{
	static const char *const keys[] = { "run_name", "name", "command" };
	const char *name = NULL;

	for (size_t i = 0; !name && i < sizeof(keys) / sizeof(keys[0]); i++)
		name = cJSON_GetStringValue(json_get(item, keys[i]));
	return name;
}

/* Returns a JSON value as one line; free() it. */
static char *value_text(const cJSON *value)
{
	char *text = cJSON_IsString(value) ? mem_string(value->valuestring) : json_line(value);

	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* Returns a mark from the label and the parameters of a benchmark. */
static const char *benchmark_mark(struct reader *r, const cJSON *item)
{
	const char *mark;
	const cJSON *label = json_get(item, "label"), *parameters = json_get(item, "parameters"), *one;
	char **parts = mem_new((size_t)cJSON_GetArraySize(parameters) + 1, sizeof(char *));
	size_t n = 0;

	if (label && !cJSON_IsNull(label) && !(cJSON_IsString(label) && !*label->valuestring))
		parts[n++] = value_text(label);
	cJSON_ArrayForEach(one, parameters)
	{
		char *value = value_text(one);

		parts[n++] = mem_format("%s=%s", one->string ? one->string : "", value);
		free(value);
	}
	mark = mark_of(r, parts, n);
	free(parts);
	return mark;
}

/* Calls `add` for each item of the list `key`. Fails if the document has no such list. */
static enum assay_status list_read(struct reader *r, const char *key, void (*add)(struct reader *, const cJSON *, size_t, const char *))
{
	const cJSON *list = json_get(r->result->root, key), *item;
	const char *machine = machine_of(r, json_get_text(json_get(r->result->root, "context"), "host_name"));
	size_t index = 0;

	if (!cJSON_IsArray(list))
		return assay_fail(r->err, ASSAY_E_FORMAT, "%s is not of %s: it has no list '%s'", r->options->name,
				  foreign_text(r->result->tool), key);
	if (!machine)
		return fail_no_machine(r);
	cJSON_ArrayForEach(item, list) add(r, item, index++, machine);
	return ASSAY_OK;
}

/* ---- Google Benchmark ---- */

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Returns the length of the name without a suffix such as "_mean"; 0 if it has none. */
static size_t statistic_stem(const char *name)
{
	static const char *const ends[] = { "_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends_in(name, ends[i]))
			return strlen(name) - strlen(ends[i]);
	return 0;
}

/* Reports whether an item is an aggregate, such as a mean. Versions before 1.5 list aggregates beside the benchmark, without a mark. */
static bool is_aggregate(const cJSON *item)
{
	const char *type = json_get_text(item, "run_type"), *name = benchmark_name(item);
	const cJSON *const beside[] = { item->prev, item->next };
	size_t n = statistic_stem(name);

	if (*type || json_get(item, "aggregate_name") || json_get(item, "big_o") || json_get(item, "rms"))
		return strcmp(type, "iteration") != 0;
	for (int i = 0; i < 2 && n; i++) {
		const char *other = benchmark_name(beside[i]);

		if (other && strncmp(other, name, n) == 0 && strcmp(other, name) != 0 && (!other[n] || statistic_stem(other) == n))
			return true;
	}
	return false;
}

/* Returns the reason why a benchmark failed or skipped itself; NULL if it was measured. */
static const char *benchmark_failure(const cJSON *item)
{
	static const char *const flags[] = { "error_occurred", "skipped" }, *const messages[] = { "error_message", "skip_message" };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const cJSON *flag = json_get(item, flags[i]);
		const char *message = json_get_text(item, messages[i]);

		if (flag && !cJSON_IsFalse(flag) && !cJSON_IsNull(flag))
			return *message ? message : flags[i];
	}
	return NULL;
}

/* Returns the item's unit of time, s; 0 if it has none. */
static double benchmark_unit(const cJSON *item)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	static const double seconds[] = { 1e-9, 1e-6, 1e-3, 1 };
	size_t unit = text_index(units, sizeof(units) / sizeof(units[0]), json_get_text(item, "time_unit"));

	return unit == SIZE_MAX ? 0 : seconds[unit];
}

static void gbench_add(struct reader *r, const cJSON *item, size_t index, const char *machine)
{
	const char *metric = r->options->metric ? r->options->metric : "real_time", *name = benchmark_name(item);
	struct foreign_row row = row_of(r, (struct imported_place){ "benchmarks", NULL, index, 0 }, machine);
	bool is_time = strcmp(metric, "real_time") == 0 || strcmp(metric, "cpu_time") == 0;
	double unit = is_time ? benchmark_unit(item) : 1;
	struct imported *imported = &r->result->imported;

	if (name && is_aggregate(item)) {
		r->result->aggregates++;
		return;
	}
	r->metric_seen = r->metric_seen || json_get(item, metric);
	if (benchmark_failure(item))
		row_fail(r, &row, EXECUTION_NO_METRIC, "%s", benchmark_failure(item));
	if (!name)
		imported_leave_out(imported, IMPORTED_BAD_ROW, &row.to.place, "it is no object with a name");
	else if (!row.to.failure && !row_value(r, &row, json_get(item, metric), unit))
		imported_leave_out(imported, IMPORTED_BAD_ROW, &row.to.place, "%s: '%s' is missing, or no number", TEXT_SHOWN(name),
				   TEXT_SHOWN(metric));
	else if (!row.to.failure && unit <= 0)
		imported_leave_out(imported, IMPORTED_BAD_ROW, &row.to.place, "%s: its 'time_unit' is none of ns, us, ms and s",
				   TEXT_SHOWN(name));
	else if (row_time(r, &row, cJSON_GetStringValue(json_get(json_get(r->result->root, "context"), "date")))) {
		row.name = name;
		row.mark = benchmark_mark(r, item);
		row.thing = (double)json_get_count(item, "family_index") * INSTANCES_MAX +
			    (double)json_get_count(item, "per_family_instance_index");
		row.texts.direction = ends_in(metric, "_per_second") ? "higher" : is_time ? "lower" : "";
		row.to.metric = metric;
		row_add(r, row);
	}
}

/* ---- hyperfine ---- */

/* Adds one time. `end`: exit code of the run, JSON null if a signal ended it; NULL if the file has none. */
static void hyperfine_add_time(struct reader *r, struct foreign_row row, const cJSON *time, const cJSON *end)
{
	if (end && cJSON_IsNull(end))
		row_fail(r, &row, EXECUTION_KILLED, "ended by a signal");
	else if (end && !(cJSON_IsNumber(end) && end->valuedouble == 0))
		row_fail(r, &row, EXECUTION_FAILED, "exit status %s", cJSON_IsNumber(end) ? TEXT_DOUBLE(end->valuedouble) : "unknown");
	r->result->ends_unknown += !end;
	if (row.to.failure || row_value(r, &row, time, 1))
		row_add(r, row);
	else
		imported_leave_out(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place, "%s: it is no number", TEXT_SHOWN(row.name));
}

static void hyperfine_add(struct reader *r, const cJSON *item, size_t index, const char *machine)
{
	struct foreign_row row = row_of(r, (struct imported_place){ "results", NULL, index, 0 }, machine);
	const cJSON *times = json_get(item, "times"), *time, *ends = json_get(item, "exit_codes"), *end = ends ? ends->child : NULL;
	int n_times = cJSON_GetArraySize(times), n_ends = cJSON_GetArraySize(ends);

	row.name = benchmark_name(item);
	if (!row.name || !cJSON_IsArray(times)) {
		imported_leave_out(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place,
				   "it is no object with 'command' and a list 'times'");
		return;
	}
	row.mark = benchmark_mark(r, item);
	row.thing = (double)index;
	row.to.place.item = "times";
	cJSON_ArrayForEach(time, times)
	{
		if (ends && n_ends != n_times)
			imported_leave_out(&r->result->imported, IMPORTED_UNKNOWN_END, &row.to.place,
					   "%s: it has %d times and %d exit codes", TEXT_SHOWN(row.name), n_times, n_ends);
		else
			hyperfine_add_time(r, row, time, end);
		end = end ? end->next : NULL;
		row.to.place.at++;
	}
}

/* ---- CSV ---- */

/* Meanings of columns. Several columns may have the meaning NAME or IGNORE. */
enum { APPLICATION, VERSION, MACHINE, TIME, REPETITION, EXIT_STATUS, RESULT, DIRECTION, MEANINGS, NAME = MEANINGS, IGNORE, ALL_MEANINGS };

static const char *const meanings[ALL_MEANINGS] = { "?application", "?version", "?machine",   "?time", "?repetition",
						    "?exit_status", "result",	"?direction", "name",  "ignore" };

struct columns {
	const char **names; /* [n], names of the columns by meaning, then columns of NAME and IGNORE; '?' marks optional ones */
	bool *distinguish;  /* [n], the column has the meaning NAME */
	size_t *index;	    /* [n], index of the column in the file; SIZE_MAX if missing */
	size_t n;
	bool ignore_all; /* ignore all columns without a meaning */
};

static enum assay_status columns_choose(const struct reader *r, struct columns *c)
{
	size_t n = MEANINGS + r->options->n_columns;

	*c = (struct columns){ mem_new(n, sizeof(char *)), mem_new(n, sizeof(bool)), mem_new(n, sizeof(size_t)), MEANINGS, false };
	memcpy(c->names, meanings, MEANINGS * sizeof(char *));
	for (size_t i = 0; i < r->options->n_columns; i++) {
		const char *word = r->options->columns[i], *equals = strchr(word, '=');
		size_t m = 0;

		while (equals && m < ALL_MEANINGS) {
			const char *meaning = meanings[m] + (*meanings[m] == '?');

			if (strlen(meaning) == (size_t)(equals - word) && strncmp(meaning, word, strlen(meaning)) == 0)
				break;
			m++;
		}
		if (!equals || m == ALL_MEANINGS || equals[1] == '?')
			return assay_fail(r->err, ASSAY_E_USAGE,
					  "'%s' names no column: MEANING=COLUMN, where MEANING is application, version, machine, time, "
					  "repetition, exit_status, result, direction, name or ignore",
					  word);
		if (m == IGNORE && strcmp(equals, "=*") == 0) {
			c->ignore_all = true;
			continue;
		}
		c->distinguish[m < MEANINGS ? m : c->n] = m == NAME;
		c->names[m < MEANINGS ? m : c->n++] = equals + 1;
	}
	return ASSAY_OK;
}

/* Refuses a column without a meaning, because it may distinguish results. Also refuses a column with two meanings. */
static enum assay_status columns_check(const struct reader *r, const struct columns *c, const struct csv *csv)
{
	for (size_t i = 0; i < csv->n_fields; i++) {
		const char *name = TEXT_SHOWN(csv->fields[i]);
		size_t has = 0;

		for (size_t k = 0; k < c->n; k++)
			has += c->index[k] == i;
		if (has > 1)
			return assay_fail(r->err, ASSAY_E_USAGE, "--columns gives the column '%s' two meanings", name);
		if (!has && !c->ignore_all)
			return assay_fail(r->err, ASSAY_E_USAGE,
					  "%s:%zu: the column '%s' has no meaning: --columns 'name=%s' makes its values a part of names, "
					  "'ignore=%s' leaves it out, 'ignore=*' all such columns",
					  r->options->name, csv->line, name, name, name);
	}
	return ASSAY_OK;
}

static bool is_word(const char *text, const char *const *words)
{
	while (*words && strcasecmp(text, *words) != 0)
		words++;
	return *words;
}

/* Reports whether a text represents an unknown value. */
static bool is_missing(const char *text)
{
	static const char *const words[] = { "", "nan", "inf", "infinity", "na", "n/a", "null", "none", "-", NULL };

	return is_word(text + (*text && text[1] && (*text == '+' || *text == '-')), words);
}

/* Reports whether a text says that a run has no result. */
static bool is_no_result(const char *text)
{
	static const char *const words[] = {
		"fail", "failed", "failure", "error", "timeout", "killed", "crash", "crashed", "skipped", NULL
	};

	return is_missing(text) || is_word(text, words);
}

/* Reports whether an exit status, a number or a word, indicates success. Unknown words indicate failure. */
static bool is_success(const char *text)
{
	static const char *const words[] = { "ok", "success", "successful", "succeeded", "pass", "passed", NULL };
	double number;

	return text_double(text, &number) ? number == 0 : is_word(text, words);
}

/* Adds a row with a textual result. A word for failure makes it a failed run. A word for success excludes it: nothing was measured. */
static void row_add_text(struct reader *r, struct foreign_row row, const char *text)
{
	double number;

	if (!row.to.failure && is_no_result(text))
		row_fail(r, &row, EXECUTION_NO_METRIC, "its result is '%s'", text);
	if (!row.to.failure && !text_double(text, &number) && is_success(text))
		imported_leave_out(&r->result->imported, IMPORTED_PASSED, &row.to.place, "%s: '%s'", TEXT_SHOWN(row.name), text);
	else
		row_add(r, row);
}

static const char *csv_mark(struct reader *r, const struct columns *c, const struct csv *csv)
{
	char **parts = mem_new(c->n, sizeof(char *));
	const char *mark;
	size_t n = 0;

	for (size_t i = MEANINGS; i < c->n; i++) {
		if (c->distinguish[i])
			parts[n++] = mem_format("%s=%s", c->names[i], csv->fields[c->index[i]]);
	}
	mark = mark_of(r, parts, n);
	free(parts);
	return mark;
}

/* Removes spaces around an exit status: " 0" would count as a failure. */
static char *without_blanks(char *text)
{
	size_t n = strlen(text);

	while (n && strchr(" \t", text[n - 1]))
		text[--n] = '\0';
	return text + strspn(text, " \t");
}

static enum assay_status csv_add_row(struct reader *r, const struct csv *csv, const struct columns *c)
{
	struct foreign_row row;
	const char *said[MEANINGS];
	bool ended;

	r->at = (size_t)(csv->fields[0] - r->text);
	row = row_of(r, (struct imported_place){ .line = csv->line }, NULL);
	for (size_t m = 0; m < MEANINGS; m++)
		said[m] = c->index[m] == SIZE_MAX ? NULL : csv->fields[c->index[m]];
	if (said[EXIT_STATUS])
		said[EXIT_STATUS] = without_blanks(csv->fields[c->index[EXIT_STATUS]]);
	row.name = said[APPLICATION] ? said[APPLICATION] : r->options->application;
	row.mark = csv_mark(r, c, csv);
	row.to.machine = machine_of(r, said[MACHINE]);
	if (said[VERSION] && *said[VERSION])
		row.to.version = said[VERSION];
	else if (r->start < r->options->n_starts)
		row.to.version = r->options->starts[r->start].version;
	row.to.metric = c->names[RESULT];
	ended = said[EXIT_STATUS] && !is_missing(said[EXIT_STATUS]);
	row.texts = (struct imported_texts){ said[RESULT], NULL, said[REPETITION], said[DIRECTION] ? said[DIRECTION] : "" };
	if (!row.name)
		return assay_fail(r->err, ASSAY_E_USAGE,
				  "%s has no column 'application': --application NAME says what was measured, or --columns "
				  "application=COLUMN in which column it stands",
				  r->options->name);
	if (!row.to.machine && !said[MACHINE])
		return fail_no_machine(r);
	if (!row.to.machine)
		imported_leave_out(&r->result->imported, IMPORTED_BAD_NAME, &row.to.place, NO_MACHINE);
	else if (said[EXIT_STATUS] && !ended && !is_no_result(said[RESULT]))
		imported_leave_out(&r->result->imported, IMPORTED_UNKNOWN_END, &row.to.place, "its exit status is '%s'",
				   TEXT_SHOWN(said[EXIT_STATUS]));
	else if (row_time(r, &row, said[TIME])) {
		if (ended && !is_success(said[EXIT_STATUS]))
			row_fail(r, &row, EXECUTION_FAILED, "exit status %s", said[EXIT_STATUS]);
		row_add_text(r, row, said[RESULT]);
	}
	return ASSAY_OK;
}

static enum assay_status csv_read(struct reader *r, char *text, size_t n)
{
	struct columns columns;
	struct csv csv;
	enum assay_status st = columns_choose(r, &columns);

	csv_init(&csv, r->options->name, text, n);
	if (!st)
		st = csv_header(&csv, (const char *const *)columns.names, columns.n, columns.index, r->err);
	if (st && columns.index[RESULT] == SIZE_MAX) {
		struct assay_error said = *r->err;

		assay_fail(r->err, st, "%s: %s", said.text,
			   csv.n_fields == 1 && strpbrk(csv.fields[0], ";\t|") ? "commas divide columns, and numbers have a decimal point"
									       : "--columns result=COLUMN says in which one it stands");
	}
	if (!st)
		st = columns_check(r, &columns, &csv);
	while (!st && imported_next(&r->result->imported, &csv))
		st = csv_add_row(r, &csv, &columns);
	csv_release(&csv);
	mem_free(columns.names, columns.distinguish, columns.index);
	return st;
}

/* ---- Phoronix Test Suite ---- */

enum { ENTRY, VALUE, RAW, TEST, TITLE, PROGRAM_VERSION, ARGUMENTS, DESCRIPTION, SCALE, PROPORTION, MEASURED, WHEN, LEAVES };

#define RESULT_PATH "PhoronixTestSuite/Result/"
#define ENTRY_PATH  RESULT_PATH "Data/Entry/"
#define SYSTEM_PATH "PhoronixTestSuite/System/"

static const char *const leaves[LEAVES] = { ENTRY_PATH "Identifier",  ENTRY_PATH "Value",	 ENTRY_PATH "RawString",
					    RESULT_PATH "Identifier", RESULT_PATH "Title",	 RESULT_PATH "AppVersion",
					    RESULT_PATH "Arguments",  RESULT_PATH "Description", RESULT_PATH "Scale",
					    RESULT_PATH "Proportion", SYSTEM_PATH "Identifier",	 SYSTEM_PATH "TimeStamp" };

/* State of the XML parser. `said` has the texts of the open result or system. */
struct phoronix {
	struct reader *r;
	XML_Parser parser;
	char *path[DEPTH_MAX];
	size_t depth;
	struct buf text;
	char *said[LEAVES];	 /* [LEAVES], NULL if not read yet */
	size_t results, entries; /* numbers of results before the open one, and of entries before the open one in its result */
	char **systems, **times; /* [n_systems] */
	size_t n_systems;
};

/* Reports whether the innermost open element has this path. The path may end with "/". */
static bool stands_at(const struct phoronix *p, const char *path)
{
	size_t i = 0;

	for (const char *at = path; *at; i++) {
		size_t n = strcspn(at, "/");

		if (i == p->depth || i == DEPTH_MAX || strlen(p->path[i]) != n || strncmp(p->path[i], at, n) != 0)
			return false;
		at += n + (at[n] == '/');
	}
	return i == p->depth;
}

static const char *said(const struct phoronix *p, int leaf)
{
	return p->said[leaf] ? p->said[leaf] : "";
}

/* Frees the texts below an element that was closed. */
static void phoronix_forget(struct phoronix *p, const char *path)
{
	for (size_t i = 0; i < LEAVES; i++)
		if (strncmp(leaves[i], path, strlen(path)) == 0) {
			free(p->said[i]);
			p->said[i] = NULL;
		}
}

static void phoronix_open(void *of, const XML_Char *name, const XML_Char **attributes)
{
	struct phoronix *p = of;

	(void)attributes;
	if (p->depth < DEPTH_MAX)
		p->path[p->depth] = mem_string(name);
	p->depth++;
	buf_clear(&p->text);
}

static void phoronix_text(void *of, const XML_Char *bytes, int n)
{
	struct phoronix *p = of;

	if (p->depth <= DEPTH_MAX)
		buf_add(&p->text, bytes, (size_t)n);
}

/* Returns the time of the system `measured`; NULL if the file has none. */
static const char *phoronix_time(const struct phoronix *p, const char *measured)
{
	for (size_t i = 0; i < p->n_systems; i++)
		if (strcmp(p->systems[i], measured) == 0)
			return *p->times[i] ? p->times[i] : NULL;
	return NULL;
}

/* Returns a mark from the arguments and the unit of the open result. Results may share a description, and the suite compares only those
 * with equal arguments and units. Arguments that are not valid in a name are replaced by a hash. */
static const char *phoronix_mark(const struct phoronix *p)
{
	const char *arguments = said(p, ARGUMENTS);
	char *parts[2], hash[DIGEST_ID_BYTES];
	size_t n = 0;

	digest_id(arguments, strlen(arguments), hash);
	if (*arguments)
		parts[n++] = strlen(arguments) < RUN_NAME_BYTES_MAX / 2 && !run_name_fault(arguments) ? mem_string(arguments)
												      : mem_format("arguments %s", hash);
	if (*said(p, SCALE))
		parts[n++] = mem_string(said(p, SCALE));
	return mark_of(p->r, parts, n);
}

static void phoronix_add(struct phoronix *p, struct imported_place place, const char *value)
{
	const char *test = said(p, *said(p, TEST) ? TEST : TITLE), *description = said(p, DESCRIPTION);
	const char *measured = keep(p->r, mem_string(said(p, ENTRY)));
	struct foreign_row row = row_of(p->r, place, machine_of(p->r, measured));

	row.name = keep(p->r, mem_format("%s%s%s", test, *description ? "/" : "", description));
	row.mark = phoronix_mark(p);
	row.thing = (double)place.line * INSTANCES_MAX + (double)place.at;
	row.texts.direction = strcmp(said(p, PROPORTION), "HIB") == 0 ? "higher" : strcmp(said(p, PROPORTION), "LIB") == 0 ? "lower" : "";
	row.texts.result = keep(p->r, mem_string(value));
	/* One machine for several systems means that they are versions: kernels, compilers or settings on that machine. */
	row.to.version = p->r->options->machine && p->n_systems > 1 ? measured
			 : p->r->options->version_given		    ? ""
								    : keep(p->r, mem_string(said(p, PROGRAM_VERSION)));
	if (!row.to.machine) {
		imported_leave_out(&p->r->result->imported, IMPORTED_BAD_NAME, &place, NO_MACHINE);
	} else if (strchr(value, ',')) { /* values of a monitor over time */
		imported_leave_out(&p->r->result->imported, IMPORTED_BAD_ROW, &place, "%s: a series of values", TEXT_SHOWN(row.name));
	} else if (row_time(p->r, &row, phoronix_time(p, measured))) {
		row_add_text(p->r, row, value);
	}
}

/* Adds the repetitions of an entry: "12.5:12.6:12.4" or "PASS,FAIL"; a single value if there is no such text. */
static void phoronix_entry(struct phoronix *p)
{
	struct imported_place place = { "Result", "Entry", p->results, p->entries };
	char *values = mem_string(said(p, *said(p, RAW) ? RAW : VALUE)), *rest = values, *value;
	const char *between = isalpha((unsigned char)*values) ? ":," : ":";

	while ((value = strsep(&rest, between)))
		phoronix_add(p, place, value);
	free(values);
	phoronix_forget(p, ENTRY_PATH);
	p->entries++;
}

static void phoronix_system(struct phoronix *p)
{
	p->systems = mem_resize(p->systems, p->n_systems + 1, sizeof(char *));
	p->times = mem_resize(p->times, p->n_systems + 1, sizeof(char *));
	p->systems[p->n_systems] = mem_string(said(p, MEASURED));
	p->times[p->n_systems++] = mem_string(said(p, WHEN));
	phoronix_forget(p, SYSTEM_PATH);
}

static void phoronix_close(void *of, const XML_Char *name)
{
	struct phoronix *p = of;

	(void)name;
	for (size_t i = 0; i < LEAVES; i++) {
		if (stands_at(p, leaves[i])) {
			free(p->said[i]);
			p->said[i] = buf_take(&p->text);
		}
	}
	if (stands_at(p, ENTRY_PATH)) {
		phoronix_entry(p);
	} else if (stands_at(p, SYSTEM_PATH)) {
		phoronix_system(p);
	} else if (stands_at(p, RESULT_PATH)) {
		phoronix_forget(p, RESULT_PATH);
		p->results++;
		p->entries = 0;
	}
	p->depth--;
	if (p->depth < DEPTH_MAX)
		free(p->path[p->depth]);
	buf_clear(&p->text);
}

static void phoronix_release(struct phoronix *p)
{
	buf_release(&p->text);
	phoronix_forget(p, "");
	for (size_t i = 0; i < p->depth && i < DEPTH_MAX; i++)
		free(p->path[i]);
	for (size_t i = 0; i < p->n_systems; i++)
		mem_free(p->systems[i], p->times[i]);
	mem_free(p->systems, p->times);
	XML_ParserFree(p->parser);
}

static enum assay_status phoronix_read(struct reader *r, const char *text, size_t n)
{
	struct phoronix p = { .r = r, .parser = XML_ParserCreate(NULL) };
	enum assay_status st = ASSAY_OK;

	ASSAY_BUG_IF(!p.parser || n > INT32_MAX);
	XML_SetUserData(p.parser, &p);
	XML_SetElementHandler(p.parser, phoronix_open, phoronix_close);
	XML_SetCharacterDataHandler(p.parser, phoronix_text);
	if (XML_Parse(p.parser, text, (int)n, 1) == XML_STATUS_ERROR)
		st = assay_fail(r->err, ASSAY_E_FORMAT, "%s:%lu: %s", r->options->name, XML_GetCurrentLineNumber(p.parser),
				XML_ErrorString(XML_GetErrorCode(p.parser)));
	phoronix_release(&p);
	return st;
}

/* ---- all formats ---- */

static enum assay_status tool_of(struct reader *r, const char *text)
{
	const cJSON *root = r->result->root;
	bool is_xml = text[strspn(text, " \t\r\n")] == '<';

	r->result->tool = r->options->tool;
	if (r->result->tool != FOREIGN_TOOLS)
		return ASSAY_OK;
	if (cJSON_HasObjectItem(root, "benchmarks") && !cJSON_HasObjectItem(root, "machine_info"))
		r->result->tool = FOREIGN_GBENCH;
	else if (cJSON_HasObjectItem(root, "results"))
		r->result->tool = FOREIGN_HYPERFINE;
	else if (root || (is_xml && !strstr(text, "<PhoronixTestSuite")))
		return assay_fail(r->err, ASSAY_E_FORMAT,
				  "%s is %s, but not of %s: write it as CSV, with the columns application, version, machine, time, result",
				  r->options->name, root ? "JSON" : "XML",
				  root ? "Google Benchmark or hyperfine" : "the Phoronix Test Suite");
	else
		r->result->tool = is_xml ? FOREIGN_PHORONIX : FOREIGN_CSV;
	return ASSAY_OK;
}

static bool is_json(const struct reader *r, const char *text)
{
	enum foreign_tool tool = r->options->tool;
	char first = text[strspn(text, " \t\r\n")];

	return tool == FOREIGN_GBENCH || tool == FOREIGN_HYPERFINE || (tool == FOREIGN_TOOLS && (first == '{' || first == '['));
}

/* Fails for UTF-16 and UTF-32: a byte order mark or a NUL in the first two bytes. All supported formats start with ASCII. */
static enum assay_status check_encoding(const struct reader *r, const char *text, size_t n)
{
	if (n < 2 || (memcmp(text, "\xff\xfe", 2) != 0 && memcmp(text, "\xfe\xff", 2) != 0 && text[0] && text[1]))
		return ASSAY_OK;
	return assay_fail(r->err, ASSAY_E_FORMAT,
			  "%s is not UTF-8 but UTF-16, as PowerShell's '>' writes it: convert it, as with iconv -f UTF-16 -t UTF-8",
			  r->options->name);
}

enum assay_status foreign_read(char *text, size_t n, const struct foreign_options *options, struct foreign_result *result,
			       struct assay_error *err)
{
	struct reader r = { .options = options, .result = result, .text = text, .err = err };
	size_t mark = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark of UTF-8 */
	enum assay_status st;
	bool found = false;

	*result = (struct foreign_result){ .application = "", .version = "" };
	text += mark;
	n -= mark;
	st = check_encoding(&r, text, n);
	if (!st && is_json(&r, text))
		st = json_parse_loosely(options->name, text, n, &result->root, err);
	if (!st)
		st = tool_of(&r, text);
	if (!st && options->n_columns && result->tool != FOREIGN_CSV)
		st = assay_fail(err, ASSAY_E_USAGE, "%s has no columns: it was read as %s", options->name, foreign_text(result->tool));
	if (!st)
		st = result->tool == FOREIGN_GBENCH	 ? list_read(&r, "benchmarks", gbench_add)
		     : result->tool == FOREIGN_HYPERFINE ? list_read(&r, "results", hyperfine_add)
		     : result->tool == FOREIGN_PHORONIX	 ? phoronix_read(&r, text, n)
							 : csv_read(&r, text, n);
	if (!st && options->metric && !r.metric_seen)
		st = assay_fail(err, ASSAY_E_USAGE, "no benchmark of %s has a metric '%s'", options->name, TEXT_SHOWN(options->metric));
	if (!st && r.over)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s has more than %d measurements: divide it", options->name, RESULTS_MAX);
	if (!st)
		rows_give(&r);
	found = result->n_rows;
	for (int i = 0; i < IMPORTED_SKIPS; i++)
		found = found || result->imported.skipped[i].count;
	if (!st && !found)
		st = assay_fail(err, ASSAY_E_NODATA, "%s has no measurement%s (it was read as %s)", options->name,
				result->aggregates ? " but aggregates: leave out --benchmark_report_aggregates_only" : "",
				foreign_text(result->tool));
	return st;
}
