/* Tests the database: which files it refuses, and that committed data survives any end of the writer. */
#include "fleet/lab/store.h"

#include "tests/scratch.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#define NOBODY	65534
#define SKIPPED 77

static struct store open_store(const char *path, enum store_access access)
{
	struct assay_error err;
	struct store store;

	check(store_open(path, access, &store, &err), &err);
	return store;
}

static void refuse(const char *what, const char *path, enum store_access access, enum assay_status status, const char *part)
{
	struct assay_error err = { .text = "" };
	struct store store;

	check_fails(what, store_open(path, access, &store, &err), status, &err, part);
	assert_null(store.db);
	assert_null(store.path);
}

static void refuse_both(const char *what, const char *path, enum assay_status status, const char *part)
{
	refuse(what, path, STORE_READ, status, part);
	refuse(what, path, STORE_WRITE, status, part);
}

/* Adds `n` rules whose names have `bytes` bytes. Child processes call it, so that it must not use cmocka. */
static enum assay_status add_rules(struct store *store, const char *prefix, int n, int bytes)
{
	struct assay_error err;
	enum assay_status st = ASSAY_OK;

	for (int i = 0; !st && i < n; i++) {
		char *sql =
		    mem_format("INSERT INTO metric_direction (application, higher_is_better) VALUES ('%s%0*d', 1)", prefix, bytes, i);
		sqlite3_stmt *stmt = NULL;
		bool row;

		st = store_prepare(store, sql, &stmt, &err);
		if (!st)
			st = store_step(store, stmt, &row, &err);
		sqlite3_finalize(stmt);
		free(sql);
	}
	return st;
}

static void commit_rules(const char *path, const char *prefix, int n, int bytes)
{
	struct store store = open_store(path, STORE_WRITE);
	struct assay_error err;

	check(store_begin(&store, &err), &err);
	assert_int_equal(add_rules(&store, prefix, n, bytes), ASSAY_OK);
	check(store_commit(&store, &err), &err);
	store_close(&store);
}

/* Commits rules to a database that other users can read. */
static void commit_open_rules(const char *path, const char *prefix, int n, int bytes)
{
	commit_rules(path, prefix, n, bytes);
	assert_int_equal(chmod(path, 0644), 0);
}

static void expect_rules(const char *path, enum store_access access, const char *expected)
{
	struct store store = open_store(path, access);
	struct assay_error err;

	check(store_check(&store, &err), &err);
	check_select(&store, "SELECT count(*) FROM metric_direction", expected);
	store_close(&store);
}

static void raw_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_new_and_again(void **state)
{
	struct store store = open_store("s.db", STORE_WRITE);

	(void)state;
	check_select(&store, "PRAGMA application_id", "1634951545\n");
	check_select(&store, "PRAGMA user_version", "1\n");
	check_select(&store, "PRAGMA journal_mode", "wal\n");
	check_select(&store, "PRAGMA synchronous", "2\n");
	check_select(&store, "PRAGMA foreign_keys", "1\n");
	store_close(&store);
	store_close(&store); /* closing a closed store has no effect */
	commit_rules("s.db", "a", 3, 5);
	expect_rules("s.db", STORE_READ, "3\n");
	expect_rules("s.db", STORE_WRITE, "3\n");
}

/* Checks that a missing file reads as an empty store and that reading does not create it. */
static void test_read_missing(void **state)
{
	struct store store = open_store("s.db", STORE_READ);

	(void)state;
	check_select(&store, "SELECT count(*) FROM run", "0\n");
	store_close(&store);
	assert_int_equal(access("s.db", F_OK), -1);
	scratch_put("empty.db", "");
	refuse_both("of 0 bytes", "empty.db", ASSAY_E_CORRUPT, "'empty.db' is empty");
	scratch_put("empty.db-wal", "a log that SQLite would throw away");
	refuse_both("of 0 bytes, with a log", "empty.db", ASSAY_E_CORRUPT, "'empty.db' is empty");
	assert_int_equal(access("empty.db-wal", F_OK), 0);
	refuse("no directory", "none/s.db", STORE_WRITE, ASSAY_E_IO, "none/s.db");
	assert_int_equal(mkdir("directory", 0755), 0);
	refuse_both("a directory", "directory", ASSAY_E_CORRUPT, "'directory'");
}

