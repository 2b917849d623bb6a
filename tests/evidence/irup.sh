#!/bin/sh
# Profiles on recorded machines: errors on types left out, the right resource, stability, intervals of predictions, time. IRUP_WORK keeps what
# was computed: a second call goes on where the first one ended.
. tests/lib_evidence.sh
bench=build/release/tests/bench_irup
kept=${IRUP_WORK:-$work}
mkdir -p "$kept"
[ -d "$kept/lab" ] || {
	"$assay" init "$kept/lab" >/dev/null
	import_package "$kept/lab" "$data" "$data/types.csv"
}
# once NAME WORD...: unless it is there
once() {
	name=$1
	shift
	[ -f "$kept/$name" ] || { "$bench" "$kept/lab" "$@" >"$kept/$name.part" && mv "$kept/$name.part" "$kept/$name"; }
}
once applications applications
once left_out left-out
once planted planted 48 1
once planted_again planted 48 2
once few few 10 2
once rankings rankings
once time time 7
{
	evidence_head "Profiles that say how far they can be trusted"
	/usr/bin/python3 tests/bench/irup_table.py "$kept"
	echo
	echo "## Time of a fit of the paper's size, in the same run"
	echo
	sh tests/bench/gbt.sh build/release/tests/bench_gbt "$data" 5
	echo
	/usr/bin/python3 tests/bench/xgboost_peer.py "$data/matrix.csv" 5
} >"$work/page"
evidence_done
