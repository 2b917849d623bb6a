/* Readers of result files of other tools: one function and one file per format (docs/recorded.md), with the functions that they share. */
#ifndef RUNS_RUNNING_FOREIGN_READER_H
#define RUNS_RUNNING_FOREIGN_READER_H

#include "base/mem.h"
#include "base/text.h"
#include "runs/running/execution.h"
#include "runs/running/foreign.h"

#define FOREIGN_INSTANCES_MAX 1e6 /* more than the members of any family of benchmarks, or entries of any result */
#define FOREIGN_NO_MACHINE    "it does not name the machine; give it with --machine NAME"

/* A file that is being read. JSON and XML are parsed into result->root before a reader is called. JSON lines are an array. */
struct foreign_reader {
	const struct foreign_options *options;
	struct foreign_result *result;
	const char *text; /* the whole file */
	size_t at, start; /* offset of the row's line, 0 if unknown; index of the first of options->starts that contains the row */
	bool over;	  /* the file has more results than can be read */
	bool metric_seen; /* some benchmark has the metric options->metric */
	struct assay_error *err;
};

/* Read a file: fill result->rows, and exclude rows in result->imported. text[0..n) is the file without a byte order mark. */
enum assay_status foreign_catch2_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_criterion_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_csv_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_gbench_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_go_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_hyperfine_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_jmh_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_junit_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_perf_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_phoronix_read(struct foreign_reader *r, char *text, size_t n);
enum assay_status foreign_pytest_read(struct foreign_reader *r, char *text, size_t n);

/* Parses XML into objects: a member per child element, "@NAME" per attribute; `valuestring` is the text, `valueint` the line. Elements
 * below a fixed depth are ignored. The root has its element's name in `string`. cJSON_Delete() it. Errors start with "name:line: ". */
enum assay_status foreign_xml_parse(const char *name, const char *text, size_t n, cJSON **out, struct assay_error *err);
/* Returns the text of the first child element of that name, or of an attribute ("@NAME"); "" if there is none. */
const char *foreign_xml_text(const cJSON *element, const char *name);

/* Returns the length of the line at text[at..n) without its end, and moves *next behind that end. */
size_t foreign_line(const char *text, size_t n, size_t at, size_t *next);
/* Keeps a text as long as the result. */
const char *foreign_keep(struct foreign_reader *r, char *text);
/* Returns a row with the defaults: lower is better, time of the file. */
struct foreign_row foreign_row_of(struct foreign_reader *r, struct imported_place place, const char *machine);
/* Adds a row, failed or not: numbers and names of benchmarks must not depend on how many succeeded. */
void foreign_row_add(struct foreign_reader *r, struct foreign_row row);
/* Adds a row with a textual result. A word for failure makes it a failed run. A word for success excludes it: nothing was measured. */
void foreign_row_add_text(struct foreign_reader *r, struct foreign_row row, const char *text);
/* Returns what a text says about its run, as a result or as an exit status: an unknown value, a failure, success (the number 0 or a word),
 * or something else. */
enum foreign_word { FOREIGN_MISSING, FOREIGN_FAILURE, FOREIGN_SUCCESS, FOREIGN_OTHER };
enum foreign_word foreign_word_of(const char *text);
/* Marks the row as failed, with a reason. */
void foreign_row_fail(struct foreign_reader *r, struct foreign_row *row, enum execution_outcome outcome, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads the row's value from JSON. json_parse_loosely() replaces values that are not finite by "". Returns false if it is not a number. */
bool foreign_row_value(struct foreign_reader *r, struct foreign_row *row, const cJSON *value, double unit);
/* Sets the row's time from a text of the file; `text` may be NULL. If the time is invalid, excludes the row and returns false. */
bool foreign_row_time(struct foreign_reader *r, struct foreign_row *row, const char *text);
/* Returns the user's machine, or else the file's; NULL if neither is given. */
const char *foreign_machine(const struct foreign_reader *r, const char *said);
enum assay_status foreign_fail_no_machine(const struct foreign_reader *r);
/* Returns a mark such as " (branch=main, size=4)" from parts[0..n), or "". Frees the parts. */
const char *foreign_mark(struct foreign_reader *r, char **parts, size_t n);
/* Returns a mark from a label (NULL: none) and the members of `parameters` (NULL: none), which distinguish benchmarks. Frees the label. */
const char *foreign_benchmark_mark(struct foreign_reader *r, char *label, const cJSON *parameters);
char *foreign_value_text(const cJSON *value); /* returns a value of any type on one line; free() it */
/* Returns the seconds of a unit of time: "ns", "us", "ms", "s" and longer ones, with other spellings of tools; 0 if it is none. */
double foreign_seconds(const char *unit);
/* Calls `add` for each item of a list: the member `key` of the document, or the document itself (`key` NULL). Fails if it is no list, or if
 * neither the user nor the file (`machine`) names a machine. */
typedef void (*foreign_add)(struct foreign_reader *r, const cJSON *item, size_t index, const char *machine);
enum assay_status foreign_list_read(struct foreign_reader *r, const char *key, const char *machine, foreign_add add);
/* Adds the values of a list as rows that differ in their place only, in seconds (`unit`), each divided by its item of `counts` (may be
 * NULL). Of a long list, evenly spaced values are taken, and the others are counted in result->thinned. */
void foreign_samples_add(struct foreign_reader *r, struct foreign_row row, const cJSON *values, double unit, const cJSON *counts);

#endif
