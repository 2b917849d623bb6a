#include "runs/inside/changes/source.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/engine/local_command.h"

/* ---- output of git diff ---- */

struct lines {
	char *next, *end;
	size_t number;
};

/* Returns the next line, with a NUL instead of its line end; NULL after the last line. */
static char *next_line(struct lines *lines)
{
	char *line = lines->next, *end;

	if (line == lines->end)
		return NULL;
	end = memchr(line, '\n', (size_t)(lines->end - line));
	if (end)
		*end = '\0';
	lines->next = end ? end + 1 : lines->end;
	lines->number++;
	return line;
}

/* Returns the escaped character after a backslash, which has been read already. Advances *at. */
static char read_escaped(const char **at)
{
	static const char letters[] = "abtnvfr", values[] = "\a\b\t\n\v\f\r";
	const char *found = memchr(letters, **at, sizeof(letters) - 1);
	unsigned value = 0;

	if (found)
		return (*at)++, values[found - letters];
	if (**at < '0' || **at > '7')
		return *(*at)++;
	for (int i = 0; i < 3 && **at >= '0' && **at <= '7'; i++)
		value = 8 * value + (unsigned)(*(*at)++ - '0');
	return (char)value;
}

/* Returns the name after "--- " or "+++ " without its prefix; NULL for /dev/null. Unusual names are in quotes. A tab ends other names. */
static const char *read_name(struct intern *names, const char *at)
{
	char *name = mem_new(strlen(at) + 1, 1), end = *at == '"' ? '"' : '\t';
	const char *result = NULL;
	size_t n = 0;

	at += end == '"';
	while (*at && *at != end) {
		bool escaped = end == '"' && at[0] == '\\' && at[1];

		at += escaped;
		name[n++] = escaped ? read_escaped(&at) : *at++;
	}
	if (n > 2 && name[1] == '/')
		result = intern_text(names, name + 2);
	free(name);
	return result;
}

static bool read_number(const char **at, unsigned *value)
{
	unsigned long number;
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	number = strtoul(*at, &end, 10); /* ULONG_MAX if the number is too large */
	*at = end;
	*value = (unsigned)number;
	return number < 1u << 30;
}

/* Reads "12" or "12,3". */
static bool read_range(const char **at, struct hunk_side *side)
{
	side->lines = 1;
	if (!read_number(at, &side->line))
		return false;
	if (**at != ',')
		return true;
	++*at;
	return read_number(at, &side->lines);
}

/* Reads "@@ -1,2 +3 @@ ...". */
static bool read_hunk(const char *at, struct hunk *hunk)
{
	if (strncmp(at, "@@ -", 4) != 0)
		return false;
	at += 4;
	if (!read_range(&at, &hunk->old) || strncmp(at, " +", 2) != 0)
		return false;
	at += 2;
	return read_range(&at, &hunk->new) && !strncmp(at, " @@", 3);
}

/* Skips the lines of a hunk, which may have any content. */
static bool skip_lines(struct lines *lines, const struct hunk *hunk)
{
	for (size_t left = (size_t)hunk->old.lines + hunk->new.lines; left; left--) {
		const char *line = next_line(lines);

		if (!line || (line[0] != '-' && line[0] != '+'))
			return false;
		if (*lines->next == '\\') /* the line "\ No newline at end of file" */
			next_line(lines);
	}
	return true;
}

static enum assay_status add_hunk(struct source *source, struct lines *lines, const char *line, struct hunk hunk, struct assay_error *err)
{
	if (!read_hunk(line, &hunk))
		return assay_fail(err, ASSAY_E_FORMAT, "output of git diff: line %zu is not a hunk header", lines->number);
	if (!skip_lines(lines, &hunk))
		return assay_fail(err, ASSAY_E_FORMAT, "output of git diff: line %zu: incomplete hunk", lines->number);
	if (source->n_hunks == SOURCE_HUNKS_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "output of git diff: more than %u hunks", SOURCE_HUNKS_MAX);
	mem_append(source->hunks, source->n_hunks, &source->capacity, hunk);
	return ASSAY_OK;
}

enum assay_status source_parse(const char *text, size_t n, struct source *source, struct assay_error *err)
{
	char *copy = mem_new(n + 1, 1);
	struct lines lines = { copy, copy + n, 0 };
	struct hunk hunk = { .old = { .file = NULL } };
	enum assay_status st = ASSAY_OK;

