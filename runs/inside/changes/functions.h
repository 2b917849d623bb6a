/* The functions of a build, from its debug information: what is one function in the source is one here, whatever the compiler made of it
 * (clones such as .constprop and .isra, parts such as .cold, copies in several units, instances inlined into others). */
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

/* One function of the source. */
struct function {
	const char *symbol;		/* linkage name without a clone's suffix; kept by `names` */
	const char *name;		/* as the source has it, without scope and parameters; kept by `names` */
	bool nameless;			/* the debug information has no linkage name: symbol is that of the symbol table, or the name */
	const char *file;		/* where it is defined, absolute if that is known, kept by `names`; NULL if there is no debug
					   information about it */
	const char *directory;		/* in which the compiler ran; NULL: not known */
	unsigned line;			/* of its name in its definition; 0: not known */
	unsigned last_line;		/* the last that has code; set by functions_extents() */
	bool present;			/* has code or is inlined somewhere; otherwise it is only declared */
	size_t first_body, n_bodies;	/* into body_order */
	size_t first_inline, n_inlines; /* into inline_order */
};

/* A piece of machine code: a function, or a clone of it. */
struct body {
	size_t function;
	const char *symbol; /* of the symbol table at its entry, or the function's */
	const char *label;  /* what follows the function's name, without numbers: "", ".constprop", ".isra" */
	uint64_t entry;
	size_t first_range, n_ranges;	 /* sorted by address, no empty ones; with its .cold part */
	size_t first_inlined, n_inlined; /* of `inlines`: those inside of it, outer ones first */
	Dwarf_Off unit;			 /* of the compilation unit's entry; meaningless when !described */
	const char *directory;		 /* in which the compiler ran; NULL: not known */
	bool described;			 /* by debug information; otherwise only by the symbol table */
};

/* An instance of a function inlined into a body. */
struct inlined {
	size_t function, body;
	size_t first_range, n_ranges;
	unsigned line; /* of the call that it represents; 0: not known */
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
	struct call *calls; /* [n_calls], as the debug information has them; some appear twice */
	size_t n_calls, calls_capacity;
	size_t *body_order, *inline_order; /* bodies and instances by function */
	struct range_owner *owners;	   /* [n_owners], ranges of bodies by address */
	size_t n_owners;
	const char *producers[FUNCTIONS_PRODUCERS_MAX]; /* compilers with their options, sorted */
	size_t n_producers;
	struct map by_key; /* "symbol" or "symbol\nfile" to index */
	struct intern names;
};

/* *out is overwritten; functions_release() it, before the image. ASSAY_E_FORMAT when the debug information is damaged or of a
 * kind that is not supported (split into .dwo files), ASSAY_E_LIMIT if it is nested too deep. O(bytes of debug information). */
enum assay_status functions_read(const struct image *image, struct functions *out, struct assay_error *err);
void functions_release(struct functions *functions); /* accepts zeroed */

/* The body that has this address in one of its ranges, or SIZE_MAX. O(log n). */
size_t functions_body_at(const struct functions *functions, uint64_t address);
bool functions_in_body(const struct functions *functions, size_t body, uint64_t address);
/* The function with a symbol that other files can call; SIZE_MAX if there is none. */
size_t functions_named(const struct functions *functions, const char *symbol);

/* Whose code is at each of addresses[n] (ascending, inside the body): the innermost function inlined there, or the body's own. */
void functions_paint(const struct functions *functions, size_t body, const uint64_t *addresses, size_t n, size_t *owners);

/* Sets last_line of all functions, from the line tables. */
void functions_extents(const struct image *image, struct functions *functions);

/* The lines that an address of a body belongs to: its statement, and each call at which that is inlined. Returns how many. */
size_t functions_lines(const struct image *image, const struct functions *functions, size_t body, uint64_t address,
		       unsigned lines[FUNCTIONS_LINES_MAX]);

/* What the source has at an address: the innermost function inlined there, or the body's own; its file (as the compiler was told, kept by
 * the image; NULL: not known) and line. False: no function is there. */
struct functions_place {
	size_t function;
	const char *file;
	unsigned line;
};
bool functions_place_of(const struct image *image, const struct functions *functions, uint64_t address, struct functions_place *out);

/* Length of a symbol up to the suffixes of the compiler, which start with '.'; and those suffixes without numbers, and without
 * those that only say where a symbol was moved to. */
size_t functions_stem(const char *symbol);
const char *functions_label(struct intern *names, const char *symbol);

/* What compilers add to each file to start and end it. */
enum functions_start {
	FUNCTIONS_START_NONE,
	FUNCTIONS_START_OF,	   /* initial values of the file's variables, as the source has them */
	FUNCTIONS_START_CALLS,	   /* calls or inlines those: "_GLOBAL__sub_I_one" */
	FUNCTIONS_START_REGISTERS, /* the file itself, with a sanitizer or a profiler; nothing of the source: "_sub_I_00099_0" */
};
enum functions_start functions_start_of(const char *symbol);

#endif
