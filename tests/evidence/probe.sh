#!/bin/sh
# The probe: what a call costs, native against probed against uftrace, and whole programs at the default budget. Some ten to thirty minutes, by how noisy the machine is.
. tests/lib_evidence.sh
{
	evidence_head "The probe"
	echo "uftrace is $(uftrace --version | head -n 1 | cut -d' ' -f2). No hardware counters on this machine: time stamps alone."
	echo
	/usr/bin/python3 tests/bench/probe_table.py "$assay" "$PWD/build/release/libassay-probe.so" "$PWD/build/release/libassay-probe-nothing.so" \
		"$PWD" "$work"
} >"$work/page"
evidence_done
