/* Runs programs on this machine in the foreground; for commands only. */
#ifndef RUNS_INSTRUMENT_FOREGROUND_H
#define RUNS_INSTRUMENT_FOREGROUND_H

#include "base/error.h"

/* Runs a program and waits for it. words[0] is searched in PATH; words end with NULL. The program inherits the environment, and `out` as
 * its standard output unless it is negative. A keyboard interrupt ends only the program. SIGTERM and SIGHUP are passed on to the program.
 * *status: as of waitpid(). */
enum assay_status foreground_run(char *const *words, int out, int *status, struct assay_error *err);
/* Ends this process by the signal that foreground_run() passed on, if any. */
void foreground_end_as_command(void);
/* Returns ASSAY_E_IO, with a text about how the program ended, unless its status is 0. */
enum assay_status foreground_check_end(const char *program, int status, struct assay_error *err);
/* Runs a program with this process's standard output, and checks its end. */
enum assay_status foreground_run_checked(char *const *words, struct assay_error *err);

/* Sets a variable of this process's environment; NULL removes it. */
void foreground_set_variable(const char *name, const char *value);

/* Adds libraries, separated by ':', at the start of LD_PRELOAD. Also lets programs with the address sanitizer start, although it then is
 * not loaded first. */
void foreground_preload(const char *libraries);

/* Makes the directory for a program's files, and sets the variable to its absolute path, because the program may change its directory. The
 * parents must exist. Fails if no file can be written there, which the program would not report. */
enum assay_status foreground_make_directory(const char *path, unsigned mode, const char *variable, struct assay_error *err);

/* Fails because a program left nothing in the directory: ASSAY_E_IO if the disk is full, otherwise ASSAY_E_NODATA with `why`. */
enum assay_status foreground_has_no_output(const char *directory, const char *why, struct assay_error *err);

/* Finds a program's file: `program` itself if it has a '/', otherwise the first executable in PATH. The caller frees *path. */
enum assay_status foreground_find_program(const char *program, char **path, struct assay_error *err);

#endif
