/* Runs threads that read and write one database, each through its own connection: detect_sqlite FILE THREADS ROUNDS SEED. Statements,
 * their order and their parameters are random. FILE must not exist; the program does not delete it. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 16
#define ROWS	    300
#define BUSY_US	    300

static const char *path;
static long rounds;
static uint64_t seed;

/* The statements of a round, each with up to two numbers as parameters. */
static const char *const statements[] = {
	"SELECT sum(amount), count(*) FROM account WHERE id BETWEEN ?1 AND ?1 + 40",
	"SELECT a.name, b.text FROM account a JOIN note b ON b.account = a.id WHERE a.id = ?1 ORDER BY b.text DESC LIMIT 5",
	"SELECT name, max(amount) FROM account GROUP BY id % 17 HAVING max(amount) > ?2 ORDER BY 2",
	"SELECT upper(substr(text, 1, 8)), length(text) FROM note WHERE text LIKE '%' || ?1 || '%' LIMIT 3",
	"SELECT count(DISTINCT account) FROM note WHERE id > ?1",
	"WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM n WHERE x < 30) SELECT sum(x * ?2) FROM n",
	"SELECT id, amount, rank() OVER (ORDER BY amount DESC) FROM account WHERE id < ?1 % 50 LIMIT 4",
	"SELECT json_extract(json_object('a', ?1, 'b', json_array(?2, 7)), '$.b[1]'), printf('%08.3f %s', ?2 / 7.0, hex(?1))",
	"SELECT strftime('%Y-%m-%d', ?1 * 86400, 'unixepoch'), abs(?2), round(?1 / 3.0, 2), quote(?2)",
	"UPDATE account SET amount = amount + ?2 WHERE id = ?1",
	"INSERT INTO note(account, text) VALUES(?1, 'note ' || ?2 || ' of ' || hex(randomblob(12)))",
	"DELETE FROM note WHERE id = (SELECT min(id) FROM note WHERE account = ?1)",
};
#define STATEMENTS (sizeof(statements) / sizeof(statements[0]))

static void must(int ok, sqlite3 *db, const char *what)
{
	if (!ok) {
		fprintf(stderr, "detect_sqlite: %s: %s\n", what, sqlite3_errmsg(db));
		exit(1);
	}
}

static void execute(sqlite3 *db, const char *sql)
{
	must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, db, sql);
}

static int wait_and_try(void *nothing, int n)
{
	(void)nothing;
	(void)n;
	usleep(BUSY_US);
	return 1;
}

static sqlite3 *connect(void)
{
	sqlite3 *db = NULL;

	must(sqlite3_open(path, &db) == SQLITE_OK, db, path);
	sqlite3_busy_handler(db, wait_and_try, NULL);
	execute(db, "PRAGMA journal_mode = wal");
	execute(db, "PRAGMA synchronous = off");
	execute(db, "PRAGMA cache_size = 200");
	return db;
}

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void step_all(sqlite3 *db, const char *sql, uint64_t a, uint64_t b)
{
	sqlite3_stmt *statement;
	int rc;

	must(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, db, sql);
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)a);
	if (sqlite3_bind_parameter_count(statement) > 1)
		sqlite3_bind_int64(statement, 2, (sqlite3_int64)b);
	while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
		sqlite3_column_text(statement, 0);
	must(rc == SQLITE_DONE, db, sql);
	sqlite3_finalize(statement);
}

static void *work(void *number)
{
	uint64_t state = seed * THREADS_MAX + (uint64_t)(uintptr_t)number;
	sqlite3 *db = connect();

	for (long i = 0; i < rounds; i++) {
		int together = draw(&state) % 8 == 0;
		long n = together ? 4 : 1;

		if (together)
			execute(db, "BEGIN IMMEDIATE");
		for (long k = 0; k < n; k++) {
			uint64_t which = draw(&state) % STATEMENTS, a = 1 + draw(&state) % ROWS, b = draw(&state) % 1000;

			step_all(db, statements[which], a, b);
		}
		if (together)
			execute(db, "COMMIT");
	}
	sqlite3_close(db);
	return NULL;
}

static void prepare(void)
{
	uint64_t state = seed;
	sqlite3 *db = connect();

	execute(db, "CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT, amount REAL)");
	execute(db, "CREATE TABLE note(id INTEGER PRIMARY KEY, account INTEGER, text TEXT)");
	execute(db, "CREATE INDEX note_account ON note(account)");
	execute(db, "BEGIN");
	for (uint64_t i = 1; i <= ROWS; i++) {
		step_all(db, "INSERT INTO account VALUES(?1, 'name ' || ?2, ?2 / 3.0)", i, draw(&state) % 1000);
		step_all(db, "INSERT INTO note(account, text) VALUES(?1, 'first ' || ?2)", i, draw(&state) % 1000);
	}
	execute(db, "COMMIT");
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	long n = argc == 5 ? atol(argv[2]) : 0;

	if (n < 1 || n > THREADS_MAX) {
		fprintf(stderr, "usage: detect_sqlite FILE THREADS ROUNDS SEED\n");
		return 2;
	}
	path = argv[1];
	rounds = atol(argv[3]);
	seed = strtoull(argv[4], NULL, 10);
	prepare();
	for (long i = 0; i < n; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)))
			abort();
	}
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
