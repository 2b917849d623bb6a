#!/bin/sh
# A clock that was wrong for one night: the nights after it are later all the same, compare with each other, and say so.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_night.sh"
application shift 100 100.01 100.02 100.03 100.04

# night CANDIDATE: a night of that version against the previous one
night() {
	printf '%s\n' "comparisons: [{ application: shift, candidates: $1, against: previous }]" 'fingerprints: { battery: none }' 'pages: pages' >"$lab/suite.yaml"
	run -C "$lab" nightly run --format json
	expect_status 0
}
what='nights by a clock that is right'
night v2
expect_json '.decisions[0].baseline' v1 .notes 0

what='one by a clock that is 40 days ahead, and two after it was set'
night v3
ahead=$(json .night)
sqlite3 "$lab/.assay/runs.db" "UPDATE night SET started_ms = started_ms + 40 * 86400000, finished_ms = finished_ms + 40 * 86400000 WHERE id = '$ahead';
	UPDATE plan SET started_ms = started_ms + 40 * 86400000 WHERE id IN (SELECT plan FROM night_comparison WHERE night = '$ahead')"
night v4
expect_json '.decisions[0].baseline' v3 '.notes[0].code' clock
night v5
expect_json '.decisions[0].baseline' v4 '.notes[0].code' clock
last=$(json .night)

what='the latest night is the one that began last'
run -C "$lab" nightly show --format json
expect_json .night "$last"
run -C "$lab" nightly show --list --format json
expect_json '.nights[0].night' "$last" '.nights[2].night' "$ahead"
cases=$((cases + 1))
grep -q "night-$last.html\|$last" "$lab/pages/index.html" && ! grep -q "shift.*v3.*previous" "$lab/pages/index.html" || fail 'index.html is of another night'
run -C "$lab" nightly show "$ahead" --format json
expect_json .night "$ahead"

what='by a clock that is behind, too'
sqlite3 "$lab/.assay/runs.db" "UPDATE night SET started_ms = started_ms - 80 * 86400000, finished_ms = finished_ms - 80 * 86400000 WHERE id = '$last'"
run -C "$lab" nightly show --format json
expect_json .night "$last"
finish
