/* Sample files of a laboratory. They are compressed, and their names contain the hash of the content (.assay/samples/HH/HASH.samples.zst).
 * The store has a row per file and execution. A session writes and syncs the file first. It inserts the row later, in the transaction of
 * the execution. If it is killed in between, the file has no row, and the next session removes the file. */
#ifndef RUNS_SAMPLES_SAMPLE_FILES_H
#define RUNS_SAMPLES_SAMPLE_FILES_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "fleet/lab/lab.h"
#include "fleet/lab/store.h"
#include "runs/inside/samples/samples.h"

/* ---- writing ---- */

struct sample_stored {
	char hash[DIGEST_HEX_BYTES];
	int64_t pack, bytes;
	enum record_back_end back_end;
};

/* Returns the file's path, which is absolute if the laboratory's path is. The caller frees it. */
char *sample_file_path(const struct lab *lab, const char *hash);

/* Writes bytes[n], the samples of one process, to a file that is named by their hash. Keeps the file if it exists. Only its owner can read
 * it. Sets all fields of *out except `pack`. Safe for concurrent threads. */
enum assay_status sample_file_store(const struct lab *lab, const void *bytes, size_t n, enum record_back_end back_end,
				    struct sample_stored *out, struct assay_error *err);

/* The execution to which sample files belong. The caller owns all texts. */
struct sample_file_execution {
	const char *plan, *machine, *version, *input;
	int64_t repetition;
	const char *hardware_type; /* hardware type of the machine; "" if unknown */
};
/* Inserts rows for kept[n] in the caller's transaction. The row of the execution must exist. */
enum assay_status sample_file_insert_rows(struct store *store, const struct sample_file_execution *place, const struct sample_stored *kept,
					  size_t n, struct assay_error *err);

/* Removes files that have no row, or only pruned rows. The laboratory must be open for writing. Ignores files that cannot be removed. *n:
 * number of removed files; `n` may be NULL. */
enum assay_status sample_file_remove_orphans(struct lab *lab, size_t *n, struct assay_error *err);

/* Marks files of executions before `before_ms` (ms since 1970) as pruned, and removes those without other rows. `dry_run`: only counts. */
struct sample_pruned {
	size_t files;
	int64_t bytes; /* sum of the uncompressed sizes, bytes */
};
enum assay_status sample_file_prune(struct lab *lab, int64_t before_ms, bool dry_run, struct sample_pruned *out, struct assay_error *err);

/* ---- reading ---- */

struct sample_file {
	char hash[DIGEST_HEX_BYTES]; /* hash of the uncompressed content */
	char plan[DIGEST_ID_BYTES];
	char *machine, *version, *input, *application; /* application: name as stored */
	int64_t repetition;
	int64_t pack; /* index of the run, from 0, if the counters needed several runs */
	int64_t bytes;
	char *hardware_type; /* hardware type of the machine at the time of the run; "" if unknown */
	enum record_back_end back_end;
	int64_t taken_ms;
	bool ok;     /* the execution succeeded; if false, the samples end where it failed */
	bool pruned; /* 'assay prune' has removed the file */
};

/* Lists the sample files of an application and of one of its versions; `version` NULL selects all. `application` is a name as stored, or
 * the name in the manifest, which selects all its inputs. The order is machine, input, start of the plan, plan, version, repetition, pack,
 * hash. The caller frees (*out)[*n] with sample_files_free(). */
enum assay_status sample_files_list(struct store *store, const char *application, const char *version, struct sample_file **out, size_t *n,
				    struct assay_error *err);
/* Lists files of recorded calls (RECORD_CALLS), which sample_files_list() excludes. Otherwise like sample_files_list(). */
enum assay_status sample_files_list_calls(struct store *store, const char *application, const char *version, struct sample_file **out,
					  size_t *n, struct assay_error *err);
void sample_files_free(struct sample_file *files, size_t n);

/* Reads and uncompresses a file. ASSAY_E_CORRUPT: missing, or with another hash. ASSAY_E_NODATA: pruned. */
enum assay_status sample_files_read_bytes(const struct lab *lab, const struct sample_file *file, struct buf *out, struct assay_error *err);
enum assay_status sample_files_read(const struct lab *lab, const struct sample_file *file, struct samples *out, struct assay_error *err);

/* ---- compression into one frame of Zstandard (RFC 8878), with a checksum ---- */
/* Compresses bytes[n] and appends them to *out; n <= SAMPLES_FILE_BYTES_MAX. Takes 2.4 ms of CPU time per MiB; 21 MiB became 2.5 MiB. */
enum assay_status sample_compress(const void *bytes, size_t n, struct buf *out, struct assay_error *err);
/* Uncompresses an untrusted frame and appends the bytes to *out, at most `limit` bytes. ASSAY_E_CORRUPT: the frame is damaged, truncated,
 * larger than `limit`, or followed by other bytes; the message contains `name`. */
enum assay_status sample_decompress(const char *name, const void *packed, size_t n, size_t limit, struct buf *out, struct assay_error *err);

#endif
