/* Compares the machine code of two bodies, apart from addresses. Targets of references are compared by identity: functions by their
 * counterpart in the other build, variables by name, constants and texts by content. */
#ifndef RUNS_CHANGES_MATCH_H
#define RUNS_CHANGES_MATCH_H

#include "runs/inside/changes/build.h"

#define MATCH_ROOTS_MAX 64

/* From best to worst: the whole is as bad as its worst part. */
enum match_result {
	MATCH_EQUAL,
	MATCH_LINES,	 /* only line numbers (__LINE__) differ, each by as much as its line has moved */
	MATCH_CONSTANTS, /* only the content of named constants that are read differs */
	MATCH_DIFFERENT,
};

/* Corresponding directories of the sources of each build. */
struct match_root {
	const char *old, *new;
	size_t old_bytes, new_bytes;
};

struct match {
	const struct build *old, *new;
	size_t *new_of_old, *old_of_new; /* pairs of functions; FUNCTIONS_NONE: no counterpart */
	bool nameless;			 /* things without a symbol count as the same, since nothing is known of them */
	struct match_root roots[MATCH_ROOTS_MAX];
	size_t n_roots;
	/* while two bodies are compared */
	size_t old_body, new_body;
	size_t old_function, new_function; /* treated as a pair while they are compared */
	struct code old_code, new_code;
	const char *constant; /* name, in the new build, of the first one with different content */
	/* contents that were compared: 1 equal, 0 not; until then they count as equal, because pointers may form a cycle */
	struct map contents;
	uint64_t left; /* bytes of contents that may still be compared: objects of a hostile build may contain each other */
};

void match_release(struct match *match);

/* Compares two functions with bodies: each body with those of the other function that have the same label. Clones that only one function
 * has are left to match_same_clones(). */
enum match_result match_functions(struct match *match, size_t old_function, size_t new_function);

/* Reports whether both have bodies with the same labels. If not, the compiler made different clones. */
bool match_same_clones(const struct match *match, size_t old_function, size_t new_function);

/* A function's part of the code of two bodies: of the function itself, or of one inlined into it. */
struct match_part {
	size_t host; /* function of the bodies, in the new build */
	size_t key;  /* function of the part: its index in the new build, or new->functions.n + that in the old one if it was removed */
	bool host_differs, differs;
};
typedef void match_part_function(void *context, const struct match_part *part);

/* Passes to tell() the parts of all pairs of different bodies with the same labels of two functions, in their order. */
void match_parts(struct match *match, size_t old_function, size_t new_function, match_part_function *tell, void *context);

/* pair.c: pairs the functions of the two builds. *match is overwritten; match_release() it. Sets new_of_old and old_of_new, which the
 * caller must free(), for functions present, and the match's roots. If pairs change between comparisons, drop the results that depend on
 * them (match->contents). First pairs by symbol; several functions of one name (static ones) by the common end of their files' paths. Then
 * pairs functions without a pair that have the same code: they were renamed. These have at least `few` instructions or are in the same
 * file, because small functions are often equal by chance. Repeats while it finds some; sets renamed[old.n]. O(n). */
void pair_functions(struct match *match, const struct build *old, const struct build *new, size_t few, bool *renamed);

#endif
