/* Asking git, as builds of versions do: without a shell, and ended with this program. */
#include "runs/inside/changes/source_internal.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/local_command.h"

#define WORDS_MAX 24
#define GIT_MS    (10 * 60 * 1000)

/* Git in the repository; local_said_release() *said. */
static enum assay_status git(const char *repository, const char *const *arguments, struct local_said *said,
                             struct assay_error *err)
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

static enum assay_status find_commit(const char *repository, const char *reference, struct source_tree *tree,
                                     struct assay_error *err)
{
	char *commit = mem_format("%s^{commit}", reference);
	const char *const words[] = {"rev-parse", "--verify", "--end-of-options", commit, NULL};
	struct local_said said = {.ok = false};
	enum assay_status st = git(repository, words, &said, err);

	if (st == ASSAY_E_NOTFOUND)
		assay_context(err, "reference '%s'", reference);
	if (!st) {
		size_t n = strspn(said.out, "0123456789abcdef");

		if (n < 40 || n >= sizeof(tree->commit))
			st = assay_fail(err, ASSAY_E_FORMAT, "git in '%s' does not say which commit '%s' is", repository,
			                reference);
		else
			memcpy(tree->commit, said.out, n);
	}
	local_said_release(&said);
	free(commit);
	return st;
}

static enum assay_status list_files(const char *repository, struct source_tree *tree, struct intern *names,
                                    struct assay_error *err)
{
	const char *const words[] = {"ls-tree", "-r", "-z", "--full-tree", "--name-only", tree->commit, NULL};
	struct local_said said = {.ok = false};
	enum assay_status st = git(repository, words, &said, err);

	if (!st)
		source_tree_fill(tree, names, said.out, said.out_bytes);
	local_said_release(&said);
	return st;
}

static enum assay_status read_diff(const char *repository, struct source *source, struct assay_error *err)
{
	const char *const words[] = {
	    "diff",        "--no-color",      "--no-ext-diff",   "--no-textconv",    "--no-relative",    "--find-renames",
	    "--unified=0", "--src-prefix=a/", "--dst-prefix=b/", source->old.commit, source->new.commit, "--",
	    NULL};
	struct local_said said = {.ok = false};
	enum assay_status st = git(repository, words, &said, err);

	if (!st)
		st = source_parse(said.out, said.out_bytes, source, err);
	local_said_release(&said);
	return st;
}

enum assay_status source_read(const char *repository, const char *old_reference, const char *new_reference, struct source *out,
                              struct assay_error *err)
{
	struct source source = {.hunks = NULL};
	enum assay_status st = find_commit(repository, old_reference, &source.old, err);

	if (!st)
		st = find_commit(repository, new_reference, &source.new, err);
	if (!st)
		st = read_diff(repository, &source, err);
	if (!st)
		st = list_files(repository, &source.old, &source.names, err);
	if (!st)
		st = list_files(repository, &source.new, &source.names, err);
	if (st)
		source_release(&source);
	*out = source;
	return st;
}

enum assay_status source_read_tree(const char *repository, const char *commit, struct source *out, struct assay_error *err)
{
	struct source source = {.hunks = NULL};
	enum assay_status st = find_commit(repository, commit, &source.new, err);

	if (!st)
		st = list_files(repository, &source.new, &source.names, err);
	if (st)
		source_release(&source);
	*out = source;
	return st;
}

enum assay_status source_content(const char *repository, const char *commit, const char *file, struct buf *text, struct assay_error *err)
{
	char *object = mem_format("%s:%s", commit, file);
	const char *const words[] = {"cat-file", "blob", object, NULL};
	struct local_said said = {.ok = false};
	enum assay_status st = git(repository, words, &said, err);

	if (!st)
		buf_add(text, said.out, said.out_bytes);
	local_said_release(&said);
	free(object);
	return st;
}
