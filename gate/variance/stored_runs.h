/* Recorded runs in the laboratory (`variance: yes` in a manifest). */
#ifndef GATE_VARIANCE_STORED_RUNS_H
#define GATE_VARIANCE_STORED_RUNS_H

#include "fleet/lab/lab.h"
#include "gate/variance/fragments.h"
#include "gate/variance/variance.h"
#include "runs/inside/samples/sample_files.h"

struct stored_runs {
	struct sample_file *files; /* [n_files] */
	size_t n_files;
	struct stored_run {
		size_t first, n; /* its files: one for each process */
	} * items;		 /* [n], by machine, input, repetition */
	size_t n;
	const char *plan; /* of all of them; borrowed from files */
};

/* Those of a plan, or (NULL) of the latest one of which records are still there, that gave results, also those whose records were removed
 * (they cannot be read). ASSAY_E_NODATA where there are none. *out is overwritten; stored_runs_release() it. */
enum assay_status stored_runs_list(struct lab *lab, const char *application, const char *version, const char *plan, struct stored_runs *out,
				   struct assay_error *err);
void stored_runs_release(struct stored_runs *runs); /* accepts zeroed */

/* Analyses one run; variance_release() *out. Files that cannot be read are excluded, unless all are. */
enum assay_status stored_run_variance(const struct lab *lab, const struct stored_runs *runs, size_t run,
				      const struct variance_options *options, struct variance *out, struct assay_error *err);

/* The record files that names represent, as they are now: files, and all *.samples of directories. (*paths)[*n]; file_names_free() them.
 * ASSAY_E_NOTFOUND: there is no such file or directory. */
enum assay_status record_files_list(const char *const *names, size_t n_names, char ***paths, size_t *n, struct assay_error *err);

/* fragments_read() of what the names represent. Several directories are several runs, and no files may be named beside them
 * (ASSAY_E_USAGE). ASSAY_E_NODATA: a directory has no record file. */
enum assay_status record_files_read(const char *const *names, size_t n, struct fragments *out, struct assay_error *err);

#endif
