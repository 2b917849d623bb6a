/* From a reference of a git repository to a directory that can be deployed.
 *
 * A commit is laid out and built as HASH.partial and gets its name HASH when all is well, so that a directory of that name is a
 * whole build. One build at a time, by a lock that dies with its holder; a second lock is held by the helper until the last
 * process of a build has gone, so that nothing is removed that is still being written. */
#include "runs/running/artefact.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/running/artefact.h"
#include "fleet/engine/local_command.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define GIT_MS	     (10 * 60 * 1000)
#define REMOVE_MS    (10 * 60 * 1000)
#define BUILD_MS     (2 * 60 * 60 * 1000)
#define LOCK_LOOK_US 100000
#define HASH_DIGITS  32

struct artefact_build {
	const struct manifest *manifest;
	const struct manifest_version *version;
	const struct manifest_own *own;
	const volatile sig_atomic_t *cancelled;
	char *repository; /* as git is told */
	char *folder;	  /* LABORATORY/.assay/builds, absolute */
	char *running;	  /* locked while anything of the build is alive; NULL before it begins */
	char *partial, *whole, *log;
	struct buf said; /* for the log */
	struct assay_error *err;
};

/* "apps/x.yaml:7: " and the text. */
#define BUILD_FAIL(b, status, fmt, ...) assay_fail((b)->err, status, "%s:%zu: " fmt, (b)->manifest->file, (b)->version->line, __VA_ARGS__)

static bool artefact_build_is_cancelled(const struct artefact_build *b)
{
	return b->cancelled && *b->cancelled;
}

/* ---- commands ---- */

static enum assay_status artefact_build_run(struct artefact_build *b, const char *const *words, size_t n, int64_t timeout_ms,
					    const char *directory, struct local_said *out)
{
	const struct local_command command = { .words = words,
					       .n = n,
					       .git = true,
					       .directory = directory,
					       .lock = b->running,
					       .timeout_ms = timeout_ms,
					       .cancelled = b->cancelled };
	enum assay_status st;

	buf_char(&b->said, '$');
	for (size_t i = 0; i < n; i++)
		buf_format(&b->said, " %s", words[i]);
	st = local_command_run(&command, out, b->err);
	buf_char(&b->said, '\n');
	if (st)
		return st;
	buf_add(&b->said, out->out ? out->out : "", out->out_bytes);
	buf_add(&b->said, out->err ? out->err : "", out->err_bytes);
	if (!out->ok)
		buf_format(&b->said, "assay: %s\n", out->fault);
	if (artefact_build_is_cancelled(b)) {
		local_said_release(out);
		return BUILD_FAIL(b, ASSAY_E_IO, "%s", "cancelled");
	}
	return ASSAY_OK;
}

static enum assay_status artefact_build_must(struct artefact_build *b, const char *what, const char *const *words, size_t n,
					     int64_t timeout_ms, const char *directory)
{
	struct local_said said = { .ok = false };
	char shown[LOCAL_LINE_BYTES];
	enum assay_status st = artefact_build_run(b, words, n, timeout_ms, directory, &said);

	if (!st && !said.ok) {
		local_error_line(said.err, said.out, shown);
		st = BUILD_FAIL(b, ASSAY_E_IO, "%s failed: %s%s%s%s" ARTEFACT_LOG "%s'", what, said.fault, *shown ? ": '" : "", shown,
				*shown ? "'" : "", b->log);
	}
	local_said_release(&said);
	return st;
}

/* ---- git ---- */

/* What git knows of a version's reference. */
struct artefact_build_repository {
	char *objects, *shallow; /* absolute paths; the second need not exist */
	char commit[ARTEFACT_COMMIT_BYTES];
};

/* What git is asked, and how it lays out a commit.
 *
 * The work tree gets a repository of its own that borrows the objects of the other one: nothing is written into that, its work
 * tree, index, hooks and configuration do not matter, and commits that no branch holds are there too. It is not cloned, because
 * git 2.39.4 and later want a permission of its own (safe.directory) for cloning a repository of another user, although it may be
 * read. */

#define RUN(b, said, ...)                                                                                                                  \
	artefact_build_run(b, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), GIT_MS, \
			   NULL, said)

/* What git says without its last line end; NULL when it failed. free() it. */
static char *artefact_build_answer_of(const struct local_said *said)
{
	size_t end = said->out_bytes;

	if (!said->ok)
		return NULL;
	if (end && said->out[end - 1] == '\n')
		end--;
	return mem_bytes(said->out, end);
}

