#!/bin/sh
# The gate on every recorded application: identical halves (repetitions 1 and 3), and planted slowdowns of the second half.
. tests/lib_evidence.sh
mkdir "$work/halves"
# The version of a row is its repetition; slowdowns are planted on repetition 3 of lower-is-better applications.
awk -F, -v OFS=, 'NR == 1 { print $0, "version"; next }
	$5 == "stressng" { print $0, ""; next }
	$7 == 1 { print $0, "first" }
	$7 == 3 {
		print $0, "third"
		if ($5 != "stream" && $5 != "fio") {
			value = $9
			for (percent = 3; percent <= 24; percent *= 2) { $9 = value * (1 + percent / 100); print $0, "third+" percent }
		}
	}' "$data/results.csv" >"$work/halves/results.csv"
"$assay" init "$work/lab" >/dev/null
import_package "$work/lab" "$work/halves" "$data/types.csv"
{
	evidence_head "The gate on recorded halves"
	echo "Baseline: repetition 1 of each application; candidate: repetition 3 as it is (nothing changed), and with a slowdown planted"
	echo "on every machine. min_effect .03. Applications with planted slowdowns are those of which lower is better."
	echo "The candidate's repetitions all come after the baseline's, which could be the reason as well: the intervals are as wide as if the"
	echo "hardware types were one (docs/evidence/statistics.md, Repetitions that did not take turns)."
	echo
	/usr/bin/python3 tests/bench/gate_table.py "$assay" "$work/lab"
} >"$work/page"
evidence_done
