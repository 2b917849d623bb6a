/* `assay samples APP@VERSION`: the files of samples that the laboratory keeps; `assay samples prune`: old ones. */
#include "runs/cmd_samples.h"

#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "fleet/agent/measure.h"
#include "fleet/cmd_lab.h"
#include "runs/cmd.h"
#include "runs/running/run.h"
#include "runs/running/run_build.h"
#include "runs/inside/samples/sample_files.h"

#include <inttypes.h>
#include <unistd.h>

#define HASH_SHOWN    12
#define VERSIONS_MAX  20
#define DAY_MS        86400000.0

bool cmd_samples_is_selector(const char *text)
{
	size_t n = strlen(text);

	return access(text, F_OK) != 0 && !(n > 8 && strcmp(text + n - 8, ".samples") == 0) && *text != '/' && strncmp(text, "./", 2) != 0 &&
	       strncmp(text, "../", 3) != 0;
}

/* ---- which files ---- */

/* Versions in the order in which they come, each once, with commas. */
static size_t versions_of(const struct sample_file *files, size_t n, struct buf *out)
{
	size_t versions = 0;

	for (size_t i = 0; i < n; i++) {
		bool known = false;

		for (size_t k = 0; k < i; k++)
			known = known || strcmp(files[k].version, files[i].version) == 0;
		if (!known && versions++ < VERSIONS_MAX)
			buf_format(out, "%s%s", versions > 1 ? ", " : "", files[i].version);
	}
	return versions;
}

static enum assay_status check_version(const struct sample_file *files, size_t n, const char *application, const char *version,
				       struct assay_error *err)
{
	struct buf versions = BUF_INIT;
	size_t n_versions = versions_of(files, n, &versions);
	enum assay_status st = ASSAY_OK;
	bool found = !version;

	for (size_t i = 0; i < n; i++)
		found = found || strcmp(files[i].version, version) == 0;
	if (n == 0)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "there are no samples of '%s': 'assay run %s --probe' makes some", application, application);
	else if (!found)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "there are no samples of '%s@%s': there are some of %s", application, version, versions.bytes);
	else if (!version && n_versions > 1)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has samples of several versions, say which as %s@VERSION: %s", application, application,
				versions.bytes);
	buf_release(&versions);
	return st;
}

/* Only those of the version stay. */
static void keep_version(struct sample_file *files, size_t *n, const char *version)
{
	size_t kept = 0, all = *n;

	for (size_t i = 0; i < all; i++) {
		struct sample_file file = files[i];

		if (version && strcmp(file.version, version) != 0)
			continue;
		for (size_t k = i; k > kept; k--) /* in their order; the others behind, for they are released with them */
			files[k] = files[k - 1];
		files[kept++] = file;
	}
	*n = kept;
}

/* ---- a list ---- */

static cJSON *json_of(const struct lab *lab, const struct sample_file *file, bool stale)
{
	cJSON *item = cJSON_CreateObject();
	char *path = sample_keep_path(lab, file->hash);

	cJSON_AddStringToObject(item, "hash", file->hash);
	cJSON_AddStringToObject(item, "file", path);
	cJSON_AddStringToObject(item, "application", file->application);
	cJSON_AddStringToObject(item, "version", file->version);
	cJSON_AddStringToObject(item, "machine", file->machine);
	cJSON_AddStringToObject(item, "hardware_type", file->hardware_type);
	cJSON_AddStringToObject(item, "input", file->input);
	cJSON_AddStringToObject(item, "plan", file->plan);
	cJSON_AddNumberToObject(item, "repetition", (double)file->repetition);
	cJSON_AddNumberToObject(item, "pack", (double)file->pack);
	cJSON_AddStringToObject(item, "back_end", samples_back_end_name(file->back_end));
	cJSON_AddNumberToObject(item, "bytes", (double)file->bytes);
	cJSON_AddNumberToObject(item, "taken_ms", (double)file->taken_ms);
	cJSON_AddBoolToObject(item, "ok", file->ok);
	cJSON_AddBoolToObject(item, "pruned", file->pruned);
	cJSON_AddBoolToObject(item, "stale", stale);
	free(path);
	return item;
}

static const char *remark_of(const struct sample_file *file, bool stale)
{
	return file->pruned ? "pruned" : !file->ok ? "of a run that failed" : stale ? "of another build than the latest runs" : "";
}

static void list_human(const char *application, const struct sample_file *files, const bool *stale, size_t n, struct buf *out)
{
	static const char *const headings[] = { "machine", "input", "repetition", "pack", "back end", "KiB", "taken", "hash", "" };
	struct table table;

	table_init(&table, "llrrlrlll", headings);
	for (size_t i = 0; i < n; i++) {
		char date[TEXT_DATE_BYTES];

		table_cell(&table, "%s", files[i].machine);
		table_cell(&table, "%s", files[i].input);
		table_cell(&table, "%" PRId64, files[i].repetition);
		table_cell(&table, "%" PRId64, files[i].pack);
		table_cell(&table, "%s", samples_back_end_name(files[i].back_end));
		table_cell(&table, "%.1f", (double)files[i].bytes / 1024);
		table_cell(&table, "%s", text_from_ms(files[i].taken_ms, date));
		table_cell(&table, "%.*s", HASH_SHOWN, files[i].hash);
		table_cell(&table, "%s", remark_of(&files[i], stale[i]));
	}
	table_print(&table, out);
	table_release(&table);
	buf_format(out, "\n%zu file%s of samples of %s@%s\n", n, text_plural(n), application, files[0].version);
}

