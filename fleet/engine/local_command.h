/* A command on this machine, run as the fleet runs them on others, by the helper: without a shell, and ended with all that
 * it has started when its time is over, when *cancelled is set, and when this program dies, however it dies. */
#ifndef FLEET_LOCAL_COMMAND_H
#define FLEET_LOCAL_COMMAND_H

#include "base/buf.h"
#include "fleet/agent/helper_client.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCAL_OUTPUT_BYTES_MAX (64u << 20) /* a command that prints more is ended */

struct local_command {
	const char *const *words; /* [n] */
	size_t n;
	bool git;	       /* without the variables that lead git to another repository: our caller may be one of its hooks */
	const char *directory; /* NULL: ours */
	const char *input;     /* the file that is its standard input, opened again; NULL: none */
	const char *lock;      /* a file that is locked until all of it is gone; NULL: none */
	bool sample;	       /* where its time goes (fleet/helper/sampler.h), with places in files, */
	int64_t sample_ns;     /* or, above 0, without these, at that distance */
	uint64_t kept_bytes;   /* of each stream: what is more is dropped; 0: LOCAL_OUTPUT_BYTES_MAX */
	int64_t timeout_ms;
	const volatile sig_atomic_t *cancelled; /* may be NULL */
};

struct local_said {
	bool ok;		       /* it ended with status 0 */
	char fault[ASSAY_ERROR_BYTES]; /* why it is not ok: "exit status 2", "cannot execute 'git': ..."; "" when ok */
	char *out, *err;	       /* [out_bytes] and [err_bytes], and a NUL */
	size_t out_bytes, err_bytes;
	struct helper_result result; /* what was measured around it */
	char *samples;		     /* NULL: none were asked for, or none have come */
};

/* *out is overwritten; local_said_release() it. A status other than ASSAY_OK is a fault of this machine, not of the command. */
enum assay_status local_command_run(const struct local_command *command, struct local_said *out, struct assay_error *err);
void local_said_release(struct local_said *said); /* accepts zeroed */

/* Appends to *out what git prints in a repository. words end with NULL. ASSAY_E_NOTFOUND, with git's own words, if it fails. */
enum assay_status local_git(const char *repository, const char *const *words, const volatile sig_atomic_t *cancelled, struct buf *out,
			    struct assay_error *err);
#define LOCAL_GIT(repository, cancelled, out, err, ...)                                                                                    \
	local_git(repository, (const char *const[]){ __VA_ARGS__, NULL }, cancelled, out, err)

/* The first or last line that is not empty, of what it said on standard error, else of the rest; "" when it said nothing. Of a
 * long one the middle goes. */
#define LOCAL_LINE_BYTES 512 /* of `out` */
enum local_line { LOCAL_FIRST_LINE, LOCAL_LAST_LINE };
const char *local_said_line(const struct local_said *said, enum local_line which, char *out);

/* The first line of both streams that speaks of an error, else the last one, as above, which mostly says less. Texts may be NULL. */
const char *local_error_line(const char *standard_error, const char *standard_out, char *out);

#endif
