/* Batteries that are built in, and those in files. */
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "fingerprint/battery/battery.h"

EMBED_FILE(battery_paper, ASSAY_SOURCE_DIRECTORY "/fingerprint/battery/paper.yaml");
EMBED_FILE(battery_quick, ASSAY_SOURCE_DIRECTORY "/fingerprint/battery/quick.yaml");

static const struct {
	const char *name, *file, *begin, *end;
} built_in[] = {
	{ "paper", "battery paper", battery_paper, battery_paper_end },
	{ "quick", "battery quick", battery_quick, battery_quick_end },
};

static bool is_file(const char *name)
{
	size_t n = strlen(name);

	return strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".yaml") == 0);
}

static enum assay_status open_file(const char *path, struct battery *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, YAML_BYTES_MAX, &text, err);

	if (!st)
		st = battery_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	buf_release(&text);
	return st;
}

enum assay_status battery_open(const char *name, struct battery *out, struct assay_error *err)
{
	const char *names[sizeof(built_in) / sizeof(built_in[0])];

	*out = (struct battery){ 0 };
	if (is_file(name))
		return open_file(name, out, err);
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		names[i] = built_in[i].name;
		if (strcmp(built_in[i].name, name) == 0)
			return battery_parse(built_in[i].file, built_in[i].begin, (size_t)(built_in[i].end - built_in[i].begin), out, err);
	}
	return assay_fail(err, ASSAY_E_USAGE, "no battery '%s': there are quick and paper, and files (with a '/' or ending with .yaml)%s%s", name,
			  text_nearest(name, names, 2) ? "; did you mean " : "", text_nearest(name, names, 2) ? text_nearest(name, names, 2) : "");
}
