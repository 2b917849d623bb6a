-- Tables of the store: from schema version 1 to 2. Never changed once released.

-- Fingerprints that are taken live
ALTER TABLE fingerprint ADD COLUMN conditions TEXT; -- JSON object of what the machine said of itself; null: not recorded
ALTER TABLE fingerprint ADD COLUMN complete INTEGER NOT NULL DEFAULT 1; -- 0: interrupted, can be resumed, not used
ALTER TABLE fingerprint ADD COLUMN profile TEXT; -- of an emulated host; null otherwise

CREATE TABLE missing ( -- a stressor that was tried in a pass and gave no rate
	fingerprint TEXT NOT NULL REFERENCES fingerprint (id),
	pass INTEGER NOT NULL,
	stressor TEXT NOT NULL,
	reason TEXT NOT NULL,
	PRIMARY KEY (fingerprint, pass, stressor)
) WITHOUT ROWID;

CREATE TABLE raw ( -- what stress-ng wrote, word by word
	fingerprint TEXT NOT NULL REFERENCES fingerprint (id),
	pass INTEGER NOT NULL,
	stressor TEXT NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (fingerprint, pass, stressor)
) WITHOUT ROWID;
