#include "fleet/ssh/hostkey.h"

#include "base/mem.h"

#include <openssl/evp.h>

#define TEXT_BYTES_MAX 65536
#define SHA256_BYTES   32

/* The blob begins with the name of its kind: four bytes of length, then the name. */
static bool read_type(struct hostkey *key)
{
	size_t n;

	if (key->n < 4)
		return false;
	n = (size_t)key->blob[0] << 24 | (size_t)key->blob[1] << 16 | (size_t)key->blob[2] << 8 | key->blob[3];
	if (n == 0 || n > key->n - 4 || n >= sizeof(key->type))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (key->blob[4 + i] <= 0x20 || key->blob[4 + i] >= 0x7f)
			return false;
		key->type[i] = (char)key->blob[4 + i];
	}
	key->type[n] = '\0';
	return true;
}

static bool show(struct hostkey *key)
{
	unsigned char digest[SHA256_BYTES], text[4 * ((SHA256_BYTES + 2) / 3) + 1];
	size_t size = 0;

	if (!EVP_Q_digest(NULL, "SHA256", NULL, key->blob, key->n, digest, &size) || size != sizeof(digest))
		return false;
	EVP_EncodeBlock(text, digest, sizeof(digest));
	snprintf(key->shown, sizeof(key->shown), "SHA256:%.*s", (int)strcspn((const char *)text, "="), (const char *)text);
	return true;
}

bool hostkey_from_base64(const char *text, struct hostkey *out)
{
	struct hostkey key = { .n = strcspn(text, " \t\r\n") };
	size_t padding = 0;
	int n;

	*out = (struct hostkey){ 0 };
	if (key.n == 0 || key.n % 4 || key.n > TEXT_BYTES_MAX)
		return false;
	while (padding < 2 && text[key.n - 1 - padding] == '=')
		padding++;
	key.blob = mem_new(key.n / 4 * 3, 1);
	n = EVP_DecodeBlock(key.blob, (const unsigned char *)text, (int)key.n);
	if (n >= 0)
		key.n = (size_t)n - padding;
	if (n < 0 || !read_type(&key) || !show(&key)) {
		hostkey_release(&key);
		return false;
	}
	*out = key;
	return true;
}

void hostkey_release(struct hostkey *key)
{
	free(key->blob);
	*key = (struct hostkey){ 0 };
}
