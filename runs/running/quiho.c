#include "runs/running/quiho.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/catalog/machine.h"
#include "fingerprint/catalog/types.h"
#include "runs/running/execution.h"
#include "runs/running/metric_direction.h"
#include "runs/running/run.h"

#include <ctype.h>
#include <math.h>

enum {
	URL,
	REVISION,
	USER,
	TIMESTAMP,
	BENCHMARK,
	MACHINE,
	REPETITION,
	TEST,
	RESULT,
	VERSION,
	DIRECTION,
	BATTERY,
	BATTERY_HASH,
	STRESS_NG,
	ARCHITECTURE,
	COLUMNS
};

#define REPETITION_MAX 1000000

ROWS_FUNCTION(quiho_skip_code, enum quiho_skip, QUIHO_SKIP_ROWS, ROWS_CODE)
ROWS_FUNCTION(quiho_skip_text, enum quiho_skip, QUIHO_SKIP_ROWS, ROWS_TEXT)

char *quiho_application(const char *benchmark, const char *test)
{
	if (!*test || strcmp(benchmark, test) == 0)
		return mem_string(benchmark);
	return mem_format("%s/%s", benchmark, test);
}

/* Which name of a row cannot be used, why, and the remedy; NULL: all can. What a fingerprint is of is known as a whole, or not at all.
 * free() it. */
static char *quiho_name_fault(const struct quiho_row *row)
{
	const bool known = *row->battery || *row->battery_hash || *row->stress_ng || *row->architecture;
	char *application = quiho_application(row->benchmark, row->test), *text = NULL;
	static const char *const what[] = { "name", "benchmark", "version", "battery", "battery_hash", "stress_ng", "architecture" };
	const char *const names[] = { application,	 row->benchmark, row->version,	   row->battery,
				      row->battery_hash, row->stress_ng, row->architecture };
	struct assay_error err;

	if (machine_check_id(row->machine, &err))
		text = mem_format("%s: '%s'; --machine NAME gives another", err.text, TEXT_SHOWN(row->machine));
	for (size_t i = 0; !text && i < sizeof(names) / sizeof(names[0]); i++) {
		const char *fault = *names[i] || i < 2 || (i > 2 && known) ? run_name_fault(names[i]) : NULL;

		if (fault)
			text = mem_format("the %s '%s' %s: %s", what[i], TEXT_SHOWN(names[i]), fault,
					  strcmp(row->url, "hyperfine") == 0
					      ? "change 'command' in the file, or measure with hyperfine -n NAME"
					      : "change it in the file");
	}
	free(application);
	return text;
}

bool quiho_in_future(int64_t ms)
{
	return ms > clock_real_ms() + INT64_C(86400000);
}

/* Reports whether a text is a number, but not a decimal one that is finite: "1,5", "12 ms", "0x1p3", " 7", "<1". */
static bool quiho_is_odd_number(const char *text)
{
	char *end;

	if (isinf(strtod(text, &end)))
		return false;
	while (*text && !isalnum((unsigned char)*text))
		text++;
	return isdigit((unsigned char)*text);
}

/* Reads the result of a row that has one; returns why it cannot be used, or QUIHO_SKIPS. */
static enum quiho_skip quiho_read_result(const struct quiho *quiho, const char *text, struct quiho_row *row)
{
	if (row->outcome)
		return QUIHO_SKIPS;
	if (!text_double(text, &row->value))
		return quiho_is_odd_number(text) ? QUIHO_BAD_NUMBER : QUIHO_NOT_A_NUMBER;
	if (row->value < 0)
		return QUIHO_NEGATIVE;
	if (row->value > RUN_METRIC_MAX)
		return QUIHO_TOO_LARGE;
	if (row->value == 0 && quiho->above_zero)
		return QUIHO_ZERO;
	if (row->value == 0)
		row->value = 0; /* not -0: equal values must have equal texts */
	return QUIHO_SKIPS;
}

/* The same of everything else: which run it was. */
static enum quiho_skip quiho_read_run(const struct quiho_texts *texts, struct quiho_row *row)
{
	if (texts->timestamp && !text_timestamp_ms(texts->timestamp, &row->taken_ms))
		return QUIHO_BAD_TIME;
	if (!text_int64(texts->repetition, &row->repetition) || row->repetition < 1 || row->repetition > REPETITION_MAX)
		return QUIHO_BAD_REPETITION;
	if (quiho_in_future(row->taken_ms))
		return QUIHO_BAD_TIME;
	row->direction = !*texts->direction ? QUIHO_NO_DIRECTION : strcmp(texts->direction, "higher") == 0 ? QUIHO_HIGHER : QUIHO_LOWER;
	return row->direction == QUIHO_LOWER && strcmp(texts->direction, "lower") != 0 ? QUIHO_BAD_DIRECTION : QUIHO_SKIPS;
}

