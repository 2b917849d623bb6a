/* The laboratory's database, .assay/runs.db: SQLite with a write-ahead log. Opening, its schema with forward migrations, and
 * statements with this project's errors. The tables are in fleet/lab/schema_1.sql, and described in docs/formats.md. */
#ifndef FLEET_STORE_H
#define FLEET_STORE_H

#include "base/buf.h"
#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct store {
	sqlite3 *db;
	char *path;		   /* for messages */
	const char *const *schema; /* as of store_open_schema(); borrowed */
};

enum store_access { STORE_READ, STORE_WRITE };

/* STORE_WRITE creates the file where it is missing. STORE_READ of a missing file gives an empty store, and otherwise sees one snapshot
 * until it is closed. Either brings an older schema forward (a reader that may not write does so in memory). ASSAY_E_VERSION for a newer
 * schema and for a file of a pre-release, ASSAY_E_CORRUPT for a file that is damaged, cut short or no store of ours. *out is overwritten;
 * store_close() it. */
enum assay_status store_open(const char *path, enum store_access access, struct store *out, struct assay_error *err);
/* The same with another schema, for tests. schema[v]: SQL that brings a database of version v to version v + 1, in one transaction with all
 * others; NULL: v is the newest version. */
enum assay_status store_open_schema(const char *path, enum store_access access, const char *const *schema, struct store *out,
				    struct assay_error *err);
void store_close(struct store *store); /* accepts zeroed; an open transaction is rolled back */

enum assay_status store_begin(struct store *store, struct assay_error *err);
enum assay_status store_commit(struct store *store, struct assay_error *err);
void store_rollback(struct store *store);
/* Commits what went well, and rolls back the rest. Returns st, or why it could not be committed. */
enum assay_status store_end(struct store *store, enum assay_status st, struct assay_error *err);

/* One statement. sqlite3_finalize(*out) (NULL is accepted). */
enum assay_status store_prepare(struct store *store, const char *sql, sqlite3_stmt **out, struct assay_error *err);

/* Runs to the next row: *row = false when there is none; the statement is reset then. ASSAY_E_CORRUPT for a row that holds infinity, or
 * text or bytes in a column of numbers. */
enum assay_status store_step(struct store *store, sqlite3_stmt *stmt, bool *row, struct assay_error *err);

/* Prepares a statement and binds values as store_bind() does. sqlite3_finalize(*out) (NULL is accepted). */
enum assay_status store_ask(struct store *store, sqlite3_stmt **out, struct assay_error *err, const char *sql, const char *kinds, ...);
/* For loops over the rows of a statement that was asked with *st: false at their end, and when *st says that something is wrong. */
bool store_next(struct store *store, sqlite3_stmt *stmt, enum assay_status *st, struct assay_error *err);
/* sqlite3_finalize(), and st again, for the end of a function. */
enum assay_status store_finish(sqlite3_stmt *stmt, enum assay_status st);
/* All of one statement that gives no rows. */
enum assay_status store_do(struct store *store, struct assay_error *err, const char *sql, const char *kinds, ...);

/* Binding of values in the order of the statement's question marks, after a reset: 't' const char * (NULL is null; must live until
 * the step), 'b' const char * and size_t, bytes that may hold NUL (must live as long), 'i' int64_t, 'd' double (NaN is null). */
void store_bind(sqlite3_stmt *stmt, const char *kinds, ...);

/* Columns of a row: text is never NULL ("" for null), borrowed until the next step; null doubles are NaN. */
const char *store_text(sqlite3_stmt *stmt, int column);
double store_double(sqlite3_stmt *stmt, int column);

/* Reads every page, index and row; ASSAY_E_CORRUPT with the first complaint. */
enum assay_status store_check(struct store *store, struct assay_error *err);

extern const char *const store_schema[]; /* as of store_open() */

#define STORE_APPLICATION_ID 0x61736179 /* "asay" */

#endif