static void test_odd_paths(void **state)
{
	static const char *const paths[] = { "a?b#c%41.db", "file:x.db", "x y.db", "mode=memory&.db", "\xc3\xa4.db" };

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++) {
		commit_rules(paths[i], "a", (int)i + 1, 5);
		assert_int_equal(access(paths[i], F_OK), 0);
		expect_rules(paths[i], STORE_READ, (const char[]){ (char)('1' + i), '\n', '\0' });
	}
}

static void test_newer_version(void **state)
{
	(void)state;
	commit_rules("s.db", "a", 3, 5);
	raw_sql("s.db", "PRAGMA user_version = 2");
	refuse_both("newer", "s.db", ASSAY_E_VERSION, "'s.db' has schema version 2, this assay supports up to 1: use a newer assay");
	raw_sql("s.db", "PRAGMA user_version = 1");
	expect_rules("s.db", STORE_READ, "3\n"); /* the file was not changed */
}

/* ---- migration to a schema version 2 ---- */

#define VERSION_2 "ALTER TABLE metric_direction ADD COLUMN note TEXT NOT NULL DEFAULT 'none'; CREATE TABLE later (a INTEGER)"

/* Returns the schema with a version 2 that ends with the statements `more`. The result is valid until the next call. */
static const char *const *later_schema(const char *more)
{
	static char step[256];
	static const char *schema[3];

	snprintf(step, sizeof(step), "%s%s", VERSION_2, more);
	schema[0] = store_schema[0];
	schema[1] = step;
	return schema;
}

static struct store open_later(enum store_access access)
{
	struct assay_error err;
	struct store store;

	check(store_open_schema("s.db", access, later_schema(""), &store, &err), &err);
	return store;
}

/* Checks that readers and writers migrate an older version without loss, and that programs of the older version then refuse the file. */
static void test_migration(void **state)
{
	static const enum store_access accesses[] = { STORE_READ, STORE_WRITE };
	struct store store;

	(void)state;
	for (size_t i = 0; i < COUNT(accesses); i++) {
		unlink("s.db");
		commit_rules("s.db", "old", 1, 1);
		store = open_later(accesses[i]);
		check_select(&store, "PRAGMA user_version", "2\n");
		check_select(&store, "SELECT application, note FROM metric_direction", "old0|none\n");
		check_select(&store, "SELECT count(*) FROM later", "0\n");
		store_close(&store);
		refuse_both("newer", "s.db", ASSAY_E_VERSION,
			    "'s.db' has schema version 2, this assay supports up to 1: use a newer assay");
		store = open_later(STORE_READ);
		check_select(&store, "PRAGMA user_version", "2\n");
		store_close(&store);
	}
	unlink("s.db");
	store = open_later(STORE_WRITE); /* a new database gets all versions */
	store_close(&store);
	refuse_both("newer", "s.db", ASSAY_E_VERSION, "has schema version 2");
}

static void expect_version_1(void)
{
	struct store store = open_store("s.db", STORE_READ);

	check_select(&store, "PRAGMA user_version", "1\n");
	check_select(&store, "SELECT count(*) FROM metric_direction", "3\n");
	check_select(&store, "SELECT count(*) FROM sqlite_master WHERE name = 'later'", "0\n");
	store_close(&store);
}

/* Checks that a migration is rolled back as a whole if one of its statements fails. */
static void test_migration_fails(void **state)
{
	const char *const *schema = later_schema("; INSERT INTO nowhere VALUES (1)");

	(void)state;
	commit_rules("s.db", "a", 3, 5);
	for (int i = 0; i < 2; i++) {
		struct assay_error err;
		struct store store;

		check_fails("a step that fails", store_open_schema("s.db", i ? STORE_WRITE : STORE_READ, schema, &store, &err), ASSAY_E_IO,
			    &err, "'s.db'");
		expect_version_1();
	}
}

