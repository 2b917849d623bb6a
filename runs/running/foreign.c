#include "runs/running/foreign.h"

#include "base/csv.h"
#include "base/json_reader.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/running/run.h"

#include <expat.h>
#include <inttypes.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

ROWS_FUNCTION(foreign_code, enum foreign_tool, FOREIGN_ROWS, ROWS_CODE)
ROWS_FUNCTION(foreign_text, enum foreign_tool, FOREIGN_ROWS, ROWS_TEXT)

#define LEAST	    (-RUN_METRIC_MAX) /* what is below 0 is counted where the rows are read */
#define RESULTS_MAX 1000000
#define DEPTH_MAX   8 /* of elements that are looked at */

/* ---- rows ---- */

/* Texts as they stand in a results.csv; owned. repetition NULL: to be counted. */
struct row {
	char *application, *version, *machine, *taken, *repetition, *value;
	const char *direction;
	size_t at, ordinal;
};

struct reader {
	const struct foreign_options *options;
	struct foreign_result *result;
	struct row *rows; /* [n] */
	size_t n, capacity;
	char *first; /* name that stands in the file, of what failed as well; NULL: none yet */
	bool over;   /* there are more than RESULTS_MAX */
	struct assay_error *err;
};

static void row_release(struct row *row)
{
	mem_free(row->application, row->version, row->machine, row->taken, row->repetition, row->value);
}

static char *number_text(double value)
{
	return mem_string(TEXT_DOUBLE(value));
}

/* "2026-11-23T20:01:23+01:00", "2026-11-23 20:01:23" (UTC), or what text_timestamp_ms() takes. Any other text is left as it is, for the
 * reader of the rows to say so. */
static char *time_text(const char *text)
{
	struct tm tm = { .tm_year = 0 };
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	int hours = 0, minutes = 0;
	int64_t seconds;
	char sign;

	if (rest && (*rest == 'T' || *rest == ' '))
		rest = strptime(rest + 1, "%H:%M:%S", &tm);
	if (!rest)
		return mem_string(text);
	rest += *rest == '.' ? 1 + strspn(rest + 1, "0123456789") : 0;
	seconds = (int64_t)timegm(&tm);
	if ((*rest == '+' || *rest == '-') &&
	    (sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) == 3 || sscanf(rest, "%c%2d%2d", &sign, &hours, &minutes) == 3))
		seconds -= (sign == '-' ? -60 : 60) * (hours * 60 + minutes);
	else if (*rest && strcmp(rest, "Z") != 0)
		return mem_string(text);
	return mem_format("%" PRId64, seconds * 1000);
}

static char *time_of_file(const struct reader *r)
{
	return mem_format("%" PRId64, r->options->taken_ms);
}

/* How many benchmarks a file has does not hang on how many of them succeeded, nor do their names. */
static void name_seen(struct reader *r, const char *name)
{
	if (!r->first)
		r->first = mem_string(name);
	r->result->several = r->result->several || strcmp(r->first, name) != 0;
}

static void failed_add(struct reader *r, const char *name)
{
	name_seen(r, name);
	r->result->failed++;
}

/* Takes what is owned in `row`. */
static void row_add(struct reader *r, struct row row)
{
	name_seen(r, row.application);
	if (r->n == RESULTS_MAX) {
		r->over = true;
		row_release(&row);
		return;
	}
	r->rows = mem_grow(r->rows, r->n, &r->capacity, sizeof(*r->rows));
	row.at = r->n;
	r->rows[r->n++] = row;
}

ORDER_POINTERS_BY(compare_rows, struct row, BY_TEXT(application) BY_TEXT(version) BY_TEXT(machine) BY_TEXT(taken) BY_UP(at))

