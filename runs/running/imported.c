#include "runs/running/imported.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/catalog/machine.h"
#include "runs/running/execution.h"
#include "runs/running/plan.h"
#include "runs/running/run.h"

#include <ctype.h>
#include <math.h>

#define REPETITION_MAX 1000000

ROWS_FUNCTION(imported_skip_code, enum imported_skip, IMPORTED_SKIP_ROWS, ROWS_CODE)
ROWS_FUNCTION(imported_skip_text, enum imported_skip, IMPORTED_SKIP_ROWS, ROWS_TEXT)

/* Returns the fault of the first invalid name in the row, with a remedy; NULL if all names are valid. The caller frees the result. */
static char *import_name_fault(const struct imported_row *row)
{
	static const char *const what[] = { "name", "version", "battery", "battery_hash", "stress_ng", "architecture", "type" };
	const char *const names[] = {
		row->name, row->version, row->battery, row->battery_hash, row->stress_ng, row->architecture, row->type
	};
	struct assay_error err;

	if (machine_check_id(row->machine, &err))
		return mem_format("%s: '%s'%s", err.text, TEXT_SANITIZED(row->machine), row->rate ? "" : "; --machine NAME gives another");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *fault = i == 0 || *names[i] ? run_name_fault(names[i]) : NULL;

		if (fault)
			return mem_format("the %s '%s' %s: %s", what[i], TEXT_SANITIZED(names[i]), fault,
					  strcmp(row->tool, "hyperfine") == 0
					      ? "change 'command' in the file, or measure with hyperfine -n NAME"
					      : "change it in the file");
	}
	return NULL;
}

bool imported_is_in_future(int64_t ms)
{
	return ms > clock_real_ms() + INT64_C(86400000);
}

/* Reports whether a text contains a number that is not written as a plain finite decimal, such as "1,5", "12 ms", "0x1p3", " 7" or "<1". */
static bool import_is_odd_number(const char *text)
{
	char *end;

	if (isinf(strtod(text, &end)))
		return false;
	while (*text && !isalnum((unsigned char)*text))
		text++;
	return isdigit((unsigned char)*text);
}

/* Reads the row's result, unless the run failed. Returns the reason why the result is invalid; IMPORTED_SKIPS if it is valid. */
static enum imported_skip import_read_result(const char *text, struct imported_row *row)
{
	if (row->outcome)
		return IMPORTED_SKIPS;
	if (!text_parse_double(text, &row->value))
		return import_is_odd_number(text) ? IMPORTED_BAD_NUMBER : IMPORTED_NOT_A_NUMBER;
	if (row->value < 0)
		return IMPORTED_NEGATIVE;
	if (row->value > RUN_METRIC_MAX)
		return IMPORTED_TOO_LARGE;
	if (row->value == 0 && !row->rate)
		return IMPORTED_ZERO;
	if (row->value == 0)
		row->value = 0; /* replaces -0, because equal values must have equal texts */
	return IMPORTED_SKIPS;
}

/* Reads time, repetition and direction. Returns the reason why one of them is invalid; IMPORTED_SKIPS if all are valid. */
static enum imported_skip import_read_run(const struct imported_texts *texts, struct imported_row *row)
{
	if (texts->timestamp && !text_parse_time_ms(texts->timestamp, &row->taken_ms))
		return IMPORTED_BAD_TIME;
	if (!text_parse_int64(texts->repetition, &row->repetition) || row->repetition < 1 || row->repetition > REPETITION_MAX)
		return IMPORTED_BAD_REPETITION;
	if (imported_is_in_future(row->taken_ms))
		return IMPORTED_BAD_TIME;
	row->direction = !*texts->direction			   ? IMPORTED_NO_DIRECTION
			 : strcmp(texts->direction, "higher") == 0 ? IMPORTED_HIGHER
								   : IMPORTED_LOWER;
	return row->direction == IMPORTED_LOWER && strcmp(texts->direction, "lower") != 0 ? IMPORTED_BAD_DIRECTION : IMPORTED_SKIPS;
}