/* Where the objects are, and the list of commits whose parents are missing: of a linked work tree, those of the main one. */
static enum assay_status artefact_build_find_objects(struct artefact_build *b, struct artefact_build_repository *out)
{
	struct local_said said = { .ok = false };
	char shown[LOCAL_LINE_BYTES], *answer = NULL, *shallow;
	enum assay_status st = RUN(b, &said, "git", "-C", b->repository, "rev-parse", "--path-format=absolute", "--git-path", "objects",
				   "--git-path", "shallow");

	if (!st)
		answer = artefact_build_answer_of(&said);
	shallow = answer ? strchr(answer, '\n') : NULL;
	if (!st && !answer) {
		local_said_line(&said, LOCAL_FIRST_LINE, shown);
		st = BUILD_FAIL(b, ASSAY_E_NOTFOUND, "'%s' cannot be used as git repository: %s", b->repository,
				*shown ? shown : said.fault);
	} else if (!st && (!shallow || strchr(shallow + 1, '\n') || *answer != '/' || shallow[1] != '/')) {
		st = BUILD_FAIL(b, ASSAY_E_FORMAT, "the repository '%s' has a line break in its path", b->repository);
	} else if (!st) {
		out->objects = mem_bytes(answer, (size_t)(shallow - answer));
		out->shallow = mem_string(shallow + 1);
	}
	free(answer);
	local_said_release(&said);
	return st;
}

static bool artefact_build_is_commit(const char *text)
{
	return strlen(text) == ARTEFACT_COMMIT_BYTES - 1 && strspn(text, "0123456789abcdef") == ARTEFACT_COMMIT_BYTES - 1;
}

static enum assay_status artefact_build_find_commit(struct artefact_build *b, struct artefact_build_repository *out)
{
	char *name = mem_format("%s^{commit}", b->version->reference), *found = NULL, shown[LOCAL_LINE_BYTES];
	struct local_said said = { .ok = false };
	enum assay_status st = RUN(b, &said, "git", "-C", b->repository, "rev-parse", "--verify", "--quiet", "--end-of-options", name);

	if (!st)
		found = artefact_build_answer_of(&said);
	if (!st && !found) {
		local_said_line(&said, LOCAL_FIRST_LINE, shown);
		st = BUILD_FAIL(b, ASSAY_E_NOTFOUND, "the repository '%s' has no commit '%s'%s%s", b->repository, b->version->reference,
				*shown ? ": " : "", shown);
	} else if (!st && !artefact_build_is_commit(found)) {
		st = BUILD_FAIL(b, ASSAY_E_FORMAT, "the repository '%s' does not name its commits by SHA-1, which alone is supported",
				b->repository);
	} else if (!st) {
		memcpy(out->commit, found, ARTEFACT_COMMIT_BYTES);
	}
	local_said_release(&said);
	mem_free(found, name);
	return st;
}

static enum assay_status artefact_build_find_commit_of(struct artefact_build *b, struct artefact_build_repository *out)
{
	enum assay_status st = artefact_build_find_objects(b, out);

	return st ? st : artefact_build_find_commit(b, out);
}

static void artefact_build_repository_release(struct artefact_build_repository *repository)
{
	mem_free(repository->objects, repository->shallow);
	*repository = (struct artefact_build_repository){ .objects = NULL };
}

/* ---- the work tree ---- */

static enum assay_status artefact_build_put_git_file(struct artefact_build *b, const char *name, const char *bytes, size_t n)
{
	char *path = mem_format("%s/.git/%s", b->partial, name);
	enum assay_status st = file_replace(path, bytes, n, 0600, b->err);

	free(path);
	return st;
}

static enum assay_status artefact_build_borrow_objects(struct artefact_build *b, const struct artefact_build_repository *repository)
{
	char *line = mem_format("%s\n", repository->objects);
	struct buf commits = BUF_INIT;
	struct assay_error missing;
	enum assay_status st = artefact_build_put_git_file(b, "objects/info/alternates", line, strlen(line));

	if (!st && !file_read(repository->shallow, LOCAL_OUTPUT_BYTES_MAX, &commits, &missing))
		st = artefact_build_put_git_file(b, "shallow", commits.bytes, commits.size);
	buf_release(&commits);
	free(line);
	return st;
}

/* For builds that ask `git describe`. */
static enum assay_status artefact_build_copy_tags(struct artefact_build *b)
{
	struct local_said said = { .ok = false };
	enum assay_status st = RUN(b, &said, "git", "-C", b->repository, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags");

	if (!st && said.ok && said.out_bytes)
		st = artefact_build_put_git_file(b, "packed-refs", said.out, said.out_bytes);
	local_said_release(&said);
	return st;
}

static enum assay_status artefact_build_check_out(struct artefact_build *b, const struct artefact_build_repository *repository)
{
	const char *const init[] = { "git", "init",    "--quiet", "--template=", "--object-format=sha1", "--initial-branch=none",
				     "--",  b->partial };
	const char *const check_out[] = {
		"git",	   "-C",       b->partial,	  "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "checkout",
		"--quiet", "--detach", repository->commit
	};
	enum assay_status st = artefact_build_must(b, "git init", init, sizeof(init) / sizeof(init[0]), GIT_MS, NULL);

