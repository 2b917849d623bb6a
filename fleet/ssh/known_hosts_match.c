#include "fleet/ssh/known_hosts_lines.h"

#include "base/mem.h"
#include "fleet/ssh/host_pattern.h"

#include <openssl/evp.h>

#define BLOCK_BYTES 64 /* of SHA-1 */

/* ---- hashed names ---- */

/* HMAC-SHA1 of many texts. One context for all: setting one up (as HMAC() does) costs several times the hashing. */
struct hmac {
	EVP_MD_CTX *context;
};

static void hmac_init(struct hmac *hmac)
{
	hmac->context = EVP_MD_CTX_new();
	ASSAY_BUG_IF(!hmac->context || EVP_DigestInit_ex2(hmac->context, EVP_sha1(), NULL) != 1);
}

/* SHA-1 of (key with every byte changed by `pad`), then text. */
static void hmac_half(struct hmac *hmac, const unsigned char *key, unsigned char pad, const void *text, size_t n,
		      unsigned char out[KNOWN_HOSTS_HASH_BYTES])
{
	unsigned char block[BLOCK_BYTES];
	unsigned size = 0;

	memset(block, pad, sizeof(block));
	for (size_t i = 0; i < KNOWN_HOSTS_HASH_BYTES; i++)
		block[i] ^= key[i];
	ASSAY_BUG_IF(EVP_DigestInit_ex2(hmac->context, NULL, NULL) != 1 ||
		     EVP_DigestUpdate(hmac->context, block, sizeof(block)) != 1 || EVP_DigestUpdate(hmac->context, text, n) != 1 ||
		     EVP_DigestFinal_ex(hmac->context, out, &size) != 1 || size != KNOWN_HOSTS_HASH_BYTES);
}

/* Source: RFC 2104; the key is a salt, which is shorter than a block. */
static void hmac_of(struct hmac *hmac, const unsigned char *salt, const char *text, size_t n,
		    unsigned char out[KNOWN_HOSTS_HASH_BYTES])
{
	unsigned char inner[KNOWN_HOSTS_HASH_BYTES];

	hmac_half(hmac, salt, 0x36, text, n, inner);
	hmac_half(hmac, salt, 0x5c, inner, sizeof(inner), out);
}

static void hmac_release(struct hmac *hmac)
{
	EVP_MD_CTX_free(hmac->context);
}

/* ---- one name against all lines ---- */

static bool is_about(const struct known_hosts_entry *entry, struct hmac *hmac, const char *name, size_t n)
{
	unsigned char hash[KNOWN_HOSTS_HASH_BYTES];

	if (entry->literal)
		return strcmp(entry->patterns[0], name) == 0;
	if (entry->patterns)
		return host_patterns_match(entry->patterns, entry->n_patterns, name);
	hmac_of(hmac, entry->salt, name, n, hash);
	return memcmp(hash, entry->hash, sizeof(hash)) == 0;
}

static struct known_hosts_matches find(const struct known_hosts *known, const char *name)
{
	struct known_hosts_matches matches = { .name = mem_string(name) };
	size_t capacity = 0, n = strlen(name);
	struct hmac hmac;

	hmac_init(&hmac);
	for (size_t i = 0; i < known->n; i++) {
		if (!is_about(&known->entries[i], &hmac, name, n))
			continue;
		matches.entries = mem_grow(matches.entries, matches.n, &capacity, sizeof(*matches.entries));
		matches.entries[matches.n++] = &known->entries[i];
	}
	hmac_release(&hmac);
	return matches;
}

/* Where the name is in the sorted cache, or belongs. */
static size_t position(const struct known_hosts_cache *cache, const char *name)
{
	size_t low = 0, high = cache->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(cache->names[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct known_hosts_matches *known_hosts_match(const struct known_hosts *known, const char *name)
{
	struct known_hosts_cache *cache = known->cache;
	size_t at = position(cache, name);

	if (at < cache->n && strcmp(cache->names[at].name, name) == 0)
		return &cache->names[at];
	cache->names = mem_grow(cache->names, cache->n, &cache->capacity, sizeof(*cache->names));
	memmove(cache->names + at + 1, cache->names + at, (cache->n - at) * sizeof(*cache->names));
	cache->names[at] = find(known, name);
	cache->n++;
	return &cache->names[at];
}

void known_hosts_forget_matches(struct known_hosts *known)
{
	for (size_t i = 0; i < known->cache->n; i++) {
		free(known->cache->names[i].name);
		free(known->cache->names[i].entries);
	}
	known->cache->n = 0;
}
