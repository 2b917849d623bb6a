#!/bin/sh
# The faults of tests/apps (AutoPerf's programs) and refactorings of the same programs by `assay gate --run` on an emulated fleet: function first,
# kind, false alarms. WHY_WORK keeps what was measured: a second call goes on where the first one ended. WHY_SLICE, seconds: each call ends by itself after
# about so long (status 75) until all is measured; a case takes some ten seconds to minutes. Needs root for the fleet.
TMPDIR=/var/tmp # each host has a /tmp of its own
export TMPDIR
. tests/lib_evidence.sh
kept=${WHY_WORK:-$work}
fleets=$kept/lab
mkdir -p "$kept"
[ -f "$kept/recorded-at" ] || git rev-parse --short HEAD >"$kept/recorded-at"
/usr/bin/python3 tests/bench/why_faults.py run "$assay" "$kept"
{
	evidence_head 'Faults and refactorings, from the sources to the function'
	evidence_recorded "$kept"
	echo 'Each row is one call of `assay gate NAME@old NAME@new --run` on an emulated fleet of two hosts of one type, for a manifest with two directories of sources'
	echo 'and a build command. What a version costs is a number that it prints, 30 % more for the new one, so that the decision does not depend on this machine. All'
	echo 'else follows by itself: variants are built, 19 runs of each version are measured by the probe, and, since these hosts count nothing, 19 more by emulated'
	echo 'counters. Faults are those of `tests/apps/truth.csv`, with two threads. Refactorings: all functions are renamed; the body of the function is another one,'
	echo 'which is inlined; it is moved behind all others; the bounds of its loops are variables. A function that is named in these is a false alarm.'
	echo
	echo 'The code of the slow functions of `numa_init`, `pointer_chase` and `branch` did not change, only their data. SQLite, a'
	echo 'run of which takes about a minute with emulated counters, has a limit of 90 minutes (`--why 90m`) instead of 5.'
	echo
	/usr/bin/python3 tests/bench/why_faults.py page "$kept"
} >"$work/page"
evidence_done
