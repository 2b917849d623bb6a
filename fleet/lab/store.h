/* The laboratory's database, .assay/runs.db: SQLite with a write-ahead log. This module opens the database, migrates its schema, and
 * runs statements with assay's error reports. fleet/lab/schema_1.sql defines the tables. */
#ifndef FLEET_STORE_H
#define FLEET_STORE_H

#include "base/buf.h"
#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct store {
	sqlite3 *db;
	char *path;		   /* path of the file, for messages */
	const char *const *schema; /* migrations, see store_open_schema(); borrowed */
};

enum store_access { STORE_READ, STORE_WRITE };

/* Opens a store. STORE_WRITE creates a missing file. STORE_READ shows one snapshot until store_close(), or an empty store if there is no
 * file. Both modes migrate an older schema; a reader without write permission does so in memory. ASSAY_E_VERSION: the schema is newer, or a
 * pre-release made the file. ASSAY_E_CORRUPT: the file is damaged, truncated or no assay store. Overwrites *out; store_close() it. */
enum assay_status store_open(const char *path, enum store_access access, struct store *out, struct assay_error *err);
/* Opens a store with another schema, for tests. schema[v] is the SQL that migrates version v to v + 1; all migrations share one
 * transaction. A NULL element ends the list: its index is the newest version. */
enum assay_status store_open_schema(const char *path, enum store_access access, const char *const *schema, struct store *out,
				    struct assay_error *err);
void store_close(struct store *store); /* rolls back an open transaction; accepts a zeroed struct */

enum assay_status store_begin(struct store *store, struct assay_error *err);
enum assay_status store_commit(struct store *store, struct assay_error *err);
void store_rollback(struct store *store);
/* Commits if `st` is ASSAY_OK, else rolls back. Returns `st`, or the error of the commit. */
enum assay_status store_end(struct store *store, enum assay_status st, struct assay_error *err);

/* Prepares one statement. Call sqlite3_finalize(*out), which accepts NULL. */
enum assay_status store_prepare(struct store *store, const char *sql, sqlite3_stmt **out, struct assay_error *err);

/* Steps to the next row. *row false: no more rows; the statement is reset. ASSAY_E_CORRUPT: infinity, text or bytes in a numeric column. */
enum assay_status store_step(struct store *store, sqlite3_stmt *stmt, bool *row, struct assay_error *err);

/* Prepares a statement and binds values as store_bind() does. Call sqlite3_finalize(*out), which accepts NULL. */
enum assay_status store_ask(struct store *store, sqlite3_stmt **out, struct assay_error *err, const char *sql, const char *kinds, ...);
/* Steps to the next row in a loop, if store_ask() set *st to ASSAY_OK. Returns false at the end or on an error (*st). */
bool store_next(struct store *store, sqlite3_stmt *stmt, enum assay_status *st, struct assay_error *err);
/* Finalizes the statement and returns `st`. */
enum assay_status store_finish(sqlite3_stmt *stmt, enum assay_status st);
/* Runs one statement that returns no rows. */
enum assay_status store_do(struct store *store, struct assay_error *err, const char *sql, const char *kinds, ...);

/* Resets the statement and binds values in the order of its question marks. The letters of `kinds`: 't' const char *, NULL gives SQL
 * NULL; 'b' const char * and size_t, any bytes; 'i' int64_t; 'd' double, NaN gives SQL NULL. Texts and bytes must live until the step. */
void store_bind(sqlite3_stmt *stmt, const char *kinds, ...);

/* Return a column of the current row. Text is "" for SQL NULL, and borrowed until the next step. A double is NaN for SQL NULL. */
const char *store_text(sqlite3_stmt *stmt, int column);
double store_double(sqlite3_stmt *stmt, int column);

/* Checks every page, index and row. ASSAY_E_CORRUPT: the message describes the first fault. */
enum assay_status store_check(struct store *store, struct assay_error *err);

extern const char *const store_schema[]; /* schema that store_open() uses */

#define STORE_APPLICATION_ID 0x61736179 /* the ASCII text "asay" */

#endif
