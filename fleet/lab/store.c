#include "fleet/lab/store.h"

#include "base/buf.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Remedy in messages about a file that assay did not write, or that has lost its content. */
#define FOREIGN_REMEDY "restore it from a copy of 'assay backup', or move it away to start a new one"

EMBED_FILE(store_schema_1, ASSAY_SOURCE_DIRECTORY "/fleet/lab/schema_1.sql");

/* Migrations. Never change an element after its release; append a new one. */
const char *const store_schema[] = { store_schema_1, NULL };

#define BUSY_TIMEOUT_MS 10000
#define COPY_BYTES_MAX	((size_t)4 << 30) /* maximum size of a database that is copied into memory */
#define COPY_TRIES	5
#define PRE_RELEASE_ID	0x61737361 /* application id in databases of pre-releases */

/* SQLite's file header (https://sqlite.org/fileformat2.html, section 1.3). */
#define HEADER_BYTES	     100
#define HEADER_WRITE_VERSION 18
#define HEADER_READ_VERSION  19

/* ---- checks before SQLite opens the file ---- */

/* Returns the big-endian 32-bit number at `offset` in the header. */
static uint32_t header_u32(const unsigned char *header, size_t offset)
{
	return (uint32_t)header[offset] << 24 | (uint32_t)header[offset + 1] << 16 | (uint32_t)header[offset + 2] << 8 | header[offset + 3];
}

/* Reports whether there is a write-ahead log, which SQLite has not copied into the database file yet. */
static bool file_has_log(const char *path)
{
	char *log_path = mem_format("%s-wal", path);
	struct stat log;
	bool found = stat(log_path, &log) == 0 && log.st_size > 0;

	free(log_path);
	return found;
}

/* Refuses log files that are not regular files, because SQLite would block on a pipe and follow a symbolic link. */
static enum assay_status check_logs(const char *path, struct assay_error *err)
{
	static const char *const ends[] = { "-journal", "-wal", "-shm" };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < sizeof(ends) / sizeof(ends[0]); i++) {
		char *log_path = mem_format("%s%s", path, ends[i]);
		struct stat log;

		if (!lstat(log_path, &log) && !S_ISREG(log.st_mode))
			st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is not a regular file: remove it", log_path);
		free(log_path);
	}
	return st;
}

/* Refuses a truncated file, because SQLite itself notices a missing page only when it reads that page. If there is a write-ahead log, does
 * not check the size, because the file may then be shorter than its header says. */
static enum assay_status file_check(const char *path, struct assay_error *err)
{
	unsigned char header[HEADER_BYTES];
	struct stat file;
	uint64_t page_bytes, expected;
	ssize_t n;
	bool recovers;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return assay_fail_errno(err, errno, "cannot read '%s'", path);
	if (fstat(fd, &file) == 0 && !S_ISREG(file.st_mode)) {
		close(fd);
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' is not a regular file: " FOREIGN_REMEDY, path);
	}
	n = pread(fd, header, sizeof(header), 0);
	recovers = n != 0 && file_has_log(path); /* SQLite would delete the log of an empty file */
	/* The log is checked before the size. If the log has disappeared since, its content is in the file now. */
	if (fstat(fd, &file))
		file.st_size = 0;
	close(fd);
	if (recovers)
		return ASSAY_OK;
	if (n == 0)
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' is empty, all stored data is lost: " FOREIGN_REMEDY, path);
	if (n < (ssize_t)sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' is not a database of assay: " FOREIGN_REMEDY, path);
	page_bytes = (uint64_t)header[16] << 8 | header[17];
	if (page_bytes == 1)
		page_bytes = 65536;
	expected = page_bytes * header_u32(header, 28);
	if (header_u32(header, 24) == header_u32(header, 92) && (uint64_t)file.st_size < expected)
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' was truncated: %lld of %llu bytes are left; restore it from a copy", path,
				  (long long)file.st_size, (unsigned long long)expected);
	return ASSAY_OK;
}

/* Refuses file systems that are not known to be local. The write-ahead log needs shared memory and locks that all processes see, including
 * readers. Otherwise a reader sees incomplete writes of another machine. */
