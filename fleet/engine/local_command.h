/* Runs a command on this machine as on hosts of the fleet, by the helper and without a shell. The command and its descendants are ended at
 * its timeout, when *cancelled is set, and whenever this program dies. */
#ifndef FLEET_LOCAL_COMMAND_H
#define FLEET_LOCAL_COMMAND_H

#include "base/buf.h"
#include "fleet/agent/helper_client.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCAL_OUTPUT_BYTES_MAX (64u << 20) /* limit of the output; more ends the command */

struct local_command {
	const char *const *words; /* [n] */
	size_t n;
	bool git;	       /* without the variables that lead git to another repository: the caller may be one of its hooks */
	const char *directory; /* NULL: the current one */
	const char *input;     /* file opened again as standard input; NULL: none */
	const char *lock;      /* file that is locked until all processes are gone; NULL: none */
	bool sample;	       /* sample its CPU time (fleet/helper/sampler.h), with places in files */
	int64_t sample_ns;     /* sampling period, above 0: then without places in files */
	uint64_t kept_bytes;   /* limit per stream; the rest is dropped; 0: LOCAL_OUTPUT_BYTES_MAX */
	int64_t timeout_ms;
	const volatile sig_atomic_t *cancelled; /* may be NULL */
};

struct local_said {
	bool ok;		       /* exit status 0 */
	char fault[ASSAY_ERROR_BYTES]; /* reason unless ok: "exit status 2", "cannot execute 'git': ..."; else "" */
	char *out, *err;	       /* [out_bytes] and [err_bytes], and a NUL */
	size_t out_bytes, err_bytes;
	struct helper_result result; /* measurements of the command */
	char *samples;		     /* NULL: not requested, or none arrived */
};

/* Overwrites *out; local_said_release() it. A status other than ASSAY_OK is a fault of this machine, not of the command. */
enum assay_status local_command_run(const struct local_command *command, struct local_said *out, struct assay_error *err);
void local_said_release(struct local_said *said); /* accepts zeroed */

/* Appends git's output in a repository to *out. words end with NULL. ASSAY_E_NOTFOUND, with git's own message, if it fails. */
enum assay_status local_git(const char *repository, const char *const *words, const volatile sig_atomic_t *cancelled, struct buf *out,
			    struct assay_error *err);
#define LOCAL_GIT(repository, cancelled, out, err, ...)                                                                                    \
	local_git(repository, (const char *const[]){ __VA_ARGS__, NULL }, cancelled, out, err)

/* Returns the first or last line that is not empty, of standard error, else of standard output; "": none. Cuts the middle of long lines. */
#define LOCAL_LINE_BYTES 512 /* size of `out` */
enum local_line { LOCAL_FIRST_LINE, LOCAL_LAST_LINE };
const char *local_said_line(const struct local_said *said, enum local_line which, char *out);

/* Returns the first line of both streams that mentions an error, else the last one (see above), which usually says less. NULL is "". */
const char *local_error_line(const char *standard_error, const char *standard_out, char *out);

#endif
