#!/bin/sh
# Ways to score on rows that are made up: what each finds of planted shifts at the same rate of false positives.
. tests/lib_evidence.sh
export OPENBLAS_NUM_THREADS=1
build/release/tests/bench_scorers samples 20 >"$work/samples"
build/release/tests/bench_scorers runs 20 >"$work/runs"
{
	evidence_head "Ways to score, compared"
	/usr/bin/python3 tests/bench/scorers_table.py "$work/samples" "$work/runs"
} >"$work/page"
evidence_done