char *imported_place_text(const struct imported_place *place)
{
	return !place->list   ? mem_format("line %zu", place->line)
	       : !place->item ? mem_format("%s[%zu]", place->list, place->line)
			      : mem_format("%s[%zu].%s[%zu]", place->list, place->line, place->item, place->at);
}

void imported_exclude(struct imported *imported, enum imported_skip why, const struct imported_place *place, const char *fmt, ...)
{
	char *text, *fault;

	if (imported->skipped[why].count++)
		return;
	mem_format_va(fault, fmt);
	text = imported_place_text(place);
	imported->skipped[why].first = mem_format("%s%s%s", text, *fault ? ": " : "", fault);
	mem_free(text, fault);
}

void imported_add(struct imported *imported, struct imported_row row, const struct imported_texts *texts)
{
	enum imported_skip result = import_read_result(texts->result, &row), run = import_read_run(texts, &row);
	char *fault = import_name_fault(&row);

	if (fault)
		imported_exclude(imported, run = IMPORTED_BAD_NAME, &row.place, "%s", fault);
	else if (result == IMPORTED_BAD_NUMBER)
		imported_exclude(imported, run = result, &row.place, "'%s'", TEXT_SANITIZED(texts->result));
	else if (result != IMPORTED_SKIPS || run != IMPORTED_SKIPS)
		imported_exclude(imported, result != IMPORTED_SKIPS ? result : run, &row.place, "%s",
				 row.place.list ? TEXT_SANITIZED(row.name) : "");
	free(fault);
	/* A cost of 0 is excluded, because it has no ratio, but it is no failure: the run may be good. */
	if (run != IMPORTED_SKIPS || (result != IMPORTED_SKIPS && row.rate) ||
	    (result == IMPORTED_ZERO && !row.outcome && row.direction != IMPORTED_HIGHER))
		return;
	if (row.outcome && !imported->n_stated_failures++)
		imported->first_stated = imported->n_failed;
	if (result != IMPORTED_SKIPS) {
		row.outcome = execution_outcome_code(EXECUTION_NO_METRIC);
		row.failure = imported_skip_text(result);
	}
	if (row.outcome)
		mem_append(imported->failed, imported->n_failed, &imported->failed_capacity, row);
	else
		mem_append(imported->rows, imported->n, &imported->capacity, row);
}

bool imported_read_row(struct imported *imported, struct csv *csv)
{
	struct assay_error err;
	bool more;

	while (csv_read_row(csv, &more, &err)) {
		const char *fault = strstr(err.text + strlen(csv->name), ": ");

		imported_exclude(imported, IMPORTED_BAD_ROW, &(struct imported_place){ .line = csv->line }, "%s",
				 fault ? fault + 2 : err.text);
	}
	return more;
}

void imported_release(struct imported *imported)
{
	for (int i = 0; i < IMPORTED_SKIPS; i++)
		free(imported->skipped[i].first);
	mem_free(imported->rows, imported->failed);
	*imported = (struct imported){ 0 };
}

enum {
	MACHINE,
	TIME,
	STRESSOR,
	RATE,
	REPETITION,
	TYPE,
	BATTERY,
	BATTERY_HASH,
	STRESS_NG,
	ARCHITECTURE,
	COMPLETE,
	COLUMNS,
	ALL_COLUMNS = COLUMNS + 5
};

/* Refuses columns without a meaning, because they may distinguish rates. Ignores the additional columns of 'result export'. */
static enum assay_status import_check_columns(const struct csv *csv, const size_t index[COLUMNS], struct assay_error *err)
{
	static const char *const ignored[] = { "fingerprint", "origin", "profile", "ordinal", "real_rate" };

