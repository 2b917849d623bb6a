-- What 'assay gate' says two versions differ in, beside what the program says of itself (tests/apps/composed.c). Reads answer.json, truth-*.csv.
CREATE TABLE old (process, part, wall REAL, cpu REAL, user, system, delay REAL, calls REAL, mapping REAL, n, back);
CREATE TABLE new (process, part, wall REAL, cpu REAL, user, system, delay REAL, calls REAL, mapping REAL, n, back);
.import --csv truth-old.csv old
.import --csv truth-new.csv new
CREATE TABLE said AS SELECT CAST(readfile('answer.json') AS TEXT) AS text;
-- Of each part and run: all of its time, and what of that is not in calls of the kernel. Each run counts the same, and so does each host.
CREATE VIEW truth AS SELECT 1 AS sign, * FROM new UNION ALL SELECT -1, * FROM old;
CREATE VIEW spent AS SELECT sign, process, part, cpu, max(wall - cpu - delay, 0) AS waiting, CASE
	WHEN part IN ('arithmetic', 'strings', 'sorting') THEN cpu
	WHEN calls > 0 THEN min(cpu, max(wall - calls - mapping, 0) * cpu / max(cpu + delay, 1e-9)) ELSE cpu / 2 END AS computing FROM truth;
CREATE VIEW runs AS SELECT sign, count(DISTINCT process) AS n FROM truth GROUP BY sign;
CREATE VIEW known AS SELECT 'compute' AS name, sum(sign * computing / n) AS s FROM spent JOIN runs USING (sign) UNION ALL
	SELECT 'kernel', sum(sign * (cpu - computing) / n) FROM spent JOIN runs USING (sign) UNION ALL
	SELECT 'waiting', sum(sign * waiting / n) FROM spent JOIN runs USING (sign) UNION ALL
	SELECT replace(part, '-', ' '), sum(sign * (cpu - computing) / n) FROM spent JOIN runs USING (sign)
	WHERE part IN ('file-data', 'file-metadata') GROUP BY part;
CREATE VIEW answer AS SELECT key AS place, value ->> 'level' = 'time' AS whole, value ->> 'name' AS name, value ->> 'difference' AS s,
	value ->> 'low' AS low, value ->> 'high' AS high, value ->> 'certain' AS certain FROM said, json_each(said.text, '$.measured.parts')
	WHERE value ->> 'level' <> 'function';
SELECT printf('%s%s', iif(whole, '', '  '), CASE name WHEN 'compute' THEN 'computing' WHEN 'kernel' THEN 'in the kernel' ELSE name END)
	AS 'spent on', iif(known.s IS NULL, '', printf('%+.3f s', known.s)) AS truth, printf('%+.3f s', answer.s) AS answer,
	printf('%+.3f to %+.3f s', low, high) AS '95 % interval', iif(certain, '', 'may be chance') AS ''
	FROM answer LEFT JOIN known USING (name) WHERE whole OR certain OR known.s IS NOT NULL
	OR name = 'system call filters' ORDER BY place;
