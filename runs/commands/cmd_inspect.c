/* The command 'assay inspect': shows whether a program can be measured, or its recorded samples or features. */
#include "base/command.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/counting/counting.h"
#include "fleet/counting/refused.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/features/run_features.h"
#include "runs/inside/instrument/site.h"
#include "runs/inside/samples/sample_files.h"
#include "runs/running/run.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_SHOWN   12
#define VERSIONS_MAX 20

struct arguments {
	struct cli_list files; /* files and directories, or one selector */
	const char *show;      /* prefix of the hashes of the files to show; NULL to list the files */
	int64_t top;	       /* number of features to show. This and the next line are for features only */
	bool all, text;
};

/* ---- functions of a sample file ---- */

/* Properties of a function's samples. */
struct sampled {
	double error_ns; /* mean possible error of the time without nested calls, ns */
	size_t unwound;
	bool estimated;
	uint32_t max_weight;
};

static struct sampled sampled_find(const struct samples *s, const struct samples_function *f)
{
	struct sampled out = { .unwound = f->n_late_ends };
	double weight = 0;

	for (size_t i = f->first; i < f->first + f->n; i++) {
		const struct sample *sample = &s->items[i];

		weight += sample->weight;
		out.error_ns += sample->weight * sample->self_error_ns;
		out.unwound += sample->unwound;
		out.estimated = out.estimated || sample->estimated;
		out.max_weight = sample->weight > out.max_weight ? sample->weight : out.max_weight;
	}
	out.error_ns = weight > 0 ? out.error_ns / weight : (double)NAN;
	return out;
}

/* Adds the lower limits, or with `high` the upper limits, of the means over all calls. */
static void add_interval(const struct samples *s, size_t function, bool high, struct document *d)
{
	struct samples_estimate_mean ns = samples_estimate_mean(s, function, SAMPLES_MEAN_NS),
				     alone = samples_estimate_mean(s, function, SAMPLES_MEAN_SELF_NS);

	doc_object(d, high ? "high" : "low");
	doc_set(d, "ns", high ? ns.high : ns.low);
	doc_set(d, "alone_ns", high ? alone.high : alone.low);
	for (size_t c = 0; c < s->n_counters; c++) {
		struct samples_estimate_mean mean = samples_estimate_mean(s, function, c);

		doc_set(d, s->counters[c], high ? mean.high : mean.low);
	}
	doc_end(d);
}

static void add_total(const struct samples *s, const struct samples_total *total, struct document *d)
{
	static const char *const shown[][2] = { { "emulated:accesses", "accesses/call" }, { "emulated:blocks", "blocks/call" } };

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		size_t c = samples_find_counter(s, shown[i][0]);
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

		samples_compute_interval(total->sums[c], total->errors[c], total->bursts, &low, &high);
		doc_set(d, s->counters[c], low);
	}
	doc_end(d);
	doc_object(d, "total_high");
	for (size_t c = 0; c < s->n_counters; c++) {
		double low, high;

		samples_compute_interval(total->sums[c], total->errors[c], total->bursts, &low, &high);
		doc_set(d, s->counters[c], high);
	}
	doc_end(d);
}

