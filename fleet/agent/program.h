/* assay's programs that run on hosts. This program contains their executables. On hosts, a file's name contains its content hash. */
#ifndef FLEET_PROGRAM_H
#define FLEET_PROGRAM_H

#include "base/buf.h"
#include "base/digest.h"

/* Architectures of hosts, as in `uname -m`. PROGRAM_ARCHITECTURE is that of this program. */
#define PROGRAM_ARCHITECTURES 2
#if defined(__aarch64__)
#define PROGRAM_ARCHITECTURE "aarch64"
#else
#define PROGRAM_ARCHITECTURE "x86_64"
#endif

extern const char *const program_architectures[PROGRAM_ARCHITECTURES]; /* sorted by name */

struct program {
	const char *name; /* "helper" or "counting"; the file on the host is NAME-HASH */
	struct program_build {
		const char *architecture; /* NULL ends the list */
		const char *bytes, *end;  /* start and end of the executable */
	} builds[PROGRAM_ARCHITECTURES + 1];
};

/* Returns the build for hosts of an architecture; NULL: none. program_reason() then returns a line with reason and remedy; free() it. */
const struct program_build *program_find(const struct program *program, const char *architecture);
char *program_reason(const struct program *program, const char *architecture);

/* Append scripts for /bin/sh; only name, hash and size vary. A script can be put in single quotes on the command line of any login
 * shell: it has no single quotes, no line ends, and no '!' before a letter or '/' (csh).
 *
 * "run" executes the program for the host's architecture with the script's arguments. Unless a signal ends it, its exit status is 127 if
 * the program is missing, and WHOLE_DAMAGED if it is damaged. "deploy" reads a build of the program from standard input and stores it in
 * the user's cache directory. If that directory cannot keep or execute files, "deploy" uses a directory of the user below /tmp or
 * /dev/shm. It exits with 0, or writes the reason to standard error. */
void program_script_run(const struct program *program, struct buf *out);
void program_script_deploy(const struct program *program, const struct program_build *build, struct buf *out);

#endif
