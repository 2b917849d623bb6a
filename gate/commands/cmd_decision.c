/* assay explain, verify: about decisions that were kept. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/comparison/calibration.h"
#include "gate/nightly/judge.h"
#include "gate/nightly/night_answer.h"
#include "gate/render/decided.h"
#include "runs/running/artefact.h"

#include <math.h>

struct arguments {
	const char *id;
};

static const struct cli_option words[] = { CLI_WORD("DECISION", struct arguments, id), CLI_END };

/* ---- explain ---- */

static size_t left_out_of(const cJSON *document)
{
	const cJSON *run;
	size_t n = 0;

	cJSON_ArrayForEach(run, json_get(document, "disturbed")) n += cJSON_IsTrue(json_get(run, "left_out")) ? 1 : 0;
	return n;
}

/* On whom the decision rests, and what was left out. */
static void explain_runs(const cJSON *document, struct document *d)
{
	const cJSON *machines = json_get(document, "machines"), *confirmed = json_get(document, "confirmed"),
		    *repeated = json_get(document, "repeated"), *fresh = json_get(confirmed, "fresh"),
		    *control = json_get(confirmed, "control");
	const char *outcome = json_get_text(fresh, "outcome");
	size_t left_out = left_out_of(document);

	if (cJSON_IsNumber(machines))
		doc_line(d, "It rests on runs of both versions, in turn, on %.0f machine%s.", machines->valuedouble,
			 text_plural((size_t)machines->valuedouble));
	if (left_out)
		doc_line(d, "%zu run%s disturbed by what else the machines did, and left out.", left_out,
			 left_out == 1 ? " was" : "s were");
	if (repeated)
		doc_line(d, "%.0f run%s repeated at once, because the machine was busy with something else.", repeated->valuedouble,
			 repeated->valuedouble > 1 ? "s were" : " was");
	if (fresh)
		doc_line(d, "Fresh runs were made to confirm it: %s%s.",
			 strcmp(outcome, "seen") == 0	     ? "it was seen again"
			 : strcmp(outcome, "disturbed") == 0 ? "their environment slowed them"
							     : "it was not seen again",
			 strcmp(json_get_text(control, "outcome"), "moved") == 0 ? ", but the baseline beside itself moved as well" : "");
}

/* The path of a build's log in what was said of a build that failed; NULL: there is none. free() it. */
static char *log_in(const cJSON *document)
{
	const cJSON *reason;

	cJSON_ArrayForEach(reason, json_get(document, "reasons"))
	{
		const char *at = strstr(json_get_text(reason, "text"), VARIANT_LOG), *path = at ? at + strlen(VARIANT_LOG) : NULL;

		if (path && strchr(path, '\''))
			return mem_bytes(path, (size_t)(strchr(path, '\'') - path));
	}
	return NULL;
}

/* Of what was not measured, although no run failed: the log of its build, or what a run would do. */
static char *next_of_unmeasured(struct store *store, const struct night_decision *decision, const cJSON *document)
{
	struct night_comparisons all = { NULL, 0 };
	struct assay_error ignored; /* then there is less to say */
	char *log = log_in(document), *command = log ? mem_format("'less %s'", log) : NULL;

	(void)night_comparisons_load(store, decision->night, &all, &ignored);
	for (size_t i = 0; !command && i < all.n; i++) {
		const struct night_comparison *c = &all.items[i];

		if (c->number == decision->number)
			command = text_command((const char *const[]){ "run", c->manifest, "--versions", c->candidate, "--dry-run",
								      *c->input ? "--inputs" : NULL, c->input, NULL });
	}
	if (!command)
		command = text_command((const char *const[]){ "run", decision->application, "--dry-run", NULL });
	night_comparisons_release(&all);
	free(log);
	return command;
}

/* What to do next, as a command that can be pasted. */
static char *next_of(struct store *store, const struct night_decision *decision, const cJSON *document)
{
	char *a = mem_format("%s@%s", decision->application, decision->baseline),
	     *b = mem_format("%s@%s", decision->application, decision->candidate), *command;

	switch (decision->decision) {
	case DECISION_REGRESSION:
		command = *decision->night ? text_command((const char *const[]){ "nightly", "pages", decision->night, "-o", "pages", NULL })
					   : text_command((const char *const[]){ "report", a, b, "-o", "report.html", NULL });
		break;
	case DECISION_INCONCLUSIVE:
	case DECISION_ENVIRONMENT:
		command = text_command((const char *const[]){ "gate", a, b, "--run", "--budget", "20m", NULL });
		break;
	case DECISION_NOTHING_MEASURED:
		command = next_of_unmeasured(store, decision, document);
		break;
	default:
		command = text_command((const char *const[]){ "history", decision->application, NULL });
	}
	mem_free(a, b);
	return command;
}

