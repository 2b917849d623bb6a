-- The tables of a laboratory's database, schema version 1. Until the first release a change of the tables edits this
-- file. After that it never changes: schema_N.sql brings a database from version N - 1 to N, and fleet/lab/store.c lists these files.

-- ---- fingerprints ----

-- Files without times that were imported. A later CSV file that starts with all of one has its results, with their time and version.
CREATE TABLE imported_file (
	digest TEXT PRIMARY KEY, -- of its content
	bytes INTEGER NOT NULL, -- of its content
	taken_ms INTEGER NOT NULL, -- of its results, but for those that an earlier file had
	version TEXT NOT NULL -- of those of them without one
) WITHOUT ROWID;

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
	conditions TEXT, -- JSON object of what the machine reported about itself; null: not recorded
	complete INTEGER NOT NULL DEFAULT 1, -- 0: interrupted, can be resumed, not used
	profile TEXT -- of an emulated host; null otherwise
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

-- A stressor that was tried in a pass and gave no rate.
CREATE TABLE missing (
	fingerprint TEXT NOT NULL REFERENCES fingerprint (id),
	pass INTEGER NOT NULL,
	stressor TEXT NOT NULL,
	reason TEXT NOT NULL,
	PRIMARY KEY (fingerprint, pass, stressor)
) WITHOUT ROWID;

-- The output of stress-ng, unchanged.
CREATE TABLE raw (
	fingerprint TEXT NOT NULL REFERENCES fingerprint (id),
	pass INTEGER NOT NULL,
	stressor TEXT NOT NULL,
	text TEXT NOT NULL,
	signature TEXT, -- as that of an execution, of the stressor's run; null: not recorded
	PRIMARY KEY (fingerprint, pass, stressor)
) WITHOUT ROWID;

-- Counters of stressors, in runs apart from the passes that give the rates: which events were counted in which run, and which were not.
CREATE TABLE counter_event (
	fingerprint TEXT NOT NULL REFERENCES fingerprint (id),
	run INTEGER NOT NULL CHECK (run >= 0), -- 0: in none
	event TEXT NOT NULL, -- '' in run 0: there are no hardware counters at all
	family TEXT, -- hardware, software
	domain TEXT, -- user, all: without or with the kernel's part
	reason TEXT, -- why it was not counted
	PRIMARY KEY (fingerprint, run, event),
	CHECK ((run = 0) = (reason IS NOT NULL) AND (run = 0) = (family IS NULL))
) WITHOUT ROWID;

-- One run of one stressor under counters.
CREATE TABLE counted (
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

-- ---- runs ----

-- What one 'assay run' is to measure.
CREATE TABLE plan (
	id TEXT PRIMARY KEY,
	application TEXT NOT NULL, -- of the manifest, without an input
	manifest TEXT NOT NULL, -- the whole file
	manifest_hash TEXT NOT NULL,
	repetitions INTEGER NOT NULL,
	warm_ups INTEGER NOT NULL,
	seed INTEGER NOT NULL, -- the bits of an unsigned number
	started_ms INTEGER NOT NULL,
	complete INTEGER NOT NULL DEFAULT 0, -- 0: interrupted, can be resumed
	probe TEXT, -- how functions are measured in its runs, which are no results then; null: they are
	level REAL -- of intervals of its results, where these were looked at while the plan grew; null: they were not
);
CREATE INDEX plan_application ON plan (application, started_ms);

CREATE TABLE plan_item (
	plan TEXT NOT NULL REFERENCES plan (id),
	kind TEXT NOT NULL CHECK (kind IN ('version', 'input', 'machine')),
	ordinal INTEGER NOT NULL,
	name TEXT NOT NULL,
	artefact TEXT, -- of a version: hash of what is deployed for it
	plain TEXT, -- of a version of which a variant is deployed: hash of what would be deployed of its plain build; null: it is no variant
	PRIMARY KEY (plan, kind, ordinal)
) WITHOUT ROWID;

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
	metric_name TEXT, -- as the imported file calls it; '': not known; null: measured here
	plan TEXT REFERENCES plan (id), -- null: imported
	turns INTEGER NOT NULL DEFAULT 0, -- 0: repetition numbers tell the order; 1: the import counted them; 2: the import says that versions took turns
	PRIMARY KEY (application, version, machine, taken_ms, repetition, ordinal)
) WITHOUT ROWID;

