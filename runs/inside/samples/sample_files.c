#include "runs/inside/samples/sample_files.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "runs/inside/samples/samples.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL	       3
#define WINDOW_LOG_MAX 23 /* maximum window when reading; LEVEL needs 21; limits the memory for a frame to 8 MiB */
#define PIECE_BYTES    ((size_t)1 << 20)

enum assay_status sample_compress(const void *bytes, size_t n, struct buf *out, struct assay_error *err)
{
	size_t bound = ZSTD_compressBound(n), size;
	ZSTD_CCtx *context = ZSTD_createCCtx();
	enum assay_status st = ASSAY_OK;
	char *packed;

	ASSAY_BUG_IF(n > SAMPLES_FILE_BYTES_MAX);
	if (!context)
		return assay_fail(err, ASSAY_E_IO, "cannot compress: out of memory");
	packed = mem_new(bound, 1);
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(context, packed, bound, bytes, n);
	if (ZSTD_isError(size))
		st = assay_fail(err, ASSAY_E_IO, "cannot compress: %s", ZSTD_getErrorName(size));
	else
		buf_add(out, packed, size);
	free(packed);
	ZSTD_freeCCtx(context);
	return st;
}

static enum assay_status unpack_frame(ZSTD_DCtx *context, const char *name, ZSTD_inBuffer *in, size_t limit, struct buf *out,
				      struct assay_error *err)
{
	char *piece = mem_new(PIECE_BYTES, 1);
	enum assay_status st = ASSAY_OK;
	size_t left = 1, begin = out->size;

	while (!st && left) {
		ZSTD_outBuffer to = { piece, PIECE_BYTES, 0 };
		size_t before = in->pos;

		left = ZSTD_decompressStream(context, &to, in);
		if (ZSTD_isError(left))
			st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged: %s", name, ZSTD_getErrorName(left));
		else if (to.pos > limit - (out->size - begin))
			st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged: it has more than %zu bytes", name, limit);
		else if (left && in->pos == before && to.pos == 0)
			st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is truncated", name);
		else
			buf_add(out, piece, to.pos);
	}
	free(piece);
	return st;
}

enum assay_status sample_decompress(const char *name, const void *packed, size_t n, size_t limit, struct buf *out, struct assay_error *err)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_inBuffer in = { packed, n, 0 };
	enum assay_status st;

	if (!context)
		return assay_fail(err, ASSAY_E_IO, "cannot read '%s': out of memory", name);
	ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	st = unpack_frame(context, name, &in, limit, out, err);
	if (!st && in.pos < in.size)
		st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged: bytes follow its end", name);
	ZSTD_freeDCtx(context);
	return st;
}

#define SUFFIX	   ".samples.zst"
#define HEX_DIGITS "0123456789abcdef"

/* ---- writing ---- */

/* Returns LABORATORY/.assay/samples if `hash` is NULL, otherwise the subdirectory that is named by the hash's first two digits. */
static char *sample_directory(const struct lab *lab, const char *hash)
{
	return mem_format("%s/.assay/samples%s%.2s", lab->directory, hash ? "/" : "", hash ? hash : "");
}

char *sample_file_path(const struct lab *lab, const char *hash)
{
	return mem_format("%s/.assay/samples/%.2s/%s" SUFFIX, lab->directory, hash, hash);
}

/* Makes a directory and syncs its name. Does so even if another thread made it, because a row must not refer to an unsynced file. */
static enum assay_status make_directory(const char *path, struct assay_error *err)
{
	enum assay_status st = file_make_directory(path, 0700, err);
	char *above = mem_format("%s/..", path);
	int dir = !st ? open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (dir >= 0) {
		(void)fsync(dir); /* ignores errors, because some file systems do not support this */
		close(dir);
	}
	free(above);
	return st;
}

static enum assay_status make_directories(const struct lab *lab, const char *hash, struct assay_error *err)
{
	char *all = sample_directory(lab, NULL), *own = sample_directory(lab, hash);
	enum assay_status st = make_directory(all, err);

	if (!st)
		st = make_directory(own, err);
	mem_free(own, all);
	return st;
}

enum assay_status sample_file_store(const struct lab *lab, const void *bytes, size_t n, enum record_back_end back_end,
				    struct sample_stored *out, struct assay_error *err)
{
	struct sample_stored kept = { .bytes = (int64_t)n, .back_end = back_end };
	struct buf packed = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	char *path;

	ASSAY_BUG_IF(lab->lock_fd < 0);
	digest_sha256(bytes, n, kept.hash);
	path = sample_file_path(lab, kept.hash);
	if (access(path, F_OK) != 0) {
		st = make_directories(lab, kept.hash, err);
		if (!st)
			st = sample_compress(bytes, n, &packed, err);
		if (!st)
			st = file_replace(path, packed.bytes, packed.size, 0600, err);
	}
	*out = kept;
	buf_release(&packed);
	free(path);
	return st;
}