	for (size_t i = 0, k; i < csv->n_fields; i++) {
		for (k = 0; k < COLUMNS && index[k] != i;)
			k++;
		if (k == COLUMNS && !text_is_among(ignored, sizeof(ignored) / sizeof(ignored[0]), csv->fields[i]))
			return assay_fail(err, ASSAY_E_USAGE,
					  "%s:%zu: the column '%s' has no meaning: make its values part of 'stressor', or remove it",
					  csv->name, csv->line, TEXT_SANITIZED(csv->fields[i]));
	}
	return ASSAY_OK;
}

enum assay_status imported_read_machines(const char *name, char *text, size_t n, struct imported *out, struct assay_error *err)
{
	static const char *const columns[COLUMNS] = { "machine",  "time",	   "stressor",	 "rate",	  "?repetition", "?type",
						      "?battery", "?battery_hash", "?stress_ng", "?architecture", "?complete" };
	static const char *const defaults[COLUMNS] = { "", "", "", "", "1", "", IMPORTED_NAME, "", FINGERPRINT_UNKNOWN, FINGERPRINT_UNKNOWN,
						       "1" };
	size_t index[COLUMNS];
	struct csv csv;
	enum assay_status st;

	*out = (struct imported){ 0 };
	csv_init(&csv, name, text, n);
	st = csv_read_header(&csv, columns, COLUMNS, index, err);
	if (!st)
		st = import_check_columns(&csv, index, err);
	while (!st && imported_read_row(out, &csv)) {
		const struct imported_place place = { .line = csv.line };
		const char *cells[COLUMNS];

		for (size_t i = 0; i < COLUMNS; i++)
			cells[i] =
			    index[i] == SIZE_MAX || (*columns[i] == '?' && !*csv.fields[index[i]]) ? defaults[i] : csv.fields[index[i]];
		if (strcmp(cells[COMPLETE], "0") == 0)
			imported_exclude(out, IMPORTED_INTERRUPTED, &place, "%s", "");
		else
			imported_add(out,
				     (struct imported_row){ .tool = "machines",
							    .rate = true,
							    .machine = cells[MACHINE],
							    .name = cells[STRESSOR],
							    .version = "",
							    .metric = "",
							    .battery = cells[BATTERY],
							    .battery_hash = cells[BATTERY_HASH],
							    .stress_ng = cells[STRESS_NG],
							    .architecture = cells[ARCHITECTURE],
							    .type = cells[TYPE],
							    .place = place },
				     &(struct imported_texts){ cells[RATE], cells[TIME], cells[REPETITION], "" });
	}
	csv_release(&csv);
	return st;
}

/* ---- storing results ---- */

/* Writer of results, which works within the caller's transaction. */
enum { NEW_RESULT, KNOWN_RESULT, RESULT_KINDS };
struct import_run_writer {
	struct store *store;
	sqlite3_stmt *write[RESULT_KINDS]; /* statements, each of which changes a row only if the result is of its kind */
	size_t written[RESULT_KINDS];
};

static void import_run_writer_release(struct import_run_writer *w)
{
	sqlite3_finalize(w->write[NEW_RESULT]);
	sqlite3_finalize(w->write[KNOWN_RESULT]);
	*w = (struct import_run_writer){ 0 };
}

#define RUN_KEY "application = ?1 AND version = ?2 AND machine = ?3 AND taken_ms = ?4 AND repetition = ?5 AND ordinal = ?6"

static enum assay_status import_run_writer_init(struct store *store, struct import_run_writer *out, struct assay_error *err)
{
	static const char *const sql[RESULT_KINDS] = {
		"INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric, metric_name, turns) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
		"UPDATE run SET turns = iif(?9 = 2, 2, turns) WHERE " RUN_KEY " AND metric = ?7"
	};
	enum assay_status st = ASSAY_OK;

	*out = (struct import_run_writer){ .store = store };
	for (int kind = 0; !st && kind < RESULT_KINDS; kind++)
		st = store_prepare(store, sql[kind], &out->write[kind], err);
	return st;
}

