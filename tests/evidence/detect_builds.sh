#!/bin/sh
# `assay detect` over whole programs by nine builds: what has a fault, and what has none. Some ten minutes of runs for each build, a second or two for
# each comparison. CORPUS=DIRECTORY keeps the runs (23 GB; that of detect will do) and what was said of them for the next time, BUILDS=NAME,... some
# builds alone.
. tests/lib_evidence.sh
failed=0
corpus=${CORPUS:-$work/corpus}
mkdir -p "$corpus"
/usr/bin/python3 tests/bench/detect_corpus.py "$assay" "$corpus" builds
{
	evidence_head "Whole programs with known faults, by several builds"
	evidence_recorded "$corpus"
	[ -z "${BUILDS:-}" ] || printf 'Only these builds: %s.\n\n' "$BUILDS"
	echo 'Fourteen programs of `tests/apps/whole`, 5 to 12 functions each: periodic lengths, work divided unevenly, memory that is used again, small functions'
	echo 'called often, faults of a tenth to a third, faults that show in functions that did not change. 20 runs of each version, by several compilers and'
	echo 'levels; `assay detect` with its defaults. Right is the decision, the function in the first place, the kind,'
	echo 'and no function named but those that truth.csv has. Learned from the bad version, the good one must be improved, or pass. Intervals are Wilson'"'"'s.'
	echo
	echo 'Natively `refactored` took .97 (gcc) and .95 (clang) of the time at -O0, .73 to .76 at -O1 and -O2, beside other work on 2026-11-26 (processor time, medians of 15'
	echo 'runs in turns): a regression is a false alarm. At -O0 missed branches rise, and what is saved is calls, which no counter has.'
	echo
	/usr/bin/python3 tests/bench/detect_builds.py "$assay" "$corpus" faults || failed=1
	echo
	echo "# Shifted builds"
	echo
	echo 'The same programs without a fault, built anew: `front`, an unrelated file of 37 functions is linked in front; `order`, functions lie in'
	echo 'the order of their names, and the environment is 3 kB larger; `shifted`, both; `again`, nothing but other runs. 20 runs to learn from, 8 to judge, by'
	echo '`assay detect`. Any answer but `pass` is a false alarm. Intervals are Wilson'"'"'s.'
	echo
	/usr/bin/python3 tests/bench/detect_builds.py "$assay" "$corpus" nothing || failed=1
} >"$work/page"
evidence_done
exit $failed
