#!/bin/sh
# From two versions of a real program to the function that made it slower. WHY_REPOSITORIES names a directory with clones of lz4, zlib, lua, awk
# (onetrueawk), cJSON and jq; without it nothing is measured. WHY_WORK keeps what was measured: a second call goes on where the first one ended.
# WHY_SLICE, seconds: each call ends by itself after about so long (status 75) until all is measured. Needs autoconf, libtool, bison and flex.
[ -d "${WHY_REPOSITORIES:-}" ] || { echo 'skipped: WHY_REPOSITORIES names no directory with clones of the programs'; exit 0; }
. tests/lib_evidence.sh
kept=${WHY_WORK:-$work}
mkdir -p "$kept"
[ -f "$kept/recorded-at" ] || git rev-parse --short HEAD >"$kept/recorded-at"
/usr/bin/python3 tests/bench/why_pairs.py run "$assay" "$WHY_REPOSITORIES" "$kept"
{
	evidence_head 'From two versions of a real program to the function'
	evidence_recorded "$kept"
	echo 'Each row is one call of `assay diff --git REPOSITORY OLD NEW --build COMMAND -- PROGRAM`, without anything else from the user. The'
	echo 'functions that are held against the answer are those in which valgrind'"'"'s callgrind counts most instructions more; they were written'
	echo 'down before the first call, and so were the reasons that are right. Seconds are those of the call with both versions built. A slowdown that'
	echo 'nothing explains that was changed is measured again by the same call, with functions that start at cache lines: the same code in another'
	echo 'place in memory can run at another speed. The second table has what other tools need for the same two programs.'
	echo
	/usr/bin/python3 tests/bench/why_pairs.py page "$kept"
} >"$work/page"
evidence_done
