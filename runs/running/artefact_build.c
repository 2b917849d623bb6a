/* From a reference of a git repository to a directory that can be deployed.
 *
 * A commit is laid out and built as HASH.partial and gets its name HASH when all is well, so that a directory of that name is a
 * whole build. One build at a time, by a lock that dies with its holder; a second lock is held by the helper until the last
 * process of a build has gone, so that nobody removes what somebody still writes. */
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/running/artefact.h"
#include "runs/running/artefact_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMOVE_MS    (10 * 60 * 1000)
#define BUILD_MS     (2 * 60 * 60 * 1000)
#define LOCK_LOOK_US 100000
#define HASH_DIGITS  32

static bool is_cancelled(const struct artefact_build *b)
{
	return b->cancelled && *b->cancelled;
}

/* ---- commands ---- */

enum assay_status artefact_build_run(struct artefact_build *b, const char *const *words, size_t n, int64_t timeout_ms,
                                     const char *directory, struct local_said *out)
{
	const struct local_command command = { .words = words, .n = n, .git = true, .directory = directory, .lock = b->running,
					       .timeout_ms = timeout_ms, .cancelled = b->cancelled };
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
	if (is_cancelled(b)) {
		local_said_release(out);
		return ARTEFACT_BUILD_FAIL(b, ASSAY_E_IO, "%s", "cancelled");
	}
	return ASSAY_OK;
}

enum assay_status artefact_build_must(struct artefact_build *b, const char *what, const char *const *words, size_t n,
                                      int64_t timeout_ms, const char *directory)
{
	struct local_said said = {.ok = false};
	char shown[TEXT_SHOWN_BYTES];
	enum assay_status st = artefact_build_run(b, words, n, timeout_ms, directory, &said);

	if (!st && !said.ok) {
		local_said_line(&said, LOCAL_LAST_LINE, shown);
		st = ARTEFACT_BUILD_FAIL(b, ASSAY_E_IO, "%s failed: %s%s%s%s; see '%s'", what, said.fault,
		                         *shown ? ", last line '" : "", shown, *shown ? "'" : "", b->log);
	}
	local_said_release(&said);
	return st;
}

/* ---- places ---- */

/* Length before text: no two builds give the same bytes. */
static void name_places(struct artefact_build *b, const char *commit)
{
	const char *directory = b->version->directory ? b->version->directory : "";
	struct buf text = BUF_INIT;
	char hex[DIGEST_HEX_BYTES];

	buf_format(&text, "build 1\n%s\n%zu:%s\n", commit, strlen(directory), directory);
	for (size_t i = 0; i < b->version->build.n; i++)
		buf_format(&text, "%zu:%s\n", strlen(b->version->build.items[i]), b->version->build.items[i]);
	digest_sha256(text.bytes, text.size, hex);
	buf_release(&text);
	b->whole = mem_format("%s/%.*s", b->folder, HASH_DIGITS, hex);
	b->partial = mem_format("%s.partial", b->whole);
	b->log = mem_format("%s.log", b->whole);
}

static enum assay_status make_folder(struct artefact_build *b, const char *laboratory)
{
	char *private = mem_format("%s/.assay", laboratory), *builds = mem_format("%s/builds", private);
	enum assay_status st = file_make_directory(private, 0755, b->err);

	if (!st)
		st = file_make_directory(builds, 0755, b->err);
	if (!st && !(b->folder = realpath(builds, NULL)))
		st = assay_fail_errno(b->err, errno, "cannot use '%s'", builds);
	free(builds);
	free(private);
	return st;
}

