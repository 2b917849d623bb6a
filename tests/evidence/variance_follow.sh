#!/bin/sh
# Runs that are analysed while they go on: how late each window is told, what that takes, and 2,048 ranks. Some eleven minutes. CORPUS=DIRECTORY
# keeps what was measured, SECONDS_NOW=0 judges what there is.
. tests/lib_evidence.sh
corpus=${CORPUS:-$work/corpus}
/usr/bin/python3 tests/bench/variance_follow.py "$assay" "$corpus/follow" "${SECONDS_NOW:-3600}" >"$work/follow"
{
	evidence_head 'Variance of a run that goes on'
	cat "$work/follow"
} >"$work/page"
evidence_done
