/* Record of nights in the store: comparisons, progress, decisions. Each step is committed at once, so that an interrupted night can
 * continue. The tables are in fleet/lab/schema_1.sql. */
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
	int64_t started_ms, deadline_ms; /* ms since 1970; deadline 0: none */
	int64_t finished_ms;		 /* ms since 1970; 0: the night still runs or was interrupted */
	int exit_status;		 /* valid only if finished */
	char *suite;			 /* contents of suite.yaml at the start of the night */
	struct reasons notes;		 /* notes on the whole night; not filled by night_list() */
	size_t kept;			 /* number of notes already in the store */
};

/* Lists all nights in (*out)[*n], latest first by order of insertion (not by clock); night_list_free() it. */
enum assay_status night_list(struct store *store, struct night **out, size_t *n, struct assay_error *err);
void night_list_free(struct night *nights, size_t n);

/* Finds the night whose id starts with `id`; NULL: the latest. ASSAY_E_NOTFOUND lists the existing nights. night_release() *out. */
enum assay_status night_find(struct store *store, const char *id, struct night *out, struct assay_error *err);
void night_release(struct night *night); /* accepts a zeroed struct */

/* ---- comparisons of a night ---- */

#define NIGHT_STATE_ROWS(X)                                                                                                                \
	X(NIGHT_WAITING, "waiting", "not started yet")                                                                                     \
	X(NIGHT_MEASURING, "measuring", "begun")                                                                                           \
	X(NIGHT_CONFIRMING, "confirming", "confirmation runs of a finding")                                                                \
	X(NIGHT_DECIDED, "decided", "decided")                                                                                             \
	X(NIGHT_UNREACHED, "unreached", "not reached before the deadline")                                                                 \
	X(NIGHT_CUT_OFF, "cut_off", "started, but no result before the deadline")

enum night_state { NIGHT_STATE_ROWS(ROWS_ENUM) NIGHT_STATES };

/* A comparison: one candidate and one baseline of one application with one input on some machines. Versions are names that every command
 * accepts: names from the manifest, or NAME-COMMIT (12 digits) for the commit of git reference NAME at the night's start. */
struct night_comparison {
	int64_t number;		    /* number within the night, from 1 */
	char *manifest;		    /* name of the manifest in apps/ */
	char *application, *input;  /* application as in results, NAME or NAME/INPUT; name of the input or "" */
	char *candidate, *baseline; /* versions; baseline "": none */
	char *against;		    /* kind of baseline: accepted, release, previous, version */
	char *hosts;		    /* node set; "": all hosts */
	double min_effect, budget_s;
	double min_gain; /* smallest change that counts as an improvement; 0: min_effect */
	enum night_state state;
	char plan[DIGEST_ID_BYTES], fresh_plan[DIGEST_ID_BYTES]; /* plans of the runs and of the confirmation runs; "": none */
	char decision[DIGEST_ID_BYTES];				 /* id of the decision; "": none yet */
	char *detail;						 /* one line of text, or "" */
	double seconds;
	/* Not stored. cut: the deadline left too little of the budget. improved: an improvement, to confirm after all regressions. */
	bool cut, improved;
};

struct night_comparisons {
	struct night_comparison *items; /* [n], sorted by number */
	size_t n;
};

enum assay_status night_comparisons_load(struct store *store, const char *night, struct night_comparisons *out, struct assay_error *err);
void night_comparisons_release(struct night_comparisons *comparisons); /* accepts a zeroed struct */

/* ---- decisions ---- */

struct night_decision {
	char id[DIGEST_ID_BYTES], night[DIGEST_ID_BYTES];
	int64_t number, made_ms;
	struct judge_request request;
	struct judgement judged;
};

struct night_decisions {
	struct night_decision *items; /* [n], latest first */
	size_t n;
};

/* Loads the decisions of an application (NULL: all) and of a night (NULL: all). Excludes decisions made after until_ms. */
enum assay_status night_decisions_load(struct store *store, const char *application, const char *night, int64_t until_ms,
				       struct night_decisions *out, struct assay_error *err);
void night_decisions_release(struct night_decisions *decisions); /* accepts a zeroed struct */

/* Computes in `out` the digest of all stored data of a decision except its id and time. An intact decision has this digest as its id. */
enum assay_status night_identify(struct store *store, const char *id, char out[DIGEST_ID_BYTES], struct assay_error *err);

/* Finds the one decision whose id starts with `id`. ASSAY_E_NOTFOUND: none does; ASSAY_E_USAGE: several do. */
enum assay_status night_decision_find(struct store *store, const char *id, struct night_decisions *out, struct assay_error *err);

/* ---- recording a night ---- */

/* Stores a new night with its comparisons in one transaction. Sets the night's id and the comparisons' numbers. */
enum assay_status night_begin(struct store *store, struct night *night, struct night_comparisons *comparisons, struct assay_error *err);
/* Finds the night that has not finished; ASSAY_E_NOTFOUND if there is none. */
enum assay_status night_unfinished(struct store *store, struct night *out, struct assay_error *err);
/* Stores the notes added since the last call. */
enum assay_status night_keep_notes(struct store *store, struct night *night, struct assay_error *err);
/* Stores a comparison's state, plans, decision, detail and seconds. */
enum assay_status night_update(struct store *store, const struct night *night, const struct night_comparison *comparison,
			       struct assay_error *err);
/* Stores a decision, and sets its id in the comparison, in one transaction. */
enum assay_status night_decide(struct store *store, const struct night *night, struct night_comparison *comparison,
			       const struct judge_request *request, const struct judgement *judged, struct assay_error *err);
enum assay_status night_finish(struct store *store, struct night *night, struct assay_error *err);

#endif
