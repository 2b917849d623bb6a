/* The command assay timeline. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/commands/gate_commands.h"
#include "gate/variance/answer.h"
#include "gate/variance/follow.h"
#include "gate/variance/stored_runs.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/image.h"
#include "runs/running/run.h"
#include "runs/running/version.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct marked_interval {
	int64_t rank;
	double from_s, to_s;
};

struct arguments {
	struct cli_list files;
	double threshold, least_s;
	struct marked_interval marked;
	bool follow;
	double window_s;
};

/* Describes the analysed run, which has the index `at`. `gone` is the number of unreadable runs, and `why` the error of the last one. */
static void describe_run(const struct stored_runs *runs, size_t at, size_t gone, const char *why, struct document *d)
{
	const struct sample_file *f = &runs->files[runs->items[at].first];

	doc_object(d, "run");
	doc_set(d, "machine", f->machine);
	doc_set(d, "input", f->input);
	doc_set(d, "repetition", f->repetition);
	doc_set(d, "plan", f->plan);
	doc_set(d, "recorded", runs->n);
	doc_set(d, "unreadable", gone);
	doc_end(d);
	if (runs->n > 1)
		doc_line(d, "this one of %zu recorded runs lost most: machine %s%s%s, repetition %lld", runs->n, f->machine,
			 *f->input ? ", input " : "", f->input, (long long)f->repetition);
	if (gone)
		doc_line(d, "%zu of %zu recorded runs cannot be read: %s", gone, runs->n, why);
}

static double lost_share(const struct variance *v)
{
	double sum = 0;

	for (size_t r = 0; r < v->n_regions; r++)
		sum += v->regions[r].causing_region == VARIANCE_NONE ? v->regions[r].elapsed_s : 0;
	return sum;
}

/* Analyses all runs. Sets *out to the analysis of the run that lost most time, and *at to its index. Sets *gone to the number of unreadable
 * runs, and *err to the last error. Fails only if no run is readable. */
static enum assay_status stored_runs_find_worst(const struct lab *lab, const struct stored_runs *runs,
						const struct variance_options *options, struct variance *out, size_t *at, size_t *gone,
						struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	*out = (struct variance){ .n_clusters = 0 };
	*gone = 0;
	for (size_t i = 0; i < runs->n; i++) {
		struct variance other;

		st = stored_run_variance(lab, runs, i, options, &other, err);
		if (st) {
			++*gone;
			continue;
		}
		if (*gone == i || lost_share(&other) > lost_share(out)) {
			struct variance less = *out;

			*out = other;
			other = less;
			*at = i;
		}
		variance_release(&other);
	}
	return *gone == runs->n ? st : ASSAY_OK;
}

/* Adds the analysis of the stored run of APP@VERSION that lost most time. */
static enum assay_status show_stored(const char *selector, const struct variance_options *options, struct document *d,
				     struct assay_error *err)
{
	char *application = NULL, *given = NULL, *version = NULL;
	struct variance variance = { .n_clusters = 0 };
	struct stored_runs runs = { .files = NULL };
	struct lab lab = { .lock_fd = -1 };
	size_t at = 0, gone = 0;
	enum assay_status st = run_parse_selector(selector, &application, &given, err);

	if (!st)
		st = lab_open(cli_directory(), STORE_READ, &lab, err);
	if (!st && given)
		version = mem_string(given); /* all inputs unless the selector names one */
	else if (!st)
		st = run_resolve_version(&lab.store, application, NULL, &version, err);
	if (!st)
		st = stored_runs_list(&lab, application, version, NULL, &runs, err);
	if (!st)
		st = stored_runs_find_worst(&lab, &runs, options, &variance, &at, &gone, err);
	if (!st) {
		variance_add_conclusion(&variance, d);
		describe_run(&runs, at, gone, err->text, d);
		variance_add_details(&variance, d);
	}
	variance_release(&variance);
	stored_runs_release(&runs);
	lab_close(&lab);
	mem_free(application, given, version);
	return st;
}

