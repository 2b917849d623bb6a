/* What git writes. */
#include "runs/inside/changes/source_internal.h"

#include "base/mem.h"

struct lines {
	const char *next, *end;
	size_t number;
};

/* The next line, without its end. */
static bool next_line(struct lines *lines, const char **line, size_t *n)
{
	const char *end;

	if (lines->next == lines->end)
		return false;
	end = memchr(lines->next, '\n', (size_t)(lines->end - lines->next));
	*line = lines->next;
	*n = (size_t)((end ? end : lines->end) - lines->next);
	lines->next = end ? end + 1 : lines->end;
	lines->number++;
	return true;
}

static bool starts(const char *line, size_t n, const char *with)
{
	return n >= strlen(with) && !memcmp(line, with, strlen(with));
}

/* ---- names ---- */

/* One character of a quoted name, after its backslash; *at moves behind it. */
static char unescaped(const char *text, size_t n, size_t *at)
{
	static const char letters[] = "abtnvfr", values[] = "\a\b\t\n\v\f\r";
	const char *found = memchr(letters, text[*at], sizeof(letters) - 1);
	unsigned value = 0;

	if (found)
		return (*at)++, values[found - letters];
	if (text[*at] < '0' || text[*at] > '7')
		return text[(*at)++];
	for (int i = 0; i < 3 && *at < n && text[*at] >= '0' && text[*at] <= '7'; i++)
		value = 8 * value + (unsigned)(text[(*at)++] - '0');
	return (char)value;
}

/* A name behind "--- " or "+++ ": without its prefix, NULL for /dev/null. Quoted where it has unusual characters; a tab ends it.
 */
static const char *read_name(struct intern *names, const char *text, size_t n)
{
	char *name = mem_new(n + 1, 1);
	const char *result = NULL;
	size_t used = 0, at = 0;

	if (n && text[0] == '"') {
		for (at = 1; at < n && text[at] != '"';) {
			if (text[at] == '\\' && at + 1 < n) {
				at++;
				name[used++] = unescaped(text, n, &at);
			} else {
				name[used++] = text[at++];
			}
		}
	} else {
		while (at < n && text[at] != '\t')
			name[used++] = text[at++];
	}
	if (used > 2 && name[1] == '/')
		result = intern_bytes(names, name + 2, strnlen(name + 2, used - 2));
	free(name);
	return result;
}

/* ---- hunks ---- */

/* "12" or "12,3" at *text. */
static bool read_range(const char **text, const char *end, unsigned *line, unsigned *lines)
{
	unsigned *values[] = {line, lines};

	*lines = 1;
	for (int i = 0; i < 2; i++) {
		uint64_t value = 0;
		const char *start = *text;

		while (*text < end && **text >= '0' && **text <= '9' && value < 1u << 30)
			value = 10 * value + (uint64_t)(*(*text)++ - '0');
		if (*text == start || value >= 1u << 30)
			return false;
		*values[i] = (unsigned)value;
		if (i || *text == end || **text != ',')
			return true;
		(*text)++;
	}
	return true;
}

/* "@@ -1,2 +3 @@ ..." */
static bool read_hunk(const char *line, size_t n, struct hunk *hunk)
{
	const char *at = line + 4, *end = line + n;

	if (!starts(line, n, "@@ -") || !read_range(&at, end, &hunk->old_line, &hunk->old_lines))
		return false;
	if (end - at < 2 || at[0] != ' ' || at[1] != '+')
		return false;
	at += 2;
	return read_range(&at, end, &hunk->new_line, &hunk->new_lines) && end - at >= 3 && !memcmp(at, " @@", 3);
}

/* The lines of a hunk, which may look like anything. */
static bool skip_lines(struct lines *lines, const struct hunk *hunk)
{
	size_t left = (size_t)hunk->old_lines + hunk->new_lines, n;
	const char *line;

	while (left--)
		if (!next_line(lines, &line, &n) || !n || (line[0] != '-' && line[0] != '+'))
			return false;
		else if (lines->next < lines->end && *lines->next == '\\') /* \ No newline at end of file */
			next_line(lines, &line, &n);
	return true;
}

static enum assay_status add_hunk(struct source *source, struct lines *lines, struct hunk hunk, struct assay_error *err)
{
	if (!skip_lines(lines, &hunk))
		return assay_fail(err, ASSAY_E_FORMAT, "git's difference: line %zu: a hunk is not whole", lines->number);
	if (source->n_hunks == SOURCE_HUNKS_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "git's difference has more than %u hunks", SOURCE_HUNKS_MAX);
	source->hunks = mem_grow(source->hunks, source->n_hunks, &source->capacity, sizeof(*source->hunks));
	source->hunks[source->n_hunks++] = hunk;
	return ASSAY_OK;
}

enum assay_status source_parse(const char *text, size_t n, struct source *source, struct assay_error *err)
{
	struct lines lines = {text, text + n, 0};
	const char *old = NULL, *new = NULL, *line;
	enum assay_status st = ASSAY_OK;
	size_t length;

	while (!st && next_line(&lines, &line, &length)) {
		struct hunk hunk = {.old_file = old, .new_file = new};

		if (starts(line, length, "diff --git ")) {
			old = new = NULL;
		} else if (starts(line, length, "--- ")) {
			old = read_name(&source->names, line + 4, length - 4);
		} else if (starts(line, length, "+++ ")) {
			new = read_name(&source->names, line + 4, length - 4);
		} else if (starts(line, length, "@@ ")) {
			if (!read_hunk(line, length, &hunk))
				return assay_fail(err, ASSAY_E_FORMAT, "git's difference: line %zu is not the head of a hunk",
				                  lines.number);
			st = add_hunk(source, &lines, hunk, err);
		}
	}
	return st;
}
