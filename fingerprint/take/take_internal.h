/* Shared by the files take*.c. */
#ifndef FINGERPRINT_TAKE_TAKE_INTERNAL_H
#define FINGERPRINT_TAKE_TAKE_INTERNAL_H

#include "fingerprint/take/session.h"
#include "fingerprint/take/take.h"
#include "fleet/agent/agent.h"
#include "fleet/agent/counting_client.h"
#include "fleet/agent/facts.h"
#include "fleet/agent/measure.h"

enum stage {
	STAGE_FACTS,
	STAGE_VERSION,
	STAGE_SWEEP,
	STAGE_CLEAN,
	STAGE_DIRECTORY,
	STAGE_CELL,
	STAGE_PLAN,   /* which counters in which runs */
	STAGE_DEPLOY, /* the program that counts, where it is missing; then STAGE_PLAN again */
	STAGE_COUNT,
	STAGE_REPORT,
	STAGE_REMOVE,
	STAGE_AFTER,
};

/* Counters of one host. */
struct take_counters {
	struct counting_plan plan;
	bool *done;          /* [plan.n x battery->n] */
	size_t run, entry;   /* what is being counted; run from 0 */
	double operations;   /* of that run, until its report has come */
	int64_t wall_ns;
	char *report;        /* its path on the host */
	bool deployed;
};

struct take_host {
	const struct host *host;
	enum stage stage;
	struct facts before;
	char *directory;     /* for stress-ng's files, on a tmpfs of the host, of this session alone */
	char version[STRESSNG_VERSION_BYTES];
	struct taking session;
	int64_t pass;        /* the cell that is being measured */
	size_t entry;
	int64_t started_ms;
	int64_t cgroup;      /* in which all cells were measured: 0 none, 1, 2; -1: no cell yet */
	struct take_counters counters;
	char *fault;         /* why this host ended early */
};

struct take {
	struct agent agent; /* first member */
	struct lab *lab;
	struct catalog *catalog;
	const struct take_options *options;
	struct take_result *results;
	struct take_host *hosts; /* [n] */
	size_t n, cells_done, cells_total;
	int64_t longest_ms; /* of the battery's stressors */
	struct measure_turns turns;
	int64_t bring_in_ms;       /* by engine_now_ms(): not again before */
	struct assay_error fault; /* of the store: ends everything */
	bool failed;
};

/* A fault of our own store, which ends every host. Returns false. */
bool take_store_failed(struct take *take, struct take_host *h, const struct assay_error *err);

/* ---- one stressor: take_cell.c ---- */

/* prefix[n]: words in front of stress-ng's. */
void take_request_cell(const struct take *take, const struct take_host *h, size_t entry, const char *const *prefix, size_t n,
		       struct helper_request *request);
/* The answer to take_request_cell(): why there is no measurement, free() it; NULL when there is one, in *metrics. *text is what stress-ng
 * wrote; free() it. */
char *take_judge(const struct take *take, struct take_host *h, size_t entry, const struct helper_answer *answer,
		 struct stressng_metrics *metrics, char **text);
void take_progress(struct take *take, const struct take_host *h);

/* ---- counters: take_counters.c ---- */

/* Where the host goes after its last cell: STAGE_PLAN, STAGE_COUNT, or STAGE_REMOVE when there is nothing to count.
 * take->failed after a fault of our store. */
enum stage take_counters_begin(struct take *take, size_t index);
/* The request of one of its stages. */
void take_counters_request(const struct take *take, const struct take_host *h, struct helper_request *out);
/* Takes the answer of one of its stages, and moves h->stage on. False only for a fault of our store: no counters are no reason to lose a
 * fingerprint. */
bool take_counters_advance(struct take *take, size_t index, const struct helper_answer *answer);
void take_counters_release(struct take_counters *counters);

#endif
