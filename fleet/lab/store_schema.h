/* The schema of runs.db, one migration a version. Private to fleet/lab and its tests. */
#ifndef FLEET_STORE_SCHEMA_H
#define FLEET_STORE_SCHEMA_H

#define STORE_APPLICATION_ID 0x61737361 /* "assa" */

/* store_migrations[v] brings a database of version v to version v + 1: the statements of each folder that has tables, NULL after the last
 * one. Never changed once released: add a row. */
struct store_migration {
	const char *parts[3];
};
extern const struct store_migration store_migrations[];
extern const int store_migrations_n;

#endif
