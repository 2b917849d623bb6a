/* Which columns never vary, or follow another one: a linear function of it in all runs. */
#ifndef MODEL_SPARSE_COLUMNS_H
#define MODEL_SPARSE_COLUMNS_H

#include "model/sparse/sparse.h"

/* Overwrites column[X->cols], whose `counted` becomes false. Each follows the first that it does. O(rows * columns), and of those that may
 * follow each other the square. */
void columns_of(const struct mat *X, struct sparse_column *column);

#endif
