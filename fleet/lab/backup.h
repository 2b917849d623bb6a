/* A consistent copy of a laboratory while others write to it: the database by SQLite's own backup, everything else file by file. */
#ifndef FLEET_LAB_BACKUP_H
#define FLEET_LAB_BACKUP_H

#include "base/error.h"

#include <stdint.h>

struct backup {
	uint64_t files, bytes;
};

/* `to` must not exist; its parent must. It is made beside itself, "TO.partial", synced, and renamed when it is complete. Left out are what
 * can be made again (.assay/builds) and what belongs to this machine (.assay/emulated, sockets, pipes, the lock). */
enum assay_status lab_backup(const char *directory, const char *to, struct backup *out, struct assay_error *err);

#endif