static enum assay_status check_file_is_local(const char *path, struct assay_error *err)
{
	static const uint32_t local[] = {
		EXT4_SUPER_MAGIC,
		XFS_SUPER_MAGIC,
		BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC,
		TMPFS_MAGIC,
		RAMFS_MAGIC,
		NILFS_SUPER_MAGIC,
		REISERFS_SUPER_MAGIC,
		MSDOS_SUPER_MAGIC,
		EXFAT_SUPER_MAGIC,
		OVERLAYFS_SUPER_MAGIC,
		ECRYPTFS_SUPER_MAGIC,
		SQUASHFS_MAGIC,
		EROFS_SUPER_MAGIC_V1,
		ISOFS_SUPER_MAGIC,
		0xca451a4e /* bcachefs */,
		0x2fc12fc1 /* ZFS */,
		0x3153464a /* JFS */,
		0x24051905 /* UBIFS */,
		0x7366746e /* NTFS */,
		0x15013346 /* UDF */,
		0x61756673 /* aufs */
	};
	char *directory = mem_string(path);
	char *slash = strrchr(directory, '/');
	struct statfs fs;
	int failed;

	if (slash)
		*slash = '\0';
	failed = statfs(slash ? directory : ".", &fs);
	free(directory);
	for (size_t i = 0; !failed && i < sizeof(local) / sizeof(local[0]); i++) {
		if ((uint32_t)fs.f_type == local[i])
			return ASSAY_OK;
	}
	return failed ? ASSAY_OK /* sqlite3_open_v2() will report the reason */
		      : assay_fail(err, ASSAY_E_IO,
				   "'%s' is not on a known local file system (type %x in stat -f): a file system shared with other "
				   "machines would damage it; keep the laboratory on a local disk (ext4, xfs, btrfs, zfs...) or tmpfs",
				   path, (unsigned)fs.f_type);
}

/* Returns the file: URI for `path`, with '%', '?' and '#' escaped. The caller frees it. */
static char *file_uri(const char *path)
{
	char *uri = mem_new(3 * strlen(path) + 8, 1);
	size_t n = (size_t)snprintf(uri, 6, "file:");

	for (; *path; path++) {
		if (*path == '%' || *path == '?' || *path == '#')
			n += (size_t)snprintf(uri + n, 4, "%%%02X", (unsigned)*path);
		else
			uri[n++] = *path;
	}
	return uri;
}

/* ---- SQLite ---- */

/* Converts SQLite's result code to a status. The message has the path and SQLite's text. */
static enum assay_status store_fail(struct store *store, int code, struct assay_error *err)
{
	const char *text = store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(code);

	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged (%s): restore it from a copy, or import or measure again",
				  store->path, text);
	case SQLITE_FULL:
		return assay_fail(err, ASSAY_E_IO,
				  "cannot write '%s': the disk is full; no stored data is lost: free some hundred KiB, then 'assay prune "
				  "--older-than DAYS' frees more",
				  store->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return assay_fail(err, ASSAY_E_BUSY, "'%s' is in use by another process", store->path);
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return assay_fail(err, ASSAY_E_IO, "cannot write '%s': %s", store->path, text);
	case SQLITE_IOERR:
		if (store->db && sqlite3_system_errno(store->db))
			return assay_fail_errno(err, sqlite3_system_errno(store->db), "cannot read or write '%s'", store->path);
		return assay_fail(err, ASSAY_E_IO, "cannot read or write '%s': %s", store->path, text);
	default:
		return assay_fail(err, ASSAY_E_IO, "'%s': %s", store->path, text);
	}
}

static enum assay_status execute_sql(struct store *store, const char *sql, struct assay_error *err)
{
	int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? ASSAY_OK : store_fail(store, code, err);
}

static enum assay_status pragma_int(struct store *store, const char *sql, int *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(store, sql, &stmt, err);

	if (!st)
		st = store_step(store, stmt, &row, err);
	if (!st)
		*out = row ? sqlite3_column_int(stmt, 0) : 0;
	return store_finalize(stmt, st);
}

static int newest_version(const struct store *store)
{
	int version = 0;

	while (store->schema[version])
		version++;
	return version;
}

/* Refuses triggers and views that are not in this program's schema, because they could change stored data or run endlessly. */
static enum assay_status check_objects(struct store *store, struct assay_error *err)
{
	struct buf ours = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st;