static enum assay_status import_run_write(struct import_run_writer *w, const struct imported_row *row, int64_t ordinal,
					  struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	sqlite3_stmt *stmt = NULL;
	double stored = (double)NAN;
	bool found;

	for (int kind = 0; !st && kind < RESULT_KINDS; kind++) {
		store_bind(w->write[kind], "tttiiidti", row->name, row->version, row->machine, row->taken_ms, row->repetition, ordinal,
			   row->value, row->metric, (int64_t)row->turns);
		st = store_step(w->store, w->write[kind], &found, err);
		if (!st && sqlite3_changes(w->store->db)) {
			w->written[kind]++;
			return ASSAY_OK;
		}
	}
	if (!st)
		st = store_query(w->store, &stmt, err, "SELECT metric FROM run WHERE " RUN_KEY, "tttiii", row->name, row->version,
				 row->machine, row->taken_ms, row->repetition, ordinal);
	if (store_next(w->store, stmt, &st, err))
		stored = store_double(stmt, 0);
	if ((st = store_finalize(stmt, st)))
		return st;
	return assay_fail(err, ASSAY_E_CONFLICT,
			  "the result of '%s' is %s here, but %s is stored for the same version, machine, time and repetition: "
			  "nothing was changed (give other data another name with --version)",
			  row->name, TEXT_DOUBLE(row->value), TEXT_DOUBLE(stored));
}

/* Connects imported runs that have no fingerprint with the imported fingerprint of the same machine, time and repetition. A run without a
 * plan is imported; other runs got their fingerprint when they were stored. */
static enum assay_status import_join_runs(struct store *store, struct assay_error *err)
{
	static const char sql[] =
	    "UPDATE run SET pass = repetition, fingerprint = (SELECT f.id FROM fingerprint f WHERE f.machine = run.machine AND f.taken_ms "
	    "= run.taken_ms  AND f.origin = 'imported' AND EXISTS (SELECT 1 FROM rate r WHERE r.fingerprint = f.id AND  r.pass = "
	    "run.repetition) ORDER BY f.id LIMIT 1) WHERE fingerprint IS NULL AND plan IS NULL AND EXISTS (SELECT 1 FROM fingerprint "
	    "f JOIN rate r ON r.fingerprint = f.id WHERE f.machine = run.machine  AND f.taken_ms = run.taken_ms AND f.origin = 'imported' "
	    "AND r.pass = run.repetition)";
	return store_execute(store, err, sql, "");
}

/* ---- storing all rows of an import ---- */

ORDER_BY(import_compare_session, struct imported_row,
	 BY_DESC(rate) BY_TEXT(machine) BY_ASC(taken_ms) BY_TEXT(battery) BY_TEXT(battery_hash) BY_TEXT(stress_ng) BY_TEXT(architecture))
ORDER_BY(import_compare_repetition, struct imported_row, BY_ASC(repetition) BY_TEXT(name) BY_TEXT(version))

static int import_compare_keys(const struct imported_row *a, const struct imported_row *b)
{
	int order = import_compare_session(a, b);

	return order ? order : import_compare_repetition(a, b);
}

/* Compares rows, at last by value, so that the order of equal keys in the file has no effect. */
static int import_compare_rows(const void *x, const void *y)
{
	const struct imported_row *a = x, *b = y;
	int order = import_compare_keys(a, b);

	return order ? order : (a->value > b->value) - (a->value < b->value);
}

struct import_state {
	struct store *store;
	const char *file;
	struct imported_row *rows; /* [n], in the order in which they are stored; each result has a version */
	size_t n;
	struct fingerprint_writer fingerprints;
	struct import_run_writer runs;
	struct imported_result result;
};

static enum assay_status import_write_rate(struct import_state *im, const struct imported_row *row, bool new_session, int64_t ordinal,
					   struct assay_error *err)
{
	char id[FINGERPRINT_ID_BYTES], hash[DIGEST_ID_BYTES];
	struct fingerprint_key key = { .machine = row->machine,
				       .battery = row->battery,
				       .battery_hash = row->battery_hash,
				       .stress_ng = row->stress_ng,
				       .architecture = row->architecture,
				       .taken_ms = row->taken_ms };
	enum assay_status st = ASSAY_OK;

