/* Bytes from a host. They stay in memory while they are few, continue in an unlinked temporary file, and are refused beyond a limit. */
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
	int fd;	       /* the temporary file; -1: none yet */
	uint64_t size; /* total bytes */
	uint64_t limit;
};

void spool_init(struct spool *spool, uint64_t limit_bytes);
/* Appends bytes. ASSAY_E_LIMIT: the limit is exceeded (the part that fits is kept). ASSAY_E_IO: the temporary file cannot be written. */
enum assay_status spool_add(struct spool *spool, const char *bytes, size_t n, struct assay_error *err);
/* Copies up to n bytes from offset; *got < n only at the end. */
enum assay_status spool_read(const struct spool *spool, uint64_t offset, char *bytes, size_t n, size_t *got, struct assay_error *err);
/* Returns all bytes as one text. ASSAY_E_LIMIT if there are more than `limit`. free() it. */
enum assay_status spool_text(const struct spool *spool, size_t limit, char **out, size_t *n, struct assay_error *err);
/* Returns the first line, cut to fit into a message; "" if there are no bytes. free() it. */
char *spool_first_line(const struct spool *spool);
/* Appends the last lines, up to 160 bytes, as one line with " / " between them; nothing if the spool is empty. */
void spool_last_lines(const struct spool *spool, struct buf *out);
void spool_release(struct spool *spool); /* accepts zeroed with fd 0 only after spool_init() */

#endif
