#include "gate/detect/side.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "runs/inside/changes/functions.h"
#include "runs/inside/samples/sample_files.h"
#include "runs/running/run.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX	    ".samples"
#define TYPES_SHOWN 5

static void run_release(struct side_run *run)
{
	mem_release_all(run->files, run->n_files, samples_release);
	mem_free(run->name, run->input, run->machine);
}

void side_release(struct side *side)
{
	mem_release_all(side->runs, side->n, run_release);
	mem_free(side->label, side->hardware_type, side->truncated_file);
	*side = (struct side){ .runs = NULL };
}

/* ---- building a side ---- */

void side_add_run(struct side *side, const char *name, const char *input, const char *machine)
{
	side->runs = mem_resize(side->runs, side->n + 1, sizeof(side->runs[0]));
	side->runs[side->n++] = (struct side_run){ .name = mem_string(name), .input = mem_string(input), .machine = mem_string(machine) };
}

void side_add_samples(struct side *side, struct samples *samples)
{
	struct side_run *run = &side->runs[side->n - 1];
	const char *input = samples_info(samples, "input");

	ASSAY_BUG_IF(!side->n);
	if (!*run->input && input) {
		free(run->input);
		run->input = mem_string(input);
	}
	run->files = mem_resize(run->files, run->n_files + 1, sizeof(run->files[0]));
	run->files[run->n_files++] = *samples;
	*samples = (struct samples){ .items = NULL };
}

/* Reports whether the bytes are a sample file that is truncated before the end of its description. */
static bool is_cut_short(const void *bytes, size_t n)
{
	struct record_header header;
	size_t magic = sizeof(header.magic);

	if (n && memcmp(bytes, RECORD_MAGIC, n < magic ? n : magic) != 0)
		return false;
	if (n < sizeof(header))
		return true;
	memcpy(&header, bytes, sizeof(header));
	return n < (size_t)header.header_bytes + header.names_bytes_max;
}

static enum assay_status side_add_file(struct side *side, const char *name, const void *bytes, size_t n, struct assay_error *err)
{
	struct samples samples;
	enum assay_status st = samples_parse(name, bytes, n, &samples, err);

	if (st && st != ASSAY_E_NODATA && !(st == ASSAY_E_FORMAT && is_cut_short(bytes, n)))
		return st;
	if ((st || samples.truncated) && !side->truncated_file)
		side->truncated_file = mem_string(name);
	if (st) {
		side->runs[side->n - 1].cut = true;
		return ASSAY_OK;
	}
	side_add_samples(side, &samples);
	return ASSAY_OK;
}

/* ---- checks that runs and sides are comparable ---- */

size_t side_list_counters(const struct side_run *run, const char ***out)
{
	const char **names = NULL;
	size_t n = 0, capacity = 0, kept = 0;

	for (size_t f = 0; f < run->n_files; f++)
		for (size_t c = 0; c < run->files[f].n_counters; c++)
			mem_append(names, n, &capacity, run->files[f].counters[c]);
	order_sort(names, n, text_compare);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	*out = names;
	return kept;
}

/* Returns the first counter that only one of two sorted lists has; NULL if they are equal. Sets *in_a to whether list `a` has it. */
static const char *find_first_difference(const char *const *a, size_t n_a, const char *const *b, size_t n_b, bool *in_a)
{
	size_t i = 0;

	while (i < n_a && i < n_b && strcmp(a[i], b[i]) == 0)
		i++;
	if (i == n_a && i == n_b)
		return NULL;
	*in_a = i == n_b || (i < n_a && strcmp(a[i], b[i]) < 0);
	return *in_a ? a[i] : b[i];
}

static enum assay_status side_check_counters(const struct side *side, struct assay_error *err)
{
	const char **first, **other;
	size_t n_first = side_list_counters(&side->runs[0], &first), n;
	enum assay_status st = ASSAY_OK;

	for (size_t r = 1; r < side->n && !st; r++) {
		bool in_first = false;
		const char *only;

		n = side_list_counters(&side->runs[r], &other);
		only = find_first_difference(first, n_first, other, n, &in_first);
		if (only)
			st =
			    assay_fail(err, ASSAY_E_USAGE, "%s: runs with other counters cannot be compared: %s is in '%s' and not in '%s'",
				       side->label, only, side->runs[in_first ? 0 : r].name, side->runs[in_first ? r : 0].name);
		free(other);
	}
	free(first);
	return st;
}

