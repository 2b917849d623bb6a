/* What people decided about a machine: accepted fingerprints, retirement. Shared by the files of machine.h. */
#ifndef FINGERPRINT_CATALOG_MACHINE_MARKS_H
#define FINGERPRINT_CATALOG_MACHINE_MARKS_H

#include "fingerprint/catalog/machine.h"

#define MACHINE_MARKS_KEYS "accepted", "retired"

/* To and from the object of the machine's file; absent keys where there is nothing. */
void machine_marks_json(const struct machine *machine, cJSON *root);
enum assay_status machine_marks_parse(const char *name, const cJSON *root, struct machine *machine, struct assay_error *err);
void machine_marks_merge(struct machine *into, struct machine *from);
void machine_marks_release(struct machine *machine);

#endif
