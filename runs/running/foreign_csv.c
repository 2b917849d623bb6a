#include "base/csv.h"
#include "runs/running/foreign_reader.h"

/* Meanings of columns. Several columns may have the meaning NAME or IGNORE. */
enum { APPLICATION, VERSION, MACHINE, TIME, REPETITION, EXIT_STATUS, RESULT, DIRECTION, MEANINGS, NAME = MEANINGS, IGNORE, ALL_MEANINGS };

static const char *const meanings[ALL_MEANINGS] = { "?application", "?version", "?machine",   "?time", "?repetition",
						    "?exit_status", "result",	"?direction", "name",  "ignore" };

struct columns {
	const char **names; /* [n], names of the columns by meaning, then of the columns NAME and IGNORE; '?' marks optional ones */
	bool *distinguish;  /* [n], true if the column has the meaning NAME */
	size_t *index;	    /* [n], index of the column in the file; SIZE_MAX if it is missing */
	size_t n;
	bool ignore_all; /* true to ignore all columns without a meaning */
};

static enum assay_status columns_choose(const struct foreign_reader *r, struct columns *c)
{
	size_t n = MEANINGS + r->options->n_columns;

	*c = (struct columns){ mem_new(n, sizeof(char *)), mem_new(n, sizeof(bool)), mem_new(n, sizeof(size_t)), MEANINGS, false };
	memcpy(c->names, meanings, MEANINGS * sizeof(char *));
	for (size_t i = 0; i < r->options->n_columns; i++) {
		const char *word = r->options->columns[i], *equals = strchr(word, '=');
		size_t m = 0;

		while (equals && m < ALL_MEANINGS) {
			const char *meaning = meanings[m] + (*meanings[m] == '?');

			if (strlen(meaning) == (size_t)(equals - word) && strncmp(meaning, word, strlen(meaning)) == 0)
				break;
			m++;
		}
		if (!equals || m == ALL_MEANINGS || equals[1] == '?')
			return assay_fail(r->err, ASSAY_E_USAGE,
					  "'%s' is not of the form MEANING=COLUMN, where MEANING is application, version, machine, time, "
					  "repetition, exit_status, result, direction, name or ignore",
					  word);
		if (m == IGNORE && strcmp(equals, "=*") == 0) {
			c->ignore_all = true;
			continue;
		}
		c->distinguish[m < MEANINGS ? m : c->n] = m == NAME;
		c->names[m < MEANINGS ? m : c->n++] = equals + 1;
	}
	return ASSAY_OK;
}

/* Refuses a column without a meaning, because it may distinguish results. Also refuses a column with two meanings. */
static enum assay_status columns_check(const struct foreign_reader *r, const struct columns *c, const struct csv *csv)
{
	for (size_t i = 0; i < csv->n_fields; i++) {
		const char *name = TEXT_SANITIZED(csv->fields[i]);
		size_t has = 0;

		for (size_t k = 0; k < c->n; k++)
			has += c->index[k] == i;
		if (has > 1)
			return assay_fail(r->err, ASSAY_E_USAGE, "--columns gives the column '%s' two meanings", name);
		if (!has && !c->ignore_all)
			return assay_fail(r->err, ASSAY_E_USAGE,
					  "%s:%zu: the column '%s' has no meaning: --columns 'name=%s' makes its values part of names, "
					  "'ignore=%s' ignores it, 'ignore=*' ignores all such columns",
					  r->options->name, csv->line, name, name, name);
	}
	return ASSAY_OK;
}

static const char *csv_mark(struct foreign_reader *r, const struct columns *c, const struct csv *csv)
{
	char **parts = mem_new(c->n, sizeof(char *));
	const char *mark;
	size_t n = 0;

	for (size_t i = MEANINGS; i < c->n; i++) {
		if (c->distinguish[i])
			parts[n++] = mem_format("%s=%s", c->names[i], csv->fields[c->index[i]]);
	}
	mark = foreign_mark(r, parts, n);
	free(parts);
	return mark;
}

