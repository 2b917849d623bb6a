-- Tables of the store: from schema version 3 to 4. Never changed once released.

-- Counters of stressors, each run of them apart from the passes that give the rates
CREATE TABLE counter_event ( -- which events were counted in which run, and which were left out
	fingerprint TEXT NOT NULL REFERENCES fingerprint (id),
	run INTEGER NOT NULL CHECK (run >= 0), -- 0: in none
	event TEXT NOT NULL, -- '' in run 0: there are no hardware counters at all
	family TEXT, -- hardware, software
	domain TEXT, -- user, all: without or with the kernel's part
	reason TEXT, -- why it was left out
	PRIMARY KEY (fingerprint, run, event),
	CHECK ((run = 0) = (reason IS NOT NULL) AND (run = 0) = (family IS NULL))
) WITHOUT ROWID;

CREATE TABLE counted ( -- one run of one stressor under counters
	fingerprint TEXT NOT NULL REFERENCES fingerprint (id),
	run INTEGER NOT NULL,
	stressor TEXT NOT NULL,
	operations REAL, -- bogo-operations of this run
	wall_ns INTEGER,
	reason TEXT, -- why nothing was counted; null: it was
	PRIMARY KEY (fingerprint, run, stressor)
) WITHOUT ROWID;

CREATE TABLE counter (
	fingerprint TEXT NOT NULL REFERENCES fingerprint (id),
	run INTEGER NOT NULL,
	stressor TEXT NOT NULL,
	event TEXT NOT NULL,
	value INTEGER NOT NULL, -- of the stressor's run, all its processes, raw
	PRIMARY KEY (fingerprint, run, stressor, event)
) WITHOUT ROWID;