static void explain_reasons(const cJSON *document, struct document *d)
{
	const cJSON *reason;

	doc_list(d, "reasons");
	cJSON_ArrayForEach(reason, json_get(document, "reasons"))
	    doc_reason(d, json_get_text(reason, "code"), json_get_text(reason, "text"));
	doc_end(d);
}

static void explain_calibration(const cJSON *document, struct document *d)
{
	const cJSON *calibration = json_get(json_get(document, "runs"), "calibration");
	char *quote = calibration ? cJSON_PrintUnformatted(calibration) : NULL;

	if (quote)
		calibration_answer(quote, d);
	free(quote);
}

/* The first run that failed, and what comes next where there is nothing else to look at: *next, else it is left as it is. */
static enum assay_status explain_failure(struct store *store, const struct night_decision *decision, const cJSON *document, char **next,
					 struct document *d, struct assay_error *err)
{
	char *failure, *command;
	enum assay_status st = night_failure_of(store, json_get_text(document, "plan"), decision, &failure, &command, err);

	doc_set(d, "first_failure", failure);
	if (failure)
		doc_line(d, "Not all runs ended well: %s.", failure);
	free(failure);
	if (command && isnan(decision->ratio)) {
		free(*next);
		*next = command;
	} else {
		free(command);
	}
	return st;
}

static enum assay_status explain(struct store *store, const struct night_decision *decision, const cJSON *document, struct document *d,
				 struct assay_error *err)
{
	char *subject = mem_format("%s@%s", decision->application, decision->candidate);
	const struct decided decided = { .application = decision->application,
					 .baseline = decision->baseline,
					 .candidate = subject,
					 .decision = decision->decision,
					 .ratio = decision->ratio,
					 .low = decision->low,
					 .high = decision->high,
					 .level = json_get_number(document, "level"),
					 .by_processor = strcmp(json_get_text(document, "time"), "processor") == 0,
					 .cause = json_get_text(json_get(document, "runs"), "cause"),
					 .reasons = json_get(document, "reasons") };
	char *text = decided_text(&decided), *next = next_of(store, decision, document), date[TEXT_DATE_BYTES];
	enum assay_status st;

	doc_answer(d, decision_tone(decision->decision), decision_text(decision->decision), "%s", text);
	doc_set(d, "id", decision->id);
	doc_set(d, "decision", decision_text(decision->decision));
	doc_set(d, "application", decision->application);
	doc_set(d, "baseline", decision->baseline);
	doc_set(d, "candidate", decision->candidate);
	doc_set(d, "ratio", decision->ratio);
	doc_set(d, "low", decision->low);
	doc_set(d, "high", decision->high);
	doc_set(d, "level", decided.level);
	doc_set(d, "made_ms", decision->made_ms);
	doc_set_empty(d, "night", decision->night);
	explain_reasons(document, d);
	doc_line(d, "Decided on %s%s%s.", text_from_ms(decision->made_ms / 1000 * 1000, date), *decision->night ? " in the night " : "",
		 decision->night);
	explain_runs(document, d);
	st = explain_failure(store, decision, document, &next, d, err);
	explain_calibration(document, d);
	doc_set_json(d, "evidence", cJSON_Duplicate(document, true));
	doc_line(d, "Next: %s", next);
	if (strstr(next, "nightly pages"))
		doc_line(d, "Its report is then pages/%s.html.", decision->id);
	doc_set(d, "next", next);
	mem_free(next, text, subject);
	return st;
}

static enum assay_status explain_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct night_decisions found = { 0 };
	cJSON *document = NULL;
	enum assay_status st = night_decision_find(&lab->store, a->id, &found, err);

	if (!st)
		st = json_parse("decision", found.items[0].document, strlen(found.items[0].document), &document, err);
	if (!st)
		st = explain(&lab->store, &found.items[0], document, d, err);
	cJSON_Delete(document);
	night_decisions_release(&found);
	return st;
}

const struct command explain_command = {
	.name = "explain",
	.summary = "explain a decision that was kept, and what to do next",
	.about = "Says in a few sentences what was decided, on what it rests, and which command tells more. DECISION is its id, as 'assay "
		 "nightly show' lists it, or the beginning of it.",
	.examples = "  assay explain 1a2b3c\n"
		    "  assay explain 1a2b3c --format json | jq .reasons\n",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_READ, explain_run),
};

