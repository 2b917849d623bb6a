#!/bin/sh
# What a night's decisions rest on: processor time, fresh runs, controls along the whole comparison.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_night.sh"

what='where processor time decided, a night says so, and its ratio is that one'
run_lab computing "$(hosts_here 3)"
rm "$lab/apps/tiny.yaml" "$lab"/apps/*.example* 2>/dev/null
{
	echo 'versions:'
	for version in v1:300000 v2:900000; do
		echo "  ${version%:*}: { command: [awk, 'BEGIN {{ while (i < ${version#*:}) i++ }'] }"
	done
	printf '%s\n' 'repetitions: 3' 'warm_ups: 0'
} >"$lab/apps/counting.yaml"
printf '%s\n' 'comparisons: [{ application: counting, against: v1 }]' 'fingerprints: { battery: none }' 'confirm: { fresh_runs: no }' >"$lab/suite.yaml"
run -C "$lab" nightly run --quiet
expect_status 3
run -C "$lab" nightly show
expect_stdout 'processor  ' 'counting@v2: the candidate takes more CPU time'
sqlite3 "$lab/.assay/runs.db" 'SELECT document FROM decision' >"$tmp/out"
processor=$(json '.runs.times[0].ratio')
run -C "$lab" nightly show --format json
expect_json .decisions[0].time processor
expect_json .decisions[0].ratio "$processor"
run -C "$lab" explain "$(json .decisions[0].id)"
expect_stdout 'counting@v2 takes ' ' times as much CPU time as v1 ('
run -C "$lab" nightly show --format github
expect_stdout '::v2 takes ' ' times as much CPU time as v1 ('
run -C "$lab" history counting --format json # of two results alone: by the decision
expect_json .outcome changed .by processor .changes 1 '.changes[0].version' v2 '.changes[0].decision' regression

what='so does the gate, with the interval of the time that decided'
run -C "$lab" gate counting@v1 counting@v2
expect_status 3
expect_stdout 'counting@v2 takes ' ' times as much CPU time as counting@v1 ('

what='its report says so, too'
run -C "$lab" report counting@v1 counting@v2 -o "$tmp/computing.html"
grep -q 'as much CPU time as\|more CPU time than' "$tmp/computing.html" || fail "$(head -c 4000 "$tmp/computing.html")"
grep -q 'Ratio of CPU times' "$tmp/computing.html" || fail 'which ratio'
grep -q "CPU time of the candidate as a multiple" "$tmp/computing.html" || fail 'the picture'
grep -q 'the decision rests on CPU time' "$tmp/computing.html" || fail 'the band'
lab=$tmp/night

what='what fresh runs do not show is no regression'
application passing 100 130
printf '%s\n' 'comparisons: [{ application: passing }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run --format json
expect_status 4
expect_json .decisions[0].decision inconclusive
expect_json .decisions[0].reasons[0].code not_seen_again

what='a control along the whole comparison, and a status of 0 whatever is found'
application bad 100 100.02 120
printf '%s\n' 'comparisons: [{ application: bad, against: v1 }]' 'fingerprints: { battery: none }' 'confirm: { control: yes }' >"$lab/suite.yaml"
run -C "$lab" nightly run --format json --fail-on nothing
expect_status 0
expect_json .decisions[0].decision regression
along=$(json .decisions[0].id)
run -C "$lab" explain "$along" --format json
expect_json .evidence.confirmed.along.outcome still
expect_json .evidence.confirmed.along.machines 3
run -C "$lab" verify "$along"
expect_status 0
finish
