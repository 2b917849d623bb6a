/* The command 'assay result import', and the part of 'assay host import' that reads a file. */
#include "base/command.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"
#include "runs/running/foreign.h"
#include "runs/running/run.h"

#include <errno.h>
#include <sys/stat.h>

/* Adds the number of excluded rows of a file, by reason. */
static void show_skipped(const struct imported *imported, struct document *d)
{
	doc_object(d, "not_used");
	for (int i = 0; i < IMPORTED_SKIPS; i++) {
		doc_set(d, imported_skip_code((enum imported_skip)i), imported->skipped[i].count);
		if (imported->skipped[i].count)
			doc_line(d, "  not used      %zu: %s (first in %s)%s", imported->skipped[i].count,
				 imported_skip_text((enum imported_skip)i), imported->skipped[i].first,
				 i < IMPORTED_ZERO && imported->n_failed ? "; they count as failed" : "");
	}
	doc_end(d);
}

static size_t count_rows(const struct imported *imported)
{
	size_t rows = imported->n;

	for (int i = 0; i < IMPORTED_SKIPS; i++)
		rows += imported->skipped[i].count;
	return rows;
}

struct arguments {
	const char *file, *version, *application, *machine, *metric;
	int from;
	struct cli_list columns;
	int64_t taken_ms;
	bool interleaved;
};

static const struct cli_option words[] = { CLI_ARGUMENT("FILE", struct arguments, file), CLI_END };

/* ---- machines ---- */

static void show_machines(const char *file, const struct imported *read, const struct imported_result *r, struct document *d)
{
	size_t rows = count_rows(read);

	doc_line(d, "Read %s: %zu row%s.", file, rows, text_plural(rows));
	doc_line(d, "  fingerprints  %zu new, %zu known before, of %zu machine%s; %zu rate%s new, %zu known before", r->fingerprints_added,
		 r->fingerprints_known, r->machines, text_plural(r->machines), r->rates_added, text_plural(r->rates_added), r->rates_known);
	doc_set(d, "file", file);
	doc_set(d, "rows", rows);
	doc_set(d, "machines", r->machines);
	doc_set(d, "fingerprints_added", r->fingerprints_added);
	doc_set(d, "fingerprints_known", r->fingerprints_known);
	doc_set(d, "rates_added", r->rates_added);
	doc_set(d, "rates_known", r->rates_known);
	doc_set(d, "recorded_zeros", r->n_zero_rates);
	doc_set(d, "results_without_fingerprint", r->runs_without_fingerprint);
	doc_set(d, "catalog_files_written", r->catalog_written);
	show_skipped(read, d);
	if (r->n_zero_rates)
		doc_line(d, "  recorded 0    %zu rate%s kept as \"recorded 0, not measured\"", r->n_zero_rates,
			 r->n_zero_rates == 1 ? " is" : "s are");
	if (r->runs_without_fingerprint)
		doc_line(d,
			 "  unmatched     %zu imported result%s no fingerprint of the same machine, time and repetition: counted for run "
			 "times only",
			 r->runs_without_fingerprint, r->runs_without_fingerprint == 1 ? " has" : "s have");
	doc_line(d, "  catalog       %zu file%s written", r->catalog_written, text_plural(r->catalog_written));
}

enum assay_status import_machines(struct lab *lab, const char *file, struct document *d, struct assay_error *err)
{
	const struct imported_options import = { .file = file, .version = IMPORTED_NAME };
	struct imported_result result = { 0 };
	struct imported read = { 0 };
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(file, IMPORTED_FILE_BYTES_MAX, &text, err);

	if (!st)
		st = imported_read_machines(file, text.bytes, text.size, &read, err);
	if (!st)
		st = imported_store(lab, &read, &import, &result, err);
	if (!st)
		show_machines(file, &read, &result, d);
	imported_release(&read);
	buf_release(&text);
	return st;
}

/* ---- results ---- */

static const char *const tools[] = { FOREIGN_ROWS(ROWS_CODE) "auto", NULL };

static enum assay_status parse_time(const char *text, void *to, struct assay_error *err)
{
	if (!text_parse_time_ms(text, to))
		return assay_fail(err, ASSAY_E_USAGE,
				  "'%s' is not a time: a date such as 2026-11-23 or 2026-11-23T20:01:23+01:00, or seconds since 1970",
				  text);
	if (imported_is_in_future(*(int64_t *)to))
		return assay_fail(err, ASSAY_E_USAGE, "'%s' is in the future", text);
	return ASSAY_OK;
}

/* Refuses a name that is not valid for `what` ("a version"). */
static enum assay_status check_name(const char *what, const char *name, struct assay_error *err)
{
	if (run_name_fault(name))
		return assay_fail(err, ASSAY_E_USAGE, "'%s' cannot be the name of %s: it %s", TEXT_SANITIZED(name), what,
				  run_name_fault(name));
	return ASSAY_OK;
}

