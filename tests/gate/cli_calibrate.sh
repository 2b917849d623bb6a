#!/bin/sh
# What decisions are worth: measured, kept, quoted by decisions, and stale when it is old or of other machines. No number that time makes is
# asked for here (docs/evidence/nightly.md has those).
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

tidy() {
	kill_marked
}

run_lab calibrated "$(hosts_here 3)"
# The metric is drawn, so that nothing here hangs on how fast this machine is: each version's results are alike.
cat >"$lab/apps/drawn.yaml" <<'END'
command: [sh, -c, 'echo cost 1$(($$ % 10))']
versions: { a: , b: }
repetitions: 2
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END

what='an application that is not there'
run -C "$lab" calibrate drawm
refused 2 drawn

what='no such amount'
run -C "$lab" calibrate drawn --percent 0
refused 2 percent

what='a calibration'
run -C "$lab" calibrate drawn@a --budget 2s --pairs 10 --quiet --format json
expect_status 0
expect_json '.comparisons[0].kind' identical
expect_json '.comparisons[0].pairs' 10
for i in 1 2 3; do expect_json ".comparisons[$i].pairs" 5; done
expect_json '.comparisons[1].kind' cpu
expect_json '.comparisons[3].kind' calls
plan=$(json .plan)
distinct=$((10 - $(json '.comparisons[0].resampled')))
share="$distinct share$([ $distinct = 1 ] && echo s)"
run -C "$lab" result list --format json
grep -q 'a+memory5' "$tmp/out" || fail 'the planted runs are not in the store'

what='one that was killed goes on with its runs'
cat >"$lab/apps/slow.yaml" <<END
command: [sh, -c, 'echo >>$tmp/made; sleep .02; echo cost 1\$((\$\$ % 10))']
versions: { a: }
repetitions: 2
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
plans_of_slow() {
	sqlite3 "$lab/.assay/runs.db" "SELECT count(*) FROM plan WHERE application = 'slow'"
}
"$ASSAY" -C "$lab" calibrate slow -w host1 --budget 2m --quiet >"$tmp/killed" 2>&1 &
killed=$!
until [ "$(wc -l 2>/dev/null <"$tmp/made" || echo 0)" -ge 14 ]; do sleep .05; done
kill -9 $killed
wait $killed
run -C "$lab" calibrate slow -w host1 --budget 1s --quiet --format json
expect_status 0
[ "$(plans_of_slow)" = 1 ] || fail 'it started anew'
kept=$(sqlite3 "$lab/.assay/runs.db" "SELECT count(*) FROM execution WHERE plan = '$(json .plan)'")
[ "$kept" -ge 14 ] && [ "$(wc -l <"$tmp/made")" -le $((kept + 3)) ] || fail "of $(wc -l <"$tmp/made") runs $kept are kept"
run -C "$lab" calibrate slow -w host1 --budget 1s --quiet
expect_status 0
[ "$(plans_of_slow)" = 2 ] || fail 'what has ended does not start again'

what='its file'
[ -f "$lab/calibration.json" ] || fail 'calibration.json is not there'
grep -q "\"plan\": *\"$plan\"" "$lab/calibration.json" || fail 'it does not name its runs'

what='a decision quotes it'
run -C "$lab" run drawn --quiet
run -C "$lab" gate drawn@a drawn@b --format json
expect_json '.calibration.identical' 10 '.calibration.distinct' "$distinct"
expect_json '.calibration.of' application
expect_json '.calibration.stale' ''
printf '%s\n' 'comparisons: [{ application: drawn, budget: 1s }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run --quiet --format json
id=$(json '.decisions[0].id')
run -C "$lab" explain "$id"
expect_stdout "of 10 identical pairs ($share no run with another pair) were called slower"
run -C "$lab" verify "$id"
expect_status 0

what='its report quotes it, too'
run -C "$lab" report drawn@a drawn@b -o "$tmp/drawn.html" --format json
expect_json '.calibration.identical' 10
grep -q "of 10 identical pairs ($share no run with another pair) were called slower" "$tmp/drawn.html" || fail 'the page'

what='an old one'
sed -i 's/"taken_ms": [0-9]*/"taken_ms": 1000000000000/' "$lab/calibration.json"
run -C "$lab" gate drawn@a drawn@b
expect_stdout 'Calibrate again: the last calibration, of 2001-09-09, is older than allowed.'
run -C "$lab" verify "$id"
expect_status 0

what='a broken one'
echo '{"applications": 1}' >"$lab/calibration.json"
run -C "$lab" gate drawn@a drawn@b
refused 2 calibration.json
finish
