/* The operations read, get and put: files of the host. */
#ifndef FLEET_HELPER_FILES_H
#define FLEET_HELPER_FILES_H

#include "fleet/helper/request.h"

/* Answers the request; 0, or 1 when it was refused or the controller on `in` is gone. */
int files_serve(struct request *request, struct frames_out *out, int in);

/* The request's input function: a command's input goes to memory, the bytes of a file to a temporary one beside it. */
bool files_input(struct request *request, const char *bytes, size_t n);

#endif
