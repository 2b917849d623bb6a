/* Whose code is at a place in a file of this machine: the function's name and what kind of work it does, as far as the file tells. */
#ifndef GATE_PROFILE_CODE_H
#define GATE_PROFILE_CODE_H

#include "gate/profile/code_classes.h"

#include <stdint.h>

#define CODE_NAME_BYTES 96

struct code; /* the files that were looked into */

struct code_place {
	enum code_class class;	    /* of the function, else of the file, else CODE_NONE */
	bool behind_call;	    /* the instruction before is a system call, or the one before that */
	bool nameless;		    /* the name is but its address */
	bool by_callers;	    /* the function has no name; nearly all that call it are of that class */
	char name[CODE_NAME_BYTES]; /* of the function, as its source has it, or "file+0x1230", where it begins; "": not known at all */
};

struct code *code_new(void);
void code_free(struct code *code); /* accepts NULL */

/* path: as it was mapped, `inode` then; where another file has that name now, nothing is known but the path. `offset`: in the file. The
 * first question about a file reads it. */
void code_at(struct code *code, const char *path, uint64_t inode, uint64_t offset, struct code_place *out);

#endif
