/* assay's programs that run on hosts. They are built into this program, and kept on hosts under names with their content hash. */
#ifndef FLEET_PROGRAM_H
#define FLEET_PROGRAM_H

#include "base/buf.h"
#include "base/digest.h"

/* Architectures of hosts, as in `uname -m`. PROGRAM_ARCHITECTURE is this program's own. */
#define PROGRAM_ARCHITECTURES 2
#if defined(__aarch64__)
#define PROGRAM_ARCHITECTURE "aarch64"
#else
#define PROGRAM_ARCHITECTURE "x86_64"
#endif

extern const char *const program_architectures[PROGRAM_ARCHITECTURES]; /* sorted by name */

struct program {
	const char *name; /* "helper", "counting"; on the host NAME-HASH */
	struct program_build {
		const char *architecture; /* NULL: end of the list */
		const char *bytes, *end;  /* bytes[end - bytes] */
	} builds[PROGRAM_ARCHITECTURES + 1];
};

/* Returns the build for hosts of an architecture; NULL: none. program_reason() returns the reason with the remedy (one line, free() it). */
const struct program_build *program_find(const struct program *program, const char *architecture);
char *program_reason(const struct program *program, const char *architecture);

/* Append scripts for /bin/sh; only name, hash and size vary. They may stand in single quotes on any login shell's command line: they have
 * no single quote, no line end, and no '!' before a letter or '/' (csh).
 *
 * "run" becomes the program for the host's architecture, with the script's arguments. Unless a signal ends it, its exit status is 127 if
 * the program is missing, and WHOLE_DAMAGED if it is damaged. "deploy" reads a build of the program on standard input and stores all of it
 * in the user's cache. If nothing can be kept or executed there, it uses a directory of the user's own below /tmp or /dev/shm. It exits
 * with 0, or writes the reason to standard error. */
void program_script_run(const struct program *program, struct buf *out);
void program_script_deploy(const struct program *program, const struct program_build *build, struct buf *out);

#endif
