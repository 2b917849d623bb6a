-- What 'assay profile' says of a program, beside what the program says of itself (tests/apps/composed.c). Reads answer.json and truth.csv.
CREATE TABLE truth (process, part, wall REAL, cpu REAL, user, system, delay REAL, calls REAL, mapping REAL, n, back);
.import --csv truth.csv truth
CREATE TABLE said AS SELECT CAST(readfile('answer.json') AS TEXT) AS text;
CREATE TABLE stands (stressor, part);
INSERT INTO stands VALUES ('cpu', 'arithmetic'), ('branch', 'arithmetic'), ('str', 'strings'), ('qsort', 'sorting'), ('seek', 'file-data'),
	('zero', 'file-data'), ('mmap', 'mapping'), ('brk', 'mapping'), ('malloc', 'mapping'), ('utime', 'file-metadata'),
	('rename', 'file-metadata'), ('fault', 'faults');
-- Of each part and run: all of its time, and what of that is not in calls of the kernel. Each run counts the same, and so does each host.
CREATE VIEW spent AS SELECT process, part, cpu, max(wall - cpu - delay, 0) AS waiting, CASE
	WHEN part IN ('arithmetic', 'strings', 'sorting') THEN cpu
	WHEN calls > 0 THEN min(cpu, max(wall - calls - mapping, 0) * cpu / max(cpu + delay, 1e-9)) ELSE cpu / 2 END AS computing FROM truth;
CREATE VIEW run AS SELECT sum(computing) AS compute, sum(cpu - computing) AS kernel, sum(waiting) AS waiting, sum(cpu + waiting) AS whole
	FROM spent GROUP BY process;
CREATE VIEW known AS SELECT part, avg(share) AS share FROM
	(SELECT part, cpu / sum(cpu) OVER (PARTITION BY process) AS share FROM truth) GROUP BY part UNION ALL
	SELECT 'compute', avg(compute / whole) FROM run UNION ALL SELECT 'kernel', avg(kernel / whole) FROM run UNION ALL
	SELECT 'waiting', avg(waiting / whole) FROM run;
CREATE VIEW answer AS SELECT value ->> 'name' AS name, value ->> 'how' AS how, value ->> 'verdict' AS trust, value ->> 'share' AS share,
	value ->> 'low' AS low, value ->> 'high' AS high, (SELECT share FROM known WHERE part = value ->> 'name') AS truth, 0 AS place
	FROM said, json_each(said.text, '$.levels') WHERE value ->> 'level' = 'time' AND value ->> 'how' = 'measured' UNION ALL
	SELECT value ->> 'name', 'inferred', said.text ->> '$.trust.verdict', value ->> 'share', value ->> 'share_low', value ->> 'share_high',
	(SELECT coalesce(sum(share), 0) FROM known WHERE part IN (SELECT part FROM stands WHERE stressor IN
	(SELECT member.value FROM json_each(one.value, '$.members') AS member))), 1 FROM said, json_each(said.text, '$.groups') AS one;
SELECT name AS 'spent on', printf('%.0f %%', 100 * share) AS answer, printf('%.0f to %.0f %%', 100 * low, 100 * high) AS '90 % interval',
	printf('%.0f %%', 100 * truth) AS truth, how || ', ' || trust AS how FROM answer WHERE share >= .03 OR truth >= .03
	ORDER BY place, truth DESC, share DESC;
