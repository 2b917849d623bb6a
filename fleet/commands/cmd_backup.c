/* assay backup: makes a consistent copy of a laboratory while other processes write to it. SQLite's backup copies the database. */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/commands/fleet_commands.h"
#include "fleet/lab/lab.h"
#include "fleet/lab/store.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

struct backup {
	uint64_t files, bytes, links; /* links: number of symbolic links among `files` */
};

#define WALK_FDS 32
#define CHUNK	 (1 << 20)

/* Arguments of copy_one(), which nftw() cannot pass. `to` is the directory of the copy. */
static _Thread_local struct walk {
	const char *from, *to;
	struct backup *done;
	struct assay_error *err;
	enum assay_status st;
	char *skipped; /* path of the last excluded file or directory, with a '/' appended; NULL if there is none yet */
} walk;

/* ---- one file ---- */

static enum assay_status copy_bytes(int from, int to, const char *path, struct assay_error *err)
{
	ssize_t n;

	while ((n = sendfile(to, from, NULL, CHUNK)) > 0)
		walk.done->bytes += (uint64_t)n;
	return n < 0 || fsync(to) ? assay_fail_errno(err, errno, "cannot copy '%s'", path) : ASSAY_OK;
}

static enum assay_status copy_file(const char *path, const char *to, const struct stat *info, struct assay_error *err)
{
	int in = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out = -1;
	enum assay_status st = ASSAY_OK;

	if (in < 0 && errno == ENOENT) /* another process has replaced or removed the file; the walk also finds a replacement */
		return ASSAY_OK;
	if (in >= 0)
		out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, info->st_mode & 0777);
	if (in < 0 || out < 0)
		st = assay_fail_errno(err, errno, in < 0 ? "cannot read '%s'" : "cannot make the copy of '%s'", path);
	else
		st = copy_bytes(in, out, path, err);
	if (!st && futimens(out, (const struct timespec[]){ info->st_atim, info->st_mtim }))
		st = assay_fail_errno(err, errno, "cannot set the time of the copy of '%s'", path);
	walk.done->files += !st;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return st;
}

static enum assay_status copy_link(const char *path, const char *to, struct assay_error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return assay_fail_errno(err, errno, "cannot read '%s'", path);
	target[n] = '\0';
	if (symlink(target, to))
		return assay_fail_errno(err, errno, "cannot make the copy of '%s'", path);
	walk.done->files++;
	walk.done->links++;
	return ASSAY_OK;
}

/* ---- all files ---- */

static bool is_excluded(const char *relative)
{
	static const char *const names[] = { ".assay/runs.db", ".assay/runs.db-wal", ".assay/runs.db-shm", ".assay/runs.db-journal",
					     ".assay/lock",    ".assay/builds",	     ".assay/emulated" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(relative, names[i]) == 0)
			return true;
	return false;
}

static int copy_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	const char *relative = path + strlen(walk.from);
	char *to;

	(void)place;
	relative += *relative == '/';
	if (walk.skipped && strncmp(path, walk.skipped, strlen(walk.skipped)) == 0)
		return 0;
	if (is_excluded(relative)) {
		free(walk.skipped);
		walk.skipped = mem_format("%s/", path);
		return 0;
	}
	to = mem_format("%s/%s", walk.to, relative);
	if (kind == FTW_DNR)
		walk.st = assay_fail(walk.err, ASSAY_E_IO, "cannot read '%s'", path);
	else if (kind == FTW_D && *relative && mkdir(to, info->st_mode & 0777) && errno != EEXIST)
		walk.st = assay_fail_errno(walk.err, errno, "cannot make '%s'", to);
	else if (kind == FTW_F && S_ISREG(info->st_mode))
		walk.st = copy_file(path, to, info, walk.err);
	else if (kind == FTW_SL)
		walk.st = copy_link(path, to, walk.err);
	free(to);
	return walk.st != ASSAY_OK;
}

static enum assay_status copy_tree(const char *from, const char *to, struct backup *done, struct assay_error *err)
{
	enum assay_status st;

	walk = (struct walk){ from, to, done, err, ASSAY_OK, NULL };
	if (nftw(from, copy_one, WALK_FDS, FTW_PHYS) && !walk.st)
		walk.st = assay_fail_errno(err, errno, "cannot read '%s'", from);
	st = walk.st;
	free(walk.skipped);
	return st;
}

/* ---- the database ---- */

