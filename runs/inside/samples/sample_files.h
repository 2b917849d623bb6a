/* Files of samples in the laboratory: compressed, named by the hash of their content (.assay/samples/HH/HASH.samples.zst), and which execution each
 * belongs to, in the store. */
#ifndef RUNS_SAMPLES_SAMPLE_FILES_H
#define RUNS_SAMPLES_SAMPLE_FILES_H

#include "base/digest.h"
#include "fleet/lab/lab.h"
#include "fleet/lab/store.h"
#include "runs/inside/samples/samples.h"

struct sample_file {
	char hash[DIGEST_HEX_BYTES]; /* of the content, not compressed */
	char plan[DIGEST_ID_BYTES];
	char *machine, *version, *input, *application; /* application as stored; owned */
	int64_t repetition;
	int64_t pack;                /* which of the runs that the counters take, from 0 */
	int64_t bytes;
	char *hardware_type;         /* of the machine when it was taken, "" when not known */
	enum record_back_end back_end;
	int64_t taken_ms;
	bool ok;                     /* the execution ended well; else these are its samples until then */
	bool pruned;                 /* the file was removed by policy */
};

/* Of one version (NULL: of all) of an application as it is stored, or as its manifest calls it (then of all its inputs); by machine, input, time of the plan, plan,
 * version, repetition, pack, hash. (*out)[*n]; sample_files_free() it. */
enum assay_status sample_files_list(struct store *store, const char *application, const char *version, struct sample_file **out, size_t *n,
				    struct assay_error *err);
void sample_files_free(struct sample_file *files, size_t n);

/* Reads one; its content must have the hash (ASSAY_E_CORRUPT, also when the file is not there). ASSAY_E_NODATA when it was pruned. */
enum assay_status sample_files_read(const struct lab *lab, const struct sample_file *file, struct samples *out, struct assay_error *err);

#endif
