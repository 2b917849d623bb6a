/* The command that is counted. */
#ifndef FLEET_COUNTING_COMMAND_H
#define FLEET_COUNTING_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

struct command {
	pid_t id;
	int gate; /* closed without a word, the command is not run */
};

/* Forks a process that waits before it becomes the command. False with errno. From here on SIGINT is passed on to it, and this process
 * survives SIGINT and SIGTERM. */
bool command_prepare(char *const *words, struct command *out);
/* Lets it go, and waits for its end: a status of waitpid(2). When it cannot be executed, its exit status is 127. */
int command_run(struct command *command);
void command_forget(struct command *command); /* it never runs */
/* Ends this process as the command has ended. */
_Noreturn void command_end_like(int status);

#endif
