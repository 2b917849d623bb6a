-- Tables of the store: from schema version 5 to 6. Never changed once released.

-- What the kernel has counted of it for nothing, and where its time was sampled: a JSON object; null: not recorded.
ALTER TABLE execution ADD COLUMN signature TEXT;
