#include "runs/running/execution.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/engine/local_command.h"

#include <inttypes.h>
#include <math.h>

#define FEATURES_BYTES_MAX ((size_t)64 << 20)
#define INPUT_LINE	   "# input "
#define OWN_LINE	   "# own "
#define COUNTED_LINE	   "# counted"

ROWS_FUNCTION(execution_outcome_code, enum execution_outcome, EXECUTION_OUTCOME_ROWS, ROWS_CODE)
ROWS_FUNCTION(execution_outcome_text, enum execution_outcome, EXECUTION_OUTCOME_ROWS, ROWS_TEXT)

void execution_release(struct execution *execution)
{
	mem_free(execution->detail, execution->out, execution->err, execution->samples, execution->run_usage);
	execution_features_release(&execution->features);
	*execution = (struct execution){ .detail = NULL };
}

/* ---- features of a run ---- */

void execution_features_release(struct execution_features *features)
{
	run_features_release(&features->known);
	run_features_release(&features->printed);
	run_features_release(&features->counted);
	*features = (struct execution_features){ .input = "" };
}

void run_features_copy(const struct run_features *from, struct run_features *to)
{
	*to = (struct run_features){ .items = mem_new(from->n, sizeof(*to->items)), .n = from->n, .capacity = from->n };
	to->files = from->files;
	to->incomplete = from->incomplete;
	for (size_t i = 0; i < from->n; i++) {
		to->items[i] = from->items[i];
		to->items[i].name = mem_string(from->items[i].name);
	}
}

void execution_features_text(const struct execution_features *f, struct buf *out)
{
	if (*f->input)
		buf_format(out, INPUT_LINE "%s\n", f->input);
	run_features_print(&f->known, out);
	if (f->printed.n) {
		buf_format(out, OWN_LINE "%s\n", TEXT_DOUBLE(f->features_command_s));
		run_features_print(&f->printed, out);
	}
	for (size_t i = 0, written = 0; i < f->counted.n; i++) {
		const struct run_feature *one = &f->counted.items[i];

		if (one->kind == FEATURE_VALUE || one->value != 0.0)
			buf_format(out, "%s%s %s\n", written++ ? "" : COUNTED_LINE "\n", TEXT_DOUBLE(one->value), one->name);
	}
}

static enum assay_status execution_features_pack(const struct execution_features *features, struct buf *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	execution_features_text(features, &text);
	if (text.size)
		st = sample_compress(text.bytes, text.size, out, err);
	buf_release(&text);
	return st;
}

/* Returns the first line from `text` on that starts with `head`; `end` if none. Sets *said to the text after `head`, *rest to the next
 * line. */
static const char *find_section(const char *text, const char *end, const char *head, const char **said, const char **rest)
{
	size_t n = strlen(head);

	for (const char *at = text; at < end; at = *rest) {
		const char *line = memchr(at, '\n', (size_t)(end - at));

		*rest = line ? line + 1 : end;
		*said = at + n;
		if ((size_t)(end - at) >= n && memcmp(at, head, n) == 0)
			return at;
	}
	*said = *rest = end;
	return end;
}

static enum assay_status read_input(const char *said, const char *rest, struct execution_features *out, struct assay_error *err)
{
	size_t n = rest > said && rest[-1] == '\n' ? (size_t)(rest - said) - 1 : (size_t)(rest - said);

	if (n == 0 || n >= sizeof(out->input) || strspn(said, "0123456789abcdef") < n)
		return assay_fail(err, ASSAY_E_FORMAT, "stored features: '# input' names no input");
	memcpy(out->input, said, n);
	out->input[n] = '\0';
	return ASSAY_OK;
}

static enum assay_status read_printed_features(const char *said, const char *rest, struct execution_features *out, struct assay_error *err)
{
	char *number = mem_bytes(said, (size_t)(rest - said));
	bool ok;

	number[strcspn(number, "\n")] = '\0';
	ok = text_parse_double(number, &out->features_command_s) && out->features_command_s >= 0.0;
	free(number);
	return ok ? ASSAY_OK : assay_fail(err, ASSAY_E_FORMAT, "stored features: '# own' without the time that it took");
}

