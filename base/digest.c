#include "base/digest.h"

#include "base/error.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RAW_BYTES 32

void digest_extend(struct digest_incremental *growing, const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES])
{
	EVP_MD_CTX *start = EVP_MD_CTX_new();
	unsigned char raw[EVP_MAX_MD_SIZE];
	bool ok = start && n >= growing->n;

	if (!growing->context)
		ok = ok && (growing->context = EVP_MD_CTX_new()) && EVP_DigestInit_ex(growing->context, EVP_sha256(), NULL) == 1;
	ok = ok && EVP_DigestUpdate(growing->context, bytes + growing->n, n - growing->n) == 1 &&
	     EVP_MD_CTX_copy_ex(start, growing->context) == 1 && EVP_DigestFinal_ex(start, raw, NULL) == 1;
	ASSAY_BUG_IF(!ok);
	growing->n = n;
	EVP_MD_CTX_free(start);
	for (size_t i = 0; i < RAW_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", raw[i]);
}

void digest_incremental_release(struct digest_incremental *growing)
{
	EVP_MD_CTX_free(growing->context);
	*growing = (struct digest_incremental){ 0 };
}

void digest_sha256(const char *bytes, size_t n, char hex[DIGEST_HEX_BYTES])
{
	struct digest_incremental whole = { 0 };

	digest_extend(&whole, bytes, n, hex);
	digest_incremental_release(&whole);
}

void digest_id(const char *bytes, size_t n, char id[DIGEST_ID_BYTES])
{
	char hex[DIGEST_HEX_BYTES];

	digest_sha256(bytes, n, hex);
	memcpy(id, hex, DIGEST_ID_BYTES - 1);
	id[DIGEST_ID_BYTES - 1] = '\0';
}

uint64_t digest_seed(const char *text)
{
	char hex[DIGEST_HEX_BYTES];

	digest_sha256(text, strlen(text), hex);
	hex[15] = '\0'; /* 15 digits (60 bits) also fit a signed 64-bit integer */
	return strtoull(hex, NULL, 16);
}

void digest_sha256_base64(const char *bytes, size_t n, char base64[DIGEST_BASE64_BYTES])
{
	unsigned char raw[EVP_MAX_MD_SIZE];

	ASSAY_BUG_IF(EVP_Digest(bytes, n, raw, NULL, EVP_sha256(), NULL) != 1);
	ASSAY_BUG_IF(EVP_EncodeBlock((unsigned char *)base64, raw, RAW_BYTES) != DIGEST_BASE64_BYTES - 1);
}
