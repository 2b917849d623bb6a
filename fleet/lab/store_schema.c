#include "fleet/lab/store_schema.h"

const char *const store_migrations[] = {
	/* 0 -> 1 */

	/* fingerprint/: one session of a battery on one machine, and every rate that was read in it, raw. */
	"CREATE TABLE fingerprint ("
	"  id TEXT PRIMARY KEY," /* 16 hexadecimal digits of a hash of the next five */
	"  machine TEXT NOT NULL,"
	"  battery TEXT NOT NULL,"
	"  battery_hash TEXT NOT NULL,"
	"  stress_ng TEXT NOT NULL,"
	"  taken_ms INTEGER NOT NULL," /* since 1970, UTC */
	"  architecture TEXT NOT NULL,"
	"  origin TEXT NOT NULL CHECK (origin IN ('imported', 'measured', 'emulated')),"
	"  source INTEGER REFERENCES source (id)"
	") WITHOUT ROWID;"
	"CREATE INDEX fingerprint_machine ON fingerprint (machine, taken_ms);"

	"CREATE TABLE rate ("
	"  fingerprint TEXT NOT NULL REFERENCES fingerprint (id),"
	"  pass INTEGER NOT NULL,"    /* the repetition, from 1 */
	"  stressor TEXT NOT NULL,"
	"  ordinal INTEGER NOT NULL," /* a stressor that was recorded several times in one pass */
	"  per_s REAL NOT NULL,"      /* bogo-operations per second of usr+sys time; 0 = recorded 0, not measured */
	"  real_per_s REAL,"          /* per second of real time, where it is known */
	"  PRIMARY KEY (fingerprint, pass, stressor, ordinal)"
	") WITHOUT ROWID;"

	/* runs/: raw results of applications. */
	"CREATE TABLE run ("
	"  application TEXT NOT NULL,"
	"  version TEXT NOT NULL,"
	"  machine TEXT NOT NULL,"
	"  taken_ms INTEGER NOT NULL,"
	"  repetition INTEGER NOT NULL,"
	"  ordinal INTEGER NOT NULL,"
	"  metric REAL NOT NULL,"
	"  fingerprint TEXT REFERENCES fingerprint (id)," /* null: none was known for it */
	"  pass INTEGER,"                                 /* of that fingerprint, where the run belongs to one */
	"  source INTEGER REFERENCES source (id),"
	"  PRIMARY KEY (application, version, machine, taken_ms, repetition, ordinal)"
	") WITHOUT ROWID;"

	/* Where imported rows come from, as their file said it. */
	"CREATE TABLE source ("
	"  id INTEGER PRIMARY KEY,"
	"  url TEXT NOT NULL,"
	"  revision TEXT NOT NULL,"
	"  user TEXT NOT NULL,"
	"  UNIQUE (url, revision, user)"
	");"

	/* Direction of metrics by application name; the last rule that matches counts. */
	"CREATE TABLE metric_rule ("
	"  id INTEGER PRIMARY KEY,"
	"  glob TEXT NOT NULL UNIQUE,"
	"  higher_is_better INTEGER NOT NULL"
	");",

	/* 1 -> 2: fingerprints that are taken live */
	"ALTER TABLE fingerprint ADD COLUMN conditions TEXT;" /* JSON object of what the machine said of itself; null: not recorded */
	"ALTER TABLE fingerprint ADD COLUMN complete INTEGER NOT NULL DEFAULT 1;" /* 0: interrupted, can be resumed, not used */
	"ALTER TABLE fingerprint ADD COLUMN profile TEXT;"    /* of an emulated host; null otherwise */

	"CREATE TABLE missing (" /* a stressor that was tried in a pass and gave no rate */
	"  fingerprint TEXT NOT NULL REFERENCES fingerprint (id),"
	"  pass INTEGER NOT NULL,"
	"  stressor TEXT NOT NULL,"
	"  reason TEXT NOT NULL,"
	"  PRIMARY KEY (fingerprint, pass, stressor)"
	") WITHOUT ROWID;"

	"CREATE TABLE raw (" /* what stress-ng wrote, word by word */
	"  fingerprint TEXT NOT NULL REFERENCES fingerprint (id),"
	"  pass INTEGER NOT NULL,"
	"  stressor TEXT NOT NULL,"
	"  text TEXT NOT NULL,"
	"  PRIMARY KEY (fingerprint, pass, stressor)"
	") WITHOUT ROWID;",
};

const int store_migrations_n = (int)(sizeof(store_migrations) / sizeof(store_migrations[0]));
