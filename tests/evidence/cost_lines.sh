#!/bin/sh
# How often `gate --method cost` names the loop that became dearer, where it was made so in the sources of programs of Debian, and the candidate
# runs inputs that the baseline never ran. With a directory KEPT, sources, builds and laboratories are kept, and loops that are there are not
# measured again. PROGRAMS chooses some; LOOPS (4) are drawn of each, of sqlite3, which takes minutes to build, 3.
. tests/lib_evidence.sh
. tests/lib_debian.sh
. tests/lib_cost.sh
for program in ${PROGRAMS:-bzip2 lz4 mawk jq jsoncpp sqlite3}; do
	loops=${LOOPS:-4}
	[ "$program" != sqlite3 ] || loops=3
	/usr/bin/python3 tests/bench/cost_lines.py "$program" "$assay" "$kept" "$kept/$program.lines" "$loops" >"$work/$program.line"
done
{
	evidence_head "Which loop became dearer"
	cat <<'END_TEXT'
Programs of Debian were built with `-g` as they are, and with one loop made dearer in the sources: at the beginning of its body a register is counted down, so often that
six inputs together cost 5 or 10 % more (.7 to 1.4 times that was measured). Drawn are up to four loops of each program (sqlite3, which takes minutes to build: three), of at least 2 % of all that is counted (sqlite3, whose work is spread over more: .5 %), whose body stands in braces. The baseline
ran 60 drawn inputs, a candidate 30 others, each once; where the time goes is noted each 10 ms, which leaves 200 to 500 samples of a candidate. *Function* and *loop*: those that `gate --method
cost` says first (`slower_at`, by samples and by which inputs cost more). *By costs alone*: whether the first of what explains the costs (`slower`) has the loop's line. *Unchanged*: what was decided where the
candidate is the same program, its ratio with the interval of 95 %, how many of its inputs are unlike all that were learned, and how many functions were said to be slower. It passes where the
interval ends below 1.03 and at most a tenth of the inputs are unlike; with more noise, or wider drawn inputs, more of them are needed, and *inconclusive* says so.

| program | loops to draw of | planted | loops | regression | function | loop | by costs alone | unchanged | functions |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
END_TEXT
	cat "$work"/*.line
	printf '\nRuns are kept: those of %s were made from %s to %s; what is said of them is of this revision.\n' "$(ls "$work" | sed -n 's/\.line$//p' | tr '\n' ' ' | sed 's/ $//')" \
		"$(stat -c %y "$kept"/*.lines/*.lab/done | sort | head -n 1 | cut -c 1-16)" "$(stat -c %y "$kept"/*.lines/*.loops.csv | sort | tail -n 1 | cut -c 1-16)"
	cat "$work"/*.line | awk -F '|' '{ n += $5; named += $7; loop += $8; called += $6 } END { printf "Of all %d, %d were called, the function is right in %d and the loop in %d.\n", n, called, named, loop }'
	printf '\nEach loop, how much dearer all became by it, and what was said; loops by which so much could not be had are not among them.\n\n'
	for program in "$work"/*.line; do
		program=$(basename "$program" .line)
		sed "s/^/    $program,/" "$kept/$program.lines/$program.lines.csv"
	done
} >"$work/page"
evidence_done
