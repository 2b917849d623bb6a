/* What was found in functions comes to one decision and its reasons. */
#ifndef GATE_DETECT_DETECT_DECIDE_H
#define GATE_DETECT_DETECT_DECIDE_H

#include "gate/detect/detect.h"

void detected_add_reason(struct detected *d, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A few runs make its mean duration, such as one in which a call was interrupted that stands for many. */
bool detected_spread(const struct detected *d, const struct detected_function *f);

/* Fills in `decision`, and adds why. Functions are there, in their order. */
void detected_decide(struct detected *d);

#endif
