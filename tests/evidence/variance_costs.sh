#!/bin/sh
# What recording calls costs: single calls, whole programs, with call paths and without, and programs that count statements. Some twenty minutes,
# with breaks where wanted: CORPUS=DIRECTORY keeps what was measured, SECONDS_NOW=N measures for so long and says what is missing (0: judges what
# there is). COSTS: turns of each program. COUNTING=no: without those that count, which are built from Debian's sources. Needs root and control
# groups of version 1.
. tests/lib_evidence.sh
corpus=${CORPUS:-$work/corpus}
mkdir -p "$corpus/costs"
revision=$(git rev-parse --short HEAD)
[ "${SECONDS_NOW:-3600}" = 0 ] || grep -qsx "$revision" "$corpus/recorded-at" || echo "$revision" >>"$corpus/recorded-at"
if [ "${COUNTING:-yes}" = yes ]; then
	. tests/lib_debian.sh
	for program in bzip2 lz4 sqlite3; do
		[ -d "$corpus/costs/sources/$program" ] || unpack $program bookworm "$corpus/costs/sources/$program" >/dev/null
	done
	[ -f "$corpus/costs/sources/sqlite3/sqlite3.c" ] ||
		(cd "$corpus/costs/sources/sqlite3" && ./configure --disable-tcl --disable-readline && make -s sqlite3.c shell.c) >/dev/null
fi
/usr/bin/python3 tests/bench/variance_costs.py "$(dirname "$assay")/libassay-interpose.so" "$corpus/costs" "${COSTS:-24}" "${SECONDS_NOW:-3600}" >"$work/costs"
{
	evidence_head 'What recording calls costs'
	evidence_recorded "$corpus"
	echo 'Nanoseconds of processor time of a round of calls, medians of 7 by turns: plain, recorded as it comes (1 % of the time for timing), and with every call timed.'
	echo
	sed '/^$/,$d' "$work/costs"
	echo
	echo 'Processor time of whole programs with the library preloaded, at 1 %, by turns: the median of the means of two ratios (Hodges and Lehmann), and its one-sided upper 95 % limit,'
	echo 'by signed ranks; of the mean of all, by the sum of the squares of what is between the two.'
	echo 'Analysis is not in it, and `assay record` itself, which looks at the processes 20 times a second, is in a table of its own.'
	echo 'A rank of hpcc is one thread (`OPENBLAS_NUM_THREADS=1`): with two, as OpenBLAS begins by itself, two ranks are four on two processors.'
	echo
	sed '1,/^$/d' "$work/costs"
	echo
	echo 'VAPRO publishes 1.38 % for the mean of 18 programs with the counters of a processor, and 1.80 % without call paths against 3.81 % with them; its tool needs such counters,'
	echo 'and does not run on this machine.'
} >"$work/page"
evidence_done
