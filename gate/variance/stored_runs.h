/* Reads recorded runs of the laboratory (`variance: yes` in a manifest), and record files. */
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
		size_t first, n; /* files of the run, one per process: files[first], ... */
	} * items;		 /* [n], by machine, input and repetition */
	size_t n;
	const char *plan; /* plan of all runs; borrowed */
};

/* Lists the successful runs of a plan that were recorded. plan: NULL for the latest plan with records that still exist. A run whose records
 * were removed is listed, but cannot be read. ASSAY_E_NODATA: no run. *out is overwritten; stored_runs_release() frees it. */
enum assay_status stored_runs_list(struct lab *lab, const char *application, const char *version, const char *plan, struct stored_runs *out,
				   struct assay_error *err);
void stored_runs_release(struct stored_runs *runs); /* accepts a zeroed struct */

/* Analyses one run; variance_release() frees *out. Excludes files that cannot be read, and fails if all are such. */
enum assay_status stored_run_variance(const struct lab *lab, const struct stored_runs *runs, size_t run,
				      const struct variance_options *options, struct variance *out, struct assay_error *err);

/* Lists the record files `names`, and all *.samples of the directories among them. (*paths)[*n]; file_names_free() frees them.
 * ASSAY_E_NOTFOUND: a file or directory does not exist. */
enum assay_status record_files_list(const char *const *names, size_t n_names, char ***paths, size_t *n, struct assay_error *err);

/* Reads the record files of record_files_list() with fragments_read(). Several directories are several runs, and cannot be mixed with files
 * (ASSAY_E_USAGE). ASSAY_E_NODATA: a directory has no record file. */
enum assay_status record_files_read(const char *const *names, size_t n, struct fragments *out, struct assay_error *err);

#endif
