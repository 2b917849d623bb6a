#!/bin/sh
# False alarms of detection: blocks of good runs alone, a model in each. Minutes of runs (13,200 of them), minutes of judging. CORPUS=DIRECTORY keeps
# the runs (3 GB) for the next time.
. tests/lib_evidence.sh
failed=0
corpus=${CORPUS:-$work/corpus}
mkdir -p "$corpus"
/usr/bin/python3 tests/bench/detect_corpus.py "$assay" "$corpus" aa
{
	evidence_head "False alarms of detection"
	evidence_recorded "$corpus"
	echo 'Five programs of `tests/apps` without a fault, built for the emulated back end, all their functions counted. In each block a model learns from'
	echo 'some runs and judges 5 others; threads, size and seed of every run are drawn for itself. The interval is over blocks. Runs that'
	echo 'differ by less than matters are among the false alarms; they make no function anomalous.'
	echo
	/usr/bin/python3 tests/bench/detect_aa.py build/release/tests/bench_detect "$corpus/aa" || failed=1
} >"$work/page"
evidence_done
exit $failed
