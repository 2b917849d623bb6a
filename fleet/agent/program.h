/* assay's programs for hosts: the helper and the counting program, built into this program. File names on hosts contain a content hash. */
#ifndef FLEET_PROGRAM_H
#define FLEET_PROGRAM_H

#include "base/buf.h"
#include "base/digest.h"

/* Architectures of hosts, as in `uname -m`. PROGRAM_ARCHITECTURE is the architecture for which this program is built. */
#define PROGRAM_ARCHITECTURES 2
#if defined(__aarch64__)
#define PROGRAM_ARCHITECTURE "aarch64"
#else
#define PROGRAM_ARCHITECTURE "x86_64"
#endif

extern const char *const program_architectures[PROGRAM_ARCHITECTURES]; /* sorted by name */

struct program {
	const char *name; /* "helper" or "counting"; the name of the file on the host is NAME-HASH */
	struct program_build {
		const char *architecture; /* NULL ends the list */
		const char *bytes, *end;  /* start and end of the executable */
	} builds[PROGRAM_ARCHITECTURES + 1];
};

/* Returns the build for an architecture; NULL if there is none. program_explain_missing() then returns a line with reason and remedy;
 * free() it. */
const struct program_build *program_find(const struct program *program, const char *architecture);
char *program_explain_missing(const struct program *program, const char *architecture);

/* Append scripts for /bin/sh. They are constant except for name, hash and size. A script may be put in single quotes on the command line of
 * any login shell: it has no single quotes, no line ends, and no '!' before a letter or '/' (csh).
 *
 * program_script_run() executes the program for the host's architecture with the script's arguments. Its exit status is the program's, 127
 * if the program is missing, or SELF_CHECK_DAMAGED if the file is damaged. program_script_deploy() reads a build of the program from
 * standard input and stores it in the user's cache directory. If files cannot be kept or executed there, it uses a directory of the user
 * below /tmp or /dev/shm. On failure, it exits with 1 and writes the reason to standard error. */
void program_script_run(const struct program *program, struct buf *out);
void program_script_deploy(const struct program *program, const struct program_build *build, struct buf *out);

#endif