	for (const char *const *step = store->schema; *step; step++)
		buf_text(&ours, *step);
	st = store_query(store, &stmt, err, "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view') AND instr(?, sql) = 0",
			 "t", ours.bytes);
	if (store_next(store, stmt, &st, err))
		st = assay_fail(err, ASSAY_E_CORRUPT,
				"'%s' was changed by another program, which added the %s '%s': drop it, or restore the file from a copy",
				store->path, store_text(stmt, 0), store_text(stmt, 1));
	sqlite3_finalize(stmt);
	buf_release(&ours);
	return st;
}

/* Refuses schema versions that this program cannot read, and databases of other programs. */
static enum assay_status check_version(struct store *store, int version, struct assay_error *err)
{
	int id = 0, objects = 0, known = 0, newest = newest_version(store);
	enum assay_status st = pragma_int(store, "PRAGMA application_id", &id, err);

	if (!st)
		st = pragma_int(store, "SELECT count(*) FROM sqlite_master", &objects, err);
	if (!st)
		st = pragma_int(store, "SELECT count(*) FROM sqlite_master WHERE name = 'metric_direction'", &known, err);
	if (st)
		return st;
	if (id == PRE_RELEASE_ID || (id != STORE_APPLICATION_ID && known))
		return assay_fail(err, ASSAY_E_VERSION,
				  "'%s' was made by a pre-release of assay: move its directory away, and a new one is made", store->path);
	if (version <= 0 && objects && id == STORE_APPLICATION_ID)
		return assay_fail(
		    err, ASSAY_E_CORRUPT,
		    "'%s' is damaged (it has tables, but no schema version): restore it from a copy, or import or measure again",
		    store->path);
	if (version < 0 || (id != STORE_APPLICATION_ID && (objects || version)))
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' is not a database of assay: " FOREIGN_REMEDY, store->path);
	if (version > newest)
		return assay_fail(err, ASSAY_E_VERSION, "'%s' has schema version %d, this assay supports up to %d: use a newer assay",
				  store->path, version, newest);
	return check_objects(store, err);
}

static enum assay_status migrate_schema(struct store *store, struct assay_error *err)
{
	char sql[96];
	int version = 0;
	enum assay_status st = execute_sql(store, "BEGIN IMMEDIATE", err);

	if (!st)
		st = pragma_int(store, "PRAGMA user_version", &version, err);
	if (!st)
		st = check_version(store, version, err);
	for (; !st && store->schema[version]; version++)
		st = execute_sql(store, store->schema[version], err);
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", STORE_APPLICATION_ID, version);
	if (!st)
		st = execute_sql(store, sql, err);
	if (st)
		store_rollback(store);
	return st;
}

static enum assay_status open_file(struct store *store, const char *uri, int flags, struct assay_error *err)
{
	int code = sqlite3_open_v2(uri, &store->db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, NULL);

	if (code != SQLITE_OK)
		return store_fail(store, code, err);
	sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
	return ASSAY_OK;
}

