/* A buffer for bytes from a host: the first bytes are in memory, later ones in an unlinked temporary file, up to a limit. */
#ifndef FLEET_SPOOL_H
#define FLEET_SPOOL_H

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define SPOOL_MEMORY_BYTES 65536

struct spool {
	char *memory;
	size_t in_memory;
	int fd;	       /* temporary file; -1: none yet */
	uint64_t size; /* total number of bytes */
	uint64_t limit;
};

void spool_init(struct spool *spool, uint64_t limit_bytes);
/* Appends bytes. ASSAY_E_LIMIT: the limit is exceeded; the part that fits is kept. ASSAY_E_IO: the temporary file cannot be written. */
enum assay_status spool_add(struct spool *spool, const char *bytes, size_t n, struct assay_error *err);
/* Copies up to `n` bytes from `offset`. *got < n only at the end. */
enum assay_status spool_read(const struct spool *spool, uint64_t offset, char *bytes, size_t n, size_t *got, struct assay_error *err);
/* Returns all bytes as one NUL-terminated text. ASSAY_E_LIMIT: there are more than `limit` bytes. free() it. */
enum assay_status spool_text(const struct spool *spool, size_t limit, char **out, size_t *n, struct assay_error *err);
/* Returns the first line, cut to the size of a message; "" if there are no bytes. free() it. */
char *spool_first_line(const struct spool *spool);
/* Appends the last lines, up to 160 bytes, as one line, joined by " / ". Appends nothing if the spool is empty. */
void spool_last_lines(const struct spool *spool, struct buf *out);
void spool_release(struct spool *spool); /* accepts a zeroed struct */

#endif
