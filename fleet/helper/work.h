/* The operation work: a directory for a session, which lives as long as this process. */
#ifndef FLEET_HELPER_WORK_H
#define FLEET_HELPER_WORK_H

#include "fleet/helper/request.h"

/* Removes what dead sessions of this user have left, makes a directory, says its name (HELPER_MADE) and stays; when the controller closes
 * `in`, however it has ended, and at SIGTERM, SIGHUP, SIGINT and SIGQUIT, the directory goes. 0, or 1 when there was none. */
int work_serve(struct request *request, struct frames_out *out, int in);

#endif
