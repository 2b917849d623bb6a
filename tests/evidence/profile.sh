#!/bin/sh
# Profiles of commands on this machine, held against what is known of them: programs of known composition (tests/apps/composed.c), and
# fifteen real ones. Some 25 minutes. PROFILE_WORK keeps what was measured: a second call goes on where the first one ended; without it all
# is measured anew. PROFILE_SLICE, seconds: each call ends by itself after about so long (status 75) until all is measured. PROFILE_SEED
# (17) draws other compositions. Root, where the kernel's tracing is to be had: else the real programs are left out.
. tests/lib_evidence.sh
kept=${PROFILE_WORK:-$work}
table=docs/evidence/profile
mkdir -p "$kept"
revision=$(git rev-parse --short HEAD)
[ -f "$kept/revision" ] || echo "$revision" >"$kept/revision"
gcc -O2 -pthread -o "$kept/composed" tests/apps/composed.c
/usr/bin/python3 tests/bench/profile_composed.py measure "$assay" "$kept/composed" "$kept"
traced=
if [ "$(id -u)" = 0 ] && grep -qw tracefs /proc/filesystems; then
	traced=yes
	gcc -O2 -shared -fPIC -o "$kept/user_ticks.so" tests/bench/user_ticks.c
	/usr/bin/python3 tests/bench/profile_programs.py measure "$assay" "$kept/composed" "$kept/user_ticks.so" "$kept"
fi
{
	evidence_head 'Profiles of a command: how right they are'
	[ "$(cat "$kept/revision")" = "$revision" ] || printf '%s\n\n' "The answers are those of revision $(cat "$kept/revision"); the page has been made of them since."
	echo '## Programs of known composition'
	echo
	echo 'Sixteen parts, one to five at a time, by turns; each times itself, the kernel by the time stamp counter around its calls, so that the truth'
	echo 'owes nothing to ticks or samples. Thirty compositions get 8 s each, 180 more 3 s, for the intervals. Every row of every answer:'
	echo "[profile.csv](profile.csv). Drawn with seed ${PROFILE_SEED:-17}. A row is judged where the answer or the truth gives it 2 % of the time or more."
	echo
	echo 'Waiting of one thread is what is left of wall-clock time after CPU time. Several threads or processes at once can hide waiting: the'
	echo 'intervals follow from their number, and waiting is indicative. The truth of several is the time in which the kernel charged none of'
	echo 'them, by the whole of its trace.'
	echo
	echo 'What an interval is worth is seen where the truth is known to half of its width or better. Where the truth is itself a range, an interval'
	echo 'counts for the part of the range that it holds: to meet it would be easier than to hold a single number.'
	echo
	/usr/bin/python3 tests/bench/profile_composed.py page "$kept" "$table.csv"
	echo
	echo '## Real programs'
	echo
	if [ -n "$traced" ]; then
		echo 'Truth: system calls by the kernel'"'"'s own trace, by the time stamp counter, page faults by number and cost, the user'"'"'s side by'
		echo 'the kernel'"'"'s timer of user time, waiting by other runs, all between the two answers. Every row:'
		echo '[profile_programs.csv](profile_programs.csv).'
		echo
		/usr/bin/python3 tests/bench/profile_programs.py page "$kept" "${table}_programs.csv"
	else
		echo 'Not measured: that needs root and tracefs.'
	fi
} >"$work/page"
evidence_done
