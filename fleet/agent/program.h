/* Programs of ours that run on hosts: bytes that are built into this one, kept there by their content hash. */
#ifndef FLEET_PROGRAM_H
#define FLEET_PROGRAM_H

#include "base/buf.h"
#include "base/digest.h"

/* The architectures of hosts, as `uname -m` says them there; PROGRAM_ARCHITECTURE is that of this program. */
#define PROGRAM_ARCHITECTURES 2
#if defined(__aarch64__)
#define PROGRAM_ARCHITECTURE "aarch64"
#else
#define PROGRAM_ARCHITECTURE "x86_64"
#endif

extern const char *const program_architectures[PROGRAM_ARCHITECTURES]; /* by name */

struct program {
	const char *name; /* "helper", "counting"; on the host NAME-HASH */
	struct program_build {
		const char *architecture; /* NULL: after the last one */
		const char *bytes, *end;  /* bytes[end - bytes] */
	} builds[PROGRAM_ARCHITECTURES + 1];
};

/* The build for hosts of that architecture; NULL: there is none, and program_reason() says why, with the remedy (one line, free() it). */
const struct program_build *program_find(const struct program *program, const char *architecture);
char *program_reason(const struct program *program, const char *architecture);

/* Scripts for /bin/sh; in them only name, hash and size vary. They may stand in single quotes on any login shell's command line: no
 * single quote, no line end, and no '!' before a letter or '/' (csh).
 *
 * "run" becomes the program for the host's architecture, with the script's arguments; where it is missing the exit status is 127, and
 * WHOLE_DAMAGED where it is damaged, unless a signal has ended it. "deploy" reads the program, a build of it, on standard input and stores
 * it as a whole, in the user's cache or, where nothing can be kept or executed there, in a directory of the user's own below /tmp or
 * /dev/shm. It ends with 0, or says why not on standard error. */
void program_script_run(const struct program *program, struct buf *out);
void program_script_deploy(const struct program *program, const struct program_build *build, struct buf *out);

#endif