enum assay_status execution_features_parse(const char *text, size_t n, struct execution_features *out, struct assay_error *err)
{
	const char *end = text + n, *said, *known = text, *own, *own_from, *counted, *counted_from;
	enum assay_status st = ASSAY_OK;

	*out = (struct execution_features){ .input = "" };
	if (find_section(text, end, INPUT_LINE, &said, &known) == text && n)
		st = read_input(said, known, out, err);
	else
		known = text;
	counted = find_section(known, end, COUNTED_LINE, &said, &counted_from);
	own = find_section(known, counted, OWN_LINE, &said, &own_from);
	if (!st && own < counted)
		st = read_printed_features(said, own_from, out, err);
	if (!st)
		st = run_features_text_parse(known, (size_t)(own - known), &out->known, err);
	if (!st && own < counted)
		st = run_features_text_parse(own_from, (size_t)(counted - own_from), &out->printed, err);
	if (!st && counted < end)
		st = run_features_text_parse(counted_from, (size_t)(end - counted_from), &out->counted, err);
	if (st)
		execution_features_release(out);
	return st;
}

enum assay_status execution_features_unpack(const void *packed, size_t n, struct execution_features *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = n ? sample_decompress("features of a stored run", packed, n, FEATURES_BYTES_MAX, &text, err) : ASSAY_OK;

	*out = (struct execution_features){ .input = "" };
	buf_char(&text, '\0'); /* strspn() in read_input() needs a terminator */
	if (!st)
		st = execution_features_parse(text.bytes, text.size - 1, out, err);
	buf_release(&text);
	return st;
}

/* ---- outcome of a run ---- */

/* Reads output to be stored. Of long output, keeps head and tail, and between them a line with the number of missing bytes. */
static void execution_keep_output(const struct spool *spool, enum execution_outcome outcome, char **out, size_t *n)
{
	const size_t most = outcome == EXECUTION_OK ? EXECUTION_OK_OUTPUT_BYTES_MAX : EXECUTION_OUTPUT_BYTES_MAX, half = most / 2 - 64;
	struct assay_error err;
	size_t got = 0, at;

	*n = 0;
	*out = mem_new(most + 1, 1);
	if (spool->size <= most) {
		if (spool_read(spool, 0, *out, most, &got, &err) == ASSAY_OK)
			*n = got;
	} else if (spool_read(spool, 0, *out, half, &got, &err) == ASSAY_OK) {
		at = got + (size_t)snprintf(*out + got, 64, "\n[%" PRIu64 " bytes are excluded here]\n", spool->size - 2 * half);
		if (spool_read(spool, spool->size - half, *out + at, half, &got, &err) == ASSAY_OK)
			*n = at + got;
	}
	*out = mem_resize(*out, *n + 1, 1);
}

static void execution_set_numbers(const struct helper_result *result, struct execution *e)
{
	e->usage = (struct metric_usage){ result->wall_ns, result->user_us, result->sys_us };
	e->max_rss_bytes = result->max_rss_bytes;
	e->exit_status = result->exit_status;
	e->signal = result->signal;
	e->taken_ms = result->started_ms;
}

/* Reads the metric of a run. Reads the output only for metrics that need it. */
static void execution_read_metric(const struct metric *metric, const struct spool *out, struct execution *e)
{
	bool from_output = metric->source != METRIC_WALL && metric->source != METRIC_CPU;
	char *warning = NULL, *text = NULL;
	struct assay_error err;
	size_t n = 0;
	enum assay_status st = from_output ? spool_text(out, METRIC_OUTPUT_BYTES_MAX, &text, &n, &err) : ASSAY_OK;

	if (!st)
		st = metric_read(metric, &e->usage, text ? text : "", n, &e->metric, &warning, &err);
	if (st) {
		e->outcome = EXECUTION_NO_METRIC;
		e->metric = (double)NAN;
		e->detail = mem_string(err.text);
	} else {
		e->outcome = EXECUTION_OK;
		e->detail = warning;
	}
	free(text);
}

