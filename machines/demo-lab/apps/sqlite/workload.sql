-- Loads a table, each row in a transaction of its own, and queries it.
.once statements.sql
WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < 8000)
SELECT printf('INSERT INTO purchase VALUES (%d, %d, %d.25, ''item %d'');', i, i * 7919 % 997, i % 100, i) FROM row;

CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER, amount REAL, item TEXT);
CREATE INDEX purchase_customer ON purchase (customer);
.read statements.sql

SELECT count(*), sum(amount) FROM purchase WHERE customer BETWEEN 100 AND 600;
SELECT count(*) FROM (SELECT customer FROM purchase GROUP BY customer HAVING count(*) > 5);
