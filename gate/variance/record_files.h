/* The record files of a run: named one by one, or all *.samples of directories. */
#ifndef GATE_VARIANCE_RECORD_FILES_H
#define GATE_VARIANCE_RECORD_FILES_H

#include "gate/variance/fragments.h"

/* All their files, as they are now: (*paths)[*n], file_names_free() them. ASSAY_E_NOTFOUND: there is no such directory. */
enum assay_status record_files_list(const char *const *names, size_t n_names, char ***paths, size_t *n, struct assay_error *err);

/* As fragments_read(), which reads what the names stand for. Where several directories are named, each is a run of its own, and files
 * cannot be named beside them (ASSAY_E_USAGE). ASSAY_E_NODATA: a directory has no such file. */
enum assay_status record_files_read(const char *const *names, size_t n, struct fragments *out, struct assay_error *err);

#endif
