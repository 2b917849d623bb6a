/* What git is asked, and how it lays out a commit.
 *
 * The work tree gets a repository of its own that borrows the objects of the other one: nothing is written into that, its work
 * tree, index, hooks and configuration do not matter, and commits that no branch holds are there too. It is not cloned, because
 * git 2.39.4 and later want a permission of its own (safe.directory) for cloning a repository of another user, although it may be
 * read. */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/running/artefact_internal.h"

#define GIT_MS (10 * 60 * 1000)

#define RUN(b, said, ...)                                                                                                        \
	artefact_build_run(b, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),   \
	                   GIT_MS, NULL, said)

/* What git says without its last line end; NULL when it failed. free() it. */
static char *answer_of(const struct local_said *said)
{
	size_t end = said->out_bytes;

	if (!said->ok)
		return NULL;
	if (end && said->out[end - 1] == '\n')
		end--;
	return mem_bytes(said->out, end);
}

/* Where the objects are, and the list of commits whose parents are missing: of a linked work tree, those of the main one. */
static enum assay_status find_objects(struct artefact_build *b, struct artefact_repository *out)
{
	struct local_said said = {.ok = false};
	char shown[TEXT_SHOWN_BYTES], *answer = NULL, *shallow;
	enum assay_status st = RUN(b, &said, "git", "-C", b->repository, "rev-parse", "--path-format=absolute", "--git-path",
	                           "objects", "--git-path", "shallow");

	if (!st)
		answer = answer_of(&said);
	shallow = answer ? strchr(answer, '\n') : NULL;
	if (!st && !answer) {
		local_said_line(&said, LOCAL_FIRST_LINE, shown);
		st = ARTEFACT_BUILD_FAIL(b, ASSAY_E_NOTFOUND, "'%s' cannot be used as git repository: %s", b->repository,
		                         *shown ? shown : said.fault);
	} else if (!st && (!shallow || strchr(shallow + 1, '\n') || *answer != '/' || shallow[1] != '/')) {
		st = ARTEFACT_BUILD_FAIL(b, ASSAY_E_FORMAT, "the repository '%s' has a line break in its path", b->repository);
	} else if (!st) {
		out->objects = mem_bytes(answer, (size_t)(shallow - answer));
		out->shallow = mem_string(shallow + 1);
	}
	free(answer);
	local_said_release(&said);
	return st;
}

static bool is_commit(const char *text)
{
	return strlen(text) == ARTEFACT_COMMIT_BYTES - 1 && strspn(text, "0123456789abcdef") == ARTEFACT_COMMIT_BYTES - 1;
}

static enum assay_status find_commit(struct artefact_build *b, struct artefact_repository *out)
{
	char *name = mem_format("%s^{commit}", b->version->reference), *found = NULL, shown[TEXT_SHOWN_BYTES];
	struct local_said said = {.ok = false};
	enum assay_status st =
	    RUN(b, &said, "git", "-C", b->repository, "rev-parse", "--verify", "--quiet", "--end-of-options", name);

	if (!st)
		found = answer_of(&said);
	if (!st && !found) {
		local_said_line(&said, LOCAL_FIRST_LINE, shown);
		st = ARTEFACT_BUILD_FAIL(b, ASSAY_E_NOTFOUND, "the repository '%s' has no commit '%s'%s%s", b->repository,
		                         b->version->reference, *shown ? ": " : "", shown);
	} else if (!st && !is_commit(found)) {
		st = ARTEFACT_BUILD_FAIL(b, ASSAY_E_FORMAT,
		                         "the repository '%s' does not name its commits by SHA-1, which alone is supported",
		                         b->repository);
	} else if (!st) {
		memcpy(out->commit, found, ARTEFACT_COMMIT_BYTES);
	}
	local_said_release(&said);
	free(found);
	free(name);
	return st;
}

enum assay_status artefact_git_find(struct artefact_build *b, struct artefact_repository *out)
{
	enum assay_status st = find_objects(b, out);

	return st ? st : find_commit(b, out);
}

void artefact_repository_release(struct artefact_repository *repository)
{
	free(repository->objects);
	free(repository->shallow);
	*repository = (struct artefact_repository){.objects = NULL};
}

/* ---- the work tree ---- */

static enum assay_status put(struct artefact_build *b, const char *name, const char *bytes, size_t n)
{
	char *path = mem_format("%s/.git/%s", b->partial, name);
	enum assay_status st = file_replace(path, bytes, n, 0644, b->err);

	free(path);
	return st;
}

static enum assay_status borrow_objects(struct artefact_build *b, const struct artefact_repository *repository)
{
	char *line = mem_format("%s\n", repository->objects);
	struct buf commits = BUF_INIT;
	struct assay_error missing;
	enum assay_status st = put(b, "objects/info/alternates", line, strlen(line));

	if (!st && !file_read(repository->shallow, LOCAL_OUTPUT_BYTES_MAX, &commits, &missing))
		st = put(b, "shallow", commits.bytes, commits.size);
	buf_release(&commits);
	free(line);
	return st;
}

/* For builds that ask `git describe`. */
static enum assay_status copy_tags(struct artefact_build *b)
{
	struct local_said said = {.ok = false};
	enum assay_status st =
	    RUN(b, &said, "git", "-C", b->repository, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags");

	if (!st && said.ok && said.out_bytes)
		st = put(b, "packed-refs", said.out, said.out_bytes);
	local_said_release(&said);
	return st;
}

enum assay_status artefact_git_check_out(struct artefact_build *b, const struct artefact_repository *repository)
{
	const char *const init[] = {"git", "init",    "--quiet", "--template=", "--object-format=sha1", "--initial-branch=none",
	                            "--",  b->partial};
	const char *const check_out[] = {"git",
	                                 "-C",
	                                 b->partial,
	                                 "-c",
	                                 "core.hooksPath=/dev/null",
	                                 "-c",
	                                 "advice.detachedHead=false",
	                                 "checkout",
	                                 "--quiet",
	                                 "--detach",
	                                 repository->commit};
	enum assay_status st = artefact_build_must(b, "git init", init, sizeof(init) / sizeof(init[0]), GIT_MS, NULL);

	if (!st)
		st = borrow_objects(b, repository);
	if (!st)
		st = copy_tags(b);
	return st ? st
	          : artefact_build_must(b, "git checkout", check_out, sizeof(check_out) / sizeof(check_out[0]), GIT_MS, NULL);
}
