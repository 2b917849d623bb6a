#!/bin/sh
# The gate on every recorded application: halves of its repetitions that took turns, and planted slowdowns of the second half.
. tests/lib_evidence.sh
mkdir "$work/halves"
# Even repetitions are the baseline, odd ones the candidate; slowdowns are planted on those of lower-is-better applications.
awk -F, -v OFS=, 'NR == 1 { print $0, "version"; next }
	$5 == "stressng" { print $0, ""; next }
	$7 % 2 == 0 { print $0, "even"; next }
	{
		print $0, "odd"
		if ($5 != "stream" && $5 != "fio") {
			value = $9
			for (percent = 3; percent <= 24; percent *= 2) { $9 = value * (1 + percent / 100); print $0, "odd+" percent "." $5 ($8 == $5 ? "" : $8) }
		}
	}' "$data/results.csv" >"$work/halves/results.csv"
"$assay" init "$work/lab" >/dev/null
import_package "$work/lab" "$work/halves" "$data/types.csv"
{
	evidence_head "The gate on recorded halves"
	echo "Baseline: the even repetitions of each application; candidate: the odd ones as they are (nothing changed), and with a slowdown"
	echo "planted on every machine, each application by itself: many that all move are no findings. min_effect 0.03. Applications with planted slowdowns are those of which lower is better."
	echo "Repetitions are in the order of time, so that the halves took turns: of repetitions 1 and 3 the gate says order_confounded."
	echo
	/usr/bin/python3 tests/bench/gate_table.py "$assay" "$work/lab"
} >"$work/page"
evidence_done
