/* Keeping files of samples: first the file, as a whole and on the disk, then its row, in the transaction of the execution that it belongs to. A file without a
 * row was left by a session that was killed in between, and is removed by the next one. */
#ifndef RUNS_SAMPLES_SAMPLE_KEEP_H
#define RUNS_SAMPLES_SAMPLE_KEEP_H

#include "base/digest.h"
#include "fleet/lab/lab.h"
#include "runs/inside/record/record.h"

#include <stddef.h>
#include <stdint.h>

struct sample_kept {
	char hash[DIGEST_HEX_BYTES];
	int64_t pack, bytes;
	enum record_back_end back_end;
};

/* Where it is, absolute or relative as the laboratory is; free() it. */
char *sample_keep_path(const struct lab *lab, const char *hash);

/* Writes bytes[n], what one process counted, as a file of its hash; one that is there stays. For its owner alone. *out has everything but the pack. */
enum assay_status sample_keep_file(const struct lab *lab, const void *bytes, size_t n, enum record_back_end back_end, struct sample_kept *out,
				   struct assay_error *err);

/* Which execution files belong to; all is borrowed. */
struct sample_keep_place {
	const char *plan, *machine, *version, *input;
	int64_t repetition;
	const char *hardware_type; /* "" when it is not known */
};
/* Inserts the rows; inside the caller's transaction, behind the execution. */
enum assay_status sample_keep_rows(struct store *store, const struct sample_keep_place *place, const struct sample_kept *kept, size_t n,
				   struct assay_error *err);

/* Removes what has no row, or a pruned one only; the laboratory is open for writing. What cannot be removed stays. *n (may be NULL): how many. */
enum assay_status sample_keep_sweep(struct lab *lab, size_t *n, struct assay_error *err);

/* Marks the rows of executions before a time (milliseconds since 1970) as pruned and removes the files that no other row needs. */
struct sample_pruned {
	size_t files;
	int64_t bytes; /* not compressed */
};
enum assay_status sample_keep_prune(struct lab *lab, int64_t before_ms, struct sample_pruned *out, struct assay_error *err);

#endif
