/* Is the machine code of two bodies the same, apart from its addresses? What it refers to is compared by what it is: functions by
 * their counterpart in the other build, variables by name, constants and texts by content. */
#ifndef RUNS_CHANGES_MATCH_H
#define RUNS_CHANGES_MATCH_H

#include "runs/inside/changes/build.h"

#define MATCH_ROOTS_MAX 64

/* From best to worst: the whole is as bad as its worst part. */
enum match_result {
	MATCH_EQUAL,
	MATCH_LINES,	 /* only numbers of lines (__LINE__) differ, each by as much as its line has moved */
	MATCH_CONSTANTS, /* only the content of named constants that are read differs */
	MATCH_DIFFERENT,
};

/* Corresponding directories: where the sources of each build were. */
struct match_root {
	const char *old, *new;
	size_t old_bytes, new_bytes;
};

struct match {
	const struct build *old, *new;
	size_t *new_of_old, *old_of_new; /* pairs of functions; FUNCTIONS_NONE: without a counterpart */
	bool nameless;			 /* what has no symbol is taken for the same: nothing is known of it */
	struct match_root roots[MATCH_ROOTS_MAX];
	size_t n_roots;
	/* while two bodies are compared */
	size_t old_body, new_body;
	size_t old_function, new_function; /* treated as a pair while they are compared */
	struct code old_code, new_code;
	const char *constant; /* the first whose content differs; of the new build */
	/* contents that were compared: 1 equal, 0 not; meanwhile they count as equal, because pointers may form a cycle */
	struct map contents;
	uint64_t left; /* bytes of contents that may still be compared: objects of a hostile build lie in each other */
};

void match_release(struct match *match);

/* Compares two functions with bodies: each body with those of the other function that have the same label; clones that only one
 * function has are left to match_same_clones(). */
enum match_result match_functions(struct match *match, size_t old_function, size_t new_function);

/* Do both have bodies with the same labels? If not, the compiler made different clones. */
bool match_same_clones(const struct match *match, size_t old_function, size_t new_function);

/* A function's part of the code of two bodies: of the function itself, or of one inlined into it. */
struct match_part {
	size_t host; /* the function of the bodies, in the new build */
	size_t key;  /* the part's function: its index in the new build, or new->functions.n + that in the old one if it is gone */
	bool host_differs, differs;
};
typedef void match_part_function(void *context, const struct match_part *part);

/* Tells the parts of all pairs of bodies with the same labels of two functions that differ, in their order. */
void match_parts(struct match *match, size_t old_function, size_t new_function, match_part_function *tell, void *context);

/* pair.c: which function of one build corresponds to which of the other. *match is overwritten; match_release() it.
 * Sets new_of_old and old_of_new, the caller's to free(), for functions that are present, and the match's roots. Where these pairs change
 * between comparisons, results that depend on them are to be dropped (match->contents). First by symbol; several with one name (static
 * functions) by the common end of their files' paths. Then functions without a pair that have the same code as one in the other build: they
 * were renamed. They have at least `few` instructions, or are in the same file, because small functions are often equal by chance. Repeated
 * while it finds some; renamed[old.n] says which. O(n).
 */
void pair_functions(struct match *match, const struct build *old, const struct build *new, size_t few, bool *renamed);

#endif
