/* The schema of runs.db, one migration a version. Private to fleet/. */
#ifndef FLEET_STORE_SCHEMA_H
#define FLEET_STORE_SCHEMA_H

#define STORE_APPLICATION_ID 0x61737361 /* "assa" */

/* store_migrations[v] brings a database of version v to version v + 1. Never changed once released: add a row. */
extern const char *const store_migrations[];
extern const int store_migrations_n;

#endif
