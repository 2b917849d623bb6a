-- A write-ahead log: a transaction appends to one file, and only checkpoints are synced.
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
