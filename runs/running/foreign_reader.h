/* Readers for result files of other tools: one function and one file per format (docs/recorded.md), and the functions that they share. */
#ifndef RUNS_RUNNING_FOREIGN_READER_H
#define RUNS_RUNNING_FOREIGN_READER_H

#include "base/mem.h"
#include "base/text.h"
#include "runs/running/execution.h"
#include "runs/running/foreign.h"

#define FOREIGN_INSTANCES_MAX 1e6 /* exceeds the number of members of any family of benchmarks, and of entries of any result */
#define FOREIGN_NO_MACHINE    "it does not name the machine; give it with --machine NAME"

/* A file that is being read. JSON and XML are parsed into result->root before a reader is called; JSON lines become an array. */
struct foreign_reader {
	const struct foreign_options *options;
	struct foreign_result *result;
	const char *text;  /* content of the whole file */
	size_t at, start;  /* offset of the row's line, 0 if unknown; index of the first of options->starts that contains the row */
	bool is_truncated; /* true if the file has more results than can be read */
	bool has_metric;   /* true if some benchmark has the metric options->metric */
	struct assay_error *err;
};

/* Read one format each: add rows to result->rows, and count excluded rows in result->imported. text[0..n) is the file without a byte order
 * mark. */
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

/* Parses XML into objects, with a member for each child element, and "@NAME" for each attribute. `valuestring` is the element's text, and
 * `valueint` its line. Elements below a fixed depth are ignored. The root's name is in its `string`. Free *out with cJSON_Delete(). Errors
 * start with "name:line: ". */
enum assay_status foreign_xml_parse(const char *name, const char *text, size_t n, cJSON **out, struct assay_error *err);
/* Returns the text of the first child element `name`, or of an attribute ("@NAME"); "" if there is none. */
const char *foreign_xml_text(const cJSON *element, const char *name);

/* Returns the length of the line that starts at text[at], without its end. Sets *next to the start of the next line. */
size_t foreign_line_length(const char *text, size_t n, size_t at, size_t *next);
/* Gives `text` to the result, whose release frees the text. Returns `text`. */
const char *foreign_own_text(struct foreign_reader *r, char *text);
/* Returns a row with default values: lower is better, and the file's time. */
struct foreign_row foreign_row_init(struct foreign_reader *r, struct imported_place place, const char *machine);
/* Adds a row, even a failed one: the names and numbers of benchmarks must not depend on how many succeeded. */
void foreign_row_add(struct foreign_reader *r, struct foreign_row row);
/* Adds a row whose result is a text. If the text means failure, the row is a failed run. If it only means success, the row is excluded,
 * because nothing was measured. */
void foreign_row_add_text(struct foreign_reader *r, struct foreign_row row, const char *text);
/* Meaning of a result or an exit status: no value, failure, success (the number 0 or a word), or something else. */
enum foreign_status { FOREIGN_MISSING, FOREIGN_FAILURE, FOREIGN_SUCCESS, FOREIGN_OTHER };
enum foreign_status foreign_classify_text(const char *text);
/* Makes the row a failed run, with the formatted reason. */
void foreign_row_fail(struct foreign_reader *r, struct foreign_row *row, enum execution_outcome outcome, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Sets the row's result to a JSON number times `unit`. A value that is not finite, which json_parse_lenient() replaced by "", makes the row
 * a failed run. Returns false if the row then has neither a result nor a failure. */
bool foreign_row_value(struct foreign_reader *r, struct foreign_row *row, const cJSON *value, double unit);
/* Sets the row's time from a text of the file; keeps the default time if `text` is NULL. Excludes the row and returns false if the time is
 * invalid, unless the user gave one. */
bool foreign_row_time(struct foreign_reader *r, struct foreign_row *row, const char *text);
/* Returns the machine that the user gave, else `said`, the file's; NULL if there is none. */
const char *foreign_machine(const struct foreign_reader *r, const char *said);
enum assay_status foreign_fail_no_machine(const struct foreign_reader *r);
/* Returns a mark such as " (branch=main, size=4)" that contains parts[0..n); "" if n is 0. Frees the parts. */
const char *foreign_mark(struct foreign_reader *r, char **parts, size_t n);
/* Returns a mark that distinguishes benchmarks, from `label` and the members of `parameters`. Both may be NULL. Frees the label. */
const char *foreign_benchmark_mark(struct foreign_reader *r, char *label, const cJSON *parameters);
char *foreign_value_text(const cJSON *value); /* returns the value, of any type, as one line of text; the caller frees the result */
/* Returns the length of a unit of time in seconds ("ns", "us", "ms", "s", longer units, tools' other spellings); 0 for other units. */
double foreign_unit_seconds(const char *unit);
/* Calls `add` for each item of a list: the document's member `key`, or the document itself if `key` is NULL. Fails if this is no list, or
 * if neither the user nor the file (`machine`) names a machine. */
typedef void (*foreign_add)(struct foreign_reader *r, const cJSON *item, size_t index, const char *machine);
enum assay_status foreign_list_read(struct foreign_reader *r, const char *key, const char *machine, foreign_add add);
/* Adds a copy of `row` for each value of a list, in seconds: value * unit, divided by its item of `counts` (may be NULL). The copies differ
 * only in result and place. Of a long list, evenly spaced values are used; result->thinned counts the others. */
void foreign_samples_add(struct foreign_reader *r, struct foreign_row row, const cJSON *values, double unit, const cJSON *counts);

#endif
