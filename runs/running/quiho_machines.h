/* machines.csv of the quiho data package: what is known of the hardware. Private to runs/. */
#ifndef RUNS_RUNNING_QUIHO_MACHINES_H
#define RUNS_RUNNING_QUIHO_MACHINES_H

#include "base/error.h"
#include "fingerprint/catalog/catalog.h"

/* Puts the evidence of DIRECTORY/machines.csv into the machines of the catalog that have exactly the name of the row: other
 * names are other machines, even of the same model. A package without that file is fine. */
enum assay_status quiho_machines_read(const char *directory, struct catalog *catalog, size_t *known, size_t *unknown,
				      struct assay_error *err);

/* The same from text (see csv.h); `name` is for messages. */
enum assay_status quiho_machines_parse(const char *name, char *text, size_t n, struct catalog *catalog, size_t *known, size_t *unknown,
				       struct assay_error *err);

#endif