enum assay_status side_check_comparable(const struct side *a, const struct side *b, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	const char **in[2], *only;
	size_t n[2];
	bool in_a = false;

	if (a->back_end != b->back_end)
		return assay_fail(err, ASSAY_E_USAGE, "samples of different back ends are never compared: '%s' is %s, '%s' is %s", a->label,
				  samples_back_end_name(a->back_end), b->label, samples_back_end_name(b->back_end));
	if (a->back_end != RECORD_EMULATED && *a->hardware_type && *b->hardware_type && strcmp(a->hardware_type, b->hardware_type) != 0)
		return assay_fail(err, ASSAY_E_USAGE,
				  "samples of different hardware types are never compared: '%s' is of '%s', '%s' of '%s'", a->label,
				  a->hardware_type, b->label, b->hardware_type);
	n[0] = side_list_counters(&a->runs[0], &in[0]);
	n[1] = side_list_counters(&b->runs[0], &in[1]);
	only = find_first_difference(in[0], n[0], in[1], n[1], &in_a);
	if (only)
		st = assay_fail(err, ASSAY_E_USAGE, "samples with other counters cannot be compared: %s is in '%s' and not in '%s'", only,
				in_a ? a->label : b->label, in_a ? b->label : a->label);
	mem_free(in[0], in[1]);
	return st;
}

/* Excludes the runs for which so() returns true. Returns their number. */
static size_t side_exclude_runs(struct side *side, bool (*so)(const struct side_run *run))
{
	size_t kept = 0, n = side->n;

	for (size_t r = 0; r < n; r++) {
		if (so(&side->runs[r]))
			run_release(&side->runs[r]);
		else
			side->runs[kept++] = side->runs[r];
	}
	side->n = kept;
	return n - kept;
}

static bool is_truncated_run(const struct side_run *run)
{
	for (size_t f = 0; f < run->n_files; f++)
		if (run->files[f].truncated)
			return true;
	return run->cut;
}

static enum assay_status side_exclude_truncated(struct side *side, struct assay_error *err)
{
	for (size_t r = 0; r < side->n && !side->truncated_file; r++)
		if (is_truncated_run(&side->runs[r]))
			side->truncated_file = mem_string(side->runs[r].name);
	side->cut = side_exclude_runs(side, is_truncated_run);
	if (side->n)
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_NODATA,
			  "%s: nothing can be judged: the sample files of all its %zu runs are cut off (the first: '%s')", side->label,
			  side->cut, side->truncated_file);
}

const struct samples *side_run_first_process(const struct side_run *run)
{
	const struct samples *first = &run->files[0];

	for (size_t f = 1; f < run->n_files; f++)
		first = run->files[f].started_ns < first->started_ns ? &run->files[f] : first;
	return first;
}

bool side_has_work(const struct side *side)
{
	size_t counters[SAMPLES_WORK_MAX], n = 0;

	for (size_t f = 0; f < side->runs[0].n_files; f++)
		n += samples_find_work_counters(&side->runs[0].files[f], counters);
	return n > 0;
}

static bool is_killed_run(const struct side_run *run)
{
	return run->n_files && !side_run_first_process(run)->finished;
}

static bool has_ended_run(const struct side *side)
{
	for (size_t r = 0; r < side->n; r++)
		if (!is_killed_run(&side->runs[r]))
			return true;
	return false;
}

enum assay_status sides_keep_ended(struct side *old, struct side *new, struct assay_error *err)
{
	struct side *sides[2] = { new, old };
	bool ended = has_ended_run(new) || has_ended_run(old);

	for (int s = 0; s < 2 && ended; s++) {
		sides[s]->killed = side_exclude_runs(sides[s], is_killed_run);
		if (!sides[s]->n)
			return assay_fail(err, ASSAY_E_NODATA,
					  "%s: nothing can be judged: the program was killed or crashed in all of its %zu runs, and these "
					  "cannot be compared with whole runs",
					  sides[s]->label, sides[s]->killed);
	}
	return ASSAY_OK;
}