char *quiho_place_text(const struct quiho_place *place)
{
	return !place->list   ? mem_format("line %zu", place->line)
	       : !place->item ? mem_format("%s[%zu]", place->list, place->line)
			      : mem_format("%s[%zu].%s[%zu]", place->list, place->line, place->item, place->at);
}

void quiho_leave_out(struct quiho *quiho, enum quiho_skip why, const struct quiho_place *place, const char *fmt, ...)
{
	char *text, *fault;

	if (quiho->skipped[why].count++)
		return;
	mem_formatted(fault, fmt);
	text = quiho_place_text(place);
	quiho->skipped[why].first_line = place->line;
	quiho->skipped[why].first = mem_format("%s%s%s", text, *fault ? ": " : "", fault);
	mem_free(text, fault);
}

void quiho_add(struct quiho *quiho, struct quiho_row row, const struct quiho_texts *texts)
{
	enum quiho_skip result = quiho_read_result(quiho, texts->result, &row), run = quiho_read_run(texts, &row);
	char *fault = quiho_name_fault(&row);

	if (fault)
		quiho_leave_out(quiho, run = QUIHO_BAD_NAME, &row.place, "%s", fault);
	else if (result == QUIHO_BAD_NUMBER)
		quiho_leave_out(quiho, run = result, &row.place, "'%s'", TEXT_SHOWN(texts->result));
	else if (result != QUIHO_SKIPS || run != QUIHO_SKIPS)
		quiho_leave_out(quiho, result != QUIHO_SKIPS ? result : run, &row.place, "%s",
				row.place.list ? TEXT_SHOWN(row.benchmark) : "");
	free(fault);
	if (run != QUIHO_SKIPS || (result != QUIHO_SKIPS && strcmp(row.benchmark, QUIHO_STRESSNG) == 0))
		return;
	if (row.outcome && !quiho->said++)
		quiho->first_said = quiho->n_failed;
	if (result != QUIHO_SKIPS) {
		row.outcome = execution_outcome_code(EXECUTION_NO_METRIC);
		row.failure = quiho_skip_text(result);
	}
	if (row.outcome)
		mem_append(quiho->failed, quiho->n_failed, &quiho->failed_capacity, row);
	else
		mem_append(quiho->rows, quiho->n, &quiho->capacity, row);
}

bool quiho_next(struct quiho *quiho, struct csv *csv)
{
	struct assay_error err;
	bool more;

	while (csv_next(csv, &more, &err)) {
		const char *fault = strstr(err.text + strlen(csv->name), ": ");

		quiho_leave_out(quiho, QUIHO_BAD_ROW, &(struct quiho_place){ .line = csv->line }, "%s", fault ? fault + 2 : err.text);
	}
	return more;
}

static void quiho_add_row(struct quiho *quiho, const struct csv *csv, const size_t *index)
{
	const char *cells[COLUMNS]; /* "" of an optional column that is not there */
	struct quiho_row row;

	for (size_t i = 0; i < COLUMNS; i++)
		cells[i] = index[i] == SIZE_MAX ? "" : csv->fields[index[i]];
	row = (struct quiho_row){ .url = cells[URL],
				  .revision = cells[REVISION],
				  .user = cells[USER],
				  .machine = cells[MACHINE],
				  .benchmark = cells[BENCHMARK],
				  .test = cells[TEST],
				  .version = cells[VERSION],
				  .battery = cells[BATTERY],
				  .battery_hash = cells[BATTERY_HASH],
				  .stress_ng = cells[STRESS_NG],
				  .architecture = cells[ARCHITECTURE],
				  .metric = "",
				  .place = { .line = csv->line } };
	quiho_add(quiho, row, &(struct quiho_texts){ cells[RESULT], cells[TIMESTAMP], cells[REPETITION], cells[DIRECTION] });
}

enum assay_status quiho_parse(const char *name, char *text, size_t n, struct quiho *out, struct assay_error *err)
{
	static const char *const columns[COLUMNS] = { "giturl",	    "commit",	  "user",	   "timestamp",	 "benchmark",
						      "machine",    "repetition", "test",	   "result",	 "?version",
						      "?direction", "?battery",	  "?battery_hash", "?stress_ng", "?architecture" };
	size_t index[COLUMNS];
	struct quiho quiho = { 0 };
	struct csv csv;
	enum assay_status st;

