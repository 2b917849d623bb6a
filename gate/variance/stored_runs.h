/* Reads recorded runs of the laboratory (`variance: yes` in a manifest), and record files. */
#ifndef GATE_VARIANCE_STORED_RUNS_H
#define GATE_VARIANCE_STORED_RUNS_H

#include "fleet/lab/lab.h"
#include "gate/variance/fragments.h"
#include "gate/variance/variance.h"
#include "runs/inside/samples/sample_files.h"

struct stored_runs {
	struct sample_file *files; /* array of n_files elements */
	size_t n_files;
	struct stored_run {
		size_t first, n; /* the run's files, one per process: files[first], ..., files[first + n - 1] */
	} * items;		 /* [n], sorted by machine, input and repetition */
	size_t n;
	const char *plan; /* plan of all runs; borrowed */
};

/* Lists the successful recorded runs of a plan. `plan` NULL selects the latest plan whose records still exist. The list includes runs whose
 * records were removed; these cannot be read. Returns ASSAY_E_NODATA if there is no run. Overwrites *out; the caller calls
 * stored_runs_release(). */
enum assay_status stored_runs_list(struct lab *lab, const char *application, const char *version, const char *plan, struct stored_runs *out,
				   struct assay_error *err);
void stored_runs_release(struct stored_runs *runs); /* Accepts a zeroed struct. */

/* Analyses one run. Excludes files that cannot be read; fails if no file can be read. The caller calls variance_release(out). */
enum assay_status stored_run_variance(const struct lab *lab, const struct stored_runs *runs, size_t run,
				      const struct variance_options *options, struct variance *out, struct assay_error *err);

/* Lists the files among `names`, and all *.samples files of the directories among them, in (*paths)[*n]. The caller calls
 * file_names_free(). Returns ASSAY_E_NOTFOUND if a file or directory does not exist. */
enum assay_status record_files_list(const char *const *names, size_t n_names, char ***paths, size_t *n, struct assay_error *err);

/* Reads the files of record_files_list() with fragments_read(). Several directories are several runs; ASSAY_E_USAGE if they are mixed with
 * files. Returns ASSAY_E_NODATA if a directory has no record file. */
enum assay_status record_files_read(const char *const *names, size_t n, struct fragments *out, struct assay_error *err);

#endif