/* Opens a file for writing. `at` is the store's path, or the temporary path of a new store. */
static enum assay_status open_for_writing(struct store *store, const char *at, struct assay_error *err)
{
	char *uri = file_uri(at);
	int version = 0, made = open(at, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* the log gets the mode of this file */
	enum assay_status st;

	if (made >= 0)
		close(made);
	st = open_file(store, uri, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
	/* Check the version before the first write, so that a file that is not a store stays unchanged. */
	if (!st)
		st = pragma_int(store, "PRAGMA user_version", &version, err);
	if (!st)
		st = check_version(store, version, err);
	/* FULL: a committed transaction is on the disk even if the machine loses power. */
	if (!st)
		st = execute_sql(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", err);
	if (!st)
		st = migrate_schema(store, err);
	free(uri);
	return st;
}

/* Creates a store under a temporary name and then renames it. So a store without tables is damaged. */
static enum assay_status make_store(struct store *store, struct assay_error *err)
{
	char *at = mem_format("%s.new", store->path);
	enum assay_status st = open_for_writing(store, at, err);

	sqlite3_close_v2(store->db);
	store->db = NULL;
	if (!st && rename(at, store->path))
		st = assay_fail_errno(err, errno, "cannot write '%s'", store->path);
	free(at);
	return st;
}

/* Starts the snapshot that the whole command reads. */
static enum assay_status begin_snapshot(struct store *store, int *version, struct assay_error *err)
{
	enum assay_status st = execute_sql(store, "BEGIN", err);

	return st ? st : pragma_int(store, "PRAGMA user_version", version, err);
}

static enum assay_status open_snapshot(struct store *store, int *version, struct assay_error *err)
{
	char *uri = file_uri(store->path);
	enum assay_status st = open_file(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, err); /* only one thread uses it */

	free(uri);
	return st ? st : begin_snapshot(store, version, err);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads the whole file while no writer changes it. Writers create the log before they change the file, and remove it afterwards. */
static enum assay_status read_database(const struct store *store, struct buf *out, struct assay_error *err)
{
	struct stat before, after;
	enum assay_status st = ASSAY_OK;

	for (int i = 0; !st && i < COPY_TRIES; i++) {
		if (stat(store->path, &before))
			return assay_fail_errno(err, errno, "cannot read '%s'", store->path);
		st = file_read(store->path, COPY_BYTES_MAX, out, err);
		if (!st && !file_has_log(store->path) && !stat(store->path, &after) && is_same_file(&before, &after))
			return ASSAY_OK;
	}
	return st ? st : assay_fail(err, ASSAY_E_BUSY, "'%s' is being written: read it again later", store->path);
}

/* Opens a database in memory. Takes ownership of `bytes`, which are from sqlite3_malloc64(); NULL means that no memory was left. */
static enum assay_status open_bytes(struct store *store, unsigned char *bytes, sqlite3_int64 n, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	int code;

	sqlite3_close_v2(store->db);
	store->db = NULL;
	if (!bytes)
		return assay_fail(err, ASSAY_E_IO, "cannot read '%s': out of memory", store->path);
	st = open_file(store, "file::memory:", SQLITE_OPEN_READWRITE, err);
	if (st) {
		sqlite3_free(bytes);
		return st;
	}
	if (n >= HEADER_BYTES) /* a database in memory has no log */
		bytes[HEADER_WRITE_VERSION] = bytes[HEADER_READ_VERSION] = 1;
	code = sqlite3_deserialize(store->db, "main", bytes, n, n, SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
	return code == SQLITE_OK ? ASSAY_OK : store_fail(store, code, err);
}

/* Opens a copy of the database in memory. In a read-only directory or on a full disk, SQLite cannot create the shared memory of the log.
 * Without a log, the file is complete. SQLite itself would not notice that another process starts to write to the file. */
static enum assay_status open_copy(struct store *store, int *version, struct assay_error *err)
{
	struct buf whole = BUF_INIT;
	enum assay_status st = read_database(store, &whole, err);
	unsigned char *bytes = st ? NULL : sqlite3_malloc64(whole.size);

	if (bytes)
		memcpy(bytes, whole.bytes, whole.size);
	if (!st)
		st = open_bytes(store, bytes, (sqlite3_int64)whole.size, err);
	buf_release(&whole);
	return st ? st : begin_snapshot(store, version, err);
}

static enum assay_status open_empty(struct store *store, struct assay_error *err)
{
	enum assay_status st = open_file(store, "file::memory:", SQLITE_OPEN_READWRITE, err);

	return st ? st : migrate_schema(store, err);
}

/* Migrates an older schema for a reader, in one transaction. If the file is not writable, migrates a copy in memory. */
static enum assay_status migrate_then_read(struct store *store, int version, struct assay_error *err)
{
	struct store writer = { .path = store->path, .schema = store->schema };
	unsigned char *bytes;
	sqlite3_int64 n = 0;
	enum assay_status st;

	store_rollback(store); /* a migration would wait for the end of this snapshot */
	st = open_for_writing(&writer, store->path, err);
	sqlite3_close_v2(writer.db);
	if (st == ASSAY_E_IO) {
		bytes = sqlite3_serialize(store->db, "main", &n, 0);
		st = open_bytes(store, bytes, n, err);
		return st ? st : migrate_schema(store, err);
	}
	if (st)
		return assay_add_context(err, "the schema version %d is to be brought to %d first", version, newest_version(store));
	sqlite3_close_v2(store->db);
	store->db = NULL;
	return open_snapshot(store, &version, err);
}

/* Opens the store for reading. Needs shared memory for the log, but not the lock of the laboratory. */
static enum assay_status open_for_reading(struct store *store, struct assay_error *err)
{
	int version = 0;
	enum assay_status st = open_snapshot(store, &version, err);

	if (st == ASSAY_E_IO && !file_has_log(store->path)) {
		sqlite3_close_v2(store->db);
		store->db = NULL;
		st = open_copy(store, &version, err);
	}
	if (!st)
		st = check_version(store, version, err);
	if (!st && version == 0) {
		sqlite3_close_v2(store->db); /* The first writer was killed before it created the tables, so the store is empty. */
		store->db = NULL;
		return open_empty(store, err);
	}
	return !st && version < newest_version(store) ? migrate_then_read(store, version, err) : st;
}

enum assay_status store_open_schema(const char *path, enum store_access access, const char *const *schema, struct store *out,
				    struct assay_error *err)
{
	struct store store = { .path = mem_string(path), .schema = schema };
	struct stat file;
	bool failed = stat(path, &file), exists = !failed;
	enum assay_status st = !failed		 ? ASSAY_OK
			       : errno != ENOENT ? assay_fail_errno(err, errno, "cannot read '%s'", path)
						 : file_fail_absent(path, err);

	if (!st || st == ASSAY_E_NOTFOUND)
		st = check_file_is_local(path, err);
	if (!st)
		st = check_logs(path, err);
	if (!st && exists)
		st = file_check(path, err);
	else if (!st && access == STORE_WRITE)
		st = make_store(&store, err);
	if (!st && access == STORE_WRITE)
		st = open_for_writing(&store, path, err);
	else if (!st)
		st = exists ? open_for_reading(&store, err) : open_empty(&store, err);
	/* Sort in memory. Otherwise a full /var/tmp would be reported as an error of this file. */
	if (!st)
		st = execute_sql(&store, "PRAGMA temp_store = MEMORY", err);
	*out = store;
	if (st)
		store_close(out);
	return st;
}

enum assay_status store_open(const char *path, enum store_access access, struct store *out, struct assay_error *err)
{
	return store_open_schema(path, access, store_schema, out, err);
}

void store_close(struct store *store)
{
	if (store->db)
		sqlite3_close_v2(store->db);
	free(store->path);
	*store = (struct store){ 0 };
}

enum assay_status store_begin(struct store *store, struct assay_error *err)
{
	return execute_sql(store, "BEGIN IMMEDIATE", err);
}

enum assay_status store_commit(struct store *store, struct assay_error *err)
{
	return execute_sql(store, "COMMIT", err);
}

void store_rollback(struct store *store)
{
	if (store->db && !sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

enum assay_status store_end(struct store *store, enum assay_status st, struct assay_error *err)
{
	if (!st)
		st = store_commit(store, err);
	store_rollback(store);
	return st;
}

enum assay_status store_prepare(struct store *store, const char *sql, sqlite3_stmt **out, struct assay_error *err)
{
	int code = sqlite3_prepare_v2(store->db, sql, -1, out, NULL);

	return code == SQLITE_OK ? ASSAY_OK : store_fail(store, code, err);
}

/* Refuses values that assay never stores. Infinity in a number, and text or bytes in a numeric column, mean that the file is damaged. */
static enum assay_status row_check(const struct store *store, sqlite3_stmt *stmt, struct assay_error *err)
{
	for (int i = 0; i < sqlite3_data_count(stmt); i++) {
		int is = sqlite3_column_type(stmt, i);
		const char *type = is == SQLITE_TEXT || is == SQLITE_BLOB ? sqlite3_column_decltype(stmt, i) : NULL;

		if ((is == SQLITE_FLOAT && !isfinite(sqlite3_column_double(stmt, i))) ||
		    (type && (strncmp(type, "REAL", 4) == 0 || strncmp(type, "INTEGER", 7) == 0)))
			return assay_fail(err, ASSAY_E_CORRUPT,
					  "'%s' is damaged (the stored value of '%s' is not a number): restore it from a copy, or import "
					  "or measure again",
					  store->path, sqlite3_column_name(stmt, i));
	}
	return ASSAY_OK;
}

enum assay_status store_step(struct store *store, sqlite3_stmt *stmt, bool *row, struct assay_error *err)
{
	int code = sqlite3_step(stmt);

	*row = code == SQLITE_ROW;
	if (code == SQLITE_ROW)
		return row_check(store, stmt, err);
	if (code == SQLITE_DONE) {
		sqlite3_reset(stmt);
		return ASSAY_OK;
	}
	return store_fail(store, code, err);
}

/* Binds bytes. If n is 0, binds an empty blob instead of SQL NULL. */
static int bind_bytes(sqlite3_stmt *stmt, int i, const char *bytes, size_t n)
{
	return sqlite3_bind_blob64(stmt, i, n ? bytes : "", n, SQLITE_STATIC);
}

static void bind_values(sqlite3_stmt *stmt, const char *kinds, va_list args)
{
	const char *bytes;
	int code = SQLITE_OK;

	sqlite3_reset(stmt);
	for (int i = 1; kinds[i - 1] && code == SQLITE_OK; i++) {
		switch (kinds[i - 1]) {
		case 't':
			code = sqlite3_bind_text(stmt, i, va_arg(args, const char *), -1, SQLITE_STATIC);
			break;
		case 'b':
			bytes = va_arg(args, const char *);
			code = bind_bytes(stmt, i, bytes, va_arg(args, size_t));
			break;
		case 'i':
			code = sqlite3_bind_int64(stmt, i, va_arg(args, int64_t));
			break;
		case 'd':
			code = sqlite3_bind_double(stmt, i, va_arg(args, double)); /* SQLite stores NaN as SQL NULL */
			break;
		default:
			code = SQLITE_MISUSE;
		}
	}
	ASSAY_BUG_IF(code != SQLITE_OK);
}

void store_bind(sqlite3_stmt *stmt, const char *kinds, ...)
{
	va_list args;

	va_start(args, kinds);
	bind_values(stmt, kinds, args);
	va_end(args);
}

enum assay_status store_query(struct store *store, sqlite3_stmt **out, struct assay_error *err, const char *sql, const char *kinds, ...)
{
	enum assay_status st = store_prepare(store, sql, out, err);
	va_list args;

	va_start(args, kinds);
	if (!st)
		bind_values(*out, kinds, args);
	va_end(args);
	return st;
}

bool store_next(struct store *store, sqlite3_stmt *stmt, enum assay_status *st, struct assay_error *err)
{
	bool row = false;

	if (!*st)
		*st = store_step(store, stmt, &row, err);
	return !*st && row;
}

enum assay_status store_finalize(sqlite3_stmt *stmt, enum assay_status st)
{
	sqlite3_finalize(stmt);
	return st;
}

enum assay_status store_execute(struct store *store, struct assay_error *err, const char *sql, const char *kinds, ...)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(store, sql, &stmt, err);
	va_list args;
	bool row;

	va_start(args, kinds);
	if (!st)
		bind_values(stmt, kinds, args);
	va_end(args);
	if (!st)
		st = store_step(store, stmt, &row, err);
	return store_finalize(stmt, st);
}

const char *store_text(sqlite3_stmt *stmt, int column)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);

	return text ? (const char *)text : "";
}

double store_double(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(stmt, column);
}

/* Fails if a table of the schema is missing, because another program has dropped it. */
static enum assay_status check_tables(struct store *store, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (const char *const *step = store->schema; !st && *step; step++) {
		for (const char *at = *step; !st && (at = strstr(at, "CREATE TABLE "));) {
			sqlite3_stmt *stmt = NULL;
			char *name;

			at += strlen("CREATE TABLE ");
			name = mem_bytes(at, strcspn(at, " (\n"));
			st = store_query(store, &stmt, err, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", "t", name);
			if (!store_next(store, stmt, &st, err) && !st)
				st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged (table '%s' is missing): " FOREIGN_REMEDY,
						store->path, name);
			sqlite3_finalize(stmt);
			free(name);
		}
	}
	return st;
}

enum assay_status store_check(struct store *store, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = check_tables(store, err);

	if (!st)
		st = store_prepare(store, "PRAGMA integrity_check(1)", &stmt, err);
	if (!st)
		st = store_step(store, stmt, &row, err);
	if (!st && row && strcmp(store_text(stmt, 0), "ok") != 0) {
		const char *text = store_text(stmt, 0), *line = strchr(text, '\n'); /* the line after the heading */

		st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' is damaged: %s", store->path, line ? line + 1 : text);
	}
	st = store_finalize(stmt, st);
	stmt = NULL;
	if (!st)
		st = store_query(store, &stmt, err, "SELECT format('SELECT * FROM \"%w\"', name) FROM sqlite_master WHERE type = 'table'",
				 "");
	while (!st && store_next(store, stmt, &st, err)) {
		sqlite3_stmt *rows = NULL;

		st = store_prepare(store, store_text(stmt, 0), &rows, err);
		while (store_next(store, rows, &st, err))
			;
		st = store_finalize(rows, st);
	}
	return store_finalize(stmt, st);
}
