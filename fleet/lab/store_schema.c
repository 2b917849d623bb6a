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
	"  pass INTEGER NOT NULL," /* the repetition, from 1 */
	"  stressor TEXT NOT NULL,"
	"  ordinal INTEGER NOT NULL," /* a stressor that was recorded several times in one pass */
	"  per_s REAL NOT NULL,"      /* bogo-operations per second of usr+sys time; 0 = recorded 0, not measured */
	"  real_per_s REAL,"	      /* per second of real time, where it is known */
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
	"  pass INTEGER,"				  /* of that fingerprint, where the run belongs to one */
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
	"ALTER TABLE fingerprint ADD COLUMN profile TEXT;"			  /* of an emulated host; null otherwise */

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

	/* 2 -> 3: runs on the fleet */

	/* runs/: what was to be run where. */
	"CREATE TABLE plan ("
	"  id TEXT PRIMARY KEY,"
	"  application TEXT NOT NULL," /* of the manifest, without an input */
	"  manifest TEXT NOT NULL,"    /* the whole file */
	"  manifest_hash TEXT NOT NULL,"
	"  repetitions INTEGER NOT NULL,"
	"  warm_ups INTEGER NOT NULL,"
	"  seed INTEGER NOT NULL," /* the bits of an unsigned number */
	"  started_ms INTEGER NOT NULL,"
	"  complete INTEGER NOT NULL DEFAULT 0" /* 0: interrupted, can be resumed */
	");"
	"CREATE INDEX plan_application ON plan (application, started_ms);"

	"CREATE TABLE plan_item ("
	"  plan TEXT NOT NULL REFERENCES plan (id),"
	"  kind TEXT NOT NULL CHECK (kind IN ('version', 'input', 'machine')),"
	"  ordinal INTEGER NOT NULL,"
	"  name TEXT NOT NULL,"
	"  artefact TEXT," /* of a version: hash of what is deployed for it */
	"  PRIMARY KEY (plan, kind, ordinal)"
	") WITHOUT ROWID;"

	/* Every run that was begun, with what it printed. One that failed has no metric. */
	"CREATE TABLE execution ("
	"  plan TEXT NOT NULL REFERENCES plan (id),"
	"  machine TEXT NOT NULL,"
	"  version TEXT NOT NULL,"
	"  input TEXT NOT NULL,"
	"  repetition INTEGER NOT NULL CHECK (repetition >= 1),"
	"  application TEXT NOT NULL," /* as in run */
	"  taken_ms INTEGER NOT NULL,"
	"  outcome TEXT NOT NULL,"
	"  detail TEXT,"
	"  metric REAL,"
	"  wall_ns INTEGER, user_us INTEGER, sys_us INTEGER, max_rss_bytes INTEGER, exit_status INTEGER, signal INTEGER," /* null: none */
	"  out BLOB NOT NULL,"
	"  err BLOB NOT NULL,"
	"  PRIMARY KEY (plan, machine, version, input, repetition),"
	"  CHECK ((outcome = 'ok') = (metric IS NOT NULL))"
	");"
	"CREATE INDEX execution_application ON execution (application, version);"

	/* What a version loads on a machine: programs and shared libraries with their hashes. */
	"CREATE TABLE stack ("
	"  hash TEXT PRIMARY KEY,"
	"  text TEXT NOT NULL"
	") WITHOUT ROWID;"
	"CREATE TABLE plan_stack ("
	"  plan TEXT NOT NULL REFERENCES plan (id),"
	"  machine TEXT NOT NULL,"
	"  version TEXT NOT NULL,"
	"  stack TEXT NOT NULL REFERENCES stack (hash),"
	"  PRIMARY KEY (plan, machine, version)"
	") WITHOUT ROWID;"

	"ALTER TABLE run ADD COLUMN plan TEXT REFERENCES plan (id);", /* null: imported */

	/* 3 -> 4: counters of stressors, each run of them apart from the passes that give the rates */

	"CREATE TABLE counter_event (" /* which events were counted in which run, and which were left out */
	"  fingerprint TEXT NOT NULL REFERENCES fingerprint (id),"
	"  run INTEGER NOT NULL CHECK (run >= 0)," /* 0: in none */
	"  event TEXT NOT NULL,"		   /* '' in run 0: there are no hardware counters at all */
	"  family TEXT,"			   /* hardware, software */
	"  domain TEXT,"			   /* user, all: without or with the kernel's part */
	"  reason TEXT,"			   /* why it was left out */
	"  PRIMARY KEY (fingerprint, run, event),"
	"  CHECK ((run = 0) = (reason IS NOT NULL) AND (run = 0) = (family IS NULL))"
	") WITHOUT ROWID;"

	"CREATE TABLE counted (" /* one run of one stressor under counters */
	"  fingerprint TEXT NOT NULL REFERENCES fingerprint (id),"
	"  run INTEGER NOT NULL,"
	"  stressor TEXT NOT NULL,"
	"  operations REAL," /* bogo-operations of this run */
	"  wall_ns INTEGER,"
	"  reason TEXT," /* why nothing was counted; null: it was */
	"  PRIMARY KEY (fingerprint, run, stressor)"
	") WITHOUT ROWID;"

	"CREATE TABLE counter ("
	"  fingerprint TEXT NOT NULL REFERENCES fingerprint (id),"
	"  run INTEGER NOT NULL,"
	"  stressor TEXT NOT NULL,"
	"  event TEXT NOT NULL,"
	"  value INTEGER NOT NULL," /* of the stressor's run, all its processes, raw */
	"  PRIMARY KEY (fingerprint, run, stressor, event)"
	") WITHOUT ROWID;",

	/* 4 -> 5: instrumented runs, and the files of samples that they give */

	"ALTER TABLE plan ADD COLUMN probe TEXT;" /* how functions are measured in its runs, which are no results then; null: they are */

	"CREATE TABLE sample_file (" /* .assay/samples/HH/HASH.samples.zst */
	"  plan TEXT NOT NULL,"
	"  machine TEXT NOT NULL,"
	"  version TEXT NOT NULL,"
	"  input TEXT NOT NULL,"
	"  repetition INTEGER NOT NULL,"
	"  pack INTEGER NOT NULL CHECK (pack >= 0)," /* which of the runs that the counters take */
	"  hash TEXT NOT NULL,"			     /* of what is in it, not compressed */
	"  bytes INTEGER NOT NULL,"		     /* not compressed */
	"  back_end TEXT NOT NULL,"
	"  hardware_type TEXT NOT NULL,"       /* of the machine at that time; '': not known */
	"  pruned INTEGER NOT NULL DEFAULT 0," /* 1: removed by policy, the row is what is left */
	"  PRIMARY KEY (plan, machine, version, input, repetition, pack, hash),"
	"  FOREIGN KEY (plan, machine, version, input, repetition)"
	"    REFERENCES execution (plan, machine, version, input, repetition) ON UPDATE CASCADE" /* a machine gets another name */
	") WITHOUT ROWID;"
	"CREATE INDEX sample_file_hash ON sample_file (hash);",
};

const int store_migrations_n = (int)(sizeof(store_migrations) / sizeof(store_migrations[0]));
