#!/bin/sh
# Every program of tests/apps, good and bad, ROUNDS times (5) natively and in the emulation, in turn, on all cores and on one: what was
# counted, whether it is the same each time, what it costs. With gcc, and with clang-14; against cachegrind; and how often intervals hold what
# --full says. About half an hour.
. tests/lib_evidence.sh
failed=0
{
	evidence_head "The emulated back end"
	echo "Variants are \`-DBAD\` and the like (tests/apps/truth.csv); 4 threads, -O2. Counters are per thousand accesses and basic blocks;"
	echo "\`true\` and \`false\` are potential HITM, \`seen\` is what the directory saw as threads happened to run. CPU time is that of the median"
	echo "run. See docs/emulation.md."
	for compiler in ${COMPILERS:-gcc clang-14}; do
		echo
		echo "## $compiler"
		/usr/bin/python3 tests/bench/emulation_table.py "$assay" "$work" "${ROUNDS:-5}" "$compiler" || failed=1
	done
	/usr/bin/python3 tests/bench/cachegrind_table.py "$assay" "$work" || failed=1
	/usr/bin/python3 tests/bench/coverage_table.py "$assay" "$work" apps || failed=1
} >"$work/page"
evidence_done
exit $failed