	/* If the file has no hash of the battery, its name identifies it. */
	if (!*row->battery_hash) {
		digest_id(row->battery, strlen(row->battery), hash);
		key.battery_hash = hash;
	}
	fingerprint_id(&key, id);
	if (new_session)
		st = fingerprint_write(&im->fingerprints, &key, "imported", err);
	im->result.n_zero_rates += row->value == 0;
	return st ? st : fingerprint_write_rate(&im->fingerprints, id, row->repetition, row->name, ordinal, row->value, (double)NAN, err);
}

static enum assay_status import_write_rows(struct import_state *im, struct assay_error *err)
{
	int64_t ordinal = 0;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < im->n; i++) {
		const struct imported_row *row = &im->rows[i], *before = i ? row - 1 : NULL;
		bool new_session = !before || import_compare_session(before, row);

		ordinal = before && import_compare_keys(before, row) == 0 ? ordinal + 1 : 0;
		if (row->rate) {
			im->result.machines += !before || strcmp(before->machine, row->machine) != 0;
			st = !new_session && strcmp(before->type, row->type) != 0
				 ? assay_fail(err, ASSAY_E_FORMAT, "the hardware type is '%s' here, but '%s' in line %zu", row->type,
					      before->type, before->place.line)
				 : import_write_rate(im, row, new_session, ordinal, err);
		} else {
			st = import_run_write(&im->runs, row, ordinal, err);
		}
		if (st) {
			char *place = row->place.list ? imported_place_text(&row->place) : mem_format("%zu", row->place.line);

			assay_add_context(err, "%s:%s%s", im->file, row->place.list ? " " : "", place);
			free(place);
		}
	}
	return st;
}

ORDER_POINTERS_BY(import_compare_failures, struct imported_row,
		  BY_TEXT(name) BY_TEXT(version) BY_TEXT(machine) BY_ASC(taken_ms) BY_ASC(repetition) BY_ASC(place.line) BY_ASC(place.at))

static bool is_same_run(const struct imported_row *a, const struct imported_row *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->version, b->version) == 0 && strcmp(a->machine, b->machine) == 0 &&
	       a->taken_ms == b->taken_ms && a->repetition == b->repetition;
}

/* Stores runs without a result. Like failed executions, each counts as a failure of its version, even if repetition numbers are equal. */
static enum assay_status import_write_failures(struct import_state *im, const struct imported *imported, const char *version,
					       struct assay_error *err)
{
	const struct imported_row **rows = mem_new(imported->n_failed, sizeof(*rows));
	enum assay_status st = ASSAY_OK;
	int64_t ordinal = 0;

	for (size_t i = 0; i < imported->n_failed; i++)
		rows[i] = &imported->failed[i];
	order_sort(rows, imported->n_failed, import_compare_failures);
	for (size_t i = 0; !st && i < imported->n_failed; i++) {
		const struct imported_row *row = rows[i];

		ordinal = i && is_same_run(rows[i - 1], row) ? ordinal + 1 : 0;
		st = store_execute(im->store, err, "INSERT INTO failure VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", "tttiiitt",
				   row->name, *row->version ? row->version : version, row->machine, row->taken_ms, row->repetition, ordinal,
				   row->outcome, row->failure);
	}
	free(rows);
	return st;
}

#define DIRECTION_WORD(higher) ((higher) ? "higher" : "lower")

ORDER_POINTERS_BY(import_compare_names, struct imported_row, BY_TEXT(name) BY_DESC(direction) BY_ASC(place.line))

/* Checks that metric and direction of an application agree with its stored results. Stores the direction. */
static enum assay_status import_write_metric(struct import_state *im, const struct imported_row *row, const struct plan_metrics *plans,
					     struct assay_error *err)
{
	bool known = false, stored, higher;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = run_imported_direction(im->store, row->name, &known, err);