/* Those of one benchmark at one time are its repetitions, in their order. */
static void rows_count(struct reader *r)
{
	struct row **sorted = mem_new(r->n, sizeof(struct row *));

	for (size_t i = 0; i < r->n; i++)
		sorted[i] = &r->rows[i];
	qsort(sorted, r->n, sizeof(struct row *), compare_rows);
	for (size_t i = 0; i < r->n; i++) {
		const struct row *before = i ? sorted[i - 1] : NULL;
		bool of_one = before && strcmp(before->application, sorted[i]->application) == 0,
		     of_version = of_one && strcmp(before->version, sorted[i]->version) == 0;
		bool same = of_version && strcmp(before->machine, sorted[i]->machine) == 0 && strcmp(before->taken, sorted[i]->taken) == 0;

		r->result->versions = r->result->versions || (of_one && !of_version);
		sorted[i]->ordinal = same ? before->ordinal + 1 : 1;
	}
	free(sorted);
}

static void rows_write(struct reader *r, struct buf *out)
{
	const char *prefix = r->options->application;

	buf_text(out, "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result,version,direction\n");
	for (size_t i = 0; i < r->n; i++) {
		const struct row *row = &r->rows[i];
		char ordinal[32], *application = !prefix	      ? mem_string(row->application)
						 : r->result->several ? mem_format("%s/%s", prefix, row->application)
								      : mem_string(prefix);

		snprintf(ordinal, sizeof(ordinal), "%zu", row->ordinal);
		csv_add(out, foreign_code(r->result->tool), true);
		csv_add(out, "", false);
		csv_add(out, "", false);
		csv_add(out, row->taken, false);
		/* A benchmark of that name would be taken for the rate of a stressor; one with '@' is refused. */
		csv_add(out, strcmp(application, QUIHO_STRESSNG) == 0 ? "@" QUIHO_STRESSNG : application, false);
		csv_add(out, row->machine, false);
		csv_add(out, row->repetition ? row->repetition : ordinal, false);
		csv_add(out, "", false);
		csv_add(out, row->value, false);
		csv_add(out, row->version, false);
		csv_add(out, row->direction, false);
		buf_char(out, '\n');
		if (i == 0) {
			snprintf(r->result->application, sizeof(r->result->application), "%s", application);
			snprintf(r->result->version, sizeof(r->result->version), "%s", row->version);
		}
		free(application);
	}
	r->result->rows = r->n;
}

/* The file's machine, or the one that was given. Owned; NULL: neither. */
static char *machine_of(const struct reader *r, const char *said)
{
	const char *machine = r->options->machine ? r->options->machine : said;

	return machine && *machine ? mem_string(machine) : NULL;
}

static enum assay_status fail_no_machine(const struct reader *r)
{
	return assay_fail(r->err, ASSAY_E_USAGE, "%s does not say on which machine it was measured: --machine NAME says so",
			  r->options->name);
}

/* ---- Google Benchmark ---- */

/* The metric in seconds where it is a time, else as it is. */
static double gbench_value(struct json_reader *json, const cJSON *benchmark, const char *metric)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 } };
	double value = json_reader_number(json, benchmark, metric, LEAST, RUN_METRIC_MAX);
	const char *unit;

	if (strcmp(metric, "real_time") != 0 && strcmp(metric, "cpu_time") != 0)
		return value;
	unit = json_reader_text(json, benchmark, "time_unit");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].unit, unit) == 0)
			return value * units[i].seconds;
	json_reader_fail(json, "the unit of time '%.20s' is none of ns, us, ms and s", unit);
	return 0;
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static void gbench_add(struct reader *r, struct json_reader *json, const cJSON *benchmark, const char *machine, const char *taken)
{
	const char *metric = r->options->metric ? r->options->metric : "real_time";
	const char *name = json_reader_text(json, benchmark, json_reader_has(json, benchmark, "run_name") ? "run_name" : "name");
	double value;

	if (json_reader_has(json, benchmark, "run_type") && strcmp(json_reader_text(json, benchmark, "run_type"), "iteration") != 0)
		return; /* means and medians of those that stand here too */
	if (json_reader_has(json, benchmark, "error_occurred") && json_reader_bool(json, benchmark, "error_occurred")) {
		failed_add(r, name);
		return;
	}
	value = gbench_value(json, benchmark, metric);
	if (json->st)
		return;
	row_add(r, (struct row){ .application = mem_string(name),
				 .version = mem_string(""),
				 .machine = mem_string(machine),
				 .taken = time_text(taken),
				 .value = number_text(value),
				 .direction = ends_in(metric, "_per_second") ? "higher" : "lower" });
}

