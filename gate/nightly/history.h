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
	int64_t taken_ms;     /* time of its first result */
	int64_t since_ms;     /* time of the first result of its version */
	size_t machines, runs;
	double cost; /* cost merged over machines, without the differences between machines: log of the metric or of its reciprocal */
	double *on;  /* [n_machines], median cost on each machine, log as above; NaN: it did not run there */
	const struct night_decision
	    *decision; /* worst decision of the last night about its version; a finding stays until a later one decides; NULL: none */
};

/* A change at point `at`. The points from `begin` up to `end` (exclusive) around it have no other change. */
struct history_change {
	size_t begin, at, end;
	size_t machine;	      /* only machine that has it; SIZE_MAX: it is not limited to one machine */
	double before, after; /* medians */
};

struct history_architecture {
	char *name;
	size_t results;
};

/* The cost of a history: the metric (median of runs), or the CPU time (mean of runs), which a busy machine hardly changes. */
enum history_by { HISTORY_METRIC, HISTORY_PROCESSOR, HISTORY_DECIDED /* the cost of the last finding, else of the last decision */ };

/* All runs of a version, also failed ones. */
struct history_tried {
	char *version;
	int64_t taken_ms; /* time of the first run */
	int64_t failed, runs;
	size_t since; /* first of the versions up to this one that all failed more often than those before; SIZE_MAX: this one did not */
};

struct history {
	char *application;
	enum history_by by;		     /* never HISTORY_DECIDED */
	size_t without;			     /* number of points excluded because their CPU time is not known */
	char *architecture;		     /* NULL: not known */
	struct history_architecture *others; /* [n_others], excluded architectures */
	size_t n_others;
	bool higher_is_better;
	char **machines; /* [n_machines], by name */
	size_t n_machines;
	struct history_point *points; /* [n], by version, in the order of their first results, then by time */
	size_t n;
	double min_effect;	      /* smallest change that matters */
	struct change_points changes; /* changes of the merged costs */
	struct history_change
	    *told; /* [n_told] these; then changes on one machine or within one version that the merged costs do not show */
	size_t n_told;
	struct night_decisions decisions;
	struct history_tried *tried; /* [n_tried], all versions, also those without a point, in the order of their first runs */
	size_t n_tried;
	int64_t failed, runs;		     /* sums over all versions */
	const struct night_decision *denied; /* finding that the costs of its versions do not show; NULL: none */
};

/* Loads the history of an application (NAME or NAME/INPUT, as in results). by: HISTORY_DECIDED is the metric if nothing was decided.
 * architecture NULL: that of most results; results of unknown architecture count with any. min_effect 0: that of the last comparison that
 * decided, else the laboratory's. until_ms: later results and decisions are excluded; INT64_MAX: none are. Versions that nights found
 * slower or faster start a new level. *out is overwritten; history_release() it. ASSAY_E_NOTFOUND: there are no results. */
enum assay_status history_load(struct lab *lab, const struct evidence *evidence, const char *application, const char *architecture,
			       enum history_by by, double min_effect, int64_t until_ms, struct history *out, struct assay_error *err);
void history_release(struct history *history); /* accepts zeroed */

/* Fills the document: the outcome, a chart for pages, changes, modes, points. Returns its summary ("changed at VERSION"); free() it. */
char *history_answer(const struct history *history, struct document *d);
#endif