	stored = known;
	im->result.assumed_lower += !row->direction && !known;
	higher = row->direction ? row->direction == IMPORTED_HIGHER : known;
	if (!st)
		st = store_query(
		    im->store, &stmt, err,
		    "SELECT ifnull(metric_name, ''), ifnull(plan, '') FROM run WHERE application = ? ORDER BY plan IS NOT NULL, "
		    "metric_name = '', taken_ms DESC LIMIT 1",
		    "t", row->name);
	if (store_next(im->store, stmt, &st, err)) {
		const char *metric = store_text(stmt, 0);
		const struct plan_metric *plan = plan_metrics_find(plans, store_text(stmt, 1));

		stored = plan ? plan->higher_is_better : stored;
		if (stored != higher || (*metric && *row->metric && strcmp(metric, row->metric) != 0))
			st = assay_fail(
			    err, ASSAY_E_CONFLICT,
			    "%s: the metric of '%s' is '%s' (%s is better) here, but '%s' (%s is better) in its stored results: nothing "
			    "was changed (--application NAME stores another metric apart%s)",
			    im->file, row->name, TEXT_SANITIZED(row->metric), DIRECTION_WORD(higher), TEXT_SANITIZED(metric),
			    DIRECTION_WORD(stored),
			    stored == higher || row->direction ? "" : "; a column 'direction' says lower or higher");
	}
	st = store_finalize(stmt, st);
	return st || known == higher ? st
				     : store_execute(im->store, err, "INSERT OR REPLACE INTO metric_direction VALUES (?, ?)", "ti",
						     row->name, (int64_t)higher);
}

/* Checks that each application has one direction. If the file gives none, the stored results determine it. */
static enum assay_status import_write_directions(struct import_state *im, struct assay_error *err)
{
	const struct imported_row **rows = mem_new(im->n, sizeof(*rows));
	struct plan_metrics plans = { NULL, 0 };
	enum assay_status st = plan_metrics_load(im->store, &plans, err);
	size_t n = 0;

	for (size_t i = 0; i < im->n; i++) {
		if (!im->rows[i].rate)
			rows[n++] = &im->rows[i];
	}
	order_sort(rows, n, import_compare_names);
	for (size_t i = 0; !st && i < n; i++) {
		const struct imported_row *row = rows[i], *before = i ? rows[i - 1] : NULL;

		if (!before || strcmp(before->name, row->name) != 0)
			st = import_write_metric(im, row, &plans, err);
		else if (row->direction && before->direction != row->direction)
			st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: higher is better for '%s' in line %zu, and lower in line %zu",
					im->file, row->place.line, row->name, before->place.line, row->place.line);
	}
	free(rows);
	plan_metrics_release(&plans);
	return st;
}

static enum assay_status import_write_store(struct import_state *im, const struct imported *imported,
					    const struct imported_options *options, struct assay_error *err)
{
	enum assay_status st = fingerprint_writer_init(im->store, &im->fingerprints, err);

	if (!st)
		st = import_run_writer_init(im->store, &im->runs, err);
	if (!st)
		st = import_write_directions(im, err);
	if (!st)
		st = import_write_rows(im, err);
	if (!st)
		st = import_write_failures(im, imported, options->version, err);
	if (!st && options->digest)
		st = store_execute(im->store, err, "INSERT INTO imported_file VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", "tiit",
				   options->digest, (int64_t)options->bytes, options->taken_ms, options->version);
	if (!st)
		st = import_join_runs(im->store, err);
	im->result.fingerprints_added = im->fingerprints.added;
	im->result.fingerprints_known = im->fingerprints.known;
	im->result.rates_added = im->fingerprints.rates_added;
	im->result.rates_known = im->fingerprints.rates_known;
	im->result.runs_added = im->runs.written[NEW_RESULT];
	im->result.runs_known = im->runs.written[KNOWN_RESULT];
	fingerprint_writer_release(&im->fingerprints);
	import_run_writer_release(&im->runs);
	return st;
}

