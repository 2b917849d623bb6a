/* Bytes that a host sends: in memory while they are few, in an unlinked temporary file beyond, refused beyond a limit. */
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
	int fd;	       /* of the temporary file, -1 while there is none */
	uint64_t size; /* all bytes */
	uint64_t limit;
};

void spool_init(struct spool *spool, uint64_t limit_bytes);
/* ASSAY_E_LIMIT when the limit is passed (what fits is kept), ASSAY_E_IO when the temporary file cannot be written. */
enum assay_status spool_add(struct spool *spool, const char *bytes, size_t n, struct assay_error *err);
/* Copies up to n bytes from offset; *got < n only at the end. */
enum assay_status spool_read(const struct spool *spool, uint64_t offset, char *bytes, size_t n, size_t *got, struct assay_error *err);
/* All of it as one text, when it has at most `limit` bytes (ASSAY_E_LIMIT otherwise). free() it. */
enum assay_status spool_text(const struct spool *spool, size_t limit, char **out, size_t *n, struct assay_error *err);
/* The first line, as far as a message has room for it; "" when there is nothing. free() it. */
char *spool_first_line(const struct spool *spool);
/* Adds the last lines, up to 160 bytes, as one line with " / " between them. Adds nothing if nothing was written. */
void spool_last_lines(const struct spool *spool, struct buf *out);
void spool_release(struct spool *spool); /* accepts zeroed with fd 0 only after spool_init */

#endif
