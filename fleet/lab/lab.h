/* A laboratory: the directory with lab.yaml, machines/, apps/ and .assay/ (docs/hosts.md), in which most commands work. */
#ifndef FLEET_LAB_H
#define FLEET_LAB_H

#include "base/error.h"
#include "fleet/inventory/inventory.h"
#include "fleet/lab/store.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* Settings from lab.yaml. */
struct lab_config {
	char *name;			 /* name of the laboratory; NULL if not given */
	double min_effect;		 /* smallest relative slowdown that matters; default: LAB_MIN_EFFECT */
	double fingerprint_max_age_days; /* maximum age of a fingerprint when a run starts, days; default: LAB_FINGERPRINT_MAX_AGE_DAYS */
	double quota_gib;		 /* maximum size of .assay, GiB; 0 for no limit */
	int64_t fanout;			 /* number of hosts that work at the same time; 0 for the engine's default */
	char **secrets;			 /* [n_secrets] patterns for names of secret variables, in addition to the built-in patterns */
	size_t n_secrets;
	struct inventory inventory; /* hosts, from the key `hosts` */
};

#define LAB_FANOUT_MAX		     1000
#define LAB_MIN_EFFECT		     .03
#define LAB_FINGERPRINT_MAX_AGE_DAYS 30

struct lab {
	char *directory;
	char *machines; /* path DIRECTORY/machines */
	struct lab_config config;
	struct store store;
	int lock_fd;		    /* descriptor that holds the writer's lock; -1 if opened for reading */
	bool permissions_tightened; /* true if other users could read .assay before this lab_open() */
};

/* Opens an existing laboratory. STORE_WRITE takes its lock, which the kernel releases when the process ends. ASSAY_E_BUSY: another process
 * holds the lock; the message names it. ASSAY_E_NOTFOUND: there is no laboratory. Overwrites *out; call lab_close(). */
enum assay_status lab_open(const char *directory, enum store_access access, struct lab *out, struct assay_error *err);

/* Like lab_open(), but waits up to wait_s seconds for the lock. Setting *cancelled ends the wait; `cancelled` may be NULL. */
enum assay_status lab_open_wait(const char *directory, enum store_access access, double wait_s, const volatile sig_atomic_t *cancelled,
				struct lab *out, struct assay_error *err);

/* Records the running command, such as "assay host measure", in the lock file. Processes that cannot get the lock report it. */
void lab_record_command(const struct lab *lab, const char *command);

/* Returns the holder of the lock from the text of .assay/lock: "'COMMAND', process PID, since DATE". Returns NULL if the text is incomplete
 * or that process has ended. Changes `text`. The caller frees the result. */
char *lab_lock_holder(char *text);

void lab_close(struct lab *lab); /* accepts a zeroed struct with lock_fd -1 */

/* Creates a laboratory: the directory, its folders, lab.yaml and commented examples. Fails if lab.yaml exists. */
enum assay_status lab_create(const char *directory, struct assay_error *err);

/* Makes the directory `path` (DIRECTORY/.assay) accessible only to its owner. Sets *permissions_tightened to true if others could read it
 * before. */
enum assay_status lab_make_private(const char *path, bool *permissions_tightened, struct assay_error *err);

/* Parses the text of lab.yaml. `name` is the name of the file, for messages. Overwrites *out; call lab_config_release(). */
enum assay_status lab_config_parse(const char *name, const char *text, size_t n, struct lab_config *out, struct assay_error *err);
void lab_config_release(struct lab_config *config);
/* Checks a text as lab_config_parse() does, and sets *hosts to the number of hosts in its inventory. */
enum assay_status lab_config_check(const char *name, const char *text, size_t n, size_t *hosts, struct assay_error *err);

#endif
