#!/bin/sh
# Runs on four emulated hosts: killed with SIGKILL KILLS times (20) at random moments and resumed, compared with an undisturbed run; and the
# gate on one version under two names, ROUNDS times (10). About ten minutes.
. tests/lib_evidence.sh
{
	evidence_head "Runs that are killed and resumed, and one version under two names"
	/usr/bin/python3 tests/bench/runs_table.py "$assay" "$work/lab" "${KILLS:-20}" "${ROUNDS:-10}"
} >"$work/page"
evidence_done
