#!/bin/sh
# What it costs that the kernel's accounts are kept of each execution: the ten commands of sampling.sh bare and by the helper, ROUNDS (default 40)
# times in turn. Some 6 minutes on a quiet machine; ACCOUNTS keeps what was measured: a second call goes on.
needs=nothing
. tests/lib_evidence.sh
kept=${ACCOUNTS:-$work}
mkdir -p "$kept"
{
	evidence_head 'What accounts cost a command'
	echo 'User and system time of the command and all that it starts, and its wall-clock time: started by nobody but this measurement, and by the fleet'"'"'s'
	echo 'helper, without samples, which keeps the accounts of it (time, page faults, switches, input and output, delays, pressure, control group); in turn.'
	echo 'Either way what it prints goes into a pipe. What the helper itself takes is beside the command: it starts, reads what is printed, and answers.'
	echo
	/usr/bin/python3 tests/bench/accounts_table.py "$PWD/build/release/tests/bench_accounts" "${ROUNDS:-40}" "$kept"
} >"$work/page"
evidence_done
