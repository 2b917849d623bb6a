/* Counting of statements by the plugin: ../counting/statements.cc. */
#ifndef RUNS_FEATURES_COUNTING_STATEMENTS_H
#define RUNS_FEATURES_COUNTING_STATEMENTS_H

/* Of the plugin with this name. */
void statements_register(const char *plugin);

#endif