/* Returns the build of the process's program; NULL if unknown. */
static const char *find_samples_build(const struct samples *s)
{
	for (size_t f = 0; f < s->n_functions; f++)
		if (strcmp(s->functions[f].name, "main") == 0)
			return s->functions[f].module;
	return NULL;
}

/* Checks that all processes of a run used one build of a program. If not, the user recorded several runs into one directory. */
static enum assay_status side_check_builds(const struct side *side, const struct side_run *run, struct assay_error *err)
{
	for (size_t f = 1; f < run->n_files; f++) {
		const char *then = samples_info(&run->files[f - 1], "program"), *now = samples_info(&run->files[f], "program");
		const char *builds[2] = { find_samples_build(&run->files[f - 1]), find_samples_build(&run->files[f]) };

		if (then && now && strcmp(then, now) == 0 && builds[0] && builds[1] && strcmp(builds[0], builds[1]) != 0)
			return assay_fail(err, ASSAY_E_USAGE,
					  "%s: run '%s' has samples of two builds of '%s': record each run into its own directory",
					  side->label, run->name, now);
	}
	return ASSAY_OK;
}

/* A function in a run: its time without nested calls, and the sample with most of that time. */
struct function_time {
	double ns, calls, top_ns;
	struct sample *top;
};

static void add_run_times(const struct side_run *run, const struct stems *names, struct function_time *times)
{
	for (size_t f = 0; f < run->n_files; f++) {
		struct samples *s = &run->files[f];

		for (size_t k = 0; k < s->n_functions; k++) {
			struct function_time *time = &times[stems_find(names, s->functions[k].name)];

			for (size_t i = s->functions[k].first; i < s->functions[k].first + s->functions[k].n; i++) {
				double ns = s->items[i].weight * s->items[i].self_ns;

				time->ns += ns;
				time->calls += s->items[i].weight;
				time->top = ns > time->top_ns ? &s->items[i] : time->top;
				time->top_ns = fmax(time->top_ns, ns);
			}
		}
	}
}

/* Replaces the duration of interrupted calls by the mean of the other calls. A sample counts as interrupted if it has most of its
 * function's time in the run, and the run's mean without it is closer to the median of all runs. One sample can represent many calls. */
static void side_correct_interrupted(struct side *side)
{
	struct stems names = { .items = NULL };
	struct function_time *times;
	double *means = mem_new(side->n, sizeof(means[0]));

	stems_collect(side, &names);
	times = mem_new(side->n * names.n + 1, sizeof(times[0]));
	for (size_t r = 0; r < side->n; r++)
		add_run_times(&side->runs[r], &names, times + r * names.n);
	for (size_t i = 0; i < side->n * names.n; i++) {
		const struct function_time *time = &times[i];
		double others = time->top ? time->calls - time->top->weight : 0, mean = (time->ns - time->top_ns) / others, median;
		size_t n = 0;

		if (!(others > 0) || time->top_ns <= time->ns / 2)
			continue;
		for (size_t k = i % names.n; k < side->n * names.n; k += names.n)
			if (times[k].calls > 0)
				means[n++] = times[k].ns / times[k].calls;
		median = stats_median(means, n);
		if (fabs(mean - median) < fabs(time->ns / time->calls - median)) {
			time->top->ns -= time->top->self_ns - mean;
			time->top->self_ns = mean;
			side->interrupted++;
		}
	}
	stems_release(&names);
	mem_free(means, times);
}

enum assay_status side_check(struct side *side, struct assay_error *err)
{
	const struct side_run *first = NULL;
	enum assay_status st = ASSAY_OK;

	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++) {
			const struct samples *s = &side->runs[r].files[f];

			if (!first) {
				first = &side->runs[r];
				side->back_end = s->back_end;
			}
			if (s->back_end != side->back_end)
				return assay_fail(err, ASSAY_E_USAGE,
						  "%s: samples of different back ends are never mixed: '%s' is %s, '%s' is %s", side->label,
						  first->name, samples_back_end_name(side->back_end), side->runs[r].name,
						  samples_back_end_name(s->back_end));
		}
	}
	if (!first && !side->truncated_file)
		return assay_fail(err, ASSAY_E_NODATA, "%s: there are no sample files (RUN/FILE" SUFFIX " or FILE" SUFFIX ")", side->label);
	st = side_exclude_truncated(side, err);
	for (size_t r = 0; r < side->n && !st; r++)
		st = side_check_builds(side, &side->runs[r], err);
	if (!st && side->back_end != RECORD_EMULATED) /* emulated durations have no meaning */
		side_correct_interrupted(side);
	return st ? st : side_check_counters(side, err);
}

