#include "base/digest.h"

#include "base/error.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define RAW_BYTES 32

static void digest(const char *bytes, size_t n, unsigned char raw[EVP_MAX_MD_SIZE])
{
	unsigned size = 0;

	ASSAY_BUG_IF(EVP_Digest(bytes, n, raw, &size, EVP_sha256(), NULL) != 1 || size != RAW_BYTES);
}

void digest_sha256(const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES])
{
	unsigned char raw[EVP_MAX_MD_SIZE];

	digest(bytes, n, raw);
	for (size_t i = 0; i < RAW_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", raw[i]);
}

uint64_t digest_seed(const char *text)
{
	char hex[DIGEST_HEX_BYTES];

	digest_sha256(text, strlen(text), hex);
	hex[15] = '\0'; /* positive in 64 bits */
	return strtoull(hex, NULL, 16);
}

void digest_sha256_base64(const char *bytes, size_t n, char base64[DIGEST_BASE64_BYTES])
{
	unsigned char raw[EVP_MAX_MD_SIZE];

	digest(bytes, n, raw);
	ASSAY_BUG_IF(EVP_EncodeBlock((unsigned char *)base64, raw, RAW_BYTES) != DIGEST_BASE64_BYTES - 1);
}
