#!/bin/sh
# Where and when real runs were slow, and whether it was the code: recorded, disturbed and judged. Some ten minutes, with breaks where wanted:
# CORPUS=DIRECTORY keeps the runs, SECONDS_NOW=N records for so long and says what is missing. DISTURBED, STILL, PAIRS: runs of each kind.
# Needs root and control groups of version 1.
. tests/lib_evidence.sh
corpus=${CORPUS:-$work/corpus}
/usr/bin/python3 tests/bench/variance_four.py "$assay" "$corpus/runs" "${DISTURBED:-8}" "${STILL:-40}" "${SECONDS_NOW:-3600}" >"$work/found"
/usr/bin/python3 tests/bench/variance_versions.py "$assay" "$corpus/versions" "${PAIRS:-10}" "${SECONDS_NOW:-3600}" >"$work/told"
{
	evidence_head 'Variance'
	echo 'Not yet here: MPI, several disturbances at once, a process that is slow throughout, a slow run among others, costs, `--follow`.'
	echo
	echo '## Disturbances of a real program'
	echo
	echo 'Four processes (`tests/apps/special/four.c`), two and two on a processor by turns: they compute, write and read a file past the page cache, and pass a token'
	echo 'by a pipe. From a third of the run on, for half of its undisturbed time, one of them is disturbed. Right: the first region is of that process alone, and what both'
	echo 'it and the disturbance last is at least .7 of what either lasts. The truth of a loss is what the process'"'"'s own clock says of its pieces against the median of those'
	echo 'outside. A stop begins while the process runs. Coverage is what `variance show` says.'
	echo
	cat "$work/found"
	echo
	echo '## Code or environment'
	echo
	echo 'The same program as three versions: `same` has another build-id, `more` does 10 % more rounds, `slower` does the same rounds and misses caches (the table'
	echo 'of every sixteenth read is 256 KB). Each run with and without others on the processor of its first two processes; a baseline is recorded once, without; the old'
	echo 'version beside it right after each. The decision asked is the one with `--beside`.'
	echo
	cat "$work/told"
} >"$work/page"
evidence_done