static void execution_classify_end(const struct metric *metric, const struct helper_answer *answer, struct execution *e)
{
	const struct helper_result *result = &answer->result;

	if (result->flooded > 0) {
		e->outcome = EXECUTION_FAILED;
		e->detail = mem_format("it printed more than %u MiB on standard %s, and was ended", EXECUTION_STREAM_BYTES_MAX >> 20,
				       result->flooded == 1 ? "output" : "error");
	} else if (result->timed_out > 0) {
		e->outcome = EXECUTION_TIMEOUT;
		e->detail = mem_string("it reached its time limit and was killed");
	} else if (result->signal > 0) {
		const char *name = result->signal < 65 ? sigabbrev_np((int)result->signal) : NULL;

		e->outcome = EXECUTION_KILLED;
		e->detail = name ? mem_format("ended by SIG%s", name) : mem_format("ended by signal %" PRId64, result->signal);
	} else if (result->exit_status != 0) {
		e->outcome = EXECUTION_FAILED;
		e->detail = mem_format("exit status %" PRId64, result->exit_status);
	} else {
		execution_read_metric(metric, &answer->out, e);
	}
}

/* Adds the number of processes that a run left behind to `detail`, unless assay killed the run. */
static void execution_note_leftovers(const struct helper_result *result, struct execution *e)
{
	char *before = e->detail;

	if (result->leftovers <= 0 || result->flooded > 0 || result->timed_out > 0)
		return;
	e->detail = mem_format("%s%sit left %" PRId64 " process%s running, %s", before ? before : "", before ? "; " : "", result->leftovers,
			       result->leftovers == 1 ? "" : "es",
			       result->survivors > 0 ? "not all of which could be stopped" : "which assay stopped");
	free(before);
}

static char *execution_start_failure(const struct helper_answer *answer)
{
	return mem_format(
	    "%s%s", answer->refusal,
	    answer->refusal_code == HELPER_CODE_PERMISSION ? " (check that it is executable, and that `work` is not mounted noexec)" : "");
}

static const struct execution nothing = {
	.metric = (double)NAN, .usage = { -1, -1, -1 }, .max_rss_bytes = -1, .exit_status = -1, .signal = -1, .taken_ms = -1
};

void execution_not_started(const char *why, struct execution *out)
{
	*out = nothing;
	out->outcome = EXECUTION_NOT_STARTED;
	out->detail = mem_string(why);
}

bool execution_classify(const struct metric *metric, const struct helper_answer *answer, struct execution *out, char **fault)
{
	struct execution e = nothing;

	if (answer->refusal && answer->refusal_code != HELPER_CODE_EXECUTE && answer->refusal_code != HELPER_CODE_PERMISSION) {
		*fault = mem_string(answer->refusal);
		return false;
	}
	if (answer->refusal) {
		e.outcome = EXECUTION_NOT_STARTED;
		e.detail = execution_start_failure(answer);
	} else {
		execution_set_numbers(&answer->result, &e);
		e.run_usage = run_usage_to_json(answer);
		execution_classify_end(metric, answer, &e);
		execution_note_leftovers(&answer->result, &e);
	}
	execution_keep_output(&answer->out, e.outcome, &e.out, &e.out_bytes);
	execution_keep_output(&answer->err, e.outcome, &e.err, &e.err_bytes);
	*out = e;
	return true;
}

/* ---- storing an execution ---- */

#define KNOWN "nullif(max(?, -1), -1)" /* stores NULL for -1 */

static enum assay_status execution_check_new(struct store *store, const struct execution_context *place, const struct execution *e,
					     struct assay_error *err)
{
	const struct plan *plan = place->plan;
	const char *version = plan->versions[e->cell.version], *input = plan->inputs[e->cell.input];
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err, "SELECT 1 FROM execution WHERE plan = ? AND machine = ? AND version = ? AND input = ? AND repetition = ?",
	    "tttti", plan->id, place->machine, version, input, e->cell.repetition);

	if (store_next(store, stmt, &st, err))
		st = assay_fail(err, ASSAY_E_CONFLICT, "repetition %" PRId64 " of version '%s' on '%s' is stored already",
				e->cell.repetition, version, place->machine);
	return store_finalize(stmt, st);
}

static enum assay_status execution_insert_execution(struct store *store, const struct execution_context *place, const struct execution *e,
						    struct assay_error *err)
{
	const struct plan *plan = place->plan;
	struct buf features = BUF_INIT;
	enum assay_status st;

