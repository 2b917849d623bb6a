/* The cost of an application from version to version, merged over machines of one architecture, and where it changed. */
#ifndef GATE_NIGHTLY_HISTORY_H
#define GATE_NIGHTLY_HISTORY_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/nightly/night.h"
#include "model/change_points.h"
#include "runs/running/evidence.h"

/* The results of one version from one plan; of imported ones, of one day. */
struct history_point {
	char *version, *plan; /* plan "": imported */
	int64_t taken_ms;     /* of its first result */
	int64_t since_ms;     /* of the first result of its version */
	size_t machines, runs;
	double cost; /* merged over machines, without what each of them costs more than others: log, of the metric or of its reciprocal */
	double *on;  /* [n_machines], the same on each, the median; NaN: it did not run there */
	const struct night_decision
	    *decision; /* the worst of the last night that has one on its version, a finding until a later one decides; NULL: none */
};

/* A change, with the points [begin, end) around it that have no other one. */
struct history_change {
	size_t begin, at, end;
	size_t machine;	      /* that has it alone; SIZE_MAX: it is not one machine's */
	double before, after; /* medians */
};

struct history_architecture {
	char *name;
	size_t results;
};

/* By what it is judged: the metric, of runs the median; or their CPU time, the mean, which a busy machine hardly moves. */
enum history_by { HISTORY_METRIC, HISTORY_PROCESSOR, HISTORY_DECIDED /* as its last finding, else its last decision */ };

/* All runs of a version. */
struct history_tried {
	char *version;
	int64_t taken_ms; /* the first one */
	int64_t failed, runs;
	size_t since; /* the first of these versions from which on each failed more often than all before it; SIZE_MAX: this one did not */
};

struct history {
	char *application;
	enum history_by by;		     /* not HISTORY_DECIDED */
	size_t without;			     /* points that are not there, since nothing is known of their CPU time */
	char *architecture;		     /* NULL where none is known */
	struct history_architecture *others; /* [n_others], which are excluded */
	size_t n_others;
	bool higher_is_better;
	char **machines; /* [n_machines], by name */
	size_t n_machines;
	struct history_point *points; /* [n], by version, in the order of their first results, then by time */
	size_t n;
	double min_effect;	      /* the smallest change that matters */
	struct change_points changes; /* of the merged costs */
	struct history_change *told;  /* [n_told]: these; then those on one machine, and within one version, where the merged costs stay */
	size_t n_told;
	struct night_decisions decisions;
	struct history_tried *tried; /* [n_tried], all versions, also those without a point, in the order of their first runs */
	size_t n_tried;
	int64_t failed, runs;		     /* of all versions */
	const struct night_decision *denied; /* one of a change that the costs of its versions do not show; NULL: none */
};

/* application as in results, NAME or NAME/INPUT. by: HISTORY_DECIDED is the metric where nothing was decided. architecture: NULL is that of
 * most results; those of which it is not known count with any. min_effect: 0 is that of the last comparison that decided, else the
 * laboratory's. until_ms: what was measured or decided later is excluded; INT64_MAX: nothing is. Versions that nights decided to be slower
 * or faster begin a level of their own. *out is overwritten; history_release() it. ASSAY_E_NOTFOUND where there are no results. */
enum assay_status history_load(struct lab *lab, const struct evidence *evidence, const char *application, const char *architecture,
			       enum history_by by, double min_effect, int64_t until_ms, struct history *out, struct assay_error *err);
void history_release(struct history *history); /* accepts zeroed */

/* Fills the document: the outcome, a picture for pages, changes, modes, points. Returns its summary ("changed at VERSION"); free() it. */
char *history_answer(const struct history *history, struct document *d);
#endif
