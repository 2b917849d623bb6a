/* The commands assay explain and assay verify, for stored decisions. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/nightly/night_answer.h"
#include "gate/render/decided.h"

#include <math.h>

struct arguments {
	const char *id;
};

static const struct cli_option words[] = { CLI_ARGUMENT("DECISION", struct arguments, id), CLI_END };

/* Describes the runs that the decision depends on, and the excluded runs. */
static void explain_runs(const struct night_decision *decision, struct document *d)
{
	static const char *const confirmation[CONFIRMATION_RESULTS] = { [CONFIRMATION_SEEN] = "the finding was confirmed",
									[CONFIRMATION_NOT_SEEN] = "the finding was not confirmed",
									[CONFIRMATION_DISTURBED] = "their environment slowed the runs" };
	const struct judgement *j = &decision->judged;
	size_t left_out = j->disturbed.n_excluded, machines = judgement_count_machines(j);

	if (*decision->request.plan && machines)
		doc_line(d, "The decision rests on runs of both versions, in turn, on %zu machine%s.", machines, text_plural(machines));
	if (left_out)
		doc_line(d, "%zu run%s disturbed by other work on the machines, and excluded.", left_out,
			 left_out == 1 ? " was" : "s were");
	if (confirmation[j->input.confirmation])
		doc_line(d, "Confirmation runs were made: %s%s.", confirmation[j->input.confirmation],
			 j->input.has_control_moved ? ", but the A/A control changed as well" : "");
}

/* Returns the command to try if nothing was measured although no run failed: a dry run. free() it. */
static char *suggest_after_unmeasured(struct store *store, const struct night_decision *decision)
{
	struct night_comparisons all = { NULL, 0 };
	struct assay_error ignored; /* if the comparisons cannot be loaded, the command is a general one */
	char *command = NULL;

	(void)night_comparisons_load(store, decision->night, &all, &ignored);
	for (size_t i = 0; !command && i < all.n; i++) {
		const struct night_comparison *c = &all.items[i];

		if (c->number == decision->number)
			command = text_format_command((const char *const[]){ "run", c->manifest, "--versions", c->candidate, "--dry-run",
									     *c->input ? "--inputs" : NULL, c->input, NULL });
	}
	if (!command)
		command = text_format_command((const char *const[]){ "run", decision->request.application, "--dry-run", NULL });
	night_comparisons_release(&all);
	return command;
}

/* Returns the command that the user should run next, quoted for a shell. free() it. */
static char *suggest_next_command(struct store *store, const struct night_decision *decision)
{
	char *a = mem_format("%s@%s", decision->request.application, decision->request.baseline),
	     *b = mem_format("%s@%s", decision->request.application, decision->request.candidate),
	     *effect = mem_string(TEXT_DOUBLE(decision->request.min_effect)), *command;

	switch (decision->judged.decision) {
	case DECISION_REGRESSION:
		command = *decision->night
			      ? text_format_command((const char *const[]){ "nightly", "pages", decision->night, "-o", "pages", NULL })
			      : text_format_command((const char *const[]){ "report", a, b, "-o", "report.html", NULL });
		break;
	case DECISION_INCONCLUSIVE:
	case DECISION_ENVIRONMENT:
		command =
		    text_format_command((const char *const[]){ "gate", a, b, "--run", "--budget", "20m", "--min-effect", effect, NULL });
		break;
	case DECISION_NOTHING_MEASURED:
		command = suggest_after_unmeasured(store, decision);
		break;
	default:
		command = text_format_command((const char *const[]){ "history", decision->request.application, NULL });
	}
	mem_free(a, b, effect);
	return command;
}

/* Describes the first failed run. If the decision has no ratio, replaces *next by the command that shows this run. */
static enum assay_status explain_failure(struct store *store, const struct night_decision *decision, char **next, struct document *d,
					 struct assay_error *err)
{
	char *failure, *command;
	enum assay_status st = night_describe_failure(store, decision->request.plan, decision, &failure, &command, err);

