/* Which columns make a function's anomalous samples anomalous. */
#ifndef MODEL_ANOMALY_CAUSE_H
#define MODEL_ANOMALY_CAUSE_H

#include "model/anomaly/detector.h"

/* n samples of one function. parts [n x p] of their errors by column, toward [n x p] with the sign of the distance from what was expected; values [n x p]
 * in the columns' units, normal [p] medians, moved [p]: a difference of medians that matters, in the columns' units; anomalous [n]. The leading column of a sample is that
 * with the largest part (of equal ones: the first). *columns: those with a vote or a hundredth of the error, by votes, then by part; the caller's, NULL when
 * there is none. Returns how many. */
size_t cause_columns(const struct mat *parts, const struct mat *toward, const struct mat *values, const double *normal, const double *moved,
		const bool *anomalous, struct detection_column **columns);

/* By votes, then by part, then by place. */
void cause_sort(struct detection_column *columns, size_t n);

#endif