static enum assay_status import_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;
	enum assay_status st = check_name("a version", a->version, err);

	return st || !a->application ? st : check_name("an application", a->application, err);
}

/* Finds the times for a file without times. Rows that were imported before keep their times. New rows get the file's modification time. */
static enum assay_status file_times(struct store *store, const char *path, const char *version, const struct buf *text,
				    struct foreign_options *how, char digest[DIGEST_HEX_BYTES], struct assay_error *err)
{
	struct digest_incremental growing = { NULL, 0 };
	struct stat about;
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_query(
	    store, &stmt, err, "SELECT digest, bytes, taken_ms, version FROM imported_file WHERE bytes BETWEEN 0 AND ? ORDER BY bytes", "i",
	    (int64_t)text->size);

	while (store_next(store, stmt, &st, err)) {
		struct foreign_earlier_import start = { (size_t)sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2), "" };

		digest_extend(&growing, text->bytes, start.bytes, digest);
		if (strcmp(digest, store_text(stmt, 0)) != 0)
			continue;
		if (start.bytes < text->size && strcmp(store_text(stmt, 3), version) != 0)
			snprintf(start.version, sizeof(start.version), "%s", store_text(stmt, 3));
		/* Excludes an incomplete last row of the earlier import, because the row may be different now. */
		while (start.bytes && !strchr("\r\n", text->bytes[start.bytes]) && text->bytes[start.bytes - 1] != '\n')
			start.bytes--;
		mem_append(how->starts, how->n_starts, &capacity, start);
	}
	digest_extend(&growing, text->bytes, text->size, digest);
	digest_incremental_release(&growing);
	if (!(st = store_finalize(stmt, st)) && stat(strcmp(path, "-") == 0 ? "/dev/stdin" : path, &about))
		st = assay_fail_errno(err, errno, "cannot read '%s'", path);
	if (!st)
		how->taken_ms = (int64_t)about.st_mtim.tv_sec * 1000 + about.st_mtim.tv_nsec / 1000000;
	return st;
}

/* Warns if a file that names no version was imported before under another version. The two versions would have equal results. */
static enum assay_status warn_of_duplicates(struct lab *lab, const struct arguments *a, const struct foreign_result *f,
					    struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st;

	if (*f->version)
		return ASSAY_OK;
	st = store_query(&lab->store, &stmt, err,
			 "SELECT b.version FROM run AS a JOIN run AS b USING (application, machine, taken_ms, repetition, ordinal, metric) "
			 "WHERE application = ? AND a.version = ? AND b.version <> a.version LIMIT 1",
			 "tt", f->application, a->version);
	if (store_next(&lab->store, stmt, &st, err))
		cli_note("results of %s@%s are those of %s@%s, measured at the same time: the same file may have been imported under two "
			 "versions",
			 f->application, a->version, f->application, store_text(stmt, 0));
	return store_finalize(stmt, st);
}

static void show_import(const struct arguments *a, const struct foreign_result *f, const struct imported_result *r, struct document *d)
{
	const struct imported *q = &f->imported;

	doc_line(d, "%zu result%s of %s%s@%s%s, read from %s: %zu new, %zu known before.", q->n, text_plural(q->n),
		 f->several_applications ? "several applications, such as " : "", f->application, *f->version ? f->version : a->version,
		 f->versions ? " and other versions" : "", foreign_text(f->tool), r->runs_added, r->runs_known);
	doc_set(d, "file", a->file);
	doc_set(d, "from", foreign_code(f->tool));
	doc_set(d, "rows", count_rows(q));
	doc_set(d, "failed", q->n_stated_failures);
	doc_set(d, "assumed_lower", r->assumed_lower);
	doc_set(d, "results_added", r->runs_added);
	doc_set(d, "results_known", r->runs_known);
	show_skipped(q, d);
	if (f->aggregates)
		doc_line(d, "  not used      %zu aggregate%s computed by the tool", f->aggregates, text_plural(f->aggregates));
	if (f->n_thinned)
		doc_line(d, "  not used      %zu sample%s of benchmarks with very many samples: evenly spaced ones are used", f->n_thinned,
			 text_plural(f->n_thinned));
	if (q->n_stated_failures) {
		char *place = imported_place_text(&q->failed[q->first_stated].place);

		doc_line(d, "  failed        %zu run%s without a result (first in %s: %s); 'assay result show APP --failed' lists them",
			 q->n_stated_failures, text_plural(q->n_stated_failures), place, q->failed[q->first_stated].failure);
		free(place);
	}
	if (r->assumed_lower)
		doc_line(d, "  direction     not given for %zu application%s; assumed lower is better (set it with a column 'direction')",
			 r->assumed_lower, text_plural(r->assumed_lower));
	if (f->n_without_exit_code)
		doc_line(d, "  exit codes    missing for %zu run%s: whether they failed is not known", f->n_without_exit_code,
			 text_plural(f->n_without_exit_code));
}

