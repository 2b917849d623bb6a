/* A laboratory directory: lab.yaml, machines/, apps/, .assay/ (docs/hosts.md). It is to assay what a repository is to git. */
#ifndef FLEET_LAB_H
#define FLEET_LAB_H

#include "base/error.h"
#include "fleet/inventory/inventory.h"
#include "fleet/lab/store.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* The settings of lab.yaml. */
struct lab_config {
	char *name;			 /* NULL: not given */
	double min_effect;		 /* smallest relative slowdown that matters; default LAB_MIN_EFFECT */
	double fingerprint_max_age_days; /* longest time from fingerprint to run; default LAB_FINGERPRINT_MAX_AGE_DAYS */
	double quota_gib;		 /* limit of .assay; 0: none */
	int64_t fanout;			 /* hosts at the same time; 0: the engine's default */
	char **secrets;			 /* [n_secrets], patterns of secret variables' names, beside the built-in ones */
	size_t n_secrets;
	struct inventory inventory; /* parsed `hosts` */
};

#define LAB_FANOUT_MAX		     1000
#define LAB_MIN_EFFECT		     .03
#define LAB_FINGERPRINT_MAX_AGE_DAYS 30

struct lab {
	char *directory;
	char *machines; /* DIRECTORY/machines */
	struct lab_config config;
	struct store store;
	int lock_fd;	/* held while open for writing; else -1 */
	bool tightened; /* other users could read .assay until it was opened now */
};

/* Opens an existing laboratory. STORE_WRITE takes its lock, which ends with the process. ASSAY_E_BUSY: another process, which is named, has
 * the lock. ASSAY_E_NOTFOUND, with the remedy: there is no laboratory. Overwrites *out; lab_close() it. */
enum assay_status lab_open(const char *directory, enum store_access access, struct lab *out, struct assay_error *err);

/* Does the same, but waits for the lock, for wait_s at most, or until *cancelled (may be NULL) is set. */
enum assay_status lab_open_soon(const char *directory, enum store_access access, double wait_s, const volatile sig_atomic_t *cancelled,
				struct lab *out, struct assay_error *err);

/* Names the running command, such as "assay host measure", to processes that are refused the lock. */
void lab_sign(const struct lab *lab, const char *command);

/* Returns the holder of the lock from the text of .assay/lock: "'COMMAND', process PID, since DATE". NULL: the text is incomplete, or its
 * process is gone (an earlier holder left it). Changes `text`. free() it. */
char *lab_lock_holder(char *text);

void lab_close(struct lab *lab); /* accepts zeroed, provided that lock_fd is -1 or the struct came from lab_open */

/* Makes a laboratory: the directory, its folders, lab.yaml and examples with comments. Fails if there is a lab.yaml. */
enum assay_status lab_create(const char *directory, struct assay_error *err);

/* Makes the directory `path` (DIRECTORY/.assay) and all in it readable by its owner only. *tightened: others could read it before. */
enum assay_status lab_make_private(const char *path, bool *tightened, struct assay_error *err);

/* Parses the text of lab.yaml; overwrites *out. */
enum assay_status lab_config_parse(const char *name, const char *text, size_t n, struct lab_config *out, struct assay_error *err);
void lab_config_release(struct lab_config *config);
/* Checks a text as lab_config_parse() does; *hosts: size of its inventory. */
enum assay_status lab_config_check(const char *name, const char *text, size_t n, size_t *hosts, struct assay_error *err);

#endif
