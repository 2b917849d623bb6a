/* The control group of a command. */
#ifndef FLEET_HELPER_GROUP_H
#define FLEET_HELPER_GROUP_H

#include "fleet/helper/request.h"

/* Limits of all processes of the command together, and a certain end of them. Where this user can have no group, or not with all
 * the limits, the command runs without. */
struct group {
	char *directories[2]; /* [n]: one a controller; in version 2 one for both */
	int owner[2];	      /* [n]: locks that say whose it is; never inherited by a program */
	size_t n;
	int version; /* with every limit that was asked for; else 0 */
};

/* Also sweeps groups whose owners are dead. Call it before the guard is there, so that the guard can end it when the worker is
 * killed. */
void group_open(const struct request_group *wanted, struct group *out);
/* This process moves into it, before it becomes the command. False: not into all of it. */
bool group_enter(const struct group *group);
bool group_has_members(const struct group *group);
/* SIGKILL to all; none of them can start another one any more. */
void group_kill(const struct group *group);
/* Lines of the result; before anything is killed. */
void group_say(const struct group *group, char *text, size_t n);
/* Kills what is left and removes the group; may be called again. */
void group_end(struct group *group);

#endif