-- Direction of the metrics of imported results; without a row lower is better.
CREATE TABLE metric_direction (
	application TEXT PRIMARY KEY,
	higher_is_better INTEGER NOT NULL
) WITHOUT ROWID;

-- Every run that was started, with its output. One that failed has no metric.
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
	signature TEXT, -- resource usage counters of the kernel and where its time was sampled: a JSON object; null: not recorded
	features BLOB, -- of its input and counted in it (runs/running/execution.h), packed by Zstandard; no bytes: none
	architecture TEXT, -- of its host, as `uname -m` says it there; null: not recorded
	PRIMARY KEY (plan, machine, version, input, repetition),
	CHECK ((outcome = 'ok') = (metric IS NOT NULL))
);
CREATE INDEX execution_application ON execution (application, version);

-- Runs of applications that gave no result, by the file that they were imported from.
CREATE TABLE failure (
	application TEXT NOT NULL, -- as in run
	version TEXT NOT NULL,
	machine TEXT NOT NULL,
	taken_ms INTEGER NOT NULL,
	repetition INTEGER NOT NULL,
	ordinal INTEGER NOT NULL, -- distinguishes failures of one repetition, in the order of the file, from 0
	outcome TEXT NOT NULL, -- as in execution
	detail TEXT NOT NULL,
	PRIMARY KEY (application, version, machine, taken_ms, repetition, ordinal)
) WITHOUT ROWID;

-- All runs that failed, executed or imported. probed: it could not have given a result.
CREATE VIEW failed_run AS
SELECT plan, machine, version, input, repetition, application, taken_ms, outcome, detail, metric, wall_ns, user_us, sys_us, max_rss_bytes,
exit_status, signal, out, err, (SELECT probe IS NOT NULL FROM plan WHERE id = execution.plan) AS probed FROM execution WHERE outcome <> 'ok'
UNION ALL
SELECT NULL, machine, version, '', repetition, application, taken_ms, outcome, detail, NULL, NULL, NULL, NULL, NULL, NULL, NULL, x'', x'', 0
FROM failure;

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

-- .assay/samples/HH/HASH.samples.zst
CREATE TABLE sample_file (
	plan TEXT NOT NULL,
	machine TEXT NOT NULL,
	version TEXT NOT NULL,
	input TEXT NOT NULL,
	repetition INTEGER NOT NULL,
	pack INTEGER NOT NULL CHECK (pack >= 0), -- which of the runs that the counters take
	hash TEXT NOT NULL, -- of its content, not compressed
	bytes INTEGER NOT NULL, -- not compressed
	back_end TEXT NOT NULL,
	hardware_type TEXT NOT NULL, -- of the machine at that time; '': not known
	pruned INTEGER NOT NULL DEFAULT 0, -- 1: the file was removed by policy
	PRIMARY KEY (plan, machine, version, input, repetition, pack, hash),
	FOREIGN KEY (plan, machine, version, input, repetition)
		REFERENCES execution (plan, machine, version, input, repetition) ON UPDATE CASCADE -- a machine gets another name
) WITHOUT ROWID;
CREATE INDEX sample_file_hash ON sample_file (hash);

-- ---- nights ----

-- The comparisons that a suite asked for, and when. One without an end was interrupted, and continues by itself.
CREATE TABLE night (
	id TEXT PRIMARY KEY,
	started_ms INTEGER NOT NULL,
	deadline_ms INTEGER NOT NULL, -- 0: none
	finished_ms INTEGER, -- null: it is not finished
	exit_status INTEGER,
	suite TEXT NOT NULL -- the text of suite.yaml
) STRICT;

