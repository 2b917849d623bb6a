#include "runs/running/foreign_reader.h"

#include <ctype.h>

#define FAILED	"--- FAIL: Benchmark"
#define SKIPPED "--- SKIP: Benchmark"

/* Returns the next word of a line, which it ends in place with NUL; "" at the end of the line. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t"), *end = word + strcspn(word, " \t");

	*rest = end + (*end != '\0');
	*end = '\0';
	return word;
}

/* Returns the suffix "-N" of a benchmark's name, where N is GOMAXPROCS; "" if there is none. */
static const char *find_suffix(const char *name)
{
	const char *dash = strrchr(name, '-');

	return dash && dash[1] && !dash[1 + strspn(dash + 1, "0123456789")] ? dash : "";
}

/* State of a file between two lines. */
struct go_file {
	const char *package;	    /* package that the file named last; "" if none */
	struct foreign_row pending; /* benchmark whose name was printed without a result so far; its name is NULL if there is none */
	bool has_text;		    /* true if text follows the name of `pending` */
	bool failed;		    /* true if a benchmark of the package has failed */
};

/* Ends the pending benchmark. If its program ended (`end` is the line that reports this), it has failed. A name without any text only
 * announces a benchmark (go test -v). */
static void pending_end(struct foreign_reader *r, struct go_file *file, const char *end)
{
	struct foreign_row row = file->pending;

	file->pending.name = NULL;
	if (!row.name)
		return;
	if (end) {
		foreign_row_fail(r, &row, EXECUTION_FAILED, "its program ended: %s", end);
		foreign_row_add(r, row);
		file->failed = true;
	} else if (file->has_text) {
		imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &row.to.place,
				 "%s: its result is missing; a benchmark that prints hides it", TEXT_SANITIZED(row.name));
	}
}

/* Adds a result: a number of iterations, then pairs of value and unit. Returns false if the text has another form. */
static bool result_add(struct foreign_reader *r, struct foreign_row row, char *rest)
{
	const char *metric = r->options->metric ? r->options->metric : "ns/op", *value, *unit = "";
	struct imported *imported = &r->result->imported;
	double number;

	if (!text_parse_double(next_word(&rest), &number))
		return false;
	while (*(value = next_word(&rest)) && strcmp(unit = next_word(&rest), metric) != 0)
		;
	row.texts.result = value;
	row.to.metric = metric;
	if (strcmp(metric, "ns/op") == 0) {
		row.to.metric = "s/op";
		row.texts.result = text_parse_double(value, &number) ? foreign_own_text(r, mem_string(TEXT_DOUBLE(number * 1e-9))) : value;
	} else {
		row.texts.direction = strstr(metric, "/op") ? "lower" : strstr(metric, "/s") ? "higher" : "";
	}
	r->has_metric = r->has_metric || *value;
	if (!*value)
		imported_exclude(imported, IMPORTED_BAD_ROW, &row.to.place, "%s: it has no %s", TEXT_SANITIZED(row.name),
				 TEXT_SANITIZED(metric));
	else if (text_parse_double(value, &number) && number == 0)
		imported_exclude(imported, IMPORTED_NOT_MEASURED, &row.to.place, "%s: 0 %s", TEXT_SANITIZED(row.name),
				 TEXT_SANITIZED(metric));
	else
		foreign_row_add(r, row);
	return true;
}

/* Reads a line without a benchmark's name: a package, the end of the program, or the result of a benchmark that printed text before it. */
static void other_line_read(struct foreign_reader *r, char *line, const struct foreign_row *row, struct go_file *file)
{
	static const char *const ends[] = { "panic: ", "fatal error: ", "SIGQUIT", "signal: ", "exit status " };
	bool result = file->pending.name && isdigit((unsigned char)line[strspn(line, " \t")]) && strstr(line, "/op");

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strncmp(line, ends[i], strlen(ends[i])) == 0)
			pending_end(r, file, line);
	if (strncmp(line, "pkg: ", 5) == 0) {
		file->package = line + 5;
		file->failed = false;
	} else if (strncmp(line, "FAIL\t", 5) == 0) {
		pending_end(r, file, "FAIL");
		if (!file->failed)
			imported_exclude(&r->result->imported, IMPORTED_BAD_ROW, &row->to.place,
					 "package %s failed, but no benchmark is named", TEXT_SANITIZED(line + 5));
		file->failed = false;
	} else if (result && result_add(r, file->pending, line)) {
		file->pending.name = NULL;
	}
}

/* Reads a line, which ends with NUL. */
static void line_read(struct foreign_reader *r, char *line, struct foreign_row row, struct go_file *file)
{
	char *failed = strstr(line, FAILED), *skipped = strstr(line, SKIPPED), *rest = line, *name;

	if (failed || skipped) {
		rest = (failed ? failed : skipped) + strlen(FAILED) - strlen("Benchmark");
	} else if (strncmp(line, "Benchmark", 9) != 0 || islower((unsigned char)line[9])) {
		other_line_read(r, line, &row, file);
		return;
	}
	name = next_word(&rest);
	row.name = foreign_own_text(r, mem_format("%s%s%s", file->package, *file->package ? "/" : "", name));
	if (!failed && !skipped)
		pending_end(r, file, NULL);
	else
		file->pending.name = NULL;
	if (skipped && !failed) {
		imported_exclude(&r->result->imported, IMPORTED_NOT_MEASURED, &row.to.place, "%s was skipped", TEXT_SANITIZED(name));
	} else if (failed) {
		foreign_row_fail(r, &row, EXECUTION_FAILED, "it failed (--- FAIL)");
		foreign_row_add(r, row);
		file->failed = true;
	} else {
		file->has_text = rest[strspn(rest, " \t\r")];
		if (!result_add(r, row, rest))
			file->pending = row;
	}
}

enum assay_status foreign_go_read(struct foreign_reader *r, char *text, size_t n)
{
	const char *machine = foreign_machine(r, ""), *suffix = "";
	struct go_file file = { .package = "" };
	struct foreign_row *rows;
	size_t line = 0;

	if (!machine)
		return foreign_fail_no_machine(r);
	for (size_t at = 0, next; at < n; at = next) {
		size_t length = foreign_line_length(text, n, at, &next);

		text[at + length] = '\0';
		r->at = at;
		line_read(r, text + at, foreign_row_init(r, (struct imported_place){ .line = ++line }, machine), &file);
	}
	pending_end(r, &file, NULL);
	/* A benchmark that fails at once is named without the suffix that its results have. */
	rows = r->result->rows;
	for (size_t i = 0; i < r->result->n_rows && !*suffix; i++)
		suffix = rows[i].to.failure ? "" : find_suffix(rows[i].name);
	for (size_t i = 0; i < r->result->n_rows; i++)
		if (rows[i].to.failure && !*find_suffix(rows[i].name))
			rows[i].name = foreign_own_text(r, mem_format("%s%s", rows[i].name, suffix));
	return ASSAY_OK;
}
