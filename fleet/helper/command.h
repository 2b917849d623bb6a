/* The command's process, from the fork to its first instruction. */
#ifndef FLEET_HELPER_COMMAND_H
#define FLEET_HELPER_COMMAND_H

#include "fleet/helper/group.h"
#include "fleet/helper/request.h"

#include <stdbool.h>
#include <sys/types.h>

enum command_stage {
	STAGE_GROUP, /* no fault: the command runs, but outside of its control group */
	STAGE_SESSION,
	STAGE_STREAMS,
	STAGE_DIRECTORY,
	STAGE_LIMITS,
	STAGE_NICE,
	STAGE_EXEC,
};

/* What the child says when it could not become the command. */
struct command_fault {
	int stage; /* enum command_stage */
	int errnum;
};

struct command {
	pid_t id;
	int pipes[2]; /* its standard output and standard error, not blocking */
	int fault;    /* at its end: the command runs; a struct command_fault: it does not (but STAGE_GROUP) */
};

/* Forks. False: request->refusal says why. */
bool command_start(struct request *request, const struct group *group, struct command *out);
/* request->refusal from what the child said. */
void command_refuse(struct request *request, const struct command_fault *fault);

#endif