	st = execution_features_pack(&e->features, &features, err);
	if (!st)
		st = store_execute(
		    store, err,
		    "INSERT INTO execution (plan, machine, version, input, repetition, application, taken_ms, outcome, detail, metric, "
		    "out, err, signature, features, architecture, wall_ns, user_us, sys_us, max_rss_bytes, exit_status, signal) VALUES (?, "
		    "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, " KNOWN ", " KNOWN ", " KNOWN ", " KNOWN ", " KNOWN ", " KNOWN ")",
		    "ttttitittdbbtbtiiiiii", plan->id, place->machine, plan->versions[e->cell.version], plan->inputs[e->cell.input],
		    e->cell.repetition, place->stored_name, e->taken_ms, execution_outcome_code(e->outcome), e->detail, e->metric, e->out,
		    e->out_bytes, e->err, e->err_bytes, e->run_usage, features.bytes, features.size, place->architecture, e->usage.wall_ns,
		    e->usage.user_us, e->usage.sys_us, e->max_rss_bytes, e->exit_status, e->signal);
	buf_release(&features);
	return st;
}

/* Inserts the result for the models, with the fingerprint that applies to it. */
static enum assay_status execution_insert_result(struct store *store, const struct execution_context *place, const struct execution *e,
						 struct assay_error *err)
{
	char fingerprint[FINGERPRINT_ID_BYTES];
	enum assay_status st =
	    fingerprint_find_before(store, place->machine, place->profile, e->taken_ms, e->taken_ms - place->max_age_ms, fingerprint, err);

	return st ? st
		  : store_execute(
			store, err,
			"INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric, fingerprint, plan) "
			"VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)",
			"tttiidtt", place->stored_name, place->plan->versions[e->cell.version], place->machine, e->taken_ms,
			e->cell.repetition, e->metric, *fingerprint ? fingerprint : NULL, place->plan->id);
}

static enum assay_status execution_insert_samples(struct store *store, const struct execution_context *place, const struct execution *e,
						  struct assay_error *err)
{
	const struct plan *plan = place->plan;
	const struct sample_file_execution at = { .plan = plan->id,
						  .machine = place->machine,
						  .version = plan->versions[e->cell.version],
						  .input = plan->inputs[e->cell.input],
						  .repetition = e->cell.repetition,
						  .hardware_type = place->hardware_type ? place->hardware_type : "" };

	return sample_file_insert_rows(store, &at, e->samples, e->n_samples, err);
}

enum assay_status execution_put(struct store *store, const struct execution_context *place, const struct execution *execution,
				struct assay_error *err)
{
	bool ok = execution->outcome == EXECUTION_OK;
	enum assay_status st;

	ASSAY_BUG_IF(execution->cell.repetition < 1 || ok != isfinite(execution->metric));
	st = store_begin(store, err);
	if (!st)
		st = execution_check_new(store, place, execution, err);
	if (!st)
		st = execution_insert_execution(store, place, execution, err);
	if (!st)
		st = execution_insert_samples(store, place, execution, err);
	if (!st && !place->plan->probe && ok)
		st = execution_insert_result(store, place, execution, err);
	return store_end(store, st, err);
}

/* ---- loading executions ---- */

/* Sets stored[(input, version, repetition)] for each stored execution of the plan on `machine`. */
static enum assay_status execution_load_stored(struct store *store, const struct plan *plan, const char *machine, bool *stored,
					       struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err, "SELECT version, input, repetition FROM execution WHERE plan = ? AND machine = ?", "tt", plan->id, machine);

	while (store_next(store, stmt, &st, err)) {
		size_t version = text_index((const char *const *)plan->versions, plan->n_versions, store_text(stmt, 0));
		size_t input = text_index((const char *const *)plan->inputs, plan->n_inputs, store_text(stmt, 1));
		int64_t repetition = sqlite3_column_int64(stmt, 2);

		if (version < plan->n_versions && input < plan->n_inputs && repetition <= plan->repetitions)
			stored[(input * plan->n_versions + version) * (size_t)plan->repetitions + (size_t)(repetition - 1)] = true;
	}
	return store_finalize(stmt, st);
}