	memcpy(copy, text, n);
	for (char *line; !st && (line = next_line(&lines));) {
		if (!strncmp(line, "diff --git ", 11))
			hunk.old.file = hunk.new.file = NULL;
		else if (!strncmp(line, "--- ", 4))
			hunk.old.file = read_name(&source->old.files, line + 4);
		else if (!strncmp(line, "+++ ", 4))
			hunk.new.file = read_name(&source->new.files, line + 4);
		else if (!strncmp(line, "@@ ", 3))
			st = add_hunk(source, &lines, line, hunk, err);
	}
	free(copy);
	return st;
}

/* ---- git commands ---- */

static enum assay_status find_commit(const char *repository, const char *reference, struct source_tree *tree, struct assay_error *err)
{
	char *commit = mem_format("%s^{commit}", reference);
	struct buf output = BUF_INIT;
	enum assay_status st = LOCAL_GIT(repository, NULL, &output, err, "rev-parse", "--verify", "--end-of-options", commit);
	size_t n = st ? 0 : strspn(output.bytes, "0123456789abcdef");

	if (st == ASSAY_E_NOTFOUND)
		assay_add_context(err, "reference '%s'", reference);
	else if (!st && (n < 40 || n >= sizeof(tree->commit)))
		st = assay_fail(err, ASSAY_E_FORMAT, "git in '%s' printed no commit for '%s'", repository, reference);
	else if (!st)
		memcpy(tree->commit, output.bytes, n);
	buf_release(&output);
	free(commit);
	return st;
}

static enum assay_status list_files(const char *repository, struct source_tree *tree, struct assay_error *err)
{
	struct buf output = BUF_INIT;
	enum assay_status st = LOCAL_GIT(repository, NULL, &output, err, "ls-tree", "-r", "-z", "--full-tree", "--name-only", tree->commit);

	for (size_t at = 0; at < output.size; at += strlen(output.bytes + at) + 1)
		intern_text(&tree->files, output.bytes + at);
	buf_release(&output);
	return st;
}

static enum assay_status read_diff(const char *repository, struct source *source, struct assay_error *err)
{
	struct buf output = BUF_INIT;
	enum assay_status st =
	    LOCAL_GIT(repository, NULL, &output, err, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative",
		      "--find-renames", "--unified=0", "--src-prefix=a/", "--dst-prefix=b/", source->old.commit, source->new.commit, "--");

	if (!st)
		st = source_parse(output.bytes, output.size, source, err);
	buf_release(&output);
	return st;
}

enum assay_status source_read(const char *repository, const char *old_reference, const char *new_reference, struct source *out,
			      struct assay_error *err)
{
	enum assay_status st = source_read_tree(repository, new_reference, out, err);

	if (!st)
		st = find_commit(repository, old_reference, &out->old, err);
	if (!st)
		st = read_diff(repository, out, err);
	if (!st)
		st = list_files(repository, &out->old, err);
	if (st)
		source_release(out);
	return st;
}

enum assay_status source_read_tree(const char *repository, const char *commit, struct source *out, struct assay_error *err)
{
	struct source source = { .hunks = NULL };
	enum assay_status st = find_commit(repository, commit, &source.new, err);

	if (!st)
		st = list_files(repository, &source.new, err);
	if (st)
		source_release(&source);
	*out = source;
	return st;
}

enum assay_status source_read_content(const char *repository, const char *commit, const char *file, struct buf *text,
				      struct assay_error *err)
{
	char *object = mem_format("%s:%s", commit, file);
	enum assay_status st = LOCAL_GIT(repository, NULL, text, err, "cat-file", "blob", object);

	free(object);
	return st;
}

/* ---- names of files ---- */

const char *source_find_file(const struct source_tree *tree, const char *path)
{
	const char *found = NULL;

	while (path && !found) {
		path += path[0] == '/';
		found = intern_find(&tree->files, path);
		path = strchr(path, '/');
	}
	return found;
}

void source_release(struct source *source)
{
	free(source->hunks);
	intern_release(&source->old.files);
	intern_release(&source->new.files);
	*source = (struct source){ .hunks = NULL };
}