	if (!st)
		st = artefact_build_borrow_objects(b, repository);
	if (!st)
		st = artefact_build_copy_tags(b);
	return st ? st : artefact_build_must(b, "git checkout", check_out, sizeof(check_out) / sizeof(check_out[0]), GIT_MS, NULL);
}

/* ---- places ---- */

/* Length before text: no two builds give the same bytes. */
static void artefact_build_name_places(struct artefact_build *b, const char *commit)
{
	const char *directory = b->own->directory ? b->own->directory : "";
	struct buf text = BUF_INIT;
	char hex[DIGEST_HEX_BYTES];

	buf_format(&text, "build 1\n%s\n%zu:%s\n", commit, strlen(directory), directory);
	for (size_t i = 0; i < b->own->build.n; i++)
		buf_format(&text, "%zu:%s\n", strlen(b->own->build.items[i]), b->own->build.items[i]);
	digest_sha256(text.bytes, text.size, hex);
	buf_release(&text);
	b->whole = mem_format("%s/%.*s", b->folder, HASH_DIGITS, hex);
	b->partial = mem_format("%s.partial", b->whole);
	b->log = mem_format("%s.log", b->whole);
}

static enum assay_status artefact_build_make_folder(struct artefact_build *b, const char *laboratory)
{
	char *private = mem_format("%s/.assay", laboratory), *builds = mem_format("%s/builds", private);
	enum assay_status st = file_make_directory(private, 0700, b->err);

	if (!st)
		st = file_make_directory(builds, 0700, b->err);
	if (!st && !(b->folder = realpath(builds, NULL)))
		st = assay_fail_errno(b->err, errno, "cannot use '%s'", builds);
	mem_free(builds, private);
	return st;
}

static enum assay_status artefact_build_wait_for_lock(struct artefact_build *b, int *fd)
{
	char *path = mem_format("%s/lock", b->folder);
	enum assay_status st = ASSAY_OK;

