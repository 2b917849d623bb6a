#!/bin/sh
# What inputs cost on machines that ran none, by fingerprints: programs of known composition on the emulated fleet, of which each host in turn
# is taken away. A quarter of an hour. COST_MACHINES_WORK keeps what was measured.
needs=nothing
. tests/lib_evidence.sh
kept=${COST_MACHINES_WORK:-$work}
mkdir -p "$kept"
gcc -O2 -pthread -o "$kept/composed" tests/apps/composed.c
/usr/bin/python3 tests/bench/cost_machines.py measure "$assay" "$kept/composed" "$kept"
{
	evidence_head 'What an input should cost on another machine'
	/usr/bin/python3 tests/bench/cost_machines.py page "$kept"
} >"$work/page"
evidence_done