enum assay_status execution_find_done(struct store *store, const struct plan *plan, const char *machine, const struct plan_cell *cells,
				      size_t n, bool *done, struct assay_error *err)
{
	size_t pairs = plan->n_inputs * plan->n_versions, repetitions = (size_t)plan->repetitions;
	bool *stored = mem_new(pairs * repetitions, sizeof(*stored));
	size_t *known = mem_new(pairs, sizeof(*known));
	enum assay_status st = execution_load_stored(store, plan, machine, stored, err);

	for (size_t i = 0; i < pairs * repetitions; i++)
		known[i / repetitions] += stored[i];
	for (size_t i = 0; i < n; i++) {
		size_t pair = cells[i].input * plan->n_versions + cells[i].version;

		done[i] =
		    cells[i].repetition < 1 ? known[pair] == repetitions : stored[pair * repetitions + (size_t)(cells[i].repetition - 1)];
	}
	mem_free(known, stored);
	return st;
}

/* Columns of stored executions, in the order of the enumeration below. */

#define COLUMNS                                                                                                                            \
	"machine, version, input, application, plan, repetition, taken_ms, outcome, detail, metric, wall_ns, user_us, sys_us, "            \
	"max_rss_bytes, exit_status, signal, (SELECT probe IS NOT NULL FROM plan WHERE id = plan)"
enum {
	MACHINE,
	VERSION,
	INPUT,
	APPLICATION,
	PLAN,
	REPETITION,
	TAKEN,
	OUTCOME,
	DETAIL,
	METRIC,
	WALL,
	USER,
	SYS,
	RSS,
	EXIT,
	SIGNAL,
	PROBE,
	OUT,
	ERR,
	SIGNATURE
};

static int64_t execution_column_number(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(stmt, column);
}

static char *execution_column_blob(sqlite3_stmt *stmt, int column, size_t *n)
{
	const char *bytes = sqlite3_column_blob(stmt, column);

	*n = (size_t)sqlite3_column_bytes(stmt, column);
	return mem_bytes(bytes ? bytes : "", *n);
}

/* Needs no case for unknown outcomes: a newer assay would have raised the schema version, which is checked first. */
static ROWS_FINDER(execution_outcome_of, enum execution_outcome, EXECUTION_OUTCOME_ROWS, ROWS_CODE)

static void execution_read_row(sqlite3_stmt *stmt, struct execution_row *out)
{
	*out = (struct execution_row){
		.machine = mem_string(store_text(stmt, MACHINE)),
		.version = mem_string(store_text(stmt, VERSION)),
		.input = mem_string(store_text(stmt, INPUT)),
		.application = mem_string(store_text(stmt, APPLICATION)),
		.plan = mem_string(store_text(stmt, PLAN)),
		.repetition = sqlite3_column_int64(stmt, REPETITION),
		.taken_ms = sqlite3_column_int64(stmt, TAKEN),
		.outcome = execution_outcome_of(store_text(stmt, OUTCOME)),
		.detail = mem_string(store_text(stmt, DETAIL)),
		.metric = store_double(stmt, METRIC),
		.wall_ns = execution_column_number(stmt, WALL),
		.user_us = execution_column_number(stmt, USER),
		.sys_us = execution_column_number(stmt, SYS),
		.max_rss_bytes = execution_column_number(stmt, RSS),
		.exit_status = execution_column_number(stmt, EXIT),
		.signal = execution_column_number(stmt, SIGNAL),
		.instrumented = sqlite3_column_int(stmt, PROBE) != 0,
	};
	if (sqlite3_column_count(stmt) > OUT) {
		out->out = execution_column_blob(stmt, OUT, &out->out_bytes);
		out->err = execution_column_blob(stmt, ERR, &out->err_bytes);
	}
	if (sqlite3_column_count(stmt) > SIGNATURE)
		out->run_usage = mem_string(store_text(stmt, SIGNATURE));
}

/* Loads the rows that `sql` selects. Binds `a`, `b` and `c` to its parameters, up to the first NULL. */
static enum assay_status execution_load_rows(struct store *store, const char *sql, const char *a, const char *b, const char *c,
					     struct execution_rows *out, struct assay_error *err)
{
	struct execution_rows rows = { NULL, 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_query(store, &stmt, err, sql, c ? "ttt" : b ? "tt" : "t", a, b, c);