static void die(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)context;
	(void)n;
	(void)values;
	raise(SIGKILL);
}

static int add_die(sqlite3 *db, char **error, const struct sqlite3_api_routines *api)
{
	(void)error;
	(void)api;
	return sqlite3_create_function(db, "die", 0, SQLITE_UTF8, NULL, die, NULL, NULL);
}

static int migrate_and_die(void)
{
	struct assay_error err;
	struct store store;

	sqlite3_auto_extension((void (*)(void))add_die);
	return store_open_schema("s.db", STORE_WRITE, later_schema("; SELECT die()"), &store, &err) != ASSAY_OK;
}

/* Checks that a migration is rolled back as a whole if the program is killed during it. */
static void test_migration_killed(void **state)
{
	struct store store;

	(void)state;
	commit_rules("s.db", "a", 3, 5);
	assert_int_equal(scratch_child(migrate_and_die), 128 + SIGKILL);
	expect_version_1();
	store = open_later(STORE_WRITE); /* the next writer is not blocked */
	store_close(&store);
}

/* ---- foreign files ---- */

/* Checks that files of pre-releases are recognized, by application id or by tables, and are not changed. */
static void test_pre_release(void **state)
{
	static const char *const made[] = { "PRAGMA application_id = 1634956129; PRAGMA user_version = 13; CREATE TABLE run (a)",
					    "PRAGMA user_version = 1; CREATE TABLE metric_direction (a)",
					    "CREATE TABLE metric_direction (a)" };

	(void)state;
	for (size_t i = 0; i < COUNT(made); i++) {
		struct buf before = BUF_INIT, after = BUF_INIT;
		struct assay_error err;

		unlink("s.db");
		raw_sql("s.db", made[i]);
		check(file_read("s.db", 1 << 20, &before, &err), &err);
		refuse_both("of a pre-release", "s.db", ASSAY_E_VERSION,
			    "'s.db' was made by a pre-release of assay: move its directory away, and a new one is made");
		check(file_read("s.db", 1 << 20, &after, &err), &err);
		assert_int_equal(before.size, after.size);
		assert_memory_equal(before.bytes, after.bytes, before.size);
		buf_release(&before);
		buf_release(&after);
	}
}

/* Checks version 0, which has no tables: the file of a writer that was killed at its start, or SQLite's empty database. */
static void test_no_tables(void **state)
{
	char *sql = mem_format("PRAGMA application_id = %d", STORE_APPLICATION_ID);

	(void)state;
	raw_sql("s.db", sql);
	free(sql);
	expect_rules("s.db", STORE_READ, "0\n");
	commit_rules("s.db", "a", 2, 5);
	expect_rules("s.db", STORE_READ, "2\n");
	raw_sql("t.db", "CREATE TABLE t (a); DROP TABLE t");
	commit_rules("t.db", "a", 2, 5);
	expect_rules("t.db", STORE_READ, "2\n");
}

