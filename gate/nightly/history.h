/* What an application has cost over versions and nights, merged over machines of one architecture, and where that changed for good. */
#ifndef GATE_NIGHTLY_HISTORY_H
#define GATE_NIGHTLY_HISTORY_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "model/change_points.h"
#include "runs/running/evidence.h"

/* The results of one version from one plan; of imported ones, of one day. */
struct history_point {
	char *version, *plan; /* plan "": imported */
	int64_t taken_ms;     /* of its first result */
	size_t machines, runs;
	double cost;  /* merged over machines, without what each of them costs more than others: log, of the metric or of its reciprocal */
	double *on;   /* [n_machines], the same on each, the median; NaN: it did not run there */
	double *rate; /* [n_machines], of their fingerprints: mean log rate; NaN: none belongs to it */
};

struct history_architecture {
	char *name;
	size_t results;
};

/* By what it is judged: the metric, of runs the median; or their processor time, the mean, which a busy machine hardly moves. */
enum history_by { HISTORY_METRIC, HISTORY_PROCESSOR, HISTORY_DECIDED /* by what decided its last comparison */ };

struct history {
	char *application;
	enum history_by by;		     /* not HISTORY_DECIDED */
	size_t without;			     /* points that are not there, since nothing is known of their processor time */
	char *architecture;		     /* NULL where none is known */
	struct history_architecture *others; /* [n_others], which are left out */
	size_t n_others;
	bool higher_is_better;
	char **machines; /* [n_machines], by name */
	size_t n_machines;
	struct history_point *points; /* [n], by time */
	size_t n;
	struct change_points changes;
};

/* application as in results, NAME or NAME/INPUT. by: HISTORY_DECIDED is the metric where nothing was decided. architecture: NULL is that of
 * most results; those of which it is not known count with any. *out is overwritten; history_release() it. ASSAY_E_NOTFOUND where there are
 * no results. */
enum assay_status history_load(struct lab *lab, const struct evidence *evidence, const char *application, const char *architecture,
			       enum history_by by, double min_effect, struct history *out, struct assay_error *err);
void history_release(struct history *history); /* accepts zeroed */

/* Fills the document: the outcome, a picture for pages, changes, modes, points. */
void history_answer(const struct history *history, double min_effect, struct document *d);
#endif
