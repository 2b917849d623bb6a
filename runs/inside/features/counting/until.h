/* Between the parts of what is linked into programs that count, and for who looks whether a run of one can stop. */
#ifndef RUNS_FEATURES_COUNTING_UNTIL_H
#define RUNS_FEATURES_COUNTING_UNTIL_H

#define FEATURES_UNTIL_ENVIRONMENT "ASSAY_FEATURES_UNTIL="

/* The value of "NAME="; NULL: not set, or empty. */
const char *assay_features_variable(const char *name) __attribute__((visibility("hidden")));
/* The counts are whole. */
void assay_features_end(void) __attribute__((visibility("hidden")));

#endif