/* Checks that a foreign database is refused and not changed. */
static void test_foreign(void **state)
{
	struct buf before = BUF_INIT, after = BUF_INIT;
	struct assay_error err;

	(void)state;
	raw_sql("f.db", "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
	check(file_read("f.db", 1 << 20, &before, &err), &err);
	refuse_both("foreign", "f.db", ASSAY_E_CORRUPT, "'f.db' is not a database of assay");
	check(file_read("f.db", 1 << 20, &after, &err), &err);
	assert_int_equal(before.size, after.size);
	assert_memory_equal(before.bytes, after.bytes, before.size);
	raw_sql("f.db", "PRAGMA application_id = 7; PRAGMA user_version = 1");
	refuse_both("foreign with our version", "f.db", ASSAY_E_CORRUPT, "'f.db' is not a database of assay");
	buf_release(&before);
	buf_release(&after);
}

static void test_damaged(void **state)
{
	struct stat info;
	struct store store;
	struct assay_error err;
	int fd;

	(void)state;
	scratch_put("g.db", "this is not a database");
	refuse_both("text", "g.db", ASSAY_E_CORRUPT, "'g.db' is not a database of assay");
	commit_rules("s.db", "a", 1000, 100);
	assert_int_equal(stat("s.db", &info), 0);
	assert_int_equal(truncate("s.db", info.st_size / 2), 0);
	refuse_both("cut in half", "s.db", ASSAY_E_CORRUPT, "'s.db' was truncated");
	assert_int_equal(truncate("s.db", 50), 0);
	refuse_both("cut in the header", "s.db", ASSAY_E_CORRUPT, "'s.db'");

	/* Garbage after a valid header and schema is found by the first read or by the check. */
	commit_rules("t.db", "a", 1000, 100);
	fd = open("t.db", O_WRONLY | O_CLOEXEC);
	assert_int_equal(stat("t.db", &info), 0);
	for (off_t at = 180224; at < info.st_size; at += 6)
		assert_int_equal(pwrite(fd, "garble", 6, at), 6);
	close(fd);
	store = open_store("t.db", STORE_READ);
	check_fails("garbage", store_check(&store, &err), ASSAY_E_CORRUPT, &err, "'t.db' is damaged");
	store_close(&store);
	fd = open("t.db", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "garblegarblegarble", 18, 100), 18); /* the page that contains the schema */
	close(fd);
	refuse_both("garbage in the schema", "t.db", ASSAY_E_CORRUPT, "'t.db' is damaged");
}

/* Checks damage that SQLite's checks do not find: a bit of a number, or of the type of a stored value. */
static void test_damaged_values(void **state)
{
	static const char *const values[] = { "1e999", "-1e999", "x'00ff'", "'one'" };

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		char *sql = mem_format("INSERT INTO fingerprint VALUES ('f', 'm', 'b', 'h', 's', 0, "
				       "'a', 'imported', NULL, 1, NULL); INSERT INTO rate VALUES ('f', 1, 'cpu', 1, %s, NULL)",
				       values[i]);
		struct assay_error err;
		struct store store;
		sqlite3_stmt *stmt;
		bool row;

		unlink("v.db");
		commit_rules("v.db", "a", 1, 5);
		raw_sql("v.db", sql);
		store = open_store("v.db", STORE_READ);
		check(store_query(&store, &stmt, &err, "SELECT pass, per_s FROM rate", ""), &err);
		check_fails(values[i], store_step(&store, stmt, &row, &err), ASSAY_E_CORRUPT, &err,
			    "'v.db' is damaged (the stored value of 'per_s'");
		sqlite3_finalize(stmt);
		check_fails(values[i], store_check(&store, &err), ASSAY_E_CORRUPT, &err, "the stored value of 'per_s' is not a number");
		store_close(&store);
		free(sql);
	}
	commit_rules("w.db", "a", 1, 5);
	raw_sql("w.db", "PRAGMA user_version = 0");
	refuse_both("tables without a version", "w.db", ASSAY_E_CORRUPT, "'w.db' is damaged (it has tables, but no schema version)");
	assert_int_equal(mkfifo("pipe.db", 0600), 0);
	refuse_both("a pipe", "pipe.db", ASSAY_E_CORRUPT, "'pipe.db' is not a regular file");
}

/* Checks files in the place of SQLite's logs, and objects that others added to the database. */
static void test_not_ours(void **state)
{
	static const char *const logs[] = { "p.db-journal", "p.db-wal", "p.db-shm" };
	static const char *const added[][2] = {
		{ "CREATE TRIGGER gone AFTER INSERT ON metric_direction BEGIN DELETE FROM metric_direction; END",
		  "added the trigger 'gone'" },
		{ "CREATE VIEW more AS SELECT 1", "added the view 'more'" },
		{ "DROP VIEW failed_run; CREATE VIEW failed_run AS WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i FROM n) SELECT i "
		  "FROM n",
		  "added the view 'failed_run'" },
	};

	(void)state;
	commit_rules("p.db", "a", 1, 5);
	for (size_t i = 0; i < COUNT(logs); i++) {
		unlink(logs[i]);
		assert_int_equal(mkfifo(logs[i], 0600), 0);
		refuse_both("a pipe for a log", "p.db", ASSAY_E_CORRUPT, "is not a regular file: remove it");
		assert_int_equal(unlink(logs[i]), 0);
		assert_int_equal(symlink("/dev/zero", logs[i]), 0);
		refuse_both("a link for a log", "p.db", ASSAY_E_CORRUPT, "is not a regular file: remove it");
		assert_int_equal(unlink(logs[i]), 0);
	}
	for (size_t i = 0; i < COUNT(added); i++) {
		unlink("x.db");
		commit_rules("x.db", "a", 1, 5);
		raw_sql("x.db", added[i][0]);
		refuse_both(added[i][0], "x.db", ASSAY_E_CORRUPT, added[i][1]);
	}
}

