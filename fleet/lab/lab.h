/* A laboratory directory: lab.yaml, machines/, apps/, .assay/ (docs/formats.md). The unit of use, as a repository is for git. */
#ifndef FLEET_LAB_H
#define FLEET_LAB_H

#include "base/error.h"
#include "fleet/inventory/inventory.h"
#include "fleet/lab/store.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* What lab.yaml says. */
struct lab_config {
	char *name;			 /* NULL when not given */
	double min_effect;		 /* smallest relative slowdown that matters; default LAB_MIN_EFFECT */
	double fingerprint_max_age_days; /* an older fingerprint does not belong to a run; default LAB_FINGERPRINT_MAX_AGE_DAYS */
	double quota_gib;		 /* of .assay; 0: none */
	int64_t fanout;			 /* hosts at a time; 0: the engine's */
	char **secrets;			 /* [n_secrets], patterns of variables' names, beside those that say so themselves */
	size_t n_secrets;
	struct inventory inventory; /* of `hosts` */
};

#define LAB_FANOUT_MAX		     1000
#define LAB_MIN_EFFECT		     .03
#define LAB_FINGERPRINT_MAX_AGE_DAYS 30

struct lab {
	char *directory;
	char *machines; /* DIRECTORY/machines */
	struct lab_config config;
	struct store store;
	int lock_fd;	/* held while open for writing, else -1 */
	bool tightened; /* what others could read of .assay was taken from them just now */
};

/* Opens an existing laboratory. STORE_WRITE takes the lock of the laboratory, which dies with the process: ASSAY_E_BUSY, with its
 * holder, when another process has it. ASSAY_E_NOTFOUND, with what to do, where there is none. *out is overwritten; lab_close() it. */
enum assay_status lab_open(const char *directory, enum store_access access, struct lab *out, struct assay_error *err);

/* The same, but waits for the lock, so long at most, or until *cancelled (may be NULL) is set. */
enum assay_status lab_open_soon(const char *directory, enum store_access access, double wait_s, const volatile sig_atomic_t *cancelled,
				struct lab *out, struct assay_error *err);

/* Says, to those who are refused while it has the lock, which command is at work: "assay fingerprint run". */
void lab_sign(const struct lab *lab, const char *command);

/* Who holds the lock, from the text of .assay/lock: "'COMMAND', process PID, since DATE"; NULL where the text does not say, or the process
 * is gone: an earlier holder has left it. `text` is changed. free() it. */
char *lab_lock_holder(char *text);

void lab_close(struct lab *lab); /* accepts zeroed, provided that lock_fd is -1 or the struct came from lab_open */

/* Makes a laboratory: the directory, its folders, lab.yaml and examples with comments. Refuses where a lab.yaml is. */
enum assay_status lab_create(const char *directory, struct assay_error *err);

/* Makes the directory `path` (DIRECTORY/.assay) its owner's alone, and everything in it where it is there already: *tightened says that
 * others could read it. */
enum assay_status lab_make_private(const char *path, bool *tightened, struct assay_error *err);

/* lab.yaml from its text; *out is overwritten. */
enum assay_status lab_config_parse(const char *name, const char *text, size_t n, struct lab_config *out, struct assay_error *err);
void lab_config_release(struct lab_config *config);
/* Checks a text as lab_config_parse() does; *hosts: of its inventory. */
enum assay_status lab_config_check(const char *name, const char *text, size_t n, size_t *hosts, struct assay_error *err);

#endif
