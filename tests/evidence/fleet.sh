#!/bin/sh
# `true` on 50 emulated hosts against pssh and clush in the same run; 200 hosts complete, with memory. Needs root (namespaces).
. tests/lib_evidence.sh
{
	evidence_head "Commands on many hosts"
	/usr/bin/python3 tests/bench/fleet_table.py "$assay" "$work/lab" "${ROUNDS:-9}"
} >"$work/page"
evidence_done
