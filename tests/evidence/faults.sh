#!/bin/sh
# Every fault of tests/bench/faults_host.py, TRIALS times (20) at random moments of `assay host measure` and of `assay run`, JOBS trials at a
# time (3), none begun after MINUTES: the states of the hosts, what was lost, doubled or left behind. Needs root (namespaces). With 20 trials
# about 30 minutes. One again: FAULT='link cut' COMMAND=run SEED=7 python3 tests/bench/faults.py build/release/assay DIRECTORY
TMPDIR=/var/tmp # each host has a /tmp of its own, and must see what it is made of
export TMPDIR
. tests/lib_evidence.sh
failed=0
{
	evidence_head "Hosts, links and controllers that fail"
	/usr/bin/python3 tests/bench/faults.py "$assay" "$work" || failed=1
} >"$work/page"
evidence_done
exit $failed