/* Converts times since the start of the window to times since the start of the run. */
static void shift_times(struct variance *v)
{
	for (size_t r = 0; r < v->n_regions; r++) {
		struct region *region = &v->regions[r];

		region->from_s += v->fragments.from_s;
		region->to_s += v->fragments.from_s;
		for (size_t i = 0; i < region->n; i++) {
			region->members[i].from_s += v->fragments.from_s;
			region->members[i].to_s += v->fragments.from_s;
			region->members[i].throughout = false; /* not defined for a window */
		}
	}
}

/* The counters that each process is asked to read in the next window. */
struct level_requests {
	struct follow_level *levels; /* [n] one per process with a request */
	size_t n;
};

static void print_window_json(const struct follow_window *w, const struct variance *v, const struct level_requests *asked, double lag_s)
{
	struct document d;
	cJSON *json;
	char *text;

	document_init(&d);
	doc_set(&d, "from_s", w->from_s);
	doc_set(&d, "to_s", w->to_s);
	doc_set(&d, "lag_s", lag_s);
	doc_set(&d, "running", w->running);
	doc_set(&d, "processes", v->fragments.n_processes);
	doc_set(&d, "fragments", v->fragments.n);
	doc_set(&d, "coverage", variance_coverage(v));
	doc_set_bool(&d, "variance", variance_has_slow_region(v));
	variance_add_regions(v, &d);
	doc_list(&d, "asked");
	for (size_t i = 0; i < asked->n; i++) {
		doc_object(&d, NULL);
		doc_set(&d, "process", v->fragments.processes[asked->levels[i].process].name);
		doc_set(&d, "level", (size_t)asked->levels[i].level);
		doc_end(&d);
	}
	doc_end(&d);
	json = document_cjson(&d);
	text = json_line(json);
	fputs(text, stdout);
	free(text);
	cJSON_Delete(json);
	document_release(&d);
}

/* Prints a line. Escapes control characters in names. */
static void print_line(const char *before, const char *text)
{
	fputs(before, stdout);
	text_print_sanitized(text, stdout);
	putchar('\n');
}

static void print_window_text(const struct follow_window *w, const struct variance *v)
{
	printf("%8.1f s to %.1f s  ", w->from_s, w->to_s);
	if (!v->fragments.n)
		puts("no recorded call ended");
	else if (!v->n_regions)
		printf("no variance; coverage %.0f %%\n", 100 * variance_coverage(v));
	for (size_t r = 0; r < v->n_regions; r++) {
		char *sentence = variance_region_sentence(v, &v->regions[r]);

		print_line(r ? "          " : "", sentence);
		free(sentence);
	}
}

static enum assay_status window_report(const struct arguments *a, struct follow_state *follow, struct variance_usual_memory *known,
				       struct follow_window *w, struct assay_error *err)
{
	const struct variance_options options = { .threshold = a->threshold,
						  .least_s = a->least_s < 0 ? (double)NAN : a->least_s,
						  .known = known };
	struct variance v = { .n_clusters = 0 };
	enum assay_status st = w->fragments.n ? variance_analyse(&w->fragments, &options, &v, err) : ASSAY_OK;

	if (!st) {
		struct level_requests asked = { .levels = mem_new(v.fragments.n_processes, sizeof(*asked.levels)) };

		asked.n = follow_change_levels(follow, &v, asked.levels);
		shift_times(&v);
		if (cli_is_human_format())
			print_window_text(w, &v);
		else
			print_window_json(w, &v, &asked, follow_lag(follow, w));
		free(asked.levels);
		if (fflush(stdout) != 0)
			st = assay_fail_errno(err, errno, "cannot write to standard output");
	}
	variance_release(&v);
	return st;
}

