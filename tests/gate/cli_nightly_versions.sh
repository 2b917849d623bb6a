#!/bin/sh
# What nights say of versions that fail, crash, hang or cannot be executed, of candidates by patterns, and of accepted baselines.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_night.sh"
command -v sqlite3 >/dev/null || skip 'there is no sqlite3'

application good 100 100.01
application bad 100 100.02 120

what='runs that all fail are told with the first error, and the command that shows more'
printf '%s\n' "versions: { v1: { command: [/bin/echo, 'cost 7'] }, v2: { command: [/bin/sh, -c, 'echo all is lost >&2; echo error 42 >&2; echo bye >&2; exit 3'] } }" \
	'repetitions: 2' 'warm_ups: 0' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }" >"$lab/apps/failing.yaml"
printf '%s\n' 'comparisons: [{ application: failing }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run
expect_stdout "exit status 3: 'error 42'" "assay result show failing@v2 --failed --output"
run -C "$lab" nightly show --format json
expect_stdout first_failure
run -C "$lab" explain "$(json .decisions[0].id)"
expect_stdout "'error 42'" "Next: 'assay result show failing@v2 --failed --output'"
run -C "$lab" result show failing@v2 --failed --output
expect_stdout 'all is lost'

what='versions that crash are regressions, need no confirmation, and lean no way'
{
	echo 'versions:'
	echo '  ok: { command: [/bin/echo, "cost 7"] }'
	for crash in segv status again; do
		echo "  $crash: { command: [/bin/sh, -c, '[ $crash = status ] && exit 3; kill -SEGV \$\$'] }"
	done
	printf '%s\n' 'repetitions: 2' 'warm_ups: 0' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }"
} >"$lab/apps/broken.yaml"
application bad 100 100.02 120
for fresh in no yes; do
	[ $fresh = no ] && crashing=segv || crashing='segv, status, again'
	printf '%s\n' "comparisons: [{ application: bad, candidates: v3, against: v1, hosts: 'host[1-2]' }, { application: broken, candidates: [$crashing], against: ok, hosts: host1 }]" \
		'fingerprints: { battery: none }' "confirm: { fresh_runs: $fresh }" >"$lab/suite.yaml"
	run -C "$lab" nightly run --format json
	expect_status 3
	[ $fresh = no ] && last=1 || last=3
	expect_json .decisions $((last + 1)) .decisions[0].decision regression
	for at in $(seq $last); do
		expect_json ".decisions[$at].decision" regression ".decisions[$at].reasons[0].code" every_run_crashes
	done
	cases=$((cases + 1))
	grep -q 'findings_lean' "$tmp/out" && fail 'what failed leans'
	confirmed=$(grep -c "$(json .night | cut -c 1-8) confirming bad" "$lab/.assay/night.log")
	cases=$((cases + 1))
	case $fresh$confirmed in
	no0 | yes1) ;;
	*) fail "fresh runs: $fresh, and $confirmed findings were measured again" ;;
	esac
done
cases=$((cases + 1))
grep -q 'confirming broken' "$lab/.assay/night.log" && fail 'crashes were confirmed'
id=$(json '.decisions[1].id')
run -C "$lab" verify "$id"
expect_status 0

what='a program that cannot be found or executed is told as a build that fails is'
printf '%s\n' "versions: { ok: { command: [/bin/echo, 'cost 7'] }, missing: { command: [/no/such/program] }, denied: { command: [/etc/passwd] } }" \
	'repetitions: 2' 'warm_ups: 0' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }" >"$lab/apps/none.yaml"
printf '%s\n' 'comparisons: [{ application: none, candidates: [missing, denied], against: ok, budget: 1m }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run --format json
expect_status 6
for at in 0 1; do
	expect_json ".decisions[$at].decision" nothing_measured
	expect_json ".decisions[$at].reasons[0].code" candidate_never_starts
done
expect_stdout 'first_failure' "'/no/such/program'"
cases=$((cases + 1))
[ "$(sqlite3 "$lab/.assay/runs.db" "SELECT count(*) FROM execution WHERE application = 'none' AND version = 'missing'")" = 6 ] || fail 'more runs will not find it'
run -C "$lab" gate none@ok none@missing
expect_status 6

what='candidates by patterns, and what a night would do'
application bad 100 100.02 120
printf '%s\n' 'comparisons:' "  - { application: bad, candidates: 'v*', against: v1, budget: 1m }" "  - { application: good, candidates: ['x*', v2], against: v1 }" \
	'fingerprints: { battery: quick }' 'deadline: 8h' >"$lab/suite.yaml"
