/* Stores nights with their comparisons, progress and decisions. Each step is committed at once, so that an interrupted night can continue.
 * fleet/lab/schema_1.sql defines the tables. */
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

struct night {
	char id[DIGEST_ID_BYTES];
	int64_t started_ms, deadline_ms; /* ms since 1970; deadline_ms is 0 if there is no deadline */
	int64_t finished_ms;		 /* ms since 1970; 0 if the night is still running or was interrupted */
	int exit_status;		 /* exit status of the night; valid only after it has finished */
	char *suite;			 /* contents of suite.yaml at the start of the night */
	struct reasons notes;		 /* notes on the whole night; night_list() does not fill them */
	size_t n_stored_notes;		 /* number of notes that are already in the store */
};

/* Lists all nights in (*out)[*n], in reverse order of insertion, whatever the clock showed. The caller calls night_list_free(). */
enum assay_status night_list(struct store *store, struct night **out, size_t *n, struct assay_error *err);
void night_list_free(struct night *nights, size_t n);

/* Finds the night whose id starts with `id`; NULL means the latest. ASSAY_E_NOTFOUND: there is none. The caller calls night_release(). */
enum assay_status night_find(struct store *store, const char *id, struct night *out, struct assay_error *err);
void night_release(struct night *night); /* Accepts a zeroed struct. */

#define NIGHT_STATE_ROWS(X)                                                                                                                \
	X(NIGHT_WAITING, "waiting", "not started yet")                                                                                     \
	X(NIGHT_MEASURING, "measuring", "begun")                                                                                           \
	X(NIGHT_CONFIRMING, "confirming", "confirmation runs of a finding")                                                                \
	X(NIGHT_DECIDED, "decided", "decided")                                                                                             \
	X(NIGHT_UNREACHED, "unreached", "not reached before the deadline")                                                                 \
	X(NIGHT_CUT_OFF, "cut_off", "started, but no result before the deadline")

enum night_state { NIGHT_STATE_ROWS(ROWS_ENUM) NIGHT_STATES };

/* A comparison of one candidate with one baseline, for one application with one input, on some machines. A version is a name from the
 * manifest, or NAME-COMMIT: the commit (12 digits) to which git reference NAME pointed at the night's start. All commands accept both. */
struct night_comparison {
	int64_t number;		    /* number within the night, from 1 */
	char *manifest;		    /* name of the manifest in apps/ */
	char *application, *input;  /* application as in the results, NAME or NAME/INPUT; name of the input, "" if there is none */
	char *candidate, *baseline; /* names of versions; `baseline` is "" if there is none */
	char *baseline_kind;	    /* kind of baseline: accepted, release, previous or version */
	char *hosts;		    /* node set; "" means all hosts */
	double min_effect, budget_s;
	double min_gain; /* smallest change that counts as an improvement; 0 means min_effect */
	enum night_state state;
	char plan[DIGEST_ID_BYTES],
	    confirmation_plan[DIGEST_ID_BYTES]; /* ids of the plans of the runs and of the confirmation runs; "" if there is no plan */
	char decision[DIGEST_ID_BYTES];		/* id of the decision; "" if undecided */
	char *detail;				/* reason or problem, one line; "" if there is none */
	double seconds;
	/* Not stored. `cut`: the deadline cut the budget before there was a decision. `improved`: the finding is an improvement; the night
	 * confirms improvements after all regressions. */
	bool cut, improved;
};

struct night_comparisons {
	struct night_comparison *items; /* [n], sorted by number */
	size_t n;
};

enum assay_status night_comparisons_load(struct store *store, const char *night, struct night_comparisons *out, struct assay_error *err);
void night_comparisons_release(struct night_comparisons *comparisons); /* Accepts a zeroed struct. */

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

/* Loads the decisions on an application in a night, without those made after `until_ms`. NULL means all applications or all nights. */
enum assay_status night_decisions_load(struct store *store, const char *application, const char *night, int64_t until_ms,
				       struct night_decisions *out, struct assay_error *err);
void night_decisions_release(struct night_decisions *decisions); /* Accepts a zeroed struct. */

/* Computes the digest of all stored data of a decision, except its id and time, into `out`. If the decision is intact, this is its id. */
enum assay_status night_compute_digest(struct store *store, const char *id, char out[DIGEST_ID_BYTES], struct assay_error *err);

/* Finds the only decision whose id starts with `id`. Returns ASSAY_E_NOTFOUND if there is none, ASSAY_E_USAGE if there are several. */
enum assay_status night_decision_find(struct store *store, const char *id, struct night_decisions *out, struct assay_error *err);

/* Stores a new night with its comparisons in one transaction. Sets the night's id and the numbers of the comparisons. */
enum assay_status night_begin(struct store *store, struct night *night, struct night_comparisons *comparisons, struct assay_error *err);
/* Finds the latest night that has not finished. Returns ASSAY_E_NOTFOUND if there is none. */
enum assay_status night_find_unfinished(struct store *store, struct night *out, struct assay_error *err);
/* Stores the notes that were added after the last call. */
enum assay_status night_store_notes(struct store *store, struct night *night, struct assay_error *err);
/* Stores the state, plans, decision, detail and time of a comparison. */
enum assay_status night_update(struct store *store, const struct night *night, const struct night_comparison *comparison,
			       struct assay_error *err);
/* Stores a decision and enters its id in the comparison, in one transaction. */
enum assay_status night_decide(struct store *store, const struct night *night, struct night_comparison *comparison,
			       const struct judge_request *request, const struct judgement *judged, struct assay_error *err);
enum assay_status night_finish(struct store *store, struct night *night, struct assay_error *err);

#endif
