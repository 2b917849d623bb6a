#!/bin/sh
# Counts by doses, held against what programs do: tests/bench/counted.c, which does as it is told, and real ones under strace -c. Some ten
# minutes on a quiet machine. SHAPES_WORK keeps what was measured: a second call goes on where the first one ended.
needs=nothing
. tests/lib_evidence.sh
kept=${SHAPES_WORK:-$work}
mkdir -p "$kept"
command -v strace >/dev/null || { echo 'evidence: there is no strace' >&2; exit 1; }
gcc -O2 -o "$kept/counted" tests/bench/counted.c
/usr/bin/python3 tests/bench/counts_programs.py measure "${ASSAY:-$assay}" "$kept/counted" "$kept"
{
	evidence_head 'Counts by doses: how right they are'
	echo '`assay profile --here --shapes --budget 1`: two rounds, in each of which one thing after the other is dearer. The truth: `strace -f -c` for system calls,'
	echo 'by the classes of fleet/shape/calls.c; for allocations and comparisons what the program was told. Every row: [shapes.csv](shapes.csv). Load: that of the'
	echo 'machine, before and after. A program without rows was found to do less with doses than without.'
	echo
	/usr/bin/python3 tests/bench/counts_programs.py page "$kept" docs/evidence/shapes.csv
} >"$work/page"
evidence_done
