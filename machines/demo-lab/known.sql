-- What 'assay profile' says of a program, beside what the program says of itself (tests/apps/composed.c). Reads answer.json and truth.csv.
CREATE TABLE truth (process, part, wall REAL, cpu REAL, user, system, delay, calls, mapping, n);
.import --csv truth.csv truth
CREATE TABLE stands (stressor, part);
INSERT INTO stands VALUES ('cpu', 'arithmetic'), ('branch', 'arithmetic'), ('str', 'strings'), ('qsort', 'sorting'), ('seek', 'file-data'),
	('zero', 'file-data'), ('mmap', 'mapping'), ('brk', 'mapping'), ('malloc', 'mapping'), ('utime', 'file-metadata'),
	('rename', 'file-metadata'), ('fault', 'faults');
-- Each run counts the same, and so does each host.
CREATE VIEW known AS SELECT part, avg(share) AS share FROM
	(SELECT part, cpu / sum(cpu) OVER (PARTITION BY process) AS share FROM truth) GROUP BY part;
CREATE TABLE said AS SELECT CAST(readfile('answer.json') AS TEXT) AS text;
CREATE VIEW answer AS SELECT value ->> 'name' AS name, value ->> 'share' AS share, value ->> 'share_low' AS low, value ->> 'share_high' AS high,
	value -> 'members' AS members FROM said, json_each(said.text, '$.groups');
CREATE VIEW beside AS SELECT name, answer.share AS share, low, high, (SELECT coalesce(sum(share), 0) FROM known WHERE part IN
	(SELECT part FROM stands WHERE stressor IN (SELECT value FROM json_each(members)))) AS truth FROM answer;
SELECT name AS 'group of stressors', printf('%.0f %%', 100 * share) AS inferred, printf('%.0f to %.0f %%', 100 * low, 100 * high)
	AS '90 % interval', printf('%.0f %%', 100 * truth) AS truth FROM beside WHERE share >= .03 OR truth >= .03 ORDER BY truth DESC, share DESC;