static void add_function(const struct samples *s, size_t function, struct document *d)
{
	const struct samples_function *f = &s->functions[function];
	struct sampled sampled = sampled_find(s, f);
	struct samples_estimate_mean ns = samples_estimate_mean(s, function, SAMPLES_MEAN_NS),
				     alone = samples_estimate_mean(s, function, SAMPLES_MEAN_SELF_NS);
	struct samples_total total;
	char *name = demangle(f->name);
	double away;

	samples_total_find(s, function, &total);
	doc_row(d);
	doc_show(d, "name", "function", name);
	doc_set(d, "symbol", f->name);
	doc_set(d, "module", f->module);
	doc_show(d, "threads", "threads", total.threads);
	doc_set(d, "calls", total.known ? doc_value_integer((int64_t)total.calls) : DOC_NULL_VALUE);
	doc_show(d, NULL, "calls", total.known || !f->n ? doc_value_integer((int64_t)total.calls) : DOC_NULL_VALUE);
	doc_show(d, "samples", "measured", f->n + f->n_late_ends);
	doc_set(d, "max_weight", sampled.max_weight);
	doc_set(d, "unwound", sampled.unwound);
	doc_set_bool(d, "estimated", sampled.estimated);
	doc_showf(d, "ns", "mean ns", ns.mean, "%.1f", ns.mean);
	doc_showf(d, "alone_ns", "itself ns", alone.mean, "%s%.1f", sampled.estimated ? "~" : "", alone.mean);
	doc_set(d, "alone_unsure_ns", sampled.error_ns);
	away = sampled.error_ns + alone.high - alone.mean;
	doc_showf(d, NULL, "+-", away, "%.1f", away);
	doc_object(d, "counters");
	for (size_t c = 0; c < s->n_counters; c++)
		doc_set(d, s->counters[c], samples_estimate_mean(s, function, c).mean);
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
	doc_heading(d, "%s: %s%s%s", path, samples_back_end_name(s->back_end), s->finished ? "" : ", the process did not exit normally",
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
	enum assay_status st = file_list_names(directory, ".samples", &names, &n, err);

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

/* ---- files in the laboratory ---- */

/* Reports whether the text is a selector APP[@VERSION] and not the name of a file. */
static bool is_selector(const char *text)
{
	size_t n = strlen(text);

	return access(text, F_OK) != 0 && !(n > 8 && strcmp(text + n - 8, ".samples") == 0) && *text != '/' &&
	       strncmp(text, "./", 2) != 0 && strncmp(text, "../", 3) != 0;
}

/* Appends up to VERSIONS_MAX distinct versions, separated by commas, in the order of `files`. Returns the number of distinct versions. */
static size_t list_versions(const struct sample_file *files, size_t n, struct buf *out)
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
	size_t n_versions = list_versions(files, n, &versions);
	enum assay_status st = ASSAY_OK;
	char *command = text_format_command((const char *const[]){ "run", application, "--probe", NULL });
	bool found = !version;

	for (size_t i = 0; i < n; i++)
		found = found || strcmp(files[i].version, version) == 0;
	if (n == 0)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "there are no samples of '%s': %s records some", application, command);
	else if (!found)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "there are no samples of '%s@%s', but of %s", application, version, versions.bytes);
	else if (!version && n_versions > 1)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has samples of several versions, name one as %s@VERSION: %s", application,
				application, versions.bytes);
	free(command);
	buf_release(&versions);
	return st;
}

/* Lists the files of a version. If `version` is NULL, the application must have only one version. */
static enum assay_status list_files(struct store *store, const char *application, const char *version, struct sample_file **out, size_t *n,
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

/* ---- list of files ---- */

static void add_stored_file(const struct lab *lab, const struct sample_file *file, bool stale, struct document *d)
{
	char *path = sample_file_path(lab, file->hash), date[TEXT_DATE_BYTES];

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
		 : stale      ? "from another build than the latest runs"
			      : "");
	free(path);
}

static enum assay_status list_stored(struct lab *lab, const char *application, const struct sample_file *files, size_t n,
				     struct document *d, struct assay_error *err)
{
	bool *stale = NULL;
	enum assay_status st = run_build_stale_samples(&lab->store, files, n, &stale, err);

	if (st)
		return st;
	doc_line(d, "%zu sample file%s of %s@%s\n", n, text_plural(n), application, files[0].version);
	doc_table(d, "files");
	for (size_t i = 0; i < n; i++)
		add_stored_file(lab, &files[i], stale[i], d);
	doc_end(d);
	free(stale);
	return ASSAY_OK;
}

/* ---- contents of files ---- */

static enum assay_status show_stored_file(const struct lab *lab, const char *prefix, const struct sample_file *files, size_t n,
					  struct document *d, struct assay_error *err)
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
			char *path = sample_file_path(lab, files[i].hash);

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
	enum assay_status st = run_parse_selector(selector, &application, &version, err);

	if (!st)
		st = lab_open(cli_directory(), STORE_READ, &lab, err);
	if (st)
		st = assay_add_context(err, "there is no file '%s'", selector);
	if (!st)
		st = list_files(&lab.store, application, version, &files, &n, err);
	if (!st && prefix)
		st = show_stored_file(&lab, prefix, files, n, d, err);
	else if (!st)
		st = list_stored(&lab, application, files, n, d, err);
	sample_files_free(files, n);
	lab_close(&lab);
	mem_free(application, version);
	return st;
}

