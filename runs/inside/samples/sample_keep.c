#include "runs/inside/samples/sample_keep.h"

#include "base/file.h"
#include "base/mem.h"
#include "runs/inside/samples/sample_pack.h"
#include "runs/inside/samples/samples.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SUFFIX ".samples.zst"

/* LABORATORY/.assay/samples, and below it the first two digits of the hash: directories stay small. */
static char *directory_of(const struct lab *lab, const char *hash)
{
	return mem_format("%s/.assay/samples%s%.2s", lab->directory, hash ? "/" : "", hash ? hash : "");
}

char *sample_keep_path(const struct lab *lab, const char *hash)
{
	return mem_format("%s/.assay/samples/%.2s/%s" SUFFIX, lab->directory, hash, hash);
}

/* ---- one file ---- */

/* Its name in the directory above must be on the disk before a row relies on it. */
static enum assay_status make_directory(const char *path, struct assay_error *err)
{
	bool is_new = access(path, F_OK) != 0;
	enum assay_status st = file_make_directory(path, 0700, err);
	char *above = mem_format("%s/..", path);
	int dir = !st && is_new ? open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (dir >= 0) {
		(void)fsync(dir); /* some file systems cannot */
		close(dir);
	}
	free(above);
	return st;
}

static enum assay_status make_directories(const struct lab *lab, const char *hash, struct assay_error *err)
{
	char *all = directory_of(lab, NULL), *own = directory_of(lab, hash);
	enum assay_status st = make_directory(all, err);

	if (!st)
		st = make_directory(own, err);
	free(own);
	free(all);
	return st;
}

enum assay_status sample_keep_file(const struct lab *lab, const void *bytes, size_t n, enum record_back_end back_end, struct sample_kept *out,
				   struct assay_error *err)
{
	struct sample_kept kept = { .bytes = (int64_t)n, .back_end = back_end };
	struct buf packed = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	char *path;

	ASSAY_BUG_IF(lab->lock_fd < 0);
	digest_sha256(bytes, n, kept.hash);
	path = sample_keep_path(lab, kept.hash);
	if (access(path, F_OK) != 0) {
		st = make_directories(lab, kept.hash, err);
		if (!st)
			st = sample_pack(bytes, n, &packed, err);
		if (!st)
			st = file_replace(path, packed.bytes, packed.size, 0600, err);
	}
	*out = kept;
	buf_release(&packed);
	free(path);
	return st;
}

enum assay_status sample_keep_rows(struct store *store, const struct sample_keep_place *place, const struct sample_kept *kept, size_t n,
				   struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(store,
					     "INSERT OR IGNORE INTO sample_file (plan, machine, version, input, repetition, pack, hash, bytes, "
					     "back_end, hardware_type) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
					     &stmt, err);

	for (size_t i = 0; !st && i < n; i++) {
		bool row;

		store_bind(stmt, "ttttiititt", place->plan, place->machine, place->version, place->input, place->repetition, kept[i].pack, kept[i].hash,
			   kept[i].bytes, samples_back_end_name(kept[i].back_end), place->hardware_type);
		st = store_step(store, stmt, &row, err);
	}
	sqlite3_finalize(stmt);
	return st;
}

/* ---- what has no row ---- */

struct sweep {
	struct store *store;
	sqlite3_stmt *find;
	char *directory; /* that is looked through */
	size_t removed;
	struct assay_error *err;
};

static bool is_ours(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	return n == DIGEST_HEX_BYTES - 1 && strcmp(name + n, SUFFIX) == 0;
}

static enum assay_status sweep_file(struct sweep *s, const char *name)
{
	char hash[DIGEST_HEX_BYTES], *path;
	enum assay_status st;
	bool row = false;

	memcpy(hash, name, DIGEST_HEX_BYTES - 1); /* is_ours() */
	hash[DIGEST_HEX_BYTES - 1] = '\0';
	store_bind(s->find, "t", hash);
	st = store_step(s->store, s->find, &row, s->err);
	if (st || row)
		return st;
	path = mem_format("%s/%s", s->directory, name);
	s->removed += unlink(path) == 0;
	free(path);
	return ASSAY_OK;
}