/* Removes the spaces around an exit status in place, because " 0" would count as a failure. Returns the trimmed text. */
static char *strip_blanks(char *text)
{
	size_t n = strlen(text);

	while (n && strchr(" \t", text[n - 1]))
		text[--n] = '\0';
	return text + strspn(text, " \t");
}

static enum assay_status csv_add_row(struct foreign_reader *r, const struct csv *csv, const struct columns *c)
{
	struct foreign_row row;
	const char *said[MEANINGS];
	bool ended;

	r->at = (size_t)(csv->fields[0] - r->text);
	row = foreign_row_init(r, (struct imported_place){ .line = csv->line }, NULL);
	for (size_t m = 0; m < MEANINGS; m++)
		said[m] = c->index[m] == SIZE_MAX ? NULL : csv->fields[c->index[m]];
	if (said[EXIT_STATUS])
		said[EXIT_STATUS] = strip_blanks(csv->fields[c->index[EXIT_STATUS]]);
	row.name = said[APPLICATION] ? said[APPLICATION] : r->options->application;
	row.mark = csv_mark(r, c, csv);
	row.to.machine = foreign_machine(r, said[MACHINE]);
	if (said[VERSION] && *said[VERSION])
		row.to.version = said[VERSION];
	else if (r->start < r->options->n_starts)
		row.to.version = r->options->starts[r->start].version;
	row.to.metric = c->names[RESULT];
	ended = said[EXIT_STATUS] && foreign_classify_text(said[EXIT_STATUS]) != FOREIGN_MISSING;
	row.texts = (struct imported_texts){ said[RESULT], NULL, said[REPETITION], said[DIRECTION] ? said[DIRECTION] : "" };
	if (!row.name)
		return assay_fail(r->err, ASSAY_E_USAGE,
				  "%s has no column 'application': give the name with --application NAME, or its column with --columns "
				  "application=COLUMN",
				  r->options->name);
	if (!row.to.machine && !said[MACHINE])
		return foreign_fail_no_machine(r);
	if (!row.to.machine)
		imported_exclude(&r->result->imported, IMPORTED_BAD_NAME, &row.to.place, FOREIGN_NO_MACHINE);
	else if (said[EXIT_STATUS] && !ended && foreign_classify_text(said[RESULT]) > FOREIGN_FAILURE)
		imported_exclude(&r->result->imported, IMPORTED_UNKNOWN_END, &row.to.place, "its exit status is '%s'",
				 TEXT_SANITIZED(said[EXIT_STATUS]));
	else if (foreign_row_time(r, &row, said[TIME])) {
		if (ended && foreign_classify_text(said[EXIT_STATUS]) != FOREIGN_SUCCESS)
			foreign_row_fail(r, &row, EXECUTION_FAILED, "exit status %s", said[EXIT_STATUS]);
		foreign_row_add_text(r, row, said[RESULT]);
	}
	return ASSAY_OK;
}

enum assay_status foreign_csv_read(struct foreign_reader *r, char *text, size_t n)
{
	struct columns columns;
	struct csv csv;
	enum assay_status st = columns_choose(r, &columns);

	csv_init(&csv, r->options->name, text, n);
	if (!st)
		st = csv_read_header(&csv, (const char *const *)columns.names, columns.n, columns.index, r->err);
	if (st && columns.index[RESULT] == SIZE_MAX) {
		struct assay_error said = *r->err;

		assay_fail(r->err, st, "%s: %s", said.text,
			   csv.n_fields == 1 && strpbrk(csv.fields[0], ";\t|")
			       ? "columns are separated by commas, and numbers have a decimal point"
			       : "give its column with --columns result=COLUMN");
	}
	if (!st)
		st = columns_check(r, &columns, &csv);
	while (!st && imported_read_row(&r->result->imported, &csv))
		st = csv_add_row(r, &csv, &columns);
	csv_release(&csv);
	mem_free(columns.names, columns.distinguish, columns.index);
	return st;
}
