-- Tables of the store: from schema version 4 to 5. Never changed once released.

CREATE TABLE sample_file ( -- .assay/samples/HH/HASH.samples.zst
	plan TEXT NOT NULL,
	machine TEXT NOT NULL,
	version TEXT NOT NULL,
	input TEXT NOT NULL,
	repetition INTEGER NOT NULL,
	pack INTEGER NOT NULL CHECK (pack >= 0), -- which of the runs that the counters take
	hash TEXT NOT NULL, -- of what is in it, not compressed
	bytes INTEGER NOT NULL, -- not compressed
	back_end TEXT NOT NULL,
	hardware_type TEXT NOT NULL, -- of the machine at that time; '': not known
	pruned INTEGER NOT NULL DEFAULT 0, -- 1: removed by policy, the row is what is left
	PRIMARY KEY (plan, machine, version, input, repetition, pack, hash),
	FOREIGN KEY (plan, machine, version, input, repetition)
		REFERENCES execution (plan, machine, version, input, repetition) ON UPDATE CASCADE -- a machine gets another name
) WITHOUT ROWID;
CREATE INDEX sample_file_hash ON sample_file (hash);
