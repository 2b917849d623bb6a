/* Checks that each lab.yaml that is accepted satisfies the contracts in lab.h and inventory.h, that its hosts are the same if written with
 * all their properties and read again, and that errors name a place in the file. */
#include "base/buf.h"
#include "fleet/lab/lab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- hosts as YAML ---- */

/* Returns the character at *text, which is UTF-8, and advances *text to the next one. */
static unsigned next_character(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	unsigned length = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	unsigned c = length == 1 ? s[0] : s[0] & (0x7fu >> length);

	for (unsigned i = 1; i < length; i++)
		c = c << 6 | (s[i] & 0x3f);
	*text += length;
	return c;
}

/* Appends a quoted text. Only printable ASCII is not escaped, since YAML also ends lines at U+2028. */
static void add_quoted(struct buf *out, const char *text)
{
	buf_char(out, '"');
	while (*text) {
		unsigned c = next_character(&text);

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			buf_format(out, "\\U%08x", c);
		else
			buf_char(out, (char)c);
	}
	buf_char(out, '"');
}

static void add_key(struct buf *out, const char *key, const char *value)
{
	if (!value)
		return;
	buf_format(out, ", %s: ", key);
	add_quoted(out, value);
}

static void add_lists(struct buf *out, const struct host *host)
{
	buf_text(out, ", groups: [");
	for (size_t i = 0; i < host->n_groups; i++) {
		add_quoted(out, host->groups[i]);
		buf_char(out, ',');
	}
	buf_text(out, "], env: {");
	for (size_t i = 0; i < host->n_environment; i++) {
		const char *value = strchr(host->environment[i], '=');

		buf_format(out, "%.*s: ", (int)(value - host->environment[i]), host->environment[i]);
		add_quoted(out, value + 1);
		buf_text(out, ",\n");
	}
	buf_text(out, "}");
}

static void add_host(struct buf *out, const struct host *host)
{
	buf_format(out, " - {transport: %s", host->local ? "local" : "ssh");
	add_key(out, "name", host->name);
	add_key(out, "id", host->id);
	add_key(out, "address", host->local ? NULL : host->address);
	if (host->port)
		buf_format(out, ", port: %d", host->port);
	add_key(out, "user", host->user);
	add_key(out, "identity_file", host->identity_file);
	add_key(out, "type", host->type);
	add_key(out, "on", host->box);
	add_key(out, "profile", host->profile);
	add_lists(out, host);
	buf_text(out, "}\n");
}

/* ---- properties that must hold ---- */

static bool equal_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool equal_lists(char *const *a, size_t n_a, char *const *b, size_t n_b)
{
	for (size_t i = 0; n_a == n_b && i < n_a; i++) {
		if (strcmp(a[i], b[i]) != 0)
			return false;
	}
	return n_a == n_b;
}

static bool equal(const struct host *a, const struct host *b)
{
	return equal_texts(a->name, b->name) && equal_texts(a->id, b->id) && equal_texts(a->address, b->address) && a->port == b->port &&
	       equal_texts(a->user, b->user) && equal_texts(a->identity_file, b->identity_file) && equal_texts(a->type, b->type) &&
	       equal_texts(a->box, b->box) && equal_texts(a->profile, b->profile) && a->local == b->local &&
	       equal_lists(a->groups, a->n_groups, b->groups, b->n_groups) &&
	       equal_lists(a->environment, a->n_environment, b->environment, b->n_environment);
}

static void check_host(const struct inventory *inventory, size_t i)
{
	const struct host *host = &inventory->hosts[i];

	ASSAY_BUG_IF(!*host->name || !*host->id || !*host->address || !*host->box || (host->type && !*host->type));
	ASSAY_BUG_IF(host->port < 0 || host->port > 65535 || (host->user && !*host->user) || (host->profile && !host->type));
	ASSAY_BUG_IF(inventory_find(inventory, host->id) != host); /* IDs are unique, so this is the only host with this one */
	for (size_t j = 0; j < i; j++)
		ASSAY_BUG_IF(strcmp(inventory->hosts[j].name, host->name) == 0);
}

static void check_inventory(const struct inventory *inventory)
{
	struct buf text = BUF_INIT;
	struct assay_error err;
	struct lab_config again;

	buf_text(&text, "hosts:\n");
	for (size_t i = 0; i < inventory->n; i++) {
		check_host(inventory, i);
		add_host(&text, &inventory->hosts[i]);
	}
	if (text.size > YAML_BYTES_MAX / 2 || inventory->n == 0 || inventory->n > 1000)
		goto out;
	if (lab_config_parse("again", text.bytes, text.size, &again, &err)) {
		fprintf(stderr, "%s\n%s\n", err.text, text.bytes);
		ASSAY_BUG_IF("what was written cannot be read" != NULL);
	}
	ASSAY_BUG_IF(again.inventory.n != inventory->n);
	for (size_t i = 0; i < inventory->n; i++)
		ASSAY_BUG_IF(!equal(&again.inventory.hosts[i], &inventory->hosts[i]));
	lab_config_release(&again);
out:
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct lab_config config;

	if (lab_config_parse("fuzz", (const char *)data, size, &config, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz:", 5) != 0 || strchr(err.text, '\n'));
		ASSAY_BUG_IF(config.inventory.hosts || config.name); /* nothing needs to be released */
		return 0;
	}
	ASSAY_BUG_IF(!(config.min_effect > 0 && config.min_effect <= 10));
	ASSAY_BUG_IF(!(config.fingerprint_max_age_days >= 0 && config.fingerprint_max_age_days <= 36500));
	ASSAY_BUG_IF(config.name && !*config.name);
	if (config.inventory.n <= 1000)
		check_inventory(&config.inventory);
	lab_config_release(&config);
	return 0;
}
