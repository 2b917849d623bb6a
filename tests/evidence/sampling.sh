#!/bin/sh
# What sampling costs: ten commands with it and without, PAIRS (default 60) times in turn, by their CPU time; and one that does nothing but
# fork, which is none of the ten. Some 8 minutes with 60 pairs on a quiet machine; SAMPLING keeps what was measured: a second call goes on.
needs=nothing
. tests/lib_evidence.sh
kept=${SAMPLING:-$work}
mkdir -p "$kept"
{
	evidence_head 'What sampling costs a command'
	echo 'User and system time of the command and all that it starts, sampled as `assay profile --here` does it (every 4.6 ms of a processor, with'
	echo 'places in files) and not sampled, in turn. Where root measures, the clock of every processor is sampled, also for what others do there.'
	echo
	/usr/bin/python3 tests/bench/sampling_table.py "$PWD/build/release/tests/bench_sampling" "${PAIRS:-60}" "$kept"
} >"$work/page"
evidence_done
