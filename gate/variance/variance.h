/* Finds where and when a run was slow: clusters of fragments with the same work, their usual times, maps of processes and time, regions in
 * which work was slow, and the causes of their losses. The method is VAPRO's (Zheng and others, PPoPP 2022), with two differences. The
 * usual time comes from blocks of fragments, not from the fastest fragment (model/variance/usual.h). A region starts as a stretch of time
 * that stands out from the rest of its process (model/variance/slow_spans_find.h), and simultaneous stretches of other processes join it.
 */
#ifndef GATE_VARIANCE_VARIANCE_H
#define GATE_VARIANCE_VARIANCE_H

#include "base/mat.h"
#include "gate/variance/breakdown.h"
#include "gate/variance/fragments.h"

#define VARIANCE_THRESHOLD    .85  /* ratio usual time / time below which work is slow; published value */
#define VARIANCE_COST_MIN     .01  /* default minimum cost of a region, as a fraction of the run's time */
#define VARIANCE_REPEATED_MIN 5	   /* minimum number of fragments in a cluster of repeated work; published value */
#define VARIANCE_COLUMNS      200  /* maximum number of columns of a map */
#define VARIANCE_COLUMN_S     .005 /* minimum width of a column, s */
#define VARIANCE_NONE	      SIZE_MAX

struct variance_options {
	double threshold;
	double least_s; /* minimum cost of a region, s; NaN means VARIANCE_COST_MIN of the run's time */
	/* Region that the user marked; from_s >= to_s if there is none. */
	int64_t marked_rank; /* rank; if the run has no ranks, process id or index of the process */
	double marked_from_s, marked_to_s;
	struct variance_usual_memory *known; /* usual times in earlier windows; NULL if there are none */
};

/* Creates a memory of usual times in earlier windows, which shows work that is slow during a whole window. Old times are slowly
 * forgotten. */
struct variance_usual_memory *variance_usual_memory_new(void); /* The caller frees it. */

/* Fragments of one edge or vertex of the graph that did the same work. */
struct cluster {
	uint32_t from, to; /* indices of sites; `from` is FRAGMENT_NO_SITE for a call */
	uint64_t arguments;
	enum activity activity;
	enum basis basis;
	size_t n;      /* number of recorded fragments */
	double weight; /* number of fragments that the recorded ones represent */
	double time_s; /* total time of the represented fragments, s */
	double work;   /* mean work of a fragment */
	double usual_s, slow_s;
	bool repeated;
};

struct heat_map {
	struct mat time;     /* [processes x columns], time of repeated work, s */
	struct mat expected; /* [processes x columns], usual time of this work, s */
	double repeated_s;
};

struct region_member {
	size_t process;
	double from_s, to_s;
	double time_s, expected_s; /* time of repeated work in the interval, and its usual time, s */
	double loss_s;		   /* time_s - expected_s */
	double error_s;		   /* standard error of loss_s, s: a record may represent several calls */
	double estimated_s;	   /* loss_s extrapolated to the time between the fragments, s; sum over the threads */
	double n_simultaneous;	   /* mean number of threads that do such work at the same time, at least 1 */
	size_t fragments;
	bool throughout; /* lasts as long as the process */
};

struct region {
	enum activity activity;
	bool condition; /* a condition: `cause` kept the process from running, by the kernel's counters (conditions.h) */
	enum loss_cause cause;
	bool is_remainder;	       /* a condition that does not stand out: the processes were in this condition all the time */
	struct region_member *members; /* [n], in order of discovery; at most one member per process */
	size_t n;
	double from_s, to_s;
	double time_s, expected_s, loss_s, estimated_s; /* sums over the members, s */
	double elapsed_s; /* run time that the member with the largest loss lost, s; threads lose time in parallel */
	size_t fragments;
	double verified;       /* fraction of time_s in clusters whose fragments certainly did the same work */
	size_t causing_region; /* index of the region that this region waited for; VARIANCE_NONE if unknown */
	size_t waited_for;     /* process that the first member waited for, by the partners of its calls; VARIANCE_NONE if unknown */
	bool waits;	       /* communication: the loss is a consequence of other processes */
	bool marked;
	bool work_not_excluded; /* more work, or a later message, can explain the loss: no counter excludes it */
	bool work;		/* more work is likely, though it was not counted: no other cause needs that much more CPU time */
	const char *peer; /* "ADDRESS:PORT" of the connection with most of the communication loss; NULL if there is none or it is unknown */
	struct breakdown breakdown;
};

struct variance {
	struct fragments fragments;
	struct cluster *clusters; /* array of n_clusters elements */
	size_t n_clusters;
	double column_s;
	size_t columns;
	struct heat_map maps[ACTIVITY_MAPS];
	double activity_s[ACTIVITIES]; /* time of all threads that the fragments represent, s */
	double total_s;		       /* time of all threads from the first to the last fragment, s */
	double covered_s;	       /* time in repeated clusters of activities with maps, s */
	double verified_s;	       /* part of covered_s whose work is known, s */
	double least_s, threshold;
	bool known;		/* usual times of computation in earlier windows are known */
	struct region *regions; /* [n_regions]: marked ones, others by cost, likely more work, consequences of other regions */
	size_t n_regions;
	struct region_member *conditions; /* [n_conditions], conditions, whose time belongs to no other region (conditions.h) */
	size_t n_conditions, conditions_capacity;
};

/* Analyses fragments, and takes ownership of them. Returns ASSAY_E_NOTFOUND if there is no process or no repeated computation in the marked
 * region. Overwrites *out; the caller calls variance_release(). Costs O(n log n). */
enum assay_status variance_analyse(struct fragments *fragments, const struct variance_options *options, struct variance *out,
				   struct assay_error *err);
void variance_release(struct variance *variance); /* Accepts a zeroed struct. */

/* Returns for each run [n_runs] its time divided by that of the median run; the caller frees the array. Sets *usual_s to the latter. A run
 * is slow if the ratio is above 1 / threshold. */
double *variance_runs_times(const struct variance *v, double *usual_s);

/* Finds the clusters and their usual times. Sets `cluster` of all fragments. This is a step of variance_analyse(). */
void fragment_clusters_find(struct variance *v);
/* Returns the run time that the member lost, s, at most to_s - from_s. */
double region_elapsed_s(const struct region_member *member);
/* Returns the column of the maps that contains at_s. */
size_t variance_column(const struct variance *v, double at_s);
/* Returns a time as text, such as "12.3 s" or "45 ms". The caller frees it. */
char *variance_format_seconds(double s);

#endif
