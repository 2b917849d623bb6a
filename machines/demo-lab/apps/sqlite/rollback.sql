-- A rollback journal: a transaction makes, syncs and removes a file of its own.
PRAGMA journal_mode = DELETE;
PRAGMA synchronous = FULL;