/* Starts a transaction large enough that SQLite writes uncommitted pages into the log. */
static void write_half(int ready)
{
	struct assay_error err;
	struct store store;

	if (store_open("s.db", STORE_WRITE, &store, &err) || sqlite3_exec(store.db, "PRAGMA cache_size = 10", NULL, NULL, NULL))
		_exit(1);
	if (store_begin(&store, &err) || add_rules(&store, "committed", 500, 500) || store_commit(&store, &err))
		_exit(2);
	if (store_begin(&store, &err) || add_rules(&store, "half", 2000, 500))
		_exit(3);
	if (write(ready, "", 1) == 1)
		pause();
}

static void test_killed_writer(void **state)
{
	struct stat log;
	pid_t writer;

	(void)state;
	commit_open_rules("s.db", "before", 7, 5);
	writer = scratch_start(write_half);
	expect_rules("s.db", STORE_READ, "507\n"); /* a concurrent reader sees only committed rows */
	scratch_kill(writer);
	assert_int_equal(stat("s.db-wal", &log), 0);
	assert_true(log.st_size > 1000000); /* both transactions are in the log */
	expect_rules("s.db", STORE_READ, "507\n");
	expect_rules("s.db", STORE_WRITE, "507\n");
	expect_rules("s.db", STORE_READ, "507\n");
}

/* Commits more rows while a reader is open. The reader must keep its first snapshot. */
static int commit_more(void)
{
	struct assay_error err;
	struct store store;

	return store_open("s.db", STORE_WRITE, &store, &err) || store_begin(&store, &err) || add_rules(&store, "more", 2, 5) ||
	       store_commit(&store, &err);
}

static void test_snapshot(void **state)
{
	struct store reader;

	(void)state;
	commit_rules("s.db", "a", 3, 5);
	reader = open_store("s.db", STORE_READ);
	check_select(&reader, "SELECT count(*) FROM metric_direction", "3\n");
	assert_int_equal(scratch_child(commit_more), 0);
	check_select(&reader, "SELECT count(*) FROM metric_direction", "3\n");
	store_close(&reader);
	expect_rules("s.db", STORE_READ, "5\n");
}

static int become_nobody(void)
{
	return geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY));
}

static int count_rules(const char *path)
{
	struct assay_error err;
	struct store store;
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	int n = -1;

	if (store_open(path, STORE_READ, &store, &err))
		return -1;
	if (!store_prepare(&store, "SELECT count(*) FROM metric_direction", &stmt, &err) && !store_step(&store, stmt, &row, &err) && row)
		n = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	store_close(&store);
	return n;
}

static int use_read_only(void)
{
	struct assay_error err = { .text = "" };
	struct store store;

	if (chmod(".", 0555) || become_nobody())
		return SKIPPED;
	if (count_rules("s.db") != 3)
		return 1;
	if (store_open("s.db", STORE_WRITE, &store, &err) != ASSAY_E_IO || !strstr(err.text, "s.db"))
		return 2;
	if (store_open("new.db", STORE_WRITE, &store, &err) != ASSAY_E_IO || !strstr(err.text, "cannot write 'new.db'"))
		return 3;
	return count_rules("new.db") == 0 ? 0 : 4;
}

