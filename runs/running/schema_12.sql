-- Tables of the store: from schema version 11 to 12. Never changed once released.

-- For so long each version and input is also run on each machine with one thing after the other dearer; null: not at all.
ALTER TABLE plan ADD COLUMN shapes_s REAL;

-- Such runs, and those between them with nothing dearer. They are no results.
CREATE TABLE shaped_run (
	plan TEXT NOT NULL REFERENCES plan (id),
	machine TEXT NOT NULL,
	version TEXT NOT NULL,
	input TEXT NOT NULL,
	ordinal INTEGER NOT NULL,
	application TEXT NOT NULL, -- as in run
	shape TEXT NOT NULL, -- '': nothing is dearer
	large INTEGER NOT NULL, -- its dose
	cpu_s REAL, user_s REAL, wall_s REAL, -- null: refused
	faults REAL, transfers REAL, bytes REAL, -- null: not known
	refused TEXT, -- why there are no runs of the shape; null: it is a run
	PRIMARY KEY (plan, machine, version, input, ordinal),
	CHECK ((refused IS NULL) = (cpu_s IS NOT NULL))
) WITHOUT ROWID;
CREATE INDEX shaped_run_application ON shaped_run (application, version);

-- What a dose of each means was there while they ran, measured in pairs of runs of the helper's own.
CREATE TABLE shaped_dose (
	plan TEXT NOT NULL REFERENCES plan (id),
	machine TEXT NOT NULL,
	version TEXT NOT NULL,
	input TEXT NOT NULL,
	ordinal INTEGER NOT NULL,
	means TEXT NOT NULL,
	large INTEGER NOT NULL,
	ns REAL NOT NULL,
	PRIMARY KEY (plan, machine, version, input, ordinal)
) WITHOUT ROWID;
