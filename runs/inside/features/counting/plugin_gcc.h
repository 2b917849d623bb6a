/* Interfaces between the parts of the gcc plugin (plugin_gcc.cc). */
#ifndef RUNS_FEATURES_COUNTING_PLUGIN_GCC_H
#define RUNS_FEATURES_COUNTING_PLUGIN_GCC_H

#include "runs/inside/features/counting/plugin_names.h"

/* ---- memory (plugin_gcc_memory.cc) ---- */

/* Counters of the translation unit. */
struct counters_unit {
	tree array;   /* array of counters; its size is set at the end of the unit */
	tree counter; /* type of a counter; no object of the program has this type */
	counted_unit counted;
};

extern counters_unit made;

/* Returns a constant array in its own section, in which the linker places the arrays of all units one after the other. */
tree make_section_array(const char *name, const char *section, tree type, tree value);
/* Returns an array of the unit in section `section`, of at most n elements. The array's size is set at the end of the unit. */
tree section_array(const char *name, tree element, int n, unsigned align, const char *section);

void unit_begin();
void unit_end();
/* Returns a pointer to the thread's counters of this unit. Adds the code that computes the pointer. */
tree counters_base(gimple_seq *code);
tree counter_at(tree base, unsigned HOST_WIDE_INT slot);
gimple_seq counter_add(tree base, unsigned HOST_WIDE_INT slot, tree what);
/* Reports whether the statement is the start of counters_base(). is_counting() is true for these and all other statements of counters. */
bool is_base(const gimple *statement);
bool is_counting(const gimple *statement);

/* Returns the innermost loop of `block`, or of `way` if `block` is NULL. Call this function while loops are initialized. */
class loop *find_innermost_loop(basic_block block, edge way);

struct register_loop {
	std::vector<edge> entries, exits;
	std::vector<size_t> counters;
};

/* Returns loops that can keep their counters in registers. These are innermost loops with few counters that call nothing, and so end in
 * order. where[i] is the innermost loop of counter i. Call this function while loops are initialized. */
std::vector<register_loop> find_register_loops(const std::vector<class loop *> &where);

/* ---- inlined functions (plugin_gcc_inlined.cc) ---- */

/* Registers the passes of this part for the plugin named `plugin`. */
void inlined_register(const char *plugin);

/* ---- pieces that a run may exclude (slices.cc) ---- */

bool slices_are_wanted();
void slices_have_switches();
bool slices_read(const char *path); /* reads the names of pieces to exclude, one per line */
void slices_enter();		    /* call this before planning a function */
void slices_change();		    /* call this after adding the counters to the function */
const std::string &slices_names();  /* the unit's pieces so far, as lines of format.h */
void slices_end();		    /* ends the translation unit */

/* ---- statements (statements.cc) ---- */

/* Registers the passes that count each thread's statements. `how` is "" for programs, or "library" if the object becomes part of a library
 * without -fPIC. With "plainly", an addition is made in each block, for the test that all ways give the same count. */
void statements_register(const char *plugin, const char *how);

/* ---- names (plugin_gcc.cc) ---- */

bool slices_is_known(location_t where);
std::string slices_place(gimple *statement); /* returns FILE:LINE:COLUMN FUNCTION */
std::string slices_function();		     /* returns FUNCTION FILE:LINE */

#endif
