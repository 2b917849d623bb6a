/* Counting of statements by the plugin: ../counting/statements.cc. */
#ifndef RUNS_FEATURES_COUNTING_STATEMENTS_H
#define RUNS_FEATURES_COUNTING_STATEMENTS_H

/* Of the plugin with this name. how: "", "library" where what is compiled becomes part of one although not by -fPIC, or "plainly", for the
 * test that all ways count alike: each block adds its own. */
void statements_register(const char *plugin, const char *how);

#endif