	doc_set(d, "first_failure", failure);
	if (failure)
		doc_line(d, "Some runs failed: %s.", failure);
	free(failure);
	if (command && isnan(decision->judged.ratio)) {
		free(*next);
		*next = command;
	} else {
		free(command);
	}
	return st;
}

static enum assay_status explain_decision(struct store *store, const struct night_decision *decision, struct document *d,
					  struct assay_error *err)
{
	const struct judgement *j = &decision->judged;
	char *subject = mem_format("%s@%s", decision->request.application, decision->request.candidate);
	const struct decision_record decided = { .application = decision->request.application,
						 .baseline = decision->request.baseline,
						 .candidate = subject,
						 .decision = decision->judged.decision,
						 .ratio = decision->judged.ratio,
						 .low = decision->judged.low,
						 .high = decision->judged.high,
						 .level = j->level,
						 .by_processor = j->by_processor,
						 .cause = j->cause,
						 .reasons = j->reasons };
	char *text = decided_text(&decided), *next = suggest_next_command(store, decision), date[TEXT_DATE_BYTES];
	cJSON *document = NULL;
	enum assay_status st = json_parse("decision", j->document, strlen(j->document), &document, err);

	doc_answer(d, decision_tone(decision->judged.decision), decision_text(decision->judged.decision), "%s", text);
	doc_set(d, "id", decision->id);
	doc_set(d, "decision", decision_text(decision->judged.decision));
	doc_set(d, "application", decision->request.application);
	doc_set(d, "baseline", decision->request.baseline);
	doc_set(d, "candidate", decision->request.candidate);
	doc_set(d, "ratio", decision->judged.ratio);
	doc_set(d, "low", decision->judged.low);
	doc_set(d, "high", decision->judged.high);
	doc_set(d, "level", j->level);
	doc_set(d, "made_ms", decision->made_ms);
	doc_set_empty(d, "night", decision->night);
	reasons_add_member(&j->reasons, "reasons", d);
	doc_line(d, "Decided on %s%s%s.", text_from_ms(decision->made_ms / 1000 * 1000, date), *decision->night ? " in the night " : "",
		 decision->night);
	judgement_describe_functions(j, d);
	for (size_t i = 0; i < j->n_functions; i++)
		doc_line(d, "%.0f %% of the change of all functions is in %s: %s.", 100 * j->functions[i].part, j->functions[i].name,
			 j->functions[i].kind);
	explain_runs(decision, d);
	if (!st)
		st = explain_failure(store, decision, &next, d, err);
	calibration_describe(&j->calibration, d);
	doc_set_json(d, "evidence", document);
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
	enum assay_status st = night_decision_find(&lab->store, a->id, &found, err);

	if (!st)
		st = explain_decision(&lab->store, &found.items[0], d, err);
	night_decisions_release(&found);
	return st;
}

const struct command explain_command = {
	.name = "explain",
	.summary = "explain a stored decision and the next steps",
	.about = "Prints in a few sentences a decision, the evidence for it, and the commands that show more. DECISION is its id, as "
		 "'assay nightly show' lists it, or the start of its id.",
	.examples = "  assay explain 1a2b3c\n"
		    "  assay explain 1a2b3c --format json | jq .reasons\n",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_READ, explain_run),
};

/* Compares two JSON documents. Sets *path to the first difference, such as "runs.effect.ratio". Returns false if they are equal. */
static bool find_first_difference(const cJSON *a, const cJSON *b, struct buf *path)
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
		if (!x || !y || (x->string && y->string && strcmp(x->string, y->string) != 0) || find_first_difference(x, y, path))
			return true;
		path->size = size;
	}
	return false;
}

