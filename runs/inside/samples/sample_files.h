/* Sample files in the laboratory: compressed, named by the hash of their content (.assay/samples/HH/HASH.samples.zst); the store knows
 * which execution each belongs to. First the file is written, as a whole and on the disk, then its row, in the transaction of the
 * execution. A file without a row was left by a session that was killed in between, and is removed by the next one. */
#ifndef RUNS_SAMPLES_SAMPLE_FILES_H
#define RUNS_SAMPLES_SAMPLE_FILES_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "fleet/lab/lab.h"
#include "fleet/lab/store.h"
#include "runs/inside/samples/samples.h"

/* ---- keeping ---- */

struct sample_kept {
	char hash[DIGEST_HEX_BYTES];
	int64_t pack, bytes;
	enum record_back_end back_end;
};

/* The file's path, absolute or relative as the laboratory's is; free() it. */
char *sample_keep_path(const struct lab *lab, const char *hash);

/* Writes bytes[n], what one process counted, as a file named by its hash; one that exists stays. Readable by its owner alone. *out has
 * everything but the pack. Several threads may do so at once. */
enum assay_status sample_keep_file(const struct lab *lab, const void *bytes, size_t n, enum record_back_end back_end,
				   struct sample_kept *out, struct assay_error *err);

/* The execution that files belong to; all is borrowed. */
struct sample_keep_place {
	const char *plan, *machine, *version, *input;
	int64_t repetition;
	const char *hardware_type; /* "" when it is not known */
};
/* Inserts the rows; inside the caller's transaction, after the execution's. */
enum assay_status sample_keep_rows(struct store *store, const struct sample_keep_place *place, const struct sample_kept *kept, size_t n,
				   struct assay_error *err);

/* Removes files without a row, or with pruned rows only; the laboratory is open for writing. What cannot be removed stays. *n (may be
 * NULL): how many were removed. */
enum assay_status sample_keep_sweep(struct lab *lab, size_t *n, struct assay_error *err);

/* Marks the rows of executions before a time (milliseconds since 1970) as pruned and removes the files that no other row needs. dry_run:
 * only counts them. */
struct sample_pruned {
	size_t files;
	int64_t bytes; /* not compressed */
};
enum assay_status sample_keep_prune(struct lab *lab, int64_t before_ms, bool dry_run, struct sample_pruned *out, struct assay_error *err);

/* ---- reading ---- */

struct sample_file {
	char hash[DIGEST_HEX_BYTES]; /* of the content, not compressed */
	char plan[DIGEST_ID_BYTES];
	char *machine, *version, *input, *application; /* application as stored; owned */
	int64_t repetition;
	int64_t pack; /* which of the runs that the counters take, from 0 */
	int64_t bytes;
	char *hardware_type; /* of the machine when it was taken, "" when not known */
	enum record_back_end back_end;
	int64_t taken_ms;
	bool ok;     /* the execution ended well; else these are its samples until then */
	bool pruned; /* the file was removed by policy */
};

/* The files of one version (NULL: of all) of an application as it is stored, or as its manifest calls it (then of all its inputs); by
 * machine, input, time of the plan, plan, version, repetition, pack, hash. (*out)[*n]; sample_files_free() it. */
enum assay_status sample_files_list(struct store *store, const char *application, const char *version, struct sample_file **out, size_t *n,
				    struct assay_error *err);
/* The same, of files of calls into the outside, which the others are not (RECORD_CALLS). */
enum assay_status sample_files_list_calls(struct store *store, const char *application, const char *version, struct sample_file **out,
					  size_t *n, struct assay_error *err);
void sample_files_free(struct sample_file *files, size_t n);

/* Reads one; its content must have the hash (ASSAY_E_CORRUPT, also when the file is not there). ASSAY_E_NODATA when it was pruned. */
enum assay_status sample_files_bytes(const struct lab *lab, const struct sample_file *file, struct buf *out, struct assay_error *err);
enum assay_status sample_files_read(const struct lab *lab, const struct sample_file *file, struct samples *out, struct assay_error *err);

/* Bytes as one frame of Zstandard (RFC 8878) with a checksum. */
/* bytes[n], n <= SAMPLES_FILE_BYTES_MAX. Appends to *out. 2.4 ms of CPU time a MiB (measured on 21 MiB, which became 2.5). */
enum assay_status sample_pack(const void *bytes, size_t n, struct buf *out, struct assay_error *err);
/* The other way, of outside bytes: at most `limit` bytes are appended to *out, whatever the frame says. ASSAY_E_CORRUPT, with `name`, if it
 * is damaged, cut off, larger, or followed by something. */
enum assay_status sample_unpack(const char *name, const void *packed, size_t n, size_t limit, struct buf *out, struct assay_error *err);

#endif