	while (store_next(store, stmt, &st, err))
		execution_read_row(stmt, mem_append_slot(rows.items, rows.n, &capacity));
	sqlite3_finalize(stmt);
	*out = rows;
	if (st)
		execution_rows_release(out);
	return st;
}

enum assay_status execution_load_plan(struct store *store, const struct plan *plan, struct execution_rows *out, struct assay_error *err)
{
	return execution_load_rows(store, "SELECT " COLUMNS " FROM execution WHERE plan = ? ORDER BY machine, input, version, repetition",
				   plan->id, NULL, NULL, out, err);
}

enum assay_status execution_load_failures(struct store *store, const char *application, const char *version, bool instrumented_too,
					  struct execution_rows *out, struct assay_error *err)
{
	char *sql = mem_format("SELECT " COLUMNS ", out, err FROM failed_run WHERE application = ? %s %s "
			       "ORDER BY machine, taken_ms, version, repetition",
			       version ? "AND version = ?" : "", instrumented_too ? "" : "AND NOT probed");
	enum assay_status st = execution_load_rows(store, sql, application, version, NULL, out, err);

	free(sql);
	return st;
}

enum assay_status execution_describe_failure(struct store *store, const char *plan, const char *application, const char *version,
					     char **out, struct assay_error *err)
{
	char line[LOCAL_LINE_BYTES];
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err,
			"SELECT machine, ifnull(detail, outcome), err, out FROM execution WHERE plan = ? AND application = ? "
			"AND version = ? AND outcome <> 'ok' ORDER BY taken_ms, machine, input, repetition LIMIT 1",
			"ttt", plan, application, version);

	*out = NULL;
	if (store_next(store, stmt, &st, err)) {
		size_t n;
		char *said[] = { execution_column_blob(stmt, 2, &n), execution_column_blob(stmt, 3, &n) };

		local_error_line(said[0], said[1], line);
		if (strcmp(line, EXECUTION_PRUNED) == 0)
			*line = '\0';
		*out =
		    mem_format("on '%s': %s%s%s%s", store_text(stmt, 0), store_text(stmt, 1), *line ? ": '" : "", line, *line ? "'" : "");
		mem_free(said[0], said[1]);
	}
	return store_finalize(stmt, st);
}

enum assay_status execution_load_results(struct store *store, const char *application, const char *version, const char *plan,
					 struct execution_rows *out, struct assay_error *err)
{
	char *sql = mem_format("SELECT " COLUMNS ", NULL, NULL, signature FROM execution WHERE outcome = 'ok' AND application = ? AND "
			       "version = ? AND plan %s ORDER BY machine, taken_ms",
			       plan ? "= ?" : "IN (SELECT id FROM plan WHERE probe IS NULL)");
	enum assay_status st = execution_load_rows(store, sql, application, version, plan, out, err);

	free(sql);
	return st;
}

static int execution_compare_time(const void *key, const void *item)
{
	const struct run *run = key;
	const struct execution_row *row = item;
	int order = strcmp(run->machine, row->machine);

	return order ? order : (run->taken_ms > row->taken_ms) - (run->taken_ms < row->taken_ms);
}

const struct execution_row *execution_find_run(const struct execution_rows *rows, const struct run *run)
{
	const struct execution_row *at = rows->n ? bsearch(run, rows->items, rows->n, sizeof(*rows->items), execution_compare_time) : NULL;

	while (at && at > rows->items && execution_compare_time(run, at - 1) == 0)
		at--;
	for (; at && at < rows->items + rows->n && execution_compare_time(run, at) == 0; at++)
		if (strcmp(at->plan, run->plan) == 0 && at->repetition == run->repetition)
			return at;
	return NULL;
}

void execution_rows_release(struct execution_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct execution_row *row = &rows->items[i];

		mem_free(row->machine, row->version, row->input, row->application, row->plan, row->detail, row->out, row->err,
			 row->run_usage);
	}
	free(rows->items);
	*rows = (struct execution_rows){ NULL, 0 };
}