static void test_read_only_directory(void **state)
{
	int status;

	(void)state;
	commit_open_rules("s.db", "a", 3, 5);
	status = scratch_child(use_read_only);
	chmod(".", 0755);
	if (status == SKIPPED)
		skip();
	assert_int_equal(status, 0);
	expect_rules("s.db", STORE_READ, "3\n");
}

static int read_older(void)
{
	struct assay_error err;
	struct store store;
	int failed;

	if (chmod(".", 0555) || become_nobody())
		return SKIPPED;
	if (store_open_schema("s.db", STORE_READ, later_schema(""), &store, &err))
		return 1;
	failed = sqlite3_exec(store.db, "SELECT note FROM metric_direction", NULL, NULL, NULL);
	store_close(&store);
	return failed != SQLITE_OK;
}

/* Checks a read-only file with an older schema: it is migrated in memory and not changed on disk. */
static void test_read_only_older(void **state)
{
	struct buf file = BUF_INIT;
	struct assay_error err;
	int status;

	(void)state;
	commit_open_rules("s.db", "a", 3, 5);
	status = scratch_child(read_older);
	chmod(".", 0755);
	if (status == SKIPPED)
		skip();
	assert_int_equal(status, 0);
	check(file_read("s.db", 1 << 20, &file, &err), &err);
	assert_int_equal(file.bytes[63], 1); /* the last of the four bytes of user_version */
	buf_release(&file);
}

static int count_507(void)
{
	return become_nobody() ? SKIPPED : count_rules("s.db") != 507;
}

static int count_507_unwritable(void)
{
	return chmod(".", 0555) ? SKIPPED : count_507();
}

/* Checks that a user without write permission sees all rows that a living or killed writer has committed, even those only in the log. */
static void test_read_beside_writer(void **state)
{
	pid_t writer;
	int alive, killed;

	(void)state;
	commit_open_rules("s.db", "before", 7, 5);
	writer = scratch_start(write_half);
	alive = scratch_child(count_507_unwritable);
	scratch_kill(writer);
	killed = scratch_child(count_507);
	chmod(".", 0755);
	if (alive == SKIPPED || killed == SKIPPED)
		skip();
	assert_int_equal(alive, 0);
	assert_int_equal(killed, 0);
}

