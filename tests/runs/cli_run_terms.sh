#!/bin/sh
# A manifest that is changed between runs: results under another metric, direction or shared command are not compared with the earlier ones, the
# earlier ones stay what they were, and what leaves the laboratory says what it lacks.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

tidy() {
	kill_marked
}

run_lab terms

# manifest [LINE...]: two versions that say 50, and more lines.
manifest() {
	printf '%s\n' "command: [echo, 't: 50']" 'versions: { a: , b: }' 'repetitions: 3' 'warm_ups: 0' "$@" >"$lab/apps/m.yaml"
}

what='without fingerprints, repetitions of one run are one row'
manifest
run -C "$lab" run m
expect_status 0
run -C "$lab" result show m@a
cases=$((cases + 1))
[ "$(grep -c '^here ' "$tmp/out")" = 1 ] && grep -q '^here .* 3  ' "$tmp/out" || fail "not one row of three: $(cat "$tmp/out")"

what='another metric, in the other direction'
manifest "metric: { pattern: 't: ([0-9]+)', direction: higher }"
run -C "$lab" run m --versions b
expect_status 0
run -C "$lab" gate m@a m@b --format json
expect_status 6
expect_json .reasons[0].code no_common_machine
expect_json .reasons[1].code other_metric
expect_json .machines[0].reason other_metric
expect_stdout "'assay run m --versions a,b' makes results that can be compared"
run -C "$lab" report m@a m@b -o "$tmp/page.html"
cases=$((cases + 1))
grep -q 'the manifest had different metrics' "$tmp/page.html" || fail 'the page should say why nothing is compared'
run -C "$lab" result show m@a
expect_stdout 'm@a, lower is better'
run -C "$lab" result show m@b
expect_stdout 'm@b, higher is better'
run -C "$lab" result list --format json
expect_json .applications[0].higher_is_better false
expect_json .applications[1].higher_is_better true

what='an export says of each result in which direction it is better'
run -C "$lab" result export "$tmp/tables"
expect_status 0
cases=$((cases + 1))
[ "$(cut -d , -f 2,8 "$tmp/tables/results.csv" | sort | uniq -c | tr -s ' \n' ' ')" = ' 3 a,lower 3 b,higher 3 b,lower 1 version,direction ' ] ||
	fail "not said: $(cat "$tmp/tables/results.csv")"

what='both anew'
run -C "$lab" run m
expect_status 0
run -C "$lab" gate m@a m@b --format json
expect_json .machines[0].reason used

what='another shared command, and another directory'
sed -i 's/^command.*/command: [printf, "t: 50\\n"]/' "$lab/apps/m.yaml"
run -C "$lab" run m --versions b
run -C "$lab" gate m@a m@b --format json
expect_status 6
expect_json .machines[0].reason other_terms
run -C "$lab" run m
run -C "$lab" gate m@a m@b --format json
expect_json .machines[0].reason used
echo 'work: /tmp' >>"$lab/apps/m.yaml"
run -C "$lab" run m --versions b
run -C "$lab" gate m@a m@b --format json
expect_status 6
expect_json .machines[0].reason other_terms

what='versions differ in what is their own'
manifest
sed -i 's/^versions.*/versions: { a: { environment: { A: 1 } }, b: { command: [true] } }/' "$lab/apps/m.yaml"
run -C "$lab" run m --versions a
sed -i 's/^command.*/command: [echo, again]/; s/A: 1/A: 2/' "$lab/apps/m.yaml"
run -C "$lab" run m --versions b
run -C "$lab" gate m@a m@b --format json
expect_json .machines[0].reason used

what='a host that is not there: what two versions load is known in half of the cases'
run_lab half "$here
  - { name: gone, address: 127.0.0.1, port: 1 }"
printf '%s\n' 'command: [true]' 'versions: { a: , b: }' 'repetitions: 1' 'warm_ups: 0' >"$lab/apps/m.yaml"
run -C "$lab" run m
expect_status 7
expect_stdout 'Loaded programs and libraries are known for 2 of 4 pairs of version and host.'

what='what the only version loads'
printf '%s\n' 'command: [no-such-command]' 'versions: { a: }' 'repetitions: 1' 'warm_ups: 0' >"$lab/apps/n.yaml"
run -C "$lab" run n -w here
expect_stdout 'What the version loads is not known.'

what='what comes next is about an input that has it'
printf '%s\n' 'command: [env, "{arguments}"]' 'versions: { a: , b: }' 'inputs:' '  x: { arguments: ["false"] }' \
	'  y: { arguments: ["true"] }' '  z: { arguments: ["true"] }' 'repetitions: 1' 'warm_ups: 0' >"$lab/apps/i.yaml"
run -C "$lab" run i -w here
expect_stdout 'result show i/x --failed --output' 'gate i/y@a i/y@b'

what='a version that is not said, or in the wrong place'
run -C "$lab" run m@a
refused 2 "no application 'm@a': it is called 'm', and --versions a chooses its version"
for command in 'changes m m' 'detect m m' 'timeline m'; do
	# shellcheck disable=SC2086
	run -C "$lab" $command
	refused 2 "which version of 'm'? Say it as m@VERSION: it has a, b"
done

what='of what successful runs print, the store keeps little'
run_lab much
printf '%s\n' "command: [sh, -c, 'seq 150000; echo t: 50']" 'versions: { a: }' 'repetitions: 5' 'warm_ups: 0' \
	"metric: { pattern: 't: ([0-9]+)' }" >"$lab/apps/m.yaml"
run -C "$lab" run m
expect_status 0
cases=$((cases + 1))
[ "$(cat "$lab/.assay/runs.db"* | wc -c)" -lt 2000000 ] || fail "the store has $(cat "$lab/.assay/runs.db"* | wc -c) bytes"

what='a dry run knows the references of git'
git init -q "$lab/apps/repository" 2>/dev/null || skip 'there is no git'
printf '%s\n' 'command: [true]' 'versions: { x: { git: { repository: repository, reference: nowhere } } }' >"$lab/apps/g.yaml"
run -C "$lab" run g --dry-run
expect_status 2
cases=$((cases + 1))
grep -q "g.yaml:2: version 'x': the repository .* has no commit 'nowhere'" "$tmp/err" || fail "not said: $(cat "$tmp/err")"

what='an application without inputs'
run -C "$lab" run m --inputs x --dry-run
refused 2 "has no input 'x': it has none with a name"
no_process_left
finish
