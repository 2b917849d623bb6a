/* Compares the machine code of two bodies, ignoring addresses. Targets of references are compared by identity: a function with its
 * counterpart in the other build, a variable by its name, a constant or text by its content. */
#ifndef RUNS_CHANGES_MATCH_H
#define RUNS_CHANGES_MATCH_H

#include "runs/inside/changes/build.h"

#define MATCH_ROOTS_MAX 64

/* Results from best to worst. The result for a whole is that of its worst part. */
enum match_result {
	MATCH_EQUAL,
	MATCH_LINES,	 /* only line numbers (__LINE__) differ, each by as much as its line has moved */
	MATCH_CONSTANTS, /* only named constants that the code reads have different content */
	MATCH_DIFFERENT,
};

/* A source directory of the old build, and the corresponding one of the new build. */
struct match_root {
	const char *old, *new;
	size_t old_bytes, new_bytes;
};

struct match {
	const struct build *old, *new;
	size_t *old_to_new, *new_to_old; /* pairs of functions; FUNCTIONS_NONE if a function has no counterpart */
	bool nameless;			 /* true if targets without a symbol count as equal, because nothing is known about them */
	struct match_root roots[MATCH_ROOTS_MAX];
	size_t n_roots;
	/* state of the comparison of two bodies */
	size_t old_body, new_body;
	size_t old_function, new_function; /* count as a pair during the comparison */
	struct code old_code, new_code;
	const char *constant; /* name in the new build of the first constant with different content */
	/* results for contents: 1 if equal, else 0. Contents count as equal during their comparison, because pointers may form a cycle. */
	struct map contents;
	uint64_t bytes_remaining; /* maximum number of bytes of contents still to be compared; objects of a malicious file may contain each
				     other */
};

void match_release(struct match *match);

/* Compares two functions that have bodies. Compares each body with those of the other function that have the same label.
 * match_has_same_clones() handles clones that only one of the functions has. */
enum match_result match_compare_functions(struct match *match, size_t old_function, size_t new_function);

/* Reports whether the bodies of both functions have the same labels. If not, the compiler made different clones. */
bool match_has_same_clones(const struct match *match, size_t old_function, size_t new_function);

/* The part of the code of two bodies that belongs to one function: to the bodies' own function, or to one inlined into it. */
struct match_part {
	size_t host; /* function of the bodies, as an index in the new build */
	size_t key;  /* function of the part: index in the new build, or new->functions.n + index in the old build if it was removed */
	bool host_differs, differs;
};
typedef void match_part_function(void *context, const struct match_part *part);

/* Compares the n-th bodies of both functions, for each n. If they have the same label and differ, calls report_step() for their parts. */
void match_report_parts(struct match *match, size_t old_function, size_t new_function, match_part_function *report_step, void *context);

/* Pairs the functions of two builds (pair.c). Overwrites *match; call match_release(). Sets match's roots, and old_to_new and new_to_old
 * for present functions; the caller must free() these two. First pairs functions by symbol; those with the same symbol (static ones), by
 * the common end of their files' paths. Then pairs the rest by equal code. These were renamed, and their elements of renamed[old.n] are
 * set. Each of them needs at least `few` instructions or the same file, because small functions are often equal by chance. Repeats that
 * until no more are found. Results in match->contents depend on the pairs, so drop them when pairs change. O(n). */
void pair_functions(struct match *match, const struct build *old, const struct build *new, size_t few, bool *renamed);

#endif
