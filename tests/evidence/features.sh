#!/bin/sh
# What counting costs programs of Debian: processor time beside that of plain builds, in turns. With a directory KEPT,
# sources, inputs, what this code has built, and each round that has ended are kept: a run that is ended early is gone on with. ROUNDS (10), FEW_ROUNDS (5; 0: the second table is left out); every time is in docs/evidence/features.csv.
. tests/lib_evidence.sh
. tests/lib_debian.sh
kept=${KEPT:-$work/kept}
builds=$kept/features-$(cat build/release/runs/inside/features/counting/*.so build/release/runs/inside/features/counting/*.a | sha256sum | cut -c1-12)
mkdir -p "$builds"
packages=$(/usr/bin/python3 tests/bench/features_cost.py packages)
for package in $packages; do
	[ ! -f "$kept/$package.version" ] || continue
	rm -rf "${kept:?}/$package"
	unpack "$package" bookworm "$kept/$package" >"$kept/$package.version.new"
	mv "$kept/$package.version.new" "$kept/$package.version"
done
table() {
	/usr/bin/python3 tests/bench/features_cost.py "$1" "$assay" "$kept" "$builds" docs/evidence/features.csv "$2"
}
table build 0
few=${FEW_ROUNDS:-5}
second=
[ "$few" = 0 ] || { table few 0 >/dev/null; second=" (in the second table $few)"; }
table time "${ROUNDS:-10}" >"$work/times"
{
	evidence_head "What counting costs"
	echo "Processor time, medians of ${ROUNDS:-10} runs$second of each build in turns, from memory;" \
		"Debian's sources ($(for package in $packages; do cat "$kept/$package.version"; done | sed ':a;N;$!ba;s/\n/, /g')), -O2 (lz4 and zstd: -O3)." \
		"What was counted went to files in memory. Ratios are medians of those of a round, to the plain build. [features.csv](features.csv) has all times, in seconds."
	echo
	cat "$work/times"
	[ "$few" = 0 ] || {
	printf '\n## What the model needs%\n\n'
	cat <<'END_TEXT'
60 drawn inputs of [what an input should cost](cost.md) were run by the plain and the counting build, once each, in a laboratory; only their sizes were known before a run. `assay cost train --selected` wrote the names of the counts
that the model needs (*counts*), and `assay build --for features --only` built a program that counts these. *Error*: of the model, on inputs left out. *All*, *these*: processor time of all 60 inputs by the build that counts everything and by that one, beside the plain
build, in turns, from memory, median of the rounds.

| program | counts | error | all | these (at most 5 %) |
| --- | --- | --- | --- | --- |
END_TEXT
	table few "$few"
	}
} >"$work/page"
evidence_done
