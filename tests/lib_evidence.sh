# What all evidence has: where it is written, under which versions it was measured. Sourced by tests/evidence/NAME.sh. `needs=nothing` in a
# line of its own before that: tests/run installs and builds nothing for it.
set -eu
if [ -z "${evidence_passed:-}" ]; then
	. tests/lib_build.sh
	export evidence_passed=1
	pass_on sh "$0" "$@" && exit 0 || exit $?
fi
unset evidence_passed
data=${ASSAY_QUIHO:-../shared/quiho}
[ "${needs:-}" = nothing ] || [ -f "$data/results.csv" ] || { echo "evidence: the recorded machines are not in '$data' (set ASSAY_QUIHO)" >&2; exit 1; }
assay=$PWD/build/release/assay
page=docs/evidence/$(basename "$0" .sh).md
work=$(mktemp -d)

# However a script ends, the emulated fleets of these directories (patterns) are taken down, and what `leave` says is done, which scripts with
# more to give back define.
fleets=$work/lab
leave() { :; }
evidence_end() {
	trap '' HUP INT TERM
	for fleet in $fleets; do
		[ ! -d "$fleet" ] || "$assay" host down "$fleet" >/dev/null 2>&1 || true
	done
	leave
	rm -rf "$work"
}
trap evidence_end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Heading and conditions of a page: title, then the command.
evidence_head() {
	echo "# $1"
	echo
	echo "Measured on $(date -u +%Y-%m-%d) by \`sh tests/run --evidence $(basename "$0" .sh)\`: $(sed -n 's/^project(\(assay\) VERSION \([^ ]*\).*/\1 \2/p' CMakeLists.txt), revision" \
		"$(git rev-parse --short HEAD), $(gcc --version | head -n 1 | sed 's/.*) //;s/^/gcc /'), Linux $(uname -r | cut -d- -f1)," \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc --all) cores, shared with other work."
	echo
}

# By which revisions the runs of a corpus were recorded that may have been kept (tests/bench/detect_corpus.py).
evidence_recorded() {
	[ ! -f "$1/recorded-at" ] || printf 'Runs were recorded by revision %s.\n\n' "$(sed ':a;N;$!ba;s/\n/, /g' "$1/recorded-at")"
}

# Puts the page in place once all of it was measured.
evidence_done() {
	mkdir -p docs/evidence
	mv "$work/page" "$page"
	cat "$page"
	echo
	echo "Written: $page"
}

# import_package LAB PACKAGE [TYPES]: imports the machines and the results of a package (recorded.py) into a laboratory, each if there are any.
import_package() {
	rm -rf "$work/of_package"
	/usr/bin/python3 tests/recorded.py "$2" "$work/of_package" ${3:+"$3"}
	[ ! -f "$work/of_package/machines.csv" ] || "$assay" -C "$1" host import "$work/of_package/machines.csv" >/dev/null
	[ ! -f "$work/of_package/results.csv" ] || "$assay" -C "$1" result import "$work/of_package/results.csv" >/dev/null
}
