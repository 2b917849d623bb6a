#!/bin/sh
# Boosted trees of the paper's size against scikit-learn, in the same run.
. tests/lib_evidence.sh
{
	evidence_head "Boosted trees against scikit-learn"
	echo "CPU seconds of one fit (1000 trees, depth 4, learning rate .01; here with shared ties), each in a process of its own,"
	echo "both programs in turn, one thread."
	echo
	sh tests/bench/gbt.sh build/release/tests/bench_gbt "$data" 11
} >"$work/page"
evidence_done