/* Of a directory that need not be there. */
static enum assay_status each_entry(const char *directory, enum assay_status (*take)(struct sweep *s, const char *name), struct sweep *s)
{
	DIR *dir = opendir(directory);
	enum assay_status st = ASSAY_OK;
	struct dirent *entry;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? ASSAY_OK : assay_fail_errno(s->err, errno, "cannot read the directory '%s'", directory);
	while (!st && (entry = readdir(dir)))
		st = take(s, entry->d_name);
	closedir(dir);
	return st;
}

static enum assay_status sweep_if_ours(struct sweep *s, const char *name)
{
	return is_ours(name) ? sweep_file(s, name) : ASSAY_OK;
}

static enum assay_status sweep_folder(struct sweep *s, const char *name)
{
	char *all = s->directory;
	enum assay_status st;

	if (strlen(name) != 2 || strspn(name, "0123456789abcdef") != 2)
		return ASSAY_OK;
	s->directory = mem_format("%s/%s", all, name);
	file_sweep(s->directory);
	st = each_entry(s->directory, sweep_if_ours, s);
	free(s->directory);
	s->directory = all;
	return st;
}

enum assay_status sample_keep_sweep(struct lab *lab, size_t *n, struct assay_error *err)
{
	struct sweep s = { .store = &lab->store, .directory = directory_of(lab, NULL), .err = err };
	enum assay_status st = store_prepare(&lab->store, "SELECT 1 FROM sample_file WHERE hash = ? AND pruned = 0 LIMIT 1", &s.find, err);

	ASSAY_BUG_IF(lab->lock_fd < 0);
	if (!st)
		st = each_entry(s.directory, sweep_folder, &s);
	if (n)
		*n = s.removed;
	sqlite3_finalize(s.find);
	free(s.directory);
	return st;
}

/* ---- policy ---- */

static const char which_before[] = "pruned = 0 AND (plan, machine, version, input, repetition) IN "
				   "(SELECT plan, machine, version, input, repetition FROM execution WHERE taken_ms < ?)";

static enum assay_status count_before(struct store *store, int64_t before_ms, struct sample_pruned *out, struct assay_error *err)
{
	char *sql = mem_format("SELECT count(*), sum(bytes) FROM sample_file WHERE %s", which_before);
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(store, sql, &stmt, err);

	if (!st) {
		store_bind(stmt, "i", before_ms);
		st = store_step(store, stmt, &row, err);
	}
	if (!st && row)
		*out = (struct sample_pruned){ (size_t)sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1) };
	sqlite3_finalize(stmt);
	free(sql);
	return st;
}

static enum assay_status mark_before(struct store *store, int64_t before_ms, struct assay_error *err)
{
	char *sql = mem_format("UPDATE sample_file SET pruned = 1 WHERE %s", which_before);
	sqlite3_stmt *stmt = NULL;
	bool row;
	enum assay_status st = store_prepare(store, sql, &stmt, err);

	if (!st) {
		store_bind(stmt, "i", before_ms);
		st = store_step(store, stmt, &row, err);
	}
	sqlite3_finalize(stmt);
	free(sql);
	return st;
}

/* Killed behind the commit, it leaves files that the next session removes. */
enum assay_status sample_keep_prune(struct lab *lab, int64_t before_ms, struct sample_pruned *out, struct assay_error *err)
{
	enum assay_status st = store_begin(&lab->store, err);

	*out = (struct sample_pruned){ 0, 0 };
	if (!st)
		st = count_before(&lab->store, before_ms, out, err);
	if (!st)
		st = mark_before(&lab->store, before_ms, err);
	if (!st)
		st = store_commit(&lab->store, err);
	store_rollback(&lab->store);
	return st ? st : sample_keep_sweep(lab, NULL, err);
}