static enum assay_status wait_for_lock(struct artefact_build *b, int *fd)
{
	char *path = mem_format("%s/lock", b->folder);
	enum assay_status st = ASSAY_OK;

	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (*fd < 0)
		st = assay_fail_errno(b->err, errno, "cannot write '%s'", path);
	while (!st && flock(*fd, LOCK_EX | LOCK_NB)) {
		if (is_cancelled(b))
			st = ARTEFACT_BUILD_FAIL(b, ASSAY_E_IO, "%s", "cancelled while another assay builds");
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

static bool is_directory(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int is_partial(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name), suffix = strlen(".partial");

	return n > suffix && strcmp(entry->d_name + n - suffix, ".partial") == 0;
}

/* Of builds that failed or were killed. Who holds the lock knows that nobody else builds. */
static enum assay_status remove_leftovers(struct artefact_build *b)
{
	struct dirent **entries = NULL;
	enum assay_status st = ASSAY_OK;
	int n = scandir(b->folder, &entries, is_partial, alphasort);

	if (n < 0)
		return assay_fail_errno(b->err, errno, "cannot read the directory '%s'", b->folder);
	for (int i = 0; i < n; i++) {
		char *path = mem_format("%s/%s", b->folder, entries[i]->d_name);

		if (!st)
			st = artefact_build_must(b, "removing an earlier build", (const char *const[]){"rm", "-rf", "--", path},
			                         4, REMOVE_MS, NULL);
		free(path);
		free(entries[i]);
	}
	free(entries);
	return st;
}

/* ---- the build ---- */

/* After a power failure, too, what has the name is whole. */
static enum assay_status make_whole(struct artefact_build *b)
{
	int fd = open(b->partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    folder = open(b->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum assay_status st = ASSAY_OK;

	if (fd < 0 || folder < 0 || syncfs(fd) || rename(b->partial, b->whole) || (fsync(folder) && errno != EINVAL))
		st = assay_fail_errno(b->err, errno, "cannot keep the build '%s'", b->whole);
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	return st;
}

/* Also of a build that is there already. A link that leads elsewhere is refused. */
static enum assay_status find_output(struct artefact_build *b, const char *tree, char **out)
{
	const char *directory = b->version->directory;
	char *path = directory ? mem_format("%s/%s", tree, directory) : mem_string(tree), *real = realpath(path, NULL);
	enum assay_status st = ASSAY_OK;

	if (!real)
		st = ARTEFACT_BUILD_FAIL(b, ASSAY_E_NOTFOUND, "the build has no '%s'; see '%s'", directory ? directory : ".",
		                         b->log);
	else if (strncmp(real, tree, strlen(tree)) != 0 || (real[strlen(tree)] && real[strlen(tree)] != '/'))
		st = ARTEFACT_BUILD_FAIL(b, ASSAY_E_FORMAT, "'%s' leads out of the build", directory);
	if (st)
		free(real);
	else
		*out = real;
	free(path);
	return st;
}

static enum assay_status build_command(struct artefact_build *b)
{
	const struct manifest_words *build = &b->version->build;
	const char **words = mem_new(build->n, sizeof(*words));
	struct buf what = BUF_INIT;
	char shown[TEXT_SHOWN_BYTES];
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < build->n; i++) {
		words[i] = build->items[i];
		buf_format(&what, "%s%s", i ? " " : "", build->items[i]);
	}
	if (build->n) {
		char *name = mem_format("its build '%s'", text_shown(what.bytes, shown));

		st = artefact_build_must(b, name, words, build->n, BUILD_MS, b->partial);
		free(name);
	}
	buf_release(&what);
	free(words);
	return st;
}

static enum assay_status build_locked(struct artefact_build *b, const struct artefact_repository *repository)
{
	char *output = NULL;
	enum assay_status st = remove_leftovers(b);

	if (!st)
		st = artefact_git_check_out(b, repository);
	if (!st)
		st = build_command(b);
	if (!st)
		st = find_output(b, b->partial, &output);
	free(output);
	return st ? st : make_whole(b);
}

/* The log is for people who look for a reason: it replaces the reason of nothing. */
static void keep_log(struct artefact_build *b)
{
	struct assay_error ignored;

	if (b->log)
		file_replace(b->log, b->said.bytes, b->said.size, 0644, &ignored);
}

static enum assay_status build(struct artefact_build *b, const char *laboratory, struct artefact_repository *repository,
                               char **directory)
{
	enum assay_status st = make_folder(b, laboratory);
	int lock = -1;

	if (!st)
		st = artefact_git_find(b, repository);
	if (st)
		return st;
	name_places(b, repository->commit);
	if (!is_directory(b->whole)) {
		st = wait_for_lock(b, &lock);
		if (!st && !is_directory(b->whole)) { /* somebody else may just have built it */
			st = build_locked(b, repository);
			keep_log(b);
		}
	}
	if (!st)
		st = find_output(b, b->whole, directory);
	if (lock >= 0)
		close(lock);
	return st;
}

static char *repository_of(const struct manifest *manifest, const struct manifest_version *version)
{
	const char *path = version->repository;

	return *path == '/' ? mem_string(path) : mem_format("%s/%s", manifest->directory, path);
}

enum assay_status artefact_check(const struct manifest *manifest, size_t version, const volatile sig_atomic_t *cancelled, struct assay_error *err)
{
	const struct manifest_version *v = &manifest->versions[version];
	struct artefact_build b = {.manifest = manifest, .version = v, .cancelled = cancelled, .err = err};
	struct artefact_repository repository = {.objects = NULL};
	enum assay_status st;

	ASSAY_BUG_IF(v->kind != MANIFEST_GIT);
	b.repository = repository_of(manifest, v);
	st = artefact_git_find(&b, &repository);
	artefact_repository_release(&repository);
	free(b.repository);
	buf_release(&b.said);
	return st;
}

enum assay_status artefact_build(const char *laboratory, const struct manifest *manifest, size_t version,
                                 const volatile sig_atomic_t *cancelled, char **directory, char commit[ARTEFACT_COMMIT_BYTES],
                                 struct assay_error *err)
{
	const struct manifest_version *v = &manifest->versions[version];
	struct artefact_build b = {.manifest = manifest, .version = v, .cancelled = cancelled, .err = err};
	struct artefact_repository repository = {.objects = NULL};
	enum assay_status st;

	ASSAY_BUG_IF(v->kind != MANIFEST_GIT);
	*directory = NULL;
	b.repository = repository_of(manifest, v);
	st = build(&b, laboratory, &repository, directory);
	memcpy(commit, repository.commit, sizeof(repository.commit));
	artefact_repository_release(&repository);
	free(b.repository);
	free(b.folder);
	free(b.running);
	free(b.partial);
	free(b.whole);
	free(b.log);
	buf_release(&b.said);
	return st;
}
