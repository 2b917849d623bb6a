#!/bin/sh
# Profiles on recorded machines: errors on types left out, the right resource, stability, intervals of predictions, time.
. tests/lib_evidence.sh
bench=build/release/tests/bench_irup
"$assay" init "$work/lab" >/dev/null
"$assay" -C "$work/lab" import quiho "$data" --types "$data/types.csv" >/dev/null
"$bench" "$work/lab" applications >"$work/applications"
"$bench" "$work/lab" left-out >"$work/left_out"
"$bench" "$work/lab" planted 48 1 >"$work/planted"
"$bench" "$work/lab" planted 48 2 >"$work/planted_again"
"$bench" "$work/lab" few 10 2 >"$work/few"
"$bench" "$work/lab" rankings >"$work/rankings"
"$bench" "$work/lab" time 7 >"$work/time"
{
	evidence_head "Profiles that say how far they can be trusted"
	/usr/bin/python3 tests/bench/irup_table.py "$work"
	echo
	echo "## Time of a fit of the paper's size, in the same run"
	echo
	sh tests/bench/gbt.sh build/release/tests/bench_gbt "$data" 5
	echo
	/usr/bin/python3 tests/bench/xgboost_peer.py "$data/matrix.csv" 5
} >"$work/page"
evidence_done
