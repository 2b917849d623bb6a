/* A program of this machine, run in the foreground. Only for commands. */
#ifndef RUNS_INSTRUMENT_LAUNCH_H
#define RUNS_INSTRUMENT_LAUNCH_H

#include "base/error.h"

/* words[0] is looked for in PATH; words end with NULL, environment (NAME=value) too. Waits for it, an interrupt from the keyboard ends it
 * and not us. *status as of waitpid(). */
enum assay_status launch_program(char *const *words, char *const *environment, int *status, struct assay_error *err);

/* ASSAY_E_IO that says how the program ended, unless with 0. */
enum assay_status launch_succeeded(const char *program, int status, struct assay_error *err);

/* The file that PATH gives for a program's name, free() it; ASSAY_E_NOTFOUND. */
enum assay_status launch_find(const char *program, char **path, struct assay_error *err);

#endif
