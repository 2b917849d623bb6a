/* Do the two versions stand at the same places in the order of the repetitions? What changes from one repetition to the next on many
 * machines at once (caches that are still cold, a disk that fills up) looks like a change of the version where they do not.
 * docs/evidence/statistics.md: "Repetitions that did not take turns". */
#ifndef GATE_DECIDE_ORDER_H
#define GATE_DECIDE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Results of both versions that were compared with each other: on one machine, in one session. */
struct order_series {
	size_t type;             /* hardware type */
	size_t n[2];             /* repetitions of the baseline, of the candidate; at least one each */
	int64_t *repetition[2];  /* [n] their numbers */
	double *log_cost[2];     /* [n] */
	bool turns;              /* they took turns: the order cancels out whatever the numbers */
};

struct order_list {
	struct order_series *items; /* [n] */
	size_t n, capacity;
};

/* Copies the numbers and the values; all of them above 0. */
void order_add(struct order_list *list, size_t type, bool turns, const size_t n[2], const int64_t *const repetition[2],
	       const double *const cost[2], bool higher_is_better);
void order_release(struct order_list *list); /* accepts zeroed */

struct order {
	size_t series, apart;    /* all of them, and those in which the sides' repetitions are not the same ones */
	bool apart_mostly;       /* more than half are */
	int direction;           /* 1: in most series all of the candidate's come after the baseline's, -1: before; 0: neither */
	double error, df;        /* standard error of the log ratio by what repetitions of one side do on all types together, and its degrees
				  * of freedom; 0 when they do nothing, or it cannot be told */
	double spread;           /* that effect of one repetition as a standard deviation of logs; 0 as above */
};

/* Fewer than three types say nothing of what they have in common: then error and spread are 0. */
struct order order_of(const struct order_list *list, size_t n_types);

#endif
