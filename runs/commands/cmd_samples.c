/* assay samples */
#include "base/command.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/samples/sample_files.h"
#include "runs/running/run.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_SHOWN   12
#define VERSIONS_MAX 20

struct arguments {
	struct cli_list files;
	const char *show; /* how hashes start; NULL: the files are listed */
};

/* ---- one function in one file ---- */

/* What its samples say about themselves. */
struct sampled {
	double unsure_ns; /* mean, of the time without nested calls */
	size_t unwound;
	bool estimated;
	uint32_t max_weight;
};

static struct sampled sampled_find(const struct samples *s, const struct samples_function *f)
{
	struct sampled out = { .unwound = f->late };
	double weight = 0;

	for (size_t i = f->first; i < f->first + f->n; i++) {
		const struct sample *sample = &s->items[i];

		weight += sample->weight;
		out.unsure_ns += sample->weight * sample->alone_unsure_ns;
		out.unwound += sample->unwound;
		out.estimated = out.estimated || sample->estimated;
		out.max_weight = sample->weight > out.max_weight ? sample->weight : out.max_weight;
	}
	out.unsure_ns = weight > 0 ? out.unsure_ns / weight : (double)NAN;
	return out;
}

/* Where the means over all calls lie. */
static void add_interval(const struct samples *s, size_t function, bool high, struct document *d)
{
	struct samples_mean ns = samples_mean(s, function, SAMPLES_MEAN_NS), alone = samples_mean(s, function, SAMPLES_MEAN_ALONE_NS);

	doc_object(d, high ? "high" : "low");
	doc_set(d, "ns", high ? ns.high : ns.low);
	doc_set(d, "alone_ns", high ? alone.high : alone.low);
	for (size_t c = 0; c < s->n_counters; c++) {
		struct samples_mean mean = samples_mean(s, function, c);

		doc_set(d, s->counters[c], high ? mean.high : mean.low);
	}
	doc_end(d);
}

static void add_total(const struct samples *s, const struct samples_total *total, struct document *d)
{
	static const char *const shown[][2] = { { "emulated:accesses", "accesses/call" }, { "emulated:blocks", "blocks/call" } };

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		size_t c = samples_counter(s, shown[i][0]);
		double mean = c < s->n_counters && total->calls ? total->sums[c] / (double)total->calls : (double)NAN;

		if (c < s->n_counters)
			doc_showf(d, NULL, shown[i][1], mean, "%.1f", mean);
	}
	doc_set_bool(d, "complete", total->complete);
	doc_object(d, "total");
	for (size_t c = 0; c < s->n_counters; c++)
		doc_set(d, s->counters[c], total->sums[c]);
	doc_end(d);
	doc_object(d, "total_low");
	for (size_t c = 0; c < s->n_counters; c++) {
		double low, high;

		samples_interval(total->sums[c], total->errors[c], total->bursts, &low, &high);
		doc_set(d, s->counters[c], low);
	}
	doc_end(d);
	doc_object(d, "total_high");
	for (size_t c = 0; c < s->n_counters; c++) {
		double low, high;

		samples_interval(total->sums[c], total->errors[c], total->bursts, &low, &high);
		doc_set(d, s->counters[c], high);
	}
	doc_end(d);
}

static void add_function(const struct samples *s, size_t function, struct document *d)
{
	const struct samples_function *f = &s->functions[function];
	struct sampled sampled = sampled_find(s, f);
	struct samples_mean ns = samples_mean(s, function, SAMPLES_MEAN_NS), alone = samples_mean(s, function, SAMPLES_MEAN_ALONE_NS);
	struct samples_total total;
	char *name = demangle(f->name);
	double away;

	samples_total_find(s, function, &total);
	doc_row(d);
	doc_show(d, "name", "function", name);
	doc_set(d, "symbol", f->name);
	doc_set(d, "module", f->module);
	doc_show(d, "threads", "threads", total.threads);
	doc_set(d, "calls", total.known ? doc_value_integer((int64_t)total.calls) : DOC_NOTHING);
	doc_show(d, NULL, "calls", total.known || !f->n ? doc_value_integer((int64_t)total.calls) : DOC_NOTHING);
	doc_show(d, "samples", "measured", f->n + f->late);
	doc_set(d, "max_weight", sampled.max_weight);
	doc_set(d, "unwound", sampled.unwound);
	doc_set_bool(d, "estimated", sampled.estimated);
	doc_showf(d, "ns", "mean ns", ns.mean, "%.1f", ns.mean);
	doc_showf(d, "alone_ns", "itself ns", alone.mean, "%s%.1f", sampled.estimated ? "~" : "", alone.mean);
	doc_set(d, "alone_unsure_ns", sampled.unsure_ns);
	away = sampled.unsure_ns + alone.high - alone.mean;
	doc_showf(d, NULL, "+-", away, "%.1f", away);
	doc_object(d, "counters");
	for (size_t c = 0; c < s->n_counters; c++)
		doc_set(d, s->counters[c], samples_mean(s, function, c).mean);
	doc_end(d);
	add_interval(s, function, false, d);
	add_interval(s, function, true, d);
	add_total(s, &total, d);
	samples_total_release(&total);
	free(name);
}

