-- Tables of the store: from schema version 0 to 1. Never changed once released.

-- Raw results of applications.
CREATE TABLE run (
	application TEXT NOT NULL,
	version TEXT NOT NULL,
	machine TEXT NOT NULL,
	taken_ms INTEGER NOT NULL,
	repetition INTEGER NOT NULL,
	ordinal INTEGER NOT NULL,
	metric REAL NOT NULL,
	fingerprint TEXT REFERENCES fingerprint (id), -- null: none was known for it
	pass INTEGER, -- of that fingerprint, where the run belongs to one
	source INTEGER REFERENCES source (id),
	PRIMARY KEY (application, version, machine, taken_ms, repetition, ordinal)
) WITHOUT ROWID;

-- Where imported rows come from, as their file said it.
CREATE TABLE source (
	id INTEGER PRIMARY KEY,
	url TEXT NOT NULL,
	revision TEXT NOT NULL,
	user TEXT NOT NULL,
	UNIQUE (url, revision, user)
);

-- Direction of metrics by application name; the last rule that matches counts.
CREATE TABLE metric_rule (
	id INTEGER PRIMARY KEY,
	glob TEXT NOT NULL UNIQUE,
	higher_is_better INTEGER NOT NULL
);
