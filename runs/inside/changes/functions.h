/* The functions of a build, from its debug information. A function of the source is one function here, whatever the compiler made of it:
 * clones such as .constprop and .isra, parts such as .cold, copies in several units, instances inlined into others. */
#ifndef RUNS_CHANGES_FUNCTIONS_H
#define RUNS_CHANGES_FUNCTIONS_H

#include "runs/inside/changes/image.h"
#include "runs/inside/changes/map.h"

#include <elfutils/libdw.h>

#define FUNCTIONS_NONE		SIZE_MAX
#define FUNCTIONS_PRODUCERS_MAX 8
#define FUNCTIONS_LINES_MAX	64

struct range {
	uint64_t low, high; /* [low, high) */
};

/* A function of the source. */
struct function {
	const char *symbol;		/* linkage name without a clone's suffix; owned by `names` */
	const char *name;		/* as in the source, without scope and parameters; owned by `names` */
	bool nameless;			/* the debug information has no linkage name: symbol is from the symbol table, or the name */
	const char *file;		/* file of its definition, absolute if known, owned by `names`; NULL: no debug information */
	const char *directory;		/* working directory of the compiler; NULL: unknown */
	unsigned line;			/* line of its name in its definition; 0: unknown */
	unsigned last_line;		/* last line with code; set by functions_extents() */
	bool present;			/* has code or is inlined somewhere; otherwise it is only declared */
	size_t first_body, n_bodies;	/* in body_order */
	size_t first_inline, n_inlines; /* in inline_order */
};

/* A piece of machine code: a function or a clone of it. */
struct body {
	size_t function;
	const char *symbol; /* the symbol table's at its entry, or the function's */
	const char *label;  /* suffix after the function's name, without numbers: "", ".constprop", ".isra" */
	uint64_t entry;
	size_t first_range, n_ranges;	 /* sorted by address, none empty; includes its .cold part */
	size_t first_inlined, n_inlined; /* in `inlines`: those inside it, outer ones first */
	Dwarf_Off unit;			 /* the compilation unit's entry; meaningless if !described */
	const char *directory;		 /* working directory of the compiler; NULL: unknown */
	bool described;			 /* debug information describes it; otherwise only the symbol table */
};

/* An instance of a function inlined into a body. */
struct inlined {
	size_t function, body;
	size_t first_range, n_ranges;
	unsigned line; /* line of the call that it replaces; 0: unknown */
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
	struct call *calls; /* [n_calls], as in the debug information; some appear twice */
	size_t n_calls, calls_capacity;
	size_t *body_order, *inline_order; /* indices of bodies and inlines, by function */
	struct range_owner *owners;	   /* [n_owners], ranges of bodies by address */
	size_t n_owners;
	const char *producers[FUNCTIONS_PRODUCERS_MAX]; /* compilers with their options, sorted */
	size_t n_producers;
	struct map by_key; /* "symbol" or "symbol\nfile:line" to index */
	struct intern names;
};

/* Reads the functions. *out is overwritten; functions_release() it, before the image. ASSAY_E_FORMAT: the debug information is damaged or
 * of an unsupported kind (split into .dwo files); ASSAY_E_LIMIT: nested too deep. O(bytes of debug information). */
enum assay_status functions_read(const struct image *image, struct functions *out, struct assay_error *err);
void functions_release(struct functions *functions); /* accepts zeroed */

/* Returns the body with this address in one of its ranges, or SIZE_MAX. O(log n). */
size_t functions_body_at(const struct functions *functions, uint64_t address);
bool functions_in_body(const struct functions *functions, size_t body, uint64_t address);
/* Returns the function with a symbol that other files can call; SIZE_MAX if there is none. */
size_t functions_named(const struct functions *functions, const char *symbol);

/* Sets owners[n], the functions whose code is at addresses[n] (ascending, inside the body): the innermost inlined one, or the body's
 * own. */
void functions_paint(const struct functions *functions, size_t body, const uint64_t *addresses, size_t n, size_t *owners);

/* Sets last_line of all functions, from the line tables. */
void functions_extents(const struct image *image, struct functions *functions);

/* Finds the lines that belong to an address of a body: its statement, and each call at which that is inlined. Returns their number. */
size_t functions_lines(const struct image *image, const struct functions *functions, size_t body, uint64_t address,
		       unsigned lines[FUNCTIONS_LINES_MAX]);

/* The source at an address: the innermost function inlined there, or the body's own; its line and its file (as passed to the compiler;
 * owned by the image; NULL: unknown). functions_place_of() returns false if there is no function. */
struct functions_place {
	size_t function;
	const char *file;
	unsigned line;
};
bool functions_place_of(const struct image *image, const struct functions *functions, uint64_t address, struct functions_place *out);

/* functions_stem() returns the length of a symbol before the compiler's suffixes, which start with '.'. functions_label() returns these
 * suffixes, without numbers and without those that only tell where a symbol was moved. */
size_t functions_stem(const char *symbol);
const char *functions_label(struct intern *names, const char *symbol);

/* Functions that compilers add to each file to start and end it. */
enum functions_start {
	FUNCTIONS_START_NONE,
	FUNCTIONS_START_OF,	   /* initial values of the file's variables, from the source */
	FUNCTIONS_START_CALLS,	   /* calls or inlines those: "_GLOBAL__sub_I_one" */
	FUNCTIONS_START_REGISTERS, /* registers the file with a sanitizer or profiler, without source: "_sub_I_00099_0" */
};
enum functions_start functions_start_of(const char *symbol);

#endif