/* Sets the hardware types that rows give to fingerprints of the catalog. */
static void import_give_types(const struct import_state *im, struct catalog *catalog)
{
	const char *by = text_file_name(im->file);

	if (!text_is_utf8(by, strlen(by)))
		by = "a file of machines"; /* file names may have any bytes, but JSON must be UTF-8 */
	for (size_t i = 0; i < im->n; i++) {
		const struct imported_row *row = &im->rows[i];
		struct machine *machine = row->rate && *row->type ? catalog_ensure_machine(catalog, row->machine) : NULL;

		for (size_t k = 0; machine && k < machine->n_fingerprints; k++) {
			struct machine_fingerprint *f = &machine->fingerprints[k];

			if (f->taken_ms != row->taken_ms || (f->type && strcmp(f->type, row->type) == 0))
				continue;
			mem_free(f->type, f->type_given_by);
			f->type = mem_string(row->type);
			f->type_given_by = mem_string(by);
		}
	}
}

/* Adds all fingerprints of the store to the catalog in memory. Counts the imported runs without a fingerprint. */
static enum assay_status import_update_catalog(struct import_state *im, struct catalog *catalog, struct assay_error *err)
{
	struct fingerprint_set set = { 0 };
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = fingerprint_load(im->store, &set, err);

	if (!st) {
		catalog_put(catalog, &set);
		import_give_types(im, catalog);
	}
	fingerprint_set_release(&set);
	if (!st)
		st = store_prepare(im->store, "SELECT count(*) FROM run WHERE plan IS NULL AND fingerprint IS NULL", &stmt, err);
	if (store_next(im->store, stmt, &st, err))
		im->result.runs_without_fingerprint = (size_t)sqlite3_column_int64(stmt, 0);
	return store_finalize(stmt, st);
}

/* Fails with the reasons why no row of the file can be used. */
static enum assay_status import_fail_nothing_usable(const char *file, const struct imported *imported, struct assay_error *err)
{
	struct buf why = BUF_INIT;
	size_t rows = 0;
	enum assay_status st;

	for (int i = 0; i < IMPORTED_SKIPS; i++) {
		rows += imported->skipped[i].count;
		if (imported->skipped[i].count)
			buf_format(&why, "; %zu: %s (first in %s)", imported->skipped[i].count, imported_skip_text((enum imported_skip)i),
				   imported->skipped[i].first);
	}
	st = rows ? assay_fail(err, ASSAY_E_NODATA, "%s: none of its %zu rows can be used%s", file, rows, why.bytes)
		  : assay_fail(err, ASSAY_E_NODATA, "%s: there are no rows after the header", file);
	buf_release(&why);
	return st;
}

enum assay_status imported_store(struct lab *lab, const struct imported *imported, const struct imported_options *options,
				 struct imported_result *out, struct assay_error *err)
{
	struct import_state im = { .store = &lab->store, .file = options->file, .n = imported->n };
	struct catalog catalog = { 0 };
	enum assay_status st = catalog_load(lab->machines, NULL, &catalog, err);

	if (imported->n == 0 && imported->n_stated_failures == 0)
		st = import_fail_nothing_usable(options->file, imported, err);
	im.rows = mem_new(im.n, sizeof(*im.rows));
	for (size_t i = 0; i < im.n; i++) {
		im.rows[i] = imported->rows[i];
		if (!im.rows[i].rate && !*im.rows[i].version)
			im.rows[i].version = options->version;
	}
	qsort(im.rows, im.n, sizeof(*im.rows), import_compare_rows);
	if (!st)
		st = store_begin(im.store, err);
	if (!st) {
		st = import_write_store(&im, imported, options, err);
		if (!st)
			st = import_update_catalog(&im, &catalog, err);
		st = store_end(im.store, st, err);
	}
	if (!st && catalog_save(&catalog, &im.result.catalog_written, err))
		st = assay_add_context(err, "the measurements are stored, but the catalog is not up to date; import again to complete it");
	*out = im.result;
	free(im.rows);
	catalog_release(&catalog);
	return st;
}