static enum assay_status gbench_read(struct reader *r, const cJSON *root)
{
	struct json_reader json = { .name = r->options->name, .err = r->err };
	const cJSON *context = json_reader_object(&json, root, "context"),
		    *benchmarks = json_reader_array(&json, root, "benchmarks", 0, RESULTS_MAX), *benchmark;
	const char *host = context && json_reader_has(&json, context, "host_name") ? json_reader_text(&json, context, "host_name") : NULL;
	const char *date = context ? json_reader_text(&json, context, "date") : "";
	char *machine = machine_of(r, host);

	if (!json.st && !machine)
		json.st = fail_no_machine(r);
	cJSON_ArrayForEach(benchmark, benchmarks)
	{
		if (!json.st && !cJSON_IsObject(benchmark))
			json_reader_fail(&json, "a benchmark is not an object");
		if (!json.st)
			gbench_add(r, &json, benchmark, machine, date);
	}
	free(machine);
	return json.st;
}

/* ---- hyperfine ---- */

static void hyperfine_add(struct reader *r, struct json_reader *json, const cJSON *command, const char *machine)
{
	const char *name = json_reader_text(json, command, "command");
	const cJSON *times = json_reader_array(json, command, "times", 0, RESULTS_MAX), *time,
		    *ends = json_reader_has(json, command, "exit_codes") ? json_reader_array(json, command, "exit_codes", 0, RESULTS_MAX)
									 : NULL,
		    *end = ends ? ends->child : NULL;

	cJSON_ArrayForEach(time, times)
	{
		if (!cJSON_IsNumber(time))
			json_reader_fail(json, "a time of '%.60s' is not a number", name);
		if (json->st)
			return;
		if (end && !(cJSON_IsNumber(end) && end->valuedouble == 0)) /* null: ended by a signal */
			failed_add(r, name);
		else
			row_add(r, (struct row){ .application = mem_string(name),
						 .version = mem_string(""),
						 .machine = mem_string(machine),
						 .taken = time_of_file(r),
						 .value = number_text(time->valuedouble),
						 .direction = "lower" });
		end = end ? end->next : NULL;
	}
}

static enum assay_status hyperfine_read(struct reader *r, const cJSON *root)
{
	struct json_reader json = { .name = r->options->name, .err = r->err };
	const cJSON *results = json_reader_array(&json, root, "results", 0, RESULTS_MAX), *command;
	char *machine = machine_of(r, NULL);

	if (!json.st && !machine)
		json.st = fail_no_machine(r);
	cJSON_ArrayForEach(command, results)
	{
		if (!json.st && !cJSON_IsObject(command))
			json_reader_fail(&json, "a result is not an object");
		if (!json.st)
			hyperfine_add(r, &json, command, machine);
	}
	free(machine);
	return json.st;
}

/* ---- CSV ---- */

enum { APPLICATION, VERSION, MACHINE, TIME, REPETITION, RESULT, DIRECTION, MEANINGS };

static const char *const meanings[MEANINGS] = { "?application", "?version", "?machine", "?time", "?repetition", "result", "?direction" };

static enum assay_status columns_read(const struct reader *r, const char *columns[MEANINGS])
{
	memcpy(columns, meanings, sizeof(meanings));
	for (size_t i = 0; i < r->options->n_columns; i++) {
		const char *word = r->options->columns[i], *equals = strchr(word, '=');
		size_t m = 0;

		while (equals && m < MEANINGS) {
			const char *meaning = meanings[m] + (*meanings[m] == '?');

			if (strlen(meaning) == (size_t)(equals - word) && strncmp(meaning, word, strlen(meaning)) == 0)
				break;
			m++;
		}
		if (!equals || m == MEANINGS || !equals[1] || equals[1] == '?')
			return assay_fail(r->err, ASSAY_E_USAGE,
					  "'%s' names no column: MEANING=COLUMN, where MEANING is application, version, machine, time, "
					  "repetition, result or direction",
					  word);
		columns[m] = equals + 1;
	}
	return ASSAY_OK;
}

