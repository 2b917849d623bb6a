/* Shared by detect*.c. */
#ifndef GATE_DETECT_DETECT_INTERNAL_H
#define GATE_DETECT_DETECT_INTERNAL_H

#include "gate/detect/detect.h"

#define DETECT_WHY_ENUM(constant, code, text) constant,
enum detect_why { DETECT_SKIP_ROWS(DETECT_WHY_ENUM) };
#undef DETECT_WHY_ENUM

/* Lists a function as not judged; share: of what the new version did, NaN: not known. */
void detect_skip(struct detected *detected, const char *symbol, enum detect_why why, double share);

/* ---- detect_functions.c ---- */

/* Fills in `functions` and their numbers from what was observed and found. */
void detect_take_functions(struct detected *detected);

#endif
