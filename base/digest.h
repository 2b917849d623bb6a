/* Computes SHA-256 digests with OpenSSL's libcrypto. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_HEX_BYTES 65
#define DIGEST_ID_BYTES	 17 /* size of an id: 16 hexadecimal digits and a NUL */

/* Writes the SHA-256 digest of bytes[0..n) to `hex`: 64 lower-case hexadecimal digits and a NUL. */
void digest_sha256(const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES]);

/* Writes the first 16 hexadecimal digits of the digest and a NUL to `id`. */
void digest_id(const char *bytes, size_t n, char id[DIGEST_ID_BYTES]);

/* State for digesting longer and longer prefixes of the same bytes. Must be zeroed before use; digest_incremental_release() frees it. */
struct digest_incremental {
	void *context;
	size_t n; /* number of bytes digested so far */
};

/* Writes the digest of bytes[0..n) to `hex`. bytes[0..growing->n) were digested by the previous call, and must be unchanged. */
void digest_extend(struct digest_incremental *growing, const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES]);
void digest_incremental_release(struct digest_incremental *growing);

/* Returns a reproducible seed for random numbers: the first 60 bits of the digest of `text`. */
uint64_t digest_seed(const char *text);

#define DIGEST_BASE64_BYTES 45

/* Writes the SHA-256 digest of bytes[0..n) in base64 (44 characters and a NUL), as a Content-Security-Policy needs it. */
void digest_sha256_base64(const char *bytes, size_t n, char base64[DIGEST_BASE64_BYTES]);

#endif