static enum assay_status follow_run(const struct arguments *a, struct assay_error *err)
{
	struct follow_state *follow = follow_new((const char *const *)a->files.items, a->files.n, a->window_s);
	struct variance_usual_memory *known = variance_usual_memory_new();
	enum assay_status st = ASSAY_OK;
	bool more = true;

	while (!st && more) {
		struct follow_window window;

		st = follow_next_window(follow, cli_note, &window, &more, err);
		if (!st && more)
			st = window_report(a, follow, known, &window, err);
		fragments_release(&window.fragments);
	}
	free(known);
	follow_free(follow);
	return st;
}

/* Returns the place of a call that returns to `after_system_call`: "main, sort.c:88", or "main+2f of sort" without line information.
 * Returns NULL if there is no function there. free() it. */
static char *find_source_place(const struct image *image, const char *path, uint64_t after_system_call)
{
	uint64_t address = after_system_call - 1;
	size_t s = image_symbol_before(image, address);
	const struct image_symbol *symbol = s == SIZE_MAX ? NULL : &image->symbols[s];
	Dwarf_Line *line;
	Dwarf_Die unit;
	char *function, *place;
	int number = 0;

	while (symbol && symbol->kind != IMAGE_CODE)
		symbol = s-- > 0 ? &image->symbols[s] : NULL;
	if (!symbol || address >= symbol->address + symbol->size)
		return NULL;
	function = demangle(symbol->name);
	line = image->dwarf && dwarf_addrdie(image->dwarf, address, &unit) ? dwarf_getsrc_die(&unit, address) : NULL;
	if (line && !dwarf_lineno(line, &number) && number > 0 && dwarf_linesrc(line, NULL, NULL))
		place = mem_format("%s, %s:%d", function, text_file_name(dwarf_linesrc(line, NULL, NULL)), number);
	else
		place =
		    mem_format("%s+%llx of %s", function, (unsigned long long)(after_system_call - symbol->address), text_file_name(path));
	free(function);
	return place;
}

/* Sets `place` of those call sites whose program files exist on this machine with the same build-id. Uses the symbols and, if built with
 * -g, the line numbers. The other sites are shown with their build-id. */
static void site_places_find(struct fragments *f)
{
	const char *opened = "";
	struct image image = { .path = NULL };
	struct assay_error ignored;

	for (size_t s = 0; s < f->n_sites; s++) {
		struct fragment_site *site = &f->sites[s];

		if (strcmp(opened, site->file) != 0) {
			image_release(&image);
			opened = site->file;
			(void)image_open(opened, IMAGE_NO_SYMBOLS, &image, &ignored);
		}
		if (!image.build_id[0] || strcmp(image.build_id, site->module) != 0)
			continue;
		site->is_file = true;
		site->place = find_source_place(&image, opened, site->address);
	}
	image_release(&image);
}

static enum assay_status show_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const struct variance_options options = { .threshold = a->threshold,
						  .least_s = a->least_s < 0 ? (double)NAN : a->least_s,
						  .marked_rank = a->marked.rank,
						  .marked_from_s = a->marked.from_s,
						  .marked_to_s = a->marked.to_s };
	struct fragments fragments = { .n = 0 };
	struct variance variance = { .n_clusters = 0 };
	enum assay_status st;

	(void)lab;
	if (a->follow && a->marked.to_s > 0)
		return assay_fail(err, ASSAY_E_USAGE, "--region cannot be used with --follow");
	d->is_streamed = a->follow;
	if (a->follow)
		return follow_run(a, err);
	if (a->files.n == 1 && version_is_selector(a->files.items[0]))
		return show_stored(a->files.items[0], &options, d, err);
	st = a->files.n == 1 ? version_check_selector(cli_directory(), a->files.items[0], err) : ASSAY_OK;
	if (!st)
		st = record_files_read((const char *const *)a->files.items, a->files.n, &fragments, err);
	if (!st && fragments.n_runs && a->marked.to_s > 0)
		st = assay_fail(err, ASSAY_E_USAGE, "--region needs the records of one run");
	if (!st)
		st = variance_analyse(&fragments, &options, &variance, err);
	if (!st) {
		site_places_find(&variance.fragments);
		variance_describe(&variance, d);
	}
	variance_release(&variance);
	fragments_release(&fragments);
	return st;
}

