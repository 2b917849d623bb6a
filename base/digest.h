/* SHA-256, by OpenSSL's libcrypto. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_HEX_BYTES 65
#define DIGEST_ID_BYTES	 17 /* size of an id: the first 16 digits and a NUL */

/* Writes 64 lower-case hexadecimal digits and a NUL to hex. */
void digest_sha256(const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES]);

/* Writes the first of these digits as an id. */
void digest_id(const char *bytes, size_t n, char id[DIGEST_ID_BYTES]);

/* Digests growing prefixes of the same bytes in one pass. Zeroed at first; digest_growing_release() it. */
struct digest_growing {
	void *context;
	size_t n; /* number of digested bytes */
};

/* Digests bytes[0..n), of which bytes[0..growing->n) were digested before. */
void digest_grow(struct digest_growing *growing, const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES]);
void digest_growing_release(struct digest_growing *growing);

/* Returns a number of 60 bits determined by the text: a reproducible seed. */
uint64_t digest_seed(const char *text);

#define DIGEST_BASE64_BYTES 45

/* Writes the SHA-256 in base64, for a Content-Security-Policy: 44 characters and a NUL. */
void digest_sha256_base64(const char *bytes, size_t n, char base64[DIGEST_BASE64_BYTES]);

#endif