	csv_init(&csv, name, text, n);
	st = csv_header(&csv, columns, COLUMNS, index, err);
	while (!st && quiho_next(&quiho, &csv))
		quiho_add_row(&quiho, &csv, index);
	csv_release(&csv);
	*out = quiho;
	if (st)
		quiho_release(out);
	return st;
}

void quiho_release(struct quiho *quiho)
{
	for (int i = 0; i < QUIHO_SKIPS; i++)
		free(quiho->skipped[i].first);
	mem_free(quiho->rows, quiho->failed);
	*quiho = (struct quiho){ 0 };
}

/* ---- directions of metrics ---- */

/* Keeps a rule after all others (a rule with the same glob moves there); inside the caller's transaction. */
static enum assay_status metric_rule_put(struct store *store, const char *glob, bool higher_is_better, struct assay_error *err)
{
	return store_do(store, err, "INSERT OR REPLACE INTO metric_rule (glob, higher_is_better) VALUES (?, ?)", "ti", glob,
			(int64_t)higher_is_better);
}

/* A name as a pattern that only it matches. */
static char *direction_exact_glob(const char *name)
{
	char *glob = mem_new(2 * strlen(name) + 1, 1), *to = glob;

	for (; *name; name++) {
		if (strchr("*?[]\\", *name))
			*to++ = '\\';
		*to++ = *name;
	}
	return glob;
}

/* ---- machines.csv ---- */

enum {
	HARDWARE_MACHINE,
	HARDWARE_VENDOR,
	HARDWARE_CORES,
	HARDWARE_SOCKETS,
	HARDWARE_THREADS,
	HARDWARE_BOARD_NAME,
	HARDWARE_BOARD_SERIAL,
	HARDWARE_BOARD_UUID,
	HARDWARE_COLUMNS
};

static const char *const hardware_columns[HARDWARE_COLUMNS] = { "machine",	    "cpu",	  "cores",	  "num_cpus",
								"threads_per_core", "board_name", "board_serial", "board_uuid" };

#define COUNT_MAX 65536

/* R's NA and Python's None stand for what was not known. */
static bool quiho_is_known(const char *text)
{
	return *text && strcmp(text, "NA") != 0 && strcmp(text, "None") != 0;
}

static void quiho_set_known(char **out, const char *text)
{
	if (!quiho_is_known(text))
		return;
	free(*out);
	*out = mem_string(text);
}

/* Puts the evidence of a row into the machine of the catalog that has exactly its name: other names are other machines, even of the same
 * model. */
static enum assay_status quiho_use_machine(void *context, const char *const *cells, struct assay_error *err)
{
	const char *machine = cells[HARDWARE_MACHINE];
	struct machine_identity *identity = catalog_find(context, machine) ? &catalog_machine(context, machine)->identity : NULL;
	int64_t counts[HARDWARE_THREADS + 1];

	for (int i = HARDWARE_CORES; identity && i <= HARDWARE_THREADS; i++) {
		if (quiho_is_known(cells[i]) && (!text_int64(cells[i], &counts[i]) || counts[i] < 0 || counts[i] > COUNT_MAX))
			return assay_fail(err, ASSAY_E_FORMAT, "%s is '%s', not a number from 0 to %d", hardware_columns[i],
					  TEXT_SHOWN(cells[i]), COUNT_MAX);
	}
	if (!identity)
		return ASSAY_E_NOTFOUND;
	identity->cores_per_socket = quiho_is_known(cells[HARDWARE_CORES]) ? counts[HARDWARE_CORES] : identity->cores_per_socket;
	identity->sockets = quiho_is_known(cells[HARDWARE_SOCKETS]) ? counts[HARDWARE_SOCKETS] : identity->sockets;
	identity->threads_per_core = quiho_is_known(cells[HARDWARE_THREADS]) ? counts[HARDWARE_THREADS] : identity->threads_per_core;
	quiho_set_known(&identity->cpu_vendor, cells[HARDWARE_VENDOR]);
	quiho_set_known(&identity->board_name, cells[HARDWARE_BOARD_NAME]);
	quiho_set_known(&identity->board_serial, cells[HARDWARE_BOARD_SERIAL]);
	quiho_set_known(&identity->board_uuid, cells[HARDWARE_BOARD_UUID]);
	return ASSAY_OK;
}

