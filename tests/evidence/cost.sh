#!/bin/sh
# What inputs cost programs of Debian, which are built twice, as they are and to count: how far models err on inputs left out, by the number of
# inputs learned, the published procedure and scikit-learn's peers beside them. What was measured is kept in docs/evidence/cost_PROGRAM.csv, and
# not measured again; with a directory KEPT, sources, builds and counts are kept, too. PROGRAMS chooses some, and the page then has those that have
# been measured before, all at this revision; INPUTS (360) are drawn.
. tests/lib_evidence.sh
. tests/lib_debian.sh
. tests/lib_cost.sh
for program in ${PROGRAMS:-bzip2 lz4 sqlite3 jq mawk jsoncpp}; do
	rows=$kept/$program.rows table=$kept/$program.table-$(git rev-parse --short HEAD)
	[ ! -s "$table" ] || continue
	cost_rows "$program"
	{
		printf '\n## %s\n\n' "$program"
		echo "$(cat "$kept/$(/usr/bin/python3 tests/bench/cost_programs.py "$program").version"), $(($(wc -l <"$rows") - 1)) inputs," \
			"$(head -n 1 "$rows" | tr '\t' '\n' | grep -c ' ') counts. The dearest of an input's three runs was on average" \
			"$(awk -F, 'NR > 1 { low = high = $1; for (k = 2; k <= 3; k++) { if ($k < low) low = $k; if ($k > high) high = $k }
				sum += high / low - 1 } END { printf "%.1f %%", 100 * sum / (NR - 1) }' "docs/evidence/cost_$program.csv") dearer than the cheapest." \
			"The last times were added on $(git log -1 --format=%cs -- "docs/evidence/cost_$program.csv"), counted was on $(date -u -r "$rows" +%Y-%m-%d)."
		echo
		build/release/tests/bench_cost "$rows"
		printf '\n| inputs learned | random forest | of what is known before | polynomial of that |\n| --- | --- | --- | --- |\n'
		/usr/bin/python3 tests/bench/cost_peer.py "$rows"
	} >"$table.new"
	mv "$table.new" "$table"
done
{
	evidence_head "What an input should cost"
	cat <<'END_TEXT'
Each program was built twice from Debian's sources, as it is and by `assay build --for features`. The first ran each drawn input three times, from memory, all inputs before any a second time, while hardly anything else ran; the least of its
processor times counts (cost_PROGRAM.csv has all); the second counted in each once. Of each number of inputs learned, models of drawn inputs, five draws; the error is the mean of |prediction / cost - 1| over all that were not drawn, everywhere on this page and in `assay`. *Known before*: size and what the input was drawn by, which is what arguments and a command `features` of a manifest say, for nothing: products of up to three of them (of counts: two).
*Unlike*: inputs that are said to be unlike all that were learned instead of being predicted; the errors have them, but for *default of the others*, which alone are predicted; intervals should have .9 of these. Pairs of versions, 100: the baseline's model is learned from 140 drawn inputs (of fewer than 180: 100), the candidate ran all others, or the
smaller or larger half of them, as dear as they were, or all multiplied; the smallest effect that matters is 3 %. *Unlike* inputs do not count; *interval holds*: that of the same work's ratio, of 95 %.
In the third table a drawn loop, of at least 2 % of all that is counted, takes more for each round, so much that all inputs cost 5 or 10 % more on average: that is added to what was
measured; where it is planted in the sources: [which loop became dearer](cost_lines.md). *Listed* are places that explain it as well (.95); a place that goes with the loop in all inputs counts as its line. In the fourth the baseline learned of the smaller half of the inputs, and of 60 of the candidate from none to all are of the larger: what would be decided by those inputs that are not unlike, however few; the gate
makes that inconclusive above a tenth of unlike inputs, and a regression above half of them. The forest has 100 trees; the polynomial, of degree 2 and fitted by least squares, has what is known before.
END_TEXT
	echo "Times are of programs that \`assay\` has no part in, from the dates that are said; so are counts, which nothing but the code that counts can change: that was" \
		"changed last by $(git log -1 --format='%h on %cs' -- runs/inside/features). Models, peers and pairs are all of this revision."
	cat "$kept"/*.table-"$(git rev-parse --short HEAD)"
} >"$work/page"
evidence_done