/* ---- samples from a directory ---- */

static bool is_samples(const char *name)
{
	size_t n = strlen(name), m = strlen(SUFFIX);

	return name[0] != '.' && n > m && strcmp(name + n - m, SUFFIX) == 0;
}

static enum assay_status side_add_path(struct side *side, const char *path, size_t *files, struct assay_error *err)
{
	struct buf bytes = BUF_INIT;
	enum assay_status st;

	if (++*files > SIDE_FILES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s: more than %d sample files", side->label, SIDE_FILES_MAX);
	st = file_read(path, SAMPLES_FILE_BYTES_MAX, &bytes, err);
	if (!st)
		st = side_add_file(side, path, bytes.bytes ? bytes.bytes : "", bytes.size, err);
	buf_release(&bytes);
	return st;
}

/* Adds a directory as a run if it contains samples. Counts empty directories. */
static enum assay_status side_add_directory(struct side *side, const char *path, const char *name, size_t *files, struct assay_error *err)
{
	char **names;
	bool begun = false;
	enum assay_status st;
	size_t n;

	st = file_list_names(path, "", &names, &n, err);
	side->empty += !st && !n;
	for (size_t i = 0; i < n && !st; i++) {
		char *file = mem_format("%s/%s", path, names[i]);

		if (is_samples(names[i])) {
			if (!begun)
				side_add_run(side, name, "", "");
			begun = true;
			st = side_add_path(side, file, files, err);
		}
		free(file);
	}
	file_names_free(names, n);
	return st;
}

static enum assay_status side_add_entry(struct side *side, const char *directory, const char *name, size_t *files, struct assay_error *err)
{
	char *path = mem_format("%s/%s", directory, name), *run;
	enum assay_status st = ASSAY_OK;
	struct stat info;

	if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
		st = side_add_directory(side, path, name, files, err);
	} else if (is_samples(name)) {
		run = mem_bytes(name, strlen(name) - strlen(SUFFIX));
		side_add_run(side, run, "", "");
		free(run);
		st = side_add_path(side, path, files, err);
	}
	free(path);
	return st;
}

enum assay_status side_read(const char *directory, struct side *out, struct assay_error *err)
{
	struct side side = { .label = mem_string(directory), .hardware_type = mem_string("") };
	char **names;
	size_t n = 0, files = 0;
	enum assay_status st = file_list_names(directory, "", &names, &n, err);

	for (size_t i = 0; i < n && !st; i++)
		st = side_add_entry(&side, directory, names[i], &files, err);
	if (!st)
		st = side_check(&side, err);
	if (!st) {
		*out = side;
		side = (struct side){ .runs = NULL };
	}
	file_names_free(names, n);
	side_release(&side);
	return st;
}

/* ---- stored samples of a version, from 'assay run --probe' ---- */

struct listing {
	struct sample_file *files; /* [all], files in use first, then from index n on the excluded ones */
	size_t n, all;
};

/* Reports whether two files are from the same execution. The files of an execution are adjacent in the list. */
static bool is_same_execution(const struct sample_file *a, const struct sample_file *b)
{
	return a->repetition == b->repetition && strcmp(a->plan, b->plan) == 0 && strcmp(a->machine, b->machine) == 0 &&
	       strcmp(a->input, b->input) == 0 && strcmp(a->version, b->version) == 0;
}

bool side_has_earlier_type(const struct sample_file *files, size_t before)
{
	for (size_t i = 0; i < before; i++)
		if (strcmp(files[i].hardware_type, files[before].hardware_type) == 0)
			return true;
	return false;
}

