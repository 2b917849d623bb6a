#!/bin/sh
# What slices of programs of Debian count, for how little, and how far models err with that before a run. Rows are those of cost.sh, and with a
# directory KEPT what was built, found and run is kept, and not done again. PROGRAMS chooses some.
. tests/lib_evidence.sh
. tests/lib_debian.sh
. tests/lib_cost.sh
for program in ${PROGRAMS:-bzip2 lz4 sqlite3 jq mawk jsoncpp}; do
	cost_rows "$program"
	/usr/bin/python3 tests/bench/cost_slices.py "$program" "$assay" build/release/tests/bench_cost "$kept" "$kept" "$kept/$program.rows" >"$work/$program.line"
done
{
	evidence_head 'Slices: what can be counted before a run, and for how little'
	cat <<'END_TEXT'
Programs of [what an input should cost](cost.md), built by `assay build --for features --pieces`. `assay build --for features --slice` tried what two of the cheaper drawn inputs can do without, for 5 and 25 % of what a whole run counts; what is left was built
(`--without`), and ran 60 drawn inputs, once to count and once as it is, between two runs of the program without any counting.

*Pieces*: functions that were called, calls of libraries, branches and loops' ends in them, that may be left out; *runs*: that it took to find out which. *Wanted*: counts that the model of all inputs has terms of; *sliced*: those that the slice has right in the two inputs; *exact*: in all 60; *refused*: not in all.
*Time*: processor time of the slice, as a part of the whole run's, in the median (nothing sliced: what the cheapest count alone was found to take of all that is counted); and of the middle .9 of the inputs. *Error*: of models of 300 inputs on the others, as in cost.md: by what is known before a run for
nothing, by that and the slice's exact counts, and by all counts, which cost the run.

| program | price | pieces | runs | wanted | sliced | exact | refused | time | middle .9 | known before | with the slice | all counts |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
END_TEXT
	for program in ${PROGRAMS:-bzip2 lz4 sqlite3 jq mawk jsoncpp}; do
		cat "$work/$program.line"
	done
	printf '\nSlices were found and run from %s to %s; errors are of this revision.\n' "$(stat -c %y "$kept"/*.slices/*.json | sort | head -n 1 | cut -c 1-16)" \
		"$(stat -c %y "$kept"/*.slices/*.runs.csv | sort | tail -n 1 | cut -c 1-16)"
} >"$work/page"
evidence_done