/* machines.csv, from text (see csv.h); `name` is for messages. */
static enum assay_status quiho_machines_parse(const char *name, char *text, size_t n, struct catalog *catalog, struct csv_use *use,
					      struct assay_error *err)
{
	return csv_use_rows(name, text, n, hardware_columns, HARDWARE_COLUMNS, quiho_use_machine, catalog, use, err);
}

/* ---- results in the store ---- */

/* A row with the name of what it measures, in the order in which it is stored. */
struct quiho_item {
	const struct quiho_row *row;
	char *name;	     /* of the stressor or the application */
	const char *version; /* of the application; "" of a stressor */
	bool fingerprint;
};

/* Results into the store, inside the caller's transaction; as fingerprint_writer. */
enum { NEW_RESULT, KNOWN_RESULT, RESULT_KINDS };
struct quiho_run_writer {
	struct store *store;
	sqlite3_stmt *write[RESULT_KINDS]; /* each changes a row if the result is of that kind */
	size_t written[RESULT_KINDS];
};

static void quiho_run_writer_release(struct quiho_run_writer *w)
{
	sqlite3_finalize(w->write[NEW_RESULT]);
	sqlite3_finalize(w->write[KNOWN_RESULT]);
	*w = (struct quiho_run_writer){ 0 };
}

#define RUN_KEY "application = ?1 AND version = ?2 AND machine = ?3 AND taken_ms = ?4 AND repetition = ?5 AND ordinal = ?6"

static enum assay_status quiho_run_writer_init(struct store *store, struct quiho_run_writer *out, struct assay_error *err)
{
	static const char *const sql[RESULT_KINDS] = {
		"INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric, source, turns) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
		"UPDATE run SET turns = iif(?9 = 2, 2, turns) WHERE " RUN_KEY " AND metric = ?7"
	};
	enum assay_status st = ASSAY_OK;

	*out = (struct quiho_run_writer){ .store = store };
	for (int kind = 0; !st && kind < RESULT_KINDS; kind++)
		st = store_prepare(store, sql[kind], &out->write[kind], err);
	return st;
}

static enum assay_status quiho_run_write(struct quiho_run_writer *w, const struct quiho_item *item, int64_t ordinal, int64_t source,
					 struct assay_error *err)
{
	const struct quiho_row *row = item->row;
	enum assay_status st = ASSAY_OK;
	sqlite3_stmt *stmt = NULL;
	double stored = (double)NAN;
	bool found;

	for (int kind = 0; !st && kind < RESULT_KINDS; kind++) {
		store_bind(w->write[kind], "tttiiidii", item->name, item->version, row->machine, row->taken_ms, row->repetition, ordinal,
			   row->value, source, (int64_t)row->turns);
		st = store_step(w->store, w->write[kind], &found, err);
		if (!st && sqlite3_changes(w->store->db)) {
			w->written[kind]++;
			return ASSAY_OK;
		}
	}
	if (!st)
		st = store_ask(w->store, &stmt, err, "SELECT metric FROM run WHERE " RUN_KEY, "tttiii", item->name, item->version,
			       row->machine, row->taken_ms, row->repetition, ordinal);
	if (store_next(w->store, stmt, &st, err))
		stored = store_double(stmt, 0);
	if ((st = store_finish(stmt, st)))
		return st;
	return assay_fail(err, ASSAY_E_CONFLICT,
			  "the result of '%s' is %s here, but %s is stored for the same version, machine, time and repetition: "
			  "nothing was changed (give other data another name with --version)",
			  item->name, TEXT_DOUBLE(row->value), TEXT_DOUBLE(stored));
}

/* Joins imported runs that have no fingerprint yet to the imported fingerprint of the same machine, time and repetition.
 * Only rows that came from files (they have a source): a live run names its fingerprint itself. */
static enum assay_status quiho_join_runs(struct store *store, struct assay_error *err)
{
	static const char sql[] =
	    "UPDATE run SET pass = repetition, fingerprint = (SELECT f.id FROM fingerprint f WHERE f.machine = run.machine AND f.taken_ms "
	    "= run.taken_ms  AND f.origin = 'imported' AND EXISTS (SELECT 1 FROM rate r WHERE r.fingerprint = f.id AND  r.pass = "
	    "run.repetition) ORDER BY f.id LIMIT 1) WHERE fingerprint IS NULL AND source IS NOT NULL AND EXISTS (SELECT 1 FROM fingerprint "
	    "f JOIN rate r ON r.fingerprint = f.id WHERE f.machine = run.machine  AND f.taken_ms = run.taken_ms AND f.origin = 'imported' "
	    "AND r.pass = run.repetition)";
	return store_do(store, err, sql, "");
}