enum assay_status sample_file_insert_rows(struct store *store, const struct sample_file_execution *place, const struct sample_stored *kept,
					  size_t n, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++)
		st = store_execute(
		    store, err,
		    "INSERT OR IGNORE INTO sample_file (plan, machine, version, input, repetition, pack, hash, bytes, back_end, "
		    "hardware_type) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		    "ttttiititt", place->plan, place->machine, place->version, place->input, place->repetition, kept[i].pack, kept[i].hash,
		    kept[i].bytes, samples_back_end_name(kept[i].back_end), place->hardware_type);
	return st;
}

/* ---- files without a row ---- */

struct sweep {
	struct store *store;
	sqlite3_stmt *find;
	char *directory; /* directory that is being searched */
	size_t removed;
	struct assay_error *err;
};

static bool is_sample_file(const char *name)
{
	size_t n = strspn(name, HEX_DIGITS);

	return n == DIGEST_HEX_BYTES - 1 && strcmp(name + n, SUFFIX) == 0;
}

static enum assay_status sweep_file(struct sweep *s, const char *name)
{
	char hash[DIGEST_HEX_BYTES], *path;
	enum assay_status st;
	bool row = false;

	if (!is_sample_file(name))
		return ASSAY_OK;
	memcpy(hash, name, DIGEST_HEX_BYTES - 1);
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

/* Calls `function` for each name in a directory. Does nothing if the directory does not exist. */
static enum assay_status each_entry(const char *directory, enum assay_status (*function)(struct sweep *s, const char *name),
				    struct sweep *s)
{
	DIR *dir = opendir(directory);
	enum assay_status st = ASSAY_OK;
	struct dirent *entry;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? ASSAY_OK
							   : assay_fail_errno(s->err, errno, "cannot read the directory '%s'", directory);
	while (!st && (entry = readdir(dir)))
		st = function(s, entry->d_name);
	closedir(dir);
	return st;
}

static enum assay_status sweep_folder(struct sweep *s, const char *name)
{
	char *all = s->directory;
	enum assay_status st;

	if (strlen(name) != 2 || strspn(name, HEX_DIGITS) != 2)
		return ASSAY_OK;
	s->directory = mem_format("%s/%s", all, name);
	file_remove_temporary(s->directory);
	st = each_entry(s->directory, sweep_file, s);
	free(s->directory);
	s->directory = all;
	return st;
}

enum assay_status sample_file_remove_orphans(struct lab *lab, size_t *n, struct assay_error *err)
{
	struct sweep s = { .store = &lab->store, .directory = sample_directory(lab, NULL), .err = err };
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

/* ---- pruning ---- */

#define OF_OLD_RUNS                                                                                                                        \
	"WHERE pruned = 0 AND (plan, machine, version, input, repetition) IN (SELECT plan, machine, version, input, repetition FROM "      \
	"execution WHERE taken_ms < ?)"

static enum assay_status mark_before(struct store *store, int64_t before_ms, bool dry_run, struct sample_pruned *out,
				     struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err,
					   dry_run ? "SELECT bytes FROM sample_file " OF_OLD_RUNS
						   : "UPDATE sample_file SET pruned = 1 " OF_OLD_RUNS " RETURNING bytes",
					   "i", before_ms);

	while (store_next(store, stmt, &st, err)) {
		out->files++;
		out->bytes += sqlite3_column_int64(stmt, 0);
	}
	return store_finalize(stmt, st);
}

/* Commits before it removes files. If the process is killed in between, the next session removes them. */
enum assay_status sample_file_prune(struct lab *lab, int64_t before_ms, bool dry_run, struct sample_pruned *out, struct assay_error *err)
{
	enum assay_status st = dry_run ? ASSAY_OK : store_begin(&lab->store, err);

	*out = (struct sample_pruned){ 0, 0 };
	if (!st)
		st = mark_before(&lab->store, before_ms, dry_run, out, err);
	if (dry_run)
		return st;
	st = store_end(&lab->store, st, err);
	return st ? st : sample_file_remove_orphans(lab, NULL, err);
}

/* ---- reading ---- */

enum { HASH, PLAN, MACHINE, VERSION, INPUT, APPLICATION, REPETITION, PACK, BYTES, TYPE, BACK_END, TAKEN, OUTCOME, PRUNED };

static bool parse_back_end(const char *name, enum record_back_end *out)
{
	for (int i = RECORD_TIME; i <= RECORD_CALLS; i++) {
		*out = (enum record_back_end)i;
		if (strcmp(samples_back_end_name(*out), name) == 0)
			return true;
	}
	return false;
}

/* Checks a row, because it determines the name of a file and the size of an allocation. */
static enum assay_status row_check(const struct store *store, sqlite3_stmt *stmt, struct assay_error *err)
{
	const char *hash = store_text(stmt, HASH);
	int64_t bytes = sqlite3_column_int64(stmt, BYTES);
	enum record_back_end back_end;

	if (strlen(hash) == DIGEST_HEX_BYTES - 1 && hash[strspn(hash, HEX_DIGITS)] == '\0' && bytes >= 0 &&
	    (uint64_t)bytes <= SAMPLES_FILE_BYTES_MAX && parse_back_end(store_text(stmt, BACK_END), &back_end))
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_CORRUPT, "'%s' has an invalid row of a sample file: hash, size or back end", store->path);
}