/* Reads twice where the log's shared memory cannot be created. Both reads must see one snapshot while another process writes. */
static int read_twice(int report_step, int go)
{
	struct store store;
	struct assay_error err;
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	char byte;
	int n;

	if (become_nobody() || store_open("s.db", STORE_READ, &store, &err))
		return SKIPPED;
	if (write(report_step, "", 1) != 1 || read(go, &byte, 1) != 1)
		return 1;
	if (store_prepare(&store, "SELECT count(*) FROM metric_direction", &stmt, &err) || store_step(&store, stmt, &row, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	n = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	store_close(&store);
	return n == 3 ? 0 : 3;
}

static void test_snapshot_without_memory(void **state)
{
	int told[2], go[2], status;
	pid_t reader;
	char byte;

	(void)state;
	if (geteuid() != 0) /* another user must be able to write where the reader may not */
		skip();
	commit_open_rules("s.db", "a", 3, 5);
	assert_int_equal(chmod(".", 0555), 0);
	assert_int_equal(pipe(told) || pipe(go), 0);
	reader = fork();
	if (reader == 0)
		_exit(read_twice(told[1], go[0]));
	close(told[1]);
	if (read(told[0], &byte, 1) == 1) {
		commit_rules("s.db", "b", 1000, 200);
		assert_int_equal(write(go[1], "", 1), 1);
	}
	assert_int_equal(waitpid(reader, &status, 0), reader);
	chmod(".", 0755);
	close(told[0]);
	close(go[0]);
	close(go[1]);
	assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

/* Checks that other users cannot read the files, whatever the umask. */
static void test_modes(void **state)
{
	static const char *const files[] = { "s.db", "s.db-wal", "s.db-shm" };
	mode_t mask = umask(0);
	struct store store = open_store("s.db", STORE_WRITE);
	struct stat info;

	(void)state;
	umask(mask);
	for (size_t i = 0; i < COUNT(files); i++) {
		assert_int_equal(stat(files[i], &info), 0);
		assert_int_equal(info.st_mode & 07777, 0600);
	}
	store_close(&store);
}

static uint32_t file_system; /* type that statfs() reports for all file systems; 0: the real one */

int statfs(const char *path, struct statfs *out)
{
	int failed = (int)syscall(SYS_statfs, path, out);

	if (!failed && file_system)
		out->f_type = file_system;
	return failed;
}

/* Checks that unknown types of file systems are refused, not only the known network file systems. */
static void test_other_file_systems(void **state)
{
	static const struct {
		const char *name;
		uint32_t type; /* from the kernel's sources if linux/magic.h has none */
	} others[] = {
		{ "NFS", NFS_SUPER_MAGIC },   { "SMB 2", SMB2_SUPER_MAGIC }, { "CIFS", CIFS_SUPER_MAGIC },
		{ "9P", V9FS_MAGIC },	      { "FUSE", FUSE_SUPER_MAGIC },  { "AFS", AFS_SUPER_MAGIC },
		{ "Ceph", CEPH_SUPER_MAGIC }, { "Coda", CODA_SUPER_MAGIC },  { "OCFS2", OCFS2_SUPER_MAGIC },
		{ "GFS2", 0x01161970 },	      { "Lustre", 0x0bd00bd0 },	     { "GPFS", 0x47504653 },
		{ "BeeGFS", 0x19830326 },     { "OrangeFS", 0x20030528 },    { "virtiofs' own", 0x6a656a63 },
		{ "of later", 0x7e57f11e },
	};
	static const char refused[] = "is not on a known local file system";

	(void)state;
	commit_rules("s.db", "a", 3, 5);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		file_system = others[i].type;
		refuse_both(others[i].name, "s.db", ASSAY_E_IO, refused);
	}
	for (size_t i = 0; i < 2; i++) {
		file_system = i ? XFS_SUPER_MAGIC : 0x2fc12fc1; /* magic number of ZFS */
		expect_rules("s.db", STORE_READ, "3\n");
	}
	file_system = 0;
	refuse("to write", "/proc/self/s.db", STORE_WRITE, ASSAY_E_IO, refused);
	refuse("to read", "/sys/kernel/profiling", STORE_READ, ASSAY_E_IO, refused);
}

/* Fills the disk until an error occurs. Checks that it is the expected error and that no committed data is lost. */
static int fill_disk(struct store *store, const char *part)
{
	struct assay_error err = { .text = "" };
	enum assay_status st = store_begin(store, &err);
	sqlite3_stmt *stmt = NULL;
	bool row;

	if (st || store_prepare(store, "INSERT INTO metric_direction (application, higher_is_better) VALUES (hex(randomblob(4000)), 1)",
				&stmt, &err))
		return 1;
	for (int i = 0; !st && i < 10000; i++)
		st = store_step(store, stmt, &row, &err);
	sqlite3_finalize(stmt);
	if (!st)
		st = store_commit(store, &err);
	store_rollback(store);
	if (st != ASSAY_E_IO || !strstr(err.text, part)) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	return 0;
}

static void test_page_limit(void **state)
{
	struct store store;

	(void)state;
	commit_rules("s.db", "a", 3, 5);
	store = open_store("s.db", STORE_WRITE);
	free(scratch_select(&store, "PRAGMA max_page_count = 40"));
	assert_int_equal(fill_disk(&store, "cannot write 's.db': the disk is full; no stored data is lost"), 0);
	check_select(&store, "SELECT count(*) FROM metric_direction", "3\n"); /* the store remains usable */
	assert_int_equal(add_rules(&store, "b", 1, 5), ASSAY_OK);
	store_close(&store);
	expect_rules("s.db", STORE_READ, "4\n");
}

static int fill_limited(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	struct assay_error err;
	struct store store;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) || store_open("s.db", STORE_WRITE, &store, &err))
		return 9;
	return fill_disk(&store, "'s.db'");
}

static void test_file_limit(void **state)
{
	(void)state;
	commit_rules("s.db", "a", 3, 5);
	assert_int_equal(scratch_child(fill_limited), 0);
	expect_rules("s.db", STORE_READ, "3\n");
	expect_rules("s.db", STORE_WRITE, "3\n");
}

