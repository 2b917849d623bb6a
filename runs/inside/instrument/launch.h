/* Running a program on this machine in the foreground; only for commands. */
#ifndef RUNS_INSTRUMENT_LAUNCH_H
#define RUNS_INSTRUMENT_LAUNCH_H

#include "base/error.h"

/* words[0] is looked for in PATH; words end with NULL. The program inherits our environment, and `out` as its standard output unless it
 * is negative. Waits for it; an interrupt from the keyboard ends it and not us, and SIGTERM and SIGHUP are passed on to it. *status as of
 * waitpid(). */
enum assay_status launch_program(char *const *words, int out, int *status, struct assay_error *err);
/* After that: ends this process by the signal that was passed on, if there was one. */
void launch_end_as_told(void);
/* ASSAY_E_IO says how it ended, unless its status is 0. */
enum assay_status launch_ended(const char *program, int status, struct assay_error *err);
/* Both, with our standard output. */
enum assay_status launch_checked(char *const *words, struct assay_error *err);

/* Sets a variable of our environment, or removes it (NULL). */
void launch_variable(const char *name, const char *value);

/* Makes the directory for what a program writes, whose parents are there, and sets the variable to its absolute path, which the program
 * finds wherever it goes. An error if nothing can be written there: the program would not say so. */
enum assay_status launch_directory(const char *path, unsigned mode, const char *variable, struct assay_error *err);

/* Nothing was left in the directory by a program that ended: ASSAY_E_NODATA for the reason `why`, or ASSAY_E_IO where there was no room. */
enum assay_status launch_left_nothing(const char *directory, const char *why, struct assay_error *err);

/* The file of a program: itself if it has a '/', else the first in PATH. free() it. An error: there is none that may be executed. */
enum assay_status launch_find(const char *program, char **path, struct assay_error *err);

/* Why no library of ours can be preloaded into the program in that file, as "is linked statically"; NULL: nothing in the file is in the
 * way, or it is not machine code. */
const char *launch_no_preload(const char *file);

#endif
