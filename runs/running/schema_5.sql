-- Tables of the store: from schema version 4 to 5. Never changed once released.

-- Instrumented runs.
ALTER TABLE plan ADD COLUMN probe TEXT; -- how functions are measured in its runs, which are no results then; null: they are
