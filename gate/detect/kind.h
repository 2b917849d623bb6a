/* Determines the kind of trouble of a function from its counters in new and in normal runs. "More calls" is the leading kind if calls make
 * up most of the factor by which a run costs more. Otherwise counters indicate kinds (counters.h). The kind whose additional events have
 * the largest approximate cost leads. Other kinds of considerable cost are further kinds. */
#ifndef GATE_DETECT_KIND_H
#define GATE_DETECT_KIND_H

#include "base/buf.h"
#include "gate/detect/counters.h"
#include "model/anomaly/detector.h"

#define KIND_FURTHER_MAX  4
#define KIND_FURTHER_PART .03 /* minimum cost of a further kind, as a fraction of the leading kind; costs are only orders of magnitude */

struct kind {
	enum trouble trouble; /* leading kind; for an improvement, the trouble that decreased */
	enum trouble
	    further_kinds[KIND_FURTHER_MAX]; /* [n_further_kinds], distinct further kinds by cost, which changed in the same direction */
	size_t n_further_kinds;
	bool improved;		     /* something decreased, and nothing of comparable cost increased */
	bool is_negligible;	     /* all changes of means are negligible, even if certain */
	bool spread;		     /* `is_negligible`, although single calls differ much: calls divide the same work differently */
	bool has_grown;		     /* the work of a run increased */
	double calls;		     /* calls now per normal call; 1 if chance explains the difference */
	double each;		     /* time or work of a call, now / normal; 1 if neither is known */
	double run_ns;		     /* approximate added cost of a run, ns per call that a run normally had; negative if cost was saved */
	double run_events[TROUBLES]; /* added cost by the kind that the events indicate, in the unit of run_ns */
	size_t column;		     /* column of the observations that decided; SIZE_MAX if there is none */
	double added_cost_ns;	     /* run_ns without changes that do not matter; negative if cost was saved */
	double own_ns;	      /* added_cost_ns without misses, which depend on the contents of caches; the measured time if available */
	double misses_ns;     /* cost of the additional misses of a call in caches and TLB, ns, whatever their cause */
	bool has_only_misses; /* only misses increased, not work or events of the function: another function may be the cause */
	double misses_by_kind_ns[TROUBLES]; /* added cost of the misses of a call by kind, ns; negative if saved; 0 if by chance */
	double lines;			    /* additional cache lines that a call misses */
	double allocated_bytes;		    /* additional bytes that a call allocates */
	double branches;		    /* additional branches that a call mispredicts */
	bool has_only_branches;		    /* only mispredicted branches increased: another function may be the cause */
};

/* Determines the kind from the function's means; unknown without means. `seen`: observations of the new side. `error_ns`: possible errors
 * of the mean durations, normal and now, in the same direction. `without`: a bit per kind of trouble to ignore. Costs O(columns^2). */
struct kind kind_classify(enum record_back_end back_end, const struct observations *seen, const struct detection_function *function,
			  const double error_ns[2], uint32_t without);

/* Reports whether `trouble` is the leading kind or a further kind. */
bool kind_has(const struct kind *kind, enum trouble trouble);

/* Appends the leading kind as text for users, then each further kind after `also` ("; also "). If improved, says what decreased. */
void kind_text(const struct kind *kind, const char *also, struct buf *out);

#endif
