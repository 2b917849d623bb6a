/* What `fleet up` remembers of an emulated fleet: DIR/.assay/emulated/state. Everything that a fleet makes on the machine carries
 * its tag, so the tag is all that is needed to take it away again, also after a kill -9. */
#ifndef FLEET_EMULATE_STATE_H
#define FLEET_EMULATE_STATE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define EMULATE_STATE_BYTES_MAX (4u << 20)
#define EMULATE_TAG_BYTES	9 /* eight hexadecimal digits and a NUL */
#define EMULATE_BOOT_BYTES	64

struct emulate_state {
	char tag[EMULATE_TAG_BYTES];   /* "" where there is no state */
	bool laboratory;	       /* lab.yaml was written by `up` */
	char boot[EMULATE_BOOT_BYTES]; /* id of the boot during which the fleet was made; "" when none stands */
};

/* From text. A last line without an end was being written when its writer died: it is ignored. */
enum assay_status emulate_state_parse(const char *file, const char *text, size_t n, struct emulate_state *out, struct assay_error *err);
/* The same from a file; one that does not exist is empty. */
enum assay_status emulate_state_read(const char *path, struct emulate_state *out, struct assay_error *err);
/* Replaces the file: the laboratory is ours, and a fleet `stands` since this boot, or none does. */
enum assay_status emulate_state_write(const char *path, const char *tag, bool stands, struct assay_error *err);
/* Was the fleet made since this machine was started? */
bool emulate_state_is_of_this_boot(const struct emulate_state *state);

#endif
