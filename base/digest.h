/* SHA-256, by OpenSSL's libcrypto. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>

#define DIGEST_HEX_BYTES 65

/* 64 lower-case hexadecimal digits and a NUL into hex. */
void digest_sha256(const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES]);

#endif
