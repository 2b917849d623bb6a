/* What kind of work code does: by the file that it is in and, where there is one, by the function's name. The table stands in
 * code_classes.c; what no row has, has no class: it is never guessed. */
#ifndef GATE_PROFILE_CODE_CLASSES_H
#define GATE_PROFILE_CODE_CLASSES_H

#include "base/rows.h"

#include <stdbool.h>

#define CODE_ROWS(X)                                                                                                                       \
	X(CODE_NONE, "")                                                                                                                   \
	X(CODE_STRINGS, "string functions")                                                                                                \
	X(CODE_ALLOCATION, "allocation")                                                                                                   \
	X(CODE_SORTING, "sorting and searching")                                                                                           \
	X(CODE_MATHEMATICS, "mathematics")                                                                                                 \
	X(CODE_LINEAR, "linear algebra")                                                                                                   \
	X(CODE_COMPRESSION, "compression")                                                                                                 \
	X(CODE_CRYPTOGRAPHY, "cryptography")                                                                                               \
	X(CODE_PARSING, "parsing and regular expressions")                                                                                 \
	X(CODE_FORMATTING, "formatting text")                                                                                              \
	X(CODE_BUFFERS, "buffered input and output")                                                                                       \
	X(CODE_CHARACTERS, "character sets")                                                                                               \
	X(CODE_LOCKS, "locks and threads")                                                                                                 \
	X(CODE_RANDOM, "random numbers")                                                                                                   \
	X(CODE_DATES, "clocks and dates")                                                                                                  \
	X(CODE_INTERPRETER, "interpreter")                                                                                                 \
	X(CODE_COMPILING, "compiling and linking")                                                                                         \
	X(CODE_DATABASE, "database")                                                                                                       \
	X(CODE_MEDIA, "pictures, sound and video")                                                                                         \
	X(CODE_GENERATED, "generated code")                                                                                                \
	X(CODE_LOADING, "dynamic linker")                                                                                                  \
	X(CODE_CXX, "C++ library")                                                                                                         \
	X(CODE_C, "C library")

enum code_class { CODE_ROWS(ROWS_ENUM) CODE_CLASSES };

const char *code_class_text(enum code_class class); /* for people, and in answers */

/* Of a function, by its symbol and the file's name without directory; CODE_NONE: its name says nothing. */
enum code_class code_class_of_symbol(const char *file, const char *symbol);
/* Of a file as a whole. */
enum code_class code_class_of_file(const char *file);

/* Is the name among `names`, which are separated by blanks? '*' at the end of one: anything; '~': what C libraries append to a function's
 * name for a kind of processor, or for its checked or locale's variant. */
bool code_is_named(const char *names, const char *name);

#endif
