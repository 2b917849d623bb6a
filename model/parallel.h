/* Runs independent pieces of work on several threads. Pieces must not depend on each other or on their thread: results then never vary. */
#ifndef MODEL_PARALLEL_H
#define MODEL_PARALLEL_H

#include <stddef.h>

#define PARALLEL_THREADS_MAX 64

/* Calls work(context, i) once for each i < n, on up to `threads` threads: the caller's, and others if they can be started. */
void parallel_for(size_t n, size_t threads, void (*work)(void *context, size_t i), void *context);

/* Returns the number of CPUs that this process may use, at least 1. */
size_t parallel_threads(void);

#endif
