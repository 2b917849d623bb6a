#!/bin/sh
# Where and when real runs were slow, and whether it was the code: recorded, disturbed and judged; and what recording costs. Some forty minutes,
# with breaks where wanted: CORPUS=DIRECTORY keeps what was recorded, SECONDS_NOW=N measures for so long and says what is missing (0: judges what
# there is). SEED: who is disturbed and when. DISTURBED, STILL, PAIRS, COSTS: runs of each kind. Needs root and control groups of version 1.
. tests/lib_evidence.sh
. tests/lib_debian.sh
corpus=${CORPUS:-$work/corpus}
seconds=${SECONDS_NOW:-3600}
mkdir -p "$corpus"
for program in bzip2 lz4 sqlite3; do
	[ -d "$corpus/costs/sources/$program" ] || unpack $program bookworm "$corpus/costs/sources/$program" >/dev/null
done
[ -f "$corpus/costs/sources/sqlite3/sqlite3.c" ] ||
	(cd "$corpus/costs/sources/sqlite3" && ./configure --disable-tcl --disable-readline && make -s sqlite3.c shell.c) >/dev/null
/usr/bin/python3 tests/bench/variance_four.py "$assay" "$corpus/runs" "${SEED:-1}" "${DISTURBED:-20}" "${STILL:-40}" "$seconds" >"$work/found"
/usr/bin/python3 tests/bench/variance_versions.py "$assay" "$corpus/versions" "${PAIRS:-10}" "$seconds" >"$work/told"
/usr/bin/python3 tests/bench/variance_costs.py "$(dirname "$assay")/libassay-interpose.so" "$corpus/costs" "${COSTS:-24}" "$seconds" >"$work/costs"
/usr/bin/python3 tests/bench/variance_follow.py "$assay" "$corpus/follow" "$seconds" >"$work/follow"
{
	evidence_head 'Variance'
	echo "Who was disturbed and when was drawn with the seed ${SEED:-1}, of which no run had been seen when the code was written. Runs are recorded alone on the"
	echo 'machine, as far as that is known (others), and preferred over other programs (`cpu.shares`: 16 times as much for each process).'
	echo
	echo '## Disturbances of a real program'
	echo
	echo 'Four processes (`tests/apps/special/four.c`), two and two on a processor by turns: they compute, write and read a file past the page cache (`net`: send a block to'
	echo 'a process in a network namespace), and pass a token by a pipe. `ranks`: the same as ranks of MPI, the token a message (Open MPI, `mpi_yield_when_idle`).'
	echo 'One of them is disturbed from .2 to .4 of the undisturbed time on, for half of it, unless another time is said.'
	echo 'Right: the regions that cost most are of the disturbed processes alone, and what both a region and its disturbance last is at least .7 of what either lasts.'
	echo 'Right kind: the cause named first is the one asked for (`disk`: in input and output; `net`: in communication). The truth of a loss is what the process'"'"'s own clock'
	echo 'says of its pieces, and of how long a token that was there waited for it, against the median of those outside (of a stop:'
	echo 'as long as it lasted). Gain: what the run takes longer than the median of the undisturbed ones. Most of its time in messages: what accounting of communication'
	echo 'alone (as mpiP does) blames, the process with the largest share of its time there, is a disturbed one; by its nature it is the one that waits. What others or the'
	echo 'host did: waiting for a processor that other programs used, steal, quotas, a slower clock of the processor are most of each region. Coverage is what `variance show` says.'
	echo
	cat "$work/found"
	echo
	[ ! -f "$corpus/notes.md" ] || { cat "$corpus/notes.md"; echo; } # what is to be said of these runs
	echo '## A run that goes on'
	echo
	cat "$work/follow"
	echo '## Code or environment'
	echo
	echo 'The same program as three versions: `same` has another build-id, `more` does 10 % more rounds, `slower` does the same rounds and misses caches (the table'
	echo 'of every sixteenth read is 256 KB). Each run with and without others on the processor of its first two processes; a baseline is recorded once, without; the old'
	echo 'version beside it right after each. The decision asked is the one with `--beside`.'
	echo
	cat "$work/told"
	echo
	echo '## What recording costs'
	echo
	echo 'Nanoseconds of processor time of a call, medians of 7 by turns: plain, recorded as it comes (1 % of the time for timing), and with every call timed.'
	echo
	sed '/^$/,$d' "$work/costs"
	echo
	echo 'Processor time of whole programs with the library preloaded, at 1 %, pairs by turns: the median of the means of two (Hodges and Lehmann), and its one-sided upper 95 % limit, by signed'
	echo 'ranks; of the mean of all, by the sum of the squares of what is between the two.'
	echo 'Analysis and `assay variance record` itself, which looks at the processes 20 times a second, are not in it.'
	echo
	sed '1,/^$/d' "$work/costs"
	echo
	echo 'VAPRO publishes 1.38 % for the mean of 18 programs with the counters of a processor; its tool needs them, and does not run on this machine.'
} >"$work/page"
evidence_done
