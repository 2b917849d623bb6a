#!/bin/sh
# False alarms and power of the gate's decision, by simulation in process: 10,000 draws a row. Some forty minutes of one CPU; rows
# that build/decisions has of the same revision are kept.
. tests/lib_evidence.sh
bench=build/release/tests/bench_decisions
rows=build/decisions/$(git rev-parse --short HEAD)
mkdir -p build/decisions
touch "$rows"
n=0
for repetitions in 1 3 20; do
	for machines in 1 2 3 10; do
		for kind in 0 1 2 3 4 5; do
			n=$((n + 1))
			[ "$(wc -l <"$rows")" -ge "$n" ] || nice -n 19 "$bench" 10000 "$kind" "$machines" "$repetitions" >>"$rows"
		done
	done
done
functions=$rows.functions
touch "$functions"
of=0
for repetitions in 6 12 20; do
	for machines in 1 3; do
		for kind in 0 5; do
			of=$((of + 1))
			[ "$(wc -l <"$functions")" -ge "$of" ] || nice -n 19 "$bench" 10000 "$kind" "$machines" "$repetitions" functions >>"$functions"
		done
	done
done
{
	evidence_head 'How often decisions are wrong, by simulation'
	cat <<'END'
Versions that take turns in one plan (A B B A; which comes first is drawn for each machine), decided by the code of the gate
(`verdict_compute`, smallest effect that matters 3 %). Noise of a run: *normal*, 3 %; *ticks*, 5 % on a clock of 10 %; *heavy tails*, Student's t
with two degrees of freedom, times 1 %; *two groups*, half of the runs take 0.015 of the others' time; *drift*, 20 % over the session; *busy*,
for some runs in a row most take four times as long. The promise is 0.025 at most for either decision about an unchanged version; of 10,000
draws the standard error there is 0.0016. Power: 2,000 draws of a version that is 10 % slower.

| noise | machines | repetitions | unchanged: regression | unchanged: improved | 10 % slower: regression |
| --- | ---: | ---: | ---: | ---: | ---: |
END
	sed 's/ one plan |//' "$rows" | sort -s -t '|' -k 2,2
	echo
	echo "Above 0.025 by more than two standard errors: $(awk -F'|' '$6 > 0.0282 || $7 > 0.0282 {n++} END {print n + 0}' "$rows") of $n rows."
	cat <<'END'

## With samples of functions

The same with CPU time and samples (one each ms) of runs of a second, decided by `comparison_compute`. Of five functions the first takes 0.3 s with noise of 1 %, the
others 0.5 s, each half to one and a half times as much as usual, drawn for each run; the program waits for 0.2 s with the noise of a row. Slower: the first
function takes 0.06 s more. By functions: functions that half of the runs chose decided (`function_confirms`).

| noise | machines | repetitions | unchanged: regression | unchanged: improved | slower: regression | unchanged: by functions | slower: by functions |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
END
	sed 's/ functions |//' "$functions" | sort -s -t '|' -k 2,2
} >"$work/page"
evidence_done
