/* How a host behind a command is reached: words that are run on this machine, or on a login node, and carry a command to it. */
#ifndef FLEET_LAUNCHER_H
#define FLEET_LAUNCHER_H

#include "base/error.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stddef.h>

#define LAUNCHER_WORDS_MAX 64
#define LAUNCHER_HOST	   "{host}" /* in a word: the host's address */
#define LAUNCHER_JOB	   "{job}"  /* of Slurm's words: the allocation */

/* All zero: the host is not behind a command. */
struct launcher {
	char **words; /* [n] what stands before "/bin/sh -c COMMAND" */
	size_t n;
	char *login;	/* [user@]host[:port] on which the words are run, by ssh; NULL: this machine */
	bool slurm;	/* within an allocation of one node, which is made with `options` */
	char **options; /* [n_options] of srun: partition, account and the like */
	size_t n_options;
	double time_limit_s, queue_limit_s;
};

/* The keys launcher, login, options, time_limit, queue_limit of a host. *out is overwritten; launcher_release() it. */
enum assay_status launcher_parse(const char *file, const struct yaml_node *host, bool slurm, struct launcher *out, struct assay_error *err);
/* The first of these keys that the host has; NULL: none. */
const char *launcher_key(const struct yaml_node *host);
struct launcher launcher_copy(const struct launcher *launcher);
void launcher_release(struct launcher *launcher);

/* The word with the host and the job in their places; free() it. */
char *launcher_word(const char *word, const char *host, const char *job);

#endif
