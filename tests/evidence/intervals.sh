#!/bin/sh
# How often intervals of the emulated back end, where windows are sampled, hold what --full says: over the programs of tests/apps, and over those of
# tests/apps/plain. Some ten minutes.
. tests/lib_evidence.sh
failed=0
{
	evidence_head "Intervals of sampled counts"
	echo 'The .95 intervals of `assay samples` against the same run with --full, by kind of counter; what was simulated as a whole in both is left out.'
	echo 'Potential HITM are of two threads, everything else is of one. Where runs with --full differ, the truth of four of them is what lies between the least'
	echo 'and the most; how many intervals that concerns is the last column. Totals of exact counters must be equal.'
	echo
	echo '## Small programs'
	/usr/bin/python3 tests/bench/coverage_table.py "$assay" "$work" apps || failed=1
	echo
	echo '## Programs as people write them'
	echo
	echo 'With 5 to 100 times as much to do as in truth.csv, without `ring`, whose threads wait for each other.'
	/usr/bin/python3 tests/bench/coverage_table.py "$assay" "$work" plain || failed=1
} >"$work/page"
evidence_done
exit $failed
