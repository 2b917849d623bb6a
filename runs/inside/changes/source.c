#include "runs/inside/changes/source.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/local_command.h"

#define WORDS_MAX 24
#define GIT_MS	  (10 * 60 * 1000)

/* ---- lines of a difference ---- */

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

/* One character of a quoted name, after its backslash; *at moves past it. */
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

/* The name after "--- " or "+++ ", without its prefix; NULL for /dev/null. Quoted where it has unusual characters; a tab ends it. */
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
	unsigned *values[] = { line, lines };

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
		return assay_fail(err, ASSAY_E_FORMAT, "git's difference: line %zu: incomplete hunk", lines->number);
	if (source->n_hunks == SOURCE_HUNKS_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "git's difference has more than %u hunks", SOURCE_HUNKS_MAX);
	source->hunks = mem_grow(source->hunks, source->n_hunks, &source->capacity, sizeof(*source->hunks));
	source->hunks[source->n_hunks++] = hunk;
	return ASSAY_OK;
}

enum assay_status source_parse(const char *text, size_t n, struct source *source, struct assay_error *err)
{
	struct lines lines = { text, text + n, 0 };
	const char *old = NULL, *new = NULL, *line;
	enum assay_status st = ASSAY_OK;
	size_t length;

	while (!st && next_line(&lines, &line, &length)) {
		struct hunk hunk = { .old_file = old, .new_file = new };

		if (starts(line, length, "diff --git ")) {
			old = new = NULL;
		} else if (starts(line, length, "--- ")) {
			old = read_name(&source->old.files, line + 4, length - 4);
		} else if (starts(line, length, "+++ ")) {
			new = read_name(&source->new.files, line + 4, length - 4);
		} else if (starts(line, length, "@@ ")) {
			if (!read_hunk(line, length, &hunk))
				return assay_fail(err, ASSAY_E_FORMAT, "git's difference: line %zu is not a hunk header", lines.number);
			st = add_hunk(source, &lines, hunk, err);
		}
	}
	return st;
}

/* ---- what git says ---- */

/* Git in the repository; local_said_release() *said. */
static enum assay_status git(const char *repository, const char *const *arguments, struct local_said *said, struct assay_error *err)
{
	const char *words[WORDS_MAX] = { "git", "-C", repository, "--no-pager", "-c", "core.quotePath=false", "-c", "diff.noprefix=false" };
	struct local_command command = { .words = words, .n = 8, .git = true, .timeout_ms = GIT_MS };
	char shown[TEXT_SHOWN_BYTES];
	enum assay_status st;

	for (; *arguments; arguments++) {
		ASSAY_BUG_IF(command.n == WORDS_MAX);
		words[command.n++] = *arguments;
	}
	st = local_command_run(&command, said, err);
	if (st || said->ok)
		return st;
	local_said_line(said, LOCAL_FIRST_LINE, shown);
	return assay_fail(err, ASSAY_E_NOTFOUND, "git in '%s': %s", repository, *shown ? shown : said->fault);
}

static enum assay_status find_commit(const char *repository, const char *reference, struct source_tree *tree, struct assay_error *err)
{
	char *commit = mem_format("%s^{commit}", reference);
	const char *const words[] = { "rev-parse", "--verify", "--end-of-options", commit, NULL };
	struct local_said said = { .ok = false };
	enum assay_status st = git(repository, words, &said, err);

	if (st == ASSAY_E_NOTFOUND)
		assay_context(err, "reference '%s'", reference);
	if (!st) {
		size_t n = strspn(said.out, "0123456789abcdef");

		if (n < 40 || n >= sizeof(tree->commit))
			st = assay_fail(err, ASSAY_E_FORMAT, "git in '%s' does not say which commit '%s' is", repository, reference);
		else
			memcpy(tree->commit, said.out, n);
	}
	local_said_release(&said);
	free(commit);
	return st;
}

static enum assay_status list_files(const char *repository, struct source_tree *tree, struct assay_error *err)
{
	const char *const words[] = { "ls-tree", "-r", "-z", "--full-tree", "--name-only", tree->commit, NULL };
	struct local_said said = { .ok = false };
	enum assay_status st = git(repository, words, &said, err);

	if (!st)
		for (size_t at = 0; at < said.out_bytes; at += strlen(said.out + at) + 1)
			intern_text(&tree->files, said.out + at);
	local_said_release(&said);
	return st;
}

