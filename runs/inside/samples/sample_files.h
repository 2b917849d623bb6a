/* Sample files in the laboratory: compressed, named by the hash of their content (.assay/samples/HH/HASH.samples.zst). The store has a row
 * for each with its execution. The file is written first, whole and synced; then its row, in the transaction of the execution. A file
 * without a row comes from a session that was killed in between, and the next session removes it. */
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

/* Returns the file's path, absolute if the laboratory's is; free() it. */
char *sample_keep_path(const struct lab *lab, const char *hash);

/* Writes bytes[n], the samples of one process, as a file named by its hash; an existing one stays. Readable only by its owner. Sets *out
 * except the pack. Safe for concurrent threads. */
enum assay_status sample_keep_file(const struct lab *lab, const void *bytes, size_t n, enum record_back_end back_end,
				   struct sample_kept *out, struct assay_error *err);

/* The execution that files belong to; borrowed. */
struct sample_keep_place {
	const char *plan, *machine, *version, *input;
	int64_t repetition;
	const char *hardware_type; /* "": unknown */
};
/* Inserts the rows, inside the caller's transaction, after the execution's. */
enum assay_status sample_keep_rows(struct store *store, const struct sample_keep_place *place, const struct sample_kept *kept, size_t n,
				   struct assay_error *err);

/* Removes files without a row, or with only pruned rows; the laboratory is open for writing. Files that cannot be removed stay. *n (may be
 * NULL): number of removed files. */
enum assay_status sample_keep_sweep(struct lab *lab, size_t *n, struct assay_error *err);

/* Marks the rows of executions before a time (milliseconds since 1970) as pruned, and removes the files that no other row needs. dry_run:
 * only counts them. */
struct sample_pruned {
	size_t files;
	int64_t bytes; /* uncompressed */
};
enum assay_status sample_keep_prune(struct lab *lab, int64_t before_ms, bool dry_run, struct sample_pruned *out, struct assay_error *err);

/* ---- reading ---- */

struct sample_file {
	char hash[DIGEST_HEX_BYTES]; /* hash of the uncompressed content */
	char plan[DIGEST_ID_BYTES];
	char *machine, *version, *input, *application; /* application: as stored; owned */
	int64_t repetition;
	int64_t pack; /* which of the runs that the counters need, from 0 */
	int64_t bytes;
	char *hardware_type; /* type of the machine at the time, "" if unknown */
	enum record_back_end back_end;
	int64_t taken_ms;
	bool ok;     /* the execution succeeded; otherwise samples until its failure */
	bool pruned; /* the file was removed by 'assay prune' */
};

/* Lists the files of one version (NULL: all) of an application, named as stored, or as in its manifest (then of all its inputs). Ordered by
 * machine, input, start of the plan, plan, version, repetition, pack, hash. (*out)[*n]; sample_files_free() it. */
enum assay_status sample_files_list(struct store *store, const char *application, const char *version, struct sample_file **out, size_t *n,
				    struct assay_error *err);
/* The same for files of recorded calls (RECORD_CALLS), which the other lists exclude. */
enum assay_status sample_files_list_calls(struct store *store, const char *application, const char *version, struct sample_file **out,
					  size_t *n, struct assay_error *err);
void sample_files_free(struct sample_file *files, size_t n);

/* Reads a file. ASSAY_E_CORRUPT if its content has another hash or it is missing; ASSAY_E_NODATA if it was pruned. */
enum assay_status sample_files_bytes(const struct lab *lab, const struct sample_file *file, struct buf *out, struct assay_error *err);
enum assay_status sample_files_read(const struct lab *lab, const struct sample_file *file, struct samples *out, struct assay_error *err);

/* Compression into one frame of Zstandard (RFC 8878) with a checksum. */
/* Appends bytes[n], n <= SAMPLES_FILE_BYTES_MAX, compressed, to *out. 2.4 ms of CPU time per MiB (21 MiB, which became 2.5). */
enum assay_status sample_pack(const void *bytes, size_t n, struct buf *out, struct assay_error *err);
/* Appends the uncompressed bytes of an untrusted frame to *out, at most `limit`, whatever the frame says. ASSAY_E_CORRUPT, with `name`, if
 * it is damaged, truncated, larger, or followed by other bytes. */
enum assay_status sample_unpack(const char *name, const void *packed, size_t n, size_t limit, struct buf *out, struct assay_error *err);

#endif
