#!/bin/sh
# Twelve emulated hosts, fingerprinted ROUNDS times (5) with each of BATTERIES (quick paper): seconds a machine, variation of every
# stressor, effective rank of the catalog, and whether disk and memory of this machine stayed as they were. About an hour.
. tests/lib_evidence.sh
{
	evidence_head "Fingerprints of twelve emulated hosts"
	/usr/bin/python3 tests/bench/fingerprints_table.py "$assay" "$work/lab" "${ROUNDS:-5}" "${BATTERIES:-quick paper}"
} >"$work/page"
evidence_done
