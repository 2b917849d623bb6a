/* Between the plugin's parts: how plugin_gcc.cc lets slices.cc change the function at hand. */
#ifndef RUNS_FEATURES_COUNTING_SLICES_PLUGIN_H
#define RUNS_FEATURES_COUNTING_SLICES_PLUGIN_H

#include <string>

bool slices_wanted();
void slices_have_switches();
bool slices_read(const char *path); /* names of pieces to leave out, a line each */
void slices_enter();		    /* before anything is planned for a function */
void slices_change();		    /* once it counts */
const std::string &slices_names();  /* of its pieces, as lines of format.h */
void slices_end();		    /* of the translation unit */

/* Of plugin_gcc.cc. */
bool slices_is_known(location_t where);
std::string slices_place(gimple *statement); /* FILE:LINE:COLUMN FUNCTION */
std::string slices_function();		     /* FUNCTION FILE:LINE */

#endif
