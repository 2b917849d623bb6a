/* The laboratory's database, .assay/runs.db: SQLite with a write-ahead log. Opens it, migrates its schema forward, and runs statements with
 * this project's errors. The tables are in fleet/lab/schema_1.sql. */
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

/* Opens a store. STORE_WRITE creates a missing file. STORE_READ gives an empty store for a missing file, and otherwise one snapshot until
 * it is closed. Both migrate an older schema (a reader that may not write does so in memory). ASSAY_E_VERSION: a newer schema, or a file of
 * a pre-release. ASSAY_E_CORRUPT: the file is damaged, cut short or no assay store. Overwrites *out; store_close() it. */
enum assay_status store_open(const char *path, enum store_access access, struct store *out, struct assay_error *err);
/* Does the same with another schema, for tests. schema[v]: SQL that migrates a database of version v to v + 1, in one transaction with all
 * others; NULL: v is the newest version. */
enum assay_status store_open_schema(const char *path, enum store_access access, const char *const *schema, struct store *out,
				    struct assay_error *err);
void store_close(struct store *store); /* accepts zeroed; an open transaction is rolled back */

enum assay_status store_begin(struct store *store, struct assay_error *err);
enum assay_status store_commit(struct store *store, struct assay_error *err);
void store_rollback(struct store *store);
/* Commits if st is ASSAY_OK, else rolls back. Returns st, or why the commit failed. */
enum assay_status store_end(struct store *store, enum assay_status st, struct assay_error *err);

/* Prepares one statement. sqlite3_finalize(*out) (accepts NULL). */
enum assay_status store_prepare(struct store *store, const char *sql, sqlite3_stmt **out, struct assay_error *err);

/* Steps to the next row. *row false: none, and the statement is reset. ASSAY_E_CORRUPT: infinity, or text or bytes in a numeric column. */
enum assay_status store_step(struct store *store, sqlite3_stmt *stmt, bool *row, struct assay_error *err);

/* Prepares a statement and binds values as store_bind() does. sqlite3_finalize(*out) (accepts NULL). */
enum assay_status store_ask(struct store *store, sqlite3_stmt **out, struct assay_error *err, const char *sql, const char *kinds, ...);
/* Steps to the next row in a loop, after store_ask() returned *st. False: no more rows, or *st is an error. */
bool store_next(struct store *store, sqlite3_stmt *stmt, enum assay_status *st, struct assay_error *err);
/* Finalizes the statement and returns st, for the end of a function. */
enum assay_status store_finish(sqlite3_stmt *stmt, enum assay_status st);
/* Runs one statement that gives no rows. */
enum assay_status store_do(struct store *store, struct assay_error *err, const char *sql, const char *kinds, ...);

/* Binds values in the order of the statement's question marks, after a reset: 't' const char * (NULL is null; must live until the step),
 * 'b' const char * and size_t, bytes that may hold NUL (must live as long), 'i' int64_t, 'd' double (NaN is null). */
void store_bind(sqlite3_stmt *stmt, const char *kinds, ...);

/* Return a column of a row. Text is never NULL ("" for null) and borrowed until the next step; a null double is NaN. */
const char *store_text(sqlite3_stmt *stmt, int column);
double store_double(sqlite3_stmt *stmt, int column);

/* Reads every page, index and row; ASSAY_E_CORRUPT with the first fault. */
enum assay_status store_check(struct store *store, struct assay_error *err);

extern const char *const store_schema[]; /* as of store_open() */

#define STORE_APPLICATION_ID 0x61736179 /* "asay" */

#endif
