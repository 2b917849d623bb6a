#!/bin/sh
# How often is the gate right? Unchanged and planted pairs of the recorded applications, through tests/bench/evaluate.
. tests/lib_evidence.sh
evaluate=build/release/tests/bench/evaluate
mkdir "$work/planted" "$work/detectable"
"$assay" init "$work/lab" >/dev/null
import_package "$work/lab" "$data" "$data/types.csv"
/usr/bin/python3 tests/bench/pairs_plant.py plant "$data" "$work/planted"
import_package "$work/lab" "$work/planted"
start=$(date +%s)
"$evaluate" -C "$work/lab" "$work/planted/pairs.json" >"$work/first.json"
seconds=$(($(date +%s) - start))
/usr/bin/python3 tests/bench/pairs_plant.py detectable "$data" "$work/detectable" "$work/first.json"
import_package "$work/lab" "$work/detectable"
"$evaluate" -C "$work/lab" "$work/detectable/pairs.json" --no-walk >"$work/second.json"
{
	evidence_head "The gate on labelled pairs"
	/usr/bin/python3 tests/bench/pairs_table.py "$work/first.json" "$work/second.json" "$seconds"
} >"$work/page"
evidence_done