/* Parses "RANK:FROM-TO" (times in seconds) into a struct marked. */
static enum assay_status parse_region(const char *text, void *to, struct assay_error *err)
{
	struct marked_interval *m = to;
	char *rank = mem_string(text), *from = strchr(rank, ':'), *end = from ? strchr(from, '-') : NULL;
	bool ok = from && end;

	if (ok) {
		*from++ = '\0';
		*end++ = '\0';
		ok = text_parse_int64(rank, &m->rank) && text_parse_double(from, &m->from_s) && text_parse_double(end, &m->to_s) &&
		     m->rank >= 0 && m->from_s >= 0 && m->from_s < m->to_s && m->to_s < 1e9;
	}
	free(rank);
	return ok ? ASSAY_OK
		  : assay_fail(err, ASSAY_E_USAGE, "RANK:FROM-TO or PID:FROM-TO, in seconds since the run started, such as 3:10.5-12");
}

static const struct cli_option words[] = { CLI_ARGUMENTS("FILE...|DIRECTORY...|APP@VERSION", struct arguments, files, 1), CLI_END };
static const struct cli_option options[] = {
	CLI_REAL("threshold", "P", struct arguments, threshold, .1, .99,
		 "Fraction of its usual speed below which work is slow; lower for work that varies more by itself (default: 0.85)"),
	CLI_REAL("min-loss", "SECONDS", struct arguments, least_s, 0, 1e9, "Smallest loss to report (default: 1 % of the run's time)"),
	CLI_PARSED("region", "RANK|PID:FROM-TO", struct arguments, marked, parse_region,
		   "Show the causes of the time spent there, slow or not: a rank, or, without ranks, a process id (or place, from 0), and "
		   "seconds since the run started"),
	CLI_FLAG("follow", struct arguments, follow,
		 "Analyse a run in progress, in windows of time that overlap by half, with a report at the end of each window, until all "
		 "processes have ended. With --format json each report is a JSON object on one line"),
	CLI_REAL("window", "SECONDS", struct arguments, window_s, .5, 3600, "With --follow: length of a window, s (default: 15)"),
	CLI_END,
};
static const struct arguments defaults = { .threshold = VARIANCE_THRESHOLD, .least_s = -1, .window_s = FOLLOW_WINDOW_S };

const struct command timeline_command = {
	.name = "timeline",
	.summary = "show where and when a run was slow, and why",
	.about = "Reads the records of a run ('assay record') and finds intervals in which repeated work took longer than usual: "
		 "processes, start, end, seconds lost, and the cause: waiting for a CPU, being stopped or throttled, page faults, slow "
		 "other processes, and so on.\n\nEach call, and the computation between two calls, is compared with others that did the "
		 "same work. The amount of computation is known if instructions or statements were counted ('assay build --for work'). If "
		 "not, more work and slow work cannot be distinguished, and the answer states this. Coverage is the share of the time in "
		 "work that repeats and can be judged.\n\nSeveral directories are several runs of the same task: work is compared across "
		 "all of them, and the answer names the slow runs.\n\nAPP@VERSION is an application in the laboratory with 'variance: yes' "
		 "in its manifest: shows the run of the latest plan that lost most.",
	.examples = "  assay timeline records\n"
		    "  assay timeline monday tuesday wednesday\n"
		    "  assay timeline myapp@1.1\n"
		    "  assay timeline records --region 1:10-20\n"
		    "  assay timeline records --format html > records.html\n"
		    "  assay timeline records --follow\n",
	.exit_status = "0 answered, with or without variance, 1 failure, 2 usage, 6 no calls were recorded.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	CLI_RUN(struct arguments, CLI_LAB_NONE, show_run),
};
