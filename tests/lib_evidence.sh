# What all evidence has: where it is written, under which versions it was measured. Sourced by tests/evidence/NAME.sh. `needs=nothing` in a
# line of its own before that: tests/run installs and builds nothing for it.
set -eu
data=${ASSAY_QUIHO:-../shared/quiho}
[ "${needs:-}" = nothing ] || [ -f "$data/results.csv" ] || { echo "evidence: the recorded machines are not in '$data' (set ASSAY_QUIHO)" >&2; exit 1; }
assay=$PWD/build/release/assay
page=docs/evidence/$(basename "$0" .sh).md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT # or what stands behind EXIT would not be done
trap 'exit 143' TERM

# Heading and conditions of a page: title, then the command.
evidence_head() {
	echo "# $1"
	echo
	echo "Measured on $(date -u +%Y-%m-%d) by \`sh tests/run --evidence $(basename "$0" .sh)\`: $(sed -n 's/^project(\(assay\) VERSION \([^ ]*\).*/\1 \2/p' CMakeLists.txt), revision" \
		"$(git rev-parse --short HEAD), $(gcc --version | head -n 1 | sed 's/.*) //;s/^/gcc /'), Linux $(uname -r | cut -d- -f1)," \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, shared with other work."
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
