/* Shared by functions*.c. */
#ifndef RUNS_CHANGES_FUNCTIONS_INTERNAL_H
#define RUNS_CHANGES_FUNCTIONS_INTERNAL_H

#include "runs/inside/changes/functions.h"

struct range_owner {
	uint64_t low, high;
	size_t body;
};

/* While a file is read. */
struct functions_reader {
	const struct image *image;
	struct functions *functions;
	struct map by_entry; /* entry of debug information, whose abstract origin is followed to its root, to function */
	Dwarf_Die unit;
	Dwarf_Off unit_offset;
	const char *directory;       /* of the unit */
	const char *raw_path, *path; /* the last path that was cleaned */
	size_t entries, entries_max; /* of the unit: more than bytes means that siblings run in a circle */
};

/* The function that an entry is an instance, a declaration or the definition of; made when it is new. SIZE_MAX: it has no name.
 */
size_t functions_of_entry(struct functions_reader *reader, Dwarf_Die *die, bool defines);

/* The function of that symbol; made when it is new. place: what tells it from others of the name, NULL for those that other files
 * see. */
size_t functions_add(struct functions *functions, const char *symbol, const char *place);

size_t functions_add_body(struct functions *functions, struct body body);

/* As debug information names a file: joined with the directory, cleaned. */
const char *functions_path(struct intern *names, const char *directory, const char *raw);

/* After all bodies are there. */
void functions_from_symbols(const struct image *image, struct functions *functions);
void functions_sort(struct functions *functions);
void functions_own(struct functions *functions);

#endif
