/* What the programs around a host behind a command say: the end of a command that a launcher carried, and Slurm's word on jobs and nodes.
 */
#ifndef FLEET_LAUNCHED_H
#define FLEET_LAUNCHED_H

#include <stdbool.h>
#include <stddef.h>

/* Of a launcher's own status nothing can be concluded: that of the command is said on its standard error, as a line that begins so. */
#define LAUNCHED_ENDED "assay: the launched command has ended with status "

/* A line of it, without its end. True when it says how the command has ended: *status, and so many bytes before were the command's. */
bool launched_end(const char *line, size_t n, size_t *before, int *status);

#define SLURM_HELD "assay: held by job " /* what the holder of an allocation says first */

struct slurm_said {
	char job[24], state[32], reason[80];  /* RUNNING, PENDING, ...; "" where nothing was said */
	char node_state[32], node_reason[80]; /* idle, drained, down, ... */
	bool silent;			      /* the node does not answer Slurm */
};

/* True when text[n] has the holder's line. */
bool slurm_held(const char *text, size_t n, char job[24]);
/* Lines JOB|STATE|REASON of squeue (the last one counts) and node|STATE|REASON of sinfo; others do not count. */
void slurm_parse(const char *text, struct slurm_said *out);

#endif