	*fd = file_open_own(path, O_RDWR | O_CREAT, 0644);
	if (*fd < 0)
		st = assay_fail_errno(b->err, errno, "cannot write '%s'", path);
	while (!st && flock(*fd, LOCK_EX | LOCK_NB)) {
		if (artefact_build_is_cancelled(b))
			st = BUILD_FAIL(b, ASSAY_E_IO, "%s", "cancelled while another assay builds");
		else if (errno != EWOULDBLOCK && errno != EINTR)
			st = assay_fail_errno(b->err, errno, "cannot lock '%s'", path);
		else
			usleep(LOCK_LOOK_US);
	}
	if (!st)
		b->running = mem_format("%s/running", b->folder);
	free(path);
	return st;
}

static bool artefact_build_is_directory(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Leftovers of builds that failed or were killed: while we hold the lock, no one else builds. */
static enum assay_status artefact_build_remove_leftovers(struct artefact_build *b)
{
	char **names;
	size_t n;
	enum assay_status st = file_names(b->folder, ".partial", &names, &n, b->err);

	for (size_t i = 0; i < n && !st; i++) {
		char *path = mem_format("%s/%s", b->folder, names[i]);

		st = artefact_build_must(b, "removing an earlier build", (const char *const[]){ "rm", "-rf", "--", path }, 4, REMOVE_MS,
					 NULL);
		free(path);
	}
	file_names_free(names, n);
	return st;
}

/* ---- the build ---- */

/* After a power failure, too, what has the name is whole. */
static enum assay_status artefact_build_make_whole(struct artefact_build *b)
{
	int fd = open(b->partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder = open(b->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum assay_status st = ASSAY_OK;

	if (fd < 0 || folder < 0 || syncfs(fd) || rename(b->partial, b->whole) || (fsync(folder) && errno != EINVAL))
		st = assay_fail_errno(b->err, errno, "cannot keep the build '%s'", b->whole);
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	return st;
}

/* Also for a build that exists already. A link that leads elsewhere is refused. */
static enum assay_status artefact_build_find_output(struct artefact_build *b, const char *tree, char **out)
{
	const char *directory = b->own->directory;
	char *path = directory ? mem_format("%s/%s", tree, directory) : mem_string(tree), *real = realpath(path, NULL);
	enum assay_status st = ASSAY_OK;

	if (!real)
		st = BUILD_FAIL(b, ASSAY_E_NOTFOUND, "the build has no '%s'" ARTEFACT_LOG "%s'", directory ? directory : ".", b->log);
	else if (strncmp(real, tree, strlen(tree)) != 0 || (real[strlen(tree)] && real[strlen(tree)] != '/'))
		st = BUILD_FAIL(b, ASSAY_E_FORMAT, "'%s' leads out of the build", directory);
	if (st)
		free(real);
	else
		*out = real;
	free(path);
	return st;
}

static enum assay_status artefact_build_command(struct artefact_build *b)
{
	const struct manifest_words *build = &b->own->build;
	const char **words = mem_new(build->n, sizeof(*words));
	struct buf what = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < build->n; i++) {
		words[i] = build->items[i];
		buf_format(&what, "%s%s", i ? " " : "", build->items[i]);
	}
	if (build->n) {
		char *name = mem_format("its build '%s'", TEXT_SHOWN(what.bytes));

		st = artefact_build_must(b, name, words, build->n, BUILD_MS, b->partial);
		free(name);
	}
	buf_release(&what);
	free(words);
	return st;
}

static enum assay_status artefact_build_make(struct artefact_build *b, const struct artefact_build_repository *repository)
{
	char *output = NULL;
	enum assay_status st = artefact_build_remove_leftovers(b);

	if (!st)
		st = artefact_build_check_out(b, repository);
	if (!st)
		st = artefact_build_command(b);
	if (!st)
		st = artefact_build_find_output(b, b->partial, &output);
	free(output);
	return st ? st : artefact_build_make_whole(b);
}

/* The log is for people who look for a reason: it replaces the reason of nothing. */
static void artefact_build_keep_log(struct artefact_build *b)
{
	struct assay_error ignored;

	if (b->log)
		file_replace(b->log, b->said.bytes, b->said.size, 0600, &ignored);
}

static enum assay_status artefact_build_find_or_make(struct artefact_build *b, const char *laboratory,
						     struct artefact_build_repository *repository, char **directory)
{
	enum assay_status st = artefact_build_make_folder(b, laboratory);
	int lock = -1;

	if (!st)
		st = artefact_build_find_commit_of(b, repository);
	if (st)
		return st;
	artefact_build_name_places(b, repository->commit);
	if (!artefact_build_is_directory(b->whole)) {
		st = artefact_build_wait_for_lock(b, &lock);
		if (!st && !artefact_build_is_directory(b->whole)) { /* another assay may just have built it */
			st = artefact_build_make(b, repository);
			artefact_build_keep_log(b);
		}
	}
	if (!st)
		st = artefact_build_find_output(b, b->whole, directory);
	if (lock >= 0)
		close(lock);
	return st;
}

enum assay_status artefact_check(const struct manifest *manifest, size_t version, const volatile sig_atomic_t *cancelled,
				 char commit[ARTEFACT_COMMIT_BYTES], struct assay_error *err)
{
	const struct manifest_version *v = &manifest->versions[version];
	struct artefact_build b = { .manifest = manifest, .version = v, .cancelled = cancelled, .err = err };
	struct artefact_build_repository repository = { .objects = NULL };
	enum assay_status st;

	ASSAY_BUG_IF(v->kind != MANIFEST_GIT);
	b.repository = manifest_repository(manifest, v);
	st = artefact_build_find_commit_of(&b, &repository);
	memcpy(commit, repository.commit, sizeof(repository.commit));
	artefact_build_repository_release(&repository);
	free(b.repository);
	buf_release(&b.said);
	return st;
}

enum assay_status artefact_build(const char *laboratory, const struct manifest *manifest, size_t version, const struct manifest_own *own,
				 const volatile sig_atomic_t *cancelled, char **directory, char commit[ARTEFACT_COMMIT_BYTES],
				 struct assay_error *err)
{
	const struct manifest_version *v = &manifest->versions[version];
	struct artefact_build b = { .manifest = manifest, .version = v, .own = own, .cancelled = cancelled, .err = err };
	struct artefact_build_repository repository = { .objects = NULL };
	enum assay_status st;

	ASSAY_BUG_IF(v->kind != MANIFEST_GIT);
	*directory = NULL;
	b.repository = manifest_repository(manifest, v);
	st = artefact_build_find_or_make(&b, laboratory, &repository, directory);
	memcpy(commit, repository.commit, sizeof(repository.commit));
	artefact_build_repository_release(&repository);
	mem_free(b.repository, b.folder, b.running, b.partial, b.whole, b.log);
	buf_release(&b.said);
	return st;
}
