-- Tables of the store: from schema version 2 to 3. Never changed once released.

-- Runs on the fleet: what was to be run where.
CREATE TABLE plan (
	id TEXT PRIMARY KEY,
	application TEXT NOT NULL, -- of the manifest, without an input
	manifest TEXT NOT NULL, -- the whole file
	manifest_hash TEXT NOT NULL,
	repetitions INTEGER NOT NULL,
	warm_ups INTEGER NOT NULL,
	seed INTEGER NOT NULL, -- the bits of an unsigned number
	started_ms INTEGER NOT NULL,
	complete INTEGER NOT NULL DEFAULT 0 -- 0: interrupted, can be resumed
);
CREATE INDEX plan_application ON plan (application, started_ms);

CREATE TABLE plan_item (
	plan TEXT NOT NULL REFERENCES plan (id),
	kind TEXT NOT NULL CHECK (kind IN ('version', 'input', 'machine')),
	ordinal INTEGER NOT NULL,
	name TEXT NOT NULL,
	artefact TEXT, -- of a version: hash of what is deployed for it
	PRIMARY KEY (plan, kind, ordinal)
) WITHOUT ROWID;

-- Every run that was begun, with what it printed. One that failed has no metric.
CREATE TABLE execution (
	plan TEXT NOT NULL REFERENCES plan (id),
	machine TEXT NOT NULL,
	version TEXT NOT NULL,
	input TEXT NOT NULL,
	repetition INTEGER NOT NULL CHECK (repetition >= 1),
	application TEXT NOT NULL, -- as in run
	taken_ms INTEGER NOT NULL,
	outcome TEXT NOT NULL,
	detail TEXT,
	metric REAL,
	wall_ns INTEGER, user_us INTEGER, sys_us INTEGER, max_rss_bytes INTEGER, exit_status INTEGER, signal INTEGER, -- null: none
	out BLOB NOT NULL,
	err BLOB NOT NULL,
	PRIMARY KEY (plan, machine, version, input, repetition),
	CHECK ((outcome = 'ok') = (metric IS NOT NULL))
);
CREATE INDEX execution_application ON execution (application, version);

-- What a version loads on a machine: programs and shared libraries with their hashes.
CREATE TABLE stack (
	hash TEXT PRIMARY KEY,
	text TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE plan_stack (
	plan TEXT NOT NULL REFERENCES plan (id),
	machine TEXT NOT NULL,
	version TEXT NOT NULL,
	stack TEXT NOT NULL REFERENCES stack (hash),
	PRIMARY KEY (plan, machine, version)
) WITHOUT ROWID;

ALTER TABLE run ADD COLUMN plan TEXT REFERENCES plan (id); -- null: imported
