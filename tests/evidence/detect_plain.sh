#!/bin/sh
# Detection on fifteen programs as people write them, without an attribute on any function. Some ten minutes of runs and judging. CORPUS=DIRECTORY
# keeps builds and runs for the next time.
. tests/lib_evidence.sh
{
	evidence_head 'Detection on plain programs'
	echo 'Fifteen programs of `tests/apps/plain` (12 C, 3 C++), gcc -O2, 20 runs of each build with seeds of their own. Two faults each; `again` is the same'
	echo 'build with other seeds, `shifted` the code in another place, `tidy` a refactoring that is meant to be harmless; the end times it natively.'
	echo
	/usr/bin/python3 tests/bench/detect_plain.py "$assay" "${CORPUS:-$work/corpus}"
} >"$work/page"
evidence_done