/* ---- one file ---- */

static bool info_is_first(const struct samples *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(s->infos[k].key, s->infos[i].key) == 0)
			return false;
	return true;
}

static void add_file(const char *path, const struct samples *s, struct document *d)
{
	const char *why = s->dropped ? samples_info(s, "dropped") : NULL;

	doc_object(d, NULL);
	doc_heading(d, "%s: %s%s%s", path, samples_back_end_name(s->back_end), s->finished ? "" : ", the process did not end in order",
		    s->truncated ? ", the file is cut off" : "");
	if (s->dropped || s->unreadable)
		doc_line(d, "%llu samples were dropped%s%s, %llu cannot be read", (unsigned long long)s->dropped, why ? ": " : "",
			 why ? why : "", (unsigned long long)s->unreadable);
	doc_set(d, "file", path);
	doc_set(d, "back_end", samples_back_end_name(s->back_end));
	doc_set(d, "pid", (int64_t)s->pid);
	doc_set_bool(d, "finished", s->finished);
	doc_set_bool(d, "truncated", s->truncated);
	doc_set(d, "dropped", (int64_t)s->dropped);
	doc_set(d, "unreadable", (int64_t)s->unreadable);
	doc_object(d, "about");
	for (size_t i = 0; i < s->n_infos; i++)
		if (info_is_first(s, i))
			doc_set(d, s->infos[i].key, s->infos[i].value);
	doc_end(d);
	doc_table(d, "functions");
	for (size_t f = 0; f < s->n_functions; f++)
		add_function(s, f, d);
	doc_end(d);
	doc_end(d);
}

/* ---- files and directories ---- */

static enum assay_status read_file(const char *path, struct document *d, struct assay_error *err)
{
	struct samples samples;
	enum assay_status st = samples_read(path, &samples, err);

	if (st)
		return st;
	add_file(path, &samples, d);
	samples_release(&samples);
	return ASSAY_OK;
}

static enum assay_status read_directory(const char *directory, struct document *d, struct assay_error *err)
{
	char **names;
	size_t n;
	enum assay_status st = file_names(directory, ".samples", &names, &n, err);

	if (!st && n == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "there are no sample files (*.samples) in '%s'; subdirectories are not searched",
				directory);
	for (size_t i = 0; i < n && !st; i++) {
		char *path = mem_format("%s/%s", directory, names[i]);

		st = read_file(path, d, err);
		free(path);
	}
	file_names_free(names, n);
	return st;
}

static enum assay_status show_files(const struct cli_list *files, struct document *d, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	struct stat info;

	doc_list(d, "files");
	for (size_t i = 0; i < files->n && !st; i++) {
		const char *path = files->items[i];

		st = stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? read_directory(path, d, err) : read_file(path, d, err);
	}
	doc_end(d);
	return st;
}

/* ---- files that the laboratory keeps: which ---- */

/* APP[@VERSION], and not a file. */
static bool is_selector(const char *text)
{
	size_t n = strlen(text);

	return access(text, F_OK) != 0 && !(n > 8 && strcmp(text + n - 8, ".samples") == 0) && *text != '/' &&
	       strncmp(text, "./", 2) != 0 && strncmp(text, "../", 3) != 0;
}

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
	char *command = text_command((const char *const[]){ "run", application, "--probe", NULL });
	bool found = !version;

	for (size_t i = 0; i < n; i++)
		found = found || strcmp(files[i].version, version) == 0;
	if (n == 0)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "there are no samples of '%s': %s makes some", application, command);
	else if (!found)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "there are no samples of '%s@%s', but of %s", application, version, versions.bytes);
	else if (!version && n_versions > 1)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has samples of several versions, say which as %s@VERSION: %s", application,
				application, versions.bytes);
	free(command);
	buf_release(&versions);
	return st;
}

/* The files of the version, which may be excluded if there is one alone. */
static enum assay_status files_of(struct store *store, const char *application, const char *version, struct sample_file **out, size_t *n,
				  struct assay_error *err)
{
	struct sample_file *all;
	size_t n_all;
	enum assay_status st = sample_files_list(store, application, NULL, &all, &n_all, err);

	if (!st)
		st = check_version(all, n_all, application, version, err);
	if (!st)
		st = sample_files_list(store, application, version ? version : all[0].version, out, n, err);
	sample_files_free(all, n_all);
	return st;
}

/* ---- a list of them ---- */

