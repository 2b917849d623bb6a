#!/bin/sh
# Uniform, or another resource, and where the time went: which group: how often what was planted on recorded machines is said. Twenty-five minutes of one processor.
. tests/lib_evidence.sh
bench=build/release/tests/bench_cause
"$assay" init "$work/lab" >/dev/null
import_package "$work/lab" "$data" "$data/types.csv"
"$bench" "$work/lab" 3 7 >"$work/words"
"$bench" "$work/lab" 1 7 growth >"$work/growth"
for seed in 9 10; do
	"$bench" "$work/lab" 1 $seed lead
done >"$work/lead"
{
	evidence_head "What changed, where something was planted"
	/usr/bin/python3 tests/bench/cause_table.py "$work/words" "$work/growth" "$work/lead"
} >"$work/page"
evidence_done
