#include "runs/cmd_samples.h"

#include "base/mem.h"
#include "base/table.h"
#include "runs/cmd.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>

static const char doc[] =
    "Shows files of samples ('assay probe' and 'assay emulate run' write them): for each function how often it was called, how many calls were "
    "measured, and their mean time, with and without other measured functions that it called. Means are weighted by the calls that a "
    "sample stands for. Of a directory it shows all *.samples in it; of an application it lists the files that the laboratory keeps from "
    "'assay run --probe'."
    "\vExample:\n"
    "  assay samples samples\n"
    "  assay samples samples/4711-0.samples --format json\n"
    "  assay samples sqlite@1.1\n"
    "  assay samples sqlite@1.1 --show 5f3a";

static const struct argp_option options[] = {
	{ "show", 's', "HASH", 0, "Of APP[@VERSION]: what is in the files whose hash begins so", 1 },
	{ 0 }
};

struct arguments {
	char **files; /* [n] */
	size_t n, capacity;
	const char *show;
};

struct paths {
	char **items; /* [n], owned */
	size_t n, capacity;
};

/* Of one function in one file. */
struct sums {
	double weight, ns, alone_ns;
	double *counters, *weights; /* [n_counters], where they were counted */
	uint64_t calls;
	size_t unwound, threads;
	bool calls_known, estimated;
	uint32_t max_weight;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 's':
		a->show = arg;
		return 0;
	case ARGP_KEY_ARG:
		a->files = mem_grow(a->files, a->n, &a->capacity, sizeof(*a->files));
		a->files[a->n++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->n)
			cli_refuse(state, "FILE, DIRECTORY or APP[@VERSION] is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* In all threads, those too in which none of them was measured; not known as long as a thread that measured some has not said it. */
static void calls_find(const struct samples *s, size_t function, struct sums *out)
{
	const struct samples_function *f = &s->functions[function];
	uint64_t calls;

	for (size_t i = 0; i < s->n_calls; i++) {
		if (s->calls[i].function == function) {
			out->calls += s->calls[i].calls;
			out->threads++;
		}
	}
	out->calls_known = out->threads > 0;
	for (size_t i = f->first; i < f->first + f->n; i++) {
		if ((i > f->first && s->items[i].thread == s->items[i - 1].thread) || samples_calls(s, function, s->items[i].thread, &calls))
			continue;
		out->calls_known = false;
		out->threads++;
	}
}

static void sums_find(const struct samples *s, size_t function, struct sums *out)
{
	const struct samples_function *f = &s->functions[function];

	*out = (struct sums){ 0 };
	calls_find(s, function, out);
	out->counters = mem_new(s->n_counters, sizeof(double));
	out->weights = mem_new(s->n_counters, sizeof(double));
	for (size_t i = f->first; i < f->first + f->n; i++) {
		const struct sample *sample = &s->items[i];

		out->weight += sample->weight;
		out->ns += sample->weight * sample->ns;
		out->alone_ns += sample->weight * sample->alone_ns;
		out->unwound += sample->unwound;
		out->estimated = out->estimated || sample->estimated;
		out->max_weight = sample->weight > out->max_weight ? sample->weight : out->max_weight;
		for (size_t c = 0; c < s->n_counters; c++) {
			double value = s->values[i * s->n_counters + c];

			out->counters[c] += isnan(value) ? 0 : sample->weight * value;
			out->weights[c] += isnan(value) ? 0 : sample->weight;
		}
	}
}

static void sums_release(struct sums *sums)
{
	free(sums->counters);
	free(sums->weights);
}

static cJSON *number_or_null(bool known, double value)
{
	return known ? cJSON_CreateNumber(value) : cJSON_CreateNull();
}

static cJSON *function_json(const struct samples *s, size_t function)
{
	cJSON *item = cJSON_CreateObject(), *counters;
	struct sums sums;

	sums_find(s, function, &sums);
	cJSON_AddStringToObject(item, "name", s->functions[function].name);
	cJSON_AddStringToObject(item, "module", s->functions[function].module);
	cJSON_AddNumberToObject(item, "threads", (double)sums.threads);
	cJSON_AddItemToObject(item, "calls", number_or_null(sums.calls_known, (double)sums.calls));
	cJSON_AddNumberToObject(item, "samples", (double)s->functions[function].n);
	cJSON_AddNumberToObject(item, "max_weight", sums.max_weight);
	cJSON_AddNumberToObject(item, "unwound", (double)sums.unwound);
	cJSON_AddBoolToObject(item, "estimated", sums.estimated);
	cJSON_AddItemToObject(item, "ns", number_or_null(sums.weight > 0, sums.ns / sums.weight));
	cJSON_AddItemToObject(item, "alone_ns", number_or_null(sums.weight > 0, sums.alone_ns / sums.weight));
	counters = cJSON_AddObjectToObject(item, "counters");
	for (size_t c = 0; c < s->n_counters; c++)
		cJSON_AddItemToObject(counters, s->counters[c], number_or_null(sums.weights[c] > 0, sums.counters[c] / sums.weights[c]));
	sums_release(&sums);
	return item;
}

cJSON *cmd_samples_json(const char *path, const struct samples *s)
{
	cJSON *item = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(item, "file", path);
	cJSON_AddStringToObject(item, "back_end", samples_back_end_name(s->back_end));
	cJSON_AddNumberToObject(item, "pid", (double)s->pid);
	cJSON_AddBoolToObject(item, "finished", s->finished);
	cJSON_AddBoolToObject(item, "truncated", s->truncated);
	cJSON_AddNumberToObject(item, "dropped", (double)s->dropped);
	cJSON_AddNumberToObject(item, "unreadable", (double)s->unreadable);
	list = cJSON_AddObjectToObject(item, "about");
	for (size_t i = 0; i < s->n_infos; i++)
		if (!cJSON_GetObjectItemCaseSensitive(list, s->infos[i].key))
			cJSON_AddStringToObject(list, s->infos[i].key, s->infos[i].value);
	list = cJSON_AddArrayToObject(item, "functions");
	for (size_t f = 0; f < s->n_functions; f++)
		cJSON_AddItemToArray(list, function_json(s, f));
	return item;
}

void cmd_samples_human(const char *path, const struct samples *s, struct buf *out)
{
	static const char *const headings[] = { "function", "threads", "calls", "measured", "mean ns", "itself ns" };
	const char *why = s->dropped ? samples_info(s, "dropped") : NULL;
	struct table table;

	buf_format(out, "%s: %s%s%s\n", path, samples_back_end_name(s->back_end), s->finished ? "" : ", the process did not end in order",
		   s->truncated ? ", the file is cut off" : "");
	if (s->dropped || s->unreadable)
		buf_format(out, "%" PRIu64 " samples were dropped%s%s, %" PRIu64 " cannot be read\n", s->dropped, why ? ": " : "", why ? why : "",
			   s->unreadable);
	table_init(&table, "lrrrrr", headings);
	for (size_t f = 0; f < s->n_functions; f++) {
		struct sums sums;

		sums_find(s, f, &sums);
		table_cell(&table, "%s", s->functions[f].name);
		table_cell(&table, "%zu", sums.threads);
		if (sums.calls_known)
			table_cell(&table, "%" PRIu64, sums.calls);
		else
			table_cell(&table, "%s", s->functions[f].n ? "?" : "0");
		table_cell(&table, "%zu", s->functions[f].n);
		table_cell(&table, "%.1f", sums.weight > 0 ? sums.ns / sums.weight : 0);
		table_cell(&table, "%s%.1f", sums.estimated ? "~" : "", sums.weight > 0 ? sums.alone_ns / sums.weight : 0);
		sums_release(&sums);
	}
	table_print(&table, out);
	table_release(&table);
}

/* ---- which files ---- */

static int is_samples(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 8 && strcmp(entry->d_name + n - 8, ".samples") == 0;
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* not by locale */
}

static void add_path(struct paths *paths, char *path)
{
	paths->items = mem_grow(paths->items, paths->n, &paths->capacity, sizeof(*paths->items));
	paths->items[paths->n++] = path;
}

static enum assay_status add_directory(const char *directory, struct paths *paths, struct assay_error *err)
{
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, is_samples, compare_entries);
	enum assay_status st = ASSAY_OK;

	if (n < 0)
		st = assay_fail_errno(err, errno, "cannot read the directory '%s'", directory);
	else if (n == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "there are no files of samples (*.samples) in '%s'; its directories are not looked into",
				directory);
	for (int i = 0; i < n; i++) {
		add_path(paths, mem_format("%s/%s", directory, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	return st;
}

/* The files that the words mean, each directory's by name. */
static enum assay_status paths_of(const struct arguments *a, struct paths *out, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	struct stat info;

	for (size_t i = 0; i < a->n && !st; i++) {
		if (stat(a->files[i], &info) == 0 && S_ISDIR(info.st_mode))
			st = add_directory(a->files[i], out, err);
		else
			add_path(out, mem_string(a->files[i]));
	}
	return st;
}

static void paths_release(struct paths *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		free(paths->items[i]);
	free(paths->items);
}

static enum assay_status show_files(const struct cli *cli, const struct arguments *a, struct buf *out, struct assay_error *err)
{
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "files");
	struct paths paths = { .items = NULL };
	enum assay_status st = paths_of(a, &paths, err);

	for (size_t i = 0; i < paths.n && !st; i++) {
		struct samples samples;

		st = samples_read(paths.items[i], &samples, err);
		if (st)
			break;
		if (cli->format == CLI_JSON)
			cJSON_AddItemToArray(list, cmd_samples_json(paths.items[i], &samples));
		else
			cmd_samples_human(paths.items[i], &samples, out);
		samples_release(&samples);
	}
	if (!st && cli->format == CLI_JSON) {
		json_add(out, root);
		root = NULL;
	}
	cJSON_Delete(root);
	paths_release(&paths);
	return st;
}

int cmd_samples(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "FILE|DIRECTORY...|APP[@VERSION]", doc, NULL, NULL, NULL };
	struct arguments a = { .files = NULL };
	struct buf out = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	if (a.n == 1 && cmd_samples_is_selector(a.files[0]))
		st = cmd_samples_stored(&cli, a.files[0], a.show, &out, &err);
	else
		st = show_files(&cli, &a, &out, &err);
	if (!st)
		st = cli_print(&out, &err);
	free(a.files);
	buf_release(&out);
	return cli_end(&cli, st, &err, 0);
}