static enum assay_status csv_add_row(struct reader *r, const struct csv *csv, const size_t *index)
{
	const char *said[MEANINGS];
	const char *application;
	char *machine;

	for (size_t m = 0; m < MEANINGS; m++)
		said[m] = index[m] == SIZE_MAX ? NULL : csv->fields[index[m]];
	application = said[APPLICATION] ? said[APPLICATION] : r->options->application;
	if (!application)
		return assay_fail(r->err, ASSAY_E_USAGE,
				  "%s has no column 'application': --application NAME says what was measured, or --columns "
				  "application=COLUMN in which column it stands",
				  r->options->name);
	machine = machine_of(r, said[MACHINE]);
	if (!machine)
		return fail_no_machine(r);
	row_add(r, (struct row){ .application = mem_string(application),
				 .version = mem_string(said[VERSION] ? said[VERSION] : ""),
				 .machine = machine,
				 .taken = said[TIME] ? time_text(said[TIME]) : time_of_file(r),
				 .repetition = said[REPETITION] ? mem_string(said[REPETITION]) : NULL,
				 .value = mem_string(said[RESULT]),
				 .direction = said[DIRECTION] ? said[DIRECTION] : "" });
	return ASSAY_OK;
}

static enum assay_status csv_read(struct reader *r, char *text, size_t n)
{
	const char *columns[MEANINGS];
	size_t index[MEANINGS];
	struct csv csv;
	bool more = true;
	enum assay_status st = columns_read(r, columns);

	csv_init(&csv, r->options->name, text, n);
	if (!st)
		st = csv_header(&csv, columns, MEANINGS, index, r->err);
	while (!st && !(st = csv_next(&csv, &more, r->err)) && more)
		st = csv_add_row(r, &csv, index);
	csv_release(&csv);
	return st;
}

/* ---- Phoronix Test Suite ---- */

/* What stands in the elements that are open, and were closed in the result that is. */
struct phoronix {
	struct reader *r;
	XML_Parser parser;
	char *path[DEPTH_MAX];
	size_t depth;
	struct buf text;
	struct buf identifier, title, description, scale, proportion, entry, value, raw; /* of a result */
	struct buf measured, when;							 /* of a system */
	char *application;								 /* of a result whose data have begun; else NULL */
	void *names;									 /* of all results so far, a tree; owned */
	char **systems, **times;							 /* [n_systems] */
	size_t n_systems;
	enum assay_status st;
};

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

