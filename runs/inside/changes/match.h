/* Compares the machine code of two bodies, ignoring addresses. Targets of references are compared by identity: functions by their
 * counterpart in the other build, variables by name, constants and texts by content. */
#ifndef RUNS_CHANGES_MATCH_H
#define RUNS_CHANGES_MATCH_H

#include "runs/inside/changes/build.h"

#define MATCH_ROOTS_MAX 64

/* Results from best to worst. A whole has the result of its worst piece. */
enum match_result {
	MATCH_EQUAL,
	MATCH_LINES,	 /* only line numbers (__LINE__) differ, each by the distance that its line has moved */
	MATCH_CONSTANTS, /* only the content of named constants that the code reads differs */
	MATCH_DIFFERENT,
};

/* Corresponding source directories of the two builds. */
struct match_root {
	const char *old, *new;
	size_t old_bytes, new_bytes;
};

struct match {
	const struct build *old, *new;
	size_t *new_of_old, *old_of_new; /* pairs of functions; FUNCTIONS_NONE if there is no counterpart */
	bool nameless;			 /* targets without a symbol count as equal, because nothing is known about them */
	struct match_root roots[MATCH_ROOTS_MAX];
	size_t n_roots;
	/* state while two bodies are compared */
	size_t old_body, new_body;
	size_t old_function, new_function; /* counted as a pair during the comparison */
	struct code old_code, new_code;
	const char *constant; /* name, in the new build, of the first constant with different content */
	/* results for contents: 1 equal, 0 different. Contents count as equal while compared, because pointers may form a cycle. */
	struct map contents;
	uint64_t left; /* maximum number of bytes of contents still to compare: in a hostile build, objects may contain each other */
};

void match_release(struct match *match);

/* Compares two functions that have bodies: each body with the bodies of the other function that have the same label. match_same_clones()
 * handles clones that only one function has. */
enum match_result match_functions(struct match *match, size_t old_function, size_t new_function);

/* Reports whether both functions have bodies with the same labels. If not, the compiler made different clones. */
bool match_same_clones(const struct match *match, size_t old_function, size_t new_function);

/* The part of the code of two bodies that belongs to one function: the bodies' own function, or one inlined into it. */
struct match_part {
	size_t host; /* function of the bodies, index in the new build */
	size_t key;  /* function of the part: index in the new build, or new->functions.n + index in the old build for a removed function */
	bool host_differs, differs;
};
typedef void match_part_function(void *context, const struct match_part *part);

/* Calls report_step() for the parts of all pairs of different bodies with the same label of two functions, in order. */
void match_parts(struct match *match, size_t old_function, size_t new_function, match_part_function *report_step, void *context);

/* In pair.c: pairs the functions of two builds. *match is overwritten; call match_release(). Sets match's roots, and new_of_old and
 * old_of_new for present functions; the caller must free() these two. First pairs functions by symbol, and those with the same name (static
 * ones) by the common end of their files' paths. Then pairs the rest by equal code: they were renamed, and renamed[old.n] is set. Such
 * functions need at least `few` instructions or the same file, because small functions are often equal by chance. Repeats until no more are
 * found. Results in match->contents depend on the pairs: drop them when pairs change. O(n). */
void pair_functions(struct match *match, const struct build *old, const struct build *new, size_t few, bool *renamed);

#endif
