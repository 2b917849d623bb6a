#!/bin/sh
# Ways to score on rows that are made up: what each finds of planted shifts at the same rate of false positives; and whether the rate that was asked for
# is met. REPEATS=N, BLOCKS=N: fewer, to try it.
. tests/lib_evidence.sh
export OPENBLAS_NUM_THREADS=1
build/release/tests/bench_scorers samples "${REPEATS:-20}" >"$work/samples"
build/release/tests/bench_scorers runs "${REPEATS:-20}" >"$work/runs"
{
	evidence_head "Ways to score, compared"
	/usr/bin/python3 tests/bench/scorers_table.py "$work/samples" "$work/runs"
	echo
	echo "## Normal runs called anomalous"
	echo
	echo "${BLOCKS:-300} blocks a line, each with a detector of its own (Mahalanobis; three functions with 2, 10 and 30 samples a run), one new normal run and one with"
	echo 'a fault; intervals of Clopper and Pearson. `noise` is lognormal, `heavy` has tails of Student'"'"'s t with 3 degrees of freedom, `exact` is the same in every'
	echo 'sample but for one counter in one sample of 30, `inputs` has one of three inputs a run and functions that are missing in a tenth of the runs. *Asked* is the'
	echo 'largest multiple of 1 / (runs + 1) up to the rate.'
	echo
	build/release/tests/bench_detect_rates "${BLOCKS:-300}"
} >"$work/page"
evidence_done
