/* Functions of libraries whose calls are recorded because the user names them: a library to be preloaded that exports their names, and
 * leads all of them to libassay-interpose.so (runs/inside/interpose/interpose_functions.c). Only for commands; x86-64. */
#ifndef RUNS_INSTRUMENT_CALLED_FUNCTIONS_H
#define RUNS_INSTRUMENT_CALLED_FUNCTIONS_H

#include "base/error.h"

#include <stddef.h>

#define FUNCTIONS_MAX	    64u
#define FUNCTION_NAME_BYTES 60u

/* items [n]: "NAME", or "NAME:N", N the argument (1 to 6) that tells how much a call has to do. ASSAY_E_USAGE: not such words, or one
 * twice. */
enum assay_status called_functions_check(const char *const *items, size_t n, struct assay_error *err);
/* Writes the library. */
enum assay_status called_functions_write(const char *path, const char *const *items, size_t n, struct assay_error *err);

#endif
