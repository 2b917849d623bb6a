#!/bin/sh
# A night over four applications from git, each with one slow commit. WHY_REPOSITORIES names a directory with clones of lz4, zlib, awk (onetrueawk)
# and cJSON; without it nothing is measured. WHY_WORK keeps the laboratory: a second call goes on with an interrupted night. WHY_SLICE, seconds: each
# call ends by itself after about so long (status 75) until the night has ended. Needs bison.
[ -d "${WHY_REPOSITORIES:-}" ] || { echo 'skipped: WHY_REPOSITORIES names no directory with clones of the programs'; exit 0; }
. tests/lib_evidence.sh
kept=${WHY_WORK:-$work}
mkdir -p "$kept"
[ -f "$kept/recorded-at" ] || git rev-parse --short HEAD >"$kept/recorded-at"
/usr/bin/python3 tests/bench/why_night.py run "$assay" "$WHY_REPOSITORIES" "$kept"
{
	evidence_head 'A night that names functions of slow commits'
	evidence_recorded "$kept"
	echo 'Four applications are built from branches of git repositories. The latest commit of each is slow: it brings the slowdowns of [why.md](why.md), of which'
	echo "valgrind's callgrind says in which functions they are. Their manifests have a repository, a branch, a build command and a program with its"
	echo 'arguments, nothing about functions (`probe`); suite.yaml lists the applications. The laboratory is this machine; `assay nightly run` was called once.'
	echo
	/usr/bin/python3 tests/bench/why_night.py page "$assay" "$kept"
} >"$work/page"
evidence_done
