#!/bin/sh
# Every recorded application through the whole program against what scikit-learn made of the same rows.
. tests/lib_evidence.sh
"$assay" init "$work/lab" >/dev/null
import_package "$work/lab" "$data" "$data/types.csv"
"$assay" -C "$work/lab" result list --format json >"$work/list.json"
{
	evidence_head "The paper's model against scikit-learn"
	echo "\`assay profile APPLICATION --model paper --format json\` against the recorded results of"
	echo "scikit-learn 1.2.1 on the same rows: largest relative difference of the training error over 1, 2, 3, 10, 100, 500 and"
	echo "1000 trees; L1 distance of the importances per tree from scikit-learn's mean over 20 seeds, where it was recorded;"
	echo "splits where different partitions of the rows tie."
	echo
	/usr/bin/python3 tests/bench/oracle_table.py "$assay" "$work/lab" "$data/oracle.json"
} >"$work/page"
evidence_done