find "$lab" -type f -exec sha256sum {} + | sort >"$tmp/before"
run -C "$lab" nightly run --dry-run --format json
expect_status 0
expect_no_stderr
expect_json .comparisons 4 .measured 3 .night null
expect_json '.comparisons[0].candidate' v2 '.comparisons[1].candidate' v3 '.comparisons[1].hosts' 3 '.comparisons[1].runs' 12 '.comparisons[1].unknown' 0
holds "$tmp/out" 'the answer' "good.yaml' has no version 'x*'"
run -C "$lab" nightly run --dry-run
expect_stdout '3 of 4 comparisons would be measured: 36 runs to the first interim analysis' 'Nothing was run.'
find "$lab" -type f -exec sha256sum {} + | sort >"$tmp/after"
expect_same_files "$tmp/before" "$tmp/after"
sed -i "s/quick/none/; s/budget: 1m/hosts: 'host[1-2]'/" "$lab/suite.yaml"
echo 'confirm: { fresh_runs: no }' >>"$lab/suite.yaml"
run -C "$lab" nightly run --applications bad --format json
expect_status 3
expect_json .decisions 2 '.decisions[0].candidate' v3 '.decisions[1].candidate' v2

what='what a night takes before anything is known of a version, or of anything'
application bad 100 100.02 120 121
run -C "$lab" nightly run --dry-run --applications bad --format json
expect_json '.comparisons[2].candidate' v4 '.comparisons[2].unknown' 0
application fresh 100 100.02
printf '%s\n' 'comparisons: [{ application: fresh, against: v1 }]' 'fingerprints: { battery: none }' 'deadline: 10m' >"$lab/suite.yaml"
run -C "$lab" nightly run --dry-run
expect_stdout 'expected time not known, limit 10 min 00 s)'
cases=$((cases + 1))
[ "$(grep -c 'limit 10 min 00 s' "$tmp/out")" -eq 2 ] || fail 'the limit of a row is that of the night, too'

what='an accepted baseline that has expired is never replaced without a word'
application good 100 100.01
printf '%s\n' 'comparisons: [{ application: good, against: accepted }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
echo 'baselines: [{ application: good, version: v1, until: 2020-02-29, reason: a }]' >"$lab/baselines.yaml"
run -C "$lab" nightly run --format json
expect_status 6
expect_json .decisions[0].decision nothing_measured
expect_json .decisions[0].against accepted
expect_json .notes[0].code baseline_expired
for text in .decisions[0].reasons[0].text .notes[0].text; do
	cases=$((cases + 1))
	case $(json "$text") in
	*"good: 'v1' expired on 2020-02-29"*"'assay baseline accept good@v1 --reason TEXT'"*) ;;
	*) fail "$(json "$text")" ;;
	esac
done
printf '%s\n' 'baselines:' '  - { application: good, version: v1, reason: a }' '  - { application: good, version: v2, until: 2020-02-29, reason: b }' >"$lab/baselines.yaml"
run -C "$lab" nightly run --format json
expect_status 0
expect_json .decisions[0].baseline v1
expect_stdout "'v2' expired on 2020-02-29, and 'v1', accepted before it, is used again" "accepted later, 'v2' expired on 2020-02-29"
run baseline accept --help # says the same
expect_stdout 'an application that has not expired is used.'
rm "$lab/baselines.yaml"

what='a version that hangs costs one time limit beyond its budget, and a budget ends runs that are slow'
printf '%s\n' "versions: { ok: { command: [/bin/echo, 'cost 7'] }, hang: { command: [/bin/sleep, '777'] }, slow: { command: [/bin/sh, -c, 'sleep .4; echo cost 7'] } }" \
	'repetitions: 20' 'warm_ups: 2' 'time_limit: 3' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }" >"$lab/apps/late.yaml"
printf '%s\n' 'comparisons: [{ application: late, candidates: [hang, slow], against: ok, budget: 1s, hosts: "host[1-2]" }]' 'fingerprints: { battery: none }' \
	'confirm: { fresh_runs: no }' >"$lab/suite.yaml"
run -C "$lab" nightly run --format json
expect_json .decisions[0].candidate hang
expect_json .decisions[0].decision regression
cases=$((cases + 2))
count() {
	sqlite3 "$lab/.assay/runs.db" "SELECT count(*) FROM execution WHERE application = 'late' AND version = '$1'"
}
[ "$(count hang)" = 1 ] || fail "$(count hang) runs of a version that hangs"
[ "$(count slow)" = 8 ] || fail "$(count slow) runs of a slow version, not 4 on each of 2 hosts"
expect_stdout 'the deadline or time limit was reached'

what='one that hangs twice needs no fresh runs'
printf '%s\n' "versions: { ok: { command: [/bin/echo, 'cost 7'] }, hang: { command: [/bin/sleep, '777'] } }" \
	'repetitions: 2' 'warm_ups: 0' 'time_limit: 1' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }" >"$lab/apps/stuck.yaml"
# stuck HOSTS: has it been confirmed by fresh runs?
stuck() {
	printf '%s\n' "comparisons: [{ application: stuck, candidates: hang, against: ok, hosts: '$1' }]" 'fingerprints: { battery: none }' >"$lab/suite.yaml"
	run -C "$lab" nightly run --format json
	expect_json .decisions[0].decision regression
	grep -c "$(json .night | cut -c 1-8) confirming" "$lab/.assay/night.log"
}
cases=$((cases + 2))
[ "$(stuck host1)" = 1 ] || fail 'it has hung once'
[ "$(stuck 'host[1-2]')" = 0 ] || fail 'it has hung twice'
run -C "$lab" nightly show --format json
expect_json .decisions[0].reasons[0].code every_run_crashes
finish
