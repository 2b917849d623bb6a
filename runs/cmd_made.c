/* What an instrumented program has left, and what can be done with it. */
#include "runs/cmd_made.h"

#include "base/command.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/samples/samples.h"

#include <dirent.h>
#include <string.h>

struct outcome {
	size_t files, samples;
	uint64_t dropped;
	char *why; /* of the first file that says why some were dropped */
};

static bool is_samples(const char *name)
{
	size_t n = strlen(name);

	return n > 8 && strcmp(name + n - 8, ".samples") == 0;
}

static void count_file(const char *path, struct outcome *outcome)
{
	struct samples samples;
	struct assay_error err;

	if (samples_read(path, &samples, &err)) {
		cli_remark("%s", err.text);
		return;
	}
	outcome->files++;
	outcome->samples += samples.n;
	outcome->dropped += samples.dropped;
	if (samples.dropped && !outcome->why && samples_info(&samples, "dropped"))
		outcome->why = mem_string(samples_info(&samples, "dropped"));
	samples_release(&samples);
}

void cmd_made_before(const char *directory, struct buf *names)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	buf_char(names, '\0');
	while (dir && (entry = readdir(dir)))
		if (is_samples(entry->d_name))
			buf_add(names, entry->d_name, strlen(entry->d_name) + 1);
	if (dir)
		closedir(dir);
}

static bool names_have(const struct buf *names, const char *name)
{
	for (size_t i = 1; i < names->size; i += strlen(names->bytes + i) + 1)
		if (strcmp(names->bytes + i, name) == 0)
			return true;
	return false;
}

enum assay_status cmd_made(const char *directory, const struct buf *before, const char *nothing, struct assay_error *err)
{
	struct outcome outcome = { 0 };
	struct buf names = BUF_INIT;

	cmd_made_before(directory, &names);
	for (size_t i = 1; i < names.size; i += strlen(names.bytes + i) + 1) {
		char *path = mem_format("%s/%s", directory, names.bytes + i);

		if (!names_have(before, names.bytes + i))
			count_file(path, &outcome);
		free(path);
	}
	buf_release(&names);
	if (outcome.dropped)
		cli_remark("%llu samples were dropped: %s (docs/probe.md)", (unsigned long long)outcome.dropped,
			   outcome.why ? outcome.why : "the file does not say why");
	free(outcome.why);
	if (!outcome.samples)
		return assay_fail(err, ASSAY_E_NODATA, outcome.dropped ? "no sample could be kept" : "%s", nothing);
	cli_remark("%zu sample%s in %zu file%s of '%s': 'assay samples %s' shows them, 'assay detect OLD NEW' compares those of two builds",
		   outcome.samples, text_plural(outcome.samples), outcome.files, text_plural(outcome.files), directory, directory);
	return ASSAY_OK;
}
