#!/bin/sh
# Detection on releases of SQLite, without a fault and with one. 3.40.1 and 3.46.1 are Debian's source packages; 3.40.0, the release before the
# first of them, comes from npm's package better-sqlite3@8.0.0. CORPUS=DIRECTORY keeps builds and runs for the next time.
. tests/lib_evidence.sh
corpus=${CORPUS:-$work/corpus}
builds=$corpus/builds
mkdir -p "$corpus" "$builds"
command -v npm >/dev/null || { echo 'evidence: 3.40.0 needs npm' >&2; exit 1; }

# ---- sources and builds, native and emulated ----

# amalgamation PACKAGE SUITE: in $work/VERSION; the version is printed.
amalgamation() {
	unpack "$1" "$2" "$work/$2" >"$work/$2.version"
	mkdir "$work/$2.made"
	(cd "$work/$2.made" && "../$2/configure" --disable-tcl >/dev/null 2>&1 && make sqlite3.c >/dev/null 2>&1)
	keep "$work/$2.made"
}
# keep DIRECTORY: its amalgamation, by its version.
keep() {
	version=$(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)"$/\1/p' "$1/sqlite3.h")
	mkdir "$work/$version"
	cp "$1/sqlite3.c" "$1/sqlite3.h" "$work/$version"
	echo "$version"
}
# build VERSION
build() {
	echo "evidence: building $1" >&2
	(cd "$work/$1" && gcc -O1 -g -w -fPIC -shared -o "$builds/$1.so" sqlite3.c -lm &&
		"$assay" build --for counters -- gcc -O1 -g -w -I. -o "$builds/detect_sqlite.$1" sqlite3.c "$source/tests/bench/detect_sqlite.c" -pthread -lm)
}
source=$PWD
if [ ! -f "$builds/versions" ]; then
	. tests/lib_debian.sh
	(cd "$work" && npm pack --silent --cache "$work/npm" better-sqlite3@8.0.0 >/dev/null && tar xzf better-sqlite3-8.0.0.tgz)
	old=$(keep "$work/package/deps/sqlite3")
	new=$(amalgamation sqlite3 bookworm)
	far=$(amalgamation sqlite3 trixie)
	for fault in loop step; do
		cp -r "$work/$new" "$work/$fault"
		patch -s -d "$work/$fault" -p1 <tests/bench/detect_sqlite_$fault.patch
	done
	for version in $old $new $far loop step; do build "$version"; done
	echo "$old $new $far" >"$builds/versions"
fi
read -r old new far <"$builds/versions"

# ---- the page ----

failed=0
{
	evidence_head "Detection with many functions: SQLite $old, $new, $far"
	echo "Neighbours: $old (npm's better-sqlite3@8.0.0) and $new (Debian bookworm's source); and far from them $far (Debian trixie's). Into $new two faults"
	echo 'are put: `loop` (`tests/bench/detect_sqlite_loop.patch`: each thread counts the instructions of `sqlite3VdbeExec`, the core of `sqlite3_step`, in an array'
	echo 'beside the others) and `step` (the same once in each call of `sqlite3_step`, which does far less than a hundredth of the work). `tests/bench/detect_sqlite.c`'
	echo 'reads and writes one database in 2 to 8 threads, by drawn statements; amalgamation and driver are built with gcc -O1 for the emulated back end, and all'
	echo 'functions that `assay changes` lists in any of the comparisons are counted. 39 runs to learn from; 20 others of each version, 10 of each fault.'
	echo
	/usr/bin/python3 tests/bench/detect_sqlite.py "$assay" build/release/tests/bench_detect "$corpus/sqlite" "$builds" "$old" "$new" "$far" || failed=1
} >"$work/page"
evidence_done
exit $failed
