/* The lock of a laboratory: one writer at a time. flock(2) on .assay/lock, which dies with its holder; in the file stands who that is, for
 * those who are refused. */
#ifndef FLEET_LAB_LOCK_H
#define FLEET_LAB_LOCK_H

#include "base/error.h"

/* Takes it; *fd is to be closed, -1 after a failure. ASSAY_E_BUSY when somebody else has it: who, where that is known. */
enum assay_status lab_lock(const char *directory, int *fd, struct assay_error *err);

/* Says which command holds it: its name alone, no arguments. Failures do no harm and are not told. */
void lab_lock_sign(int fd, const char *command);

/* From what stands in the file: "'COMMAND', process PID, since DATE"; NULL where that does not say, or the process is gone: it is what an
 * earlier holder has left. `text` is changed. free() it. */
char *lab_lock_holder(char *text);

#endif