static enum assay_status read_diff(const char *repository, struct source *source, struct assay_error *err)
{
	const char *const words[] = {
		"diff",	       "--no-color",	  "--no-ext-diff",   "--no-textconv",	 "--no-relative",    "--find-renames",
		"--unified=0", "--src-prefix=a/", "--dst-prefix=b/", source->old.commit, source->new.commit, "--",
		NULL
	};
	struct local_said said = { .ok = false };
	enum assay_status st = git(repository, words, &said, err);

	if (!st)
		st = source_parse(said.out, said.out_bytes, source, err);
	local_said_release(&said);
	return st;
}

enum assay_status source_read(const char *repository, const char *old_reference, const char *new_reference, struct source *out,
			      struct assay_error *err)
{
	struct source source = { .hunks = NULL };
	enum assay_status st = find_commit(repository, old_reference, &source.old, err);

	if (!st)
		st = find_commit(repository, new_reference, &source.new, err);
	if (!st)
		st = read_diff(repository, &source, err);
	if (!st)
		st = list_files(repository, &source.old, err);
	if (!st)
		st = list_files(repository, &source.new, err);
	if (st)
		source_release(&source);
	*out = source;
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

enum assay_status source_content(const char *repository, const char *commit, const char *file, struct buf *text, struct assay_error *err)
{
	char *object = mem_format("%s:%s", commit, file);
	const char *const words[] = { "cat-file", "blob", object, NULL };
	struct local_said said = { .ok = false };
	enum assay_status st = git(repository, words, &said, err);

	if (!st)
		buf_add(text, said.out, said.out_bytes);
	local_said_release(&said);
	free(object);
	return st;
}

/* ---- functions ---- */

const char *source_file(const struct source_tree *tree, const char *path)
{
	const char *found = NULL;

	while (path && !found) {
		path += path[0] == '/';
		found = intern_find(&tree->files, path);
		path = strchr(path, '/');
	}
	return found;
}

struct interval {
	uint64_t file; /* of the tree: the address of its name, which is kept once */
	unsigned first, last;
	size_t function;
};

static int compare_intervals(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* The functions whose files are in the tree, by file and first line. */
static struct interval *intervals_of(const struct source_tree *tree, const struct functions *f, size_t *n)
{
	struct interval *intervals = mem_new(f->n, sizeof(*intervals));
	const char *last = NULL, *file = NULL;

	*n = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct function *function = &f->items[i];

		if (!function->present || !function->file || !function->line)
			continue;
		if (function->file != last) {
			last = function->file;
			file = source_file(tree, last);
		}
		if (file)
			intervals[(*n)++] = (struct interval){ (uintptr_t)file, function->line, function->last_line, i };
	}
	if (*n)
		qsort(intervals, *n, sizeof(*intervals), compare_intervals);
	return intervals;
}

/* Sets touched[] of the functions that have one of the lines; is there one? */
static bool touch_functions(const struct interval *intervals, size_t n, const char *name, unsigned line, unsigned lines, bool *touched)
{
	uint64_t file = (uintptr_t)name;
	bool any = false;

	for (size_t i = map_below(intervals, n, sizeof(*intervals), file);
	     i < n && intervals[i].file == file && intervals[i].first < line + lines; i++)
		if (intervals[i].last >= line)
			touched[intervals[i].function] = any = true;
	return any;
}

enum assay_status source_touched(struct source *source, const struct functions *functions, bool is_old, bool *touched, bool *in_hunk,
				 struct assay_error *err)
{
	const struct source_tree *tree = is_old ? &source->old : &source->new;
	size_t n;
	struct interval *intervals = intervals_of(tree, functions, &n);

	for (size_t i = 0; i < source->n_hunks; i++) {
		const struct hunk *hunk = &source->hunks[i];
		const char *file = is_old ? hunk->old_file : hunk->new_file;
		unsigned lines = is_old ? hunk->old_lines : hunk->new_lines;

		if (file && lines && touch_functions(intervals, n, file, is_old ? hunk->old_line : hunk->new_line, lines, touched))
			in_hunk[i] = true;
	}
	free(intervals);
	if (!n)
		return assay_fail(err, ASSAY_E_NODATA,
				  "not one source file of the %s build is in commit %.12s: is this the repository that it was built from?",
				  is_old ? "old" : "new", tree->commit);
	return ASSAY_OK;
}

void source_release(struct source *source)
{
	free(source->hunks);
	intern_release(&source->old.files);
	intern_release(&source->new.files);
	*source = (struct source){ .hunks = NULL };
}
