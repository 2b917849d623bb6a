/* The record of nights in the store: their comparisons, progress and decisions. Each step is committed at once, so that a night that was
 * killed continues where it stopped. The tables are in fleet/lab/schema_1.sql. */
#ifndef GATE_NIGHTLY_NIGHT_H
#define GATE_NIGHTLY_NIGHT_H

#include "base/digest.h"
#include "base/error.h"
#include "base/rows.h"
#include "fleet/lab/store.h"
#include "gate/nightly/judge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- nights ---- */

struct night {
	char id[DIGEST_ID_BYTES];
	int64_t started_ms, deadline_ms; /* since 1970; deadline 0: none */
	int64_t finished_ms;		 /* 0: it continues, or was interrupted */
	int exit_status;		 /* valid once it has finished */
	char *suite;			 /* text of suite.yaml at its start */
	struct reasons notes;		 /* notes about the night itself; night_list() reads none */
	size_t kept;			 /* number of notes that are stored */
};

/* Lists all nights in (*out)[*n], the latest first by order of insertion, not by clock; night_list_free() it. */
enum assay_status night_list(struct store *store, struct night **out, size_t *n, struct assay_error *err);
void night_list_free(struct night *nights, size_t n);

/* Finds the night whose id starts with `id`; NULL: the latest. ASSAY_E_NOTFOUND lists the nights that exist. night_release() it. */
enum assay_status night_find(struct store *store, const char *id, struct night *out, struct assay_error *err);
void night_release(struct night *night); /* accepts zeroed */

/* ---- comparisons of a night ---- */

#define NIGHT_STATE_ROWS(X)                                                                                                                \
	X(NIGHT_WAITING, "waiting", "not started yet")                                                                                     \
	X(NIGHT_MEASURING, "measuring", "begun")                                                                                           \
	X(NIGHT_CONFIRMING, "confirming", "a finding is confirmed by fresh runs")                                                          \
	X(NIGHT_DECIDED, "decided", "decided")                                                                                             \
	X(NIGHT_UNREACHED, "unreached", "not reached before the deadline")                                                                 \
	X(NIGHT_CUT_OFF, "cut_off", "started, and cut off by the deadline before it had a result")

enum night_state { NIGHT_STATE_ROWS(ROWS_ENUM) NIGHT_STATES };

/* One candidate and one baseline of one application with one input on some machines. Versions are names that every command takes: those
 * of the manifest, or NAME-COMMIT (12 digits) for the commit of a git reference NAME at the start of the night. */
struct night_comparison {
	int64_t number;		    /* from 1 */
	char *manifest;		    /* name of the manifest in apps/ */
	char *application, *input;  /* as results are stored, NAME or NAME/INPUT; the input's name or "" */
	char *candidate, *baseline; /* baseline "": there is none */
	char *against;		    /* why this baseline: accepted, release, previous, version */
	char *hosts;		    /* a node set; "": all */
	double min_effect, budget_s;
	double min_gain; /* smallest change that is called an improvement; 0: min_effect */
	enum night_state state;
	char plan[DIGEST_ID_BYTES], fresh_plan[DIGEST_ID_BYTES]; /* "": none */
	char decision[DIGEST_ID_BYTES];				 /* id; "": none yet */
	char *detail;						 /* "" or one line */
	double seconds;
	/* In this session: cut: the deadline left too little of its budget. improved: an improvement, confirmed after all regressions. */
	bool cut, improved;
};

struct night_comparisons {
	struct night_comparison *items; /* [n], by number */
	size_t n;
};

enum assay_status night_comparisons_load(struct store *store, const char *night, struct night_comparisons *out, struct assay_error *err);
void night_comparisons_release(struct night_comparisons *comparisons); /* accepts zeroed */

/* ---- decisions ---- */

struct night_decision {
	char id[DIGEST_ID_BYTES], night[DIGEST_ID_BYTES];
	int64_t number, made_ms;
	struct judge_request request;
	struct judgement judged;
};

struct night_decisions {
	struct night_decision *items; /* [n], the latest first */
	size_t n;
};

/* Loads the decisions of an application, or of a night; NULL: of any. Excludes decisions made after until_ms. */
enum assay_status night_decisions_load(struct store *store, const char *application, const char *night, int64_t until_ms,
				       struct night_decisions *out, struct assay_error *err);
void night_decisions_release(struct night_decisions *decisions); /* accepts zeroed */

/* Sets `out` to the digest of all stored data of a decision except its id and time: the id that it must have. */
enum assay_status night_identify(struct store *store, const char *id, char out[DIGEST_ID_BYTES], struct assay_error *err);

/* Finds the decision whose id starts with `id`: one item. ASSAY_E_NOTFOUND, or ASSAY_E_USAGE if several ids do. */
enum assay_status night_decision_find(struct store *store, const char *id, struct night_decisions *out, struct assay_error *err);

/* ---- for the night itself ---- */

/* Stores a new night with its comparisons, in one transaction. Sets the night's id and the comparisons' numbers. */
enum assay_status night_begin(struct store *store, struct night *night, struct night_comparisons *comparisons, struct assay_error *err);
/* Finds the night that has not finished; ASSAY_E_NOTFOUND if there is none. */
enum assay_status night_unfinished(struct store *store, struct night *out, struct assay_error *err);
/* Stores the notes that are not yet stored. */
enum assay_status night_keep_notes(struct store *store, struct night *night, struct assay_error *err);
/* Stores state, plans, decision, detail and seconds of a comparison. */
enum assay_status night_update(struct store *store, const struct night *night, const struct night_comparison *comparison,
			       struct assay_error *err);
/* Stores the decision, and its id with the comparison, in one transaction. */
enum assay_status night_decide(struct store *store, const struct night *night, struct night_comparison *comparison,
			       const struct judge_request *request, const struct judgement *judged, struct assay_error *err);
enum assay_status night_finish(struct store *store, struct night *night, struct assay_error *err);

#endif
