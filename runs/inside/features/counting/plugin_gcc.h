/* Between the parts of gcc's plugin (plugin_gcc.cc). */
#ifndef RUNS_FEATURES_COUNTING_PLUGIN_GCC_H
#define RUNS_FEATURES_COUNTING_PLUGIN_GCC_H

#include "runs/inside/features/counting/plugin_names.h"

/* ---- memory (plugin_gcc_memory.cc) ---- */

/* The counters of this translation unit. */
struct counters_unit {
	tree array;   /* its size is known at the end */
	tree counter; /* their type: no object of the program has it */
	counted_unit counted;
};

extern counters_unit made;

/* A constant array in a section of its own, where those of several units follow each other. */
tree hidden_array(const char *name, const char *section, tree type, tree value);
/* An array of the translation unit in a section of its own, of which the end of the unit says how long it is: at most n. */
tree section_array(const char *name, tree element, int n, unsigned align, const char *section);

void unit_begin();
void unit_end();
/* Where the thread's counters of this unit start, as a pointer. */
tree counters_base(gimple_seq *code);
tree counter_at(tree base, unsigned HOST_WIDE_INT slot);
gimple_seq counter_add(tree base, unsigned HOST_WIDE_INT slot, tree what);
/* What counters_base() starts with; that and all else that is of counters. */
bool is_base(const gimple *statement);
bool is_counting(const gimple *statement);

/* The innermost loop that a block or, where that is NULL, an edge is in. While loops are known. */
class loop *loop_of(basic_block block, edge way);

struct held_loop {
	std::vector<edge> entries, exits;
	std::vector<size_t> counters;
};

/* Loops whose counters, by number, are in registers: the innermost that call nothing and so end in order, if few are counted there.
 * `where`: the innermost loop that each of the function is in. While loops are known. */
std::vector<held_loop> held_loops(const std::vector<class loop *> &where);

/* ---- functions in others (plugin_gcc_inlined.cc) ---- */

/* Of the plugin with this name. */
void inlined_register(const char *plugin);

/* ---- pieces that a run can do without (slices.cc) ---- */

bool slices_wanted();
void slices_have_switches();
bool slices_read(const char *path); /* names of pieces to leave out, a line each */
void slices_enter();		    /* before anything is planned for a function */
void slices_change();		    /* once it counts */
const std::string &slices_names();  /* of its pieces, as lines of format.h */
void slices_end();		    /* of the translation unit */

/* ---- statements (statements.cc) ---- */

/* Counts the statements of threads by the plugin with this name. how: "", "library" where the object becomes part of a library although it
 * is not compiled with -fPIC, or "plainly", for the test that all ways count alike: each block adds its own. */
void statements_register(const char *plugin, const char *how);

/* ---- names (plugin_gcc.cc) ---- */

bool slices_is_known(location_t where);
std::string slices_place(gimple *statement); /* FILE:LINE:COLUMN FUNCTION */
std::string slices_function();		     /* FUNCTION FILE:LINE */

#endif
