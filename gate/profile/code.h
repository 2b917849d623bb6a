/* Finds the function at an offset of a program file on this machine, and the kind of work that the function does. */
#ifndef GATE_PROFILE_CODE_H
#define GATE_PROFILE_CODE_H

#include "base/rows.h"

#include <stdbool.h>
#include <stdint.h>

/* Kinds of work. The tables in code.c map functions and files to kinds by their names. There is no guessing. */
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

const char *code_class_text(enum code_class class); /* returns the name for users and JSON */

/* Returns the class of a whole file; CODE_NONE if the file is not in the table. */
enum code_class code_class_of_file(const char *file);

/* Reports whether `name` matches one of `names`, which are separated by spaces. A '*' at the end of a name matches any rest. A '~' matches
 * the suffixes that C libraries give to variants of a function, for a kind of CPU, with checks, or for a locale. */
bool code_name_matches(const char *names, const char *name);

#define CODE_NAME_BYTES 96

struct code; /* the program files that were read */

struct code_place {
	enum code_class class;	    /* class of the function; if that is not known, class of the file; otherwise CODE_NONE */
	bool after_system_call;	    /* one of the two instructions before this address is a system call */
	bool nameless;		    /* the function has no symbol; `name` has the function's address instead */
	bool is_class_from_callers; /* the function has no symbol; `class` is that of most functions that call it */
	char name[CODE_NAME_BYTES]; /* name as in the source; "file+0x1230", the function's start, if there is no symbol; "" if not known */
};

struct code *code_new(void);
void code_free(struct code *code); /* accepts NULL */

/* Returns the path of a read file with the name `file` below `directory`; NULL if there is none. The path is valid as long as `code`. */
const char *code_find_path(const struct code *code, const char *file, const char *directory);

/* Sets out[] to the name in the source of the function with this symbol, as in struct code_place. */
void code_function_name(const char *symbol, char out[CODE_NAME_BYTES]);

/* Sets *out to the place at `offset` of the file that was mapped from `path` with this inode number. If another file has the path now, the
 * result depends on the path only. Reads each file once. */
void code_find_place(struct code *code, const char *path, uint64_t inode, uint64_t offset, struct code_place *out);

#endif
