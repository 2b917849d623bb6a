/* Runs programs on this machine in the foreground. Only commands use these functions. */
#ifndef RUNS_INSTRUMENT_FOREGROUND_H
#define RUNS_INSTRUMENT_FOREGROUND_H

#include "base/error.h"

/* Runs a program and waits for it. Searches words[0] in PATH; NULL ends words. The program inherits the environment. Its standard output is
 * `out`, or this process's if negative. A keyboard interrupt ends only the program. SIGTERM and SIGHUP are passed on. *status: as of
 * waitpid(). */
enum assay_status foreground_run(char *const *words, int out, int *status, struct assay_error *err);
/* Ends this process by the signal that foreground_run() passed on, if any. */
void foreground_raise_signal(void);
/* Returns ASSAY_E_IO, with a text about how the program ended, unless `status` is 0. */
enum assay_status foreground_check_end(const char *program, int status, struct assay_error *err);
/* Runs a program with this process's standard output, and checks how it ended. */
enum assay_status foreground_run_checked(char *const *words, struct assay_error *err);

/* Sets a variable of this process's environment; NULL removes it. */
void foreground_set_variable(const char *name, const char *value);

/* Adds libraries, separated by ':', at the start of LD_PRELOAD. Also lets programs with the address sanitizer start after them. */
void foreground_preload(const char *libraries);

/* Makes the directory for a program's files. Sets the variable to its absolute path, because the program may change its working directory.
 * The parents must exist. Fails if no file can be written there, because the program would not report that. */
enum assay_status foreground_make_directory(const char *path, unsigned mode, const char *variable, struct assay_error *err);

/* Fails because a program left no file in the directory. Returns ASSAY_E_IO if the disk is full, otherwise ASSAY_E_NODATA with `why`. */
enum assay_status foreground_fail_no_output(const char *directory, const char *why, struct assay_error *err);

/* Finds a program's file: `program` itself if it contains a '/', otherwise the first executable in PATH. The caller frees *path. */
enum assay_status foreground_find_program(const char *program, char **path, struct assay_error *err);

#endif
