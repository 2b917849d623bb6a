/* Cost of an application over its versions, merged over machines of one architecture, and the versions at which it changed. */
#ifndef GATE_NIGHTLY_HISTORY_H
#define GATE_NIGHTLY_HISTORY_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/nightly/night.h"
#include "model/change_points.h"
#include "runs/running/evidence.h"

/* Results of one version from one plan; imported results are grouped by day instead. */
struct history_point {
	char *version, *plan; /* plan is "" for imported results */
	int64_t taken_ms;     /* time of this point's first result */
	int64_t since_ms;     /* time of the version's first result in any plan */
	size_t machines, runs;
	double cost; /* log of the metric, or of its reciprocal if higher is better; merged over machines, without their differences */
	double *on;  /* [n_machines], log of the median cost on each machine; NaN: no run there */
	const struct night_decision
	    *decision; /* worst decision of the last night that compared this version; a finding stays until a later decision; NULL: none */
};

/* A change at point `at`. The points from member `begin` up to `end` (exclusive) contain no other change. */
struct history_change {
	size_t begin, at, end;
	size_t machine;	      /* index of the only machine with this change; SIZE_MAX: several machines have the change */
	double before, after; /* median costs of the points before and after the change */
};

struct history_architecture {
	char *name;
	size_t results;
};

/* Source of the costs in a history: the metric (median of runs) or CPU time (mean of runs), which other load hardly changes. */
enum history_by { HISTORY_METRIC, HISTORY_PROCESSOR, HISTORY_DECIDED /* source of the last finding, or else of the last decision */ };

/* Number of runs of a version, including failed runs. */
struct history_tried {
	char *version;
	int64_t taken_ms; /* time of the version's first run */
	int64_t failed, runs;
	size_t since; /* index of the first of the versions up to this one that all failed more often than before; SIZE_MAX: none */
};

struct history {
	char *application;
	enum history_by by;		     /* never HISTORY_DECIDED */
	size_t without;			     /* number of points excluded because the CPU time is not known */
	char *architecture;		     /* NULL: not known */
	struct history_architecture *others; /* [n_others], excluded architectures */
	size_t n_others;
	bool higher_is_better;
	char **machines; /* [n_machines], sorted by name */
	size_t n_machines;
	struct history_point *points; /* [n], grouped by version in the order of first results, then by time */
	size_t n;
	double min_effect;	      /* smallest relative change that matters, as a fraction */
	struct change_points changes; /* changes of the costs merged over machines */
	struct history_change
	    *told; /* [n_told] changes to report: `changes`, then changes on one machine or within one version, which merged costs hide */
	size_t n_told;
	struct night_decisions decisions;
	struct history_tried *tried; /* [n_tried] all versions, including versions without a point, in the order of their first runs */
	size_t n_tried;
	int64_t failed, runs;		     /* numbers of failed and of all runs, over all versions */
	const struct night_decision *denied; /* finding that the costs of its versions do not confirm; NULL: none */
};

/* Loads the history of an application (NAME or NAME/INPUT, as in results). Versions that nights found slower or faster start a new level.
 * by: HISTORY_DECIDED means the metric if there is no decision. architecture NULL: the one with most results; results of unknown
 * architecture always count. min_effect 0: that of the last decided comparison, else the laboratory's. until_ms: excludes later results and
 * decisions; INT64_MAX: none. Overwrites *out; history_release() it. ASSAY_E_NOTFOUND: no results. */
enum assay_status history_load(struct lab *lab, const struct evidence *evidence, const char *application, const char *architecture,
			       enum history_by by, double min_effect, int64_t until_ms, struct history *out, struct assay_error *err);
void history_release(struct history *history); /* accepts a zeroed struct */

/* Fills the document: outcome, chart (pages only), changes, modes, points. Returns a summary ("changed at VERSION"); free() it. */
char *history_answer(const struct history *history, struct document *d);
#endif