/* ---- verify ---- */

/* The path of the first member that is not the same: "runs.effect.ratio"; false: there is none. */
static bool first_difference(const cJSON *a, const cJSON *b, struct buf *path)
{
	const cJSON *x = a->child, *y = b->child;

	if (!cJSON_IsObject(a) && !cJSON_IsArray(a))
		return !cJSON_Compare(a, b, true);
	if (a->type != b->type)
		return true;
	for (size_t i = 0; x || y; i++, x = x->next, y = y->next) {
		size_t size = path->size;
		const cJSON *one = x ? x : y;

		if (one->string)
			buf_format(path, "%s%s", size ? "." : "", one->string);
		else
			buf_format(path, "[%zu]", i);
		if (!x || !y || (x->string && y->string && strcmp(x->string, y->string) != 0) || first_difference(x, y, path))
			return true;
		path->size = size;
	}
	return false;
}

static enum assay_status runs_of(struct store *store, const char *plan, int64_t *runs, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_ask(store, &stmt, err, "SELECT count(*) FROM execution WHERE plan = ?", "t", plan);

	if (!st)
		st = store_step(store, stmt, &row, err);
	*runs = !st && row ? sqlite3_column_int64(stmt, 0) : 0;
	return store_finish(stmt, st);
}

static enum assay_status recompute(struct lab *lab, const struct judge_request *request, struct judgement *out, struct assay_error *err)
{
	struct evidence evidence = { 0 };
	enum assay_status st = *request->plan ? evidence_load(lab, &evidence, err) : ASSAY_OK;

	if (!st)
		st = judge(lab, &evidence, request, out, err);
	evidence_release(&evidence);
	return st;
}

/* Recorded runs that it has looked at. */
static double weighed_in(const cJSON *document)
{
	const cJSON *both[] = { json_get(document, "runs"), json_get(json_get(document, "confirmed"), "fresh") }, *side;
	double n = 0;

	for (int i = 0; i < 2; i++)
		cJSON_ArrayForEach(side, json_get(json_get(both[i], "variance"), "sides")) n += json_get_number(side, "runs");
	return n;
}

/* What it has found in records cannot be found again without them: that is nobody's doing but theirs who removed, or lost, them. */
static bool records_gone(const cJSON *kept, const cJSON *now, struct document *d)
{
	double gone = weighed_in(kept) - weighed_in(now);

	if (!(gone > 0))
		return false;
	doc_set(d, "verdict", "archived");
	doc_answer(d, DOC_DOUBTFUL, "archived", "not verifiable: records of %.0f runs that it rests on were removed, or cannot be read",
		   gone);
	doc_line(d, "'assay explain' shows all that was kept of it.");
	d->exit_status = 6;
	return true;
}

/* Samples may be removed or added after a decision, which never rests on them. */
static void drop_functions(cJSON *document)
{
	cJSON *runs = json_get(document, "runs");

	cJSON_DeleteItemFromObject(runs, "functions");
	cJSON_DeleteItemFromObject(runs, "signatures");
	cJSON_DeleteItemFromObject(runs, "absent");
}

static void tell_difference(const char *path, int64_t rules, struct document *d)
{
	bool other = rules != JUDGE_RULES;

	doc_set(d, "verdict", other ? "other_rules" : "differs");
	if (other) {
		doc_answer(d, DOC_DOUBTFUL, "other rules",
			   "made by rules %lld; the rules of this assay (%d) say something else of the same results: first at '%s'",
			   (long long)rules, JUDGE_RULES, path);
		doc_line(d, "The assay that made it verifies it; 'assay explain' shows all that was kept of it.");
	} else {
		doc_answer(d, DOC_BAD, "differs", "what follows from the raw results is not what was kept: first at '%s'", path);
		doc_line(d, "Results that were changed, or hardware types that lab.yaml has otherwise by now, are reasons.");
	}
	doc_set(d, "first_difference", path);
	d->exit_status = other ? 4 : 1;
}

static enum assay_status compare_documents(const char *kept, const char *now, int64_t rules, struct document *d, struct assay_error *err)
{
	struct buf path = BUF_INIT;
	cJSON *a = NULL, *b = NULL;
	enum assay_status st = json_parse("decision", kept, strlen(kept), &a, err);

	if (!st)
		st = json_parse("decision", now, strlen(now), &b, err);
	drop_functions(a);
	drop_functions(b);
	if (!st && !records_gone(a, b, d)) {
		if (first_difference(a, b, &path)) {
			tell_difference(path.bytes ? path.bytes : "", rules, d);
		} else {
			doc_set(d, "verdict", "same");
			doc_answer(d, DOC_GOOD, "same",
				   "it follows from the raw results; samples of its functions were removed or added since");
		}
	}
	cJSON_Delete(a);
	cJSON_Delete(b);
	buf_release(&path);
	return st;
}

