#!/bin/sh
# Programs of known composition on the emulated fleet, COMPOSITIONS (30) of them: how right their profiles are. A quarter of an hour on a quiet
# machine. PROFILE_WORK keeps what was measured.
needs=nothing
. tests/lib_evidence.sh
kept=${PROFILE_WORK:-$work}
fleets="$kept/twelve $kept/two"
mkdir -p "$kept"
[ -f "$kept/recorded-at" ] || git rev-parse --short HEAD >"$kept/recorded-at"
gcc -O2 -pthread -o "$kept/composed" tests/apps/composed.c
/usr/bin/python3 tests/bench/profile_fleet.py measure "$assay" "$kept/composed" "$kept" "${COMPOSITIONS:-30}"
{
	evidence_head 'Profiles of known programs on the emulated fleet'
	evidence_recorded "$kept"
	/usr/bin/python3 tests/bench/profile_fleet.py page "$kept"
} >"$work/page"
evidence_done