/* Checks that there is only one hardware type, unless the counters do not depend on the machine. */
static enum assay_status listing_check_types(const struct side *side, const struct listing *list, const char *type, struct assay_error *err)
{
	struct buf names = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	size_t types = 0;

	for (size_t i = 0; i < list->n && !type; i++) {
		if (list->files[i].back_end == RECORD_EMULATED || side_has_earlier_type(list->files, i))
			continue;
		if (types++ < TYPES_SHOWN)
			buf_format(&names, "%s'%s'", types > 1 ? ", " : "", list->files[i].hardware_type);
	}
	if (types > 1)
		st = assay_fail(err, ASSAY_E_USAGE,
				"%s: its samples are from machines of %zu hardware types, which are never compared: choose one "
				"of %s%s with --type",
				side->label, types, names.bytes, types > TYPES_SHOWN ? "..." : "");
	buf_release(&names);
	return st;
}

static void side_begin_run(struct side *side, const struct sample_file *file)
{
	char *name = mem_format("%s/%s/%lld", file->machine, file->input, (long long)file->repetition);

	for (size_t r = 0; r < side->n; r++) {
		if (strcmp(side->runs[r].name, name) != 0)
			continue;
		free(name);
		name = mem_format("%s/%s/%lld of plan %s", file->machine, file->input, (long long)file->repetition, file->plan);
		break;
	}
	side_add_run(side, name, file->input, file->machine);
	free(name);
}

static enum assay_status side_add_execution(struct lab *lab, struct side *side, const struct sample_file *files, size_t n,
					    struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < n; i++)
		if (files[i].pruned) {
			side->pruned++;
			return ASSAY_OK;
		}
	if (!files[0].ok) {
		side->failed++;
		return ASSAY_OK;
	}
	side_begin_run(side, &files[0]);
	for (size_t i = 0; i < n && !st; i++) {
		struct samples samples;

		st = sample_files_read(lab, &files[i], &samples, err);
		if (!st)
			side_add_samples(side, &samples);
	}
	return st;
}

static enum assay_status side_add_listing(struct lab *lab, struct side *side, const struct listing *list, const char *type,
					  struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0, n; i < list->n && !st; i += n) {
		n = 1;
		while (i + n < list->n && is_same_execution(&list->files[i], &list->files[i + n]))
			n++;
		if (type && strcmp(list->files[i].hardware_type, type) != 0)
			continue;
		if (!*side->hardware_type) {
			free(side->hardware_type);
			side->hardware_type = mem_string(list->files[i].hardware_type);
		}
		st = side_add_execution(lab, side, &list->files[i], n, err);
	}
	return st;
}

/* Excludes samples of other builds, and counts the executions that this excludes. */
static enum assay_status listing_keep_build(struct lab *lab, const char *plan, struct side *side, struct listing *list,
					    struct assay_error *err)
{
	enum assay_status st = run_build_keep_samples(&lab->store, plan, list->files, &list->n, err);

	for (size_t i = list->n; i < list->all; i++)
		side->others += i == list->n || !is_same_execution(&list->files[i - 1], &list->files[i]);
	return st;
}

static enum assay_status side_check_stale(struct lab *lab, struct side *side, const struct listing *list, struct assay_error *err)
{
	bool *stale = NULL;
	enum assay_status st = run_build_stale_samples(&lab->store, list->files, list->n, &stale, err);

	for (size_t i = 0; !st && i < list->n; i++)
		side->stale = side->stale || stale[i];
	free(stale);
	return st;
}

/* Checks that all samples are of one version if the selector names none. */
static enum assay_status listing_check_versions(const char *selector, const struct listing *list, const char *version,
						struct assay_error *err)
{
	for (size_t i = 1; i < list->n && !version; i++)
		if (strcmp(list->files[i].version, list->files[0].version) != 0)
			return assay_fail(err, ASSAY_E_USAGE,
					  "'%s' has samples of several versions, such as '%s' and '%s': name one, as APP@VERSION", selector,
					  list->files[0].version, list->files[i].version);
	return ASSAY_OK;
}

