#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"
#include "runs/running/manifest_internal.h"

#include <dirent.h>
#include <sys/stat.h>

void manifest_words_release(struct manifest_words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct manifest_words){NULL, 0};
}

static void version_release(struct manifest_version *version)
{
	free(version->name);
	free(version->directory);
	free(version->repository);
	free(version->reference);
	manifest_words_release(&version->build);
	manifest_words_release(&version->command);
	manifest_words_release(&version->environment);
}

static void input_release(struct manifest_input *input)
{
	free(input->name);
	manifest_words_release(&input->arguments);
	manifest_words_release(&input->environment);
}

void manifest_release(struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->n_versions; i++)
		version_release(&manifest->versions[i]);
	for (size_t i = 0; i < manifest->n_inputs; i++)
		input_release(&manifest->inputs[i]);
	free(manifest->versions);
	free(manifest->inputs);
	free(manifest->file);
	free(manifest->directory);
	free(manifest->text);
	free(manifest->application);
	free(manifest->description);
	free(manifest->work);
	manifest_words_release(&manifest->files);
	manifest_words_release(&manifest->command);
	manifest_words_release(&manifest->environment);
	metric_release(&manifest->metric);
	manifest_probe_release(&manifest->probe);
	*manifest = (struct manifest){.file = NULL};
}

size_t manifest_find_version(const struct manifest *manifest, const char *name)
{
	for (size_t i = 0; i < manifest->n_versions; i++) {
		if (strcmp(manifest->versions[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

size_t manifest_find_input(const struct manifest *manifest, const char *name)
{
	for (size_t i = 0; i < manifest->n_inputs; i++) {
		if (strcmp(manifest->inputs[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

char *manifest_stored_name(const struct manifest *manifest, size_t input)
{
	const char *name = manifest->inputs[input].name;

	return *name ? mem_format("%s/%s", manifest->application, name) : mem_string(manifest->application);
}

/* ---- opening ---- */

static bool ends_with_yaml(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && strcmp(name + n - 5, ".yaml") == 0;
}

static int is_manifest(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && ends_with_yaml(entry->d_name);
}

/* What could have been meant. */
static enum assay_status fail_unknown(const char *laboratory, const char *name, struct assay_error *err)
{
	char *directory = mem_format("%s/apps", laboratory), shown[TEXT_SHOWN_BYTES];
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, is_manifest, alphasort);
	struct buf list = BUF_INIT;
	enum assay_status st;

	for (int i = 0; i < n; i++) {
		buf_format(&list, "%s%.*s", i ? ", " : "", (int)strlen(entries[i]->d_name) - 5, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	st = assay_fail(err, ASSAY_E_NOTFOUND, "no application '%s': '%s' has %s%s", text_shown(name, shown), directory,
	                n > 0 ? "" : "no manifest; write one as NAME.yaml", n > 0 ? list.bytes : "");
	buf_release(&list);
	free(directory);
	return st;
}

enum assay_status manifest_open(const char *laboratory, const char *what, struct manifest *out, struct assay_error *err)
{
	bool is_path = strchr(what, '/') || ends_with_yaml(what);
	char *path = is_path ? mem_string(what) : mem_format("%s/apps/%s.yaml", laboratory, what);
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, YAML_BYTES_MAX, &text, err);

	*out = (struct manifest){.file = NULL};
	if (st == ASSAY_E_NOTFOUND && !is_path)
		st = fail_unknown(laboratory, what, err);
	if (!st)
		st = manifest_parse(path, text.bytes, text.size, out, err);
	buf_release(&text);
	free(path);
	return st;
}
