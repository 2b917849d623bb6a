/* Runs programs on this machine in the foreground. Only for commands. */
#ifndef RUNS_INSTRUMENT_FOREGROUND_H
#define RUNS_INSTRUMENT_FOREGROUND_H

#include "base/error.h"

/* Runs a program and waits for it. words[0] is looked for in PATH; words end with NULL. The program inherits the environment, and `out` as
 * its standard output unless `out` is negative. An interrupt from the keyboard ends only the program. SIGTERM and SIGHUP are passed on to
 * it. *status is that of waitpid(). */
enum assay_status foreground_run(char *const *words, int out, int *status, struct assay_error *err);
/* Ends this process by the signal that foreground_run() passed on, if there was one. */
void foreground_end_as_told(void);
/* Returns ASSAY_E_IO with the way in which a program ended, unless its status is 0. */
enum assay_status foreground_check_end(const char *program, int status, struct assay_error *err);
/* Runs a program with this process's standard output, and checks its end. */
enum assay_status foreground_run_checked(char *const *words, struct assay_error *err);

/* Sets a variable of this process's environment. NULL removes it. */
void foreground_set_variable(const char *name, const char *value);

/* Sets LD_PRELOAD to the libraries, ':' between them, before those that it has already, for interposition. Programs built with the address
 * sanitizer, which wants to be loaded first, are told to start all the same. */
void foreground_preload(const char *libraries);

/* Makes the directory for the files of a program, and sets the variable to its absolute path, which the program finds after it has changed
 * its directory. The parents must exist. Fails if nothing can be written there, which the program would not report. */
enum assay_status foreground_make_directory(const char *path, unsigned mode, const char *variable, struct assay_error *err);

/* Fails because a program that has ended left nothing in the directory: ASSAY_E_IO if there was no room, else ASSAY_E_NODATA with the
 * reason `why`. */
enum assay_status foreground_left_nothing(const char *directory, const char *why, struct assay_error *err);

/* Finds the file of a program: the word itself if it has a '/', else the first in PATH that may be executed. free() *path. */
enum assay_status foreground_find_program(const char *program, char **path, struct assay_error *err);

#endif
