#!/bin/sh
# What sampling costs: ten commands with it and without, ROUNDS (default 40) times in turn, by their CPU time; and one that does nothing but
# fork, which is none of the ten. Some 9 minutes with 40 rounds on a quiet machine; SAMPLING keeps what was measured: a second call goes on.
needs=nothing
. tests/lib_evidence.sh
kept=${SAMPLING:-$work}
mkdir -p "$kept"
{
	evidence_head 'What sampling costs a command'
	echo 'User and system time of the command and all that it starts: not sampled; sampled as runs of the laboratory are (every 10 ms of a processor), and'
	echo 'as `assay stat` does it (every 4.6 ms, with places in files); in turn. Where root measures, the clock of every processor is sampled, also'
	echo 'for what others do there.'
	echo
	/usr/bin/python3 tests/bench/sampling_table.py "$PWD/build/release/tests/bench_sampling" "${ROUNDS:-40}" "$kept"
} >"$work/page"
evidence_done
