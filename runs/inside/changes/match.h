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

/* The pairs are borrowed. Where they change between comparisons, results that depend on them are to be dropped (match->contents). */
void match_init(struct match *match, const struct build *old, const struct build *new, size_t *new_of_old, size_t *old_of_new);
void match_release(struct match *match);

/* Compares two bodies; afterwards the code of both is in old_code and new_code. O(instructions), but for contents: all of them
 * together are a few times the files; what would be more counts as different. */
enum match_result match_bodies(struct match *match, size_t old_body, size_t new_body);

/* Compares two instructions of the bodies that were compared last. */
enum match_result match_instructions(struct match *match, const struct instruction *a, const struct instruction *b);

/* Compares two functions with bodies: each body with those of the other function that have the same label; clones that only one
 * function has are left to match_same_clones(). */
enum match_result match_functions(struct match *match, size_t old_function, size_t new_function);

/* Do both have bodies with the same labels? If not, the compiler made different clones. */
bool match_same_clones(const struct match *match, size_t old_function, size_t new_function);

/* A value minus the nearest line that an address belongs to; INT64_MAX: too far away to be a line number. */
int64_t match_line_distance(const struct build *build, size_t body, uint64_t address, int64_t value);

/* The length of the printable text at an address, up to its NUL; 0 if there is no text. */
size_t match_text_at(const struct image *image, uint64_t address);

#endif
