#include "fingerprint/battery/battery.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "fingerprint/battery/battery_internal.h"

#include <inttypes.h>

static void entry_release(struct battery_entry *entry)
{
	for (size_t i = 0; i < entry->n_arguments; i++)
		free(entry->arguments[i]);
	for (size_t i = 0; i < entry->n_categories; i++)
		free(entry->categories[i]);
	free(entry->arguments);
	free(entry->categories);
	free(entry->name);
	free(entry->stressor);
	*entry = (struct battery_entry){ 0 };
}

void battery_release(struct battery *battery)
{
	for (size_t i = 0; i < battery->n; i++)
		entry_release(&battery->entries[i]);
	free(battery->entries);
	free(battery->name);
	*battery = (struct battery){ 0 };
}

/* Length before text: no two lists of words give the same bytes. */
static void add_word(struct buf *text, const char *word)
{
	buf_format(text, "%zu:%s\n", strlen(word), word);
}

/* Entries stand in name order, so the order of the file does not matter. */
void battery_update_hash(struct battery *battery, bool with_dangerous)
{
	struct buf text = BUF_INIT;
	char hex[DIGEST_HEX_BYTES];

	buf_format(&text, "battery 1\npasses %" PRId64 "\n", battery->passes);
	for (size_t i = 0; i < battery->n; i++) {
		const struct battery_entry *entry = &battery->entries[i];

		if (entry->dangerous && !with_dangerous)
			continue;
		add_word(&text, entry->name);
		add_word(&text, entry->stressor);
		buf_format(&text, "%" PRId64 " ms %zu\n", entry->milliseconds, entry->n_arguments);
		for (size_t k = 0; k < entry->n_arguments; k++)
			add_word(&text, entry->arguments[k]);
	}
	digest_sha256(text.bytes, text.size, hex);
	memcpy(battery->hash, hex, FINGERPRINT_ID_BYTES - 1);
	battery->hash[FINGERPRINT_ID_BYTES - 1] = '\0';
	buf_release(&text);
}

static bool is_named(const char *name, const char *const *named, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(named[i], name) == 0)
			return true;
	}
	return false;
}

enum assay_status battery_select(struct battery *battery, const char *const *named, size_t n, struct assay_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		bool there = false;

		for (size_t k = 0; k < battery->n && !there; k++)
			there = battery->entries[k].dangerous && strcmp(battery->entries[k].name, named[i]) == 0;
		if (!there)
			return assay_fail(err, ASSAY_E_USAGE, "the battery '%s' has no dangerous stressor '%s'", battery->name, named[i]);
	}
	for (size_t i = 0; i < battery->n; i++) {
		if (battery->entries[i].dangerous && !is_named(battery->entries[i].name, named, n))
			entry_release(&battery->entries[i]);
		else
			battery->entries[kept++] = battery->entries[i];
	}
	battery->n = kept;
	if (kept == 0)
		return assay_fail(err, ASSAY_E_USAGE, "the battery '%s' has dangerous stressors only: --dangerous names those that shall run",
				  battery->name);
	battery_update_hash(battery, true);
	return ASSAY_OK;
}