static enum assay_status copy_store(const char *directory, const char *to, struct backup *done, struct assay_error *err)
{
	char *from_path = mem_format("%s/.assay/runs.db", directory), *to_path = mem_format("%s/.assay/runs.db", to),
	     *to_private = mem_format("%s/.assay", to);
	struct store store = { 0 }, copy = { 0 };
	struct stat info;
	enum assay_status st = file_make_directory(to_private, 0700, err);

	if (!st)
		st = store_open(from_path, STORE_READ, &store, err);
	if (!st)
		st = store_open(to_path, STORE_WRITE, &copy, err);
	if (!st) {
		sqlite3_backup *backup = sqlite3_backup_init(copy.db, "main", store.db, "main");
		int code = backup ? sqlite3_backup_step(backup, -1) : sqlite3_errcode(copy.db), end = sqlite3_backup_finish(backup);

		if (code != SQLITE_DONE || end)
			st = assay_fail(err, ASSAY_E_IO, "cannot copy '%s' to '%s': %s", from_path, to_path,
					sqlite3_errstr(end ? end : code));
	}
	if (!st)
		st = store_check(&copy, err);
	store_close(&copy);
	store_close(&store);
	if (!st && stat(to_path, &info) == 0) {
		done->files++;
		done->bytes += (uint64_t)info.st_size;
	}
	mem_free(from_path, to_path, to_private);
	return st;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info, (void)kind, (void)place;
	return remove(path);
}

/* Copies the laboratory to `to`, which must not exist and whose parent must exist outside the laboratory. Makes "TO.partial", syncs it, and
 * renames it when it is complete. Excludes files that can be made again (.assay/builds) or are local (.assay/emulated, lock, sockets). */
static enum assay_status lab_backup(const char *directory, const char *to, struct backup *out, struct assay_error *err)
{
	char *partial = mem_format("%s.partial", to), *from = realpath(directory, NULL), *made = NULL;
	enum assay_status st = ASSAY_OK;
	struct stat info;

	*out = (struct backup){ 0 };
	if (lstat(to, &info) == 0)
		st = assay_fail(err, ASSAY_E_CONFLICT, "'%s' already exists", to);
	else if (!from || mkdir(partial, 0700))
		st = from && errno == EEXIST
			 ? assay_fail(err, ASSAY_E_CONFLICT,
				      "'%s' exists: a backup was interrupted or is running; if interrupted, remove it", partial)
			 : assay_fail_errno(err, errno, "cannot make '%s'", from ? partial : directory);
	if (!st && !(made = realpath(partial, NULL)))
		st = assay_fail_errno(err, errno, "cannot find '%s'", partial);
	if (!st && strncmp(made, from, strlen(from)) == 0 && made[strlen(from)] == '/')
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' is inside the laboratory: name a directory outside", to);
	/* The database is copied first. All files that it names exist by then, and they never change. */
	if (!st)
		st = copy_store(directory, made, out, err);
	if (!st)
		st = copy_tree(from, made, out, err);
	if (!st)
		st = file_sync_all(made, err);
	if (!st && rename(partial, to))
		st = assay_fail_errno(err, errno, "cannot rename '%s' to '%s'", partial, to);
	if (st && made) /* free the space if the disk is full */
		(void)nftw(made, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
	mem_free(partial, from, made);
	return st;
}

/* ---- the command ---- */

struct arguments {
	const char *to;
};

static enum assay_status backup_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct backup backup;
	enum assay_status st = lab_backup(lab->directory, a->to, &backup, err);

	if (st)
		return st;
	doc_line(d, "%s is a copy of %s: %zu file%s, %.1f MiB; its database was checked", a->to, lab->directory, (size_t)backup.files,
		 text_plural((size_t)backup.files), (double)backup.bytes / (1 << 20));
	if (backup.links)
		cli_note("symbolic links: %zu; their targets are not in the copy", (size_t)backup.links);
	doc_set(d, "to", a->to);
	doc_set(d, "files", (size_t)backup.files);
	doc_set(d, "bytes", (size_t)backup.bytes);
	return ASSAY_OK;
}

static const struct cli_option words[] = { CLI_ARGUMENT("TO", struct arguments, to), CLI_END };

const struct command backup_command = {
	.name = "backup",
	.summary = "copy the laboratory while it is in use",
	.about = "Copies the laboratory to the directory TO, also during a night: a consistent copy of the database, and all files except "
		 "emulated hosts and builds of git versions, which can be made again. TO appears only when the copy is complete, synced "
		 "and checked; an interrupted copy is left as TO.partial. The copy is a laboratory: 'assay -C TO result list'.",
	.examples = "  assay backup /srv/backup/lab-$(date +%F)\n",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_READ, backup_run),
};
