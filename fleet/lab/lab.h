/* A laboratory: the directory with lab.yaml, machines/, apps/ and .assay/ (docs/hosts.md). All other commands work inside one. */
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
	double min_effect;		 /* smallest relative slowdown that matters; default LAB_MIN_EFFECT */
	double fingerprint_max_age_days; /* maximum age of a fingerprint at the time of a run, days; default LAB_FINGERPRINT_MAX_AGE_DAYS */
	double quota_gib;		 /* maximum size of .assay, GiB; 0: no limit */
	int64_t fanout;			 /* number of hosts that work at the same time; 0: the engine's default */
	char **secrets;			 /* [n_secrets] patterns of secret variables' names, in addition to the built-in patterns */
	size_t n_secrets;
	struct inventory inventory; /* hosts, parsed from `hosts` */
};

#define LAB_FANOUT_MAX		     1000
#define LAB_MIN_EFFECT		     .03
#define LAB_FINGERPRINT_MAX_AGE_DAYS 30

struct lab {
	char *directory;
	char *machines; /* DIRECTORY/machines */
	struct lab_config config;
	struct store store;
	int lock_fd;	/* descriptor that holds the lock of a writer; -1 if the laboratory is open for reading */
	bool tightened; /* other users could read .assay before this lab_open() */
};

/* Opens an existing laboratory. STORE_WRITE takes its lock, which the kernel releases when the process ends. ASSAY_E_BUSY: another
 * process, named in the message, has the lock. ASSAY_E_NOTFOUND: there is no laboratory. Overwrites *out; lab_close() it. */
enum assay_status lab_open(const char *directory, enum store_access access, struct lab *out, struct assay_error *err);

/* Does the same, but waits up to wait_s seconds for the lock. Stops waiting when *cancelled is set; `cancelled` may be NULL. */
enum assay_status lab_open_soon(const char *directory, enum store_access access, double wait_s, const volatile sig_atomic_t *cancelled,
				struct lab *out, struct assay_error *err);

/* Records the running command, such as "assay host measure". Processes that are refused the lock report this command. */
void lab_sign(const struct lab *lab, const char *command);

/* Returns the holder of the lock from the text of .assay/lock: "'COMMAND', process PID, since DATE". Returns NULL if the text is
 * incomplete or the named process has ended. Changes `text`. free() the result. */
char *lab_lock_holder(char *text);

void lab_close(struct lab *lab); /* accepts a zeroed struct with lock_fd -1 */

/* Creates a laboratory: the directory, its folders, lab.yaml and commented examples. Fails if lab.yaml exists. */
enum assay_status lab_create(const char *directory, struct assay_error *err);

/* Makes the directory `path` (DIRECTORY/.assay) accessible to its owner only. Sets *tightened if others could read the directory before. */
enum assay_status lab_make_private(const char *path, bool *tightened, struct assay_error *err);

/* Parses the text of lab.yaml. `name` is the file's name for messages. Overwrites *out; lab_config_release() it. */
enum assay_status lab_config_parse(const char *name, const char *text, size_t n, struct lab_config *out, struct assay_error *err);
void lab_config_release(struct lab_config *config);
/* Checks a text as lab_config_parse() does. Sets *hosts to the number of hosts in its inventory. */
enum assay_status lab_config_check(const char *name, const char *text, size_t n, size_t *hosts, struct assay_error *err);

#endif
