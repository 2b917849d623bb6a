#!/bin/sh
# What a difference is made of, of pairs of programs that differ by a known part (tests/apps/composed.c): on this machine and on six emulated
# hosts, half an hour and an hour and a half (COMPARISON_HOSTS=no: not on hosts). COMPARISON_WORK keeps what was measured: a second call goes on where
# the first one ended. COMPARISON_SLICE, seconds: each call ends by itself after about so long (status 75) until all is measured.
# COMPARISON_SEED (17) draws other pairs.
. tests/lib_evidence.sh
kept=${COMPARISON_WORK:-$work}
fleets=$kept/six
mkdir -p "$kept"
[ -f "$kept/recorded-at" ] || git rev-parse --short HEAD >"$kept/recorded-at"
gcc -O2 -pthread -o "$kept/composed" tests/apps/composed.c
/usr/bin/python3 tests/bench/comparison_pairs.py here "$assay" "$kept/composed" "$kept"
[ "${COMPARISON_HOSTS:-yes}" = no ] || /usr/bin/python3 tests/bench/comparison_pairs.py hosts "$assay" "$kept/composed" "$kept"
{
	evidence_head 'What a difference is made of: how right the comparison is'
	evidence_recorded "$kept"
	echo 'Sixteen parts, each raised by 5, 10, 30 and 100 % of the program'"'"'s time beside two or three others, one draw each, and 20 unchanged'
	echo "pairs; seed ${COMPARISON_SEED:-17}. Each program does a fixed amount of work, calibrated to this machine, and times each of its parts itself."
	echo 'Truth: the difference of the means of what the programs say in the very runs that were measured. An interval is made for further runs,'
	echo 'too, and so holds this truth more often than 95 times in 100. Every row that was judged: [comparison.csv](comparison.csv).'
	echo
	echo 'The class named first is that of the largest difference that is certain; waiting has no classes, and counts as one. A program'"'"'s own code,'
	echo 'which is arithmetic, vectors, branches, caches and memory, is one class. Locks and processes also wait for their peers: waiting counts'
	echo 'with them. A class is right if it holds the part that was raised, or one that changed by more in these very runs, as the program itself'
	echo 'says: the time of locks varies from run to run. On one machine each command gets the time of 25 runs of 0.3 s, and is sampled every'
	echo '4.6 ms; on each of six hosts, 6 runs of 0.5 s, sampled every 10 ms: about as many samples. Time in system call filters counts with the'
	echo 'call that was raised. A row is judged where either version spends 2 % of its time there; intervals where the truth is known to half of their width or better, as in [profile.md](profile.md). Waiting of several at once'
	echo '(locks, processes) has no intervals judged: the program counts it twice.'
	echo
	/usr/bin/python3 tests/bench/comparison_pairs.py page "$kept" docs/evidence/comparison.csv
} >"$work/page"
evidence_done
