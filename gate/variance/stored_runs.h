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
		size_t first, n; /* its files: one per process */
	} * items;		 /* [n] runs, by machine, input, repetition */
	size_t n;
	const char *plan; /* plan of all of them; borrowed */
};

/* Lists the runs of a plan that gave results. plan NULL: the latest plan with records that still exist. Runs whose records were removed are
 * listed, too, but cannot be read. ASSAY_E_NODATA: none. *out is overwritten; stored_runs_release() it. */
enum assay_status stored_runs_list(struct lab *lab, const char *application, const char *version, const char *plan, struct stored_runs *out,
				   struct assay_error *err);
void stored_runs_release(struct stored_runs *runs); /* accepts zeroed */

/* Analyses one run; variance_release() *out. Excludes files that cannot be read; fails if none can. */
enum assay_status stored_run_variance(const struct lab *lab, const struct stored_runs *runs, size_t run,
				      const struct variance_options *options, struct variance *out, struct assay_error *err);

/* Lists the record files that names represent now: files, and all *.samples of directories. (*paths)[*n]; file_names_free() them.
 * ASSAY_E_NOTFOUND: there is no such file or directory. */
enum assay_status record_files_list(const char *const *names, size_t n_names, char ***paths, size_t *n, struct assay_error *err);

/* Calls fragments_read() on the files that the names represent. Several directories are several runs, and must not be mixed with files
 * (ASSAY_E_USAGE). ASSAY_E_NODATA: a directory has no record file. */
enum assay_status record_files_read(const char *const *names, size_t n, struct fragments *out, struct assay_error *err);

#endif
