#!/bin/sh
# Detection over every program of tests/apps, by all methods and by the software back end. Some minutes of runs, an hour of judging.
# CORPUS=DIRECTORY keeps the runs (about 3 GB) for the next time, QUICK=1 takes half as many. Whole programs: detect_builds.sh.
. tests/lib_evidence.sh
failed=0
corpus=${CORPUS:-$work/corpus}
mkdir -p "$corpus"
for what in programs pairs software; do
	echo "evidence: runs of $what" >&2
	/usr/bin/python3 tests/bench/detect_corpus.py "$assay" "$corpus" $what
done
bench=build/release/tests/bench_detect
{
	evidence_head "Detection on programs with known faults"
	evidence_recorded "$corpus"
	echo 'Every program of `tests/apps`, built for the emulated back end with gcc -O2: 39 good runs to learn from, 20 other good ones and 10 with the fault'
	echo '(`-DBAD`, or one of seven faults) to judge. Threads (2 to 12), size (log-uniform, a range of 3 to 10) and seed of each run are drawn for itself, good and'
	echo 'bad alike. All functions are counted. Methods are those of docs/detect.md: `paper` is the published training, scaling and rule; `mahalanobis` and'
	echo '`som` are calibrated as the default is; the tree learns from good and bad runs of all programs but the one that it judges. A miss is a bad run that'
	echo 'is not called anomalous. Kinds of bad hashes are more work, of lists in no order TLB or cache capacity.'
	[ -z "${QUICK:-}" ] || printf '\nHere half as many runs: 19 to learn from, 10 other good ones and 5 with the fault.\n'
	/usr/bin/python3 tests/bench/detect_programs.py $bench ${bench}_tree "$corpus/programs" || failed=1
	echo "evidence: seven functions" >&2
	/usr/bin/python3 tests/bench/detect_seven.py $bench "$corpus" || failed=1
	echo
	echo "# The software back end"
	echo
	echo 'The six programs that are not about sharing, natively, by `assay record --for functions --counters default` on a machine without hardware counters: durations, page'
	echo 'faults, context switches. Other work on the machine is part of every number.'
	for inputs in varying same; do
		echo
		if [ $inputs = same ]; then
			echo "## All runs with the same size"
		else
			echo "## Sizes differ between runs"
			echo
			echo 'Times are compared at like inputs: by the numbers among the arguments (threads, size, seed), where they foretell them; not so by `paper` and what is called `as-is`.'
		fi
		echo "evidence: software back end, $inputs" >&2
		/usr/bin/python3 tests/bench/detect_software.py $bench "$corpus/$inputs" || failed=1
	done
} >"$work/page"
evidence_done
exit $failed