static const char *said(const struct buf *b)
{
	return b->size > 0 ? b->bytes : "";
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Takes the name; false: a result has it already. */
static bool phoronix_name(struct phoronix *p, char *name)
{
	char *const *of = tsearch(name, &p->names, compare_names);

	ASSAY_BUG_IF(!of);
	if (*of != name)
		free(name);
	p->application = *of;
	return *of == name;
}

/* A test may measure several things under one description, as LevelDB's do operations and bytes a second: what follows the first one has
 * its unit in its name, too. */
static void phoronix_data(struct phoronix *p)
{
	const char *test = *said(&p->identifier) ? said(&p->identifier) : said(&p->title);

	if (phoronix_name(p, *said(&p->description) ? mem_format("%s/%s", test, said(&p->description)) : mem_string(test)) ||
	    phoronix_name(p, mem_format("%s (%s)", p->application, said(&p->scale))))
		return;
	p->st = assay_fail(p->r->err, ASSAY_E_FORMAT, "%s:%lu: a second result '%s': nothing tells it from the first", p->r->options->name,
			   XML_GetCurrentLineNumber(p->parser), TEXT_SHOWN(p->application));
	XML_StopParser(p->parser, XML_FALSE);
}

static void phoronix_open(void *of, const XML_Char *name, const XML_Char **attributes)
{
	struct phoronix *p = of;

	(void)attributes;
	if (p->depth < DEPTH_MAX)
		p->path[p->depth] = mem_string(name);
	p->depth++;
	buf_clear(&p->text);
	if (!p->st && !p->application && stands_at(p, "PhoronixTestSuite/Result/Data"))
		phoronix_data(p);
}

static void phoronix_text(void *of, const XML_Char *bytes, int n)
{
	struct phoronix *p = of;

	if (p->depth <= DEPTH_MAX)
		buf_add(&p->text, bytes, (size_t)n);
}

/* Of that system, else of the file. */
static char *phoronix_time(const struct phoronix *p, const char *measured)
{
	for (size_t i = 0; i < p->n_systems; i++)
		if (strcmp(p->systems[i], measured) == 0)
			return time_text(p->times[i]);
	return time_of_file(p->r);
}

/* "12.5:12.6:12.4" are a result's repetitions; without them it has one. Where several systems are said to be one machine, they are what was
 * compared on it: its kernels, compilers, settings. */
static void phoronix_entry(struct phoronix *p)
{
	const char *measured = said(&p->entry), *version = p->r->options->machine && p->n_systems > 1 ? measured : "";
	char *values = mem_string(*said(&p->raw) ? said(&p->raw) : said(&p->value)), *rest = values, *value;
	char *machine = machine_of(p->r, measured);

	if (!machine)
		p->st = fail_no_machine(p->r);
	if (!*values) /* it failed there */
		failed_add(p->r, p->application);
	while (!p->st && *values && (value = strsep(&rest, ":")))
		row_add(p->r, (struct row){ .application = mem_string(p->application),
					    .version = mem_string(version),
					    .machine = mem_string(machine),
					    .taken = phoronix_time(p, measured),
					    .value = mem_string(value),
					    .direction = strcmp(said(&p->proportion), "HIB") == 0 ? "higher" : "lower" });
	mem_free(machine, values);
	buf_clear(&p->entry);
	buf_clear(&p->value);
	buf_clear(&p->raw);
}

static void phoronix_system(struct phoronix *p)
{
	p->systems = mem_resize(p->systems, p->n_systems + 1, sizeof(char *));
	p->times = mem_resize(p->times, p->n_systems + 1, sizeof(char *));
	p->systems[p->n_systems] = mem_string(said(&p->measured));
	p->times[p->n_systems++] = mem_string(said(&p->when));
	buf_clear(&p->measured);
	buf_clear(&p->when);
}

static void phoronix_result(struct phoronix *p)
{
	buf_clear(&p->identifier);
	buf_clear(&p->title);
	buf_clear(&p->description);
	buf_clear(&p->scale);
	buf_clear(&p->proportion);
	p->application = NULL;
}

static void phoronix_close(void *of, const XML_Char *name)
{
	struct phoronix *p = of;
	const struct {
		const char *path;
		struct buf *to;
	} leaves[] = { { "PhoronixTestSuite/System/Identifier", &p->measured },
		       { "PhoronixTestSuite/System/TimeStamp", &p->when },
		       { "PhoronixTestSuite/Result/Identifier", &p->identifier },
		       { "PhoronixTestSuite/Result/Title", &p->title },
		       { "PhoronixTestSuite/Result/Description", &p->description },
		       { "PhoronixTestSuite/Result/Scale", &p->scale },
		       { "PhoronixTestSuite/Result/Proportion", &p->proportion },
		       { "PhoronixTestSuite/Result/Data/Entry/Identifier", &p->entry },
		       { "PhoronixTestSuite/Result/Data/Entry/Value", &p->value },
		       { "PhoronixTestSuite/Result/Data/Entry/RawString", &p->raw } };

	(void)name;
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		if (!stands_at(p, leaves[i].path))
			continue;
		buf_clear(leaves[i].to);
		buf_text(leaves[i].to, said(&p->text));
	}
	if (stands_at(p, "PhoronixTestSuite/Result/Data/Entry"))
		phoronix_entry(p);
	else if (stands_at(p, "PhoronixTestSuite/System"))
		phoronix_system(p);
	else if (stands_at(p, "PhoronixTestSuite/Result"))
		phoronix_result(p);
	p->depth--;
	if (p->depth < DEPTH_MAX)
		free(p->path[p->depth]);
	buf_clear(&p->text);
	if (p->st)
		XML_StopParser(p->parser, XML_FALSE);
}

