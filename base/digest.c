#include "base/digest.h"

#include "base/error.h"

#include <openssl/evp.h>

void digest_sha256(const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES])
{
	unsigned char raw[EVP_MAX_MD_SIZE];
	unsigned size = 0;

	ASSAY_BUG_IF(EVP_Digest(bytes, n, raw, &size, EVP_sha256(), NULL) != 1 || size != 32);
	for (unsigned i = 0; i < size; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", raw[i]);
}