static enum assay_status count_runs(struct store *store, const char *plan, int64_t *runs, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_query(store, &stmt, err, "SELECT count(*) FROM execution WHERE plan = ?", "t", plan);

	if (!st)
		st = store_step(store, stmt, &row, err);
	*runs = !st && row ? sqlite3_column_int64(stmt, 0) : 0;
	return store_finalize(stmt, st);
}

static enum assay_status recompute(struct lab *lab, const struct judge_request *request, struct judgement *out, struct assay_error *err)
{
	struct evidence evidence = { 0 };
	enum assay_status st = *request->plan ? evidence_load(lab, &evidence, err) : ASSAY_OK;

	if (!st)
		st = judge_decide(lab, &evidence, request, out, err);
	evidence_release(&evidence);
	return st;
}

/* Reports that the decision cannot be verified, because records or samples that it used were removed or are unreadable. */
static void report_missing_data(const char *what, struct document *d)
{
	doc_set(d, "verdict", "archived");
	doc_answer(d, DOC_DOUBTFUL, "archived", "not verifiable: some of its %s were removed or cannot be read", what);
	doc_line(d, "'assay explain' shows the stored decision.");
	d->exit_status = 6;
}

/* Removes the reasons that depend on samples. */
static void drop_findings(cJSON *reasons)
{
	for (int i = cJSON_GetArraySize(reasons); i-- > 0;) {
		const char *code = json_get_text(cJSON_GetArrayItem(reasons, i), "code");

		if (strcmp(code, COMPARISON_LATENT) == 0 || strcmp(code, COMPARISON_UNEXPLAINED) == 0)
			cJSON_DeleteItemFromArray(reasons, i);
	}
}

/* Removes the members that depend on samples, because samples may be added or removed after a decision. The cause may name a function. */
static void drop_functions(cJSON *document)
{
	cJSON *runs = json_get(document, "runs");

	drop_findings(json_get(document, "reasons"));
	drop_findings(json_get(runs, "reasons"));
	cJSON_DeleteItemFromObject(runs, "cause");
	cJSON_DeleteItemFromObject(runs, "functions");
	cJSON_DeleteItemFromObject(runs, "signatures");
	cJSON_DeleteItemFromObject(runs, "absent");
}

/* Reports that a decision cannot be verified if a machine of its plan was renamed after it. */
static enum assay_status report_renamed(struct store *store, const struct night_decision *decision, bool *renamed, struct document *d,
					struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err,
			"SELECT old_name, new_name FROM renamed_machine WHERE renamed_ms >= ? AND old_name <> new_name AND "
			"new_name IN (SELECT machine FROM execution WHERE plan = ?) LIMIT 1",
			"it", decision->made_ms, decision->request.plan);

	*renamed = store_next(store, stmt, &st, err);
	if (*renamed) {
		doc_set(d, "verdict", "archived");
		doc_answer(d, DOC_DOUBTFUL, "archived", "not verifiable: machine '%s' is called '%s' now", store_text(stmt, 0),
			   store_text(stmt, 1));
		doc_line(d, "'assay host rename' with the names exchanged makes the decision verifiable.");
		d->exit_status = 6;
	}
	return store_finalize(stmt, st);
}