/* ---- import ---- */

ORDER_BY(quiho_compare_battery, struct quiho_row, BY_TEXT(battery_hash) BY_TEXT(stress_ng) BY_TEXT(architecture))

ORDER_BY(quiho_compare_session, struct quiho_item, BY_DOWN(fingerprint) BY_TEXT(row->machine) BY_UP(row->taken_ms))
ORDER_BY(quiho_compare_repetition, struct quiho_item, BY_UP(row->repetition) BY_TEXT(name) BY_TEXT(version))

static int quiho_compare_keys(const struct quiho_item *a, const struct quiho_item *b)
{
	int order = quiho_compare_session(a, b);

	if (!order && a->fingerprint)
		order = quiho_compare_battery(a->row, b->row);
	return order ? order : quiho_compare_repetition(a, b);
}

ORDER_BY(quiho_compare_source, struct quiho_row, BY_TEXT(url) BY_TEXT(revision) BY_TEXT(user) BY_TEXT(metric))

/* Values of one key stand in ascending order, so that the order of rows in the file changes nothing. */
static int quiho_compare_item(const void *x, const void *y)
{
	const struct quiho_item *a = x, *b = y;
	int order = quiho_compare_keys(a, b);

	if (!order)
		order = (a->row->value > b->row->value) - (a->row->value < b->row->value);
	return order ? order : quiho_compare_source(a->row, b->row);
}

struct quiho_import {
	struct store *store;
	const char *file;
	struct quiho_item *items; /* [n] */
	size_t n;
	char battery_hash[DIGEST_HEX_BYTES];
	struct fingerprint_writer fingerprints;
	struct quiho_run_writer runs;
	struct quiho_import_result result;
};

/* The id of a source row, made where it is missing. Rows of one source stand together, mostly: the last one is remembered. */
static enum assay_status quiho_source_id(struct quiho_import *im, const struct quiho_row *row, const struct quiho_row **last, int64_t *id,
					 struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st;

	if (*last && quiho_compare_source(*last, row) == 0)
		return ASSAY_OK;
	st = store_ask(im->store, &stmt, err,
		       "INSERT INTO source (url, revision, user, metric_name) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET url = url "
		       "RETURNING id",
		       "tttt", row->url, row->revision, row->user, row->metric);
	if (store_next(im->store, stmt, &st, err))
		*id = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	*last = row;
	return st;
}

static enum assay_status quiho_write_rate(struct quiho_import *im, const struct quiho_item *item, bool new_session, int64_t ordinal,
					  int64_t source, struct assay_error *err)
{
	const struct quiho_row *row = item->row;
	struct fingerprint_key key = { .machine = row->machine,
				       .battery = *row->battery ? row->battery : QUIHO_BATTERY,
				       .battery_hash = *row->battery ? row->battery_hash : im->battery_hash,
				       .stress_ng = *row->battery ? row->stress_ng : FINGERPRINT_UNKNOWN,
				       .architecture = *row->battery ? row->architecture : FINGERPRINT_UNKNOWN,
				       .taken_ms = row->taken_ms };
	char id[FINGERPRINT_ID_BYTES];
	enum assay_status st = ASSAY_OK;

	fingerprint_id(&key, id);
	if (new_session)
		st = fingerprint_write(&im->fingerprints, &key, "imported", source, err);
	im->result.recorded_zeros += row->value == 0;
	return st ? st : fingerprint_write_rate(&im->fingerprints, id, row->repetition, item->name, ordinal, row->value, (double)NAN, err);
}

static enum assay_status quiho_write_items(struct quiho_import *im, struct assay_error *err)
{
	const struct quiho_row *last_source = NULL;
	int64_t ordinal = 0, source = 0;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < im->n; i++) {
		const struct quiho_item *item = &im->items[i], *before = i ? &im->items[i - 1] : NULL;
		const struct quiho_row *row = item->row;
		bool new_machine = !before || strcmp(before->row->machine, row->machine) != 0;

		ordinal = before && quiho_compare_keys(before, item) == 0 ? ordinal + 1 : 0;
		st = quiho_source_id(im, row, &last_source, &source, err);
		if (!st && item->fingerprint) {
			im->result.machines += new_machine;
			st = quiho_write_rate(
			    im, item, new_machine || before->row->taken_ms != row->taken_ms || quiho_compare_battery(before->row, row),
			    ordinal, source, err);
		} else if (!st) {
			st = quiho_run_write(&im->runs, item, ordinal, source, err);
		}
		if (st) {
			char *place = row->place.list ? quiho_place_text(&row->place) : mem_format("%zu", row->place.line);

			assay_context(err, "%s:%s%s", im->file, row->place.list ? " " : "", place);
			free(place);
		}
	}
	return st;
}

