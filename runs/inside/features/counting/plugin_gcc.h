/* Interfaces between the parts of gcc's plugin (plugin_gcc.cc). */
#ifndef RUNS_FEATURES_COUNTING_PLUGIN_GCC_H
#define RUNS_FEATURES_COUNTING_PLUGIN_GCC_H

#include "runs/inside/features/counting/plugin_names.h"

/* ---- memory (plugin_gcc_memory.cc) ---- */

/* The counters of the translation unit. */
struct counters_unit {
	tree array;   /* its size is known at the end of the unit */
	tree counter; /* their type, which no object of the program has */
	counted_unit counted;
};

extern counters_unit made;

/* Returns a constant array in its own section, where arrays of several units follow each other. */
tree hidden_array(const char *name, const char *section, tree type, tree value);
/* Returns an array of the translation unit in its own section, of at most n elements; the size is set at the end of the unit. */
tree section_array(const char *name, tree element, int n, unsigned align, const char *section);

void unit_begin();
void unit_end();
/* Returns a pointer to the thread's counters of this unit. */
tree counters_base(gimple_seq *code);
tree counter_at(tree base, unsigned HOST_WIDE_INT slot);
gimple_seq counter_add(tree base, unsigned HOST_WIDE_INT slot, tree what);
/* is_base(): starts counters_base(). is_counting(): that, or any other statement of counters. */
bool is_base(const gimple *statement);
bool is_counting(const gimple *statement);

/* Returns the innermost loop of a block or, if that is NULL, of an edge. Only while loops are known. */
class loop *loop_of(basic_block block, edge way);

struct held_loop {
	std::vector<edge> entries, exits;
	std::vector<size_t> counters;
};

/* Returns loops whose counters, by number, are kept in registers: innermost ones that call nothing, and so end in order, with few counters.
 * `where`: the innermost loop of each counter of the function. Only while loops are known. */
std::vector<held_loop> held_loops(const std::vector<class loop *> &where);

/* ---- inlined functions (plugin_gcc_inlined.cc) ---- */

/* Registers the part for the plugin with this name. */
void inlined_register(const char *plugin);

/* ---- pieces that a run may exclude (slices.cc) ---- */

bool slices_wanted();
void slices_have_switches();
bool slices_read(const char *path); /* names of pieces to exclude, one per line */
void slices_enter();		    /* before anything is planned for a function */
void slices_change();		    /* once the function counts */
const std::string &slices_names();  /* the function's pieces, as lines of format.h */
void slices_end();		    /* ends the translation unit */

/* ---- statements (statements.cc) ---- */

/* Registers the counting of threads' statements for the plugin with this name. how: ""; "library" if the object becomes part of a library
 * without
 * -fPIC; "plainly", where each block adds its own, for the test that all ways count alike. */
void statements_register(const char *plugin, const char *how);

/* ---- names (plugin_gcc.cc) ---- */

bool slices_is_known(location_t where);
std::string slices_place(gimple *statement); /* FILE:LINE:COLUMN FUNCTION */
std::string slices_function();		     /* FUNCTION FILE:LINE */

#endif
