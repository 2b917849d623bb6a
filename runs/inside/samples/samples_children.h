/* Children of a process, as its records of calls into the outside say. */
#ifndef RUNS_SAMPLES_SAMPLES_CHILDREN_H
#define RUNS_SAMPLES_SAMPLES_CHILDREN_H

#include "runs/inside/samples/samples.h"

/* What fork() has returned, and waitpid() and the like, each once: [*n], in order. free() it. */
uint64_t *samples_children(const struct samples *samples, size_t *n);

#endif
