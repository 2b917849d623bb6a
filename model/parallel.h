/* Runs independent tasks on several threads. A task must not depend on other tasks or on its thread, so that results never vary. */
#ifndef MODEL_PARALLEL_H
#define MODEL_PARALLEL_H

#include <stddef.h>

#define PARALLEL_THREADS_MAX 64

/* Calls work(context, i) once for each i < n, on at most `threads` threads, including the caller's. Returns after the last call. */
void parallel_for(size_t n, size_t threads, void (*work)(void *context, size_t i), void *context);

/* Returns the number of CPUs that this process may use, at least 1. */
size_t parallel_threads(void);

#endif
