-- Tables of the store: from schema version 10 to 11. Never changed once released.

-- The smallest improvement that is called one; 0: min_effect.
ALTER TABLE night_comparison ADD COLUMN min_gain REAL NOT NULL DEFAULT 0;
