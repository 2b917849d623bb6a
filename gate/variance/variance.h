/* Finds where and when a run was slow: clusters of fragments with the same work, their usual times, maps of processes and time, regions in
 * which work was slow, and the causes of their losses. After VAPRO (Zheng and others, PPoPP 2022), with two differences. The usual time
 * comes from blocks of fragments, not from the fastest one (model/variance/usual.h). A region starts as a stretch of time that stands out
 * from the rest of its process (model/variance/slow_spans.h), and is joined with simultaneous stretches of other processes. */
#ifndef GATE_VARIANCE_VARIANCE_H
#define GATE_VARIANCE_VARIANCE_H

#include "base/mat.h"
#include "gate/variance/breakdown.h"
#include "gate/variance/fragments.h"

#define VARIANCE_THRESHOLD .85	/* usual time / time below which work is slow; published value */
#define VARIANCE_LEAST	   .01	/* default least cost of a region, as a share of the run's time */
#define VARIANCE_REPEATED  5	/* least number of fragments in a cluster of repeated work; published value */
#define VARIANCE_COLUMNS   200	/* maximum number of columns of a map */
#define VARIANCE_COLUMN_S  .005 /* least width of a column, s */
#define VARIANCE_NONE	   SIZE_MAX

struct variance_options {
	double threshold;
	double least_s; /* least cost of a region, s; NaN: VARIANCE_LEAST of the run's time */
	/* Region that the user marked; from_s >= to_s: none. */
	int64_t marked_rank; /* rank; without ranks, the process id or the index of the process */
	double marked_from_s, marked_to_s;
	struct variance_known *known; /* usual times in earlier windows; NULL: none */
};

/* Creates a memory of usual times in earlier windows, which shows work that is slow during a whole window. The memory forgets gradually. */
struct variance_known *variance_known_new(void); /* freed by the caller */

/* Fragments of one edge or vertex of the graph with the same work. */
struct cluster {
	uint32_t from, to; /* indices of sites; from: FRAGMENT_NO_SITE for a call */
	uint64_t arguments;
	enum activity activity;
	enum basis basis;
	size_t n;      /* number of recorded fragments */
	double weight; /* number of fragments that the recorded fragments represent */
	double time_s; /* total time of the represented fragments */
	double work;   /* mean work of a fragment */
	double usual_s, slow_s;
	bool repeated;
};

struct heat_map {
	struct mat time;     /* [processes x columns] time of repeated work, s */
	struct mat expected; /* [processes x columns] usual time of that work, s */
	double repeated_s;
};

struct region_member {
	size_t process;
	double from_s, to_s;
	double time_s, expected_s; /* time of repeated work in the interval, and usual time of this work, s */
	double loss_s;		   /* time_s - expected_s */
	double error_s;		   /* standard error of loss_s, because a record may represent several calls */
	double estimated_s;	   /* loss_s extrapolated to the time between the fragments; sum over threads */
	double beside;		   /* mean number of threads that do such work at the same time, at least 1 */
	size_t fragments;
	bool throughout; /* lasts as long as the process */
};

struct region {
	enum activity activity;
	bool condition; /* time withheld for `cause`, by the kernel's counters (conditions.h) */
	enum loss_cause cause;
	bool rest;		       /* condition that does not stand out: all of the process's time was like this condition */
	struct region_member *members; /* [n] members in order of discovery; at most one member per process */
	size_t n;
	double from_s, to_s;
	double time_s, expected_s, loss_s, estimated_s; /* sums over the members */
	double elapsed_s; /* run time that the member with the largest loss lost: threads lose time in parallel */
	size_t fragments;
	double verified;   /* share of time_s in clusters whose fragments certainly did the same work */
	size_t caused_by;  /* index of the region that this region waited for; VARIANCE_NONE: unknown */
	size_t waited_for; /* process that the first member waited for, by the calls' partners; VARIANCE_NONE: unknown */
	bool waits;	   /* communication: the loss is a consequence of other processes */
	bool marked;
	bool unproved;	  /* more work, or a later message, may explain the loss: no counter excludes this explanation */
	bool work;	  /* more work, not counted, is likely: CPU time grew too much for another cause */
	const char *peer; /* "ADDRESS:PORT" of the connection with most of the loss in communication; NULL: none, or unknown */
	struct breakdown why;
};

struct variance {
	struct fragments fragments;
	struct cluster *clusters; /* [n_clusters] */
	size_t n_clusters;
	double column_s;
	size_t columns;
	struct heat_map maps[ACTIVITY_MAPS];
	double activity_s[ACTIVITIES]; /* time of all threads that the fragments represent */
	double total_s;		       /* time of all threads, from the first to the last fragment */
	double covered_s;	       /* time in repeated clusters of activities with maps */
	double verified_s;	       /* part of covered_s whose work is known */
	double least_s, threshold;
	bool known;		/* usual times of computation in earlier windows are known */
	struct region *regions; /* [n_regions] marked regions, then by cost, then likely more work, then consequences of other regions */
	size_t n_regions;
	struct region_member *conditions; /* [n_conditions] conditions, whose time belongs to no other region (conditions.h) */
	size_t n_conditions, conditions_capacity;
};

/* Analyses fragments and takes ownership of them. O(n log n). *out is overwritten; variance_release() frees it. ASSAY_E_NOTFOUND: the
 * marked region has no process, or no repeated computation. */
enum assay_status variance_of(struct fragments *fragments, const struct variance_options *options, struct variance *out,
			      struct assay_error *err);
void variance_release(struct variance *variance); /* accepts a zeroed struct */

/* Returns the time of each run [n_runs] / that of the median run, *usual_s; the caller frees it. A run is slow above 1 / threshold. */
double *variance_runs_times(const struct variance *v, double *usual_s);

/* Finds the clusters and the usual time of each, and sets `cluster` of all fragments. A step of variance_of(). */
void fragment_clusters_find(struct variance *v);
/* Returns the run time that the member lost, s; at most to_s - from_s. */
double region_elapsed_s(const struct region_member *member);
/* Returns the column of the maps that contains `at_s`. */
size_t variance_column(const struct variance *v, double at_s);
/* Returns "12.3 s" or "45 ms"; the caller frees it. */
char *variance_seconds(double s);

#endif