static void report_difference(const char *path, int64_t rules, struct document *d)
{
	bool other = rules != JUDGE_RULES;

	doc_set(d, "verdict", other ? "other_rules" : "differs");
	if (other) {
		doc_answer(d, DOC_DOUBTFUL, "other rules",
			   "decided by rules of version %lld; version %d of this assay decides differently for the same results; first "
			   "difference at '%s'",
			   (long long)rules, JUDGE_RULES, path);
		doc_line(d, "Verify it with the assay that made it; 'assay explain' shows the stored decision.");
	} else {
		doc_answer(d, DOC_BAD, "differs", "the stored decision does not follow from the raw results; first difference at '%s'",
			   path);
		doc_line(d, "Possible reasons: changed results, or changed hardware types in lab.yaml.");
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
	if (!st) {
		if (find_first_difference(a, b, &path)) {
			report_difference(path.bytes ? path.bytes : "", rules, d);
		} else {
			doc_set(d, "verdict", "same");
			doc_answer(d, DOC_GOOD, "same",
				   "the decision follows from the raw results; samples of functions were removed or added since");
		}
	}
	cJSON_Delete(a);
	cJSON_Delete(b);
	buf_release(&path);
	return st;
}

/* Sets *unchanged to whether the stored decision still matches its id `of`. If not, adds an answer that states the difference. */
static enum assay_status check_unchanged(struct store *store, const char *of, bool *unchanged, struct document *d, struct assay_error *err)
{
	char id[DIGEST_ID_BYTES];
	enum assay_status st = night_compute_digest(store, of, id, err);

	*unchanged = !st && strcmp(id, of) == 0;
	if (st || *unchanged)
		return st;
	doc_set(d, "verdict", "differs");
	doc_set(d, "first_difference", "id");
	doc_answer(d, DOC_BAD, "differs", "the stored decision was changed after it was made: its content does not match its id");
	doc_line(d, "'assay explain' shows the stored decision; member 'evidence' is the document.");
	d->exit_status = 1;
	return ASSAY_OK;
}

static enum assay_status verify_decision(struct lab *lab, const struct night_decision *decision, struct document *d,
					 struct assay_error *err)
{
	const struct judge_request *q = &decision->request;
	const struct judgement *j = &decision->judged;
	struct judgement now = { .document = NULL };
	int64_t runs = 0;
	bool unchanged = false;
	enum assay_status st = *q->plan ? count_runs(&lab->store, q->plan, &runs, err) : ASSAY_OK;

	doc_set(d, "id", decision->id);
	doc_set(d, "decision", decision_text(decision->judged.decision));
	doc_set(d, "runs", runs);
	if (!st)
		st = check_unchanged(&lab->store, decision->id, &unchanged, d, err);
	if (!unchanged)
		return st;
	if (*q->plan && runs == 0) {
		doc_answer(d, DOC_DOUBTFUL, "archived", "not verifiable: the raw results of %s were pruned", decision->id);
		doc_set(d, "verdict", "archived");
		d->exit_status = 6;
		return st;
	}
	st = recompute(lab, q, &now, err);
	if (!st && strcmp(now.document, j->document) == 0) {
		doc_set(d, "verdict", "same");
		doc_answer(d, DOC_GOOD, "same", "%s follows from %lld raw results, byte by byte: %s", decision->id, (long long)runs,
			   decision_text(decision->judged.decision));
	} else if (!st && j->recorded > now.recorded) {
		report_missing_data("records of runs", d);
	} else if (!st && reasons_find(&j->reasons, COMPARISON_CONFIRMS) && !reasons_find(&now.reasons, COMPARISON_CONFIRMS)) {
		report_missing_data("samples of functions", d);
	} else if (!st) {
		bool renamed = false;

		st = report_renamed(&lab->store, decision, &renamed, d, err);
		if (!st && !renamed)
			st = compare_documents(j->document, now.document, q->rules, d, err);
	}
	judgement_release(&now);
	return st;
}

static enum assay_status verify_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct night_decisions found = { 0 };
	enum assay_status st = night_decision_find(&lab->store, a->id, &found, err);

	if (!st)
		st = verify_decision(lab, &found.items[0], d, err);
	night_decisions_release(&found);
	return st;
}

const struct command verify_command = {
	.name = "verify",
	.summary = "recompute a stored decision from the raw results",
	.about = "Recomputes a decision from its raw results and compares it with the stored decision, byte by byte. A decision whose "
		 "results or records were removed cannot be verified. A decision of an assay with other rules may differ.",
	.examples = "  assay verify 1a2b3c\n",
	.exit_status = "0 the same, 1 different (or failure), 2 usage, 4 decided by other rules than those of this assay, 6 its results or "
		       "records were removed.",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_READ, verify_run),
};
