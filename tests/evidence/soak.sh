#!/bin/sh
# Twenty programs from Debian's sources do the same work natively and under the probe: RUNS (default 50) runs each must answer alike.
# A directory SOURCES keeps the sources and what was built from them from one time to the next.
. tests/lib_evidence.sh
. tests/lib_debian.sh
sources=${SOURCES:-$work/sources}
for package in $(/usr/bin/python3 tests/bench/soak.py); do
	[ -f "$sources/$package.version" ] && continue
	rm -rf "${sources:?}/$package"
	version=$(unpack "$package" bookworm "$sources/$package")
	echo "$version" >"$sources/$package.version"
done
failed=0
{
	evidence_head 'A soak: twenty programs under the probe'
	echo 'Each was built from the sources of Debian bookworm with `-O2 -g -fpatchable-function-entry=5 -falign-loops=32`. It does the same work three'
	echo 'times natively, then under the probe: standard output and error, exit status, files, and what clients of servers are told must be the same.'
	echo 'Two of four runs select all functions that can be probed, two a drawn third of them; every other run measures every call (`--budget 0`).'
	echo
	/usr/bin/python3 tests/bench/soak.py "$assay" "$PWD/build/release/libassay-probe.so" "$sources" "${RUNS:-50}" || failed=1
} >"$work/page"
evidence_done
exit $failed
