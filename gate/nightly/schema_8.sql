-- Tables of the store: from schema version 7 to 8. Never changed once released.

-- A night: what a suite asked for, and when. One that has no end was interrupted, and goes on by itself.
CREATE TABLE night (
	id          TEXT PRIMARY KEY,
	started_ms  INTEGER NOT NULL,
	deadline_ms INTEGER NOT NULL,       -- 0: none
	finished_ms INTEGER,                -- null: it goes on, or was interrupted
	exit_status INTEGER,
	suite       TEXT NOT NULL,          -- the text of suite.yaml
	notes       TEXT NOT NULL           -- a JSON list of {code, text}: what the night says of itself
) STRICT;

-- What it compares, resolved once at its beginning.
CREATE TABLE night_comparison (
	night       TEXT NOT NULL REFERENCES night (id),
	number      INTEGER NOT NULL,       -- from 1, in the order in which they are measured
	manifest    TEXT NOT NULL,          -- of apps/, by its name
	application TEXT NOT NULL,          -- as results are stored: NAME or NAME/INPUT
	input       TEXT NOT NULL,          -- '': has no name
	candidate   TEXT NOT NULL,          -- a version; of a branch NAME-COMMIT
	baseline    TEXT NOT NULL,          -- likewise; '': there is none
	against     TEXT NOT NULL,          -- accepted, release, previous, version
	hosts       TEXT NOT NULL,          -- a node set; '': all
	min_effect  REAL NOT NULL,
	budget_s    REAL NOT NULL,          -- 0: none of its own
	state       TEXT NOT NULL,          -- waiting, measuring, confirming, decided, unreached
	plan        TEXT NOT NULL,          -- whose runs are looked at; '': none yet
	fresh_plan  TEXT NOT NULL,          -- of the runs that confirm a finding; '': none
	decision    TEXT NOT NULL,          -- id of its decision; '': none yet
	detail      TEXT NOT NULL,          -- one line about hosts that were lost and the like
	seconds     REAL NOT NULL,          -- that were spent on it
	PRIMARY KEY (night, number)
) STRICT, WITHOUT ROWID;

-- Decisions are never changed. What they rest on is in `request`: from it and the raw results `document` follows, byte by byte.
CREATE TABLE decision (
	id          TEXT PRIMARY KEY,
	night       TEXT NOT NULL,
	number      INTEGER NOT NULL,
	made_ms     INTEGER NOT NULL,
	application TEXT NOT NULL,
	baseline    TEXT NOT NULL,
	candidate   TEXT NOT NULL,
	decision    TEXT NOT NULL,
	ratio       REAL,
	low         REAL,
	high        REAL,
	request     TEXT NOT NULL,          -- JSON: plans, threshold, level, runs that were left out (gate/nightly/judge.h)
	document    TEXT NOT NULL           -- JSON: the answer
) STRICT;
CREATE INDEX decision_of_application ON decision (application, made_ms);
