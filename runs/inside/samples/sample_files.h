/* Sample files in the laboratory. They are compressed, and named by the hash of their content (.assay/samples/HH/HASH.samples.zst). The
 * store has a row per file, with its execution. The file is written first, whole and synced; its row follows in the transaction of the
 * execution. A file without a row is from a session that was killed in between. The next session removes it. */
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

/* Returns the file's path, which is absolute if the laboratory's path is. The caller frees it. */
char *sample_keep_path(const struct lab *lab, const char *hash);

/* Writes bytes[n], the samples of one process, to a file named by their hash; an existing file stays. Only the owner can read the file.
 * Sets *out except `pack`. Safe for concurrent threads. */
enum assay_status sample_keep_file(const struct lab *lab, const void *bytes, size_t n, enum record_back_end back_end,
				   struct sample_kept *out, struct assay_error *err);

/* The execution to which files belong; all texts are borrowed. */
struct sample_keep_place {
	const char *plan, *machine, *version, *input;
	int64_t repetition;
	const char *hardware_type; /* "" if unknown */
};
/* Inserts the rows of files in the caller's transaction, after the row of the execution. */
enum assay_status sample_keep_rows(struct store *store, const struct sample_keep_place *place, const struct sample_kept *kept, size_t n,
				   struct assay_error *err);

/* Removes files that have no row, or only pruned rows. The laboratory must be open for writing. Files that cannot be removed stay. *n (may
 * be NULL): number of removed files. */
enum assay_status sample_keep_sweep(struct lab *lab, size_t *n, struct assay_error *err);

/* Marks the files of executions before a time (milliseconds since 1970) as pruned, and removes files that no other row needs. `dry_run`:
 * only counts the files. */
struct sample_pruned {
	size_t files;
	int64_t bytes; /* uncompressed size */
};
enum assay_status sample_keep_prune(struct lab *lab, int64_t before_ms, bool dry_run, struct sample_pruned *out, struct assay_error *err);

/* ---- reading ---- */

struct sample_file {
	char hash[DIGEST_HEX_BYTES]; /* hash of the uncompressed content */
	char plan[DIGEST_ID_BYTES];
	char *machine, *version, *input, *application; /* application: name as stored */
	int64_t repetition;
	int64_t pack; /* index of the run among the runs that the counters need, from 0 */
	int64_t bytes;
	char *hardware_type; /* hardware type of the machine at that time; "" if unknown */
	enum record_back_end back_end;
	int64_t taken_ms;
	bool ok;     /* the execution succeeded; false: the samples end at the failure */
	bool pruned; /* 'assay prune' has removed the file */
};

/* Lists the sample files of one version (NULL: all) of an application, named as stored, or as in its manifest (then of all its inputs). The
 * order is machine, input, start of the plan, plan, version, repetition, pack, hash. Free (*out)[*n] with sample_files_free(). */
enum assay_status sample_files_list(struct store *store, const char *application, const char *version, struct sample_file **out, size_t *n,
				    struct assay_error *err);
/* Lists files of recorded calls (RECORD_CALLS) in the same way. sample_files_list() excludes these files. */
enum assay_status sample_files_list_calls(struct store *store, const char *application, const char *version, struct sample_file **out,
					  size_t *n, struct assay_error *err);
void sample_files_free(struct sample_file *files, size_t n);

/* Reads a file, uncompressed. ASSAY_E_CORRUPT: it is missing, or its content has another hash. ASSAY_E_NODATA: it was pruned. */
enum assay_status sample_files_bytes(const struct lab *lab, const struct sample_file *file, struct buf *out, struct assay_error *err);
enum assay_status sample_files_read(const struct lab *lab, const struct sample_file *file, struct samples *out, struct assay_error *err);

/* ---- compression into one frame of Zstandard (RFC 8878), with a checksum ---- */
/* Appends bytes[n], compressed, to *out; n <= SAMPLES_FILE_BYTES_MAX. Takes 2.4 ms of CPU time per MiB (21 MiB became 2.5 MiB). */
enum assay_status sample_pack(const void *bytes, size_t n, struct buf *out, struct assay_error *err);
/* Appends the uncompressed bytes of an untrusted frame to *out, at most `limit` bytes, whatever the frame claims. ASSAY_E_CORRUPT, with
 * `name`: the frame is damaged, truncated, larger, or followed by other bytes. */
enum assay_status sample_unpack(const char *name, const void *packed, size_t n, size_t limit, struct buf *out, struct assay_error *err);

#endif
