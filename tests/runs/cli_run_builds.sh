#!/bin/sh
# A version whose name stays while the build under it changes, as with a branch that is run every night: what another build did is never
# compared, and what the latest run left open is said.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

tidy() {
	kill_marked
}

run_lab nights "$(hosts_here 4)"
mkdir "$lab/apps/main" "$lab/apps/branch"

# cost VERSION NUMBER: the version is built anew, as a program that costs so much.
cost() {
	printf '#!/bin/sh\necho cost %s\n' "$2" >"$lab/apps/$1/app"
	chmod 755 "$lab/apps/$1/app"
}

cat >"$lab/apps/app.yaml" <<'END_APP'
command: ['{build}/app']
versions: { main: { directory: main }, branch: { directory: branch } }
repetitions: 2
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9.]+)' }
END_APP

# Judges the pairs of pairs.json by tests/bench/evaluate.
evaluate() {
	"${ASSAY_EVALUATE:?}" -C "$lab" "$tmp/pairs.json" --no-walk >"$tmp/out" 2>"$tmp/err"
	status=$?
}

# gate STATUS [REASON...]: and the reasons that are said, as codes.
gate() {
	run -C "$lab" gate app@main app@branch --format json
	expect_status "$1"
	shift
	for reason in "$@"; do
		expect_stdout "\"$reason\""
	done
}

what='the first night: slow, on all hosts'
cost main 100.3
cost branch 400.7
run -C "$lab" run app
expect_status 0
gate 3 slower
cases=$((cases + 1))
! grep -q 'other_build\|runs_missing' "$tmp/out" || fail 'all is of one build and complete'
run -C "$lab" result show app@branch
cases=$((cases + 1))
! grep -q 'build\|count' "$tmp/out" || fail 'nothing is to be said of builds'

what='the second night: mended, and one host was reached'
cost branch 100.3
run -C "$lab" run app -w host1
expect_status 0
gate 4 other_build too_few_types
expect_json .effect.ratio 1
expect_json .machines[0].used true
expect_json .machines[1].reason other_build
expect_json .machines[3].reason other_build
run -C "$lab" gate app@main app@branch --all
expect_stdout '3 machines excluded: the latest build of a version has no result there'
run -C "$lab" report app@main app@branch -o "$tmp/page.html"
expect_status 0
cases=$((cases + 1))
grep -q 'the latest build of a version has no result there' "$tmp/page.html" && grep -q '8 results of app@branch' "$tmp/page.html" ||
	fail 'the page should name the machines and results that are excluded'
run -C "$lab" profile app@branch # of what was measured, where nothing has a fingerprint
expect_status 0
expect_stdout 'no fingerprint belongs to its results'
cases=$((cases + 1))
grep -q '8 results of app@branch are from another build.* its latest build has no result on host2, host3, host4' "$tmp/err" ||
	fail 'the results that do not count should be mentioned'
run -C "$lab" result show app@branch
expect_stdout 'build' 'does not count' '8 results of app@branch are from another build'
run -C "$lab" result show app@branch --format json
expect_json .results[0].counts false
expect_json .results[1].counts true
cases=$((cases + 1))
[ "$(json .results[0].build)" != "$(json .results[1].build)" ] || fail 'builds have names of their own'

what='a night in which the baseline changed, too: no machine has both as they are now'
cost main 101.1
run -C "$lab" run app -w host2 --versions main
expect_status 0
gate 6 no_common_machine other_build

what='failures of an older build are none of this one'
cost main 'nothing'
run -C "$lab" run app -w host4 --versions main
expect_status 1
run -C "$lab" report app@main app@branch -o "$tmp/page.html"
cases=$((cases + 1))
grep -q '2 runs of app@main' "$tmp/page.html" || fail 'the page should name the runs that failed'
cost main 101.1
run -C "$lab" run app -w host4 --versions main
expect_status 0
run -C "$lab" report app@main app@branch -o "$tmp/page.html"
cases=$((cases + 1))
! grep -q '[0-9] runs* of app@main' "$tmp/page.html" || fail 'the page names failures of an older build'

what='the reverse: good everywhere, then slow on one host'
cost main 100.3
cost branch 100.3
run -C "$lab" run app
gate 0 below_min_effect
cost branch 200.9
run -C "$lab" run app -w host3
gate 4 other_build
expect_json .machines[0].reason other_build
expect_json .machines[2].used true

what='a new build that no host has run'
cp "$lab/lab.yaml" "$tmp/lab.yaml"
cost branch 300.1
sed 's/transport: local, \(.*\), env.*/address: 127.0.0.1, port: 1, \1 }/' "$tmp/lab.yaml" >"$lab/lab.yaml"
run -C "$lab" run app
expect_status 1
gate 6 no_common_machine other_build runs_missing
expect_stdout '8 of 8 runs of the candidate' --resume
cat >"$tmp/pairs.json" <<'END'
[{"baseline": "app@main", "candidate": "app@branch", "changed": true},
 {"baseline": {"application": "app", "version": "main", "repetitions": [1]},
  "candidate": {"application": "app", "version": "main", "repetitions": [2]}, "changed": false}]
END
evaluate
expect_status 6
expect_json .left_out[0].pair 1
expect_json .left_out[0].reason "'app@branch' has no result of its latest build ('timestamps' choose those of others)"
expect_json .pairs 1
expect_json .pairs[0].pair 2
expect_json .pairs[0].decision inconclusive # one run of each, in the same order everywhere
sed -i '1s/,$/]/; 2,$d' "$tmp/pairs.json"
evaluate
expect_status 6
expect_no_stdout
holds "$tmp/err" 'standard error' 'no pair can be judged: pair 1'
run -C "$lab" suggest app@branch
expect_status 6
cases=$((cases + 1))
grep -q "'app@branch' has no usable result yet" "$tmp/err" || fail "a version without results was given advice: $(cat "$tmp/err")"

what='a run that was interrupted, of the same build'
cp "$tmp/lab.yaml" "$lab/lab.yaml"
run -C "$lab" run app --resume
expect_status 0
gate 3 slower
cases=$((cases + 1))
! grep -q 'other_build\|runs_missing' "$tmp/out" || fail 'all is complete'
sed '/host[234]/s/transport: local, \(.*\), env.*/address: 127.0.0.1, port: 1, \1 }/' "$tmp/lab.yaml" >"$lab/lab.yaml"
run -C "$lab" run app
expect_status 7
gate 3 slower runs_missing
expect_stdout '6 of 8 runs of the baseline' '6 of 8 runs of the candidate'
cp "$tmp/lab.yaml" "$lab/lab.yaml"

what='the same files, another command'
sed -i "s,command: .*,command: [sh\, '{build}/app'\, again]," "$lab/apps/app.yaml"
run -C "$lab" run app -w host1
expect_status 0
gate 4 other_build
what='what changes no result'
printf 'description: the same\ntime_limit: 100\n' >>"$lab/apps/app.yaml"
run -C "$lab" run app -w host2,host3,host4
expect_status 0
gate 3 slower
cases=$((cases + 1))
! grep -q 'other_build' "$tmp/out" || fail 'one build, two plans'
no_process_left
finish
