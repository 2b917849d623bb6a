/* Where and when a run was slow: clusters of fragments that did the same work, how fast each was, maps of processes and time, regions in
 * which work was slow, and what took the time there. After VAPRO (Zheng and others, PPoPP 2022); differences: what is usual is told from
 * blocks of fragments, not from the fastest one (model/variance/usual.h), and regions in time are stretches in which a process's times
 * stand out from the rest of its own (model/variance/slow_spans.h), which in one process after another are joined where they happened at
 * the same time. */
#ifndef GATE_VARIANCE_VARIANCE_H
#define GATE_VARIANCE_VARIANCE_H

#include "base/mat.h"
#include "gate/variance/breakdown.h"
#include "gate/variance/fragments.h"

#define VARIANCE_THRESHOLD .85	/* performance below which work is slow; as published */
#define VARIANCE_LEAST	   .01	/* of the run's time that a region must have cost, unless told otherwise */
#define VARIANCE_REPEATED  5	/* fragments, with which work is repeated; as published */
#define VARIANCE_COLUMNS   200	/* of a map, at most */
#define VARIANCE_COLUMN_S  .005 /* and at least so long */
#define VARIANCE_RARE	   .01	/* of the run's time, from which a cluster of fewer fragments is told */
#define VARIANCE_NONE	   SIZE_MAX

struct variance_options {
	double threshold;
	double least_s; /* a region that cost less is not told; NaN: VARIANCE_LEAST of the run */
	/* A region that the user names; from_s >= to_s: none. */
	int64_t marked_rank; /* or, of processes without ranks, their place from 0 */
	double marked_from_s, marked_to_s;
	struct variance_known *known; /* of the windows before this one; NULL: there are none */
};

/* What was usual in windows before: so work that was slow during all of a window is known to be. It is forgotten little by little. */
struct variance_known *variance_known_new(void); /* free() it */

/* Fragments of one edge or vertex that did the same work. */
struct cluster {
	uint32_t from, to; /* sites */
	uint64_t arguments;
	enum activity activity;
	enum basis basis;
	size_t n;      /* fragments that were recorded */
	double weight; /* that they stand for */
	double time_s; /* of all that they stand for */
	double work;   /* mean */
	double usual_s, slow_s;
	double loss_s; /* beyond the usual time, where that was slow */
	bool repeated;
};

struct map {
	struct mat time;     /* [processes x columns] seconds of repeated work that happened there */
	struct mat expected; /* what it usually takes */
	double time_s;	     /* of all fragments, repeated or not */
	double repeated_s;
};

struct region_member {
	size_t process;
	double from_s, to_s;
	double time_s, expected_s; /* of the repeated work there */
	double loss_s;		   /* time - expected */
	double error_s;		   /* its standard error: a record stands for calls that were not looked at */
	double estimated_s;	   /* the same, if what was not repeated there was slow alike; a sum over the threads */
	double beside;		   /* threads that did such work at the same time, in the mean; at least 1 */
	size_t fragments;
	bool throughout; /* as long as the process ran */
};

struct region {
	enum activity activity;
	struct region_member *members; /* [n], by process */
	size_t n;
	double from_s, to_s;
	double time_s, expected_s, loss_s, estimated_s; /* sums over the members */
	double elapsed_s; /* of the run's time, as threads and processes lose beside each other: of the member that lost most */
	size_t fragments;
	double verified;   /* part of its time that is in clusters whose work is known */
	size_t caused_by;  /* region of other processes that they waited for; VARIANCE_NONE: none is known */
	size_t waited_for; /* process that the first one waited for, by the calls' partners; VARIANCE_NONE: they do not say */
	bool waits;	   /* messages, whose loss is a consequence of what others did */
	bool marked;
	bool work;	  /* most likely more of it, which nothing counted: on the processor, and too slow for anything else */
	const char *peer; /* "ADDRESS:PORT" that most of what it lost in messages was for; NULL: that is not known */
	struct breakdown why;
};

/* A place where a process waited longer than it usually does there (long_waits.h). */
struct long_wait {
	size_t process;
	uint32_t site;
	bool lock;		/* it waited for a lock, which another thread or process held */
	bool sleeps;		/* of no usual length: it slept there again and again, and only then */
	bool recorded;		/* it waited for children that were recorded themselves */
	double calls;		/* that waited so long */
	double usual_s, loss_s; /* loss: what they waited beyond the usual time */
	double from_s, to_s;	/* of nearly all of it */
	/* What one thread of the process was doing until they ended: a call (from is FRAGMENT_NO_SITE), or from one to the next. */
	uint32_t holder, holder_from, holder_to;
	double held_s; /* of the longest of these waits; 0: nobody is known */
};

struct variance {
	struct fragments fragments;
	struct cluster *clusters; /* [n_clusters] */
	size_t n_clusters;
	double column_s;
	size_t columns;
	struct map maps[ACTIVITY_MAPS];
	double activity_s[ACTIVITIES]; /* all threads, what fragments stand for */
	double total_s;		       /* all threads, from first to last fragment */
	double covered_s;	       /* in repeated fixed work, of the activities that have maps */
	double verified_s;	       /* of that, where the work is known */
	double least_s, threshold;
	bool known;		/* what is usual in computation is known from windows before */
	struct region *regions; /* [n_regions], a marked one, then the most expensive first, then more work, then consequences of others */
	size_t n_regions;
	struct long_wait *waits; /* [n_waits], the most expensive first; only such as cost least_s */
	size_t n_waits;
	/* Where no region was found: what was slow, but no more so than chance makes of as few pieces; `fragments` is 0: nothing. */
	struct region_member chance;
	enum activity chance_activity;
};

/* Takes the fragments over. O(n log n). *out is overwritten; variance_release() it. ASSAY_E_NOTFOUND: there is no process for the marked
 * region. */
enum assay_status variance_of(struct fragments *fragments, const struct variance_options *options, struct variance *out,
			      struct assay_error *err);
void variance_release(struct variance *variance); /* accepts zeroed */

/* Of each of the runs, how many times as long as the median one it took; [n_runs], free() it. Slow: above 1 / threshold. */
double *variance_runs_times(const struct variance *v, double *usual_s);

/* For variance_of(): clusters of all fragments, whose numbers they get; and what is usual in each. */
void clusters_find(struct variance *v);
/* Brings what is usual in computation up to date, on both sides. False: there was no window before this one. */
bool known_apply(struct variance *v, struct variance_known *known);
/* And the regions of the maps. */
enum assay_status regions_find(struct variance *v, const struct variance_options *options, struct assay_error *err);
/* Once their breakdowns are known: which of them are the consequence of which. */
void regions_follow(struct variance *v);
void regions_release(struct variance *v);
/* What it lost of the run's time: no more than there is between its ends. */
double region_elapsed_s(const struct region_member *member);
/* Column of a moment. */
size_t variance_column(const struct variance *v, double at_s);
/* "12.3 s", "45 ms". free() it. */
char *variance_seconds(double s);

#endif
