#!/bin/sh
# What inputs cost three programs: how far the models err on inputs left out, by the number of inputs learned; the published procedure and a
# random forest beside them. What was measured is kept in docs/evidence/cost_PROGRAM.csv: where that is there, it is not measured again.
. tests/lib_evidence.sh
{
	evidence_head "What an input should cost"
	echo "Each program ran drawn inputs, each three times; the median of its processor time counts. Features are what is known of an input"
	echo "before a run: its size, and the numbers that it was drawn by (tests/bench/cost_programs.py). Of each number of inputs learned, ten models of"
	echo "drawn inputs; the error is the mean of |cost / prediction - 1| over all that were not drawn. Intervals should have .9 of these."
	echo "Of pairs of versions, the baseline's model is learned from 140 drawn inputs, and the candidate ran all others; it is as dear as it was, or all its"
	echo "costs are multiplied. What matters is 3 %."
	for program in bzip2 sqlite3 jq; do
		csv=docs/evidence/cost_$program.csv
		if [ ! -s "$csv" ]; then
			python3 tests/bench/cost_programs.py "$program" "$work" 240 >"$work/csv"
			mv "$work/csv" "$csv"
		fi
		printf '\n## %s, %s inputs\n\n' "$program" $(($(wc -l <"$csv") - 1))
		build/release/tests/bench_cost "$csv"
		if /usr/bin/python3 -c 'import sklearn' 2>/dev/null; then
			printf '\nA random forest of scikit-learn (100 trees):\n\n| inputs learned | error |\n| --- | --- |\n'
			/usr/bin/python3 tests/bench/cost_peer.py "$csv"
		fi
	done
} >"$work/page"
evidence_done
