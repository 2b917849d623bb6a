/* The laboratory's database, .assay/runs.db, for which SQLite uses a write-ahead log. This module opens the database, migrates its schema,
 * runs statements and reports errors. fleet/lab/schema_1.sql defines the tables. */
#ifndef FLEET_STORE_H
#define FLEET_STORE_H

#include "base/buf.h"
#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct store {
	sqlite3 *db;
	char *path;		   /* path of the database, for messages */
	const char *const *schema; /* migrations, borrowed; see store_open_schema() */
};

enum store_access { STORE_READ, STORE_WRITE };

/* Opens a database. STORE_WRITE creates a missing file. STORE_READ shows one snapshot until store_close(); if there is no file, it is
 * empty. Both modes migrate an older schema, which a reader without write permission does in memory. ASSAY_E_VERSION: the schema is newer,
 * or from a pre-release. ASSAY_E_CORRUPT: the file is damaged, truncated or not assay's. Overwrites *out; call store_close(). */
enum assay_status store_open(const char *path, enum store_access access, struct store *out, struct assay_error *err);
/* Opens a database with another schema, for tests. schema[v] is the SQL that migrates version v to v + 1. All migrations run in one
 * transaction. A NULL element ends the array; its index is the newest version. */
enum assay_status store_open_schema(const char *path, enum store_access access, const char *const *schema, struct store *out,
				    struct assay_error *err);
void store_close(struct store *store); /* rolls back an open transaction; accepts a zeroed struct */

enum assay_status store_begin(struct store *store, struct assay_error *err);
enum assay_status store_commit(struct store *store, struct assay_error *err);
void store_rollback(struct store *store);
/* Commits the transaction if `st` is ASSAY_OK, else rolls it back. Returns `st`, or the error of the commit. */
enum assay_status store_end(struct store *store, enum assay_status st, struct assay_error *err);

/* Prepares one statement. The caller calls sqlite3_finalize(*out), which accepts NULL. */
enum assay_status store_prepare(struct store *store, const char *sql, sqlite3_stmt **out, struct assay_error *err);

/* Steps to the next row. Without one, sets *row to false and resets the statement. ASSAY_E_CORRUPT: a number is infinite, text or bytes. */
enum assay_status store_step(struct store *store, sqlite3_stmt *stmt, bool *row, struct assay_error *err);

/* Prepares a statement and binds values as store_bind() does. The caller calls sqlite3_finalize(*out), which accepts NULL. */
enum assay_status store_query(struct store *store, sqlite3_stmt **out, struct assay_error *err, const char *sql, const char *kinds, ...);
/* Steps to the next row; the condition of a loop after store_query(). Returns false after the last row, or if *st is or becomes an error.
 */
bool store_next(struct store *store, sqlite3_stmt *stmt, enum assay_status *st, struct assay_error *err);
/* Finalizes the statement and returns `st`. */
enum assay_status store_finalize(sqlite3_stmt *stmt, enum assay_status st);
/* Binds values as store_bind() does and runs a statement that returns no rows. */
enum assay_status store_execute(struct store *store, struct assay_error *err, const char *sql, const char *kinds, ...);

/* Resets the statement and binds values to its question marks, in order. Letters of `kinds`: 't' const char *, NULL for SQL NULL; 'b' const
 * char * and size_t, any bytes; 'i' int64_t; 'd' double, NaN for SQL NULL. Texts and bytes must stay valid until the next step. */
void store_bind(sqlite3_stmt *stmt, const char *kinds, ...);

/* Return a column of the current row. For SQL NULL, the text is "" and the double NaN. The text is borrowed until the next step. */
const char *store_text(sqlite3_stmt *stmt, int column);
double store_double(sqlite3_stmt *stmt, int column);

/* Checks every page, index and row of the database. ASSAY_E_CORRUPT: the message describes the first fault. */
enum assay_status store_check(struct store *store, struct assay_error *err);

extern const char *const store_schema[]; /* the schema for store_open() */

#define STORE_APPLICATION_ID 0x61736179 /* "asay" in ASCII */

#endif