/* Keeps the runs without a result: they fail their versions, as executions that failed do. */
static enum assay_status quiho_write_failures(struct quiho_import *im, const struct quiho *quiho, const char *version,
					      struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < quiho->n_failed; i++) {
		const struct quiho_row *row = &quiho->failed[i];
		char *application = quiho_application(row->benchmark, row->test);

		st = store_do(im->store, err, "INSERT INTO failure VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", "tttiitt",
			      application, *row->version ? row->version : version, row->machine, row->taken_ms, row->repetition,
			      row->outcome, row->failure);
		free(application);
	}
	return st;
}

#define DIRECTION_WORD(higher) ((higher) ? "higher" : "lower")

ORDER_POINTERS_BY(quiho_compare_names, struct quiho_item, BY_TEXT(name) BY_DOWN(row->direction) BY_UP(row->place.line))

/* Compares the metric of an application with that of its stored results, which it must not turn upside down, and keeps its direction. */
static enum assay_status quiho_write_metric(struct quiho_import *im, const struct quiho_item *item, const struct metric_rules *rules,
					    const struct plan_metrics *plans, struct assay_error *err)
{
	const struct quiho_row *row = item->row;
	bool by_rules = metric_rules_higher_is_better(rules, item->name), stored = by_rules;
	bool higher = row->direction ? row->direction == QUIHO_HIGHER : by_rules && !metric_rules_granted(item->name);
	char *glob = direction_exact_glob(item->name);
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(
	    im->store, &stmt, err,
	    "SELECT ifnull(s.metric_name, ''), ifnull(plan, '') FROM run LEFT JOIN source AS s ON s.id = run.source WHERE application = ? "
	    "ORDER BY plan IS NOT NULL, s.metric_name = '', taken_ms DESC LIMIT 1",
	    "t", item->name);

	if (store_next(im->store, stmt, &st, err)) {
		const char *metric = store_text(stmt, 0);
		const struct plan_metric *plan = plan_metrics_find(plans, store_text(stmt, 1));

		stored = plan ? plan->higher_is_better : stored;
		if (stored != higher || (*metric && *row->metric && strcmp(metric, row->metric) != 0))
			st = assay_fail(
			    err, ASSAY_E_CONFLICT,
			    "%s: the metric of '%s' is '%s' (%s is better) here, but '%s' (%s is better) in its stored results: nothing "
			    "was changed (--application NAME stores another metric apart%s)",
			    im->file, item->name, TEXT_SHOWN(row->metric), DIRECTION_WORD(higher), TEXT_SHOWN(metric),
			    DIRECTION_WORD(stored),
			    stored == higher || row->direction ? "" : "; a column 'direction' says lower or higher");
	}
	st = store_finish(stmt, st);
	if (!st && by_rules != higher)
		st = metric_rule_put(im->store, glob, higher, err);
	free(glob);
	return st;
}

/* One application has one direction. Where a file of another tool does not have it, patterns of the laboratory do. */
static enum assay_status quiho_write_directions(struct quiho_import *im, bool foreign, struct assay_error *err)
{
	const struct quiho_item **items = mem_new(im->n, sizeof(*items));
	struct metric_rules rules = { 0 };
	struct plan_metrics plans = { NULL, 0 };
	enum assay_status st = metric_rules_load(im->store, &rules, err);
	size_t n = 0;

	if (!st)
		st = plan_metrics_load(im->store, &plans, err);
	for (size_t i = 0; i < im->n; i++) {
		if (!im->items[i].fingerprint && (foreign || im->items[i].row->direction))
			items[n++] = &im->items[i];
	}
	order_sort(items, n, quiho_compare_names);
	for (size_t i = 0; !st && i < n; i++) {
		const struct quiho_row *row = items[i]->row, *before = i ? items[i - 1]->row : NULL;

		if (!before || strcmp(items[i - 1]->name, items[i]->name) != 0)
			st = quiho_write_metric(im, items[i], &rules, &plans, err);
		else if (row->direction && before->direction != row->direction)
			st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: higher is better for '%s' in line %zu, and lower in line %zu",
					im->file, row->place.line, items[i]->name, before->place.line, row->place.line);
	}
	free(items);
	plan_metrics_release(&plans);
	metric_rules_release(&rules);
	return st;
}