/* Fills a new file system of 1 MB that only this process sees. */
static int fill_small_disk(void)
{
	struct assay_error err;
	struct store store;
	int failed;

	if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mkdir("disk", 0700) || mount("none", "disk", "tmpfs", 0, "size=1m") || chdir("disk") || mknod("x", S_IFREG | 0600, 0) ||
	    unlink("x")) /* impossible if the user id is not mapped in the new namespace */
		return SKIPPED;
	if (store_open("s.db", STORE_WRITE, &store, &err) || store_begin(&store, &err) || add_rules(&store, "a", 3, 5) ||
	    store_commit(&store, &err))
		return 3;
	failed = fill_disk(&store, "cannot write 's.db': the disk is full; no stored data is lost: free some hundred ");
	store_close(&store);
	return failed || count_rules("s.db") != 3;
}

static void test_full_disk(void **state)
{
	int status = scratch_child(fill_small_disk);

	(void)state;
	if (status == SKIPPED) {
		print_message("no file system can be mounted here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void test_statements(void **state)
{
	struct store store = open_store("s.db", STORE_WRITE);
	sqlite3_stmt *stmt = NULL;
	struct assay_error err;
	bool row;

	(void)state;
	check_fails("wrong SQL", store_prepare(&store, "SELECT zzz", &stmt, &err), ASSAY_E_IO, &err, "'s.db': no such column");
	sqlite3_finalize(stmt);
	check(store_prepare(&store, "SELECT ?, ?, ?, ?", &stmt, &err), &err);
	store_bind(stmt, "tidt", "x", INT64_MIN, (double)__builtin_nan(""), NULL);
	check(store_step(&store, stmt, &row, &err), &err);
	assert_true(row);
	assert_string_equal(store_text(stmt, 0), "x");
	assert_true(sqlite3_column_int64(stmt, 1) == INT64_MIN);
	assert_true(store_double(stmt, 2) != store_double(stmt, 2)); /* NaN is read back as NaN */
	assert_string_equal(store_text(stmt, 3), "");
	check(store_step(&store, stmt, &row, &err), &err);
	assert_false(row);
	sqlite3_finalize(stmt);

	/* As after a crash of the program. */
	check(store_begin(&store, &err), &err);
	assert_int_equal(add_rules(&store, "a", 3, 5), ASSAY_OK);
	store_rollback(&store);
	store_rollback(&store);
	check_select(&store, "SELECT count(*) FROM metric_direction", "0\n");
	check(store_begin(&store, &err), &err);
	assert_int_equal(add_rules(&store, "a", 3, 5), ASSAY_OK);
	store_close(&store);
	expect_rules("s.db", STORE_READ, "0\n");
}

int suite_store(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_new_and_again),
		SCRATCH_TEST(test_read_missing),
		SCRATCH_TEST(test_odd_paths),
		SCRATCH_TEST(test_newer_version),
		SCRATCH_TEST(test_migration),
		SCRATCH_TEST(test_migration_fails),
		SCRATCH_TEST(test_migration_killed),
		SCRATCH_TEST(test_read_only_older),
		SCRATCH_TEST(test_pre_release),
		SCRATCH_TEST(test_foreign),
		SCRATCH_TEST(test_no_tables),
		SCRATCH_TEST(test_damaged),
		SCRATCH_TEST(test_damaged_values),
		SCRATCH_TEST(test_not_ours),
		SCRATCH_TEST(test_killed_writer),
		SCRATCH_TEST(test_snapshot),
		SCRATCH_TEST(test_read_only_directory),
		SCRATCH_TEST(test_read_beside_writer),
		SCRATCH_TEST(test_snapshot_without_memory),
		SCRATCH_TEST(test_modes),
		SCRATCH_TEST(test_other_file_systems),
		SCRATCH_TEST(test_page_limit),
		SCRATCH_TEST(test_file_limit),
		SCRATCH_TEST(test_full_disk),
		SCRATCH_TEST(test_statements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
