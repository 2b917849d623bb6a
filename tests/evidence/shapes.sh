#!/bin/sh
# Counts by doses, held against what programs do: tests/bench/counted.c, which does as it is told, and real ones under strace -c. Some ten
# minutes on a quiet machine. SHAPES_WORK keeps what was measured: a second call goes on where the first one ended.
needs=nothing
. tests/lib_evidence.sh
kept=${SHAPES_WORK:-$work}
mkdir -p "$kept"
command -v strace >/dev/null || { echo 'evidence: there is no strace' >&2; exit 1; }
gcc -O2 -o "$kept/counted" tests/bench/counted.c
gcc -O2 -pthread -o "$kept/composed" tests/apps/composed.c
/usr/bin/python3 tests/bench/counts_programs.py measure "${ASSAY:-$assay}" "$kept/counted" "$kept"
/usr/bin/python3 tests/bench/counts_programs.py sense "${ASSAY:-$assay}" "$kept/composed" "$kept"
{
	evidence_head 'Counts by doses: how right they are'
	echo '`assay profile --here --shapes --budget 1`: two rounds, in each of which one thing after the other is dearer. The truth: `strace -f -c` for system calls,'
	echo 'by the classes of fleet/shape/calls.c; for allocations and comparisons what the program was told. Every row: [shapes.csv](shapes.csv). Load: that of the'
	echo 'machine, before and after. A program without rows was found to do less with doses than without.'
	echo
	/usr/bin/python3 tests/bench/counts_programs.py page "$kept" docs/evidence/shapes.csv
	echo
	echo '## What a slower processor costs'
	echo
	echo 'For each part by which it is slower, by how much the wall-clock time grows: that is how much of its time a program had one. Programs of known'
	echo 'composition (tests/apps/composed.c) with fixed work, which say for how long they had one; the processor is interrupted, or 80 % of its time taken'
	echo 'away by a quota. That costs less where a program sleeps while it has used its quota up: no less than until it has had all of its time.'
	/usr/bin/python3 tests/bench/counts_programs.py sensed_page "$kept"
} >"$work/page"
evidence_done