static enum assay_status side_fail_empty(const struct side *side, const char *type, struct assay_error *err)
{
	if (side->pruned)
		return assay_fail(err, ASSAY_E_NODATA, "%s: its samples were removed by 'assay prune': measure again", side->label);
	if (side->failed)
		return assay_fail(err, ASSAY_E_NODATA, "%s: %zu executions have samples, but none of them ended well", side->label,
				  side->failed);
	return assay_fail(err, ASSAY_E_NODATA, "%s has no samples%s%s ('assay run --probe' makes them)", side->label,
			  type ? " on machines of type " : "", type ? type : "");
}

/* Keeps the files of one back end: the requested one, or that of the latest file if none was requested. */
static void listing_keep_back_end(const enum record_back_end *asked, struct listing *list)
{
	size_t latest = 0, kept = 0;
	enum record_back_end back_end;

	for (size_t i = 1; i < list->n; i++)
		latest = list->files[i].taken_ms > list->files[latest].taken_ms ? i : latest;
	back_end = asked ? *asked : list->n ? list->files[latest].back_end : RECORD_TIME;
	for (size_t i = 0; i < list->n; i++) {
		struct sample_file file = list->files[i];

		if (file.back_end != back_end)
			continue;
		list->files[i] = list->files[kept];
		list->files[kept++] = file;
	}
	list->n = kept;
}

enum assay_status side_load(struct lab *lab, const struct side_request *asked, struct side *out, struct assay_error *err)
{
	const char *selector = asked->selector, *plan = asked->plan, *hardware_type = asked->hardware_type;
	struct side side = { .label = mem_string(selector), .hardware_type = mem_string("") };
	struct listing list = { .files = NULL };
	char *application = NULL, *version = NULL;
	enum assay_status st = run_parse_selector(selector, &application, &version, err);

	if (!st)
		st = sample_files_list(&lab->store, application, version, &list.files, &list.all, err);
	list.n = list.all;
	if (!st)
		st = listing_check_versions(selector, &list, version, err);
	if (!st)
		st = listing_keep_build(lab, plan, &side, &list, err);
	listing_keep_back_end(asked->back_end, &list);
	if (!st && !plan)
		st = side_check_stale(lab, &side, &list, err);
	if (!st)
		st = listing_check_types(&side, &list, hardware_type, err);
	if (!st)
		st = side_add_listing(lab, &side, &list, hardware_type, err);
	if (!st && !side.n)
		st = side_fail_empty(&side, hardware_type, err);
	if (!st)
		st = side_check(&side, err);
	if (!st) {
		*out = side;
		side = (struct side){ .runs = NULL };
	}
	side_release(&side);
	sample_files_free(list.files, list.all);
	mem_free(application, version);
	return st;
}

/* ---- names of functions ---- */

void stems_add(struct stems *names, const char *symbol)
{
	mem_append(names->items, names->n, &names->capacity, mem_bytes(symbol, functions_stem_length(symbol)));
}

void stems_sort(struct stems *names)
{
	size_t kept = 0;

	order_sort(names->items, names->n, text_compare);
	for (size_t i = 0; i < names->n; i++) {
		if (kept && strcmp(names->items[kept - 1], names->items[i]) == 0)
			free(names->items[i]);
		else
			names->items[kept++] = names->items[i];
	}
	names->n = kept;
}

size_t stems_find(const struct stems *names, const char *symbol)
{
	char *stem = mem_bytes(symbol, functions_stem_length(symbol));
	const char *key = stem;
	char **found = names->n ? bsearch(&key, names->items, names->n, sizeof(names->items[0]), text_compare) : NULL;

	free(stem);
	return found ? (size_t)(found - names->items) : SIZE_MAX;
}

void stems_release(struct stems *names)
{
	mem_free_all(names->items, names->n);
	*names = (struct stems){ .items = NULL };
}

void stems_collect(const struct side *side, struct stems *out)
{
	for (size_t r = 0; r < side->n; r++) {
		for (size_t f = 0; f < side->runs[r].n_files; f++) {
			const struct samples *s = &side->runs[r].files[f];

			for (size_t k = 0; k < s->n_functions; k++)
				if (s->functions[k].n)
					stems_add(out, s->functions[k].name);
		}
		stems_sort(out); /* after each run, to keep the list short */
	}
}
