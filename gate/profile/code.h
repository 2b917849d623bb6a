/* Whose code is at a place in a file of this machine: the function's name and what kind of work it does, as far as the file tells. */
#ifndef GATE_PROFILE_CODE_H
#define GATE_PROFILE_CODE_H

#include "base/rows.h"

#include <stdbool.h>
#include <stdint.h>

/* What kind of work code does, by its file and, if there is one, by the function's name: by the tables of code.c, never by a guess. */
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

/* Of a file as a whole. */
enum code_class code_class_of_file(const char *file);

/* Is the name among `names`, which are separated by blanks? '*' at the end of one: anything; '~': what C libraries append to a function's
 * name for a kind of CPU, or for its checked or locale's variant. */
bool code_is_named(const char *names, const char *name);

#define CODE_NAME_BYTES 96

struct code; /* the files that were looked into */

struct code_place {
	enum code_class class;	    /* of the function, else of the file, else CODE_NONE */
	bool behind_call;	    /* the instruction before is a system call, or the one before that */
	bool nameless;		    /* the name is but its address */
	bool by_callers;	    /* the function has no name; nearly all that call it are of that class */
	char name[CODE_NAME_BYTES]; /* of the function, as its source has it, or "file+0x1230", where it starts; "": not known at all */
};

struct code *code_new(void);
void code_free(struct code *code); /* accepts NULL */

/* The path of a file that was looked into, by its name without directory, below `directory`; NULL: none was. It lasts as the code does. */
const char *code_path(const struct code *code, const char *file, const char *directory);

/* The name of a function by its symbol, as code_place has it. */
void code_function_name(const char *symbol, char out[CODE_NAME_BYTES]);

/* path: as it was mapped, with `inode`; if another file has that name now, only the path is known. `offset`: in the file. Reads it once. */
void code_at(struct code *code, const char *path, uint64_t inode, uint64_t offset, struct code_place *out);

#endif