static void phoronix_release(struct phoronix *p)
{
	struct buf *texts[] = { &p->text,  &p->identifier, &p->title, &p->description, &p->scale, &p->proportion,
				&p->entry, &p->value,	   &p->raw,   &p->measured,    &p->when };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		buf_release(texts[i]);
	for (size_t i = 0; i < p->depth && i < DEPTH_MAX; i++)
		free(p->path[i]);
	for (size_t i = 0; i < p->n_systems; i++)
		mem_free(p->systems[i], p->times[i]);
	mem_free(p->systems, p->times);
	tdestroy(p->names, free);
	XML_ParserFree(p->parser);
}

static enum assay_status phoronix_read(struct reader *r, const char *text, size_t n)
{
	struct phoronix p = { .r = r, .parser = XML_ParserCreate(NULL) };

	ASSAY_BUG_IF(!p.parser || n > INT32_MAX);
	XML_SetUserData(p.parser, &p);
	XML_SetElementHandler(p.parser, phoronix_open, phoronix_close);
	XML_SetCharacterDataHandler(p.parser, phoronix_text);
	if (XML_Parse(p.parser, text, (int)n, 1) == XML_STATUS_ERROR && !p.st)
		p.st = assay_fail(r->err, ASSAY_E_FORMAT, "%s:%lu: %s", r->options->name, XML_GetCurrentLineNumber(p.parser),
				  XML_ErrorString(XML_GetErrorCode(p.parser)));
	phoronix_release(&p);
	return p.st;
}

/* ---- any of them ---- */

static enum assay_status tool_of(struct reader *r, const char *text, const cJSON *root)
{
	r->result->tool = r->options->tool;
	if (r->result->tool != FOREIGN_TOOLS)
		return ASSAY_OK;
	if (cJSON_HasObjectItem(root, "benchmarks"))
		r->result->tool = FOREIGN_GBENCH;
	else if (cJSON_HasObjectItem(root, "results"))
		r->result->tool = FOREIGN_HYPERFINE;
	else if (root)
		return assay_fail(r->err, ASSAY_E_FORMAT,
				  "%s has neither 'benchmarks' (Google Benchmark) nor 'results' (hyperfine); --from says what it is",
				  r->options->name);
	else
		r->result->tool = text[strspn(text, " \t\r\n")] == '<' ? FOREIGN_PHORONIX : FOREIGN_CSV;
	return ASSAY_OK;
}

static bool is_json(const struct reader *r, const char *text)
{
	enum foreign_tool tool = r->options->tool;

	return tool == FOREIGN_GBENCH || tool == FOREIGN_HYPERFINE || (tool == FOREIGN_TOOLS && text[strspn(text, " \t\r\n")] == '{');
}

enum assay_status foreign_read(char *text, size_t n, const struct foreign_options *options, struct buf *out, struct foreign_result *result,
			       struct assay_error *err)
{
	struct reader r = { .options = options, .result = result, .err = err };
	cJSON *root = NULL;
	enum assay_status st = is_json(&r, text) ? json_parse(options->name, text, n, &root, err) : ASSAY_OK;

	*result = (struct foreign_result){ .rows = 0 };
	if (!st)
		st = tool_of(&r, text, root);
	if (!st)
		st = result->tool == FOREIGN_GBENCH	 ? gbench_read(&r, root)
		     : result->tool == FOREIGN_HYPERFINE ? hyperfine_read(&r, root)
		     : result->tool == FOREIGN_PHORONIX	 ? phoronix_read(&r, text, n)
							 : csv_read(&r, text, n);
	if (!st && r.over)
		st = assay_fail(err, ASSAY_E_LIMIT, "%s has more than %d measurements: divide it", options->name, RESULTS_MAX);
	if (!st && r.n == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "%s has no measurement%s", options->name,
				result->failed ? ": all that stand there have failed" : "");
	if (!st) {
		rows_count(&r);
		rows_write(&r, out);
	}
	mem_release_all(r.rows, r.n, row_release);
	free(r.first);
	cJSON_Delete(root);
	return st;
}
