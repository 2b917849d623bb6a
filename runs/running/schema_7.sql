-- Tables of the store: from schema version 6 to 7. Never changed once released.

-- How sure an interval of its results is to be, where they were looked at while the plan grew; null: they were not.
ALTER TABLE plan ADD COLUMN level REAL;
