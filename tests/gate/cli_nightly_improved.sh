#!/bin/sh
# Improvements are confirmed as regressions are: what fresh result show again is improved, what they do not is inconclusive, and so is what no time was
# left for. Costs are known, and hang on how often a version has run.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_night.sh"

# cost.sh: 70 is faster six times, which is the first look, and never again; 60 waits from its seventh run on, while SCRATCH/late is there.
sed -i 's/^\[ "$1" != 130 .*/[ "$1" != 70 ] || [ "$n" -lt 6 ] || set -- 100 "$2"\
while [ "$1" = 60 ] \&\& [ "$n" -ge 6 ] \&\& [ -e "$2\/late" ]; do : >"$2\/waits"; sleep .05; done/' "$lab/apps/tiny/cost.sh"
application gain 100 70 80 60 120

# suite CANDIDATES LINE...: of `gain` against v1
suite() {
	printf '%s\n' "comparisons: [{ application: gain, candidates: [$1], against: v1 }]" 'fingerprints: { battery: none }' >"$lab/suite.yaml"
	shift
	for line; do echo "$line"; done >>"$lab/suite.yaml"
}
# of CANDIDATE MEMBER: of the document of its last decision
of() {
	sqlite3 "$lab/.assay/runs.db" "SELECT json_extract(document, '\$.$2') FROM decision WHERE candidate = '$1' ORDER BY made_ms DESC, number DESC LIMIT 1"
}
# expect_of CANDIDATE MEMBER VALUE...
expect_of() {
	candidate=$1
	shift
	while [ $# -gt 0 ]; do
		cases=$((cases + 1))
		[ "$(of "$candidate" "$1")" = "$2" ] || fail "$1 of $candidate is $(of "$candidate" "$1"), expected $2"
		shift 2
	done
}
# expect_verified CANDIDATE: its last decision follows from the results, byte by byte.
expect_verified() {
	run -C "$lab" verify "$(sqlite3 "$lab/.assay/runs.db" "SELECT id FROM decision WHERE candidate = '$1' ORDER BY made_ms DESC LIMIT 1")"
	expect_status 0
}

what='one that fresh result show again, and one that they do not; a regression is confirmed before both'
suite 'v2, v3, v5'
run -C "$lab" nightly run
expect_status 3
expect_stdout '1 regression, 1 inconclusive, 1 improved' 'gain@v2: an improvement was found, but not confirmed on enough machines'
expect_of v2 decision inconclusive 'reasons[0].code' not_seen_again confirmed.fresh.outcome not_seen confirmed.control.outcome still
expect_of v3 decision improved 'reasons[0].code' faster confirmed.fresh.outcome seen confirmed.control.outcome still confirmed.fresh.machines 3
cases=$((cases + 1))
[ "$(sed -n 's/.* confirming gain \(v[0-9]\) .*/\1/p' "$lab/.assay/night.log" | tr '\n' ' ')" = 'v5 v2 v3 ' ] || fail "$(grep confirming "$lab/.assay/night.log")"
expect_verified v2
expect_stdout 'byte by byte: inconclusive'
expect_verified v3
run -C "$lab" explain "$(sqlite3 "$lab/.assay/runs.db" "SELECT id FROM decision WHERE candidate = 'v3'")"
expect_stdout 'improved  gain@v3 costs 0.' 'Confirmation runs were made: the finding was confirmed'

what='without fresh runs it is decided by the false discovery rate'
suite v3 'confirm: { fresh_runs: no }'
run -C "$lab" nightly run
expect_status 0
expect_of v3 decision improved fresh_plan ''

what='its deadline comes while it confirms: it is not confirmed'
suite v4 'deadline: 23h'
: >"$tmp/scratch/late"
"$ASSAY" -C "$lab" nightly run >/dev/null 2>&1 &
killed=$!
for _ in $(seq 1200); do
	[ ! -e "$tmp/scratch/waits" ] || break
	sleep .1
done
kill -9 $killed
wait $killed 2>/dev/null
rm "$tmp/scratch/late"
night=$(sqlite3 "$lab/.assay/runs.db" 'SELECT id FROM night WHERE finished_ms IS NULL')
sqlite3 "$lab/.assay/runs.db" "UPDATE night SET deadline_ms = started_ms + 1 WHERE id = '$night'"
suite v3 # which the next night takes, which begins when this one has ended
run -C "$lab" nightly run
expect_status 0
run -C "$lab" nightly show "$night" --format json
expect_status 4
expect_json '.decisions[0].candidate' v4 '.decisions[0].decision' inconclusive '.decisions[0].reasons[0].code' not_confirmed '.notes[0].code' deadline
expect_stdout 'and 1 finding had no time for confirmation runs'
expect_of v4 fresh_plan ''
run -C "$lab" explain "$(json '.decisions[0].id')"
expect_stdout 'an improvement was found, but there are no confirmation runs'
expect_verified v4
finish