static void row_read(sqlite3_stmt *stmt, struct sample_file *out)
{
	*out = (struct sample_file){
		.machine = mem_string(store_text(stmt, MACHINE)),
		.version = mem_string(store_text(stmt, VERSION)),
		.input = mem_string(store_text(stmt, INPUT)),
		.application = mem_string(store_text(stmt, APPLICATION)),
		.hardware_type = mem_string(store_text(stmt, TYPE)),
		.repetition = sqlite3_column_int64(stmt, REPETITION),
		.pack = sqlite3_column_int64(stmt, PACK),
		.bytes = sqlite3_column_int64(stmt, BYTES),
		.taken_ms = sqlite3_column_int64(stmt, TAKEN),
		.ok = strcmp(store_text(stmt, OUTCOME), "ok") == 0,
		.pruned = sqlite3_column_int64(stmt, PRUNED) != 0,
	};
	snprintf(out->hash, sizeof(out->hash), "%s", store_text(stmt, HASH));
	snprintf(out->plan, sizeof(out->plan), "%s", store_text(stmt, PLAN));
	(void)parse_back_end(store_text(stmt, BACK_END), &out->back_end);
}

static const char select_rows[] =
    "SELECT hash, s.plan, s.machine, s.version, s.input, e.application, s.repetition, pack, bytes, hardware_type, back_end, taken_ms, "
    "outcome, pruned FROM sample_file AS s JOIN execution AS e USING (plan, machine, version, input, repetition) JOIN plan AS p ON p.id = "
    "s.plan WHERE (e.application = ?1 OR p.application = ?1) AND (?2 IS NULL OR s.version = ?2) AND (back_end = 'calls') = ?3 ORDER BY "
    "s.machine, s.input, p.started_ms, s.plan, s.version, s.repetition, pack, hash";

static enum assay_status files_list(struct store *store, const char *application, const char *version, bool calls, struct sample_file **out,
				    size_t *n, struct assay_error *err)
{
	struct sample_file *files = NULL;
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0, count = 0;
	enum assay_status st = store_query(store, &stmt, err, select_rows, "tti", application, version, (int64_t)calls);

	while (store_next(store, stmt, &st, err)) {
		st = row_check(store, stmt, err);
		if (st)
			break;
		row_read(stmt, mem_append_slot(files, count, &capacity));
	}
	sqlite3_finalize(stmt);
	if (st) {
		sample_files_free(files, count);
		files = NULL;
		count = 0;
	}
	*out = files;
	*n = count;
	return st;
}

enum assay_status sample_files_list(struct store *store, const char *application, const char *version, struct sample_file **out, size_t *n,
				    struct assay_error *err)
{
	return files_list(store, application, version, false, out, n, err);
}

enum assay_status sample_files_list_calls(struct store *store, const char *application, const char *version, struct sample_file **out,
					  size_t *n, struct assay_error *err)
{
	return files_list(store, application, version, true, out, n, err);
}

void sample_files_free(struct sample_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mem_free(files[i].machine, files[i].version, files[i].input, files[i].application, files[i].hardware_type);
	free(files);
}

static enum assay_status hash_check(const char *path, const struct buf *bytes, const struct sample_file *file, struct assay_error *err)
{
	char hash[DIGEST_HEX_BYTES];

	digest_sha256(bytes->bytes ? bytes->bytes : "", bytes->size, hash);
	if (strcmp(hash, file->hash) != 0)
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged: the hash of its content is not the hash in its name", path);
	return ASSAY_OK;
}

enum assay_status sample_files_read_bytes(const struct lab *lab, const struct sample_file *file, struct buf *out, struct assay_error *err)
{
	char *path = sample_file_path(lab, file->hash);
	struct buf packed = BUF_INIT;
	enum assay_status st;

	if (file->pruned)
		st = assay_fail(err, ASSAY_E_NODATA, "'%s' was removed by 'assay prune': measure again", path);
	else
		st = file_read(path, SAMPLES_FILE_BYTES_MAX, &packed, err);
	if (st == ASSAY_E_NOTFOUND)
		st = assay_fail(err, ASSAY_E_CORRUPT, "the sample file '%s' is missing: restore it from a copy, or measure again", path);
	if (!st)
		st = sample_decompress(path, packed.bytes, packed.size, (size_t)file->bytes, out, err);
	buf_release(&packed);
	if (!st)
		st = hash_check(path, out, file, err);
	free(path);
	return st;
}

enum assay_status sample_files_read(const struct lab *lab, const struct sample_file *file, struct samples *out, struct assay_error *err)
{
	struct buf bytes = BUF_INIT;
	enum assay_status st = sample_files_read_bytes(lab, file, &bytes, err);
	char *path = sample_file_path(lab, file->hash);

	*out = (struct samples){ .items = NULL };
	if (!st)
		st = samples_parse(path, bytes.bytes ? bytes.bytes : "", bytes.size, out, err);
	buf_release(&bytes);
	free(path);
	return st;
}
