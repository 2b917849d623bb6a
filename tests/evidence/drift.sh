#!/bin/sh
# Six machines over 26 weeks: how often `catalog drift` says of an unchanged one that it differs, and how soon it finds one that is slower.
needs=nothing
. tests/lib_evidence.sh
cmake --preset release >"$work/log" && cmake --build --preset release --target bench_drift >>"$work/log"
{
	evidence_head 'Drift: six machines over 26 weeks'
	build/release/tests/bench_drift docs/evidence/drift.csv "${REPETITIONS:-200}"
} >"$work/page"
evidence_done
