-- Tables of the store: from schema version 8 to 9. Never changed once released.

-- What was known of its input, and counted in it (runs/running/execution_features.h), packed by Zstandard; null, or no bytes: nothing.
ALTER TABLE execution ADD COLUMN features BLOB;
