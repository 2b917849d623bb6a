/* Is the machine code of two bodies the same but for where it stands? What it refers to is compared by what it is: functions by
 * which function of the other build they are, variables by name, constants and texts by content. */
#ifndef RUNS_CHANGES_MATCH_H
#define RUNS_CHANGES_MATCH_H

#include "runs/inside/changes/build.h"

#define MATCH_ROOTS_MAX 64

/* In the order of weight: a whole is what its worst part is. */
enum match_result {
	MATCH_EQUAL,
	MATCH_LINES,	 /* only numbers of lines (__LINE__) differ, each by as much as its line has moved */
	MATCH_CONSTANTS, /* only the content of named constants that are read differs */
	MATCH_DIFFERENT,
};

/* Directories that correspond: where the sources of one build and of the other were. */
struct match_root {
	const char *old, *new;
	size_t old_bytes, new_bytes;
};

struct match {
	const struct build *old, *new;
	size_t *new_of_old, *old_of_new; /* functions that are the same one; FUNCTIONS_NONE: none */
	struct match_root roots[MATCH_ROOTS_MAX];
	size_t n_roots;
	/* while two bodies are compared */
	size_t old_body, new_body;
	size_t old_function, new_function; /* taken for the same while they are compared */
	struct code old_code, new_code;
	const char *constant; /* the first whose content differs; of the new build */
	/* contents that were compared: 1 equal, 0 not; while that goes on they count as equal, for pointers in a circle */
	struct map contents;
};

/* The pairing is borrowed and may change between comparisons; contents that depend on it are forgotten by match_forget(). */
void match_init(struct match *match, const struct build *old, const struct build *new, size_t *new_of_old, size_t *old_of_new);
void match_forget(struct match *match);
void match_release(struct match *match);

/* Directories of sources, from the functions that are paired by now. */
void match_find_roots(struct match *match);

/* Two bodies; afterwards the code of both is in old_code and new_code. O(instructions). */
enum match_result match_bodies(struct match *match, size_t old_body, size_t new_body);

/* Two instructions of the bodies that were compared last. */
enum match_result match_instructions(struct match *match, const struct instruction *a, const struct instruction *b);

/* Two functions, which must have bodies: each is compared with those of the other that have the same label; clones that only one
 * of the functions has are left to match_same_clones(). */
enum match_result match_functions(struct match *match, size_t old_function, size_t new_function);

/* Do both have bodies with the same labels? Else the compiler made other clones. */
bool match_same_clones(const struct match *match, size_t old_function, size_t new_function);

/* How far a value is behind the nearest line that an address belongs to; INT64_MAX: too far to be the number of a line. */
int64_t match_line_distance(const struct build *build, size_t body, uint64_t address, int64_t value);

/* Length of the printable text at an address that ends at a NUL, 0 when there is none. */
size_t match_text_at(const struct image *image, uint64_t address);

#endif