static enum assay_status inspect_samples(const struct arguments *a, struct document *d, struct assay_error *err)
{
	if (a->files.n == 1 && is_selector(a->files.items[0]))
		return list_or_show(a->files.items[0], a->show, d, err);
	return show_files(&a->files, d, err);
}

/* ---- features ---- */

ORDER_BY(by_size, struct run_feature, BY_ASC(kind) BY_DESC(value) BY_TEXT(name))

static void show_features(struct run_features *f, const struct arguments *a, struct document *d)
{
	size_t reached = 0, shown = 0;

	for (size_t i = 0; i < f->n; i++)
		reached += f->items[i].value != 0;
	order_sort(f->items, f->n, by_size);
	doc_answer(d, DOC_PLAIN, "", "%zu features of %zu, in %zu file%s, are not 0", reached, f->n, f->files, text_plural(f->files));
	if (f->incomplete)
		doc_line(d, "Some threads or children could not count: these features are too low.");
	if (f->n_unfinished)
		doc_line(d,
			 "%zu of the files %s of a process that did not exit normally (a crash, a signal, _exit, exec): counts end there",
			 f->n_unfinished, f->n_unfinished == 1 ? "is" : "are");
	doc_set(d, "features_known", f->n);
	doc_set(d, "files", f->files);
	doc_set(d, "cut_off", f->n_unfinished);
	doc_set_bool(d, "incomplete", f->incomplete);
	doc_table(d, "features");
	for (size_t i = 0; i < f->n; i++) {
		const struct run_feature *one = &f->items[i];

		if (!a->all && (one->value == 0 || (cli_is_human_format() && shown >= (size_t)a->top)))
			continue;
		doc_row(d);
		doc_showf(d, "value", "value", one->value, "%.15g", one->value);
		doc_set(d, "kind", one->kind == FEATURE_COUNT ? "count" : "value");
		doc_show(d, "name", "feature", one->name);
		shown++;
	}
	doc_end(d);
	if (shown < reached)
		doc_line(d, "(%zu more: --top N, or --all)", reached - shown);
}

static enum assay_status inspect_features(const char *directory, const struct arguments *a, struct document *d, struct assay_error *err)
{
	struct run_features features = { .n = 0 };
	struct buf text = BUF_INIT;
	enum assay_status st = run_features_read(directory, &features, err);

	if (!st && a->text) {
		run_features_print(&features, &text);
		doc_raw(d, text.bytes ? text.bytes : "");
	} else if (!st) {
		show_features(&features, a, d);
	}
	buf_release(&text);
	run_features_release(&features);
	return st;
}

/* ---- programs ---- */

static void add_note(struct document *d, const char *code, const char *text)
{
	doc_object(d, NULL);
	doc_set(d, "code", code);
	doc_set(d, "text", text);
	doc_line(d, "  %s: %s", code, text);
	doc_end(d);
}

/* Adds notes on how well the probe can measure the program's functions. */
static void add_notes(const struct site_module *m, struct document *d)
{
	char *some = mem_format("%zu of %zu functions have no entry to patch: their files were compiled without "
				"-fpatchable-function-entry=5 (this is always so for start-up code and static libraries)",
				m->n - m->patchable, m->n);
	char why[COUNTING_REASON_BYTES];

	doc_list(d, "remarks");
	if (m->patchable && m->patchable < m->n)
		add_note(d, "some_entries", some);
	if (m->instrumented)
		add_note(d, "instrumented", "built with -finstrument-functions: it can be probed, but every call costs, selected or not");
	if (m->linked)
		add_note(d, "linked", "linked with the probe: LD_PRELOAD is not needed");
	if (m->own_unwinder)
		add_note(d, "own_unwinder",
			 "libgcc is linked statically: an exception that passes a probed function ends the program; link without "
			 "-static-libgcc");
	if (!m->image.build_id[0])
		add_note(d, "no_build_id", "no build-id: only its file's name identifies it; link with -Wl,--build-id");
	if (refusal_explain_hardware(why, sizeof(why)))
		add_note(d, "no_counters", why);
	doc_end(d);
	free(some);
}

