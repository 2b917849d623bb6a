/* What is said of the runs of a version that do not count because they are of another build. */
#ifndef RUNS_RUNNING_RUN_OTHERS_H
#define RUNS_RUNNING_RUN_OTHERS_H

#include "base/json.h"
#include "runs/running/run.h"

/* A sentence with how many there are, on which machines, and what to do where there is nothing else; NULL when there are none. free() it. */
char *run_others_text(const struct run_set *set);

/* {`results`, `machines`}. */
cJSON *run_others_json(const struct run_set *set);

#endif