static enum assay_status quiho_write_store(struct quiho_import *im, const struct quiho *quiho, const struct quiho_import_options *options,
					   struct assay_error *err)
{
	enum assay_status st = fingerprint_writer_init(im->store, &im->fingerprints, err);

	if (!st)
		st = quiho_run_writer_init(im->store, &im->runs, err);
	if (!st)
		st = quiho_write_directions(im, !options->directory, err);
	if (!st)
		st = quiho_write_items(im, err);
	if (!st)
		st = quiho_write_failures(im, quiho, options->version, err);
	if (!st) /* A fingerprint keeps the source of its first row, and what was known before keeps its own. */
		st = store_do(im->store, err,
			      "DELETE FROM source WHERE id NOT IN (SELECT source FROM fingerprint WHERE source IS NOT NULL UNION SELECT "
			      "source FROM run WHERE source IS NOT NULL)",
			      "");
	if (!st && options->digest)
		st = store_do(im->store, err, "INSERT INTO imported_file VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", "tiit",
			      options->digest, (int64_t)options->bytes, options->taken_ms, options->version);
	for (size_t i = 0; !st && i < options->n_rules; i++)
		st = metric_rule_put(im->store, options->rules[i].glob, options->rules[i].higher_is_better, err);
	if (!st)
		st = quiho_join_runs(im->store, err);
	im->result.fingerprints_added = im->fingerprints.added;
	im->result.fingerprints_known = im->fingerprints.known;
	im->result.rates_added = im->fingerprints.rates_added;
	im->result.rates_known = im->fingerprints.rates_known;
	im->result.runs_added = im->runs.written[NEW_RESULT];
	im->result.runs_known = im->runs.written[KNOWN_RESULT];
	fingerprint_writer_release(&im->fingerprints);
	quiho_run_writer_release(&im->runs);
	return st;
}

static enum assay_status quiho_count_runs(struct quiho_import *im, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(
	    im->store, "SELECT count(DISTINCT application), sum(fingerprint IS NULL) FROM run WHERE source IS NOT NULL", &stmt, err);

	if (store_next(im->store, stmt, &st, err)) {
		im->result.applications = (size_t)sqlite3_column_int64(stmt, 0);
		im->result.runs_without_fingerprint = (size_t)sqlite3_column_int64(stmt, 1);
	}
	return store_finish(stmt, st);
}

/* Passes of this battery that lack a stressor which another pass of it has. */
static size_t quiho_count_incomplete(const struct fingerprint_set *set)
{
	bool *occurs = mem_new(set->n_stressors, sizeof(bool));
	size_t incomplete = 0;

	for (int counting = 0; counting < 2; counting++) {
		for (size_t i = 0; i < set->n; i++) {
			const struct fingerprint *f = &set->items[i];

			for (size_t pass = 0; strcmp(f->battery, QUIHO_BATTERY) == 0 && pass < f->n_passes; pass++) {
				bool lacks = false;

				for (size_t j = 0; j < set->n_stressors; j++) {
					bool present = !isnan(fingerprint_rate(set, f, pass, j));

					occurs[j] = occurs[j] || present;
					lacks = lacks || (occurs[j] && !present);
				}
				incomplete += counting && lacks;
			}
		}
	}
	free(occurs);
	return incomplete;
}

/* Reads a table about machines of the catalog, which must be there if it is `needed`. */
static enum assay_status quiho_read_table(const char *path, bool needed, struct catalog *catalog, struct csv_use *use,
					  enum assay_status (*parse)(const char *, char *, size_t, struct catalog *, struct csv_use *,
								     struct assay_error *),
					  struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, QUIHO_FILE_BYTES_MAX, &text, err);

	if (!st)
		st = parse(path, text.bytes, text.size, catalog, use, err);
	else if (st == ASSAY_E_NOTFOUND && !needed)
		st = ASSAY_OK;
	buf_release(&text);
	return st;
}

/* Everything that goes into the files of the catalog, in memory; nothing is written yet. */
static enum assay_status quiho_update_catalog(struct quiho_import *im, const struct quiho_import_options *options, struct catalog *catalog,
					      struct assay_error *err)
{
	struct fingerprint_set set = { 0 };
	char *machines = mem_format("%s/machines.csv", options->directory ? options->directory : "");
	enum assay_status st = fingerprint_load(im->store, &set, err);