/* ---- what is in them ---- */

static enum assay_status show_file(const struct lab *lab, const struct sample_file *file, cJSON *list, struct buf *out, struct assay_error *err)
{
	struct samples samples;
	enum assay_status st = sample_files_read(lab, file, &samples, err);
	char *name = sample_keep_path(lab, file->hash);

	if (!st && list)
		cJSON_AddItemToArray(list, cmd_samples_json(name, &samples));
	else if (!st)
		cmd_samples_human(name, &samples, out);
	samples_release(&samples);
	free(name);
	return st;
}

static enum assay_status show(const struct lab *lab, const struct sample_file *files, size_t n, const char *prefix, cJSON *list, struct buf *out,
			      struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	size_t shown = 0;

	for (size_t i = 0; !st && i < n; i++) {
		if (strncmp(files[i].hash, prefix, strlen(prefix)) != 0)
			continue;
		st = show_file(lab, &files[i], list, out, err);
		shown++;
	}
	if (!st && !shown)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "none of the %zu files has a hash that begins with '%s'", n, prefix);
	return st;
}

static enum assay_status list_or_show(const struct cli *cli, struct lab *lab, const char *application, const struct sample_file *files, size_t n,
				      const char *prefix, struct buf *out, struct assay_error *err)
{
	cJSON *root = cli->format == CLI_JSON ? cJSON_CreateObject() : NULL, *list = root ? cJSON_AddArrayToObject(root, "files") : NULL;
	bool *stale = NULL;
	enum assay_status st = prefix ? show(lab, files, n, prefix, list, out, err) : run_build_stale_samples(&lab->store, files, n, &stale, err);

	if (!st && !prefix && !list)
		list_human(application, files, stale, n, out);
	for (size_t i = 0; !st && !prefix && list && i < n; i++)
		cJSON_AddItemToArray(list, json_of(lab, &files[i], stale[i]));
	free(stale);
	if (!st && root) {
		json_add(out, root);
		root = NULL;
	}
	cJSON_Delete(root);
	return st;
}

enum assay_status cmd_samples_stored(const struct cli *cli, const char *selector, const char *prefix, struct buf *out, struct assay_error *err)
{
	char *application = NULL, *version = NULL;
	struct lab lab = { .lock_fd = -1 };
	struct sample_file *files = NULL;
	size_t n = 0, all = 0;
	enum assay_status st = run_selector(selector, &application, &version, err);

	if (!st)
		st = lab_open(cli->directory, STORE_READ, &lab, err);
	if (!st)
		st = sample_files_list(&lab.store, application, NULL, &files, &all, err);
	if (!st)
		st = check_version(files, all, application, version, err);
	if (!st) {
		n = all;
		keep_version(files, &n, version);
		st = list_or_show(cli, &lab, application, files, n, prefix, out, err);
	}
	sample_files_free(files, all);
	lab_close(&lab);
	free(application);
	free(version);
	return st;
}

/* ---- policy ---- */

static const char prune_doc[] =
    "Removes files of samples that are older than so many days. Their rows stay, marked: what was decided by them is not forgotten, but cannot be verified "
    "any more."
    "\vExample:\n"
    "  assay samples prune --older-than 90";

static const struct argp_option prune_options[] = { { "older-than", 'o', "DAYS", 0, "By the time when they were taken", 1 }, { 0 } };

static error_t parse_prune(int key, char *arg, struct argp_state *state)
{
	double *days = state->input;

	switch (key) {
	case 'o':
		if (!text_double(arg, days) || *days < 0 || *days > 36500)
			cli_refuse(state, "--older-than is a number of days from 0 to 36500, not '%s'", arg);
		return 0;
	case ARGP_KEY_ARG:
		cli_refuse(state, "'%s' is no option: the age is what chooses", arg);
	case ARGP_KEY_END:
		if (*days < 0)
			cli_refuse(state, "--older-than says how old");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_pruned(const struct cli *cli, const struct sample_pruned *pruned, struct buf *out)
{
	cJSON *root;

	if (cli->format != CLI_JSON) {
		buf_format(out, "%zu file%s of samples removed, %.1f MiB when they are not compressed\n", pruned->files, text_plural(pruned->files),
			   (double)pruned->bytes / (1 << 20));
		return;
	}
	root = cJSON_CreateObject();
	cJSON_AddNumberToObject(root, "files", (double)pruned->files);
	cJSON_AddNumberToObject(root, "bytes", (double)pruned->bytes);
	json_add(out, root);
}

int cmd_samples_prune(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { prune_options, parse_prune, NULL, prune_doc, NULL, NULL, NULL };
	struct sample_pruned pruned = { 0, 0 };
	double days = -1;
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &days, STORE_WRITE);

	if (!st)
		st = sample_keep_prune(&cmd.lab, measure_now_ms() - (int64_t)(days * DAY_MS), &pruned, &cmd.err);
	if (!st)
		print_pruned(&cmd.cli, &pruned, &cmd.out);
	return cmd_lab_end(&cmd, st, 0);
}