-- What it says of itself, as it goes on.
CREATE TABLE night_note (
	night TEXT NOT NULL REFERENCES night (id),
	number INTEGER NOT NULL, -- from 0
	code TEXT NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (night, number)
) STRICT, WITHOUT ROWID;

-- What it compares, resolved once at its start.
CREATE TABLE night_comparison (
	night TEXT NOT NULL REFERENCES night (id),
	number INTEGER NOT NULL, -- from 1, in the order in which they are measured
	manifest TEXT NOT NULL, -- of apps/, by its name
	application TEXT NOT NULL, -- as results are stored: NAME or NAME/INPUT
	input TEXT NOT NULL, -- '': has no name
	candidate TEXT NOT NULL, -- a version; of a branch NAME-COMMIT
	baseline TEXT NOT NULL, -- likewise; '': there is none
	against TEXT NOT NULL, -- accepted, release, previous, version
	hosts TEXT NOT NULL, -- a node set; '': all
	min_effect REAL NOT NULL,
	min_gain REAL NOT NULL DEFAULT 0, -- smallest improvement that is called one; 0: min_effect
	budget_s REAL NOT NULL, -- 0: none of its own
	state TEXT NOT NULL, -- waiting, measuring, confirming, decided, unreached
	plan TEXT NOT NULL, -- whose runs are looked at; '': none yet
	fresh_plan TEXT NOT NULL, -- of the runs that confirm a finding; '': none
	decision TEXT NOT NULL, -- id of its decision; '': none yet
	detail TEXT NOT NULL, -- one line about hosts that were lost and the like
	seconds REAL NOT NULL, -- that were spent on it
	PRIMARY KEY (night, number)
) STRICT, WITHOUT ROWID;

-- Decisions are never changed, and neither are the rows of the next five tables: all of a decision is stored in one transaction. From the
-- columns up to `accepted`, the calibration and the raw results, all others follow (gate/nightly/judge.h).
CREATE TABLE decision (
	id TEXT PRIMARY KEY, -- 16 hexadecimal digits of a hash of all else, but made_ms
	night TEXT NOT NULL,
	number INTEGER NOT NULL,
	made_ms INTEGER NOT NULL,
	application TEXT NOT NULL,
	baseline TEXT NOT NULL,
	candidate TEXT NOT NULL,
	-- What it rests on.
	rules INTEGER NOT NULL CHECK (rules >= 1), -- JUDGE_RULES of the assay that made it
	plan TEXT NOT NULL, -- '': nothing was run, and `why` has the reason
	fresh_plan TEXT NOT NULL, -- of the runs that confirm it; '': none
	min_effect REAL NOT NULL CHECK (min_effect BETWEEN 1e-6 AND 1),
	min_gain REAL NOT NULL DEFAULT 0 CHECK (min_gain BETWEEN 0 AND 1), -- 0: min_effect
	confirm INTEGER NOT NULL DEFAULT 0, -- a finding needs fresh runs
	control INTEGER NOT NULL DEFAULT 0, -- the baseline ran beside itself
	on_machines INTEGER NOT NULL DEFAULT 1 CHECK (on_machines >= 1), -- on so many it must be seen, or on all
	chance INTEGER NOT NULL DEFAULT 0, -- by the other comparisons of the night it may be chance
	alike INTEGER NOT NULL DEFAULT 0, -- they lean the same way
	why TEXT NOT NULL DEFAULT '',
	accepted TEXT NOT NULL DEFAULT '', -- when and why its baseline was accepted
	-- What was decided.
	decision TEXT NOT NULL,
	by_processor INTEGER NOT NULL DEFAULT 0, -- by CPU time instead of the metric
	ratio REAL, -- as the next four, null: there is none
	low REAL,
	high REAL,
	level REAL, -- of the interval
	p REAL, -- two-sided
	fresh TEXT NOT NULL DEFAULT 'none', -- none, due, seen, not_seen, disturbed
	control_moved INTEGER NOT NULL DEFAULT 0,
	recorded INTEGER NOT NULL DEFAULT 0, -- runs whose recorded calls were looked at
	cause TEXT NOT NULL DEFAULT '', -- what the difference is made of
	document TEXT NOT NULL -- JSON: the answer, for showing
) STRICT;
CREATE INDEX decision_of_application ON decision (application, made_ms);