	if (!st) {
		im->result.incomplete_passes = quiho_count_incomplete(&set);
		catalog_put(catalog, &set);
	}
	if (!st && options->directory)
		st = quiho_read_table(machines, false, catalog, &im->result.hardware, quiho_machines_parse, err);
	if (!st && options->types_file)
		st = quiho_read_table(options->types_file, true, catalog, &im->result.types, types_read_file, err);
	free(machines);
	fingerprint_set_release(&set);
	return st;
}

/* Says why no row of the file can be used. */
static enum assay_status quiho_fail_nothing_usable(const char *file, const struct quiho *quiho, struct assay_error *err)
{
	struct buf why = BUF_INIT;
	size_t rows = 0;
	enum assay_status st;

	for (int i = 0; i < QUIHO_SKIPS; i++) {
		rows += quiho->skipped[i].count;
		if (quiho->skipped[i].count)
			buf_format(&why, "; %zu: %s (first in %s)", quiho->skipped[i].count, quiho_skip_text((enum quiho_skip)i),
				   quiho->skipped[i].first);
	}
	st = rows ? assay_fail(err, ASSAY_E_NODATA, "%s: none of its %zu rows can be used%s", file, rows, why.bytes)
		  : assay_fail(err, ASSAY_E_NODATA, "%s: there are no rows after the header", file);
	buf_release(&why);
	return st;
}

static void quiho_fill_items(struct quiho_import *im, const struct quiho *quiho, const char *version)
{
	im->items = mem_new(quiho->n, sizeof(*im->items));
	im->n = quiho->n;
	for (size_t i = 0; i < quiho->n; i++) {
		const struct quiho_row *row = &quiho->rows[i];

		if (strcmp(row->benchmark, QUIHO_STRESSNG) == 0)
			im->items[i] = (struct quiho_item){ row, mem_string(*row->test ? row->test : "null"), "", true };
		else
			im->items[i] = (struct quiho_item){ row, quiho_application(row->benchmark, row->test),
							    *row->version ? row->version : version, false };
	}
	qsort(im->items, im->n, sizeof(*im->items), quiho_compare_item);
	im->result.rows = quiho->n;
	for (int i = 0; i < QUIHO_SKIPS; i++) {
		im->result.rows += quiho->skipped[i].count;
		im->result.skipped[i] = quiho->skipped[i].count;
		im->result.skipped_line[i] = quiho->skipped[i].first_line;
	}
}

enum assay_status quiho_import(struct lab *lab, const struct quiho_import_options *options, struct quiho_import_result *out,
			       struct assay_error *err)
{
	char *path = options->directory ? mem_format("%s/results.csv", options->directory) : mem_string(options->file);
	struct quiho_import im = { .store = &lab->store, .file = path };
	struct catalog catalog = { 0 };
	struct quiho own = { 0 };
	const struct quiho *quiho = options->directory ? &own : options->rows;
	struct buf text = BUF_INIT;
	enum assay_status st = options->directory ? file_read(path, QUIHO_FILE_BYTES_MAX, &text, err) : ASSAY_OK;

	/* What was run in 2017, with which arguments, is known by name only. */
	digest_sha256(QUIHO_BATTERY, strlen(QUIHO_BATTERY), im.battery_hash);
	im.battery_hash[FINGERPRINT_ID_BYTES - 1] = '\0';
	if (!st && options->directory)
		st = quiho_parse(path, text.bytes, text.size, &own, err);
	if (!st && quiho->n == 0 && quiho->said == 0)
		st = quiho_fail_nothing_usable(path, quiho, err);
	if (!st)
		st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st) {
		quiho_fill_items(&im, quiho, options->version);
		st = store_begin(im.store, err);
	}
	if (!st)
		st = quiho_write_store(&im, quiho, options, err);
	if (!st)
		st = quiho_count_runs(&im, err);
	if (!st)
		st = quiho_update_catalog(&im, options, &catalog, err);
	st = store_end(im.store, st, err);
	if (!st && catalog_save(&catalog, &im.result.catalog_written, err))
		st = assay_context(err, "the measurements are stored, but the catalog is not up to date; import again to complete it");
	*out = im.result;
	for (size_t i = 0; i < im.n; i++)
		free(im.items[i].name);
	free(im.items);
	catalog_release(&catalog);
	quiho_release(&own);
	buf_release(&text);
	free(path);
	return st;
}
