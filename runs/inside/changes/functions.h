/* The functions of a build, read from its debug information. A function of the source is one function here, whatever the compiler made of
 * it: clones such as .constprop and .isra, parts such as .cold, copies in several units, or instances inlined into others. */
#ifndef RUNS_CHANGES_FUNCTIONS_H
#define RUNS_CHANGES_FUNCTIONS_H

#include "runs/inside/changes/image.h"
#include "runs/inside/changes/map.h"

#include <elfutils/libdw.h>

#define FUNCTIONS_NONE		SIZE_MAX
#define FUNCTIONS_PRODUCERS_MAX 8
#define FUNCTIONS_LINES_MAX	64

struct range {
	uint64_t low, high; /* first address, and the address after the last */
};

/* A function of the source. */
struct function {
	const char *symbol; /* linkage name without the suffix of a clone; owned by `names` */
	const char *name;   /* name in the source, without scope and parameters; owned by `names` */
	bool nameless;	  /* true if the debug information has no linkage name; `symbol` is then from the symbol table, or equals `name` */
	const char *file; /* file of the definition, absolute if known, owned by `names`; NULL without debug information */
	const char *directory;		/* working directory of the compiler; NULL if unknown */
	unsigned line;			/* line of the name in the definition; 0 if unknown */
	unsigned last_line;		/* last line that has code; set by functions_set_last_lines() */
	bool present;			/* true if the function has code or is inlined somewhere; false if it is only declared */
	size_t first_body, n_bodies;	/* range of the function's elements in body_order */
	size_t first_inline, n_inlines; /* range of the function's elements in inline_order */
};

/* A piece of machine code: a function, or a clone of one. */
struct body {
	size_t function;
	const char *symbol; /* symbol at the body's entry in the symbol table, or else the function's symbol */
	const char *label;  /* suffixes of the symbol without numbers: "", ".constprop", ".isra" */
	uint64_t entry;
	size_t first_range, n_ranges;	 /* ranges of the body including its .cold part, sorted by address; none is empty */
	size_t first_inlined, n_inlined; /* elements of `inlines` inside this body; an outer instance comes before those in it */
	Dwarf_Off unit;			 /* debug information entry of the compilation unit; valid only if `has_debug_info` */
	const char *directory;		 /* working directory of the compiler; NULL if unknown */
	bool has_debug_info;		 /* false if the body is only in the symbol table */
};

/* An instance of a function that is inlined into a body. */
struct inlined {
	size_t function, body;
	size_t first_range, n_ranges;
	unsigned line; /* line of the call that the instance replaces; 0 if unknown */
};

struct call {
	size_t body, callee;
};

struct functions {
	struct function *items; /* [n] */
	size_t n, capacity;
	struct body *bodies; /* [n_bodies] */
	size_t n_bodies, bodies_capacity;
	struct inlined *inlines; /* [n_inlines] */
	size_t n_inlines, inlines_capacity;
	struct range *ranges; /* [n_ranges] */
	size_t n_ranges, ranges_capacity;
	struct call *calls; /* [n_calls] calls in the debug information; some appear twice */
	size_t n_calls, calls_capacity;
	size_t *body_order, *inline_order; /* [n_bodies], [n_inlines] indexes of bodies and of inlines, sorted by function */
	struct range_owner *owners;	   /* [n_owners] ranges of bodies, by address */
	size_t n_owners;
	const char *producers[FUNCTIONS_PRODUCERS_MAX]; /* sorted names of compilers, with their options */
	size_t n_producers;
	struct map by_key; /* map from "symbol" or "symbol file:line" to the function's index */
	struct intern names;
};

/* Reads the functions. Overwrites *out; call functions_release() before image_release(). Returns ASSAY_E_FORMAT if the debug information is
 * damaged or split into .dwo files, and ASSAY_E_LIMIT if it is nested too deep. O(bytes of debug information). */
enum assay_status functions_read(const struct image *image, struct functions *out, struct assay_error *err);
void functions_release(struct functions *functions); /* accepts a zeroed struct */

/* Returns the body that has this address in one of its ranges; SIZE_MAX if none has. O(log n). */
size_t functions_find_body(const struct functions *functions, uint64_t address);
bool functions_is_in_body(const struct functions *functions, size_t body, uint64_t address);
/* Returns the function with this symbol that other files can call; SIZE_MAX if there is none. */
size_t functions_find_symbol(const struct functions *functions, const char *symbol);

/* Sets owners[n] to the functions to which the code at addresses[n] belongs. The addresses ascend and are inside the body. An owner is the
 * innermost function inlined there, or else the body's own function. */
void functions_find_owners(const struct functions *functions, size_t body, const uint64_t *addresses, size_t n, size_t *owners);

/* Sets last_line of all functions from the line tables. */
void functions_set_last_lines(const struct image *image, struct functions *functions);

/* Finds the source lines of an address of a body: that of its statement, and that of each call inlined there. Returns their number. */
size_t functions_find_lines(const struct image *image, const struct functions *functions, size_t body, uint64_t address,
			    unsigned lines[FUNCTIONS_LINES_MAX]);

/* Source of an address: the innermost function inlined there or else the body's own, with line and file. `file` is the path that the
 * compiler got, owned by the image; NULL if unknown. functions_locate() returns false if no function has the address. */
struct functions_location {
	size_t function;
	const char *file;
	unsigned line;
};
bool functions_locate(const struct image *image, const struct functions *functions, uint64_t address, struct functions_location *out);

/* Returns the length of a symbol without the compiler's suffixes, which start with '.'. functions_label() returns these suffixes, without
 * numbers, and without suffixes that only mean that the symbol was moved. */
size_t functions_stem_length(const char *symbol);
const char *functions_label(struct intern *names, const char *symbol);

/* Kinds of functions that compilers add for the start and end of each source file. */
enum functions_init_kind {
	FUNCTIONS_INIT_NONE,
	FUNCTIONS_INIT_VARIABLES, /* sets the file's variables to their initial values */
	FUNCTIONS_INIT_CALLS,	  /* calls or inlines functions of kind FUNCTIONS_INIT_VARIABLES: "_GLOBAL__sub_I_one" */
	FUNCTIONS_INIT_REGISTERS, /* registers the file with a sanitizer or profiler; has no source: "_sub_I_00099_0" */
};
enum functions_init_kind functions_classify_init(const char *symbol);

#endif