static enum assay_status result_import_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct foreign_options how = { .name = a->file,
				       .tool = (enum foreign_tool)a->from,
				       .application = a->application,
				       .machine = a->machine,
				       .metric = a->metric,
				       .columns = (const char *const *)a->columns.items,
				       .n_columns = a->columns.n,
				       .taken_ms = a->taken_ms,
				       .is_time_given = a->taken_ms >= 0,
				       .is_version_given = strcmp(a->version, IMPORTED_NAME) != 0,
				       .interleaved = a->interleaved };
	struct imported_result result = { 0 };
	struct foreign_result read = { .tool = FOREIGN_TOOLS };
	struct imported_options import = { .file = a->file, .version = a->version };
	char digest[DIGEST_HEX_BYTES];
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(a->file, IMPORTED_FILE_BYTES_MAX, &text, err);

	if (!st && !how.is_time_given)
		st = file_times(&lab->store, a->file, a->version, &text, &how, digest, err);
	import.digest = how.is_time_given ? NULL : digest;
	import.bytes = text.size;
	import.taken_ms = how.taken_ms;
	if (!st)
		st = foreign_read(text.bytes, text.size, &how, &read, err);
	if (!st)
		st = imported_store(lab, &read.imported, &import, &result, err);
	if (!st)
		st = warn_of_duplicates(lab, a, &read, err);
	if (!st)
		show_import(a, &read, &result, d);
	foreign_release(&read);
	free(how.starts);
	buf_release(&text);
	return st;
}

static const struct arguments defaults = { .version = IMPORTED_NAME, .from = FOREIGN_TOOLS, .taken_ms = -1 };

static const struct cli_option options[] = {
	CLI_TEXT("version", "NAME", struct arguments, version, "Version of the results, if the file does not name it (default: imported)"),
	CLI_TEXT("machine", "NAME", struct arguments, machine, "Machine of the results; required if the file does not name it"),
	CLI_TEXT("application", "NAME", struct arguments, application,
		 "Name of the application; for a file with several benchmarks, the prefix of their names"),
	CLI_CHOICE("from", tools, struct arguments, from,
		   "Tool that wrote the file: gbench, hyperfine, phoronix, pytest, catch2, criterion, jmh, go, perf, junit or csv "
		   "(default: by its content)"),
	CLI_TEXT("metric", "NAME", struct arguments, metric,
		 "Import NAME instead of the time: cpu_time or a counter of Google Benchmark, a unit of Go (B/op), a profiler's metric of "
		 "JMH, an "
		 "event of perf; names ending in _per_second: higher is better"),
	CLI_NAMES("columns", "MEANING=COLUMN,...", struct arguments, columns,
		  "Meaning of CSV columns with other names: application, version, machine, time, repetition, exit_status, result or "
		  "direction; name: part of the application's name; ignore: not used ('*': all others)"),
	CLI_PARSED("time", "TIME", struct arguments, taken_ms, parse_time,
		   "Time of the results, as a date or in seconds since 1970, if the file has no readable time (default: modification time "
		   "of the file)"),
	CLI_FLAG("interleaved", struct arguments, interleaved,
		 "The versions took turns, run by run; required if the file has neither times nor repetition numbers that show it"),
	CLI_END
};

const struct command result_import_command = {
	.name = "result import",
	.summary = "import results of other tools",
	.about = "Reads results of Google Benchmark, hyperfine, the Phoronix Test Suite, pytest-benchmark, Catch2, criterion, JMH, 'go "
		 "test -bench', 'perf stat -j' and JUnit reports (docs/recorded.md has the options of each), or a CSV file whose header "
		 "names its columns. Each benchmark becomes an application, each repetition a result, which 'gate', 'history' and 'report' "
		 "use like measured results; a mean is used only if the file has no repetitions. Times are in seconds. Labels, parameters, "
		 "arguments and units that distinguish results become part of the application's name. Failed runs count as failed. Rows "
		 "that cannot be used are excluded; the answer gives their number, the first one and the reason. Importing the same file "
		 "again changes nothing; contradicting results are refused. A file without times is recognized by its content; if a file "
		 "of lines (CSV, Go, perf) has grown, only the new rows are imported.",
	.examples = "  hyperfine -N --export-json new.json ./sort-2.1\n"
		    "  assay result import new.json --application sort --version 2.1 --machine node1\n"
		    "  assay result import copy.json --version $(git describe)\n"
		    "  go test -bench . -count 10 | assay result import - --version $(git describe) --machine $(hostname)\n"
		    "  assay result import nightly.csv --columns application=bench,result=seconds,name=threads --machine node1\n",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.check = import_check,
	CLI_RUN(struct arguments, CLI_LAB_WRITE, result_import_run),
};
