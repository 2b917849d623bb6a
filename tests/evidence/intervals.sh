#!/bin/sh
# How often intervals of the emulated back end, where windows are sampled, hold what --full says, in the programs of tests/apps/plain. Some five
# minutes. Of small programs: tests/evidence/emulation.sh.
. tests/lib_evidence.sh
failed=0
{
	evidence_head "Full against sampled, in programs as people write them"
	echo 'Those of `tests/apps/plain` with 5 to 100 times as much to do as in truth.csv, without `ring`, whose threads wait for each other.'
	/usr/bin/python3 tests/bench/coverage_table.py "$assay" "$work" plain || failed=1
} >"$work/page"
evidence_done
exit $failed
