-- Tables of the store: from schema version 5 to 6. Never changed once released.

-- The same of the stressor's run as of an application's (execution): a JSON object; null: not recorded.
ALTER TABLE raw ADD COLUMN signature TEXT;
