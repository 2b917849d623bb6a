/* A buffer for bytes from a host, with a size limit. The first bytes are kept in memory, later ones in an unlinked temporary file. */
#ifndef FLEET_SPOOL_H
#define FLEET_SPOOL_H

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define SPOOL_MEMORY_BYTES 65536

struct spool {
	char *memory;
	size_t memory_bytes;
	int fd;	       /* temporary file; -1 if there is none yet */
	uint64_t size; /* total number of bytes */
	uint64_t limit;
};

void spool_init(struct spool *spool, uint64_t limit_bytes);
/* Appends bytes. ASSAY_E_LIMIT: the limit is exceeded; the bytes that fit are kept. ASSAY_E_IO: the temporary file cannot be written. */
enum assay_status spool_add(struct spool *spool, const char *bytes, size_t n, struct assay_error *err);
/* Copies up to `n` bytes from `offset`, and sets *got to their number, which is below `n` only at the end of the data. */
enum assay_status spool_read(const struct spool *spool, uint64_t offset, char *bytes, size_t n, size_t *got, struct assay_error *err);
/* Returns all bytes as one NUL-terminated text, which the caller frees. ASSAY_E_LIMIT: the spool has more than `limit` bytes. */
enum assay_status spool_text(const struct spool *spool, size_t limit, char **out, size_t *n, struct assay_error *err);
/* Returns the first line, truncated to the size of an error message, or "" if the spool is empty. The caller frees it. */
char *spool_first_line(const struct spool *spool);
/* Appends the last lines to `out` as one line, joined by " / ": at most the last 160 bytes. Appends nothing if the spool is empty. */
void spool_last_lines(const struct spool *spool, struct buf *out);
void spool_release(struct spool *spool); /* accepts a zeroed struct */

#endif
