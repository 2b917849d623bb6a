/* SHA-256, by OpenSSL's libcrypto. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_HEX_BYTES 65
#define DIGEST_ID_BYTES	 17 /* an id: the first 16 digits and a NUL */

/* 64 lower-case hexadecimal digits and a NUL into hex. */
void digest_sha256(const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES]);

/* The first of these digits as an id. */
void digest_id(const char *bytes, size_t n, char id[DIGEST_ID_BYTES]);

/* Digests longer and longer starts of the same bytes in one pass: zeroed at first, digest_growing_release() it. */
struct digest_growing {
	void *context;
	size_t n; /* bytes that were digested */
};

/* The same of bytes[0..n), of which bytes[0..growing->n) were digested before. */
void digest_grow(struct digest_growing *growing, const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES]);
void digest_growing_release(struct digest_growing *growing);

/* A number of 60 bits that a text always gives: a seed by which something is found again. */
uint64_t digest_seed(const char *text);

#define DIGEST_BASE64_BYTES 45

/* The same in base64, as a Content-Security-Policy names it: 44 characters and a NUL. */
void digest_sha256_base64(const char *bytes, size_t n, char base64[DIGEST_BASE64_BYTES]);

#endif
