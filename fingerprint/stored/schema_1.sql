-- Tables of the store: from schema version 0 to 1. Never changed once released.

-- One session of a battery on one machine, and every rate that was read in it, raw.
CREATE TABLE fingerprint (
	id TEXT PRIMARY KEY, -- 16 hexadecimal digits of a hash of the next five
	machine TEXT NOT NULL,
	battery TEXT NOT NULL,
	battery_hash TEXT NOT NULL,
	stress_ng TEXT NOT NULL,
	taken_ms INTEGER NOT NULL, -- since 1970, UTC
	architecture TEXT NOT NULL,
	origin TEXT NOT NULL CHECK (origin IN ('imported', 'measured', 'emulated')),
	source INTEGER REFERENCES source (id)
) WITHOUT ROWID;
CREATE INDEX fingerprint_machine ON fingerprint (machine, taken_ms);

CREATE TABLE rate (
	fingerprint TEXT NOT NULL REFERENCES fingerprint (id),
	pass INTEGER NOT NULL, -- the repetition, from 1
	stressor TEXT NOT NULL,
	ordinal INTEGER NOT NULL, -- a stressor that was recorded several times in one pass
	per_s REAL NOT NULL, -- bogo-operations per second of usr+sys time; 0 = recorded 0, not measured
	real_per_s REAL, -- per second of real time, where it is known
	PRIMARY KEY (fingerprint, pass, stressor, ordinal)
) WITHOUT ROWID;
