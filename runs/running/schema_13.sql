-- Tables of the store: from schema version 12 to 13. Never changed once released.

-- What else is made dearer in such runs, beside what always is: names of shapes with commas between; null or '': nothing.
ALTER TABLE plan ADD COLUMN dearer TEXT;
