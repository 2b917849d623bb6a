-- Tables of the store: from schema version 9 to 10. Never changed once released.

-- Of its host, as `uname -m` says it there; null: not recorded.
ALTER TABLE execution ADD COLUMN architecture TEXT;