/* What commands read beside the document must be what stands in it: the first column that is not; NULL: there is none. Its id is of all
 * else that it rests on. */
static const char *first_column(const struct night_decision *decision, const cJSON *document)
{
	const struct {
		const char *name, *value;
	} texts[] = { { "decision", decision_text(decision->decision) },
		      { "application", decision->application },
		      { "baseline", decision->baseline },
		      { "candidate", decision->candidate } };
	const struct {
		const char *name;
		double value;
	} numbers[] = { { "ratio", decision->ratio }, { "low", decision->low }, { "high", decision->high } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(texts[i].value, json_get_text(document, texts[i].name)) != 0)
			return texts[i].name;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const cJSON *kept = json_get(document, numbers[i].name);
		bool none = isnan(numbers[i].value);

		if (none == cJSON_IsNumber(kept) || (!none && fabs(kept->valuedouble - numbers[i].value) > 0))
			return numbers[i].name;
	}
	return NULL;
}

static enum assay_status compare_columns(const struct night_decision *decision, bool *same, struct document *d, struct assay_error *err)
{
	cJSON *document = NULL;
	char id[DIGEST_ID_BYTES];
	const char *column = NULL;
	enum assay_status st = json_parse("decision", decision->document, strlen(decision->document), &document, err);

	night_decision_identify(decision, id);
	if (!st)
		column = first_column(decision, document);
	if (!column && strcmp(id, decision->id) != 0)
		column = "id";
	*same = !st && !column;
	if (column) {
		doc_set(d, "verdict", "differs");
		doc_set(d, "first_difference", column);
		doc_answer(d, DOC_BAD, "differs", "what was kept of it contradicts itself: its '%s' was changed after it was made%s",
			   column, strcmp(column, "id") == 0 ? ", or what it is made of" : "");
		doc_line(d, "'assay explain' shows all that was kept of it; its 'evidence' is what was decided.");
		d->exit_status = 1;
	}
	cJSON_Delete(document);
	return st;
}

static enum assay_status verify(struct lab *lab, const struct night_decision *decision, struct document *d, struct assay_error *err)
{
	struct judge_request request;
	struct judgement now = { .document = NULL };
	int64_t runs = 0;
	bool same = false, kept = false;
	enum assay_status st = judge_request_parse(decision->request, &request, err);

	if (!st && *request.plan)
		st = runs_of(&lab->store, request.plan, &runs, err);
	doc_set(d, "id", decision->id);
	doc_set(d, "decision", decision_text(decision->decision));
	doc_set(d, "runs", runs);
	if (!st)
		st = compare_columns(decision, &kept, d, err);
	if (st || !kept) {
		/* said */
	} else if (*request.plan && runs == 0) {
		doc_answer(d, DOC_DOUBTFUL, "archived", "not verifiable: the raw results of %s were pruned", decision->id);
		doc_set(d, "verdict", "archived");
		d->exit_status = 6;
	} else {
		st = recompute(lab, &request, &now, err);
		same = !st && strcmp(now.document, decision->document) == 0;
		if (same) {
			doc_set(d, "verdict", "same");
			doc_answer(d, DOC_GOOD, "same", "%s follows from %lld raw results, byte by byte: %s", decision->id, (long long)runs,
				   decision_text(decision->decision));
		} else if (!st) {
			st = compare_documents(decision->document, now.document, request.rules, d, err);
		}
	}
	judgement_release(&now);
	judge_request_release(&request);
	return st;
}

static enum assay_status verify_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct night_decisions found = { 0 };
	enum assay_status st = night_decision_find(&lab->store, a->id, &found, err);

	if (!st)
		st = verify(lab, &found.items[0], d, err);
	night_decisions_release(&found);
	return st;
}

const struct command verify_command = {
	.name = "verify",
	.summary = "recompute a decision that was kept from the raw results",
	.about =
	    "Recomputes a decision from the raw results that it rests on and compares all that was kept of it, byte by byte. What rests on "
	    "results or records that were removed is archived and cannot be verified; what an assay with other rules made may differ for "
	    "that reason.",
	.examples = "  assay verify 1a2b3c\n",
	.exit_status = "0 it is the same, 1 it differs (or failure), 2 usage, 4 by other rules than those of this assay, 6 its results or "
		       "records were removed.",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_READ, verify_run),
};
