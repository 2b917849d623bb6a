/* Computes how the cost of an application changed over its versions. The costs of machines of one architecture are merged. */
#ifndef GATE_NIGHTLY_HISTORY_H
#define GATE_NIGHTLY_HISTORY_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/nightly/night.h"
#include "model/change_points.h"
#include "runs/running/evidence.h"

/* Results of one version from one plan. Imported results have no plan and are grouped by day. */
struct history_point {
	char *version, *plan; /* `plan` is "" for imported results */
	int64_t taken_ms;     /* time of the first result of this point, ms since 1970 */
	int64_t since_ms;     /* time of the first result of this version in any plan, ms since 1970 */
	size_t machines, runs;
	double cost;			       /* log of the metric (of its reciprocal if higher is better), merged over machines */
	double *machine_costs;		       /* [n_machines], log of the median cost on each machine; NaN if no run exists there */
	const struct night_decision *decision; /* worst decision on this version in the last night; NULL if none */
};

/* A change of the cost at the point with index `at`. The points from index `begin` up to `end` (exclusive) contain no other change. */
struct history_change {
	size_t begin, at, end;
	size_t machine;	      /* index of the only machine that shows the change; SIZE_MAX if it is a change of the merged costs */
	double before, after; /* log costs before and after the change */
};

struct history_architecture {
	char *name;
	size_t results;
};

/* Source of the costs in a history: the metric (median of the runs) or the CPU time, which depends less on other load. */
enum history_cost_source {
	HISTORY_METRIC,
	HISTORY_PROCESSOR,
	HISTORY_DECIDED /* use the cost that the last finding was based on, or else the last decision */
};

/* Number of runs of one version. `runs` includes the failed runs. */
struct history_run_counts {
	char *version;
	int64_t taken_ms; /* time of the first run of this version, ms since 1970 */
	int64_t failed, runs;
	/* Index of the first version of the unbroken series that ends with this version, in which each version failed more often than
	 * those before the series. SIZE_MAX if this version is in no such series. */
	size_t since;
};

struct history {
	char *application;
	enum history_cost_source by;	     /* the metric or the CPU time; never HISTORY_DECIDED */
	size_t n_without_cpu_time;	     /* number of points excluded because their CPU time is unknown */
	char *architecture;		     /* architecture of the machines; NULL if unknown */
	struct history_architecture *others; /* [n_others], architectures whose results are excluded */
	size_t n_others;
	bool higher_is_better;
	char **machines; /* [n_machines], sorted by name */
	size_t n_machines;
	struct history_point *points; /* [n], grouped by version in the order of their first results, then sorted by time */
	size_t n;
	double min_effect;		 /* smallest relative change that matters, as a fraction */
	struct change_points changes;	 /* changes of the costs that were merged over machines */
	struct history_change *reported; /* [n_reported], changes to report: `changes`, then those on one machine or within one version */
	size_t n_reported;
	struct night_decisions decisions;
	struct history_run_counts *run_counts; /* [n_run_counts], all versions, even if all runs failed, in the order of their first runs */
	size_t n_run_counts;
	int64_t failed, runs; /* number of failed runs and of all runs, over all versions */
	const struct night_decision
	    *unconfirmed; /* finding that the merged costs of its two versions do not confirm; NULL if there is none */
};

/* Loads the history of an application, NAME or NAME/INPUT as in the results. A finding of a night starts a new level if the costs alone do
 * not show the change.
 *  by: HISTORY_DECIDED means the cost that the nights' decisions used; the metric if there is no decision.
 *  architecture: NULL selects the architecture with most results. Results of unknown architecture always count.
 *  min_effect: 0 selects that of the last decided comparison, or else the laboratory's.
 *  until_ms: excludes later results and decisions; INT64_MAX excludes nothing.
 * Returns ASSAY_E_NOTFOUND if there are no usable results. Overwrites *out; the caller releases it by history_release(). */
enum assay_status history_load(struct lab *lab, const struct evidence *evidence, const char *application, const char *architecture,
			       enum history_cost_source by, double min_effect, int64_t until_ms, struct history *out,
			       struct assay_error *err);
void history_release(struct history *history); /* Accepts a zeroed struct. */

/* Fills the document. Returns a summary such as "changed at VERSION", which the caller frees. */
char *history_describe(const struct history *history, struct document *d);
#endif
