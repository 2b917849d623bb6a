/* The file of the store, as it can be judged before SQLite sees it. */
#ifndef FLEET_STORE_FILE_H
#define FLEET_STORE_FILE_H

#include "base/error.h"

#include <stdbool.h>

/* Whether a write-ahead log waits to be copied back. */
bool store_file_has_log(const char *path);

/* SQLite notices a missing page only when it needs it; a file cut short is told at once. Not checked while a write-ahead log
 * waits to be copied back: then the file may rightly be shorter than its header says. */
enum assay_status store_file_check(const char *path, struct assay_error *err);

/* The write-ahead log needs shared memory between all its users, which network file systems do not give: ASSAY_E_IO on one. */
enum assay_status store_file_local(const char *path, struct assay_error *err);

/* file: URI of a path: '%', '?' and '#' would be read as syntax. free() it. */
char *store_file_uri(const char *path, const char *query);

#endif
