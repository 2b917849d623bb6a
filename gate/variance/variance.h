/* Finds where and when a run was slow: clusters of fragments that did the same work, the usual time of each, maps of processes and time,
 * regions in which work was slow, and the causes of their losses. After VAPRO (Zheng and others, PPoPP 2022), with two differences. The
 * usual time comes from blocks of fragments, not from the fastest one (model/variance/usual.h). A region starts as a stretch of time that
 * stands out from the rest of its process (model/variance/slow_spans.h), and is joined with those of other processes at the same time. */
#ifndef GATE_VARIANCE_VARIANCE_H
#define GATE_VARIANCE_VARIANCE_H

#include "base/mat.h"
#include "gate/variance/breakdown.h"
#include "gate/variance/fragments.h"

#define VARIANCE_THRESHOLD .85	/* performance below which work is slow; as published */
#define VARIANCE_LEAST	   .01	/* default of the least cost of a region, as a part of the run's time */
#define VARIANCE_REPEATED  5	/* least fragments of a cluster of repeated work; as published */
#define VARIANCE_COLUMNS   200	/* most columns of a map */
#define VARIANCE_COLUMN_S  .005 /* least width of a column */
#define VARIANCE_NONE	   SIZE_MAX

struct variance_options {
	double threshold;
	double least_s; /* least cost of a region; NaN: VARIANCE_LEAST of the run's time */
	/* A region that the user named; from_s >= to_s: none. */
	int64_t marked_rank; /* rank; without ranks, the process id, or the index from 0 */
	double marked_from_s, marked_to_s;
	struct variance_known *known; /* from earlier windows; NULL: none */
};

/* Usual times in earlier windows, so that work that is slow during a whole window is noticed. They are forgotten gradually. */
struct variance_known *variance_known_new(void); /* free() it */

/* Fragments of one edge or vertex that did the same work. */
struct cluster {
	uint32_t from, to; /* sites */
	uint64_t arguments;
	enum activity activity;
	enum basis basis;
	size_t n;      /* recorded fragments */
	double weight; /* number of fragments that they represent */
	double time_s; /* time of all of those */
	double work;   /* mean */
	double usual_s, slow_s;
	bool repeated;
};

struct heat_map {
	struct mat time;     /* [processes x columns] seconds of repeated work */
	struct mat expected; /* usual seconds of this work */
	double repeated_s;
};

struct region_member {
	size_t process;
	double from_s, to_s;
	double time_s, expected_s; /* time of its repeated work there, and the usual time of it */
	double loss_s;		   /* time - expected */
	double error_s;		   /* standard error of loss_s, since records may represent several calls */
	double estimated_s;	   /* loss if the time between the fragments was as slow; sum over the threads */
	double beside;		   /* mean number of threads in such work at once; at least 1 */
	size_t fragments;
	bool throughout; /* it lasts as long as the process */
};

struct region {
	enum activity activity;
	bool condition; /* the kernel's counters say that time was taken, for `cause` (conditions.h) */
	enum loss_cause cause;
	bool rest;		       /* condition: it stands out from nothing, all of the time was like this */
	struct region_member *members; /* [n], by process */
	size_t n;
	double from_s, to_s;
	double time_s, expected_s, loss_s, estimated_s; /* sums over the members */
	double elapsed_s;				/* run time lost by the member that lost most: threads lose time side by side */
	size_t fragments;
	double verified;   /* part of its time in clusters of known work */
	size_t caused_by;  /* region of other processes for which it waited; VARIANCE_NONE: not known */
	size_t waited_for; /* process for which its first one waited, by the calls' partners; VARIANCE_NONE: not known */
	bool waits;	   /* messages: its loss is a consequence of what others did */
	bool marked;
	bool unproved;	  /* it may have been more work, or a message that came later: no counter tells */
	bool work;	  /* most likely more work, not counted: it ran on the CPU, and was too slow for any other cause */
	const char *peer; /* "ADDRESS:PORT" of the connection on which it lost most time in communication; NULL: not known */
	struct breakdown why;
};

struct variance {
	struct fragments fragments;
	struct cluster *clusters; /* [n_clusters] */
	size_t n_clusters;
	double column_s;
	size_t columns;
	struct heat_map maps[ACTIVITY_MAPS];
	double activity_s[ACTIVITIES]; /* time of all threads, by what fragments represent */
	double total_s;		       /* time of all threads, from first to last fragment */
	double covered_s;	       /* time in repeated clusters, of the activities that have maps */
	double verified_s;	       /* part of covered_s in known work */
	double least_s, threshold;
	bool known;		/* usual times of computation are known from earlier windows */
	struct region *regions; /* [n_regions]: a marked one, then by cost, then likely more work, then consequences of others */
	size_t n_regions;
	struct region_member *conditions; /* [n_conditions] conditions, whose time belongs to no other region (conditions.h) */
	size_t n_conditions, conditions_capacity;
};

/* Analyses fragments and takes ownership of them. O(n log n). *out is overwritten; variance_release() it. ASSAY_E_NOTFOUND: the marked
 * region has no process. */
enum assay_status variance_of(struct fragments *fragments, const struct variance_options *options, struct variance *out,
			      struct assay_error *err);
void variance_release(struct variance *variance); /* accepts zeroed */

/* Returns the duration of each run / that of the median run, which is *usual_s. [n_runs], free() it. A run is slow above 1 / threshold. */
double *variance_runs_times(const struct variance *v, double *usual_s);

/* Steps of variance_of(). Finds clusters and the usual time of each, and numbers fragments by cluster. */
void fragment_clusters_find(struct variance *v);
/* Returns the run time that the member lost: at most the time between its ends. */
double region_elapsed_s(const struct region_member *member);
/* Returns the column of the maps at a moment. */
size_t variance_column(const struct variance *v, double at_s);
/* Returns "12.3 s" or "45 ms"; free() it. */
char *variance_seconds(double s);

#endif