CREATE TABLE decision_reason (
	decision TEXT NOT NULL REFERENCES decision (id) ON UPDATE CASCADE,
	number INTEGER NOT NULL, -- from 0
	code TEXT NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (decision, number)
) STRICT, WITHOUT ROWID;

-- Machines with runs of both versions.
CREATE TABLE decision_machine (
	decision TEXT NOT NULL REFERENCES decision (id) ON UPDATE CASCADE,
	number INTEGER NOT NULL, -- from 0
	machine TEXT NOT NULL,
	log_ratio REAL, -- of costs, above 0 is worse; null: it does not count
	PRIMARY KEY (decision, number)
) STRICT, WITHOUT ROWID;

-- Machines that got another name. Decisions keep the name that a machine had when they were made.
CREATE TABLE renamed_machine (
	old_name TEXT NOT NULL,
	renamed_ms INTEGER NOT NULL,
	new_name TEXT NOT NULL, -- the present one
	PRIMARY KEY (old_name, renamed_ms)
) STRICT, WITHOUT ROWID;

-- Functions that explain it, by their samples, the one that costs most first.
CREATE TABLE decision_function (
	decision TEXT NOT NULL REFERENCES decision (id) ON UPDATE CASCADE,
	number INTEGER NOT NULL, -- from 0
	function TEXT NOT NULL,
	file TEXT NOT NULL, -- as the next one: '' and 0: not known
	line INTEGER NOT NULL,
	kind TEXT NOT NULL, -- calls, more_work, cache_capacity...
	counter TEXT NOT NULL, -- that moved; '': none
	normal REAL, -- its means: of the baseline, and of the candidate
	now REAL,
	part REAL NOT NULL, -- of the time that all functions take more, or less
	PRIMARY KEY (decision, number)
) STRICT, WITHOUT ROWID;

-- Runs during which the machine was busy with something else.
CREATE TABLE decision_disturbed (
	decision TEXT NOT NULL REFERENCES decision (id) ON UPDATE CASCADE,
	number INTEGER NOT NULL, -- from 0
	machine TEXT NOT NULL,
	version TEXT NOT NULL,
	repetition INTEGER NOT NULL,
	cause TEXT NOT NULL, -- run_delay, throttled, io_stalled, memory_stalled, steal
	share REAL NOT NULL, -- of its wall-clock time
	usual REAL NOT NULL, -- of the quieter runs of that version there
	left_out INTEGER NOT NULL,
	PRIMARY KEY (decision, number)
) STRICT, WITHOUT ROWID;

-- What it quotes of calibration.json, where there is something to quote.
CREATE TABLE decision_calibration (
	decision TEXT PRIMARY KEY REFERENCES decision (id) ON UPDATE CASCADE,
	own INTEGER NOT NULL, -- of the application itself, else of all together
	taken_ms INTEGER NOT NULL,
	identical INTEGER NOT NULL,
	independent INTEGER NOT NULL, -- of these, pairs that share no run with another one
	slower INTEGER NOT NULL,
	faster INTEGER NOT NULL,
	percent INTEGER NOT NULL,
	planted INTEGER NOT NULL,
	found INTEGER NOT NULL,
	stale TEXT NOT NULL -- why it does not hold any more; '': it does
) STRICT, WITHOUT ROWID;
