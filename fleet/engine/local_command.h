/* Runs a command on this machine without a shell, by the same helper as on other hosts. The helper ends the command and its descendants at
 * the timeout, when *cancelled is set, and when this program ends for any reason. */
#ifndef FLEET_LOCAL_COMMAND_H
#define FLEET_LOCAL_COMMAND_H

#include "base/buf.h"
#include "fleet/agent/helper_client.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCAL_OUTPUT_BYTES_MAX (64u << 20) /* maximum size of each stream; a command that writes more is ended */

struct local_command {
	const char *const *words; /* [n] arguments */
	size_t n;
	bool git;		    /* remove git's variables, such as GIT_DIR, which are set if assay runs in a git hook */
	const char *directory;	    /* working directory; NULL for the current one */
	const char *input;	    /* path of the file that becomes standard input; NULL for none */
	const char *lock;	    /* path of a file to lock until all processes have ended; NULL for none */
	bool sample;		    /* sample the CPU time (fleet/helper/sampler.h); with addresses in files if sample_ns is 0 */
	int64_t sample_ns;	    /* sampling period, ns; 0 for the default period */
	const char *attach;	    /* ids of running processes to measure instead of the command, "12,345"; NULL: none */
	uint64_t output_kept_bytes; /* limit per stream, after which output is dropped; 0 for LOCAL_OUTPUT_BYTES_MAX */
	int64_t timeout_ms;
	const volatile sig_atomic_t *cancelled; /* flag that ends the command when it is not 0; may be NULL */
};

struct local_report {
	bool ok;		       /* true if the exit status was 0 */
	char fault[ASSAY_ERROR_BYTES]; /* "" if `ok`, else the reason: "exit status 2", "cannot execute 'git': ..." */
	char *out, *err;	       /* output, [out_bytes] and [err_bytes], each with a NUL after it */
	size_t out_bytes, err_bytes;
	struct helper_result result; /* measurements of the command */
	char *samples;		     /* samples as text; NULL if not requested or not received */
};

/* Runs the command. Overwrites *out; call local_report_release(). A status other than ASSAY_OK is an error of this machine. */
enum assay_status local_command_run(const struct local_command *command, struct local_report *out, struct assay_error *err);
void local_report_release(struct local_report *said); /* accepts a zeroed struct */

/* Appends git's output for a repository to *out. `words` are arguments, NULL-terminated. ASSAY_E_NOTFOUND: git failed, with its message. */
enum assay_status local_git(const char *repository, const char *const *words, const volatile sig_atomic_t *cancelled, struct buf *out,
			    struct assay_error *err);
#define LOCAL_GIT(repository, cancelled, out, err, ...)                                                                                    \
	local_git(repository, (const char *const[]){ __VA_ARGS__, NULL }, cancelled, out, err)

/* Returns the first or last non-empty line of standard error, else of standard output, else "". Shortens a long line in the middle. */
#define LOCAL_LINE_BYTES 512 /* size of the buffer `out` */
enum local_line { LOCAL_FIRST_LINE, LOCAL_LAST_LINE };
const char *local_report_line(const struct local_report *said, enum local_line which, char *out);

/* Returns the first line of either stream that mentions an error, else the last line (see local_report_line()). A stream may be NULL. */
const char *local_error_line(const char *standard_error, const char *standard_out, char *out);

#endif