static void add_module(const struct site_module *m, const char *problem, struct document *d)
{
	doc_line(d, "%s can be probed: %zu of %zu functions", m->image.path, m->instrumented ? m->n : m->patchable, m->n);
	doc_set(d, "file", m->image.path);
	doc_set_empty(d, "build_id", m->image.build_id);
	doc_set_bool(d, "can_be_probed", !problem);
	doc_set(d, "problem", problem);
	doc_set(d, "functions", m->n);
	doc_set(d, "patchable", m->patchable);
	doc_set_bool(d, "instrumented", m->instrumented);
	doc_set_bool(d, "linked", m->linked);
	add_notes(m, d);
}

static enum assay_status inspect_program(const char *file, struct document *d, struct assay_error *err)
{
	struct site_module module = { .n = 0 };
	enum assay_status st = site_module_open(file, &module, err), check;

	if (st)
		return st;
	check = site_module_check(&module, err);
	add_module(&module, check ? err->text : NULL, d);
	d->exit_status = check ? assay_status_exit_code(check) : 0;
	if (check && cli_is_human_format())
		st = check;
	site_module_release(&module);
	return st;
}

/* Reports whether the file is an ELF file. */
static bool is_program(const char *path)
{
	char start[SELFMAG];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && read(fd, start, SELFMAG) == SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

/* ---- command ---- */

static enum assay_status inspect_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const char *first = a->files.items[0];

	(void)lab;
	if (a->files.n == 1 && run_features_count_files(first))
		return inspect_features(first, a, d, err);
	if (a->files.n == 1 && is_program(first))
		return inspect_program(first, d, err);
	return inspect_samples(a, d, err);
}

/* Accepts any text. An empty prefix selects all files. */
static enum assay_status parse_prefix(const char *text, void *to, struct assay_error *err)
{
	(void)err;
	*(const char **)to = text;
	return ASSAY_OK;
}

static const struct arguments defaults = { .top = 40 };
static const struct cli_option options[] = {
	CLI_OPTION(PARSED, "show", "HASH", struct arguments, show,
		   "Show the content of the files whose hash starts with HASH (with APP[@VERSION])", .letter = 's', .parse = parse_prefix),
	CLI_INTEGER("top", "N", struct arguments, top, 1, 1000000, "Show the N largest features (default: 40)"),
	CLI_FLAG("all", struct arguments, all, "Also show features that are 0"),
	CLI_FLAG("text", struct arguments, text, "Print one feature per line, NUMBER NAME, including those that are 0"), CLI_END
};
static const struct cli_option words[] = { CLI_ARGUMENTS("FILE|DIRECTORY|APP[@VERSION]", struct arguments, files, 1), CLI_END };

const struct command inspect_command = {
	.name = "inspect",
	.summary = "show whether a program can be measured, or its recorded samples or features",
	.about =
	    "For a program or shared library: shows whether its functions can be measured, and what is missing. Build such programs with "
	    "-g -fpatchable-function-entry=5 (gcc and clang), which costs almost nothing without measurement.\n\nFor sample files of "
	    "'assay record --for functions' and '--for counters', or a directory of them: shows calls, measured calls and mean time of "
	    "each function, with and without its measured callees. Means are weighted by the calls that a sample represents. For an "
	    "application: shows the files that the laboratory keeps from 'assay run --probe'.\n\nFor a directory of features of 'assay "
	    "record --for features': shows counts of loop iterations, taken branches, function calls and exceptions, and the first values "
	    "of variables. All files of the directory are one run: threads, processes and libraries are added up, and values are means.",
	.examples = "  assay inspect ./myapp\n"
		    "  assay inspect samples --format json\n"
		    "  assay inspect sqlite@1.1 --show 5f3a\n"
		    "  assay inspect --text features >features.txt\n",
	.exit_status = "0 shown; 2 the program cannot be measured, or wrong usage; 1 failure.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, inspect_run),
};
