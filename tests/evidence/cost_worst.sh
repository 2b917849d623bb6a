#!/bin/sh
# What `cost worst` finds among drawn inputs, most of which were not run, checked by running it. Inputs and what they cost are those of cost.sh; with a
# directory KEPT what was run is not run again, and what was found at this revision not looked for. PROGRAMS chooses some.
. tests/lib_evidence.sh
. tests/lib_debian.sh
. tests/lib_cost.sh
for program in ${PROGRAMS:-bzip2 lz4 sqlite3 jq mawk jsoncpp}; do
	line=$kept/$program.worst-$(git rev-parse --short HEAD)
	[ ! -s "$line" ] || continue
	cost_rows "$program"
	/usr/bin/python3 tests/bench/cost_worst.py "$program" "$assay" "$kept" "$kept" "docs/evidence/cost_$program.csv" >"$line.new"
	mv "$line.new" "$line"
done
{
	evidence_head 'The dearest inputs for their size'
	cat <<'END_TEXT'
Of each program a manifest has the 360 drawn inputs of [what an input should cost](cost.md), as many as are 400 MiB, as files, and what they were drawn by as variables of their environment; 60 of them, drawn, were run once each. `assay cost worst` ranks
all of them by what they should cost for each byte beyond what every run costs, and looks at no count. The ten that it puts first were run then. What all cost had been measured for cost.md, from memory, without `assay`: that says which are the dearest in truth.

*Error*: of the model on inputs left out; above 15 % `assay` refuses it, and was asked with `--max-error 100` for what is said here. *Ranked*: inputs that it says something of; the others are left out, since most of what they cost every run does, or the model does not know. Costs are a byte, beyond what every run costs, in
times the median of those ranked: what it expects of its first; what that took when it was run; the dearest of its ten; in truth the dearest of all, and of the 60 that were run before. *Place*: that its first has in truth. *Of ten*: how many of its first ten are among the ten dearest in truth.
*Expected, off*: |expected / measured - 1| of the ten.

| program | error | ranked | left out | expected | its first | its dearest | dearest of all | of those run | place | of ten | expected, off |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
END_TEXT
	for program in ${PROGRAMS:-bzip2 lz4 sqlite3 jq mawk jsoncpp}; do
		cat "$kept/$program.worst-$(git rev-parse --short HEAD)"
	done
	printf '\nIts first ten: input, bytes, seconds expected, when it was run, and for cost.md; place in truth; whether it was learned from.\n\n'
	for program in ${PROGRAMS:-bzip2 lz4 sqlite3 jq mawk jsoncpp}; do
		[ ! -f "$kept/$program.worst.csv" ] || sed 's/^/    /; s/\r$//' "$kept/$program.worst.csv"
	done
} >"$work/page"
evidence_done
