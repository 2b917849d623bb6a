#!/bin/sh
# Where and when real runs were slow: recorded, disturbed and judged. Some twenty minutes, with breaks where wanted:
# CORPUS=DIRECTORY keeps what was recorded, SECONDS_NOW=N measures for so long and says what is missing (0: judges what there is). SEED: who is
# disturbed and when. DISTURBED, STILL: runs of each kind. Needs root and control groups of version 1. What recording costs, and runs
# that are analysed while they go on, are pages of their own (variance_costs.sh, variance_follow.sh).
. tests/lib_evidence.sh
corpus=${CORPUS:-$work/corpus}
seconds=${SECONDS_NOW:-3600}
mkdir -p "$corpus"
/usr/bin/python3 tests/bench/variance_four.py "$assay" "$corpus/runs" "${SEED:-1}" "${DISTURBED:-20}" "${STILL:-40}" "$seconds" >"$work/found"
(
	evidence_head "Variance${draw:+: $draw}"
	echo "Who was disturbed and when was drawn with the seed ${SEED:-1}, of which no run had been seen when the code was written, unless it is said below. Runs are recorded alone on the"
	echo 'machine, as far as that is known (others), and preferred over other programs (`cpu.shares`: 16 times as much for each process).'
	echo
	echo '## Disturbances of a real program'
	echo
	echo 'Four processes (`tests/apps/special/four.c`), two and two on a processor by turns: they compute, write and read a file past the page cache (`net`: send a block to'
	echo 'a process in a network namespace), and pass a token by a pipe. `ranks`: the same as ranks of MPI, the token a message (Open MPI, `mpi_yield_when_idle`).'
	echo 'One of them is disturbed from .2 to .4 of the undisturbed time on, for half of it, unless another time is said.'
	echo 'Right: the regions that cost most are of the disturbed processes alone, and what both a region and its disturbance last is at least .7 of what either lasts.'
	echo 'Right kind: the cause named first is the one asked for (`disk`: in input and output; `net`: in communication). The truth of a loss is what the process'"'"'s own clock'
	echo 'says of its pieces, and of how long a token that was there waited for it, against the median of those outside (of a stop: for how'
	echo 'long it did not look at its clock). Gain: what the run takes longer than the median of the undisturbed ones. Most of its time in messages: what accounting of communication'
	echo 'alone (as mpiP does) blames, the process with the largest share of its time there, is a disturbed one; by its nature it is the one that waits. What others or the'
	echo 'host did: waiting for a processor that other programs used, steal, quotas, a slower clock of the processor are most of each region. Coverage is what `timeline` says.'
	echo
	cat "$work/found"
	echo
	[ ! -f "$corpus/notes.md" ] || { cat "$corpus/notes.md"; echo; } # what is to be said of these runs
) >"$work/page"
evidence_done
