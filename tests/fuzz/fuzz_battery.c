/* Checks that a battery that is accepted is within its limits and in order, passes only harmless options to stress-ng, and has the same
 * hash if it is written and read again. */
#include "base/buf.h"
#include "fingerprint/battery/battery.h"

#include <inttypes.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_plain(const char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			return false;
	}
	return true;
}

static void add_quoted(struct buf *out, const char *text)
{
	buf_char(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_char(out, '\\');
		buf_char(out, *text);
	}
	buf_char(out, '"');
}

/* Reports whether stress-ng would take `argument` for this option. */
static bool abbreviates(const char *argument, const char *option)
{
	size_t n = strcspn(argument, "=");

	return n > 2 && strncmp(argument, option, n) == 0;
}

/* Appends an entry as YAML. Returns false if a part of it contains other than printable ASCII characters. */
static bool add_entry(struct buf *out, const struct battery_entry *e)
{
	bool plain = true;

	ASSAY_BUG_IF(!*e->name || !*e->stressor || *e->stressor == '-' || e->milliseconds <= 0);
	buf_format(out, "  - { name: \"%s\", stressor: \"%s\", seconds: %" PRId64 ".%03" PRId64 ", dangerous: %s, arguments: [", e->name,
		   e->stressor, e->milliseconds / 1000, e->milliseconds % 1000, e->dangerous ? "true" : "false");
	for (size_t i = 0; i < e->n_arguments; i++) {
		const char *a = e->arguments[i];

		ASSAY_BUG_IF(a[0] == '-' && a[1] == 't');
		ASSAY_BUG_IF(abbreviates(a, "--temp-path") || abbreviates(a, "--yaml") || abbreviates(a, "--log-file"));
		plain = plain && is_plain(a);
		buf_text(out, i ? ", " : "");
		add_quoted(out, a);
	}
	buf_text(out, "] }\n");
	return plain;
}

static void check_again(const struct battery *battery)
{
	struct buf text = BUF_INIT;
	struct assay_error err = { .text = "" };
	struct battery again;
	bool plain = true;

	buf_format(&text, "name: \"%s\"\npasses: %" PRId64 "\nstressors:\n", battery->name, battery->passes);
	for (size_t i = 0; i < battery->n; i++) {
		ASSAY_BUG_IF(i && strcmp(battery->entries[i - 1].name, battery->entries[i].name) >= 0);
		plain = add_entry(&text, &battery->entries[i]) && plain;
	}
	if (plain) {
		if (battery_parse("again", text.bytes, text.size, &again, &err)) {
			fprintf(stderr, "%s\n%s\n", err.text, text.bytes);
			ASSAY_BUG_IF("what was written cannot be read" != NULL);
		}
		ASSAY_BUG_IF(strcmp(again.hash, battery->hash) != 0);
		battery_release(&again);
	}
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct battery battery;

	if (battery_parse("fuzz", (const char *)data, size, &battery, &err)) {
		ASSAY_BUG_IF(strncmp(err.text, "fuzz", 4) != 0 || strchr(err.text, '\n') || battery.entries);
		return 0;
	}
	ASSAY_BUG_IF(battery.n < 1 || battery.n > BATTERY_ENTRIES_MAX || battery.passes < 1 || battery.passes > BATTERY_PASSES_MAX);
	ASSAY_BUG_IF(strlen(battery.hash) != FINGERPRINT_ID_BYTES - 1);
	check_again(&battery);
	battery_release(&battery);
	return 0;
}