static void add_kept(const struct lab *lab, const struct sample_file *file, bool stale, struct document *d)
{
	char *path = sample_keep_path(lab, file->hash), date[TEXT_DATE_BYTES];

	doc_row(d);
	doc_set(d, "hash", file->hash);
	doc_set(d, "file", path);
	doc_set(d, "application", file->application);
	doc_set(d, "version", file->version);
	doc_show(d, "machine", "machine", file->machine);
	doc_set(d, "hardware_type", file->hardware_type);
	doc_show(d, "input", "input", file->input);
	doc_set(d, "plan", file->plan);
	doc_show(d, "repetition", "repetition", file->repetition);
	doc_show(d, "pack", "pack", file->pack);
	doc_show(d, "back_end", "back end", samples_back_end_name(file->back_end));
	doc_showf(d, "bytes", "KiB", file->bytes, "%.1f", (double)file->bytes / 1024);
	doc_showf(d, "taken_ms", "taken", file->taken_ms, "%s", text_from_ms(file->taken_ms, date));
	doc_set_bool(d, "ok", file->ok);
	doc_set_bool(d, "pruned", file->pruned);
	doc_set_bool(d, "stale", stale);
	doc_showf(d, NULL, "hash", file->hash, "%.*s", HASH_SHOWN, file->hash);
	doc_show(d, NULL, "",
		 file->pruned ? "pruned"
		 : !file->ok  ? "of a run that failed"
		 : stale      ? "of another build than the latest runs"
			      : "");
	free(path);
}

static enum assay_status list_kept(struct lab *lab, const char *application, const struct sample_file *files, size_t n, struct document *d,
				   struct assay_error *err)
{
	bool *stale = NULL;
	enum assay_status st = run_build_stale_samples(&lab->store, files, n, &stale, err);

	if (st)
		return st;
	doc_line(d, "%zu sample file%s of %s@%s\n", n, text_plural(n), application, files[0].version);
	doc_table(d, "files");
	for (size_t i = 0; i < n; i++)
		add_kept(lab, &files[i], stale[i], d);
	doc_end(d);
	free(stale);
	return ASSAY_OK;
}

/* ---- what is in them ---- */

static enum assay_status show_kept(const struct lab *lab, const char *prefix, const struct sample_file *files, size_t n, struct document *d,
				   struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	size_t shown = 0;

	doc_list(d, "files");
	for (size_t i = 0; !st && i < n; i++) {
		struct samples samples;

		if (strncmp(files[i].hash, prefix, strlen(prefix)) != 0)
			continue;
		st = sample_files_read(lab, &files[i], &samples, err);
		if (!st) {
			char *path = sample_keep_path(lab, files[i].hash);

			add_file(path, &samples, d);
			free(path);
			shown++;
		}
		samples_release(&samples);
	}
	doc_end(d);
	if (!st && !shown)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "none of the %zu files has a hash that starts with '%s'", n, prefix);
	return st;
}

static enum assay_status list_or_show(const char *selector, const char *prefix, struct document *d, struct assay_error *err)
{
	char *application = NULL, *version = NULL;
	struct lab lab = { .lock_fd = -1 };
	struct sample_file *files = NULL;
	size_t n = 0;
	enum assay_status st = run_selector(selector, &application, &version, err);

	if (!st)
		st = lab_open(cli_directory(), STORE_READ, &lab, err);
	if (!st)
		st = files_of(&lab.store, application, version, &files, &n, err);
	if (!st && prefix)
		st = show_kept(&lab, prefix, files, n, d, err);
	else if (!st)
		st = list_kept(&lab, application, files, n, d, err);
	sample_files_free(files, n);
	lab_close(&lab);
	mem_free(application, version);
	return st;
}

/* ---- assay samples ---- */

/* A hash may start with nothing: then all of them are meant. */
static enum assay_status parse_prefix(const char *text, void *to, struct assay_error *err)
{
	(void)err;
	*(const char **)to = text;
	return ASSAY_OK;
}

static enum assay_status samples_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;

	(void)lab;
	if (a->files.n == 1 && is_selector(a->files.items[0]))
		return list_or_show(a->files.items[0], a->show, d, err);
	return show_files(&a->files, d, err);
}

static const struct cli_option samples_options[] = { CLI_OPTION(PARSED, "show", "HASH", struct arguments, show,
								"Of APP[@VERSION]: show what is in the files whose hash starts like this",
								.letter = 's', .parse = parse_prefix),
						     CLI_END };
static const struct cli_option samples_words[] = { CLI_WORDS("FILE|DIRECTORY|APP[@VERSION]", struct arguments, files, 1), CLI_END };

const struct command samples_command = {
	.name = "samples",
	.summary = "summarise sample files",
	.about = "Shows sample files, which 'assay probe' and 'assay emulate run' write: for each function how often it was called, how "
		 "many calls were measured, and their mean time, with and without other measured functions that it called. Means are "
		 "weighted by the calls that a sample represents. Of a directory it shows all *.samples in it; of an application it lists "
		 "the files that the laboratory keeps from 'assay run --probe'.",
	.examples = "  assay samples samples\n"
		    "  assay samples samples/4711-0.samples --format json\n"
		    "  assay samples sqlite@1.1\n"
		    "  assay samples sqlite@1.1 --show 5f3a\n",
	.words = samples_words,
	.options = samples_options,
	CLI_RUN(struct arguments, CLI_LAB_LATER, samples_run),
};
