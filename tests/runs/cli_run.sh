#!/bin/sh
# `assay run` on this machine: results and failures, what is shown before and behind, what is refused, mixed software.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

# ---- before anything ran ----

run_lab one
what='a dry run stores and runs nothing'
run -C "$lab" run tiny --dry-run --seed 7
expect_status 0
expect_no_stderr
expect_stdout here 'expected time not known, limit' 'Nothing was run' "input 'x': [" "input 'yy': [" 'seed 7'
run -C "$lab" run tiny --dry-run --seed 7 --format json
expect_json_parses
expect_json .runs 16
expect_json .unknown 16
expect_json .unknown_at_most_seconds 320
expect_json .order 16
cp "$tmp/out" "$tmp/dry"
cases=$((cases + 1))
[ ! -e "$lab/.assay/runs.db" ] || fail 'a dry run made a database'
cases=$((cases + 1))
[ ! -e "$tmp/scratch/together" ] && [ -z "$(ls "$tmp/scratch")" ] || fail 'a dry run ran something'

what='wrong usage'
run -C "$lab" run
refused 2 'APP'
run -C "$lab" run tinny
refused 2 tinny tiny
run -C "$lab" run tiny --versions a,c
refused 2 "no version 'c'"
run -C "$lab" run tiny --versions a,a
refused 2 'named twice'
run -C "$lab" run tiny --inputs z
refused 2 "no input 'z'"
run -C "$lab" run tiny --repetitions 0
refused 2 '--repetitions'
run -C "$lab" run tiny -w nowhere
refused 2 nowhere
run -C "$lab" run tiny --resume
expect_status 0
expect_stdout "no run of 'tiny' was interrupted: there is nothing to resume"
mv "$lab/apps/tiny/run.sh" "$lab/apps/tiny/gone.sh"
run -C "$lab" run tiny
refused 2 'tiny.yaml:1: cannot deploy' run.sh
printf 'command: [true]\nfiles:\n  - tiny\n  - tiny/nowhere\nversions: { a: }\n' >"$lab/apps/gone.yaml"
run -C "$lab" run gone
refused 2 'gone.yaml:4: cannot deploy' nowhere
printf 'command: [true]\nversions: { a: { directory: tiny/nowhere } }\n' >"$lab/apps/gone.yaml"
run -C "$lab" run gone
refused 2 "gone.yaml:2: version 'a': cannot deploy" nowhere
rm "$lab/apps/gone.yaml"
mv "$lab/apps/tiny/gone.sh" "$lab/apps/tiny/run.sh"

# ---- a run ----

what='all runs'
run -C "$lab" run tiny --seed 7 --format json
expect_status 0
expect_no_stderr
expect_json_parses
expect_json .complete true
expect_json .seed 7
expect_json .hosts[0].ok 12
expect_json .hosts[0].failed 0
expect_json .hosts[0].missing 0
expect_json .results 4
expect_json .results[0].application tiny/x
expect_json .results[0].median 11
expect_json .results[3].version bb
expect_json .results[3].median 22
expect_json .stacks 2
expect_json .stacks[0].same true
expect_json .without_fingerprint 12
nothing_left_of "$(plan_id)"
no_process_left
never_together
results_of tiny/x tiny/yy
cases=$((cases + 1))
[ "$(wc -l <"$tmp/set")" = 12 ] || fail "12 results expected: $(cat "$tmp/set")"

what='how long it takes is known now'
run -C "$lab" run tiny --dry-run --seed 7 --format json
expect_json .unknown 0
expect_json .runs 16
cases=$((cases + 1))
json .seconds | awk '{ exit !($1 > .1 && $1 < 60) }' || fail "16 runs of 10 to 20 ms and a start: $(json .seconds) s"
for i in 0 7 15; do
	cases=$((cases + 1))
	[ "$(json ".order[$i].version")" = "$("$ASSAY_JSON" ".order[$i].version" <"$tmp/dry")" ] || fail 'the same seed gave another order'
done

what='for people'
run -C "$lab" run "$lab/apps/tiny.yaml" --inputs x --versions bb,a --repetitions 1
expect_status 0
expect_stdout 'tiny/x' '2 of 2 runs measured' 'order by seed' "gate tiny/x@bb tiny/x@a" 'host measure'
run -C "$lab" result list
expect_stdout tiny/yy
run -C "$lab" result show tiny/x@a --format json
expect_json .failed 0
expect_json .results 4
# `processes` is absent where the kernel's numbers of processes began again during the run: not tested.
for account in wall_ns user_us sys_us max_rss_bytes minor_faults voluntary_switches read_calls tick_ns; do
	cases=$((cases + 1))
	[ "$(json ".results[3].accounts.$account")" -ge 0 ] 2>/dev/null || fail "$account: $(json ".results[3].accounts.$account")"
done
cases=$((cases + 1))
[ "$(json '.results[0].accounts.voluntary_switches')" -ge 1 ] || fail 'it sleeps'
run -C "$lab" result show tiny/x@a
expect_stdout 'Counted by the kernel' 'system calls that read'
run -C "$lab" result export "$tmp/tables"
cases=$((cases + 1))
python3 -c 'import csv, sys; assert all(int(row["voluntary_switches"]) > 0 for row in csv.DictReader(open(sys.argv[1])))' "$tmp/tables/executions.csv" ||
	fail 'every run is exported with its accounts'

what='the gate compares within the latest plan'
run -C "$lab" gate tiny/yy@a tiny/yy@bb --format json
expect_json .machines[0].interleaved true
expect_json .machines[0].baseline_runs 3
run -C "$lab" gate tiny/x@a tiny/x@bb --format json
expect_json .machines[0].baseline_runs 1
run -C "$lab" run tiny --inputs yy --versions a --repetitions 1
expect_stdout 'result show tiny/yy@a'
run -C "$lab" gate tiny/x@a tiny/yy@a --format json
expect_json .machines[0].interleaved false
expect_stdout order_confounded

what='higher is better'
sed 's/^metric: .*/metric: { source: regex, pattern: "cost ([0-9]+)", direction: higher }/' "$lab/apps/tiny.yaml" >"$lab/apps/rate.yaml"
run -C "$lab" run rate --inputs x --repetitions 1
expect_status 0
run -C "$lab" result show rate/x@a
expect_stdout 'higher is better'

# ---- runs that fail ----

what='failures are kept as such'
cat >"$lab/apps/bad.yaml" <<END
command: [sh, -c, 'echo cost 1']
versions:
  good:
  fails: { command: [sh, -c, 'echo half; echo oops >&2; echo cost 5; exit 3'] }
  killed: { command: [sh, -c, 'echo cost 5; kill -SEGV \$\$'] }
  missing: { command: [$tmp/none/program] }
  quiet: { command: [sh, -c, 'echo costs nothing'] }
  long: { command: [sh, -c, 'yes first | head -c 3000000; echo the last line; exit 1'] }
repetitions: 1
warm_ups: 0
metric: { source: regex, pattern: '^cost ([0-9]+)' }
END
cat >"$lab/apps/slow.yaml" <<END
command: [sh, -c, 'trap "" TERM; sleep 77 & echo cost 5; sleep 77']
versions: { slow: }
repetitions: 1
warm_ups: 0
time_limit: 0.5
metric: { source: regex, pattern: '^cost ([0-9]+)' }
END
run -C "$lab" run bad --format json
expect_status 7
expect_json .complete true
expect_json .hosts[0].ok 1
expect_json .hosts[0].failed 5
for row in fails:failed killed:killed missing:not_started quiet:no_metric long:failed; do
	cases=$((cases + 1))
	tr -d ' \n' <"$tmp/out" | grep -q "\"version\":\"${row%:*}\",\"input\":\"\",\"repetition\":1,\"outcome\":\"${row#*:}\"" || fail "$row expected"
done
nothing_left_of "$(plan_id)"
no_process_left
run -C "$lab" run bad --versions fails,quiet
expect_status 1
expect_stdout 'result show bad --failed --output' "version 'fails': failed (1 run"
run -C "$lab" result show bad@fails --failed
expect_status 0
expect_stdout 'bad@fails on here, repetition 1: failed: exit status 3'
cases=$((cases + 1))
! grep -q oops "$tmp/out" || fail 'the output comes only when it is asked for'
run -C "$lab" result show bad --failed --output
expect_stdout oops half 'SIGSEGV' 'the last line' 'its end' "$tmp/none/program"
run -C "$lab" result show bad --failed --output --format json
expect_json_parses
expect_stdout 'bytes are excluded here'
run -C "$lab" result show bad@fails
expect_status 0
expect_stdout '2 runs failed'
run -C "$lab" run slow --format json
expect_status 1
expect_json .failures[0].outcome timeout
no_process_left
run -C "$lab" result show slow@slow --failed --format json
cases=$((cases + 1))
[ "$(json .failed[0].wall_ns)" -lt 77000000000 ] || fail "ended after $(json .failed[0].wall_ns) ns, not after half a second"
run -C "$lab" result show bad@nothing
refused 2 nothing
run -C "$lab" gate bad@good bad@fails
expect_status 3
run -C "$lab" result export "$tmp/tables"
cases=$((cases + 1))
awk -F , '$1 == "bad" && $2 == "fails" { n++; bad += $7 != "" || $11 == "ok" } END { exit !n || bad }' "$tmp/tables/results.csv" ||
	fail 'a failure became a number, or is not there'

what='versions with hostile names, outputs and habits'
cat >"$lab/apps/hostile.yaml" <<'END'
command: [sh, -c, 'echo "$0"; echo cost 5', '{version}']
versions:
  'x $(touch pwned)':
  "it's":
  'q"q; touch pwned':
  '*':
  '..':
  control: { command: [sh, -c, 'printf "\033]0;title\007\033[31mred\r\0\302\233\n"; exit 3'] }
  leaves: { command: [sh, -c, 'setsid sleep 1000 & echo cost 5'] }
  huge: { command: [echo, 'cost 1e400'] }
repetitions: 1
warm_ups: 0
metric: { source: regex, pattern: '^cost ([0-9e]+)' }
END
run -C "$lab" run hostile
expect_status 7
expect_stdout '6 of 8 runs measured, 2 failed' "version 'huge': no_metric" "'1e400' is not a number" \
	"version 'leaves': ok (1 run, the first on machine " ': it left 1 process running, which assay stopped'
no_process_left
run -C "$lab" result show hostile --failed --output
expect_stdout '?]0;title??[31mred?'
cases=$((cases + 1))
! grep -q "$(printf '\033')" "$tmp/out" || fail 'control characters of a program came here'
run -C "$lab" gate 'hostile@..' 'hostile@x $(touch pwned)'
expect_status 4
for name in '-rf' 'two\\nlines' 'a/b' 'a@b' ' '; do
	sed "s|^versions:|&\n  \"$name\":|" "$lab/apps/hostile.yaml" >"$lab/apps/worse.yaml"
	run -C "$lab" run worse
	refused 2 'cannot be the name of a version' worse.yaml:3
done
cases=$((cases + 1))
[ -z "$(find . "$lab" -name pwned 2>/dev/null)" ] || fail 'a name was run by a shell'

what='one that prints too much'
cat >"$lab/apps/flood.yaml" <<'END'
command: [echo, fine]
versions: { base: , out: { command: [sh, -c, 'yes'] }, err: { command: [sh, -c, 'yes >&2'] } }
repetitions: 2
END
run -C "$lab" run flood --format json # its warm-ups flood, too
expect_status 7
expect_json .complete true
expect_json .hosts[0].outcome ok
expect_json .hosts[0].ok 2
expect_json .hosts[0].failed 4
expect_json .hosts[0].missing 0
expect_json .failures[0].outcome failed
expect_stdout 'it printed more than 64 MiB on standard output, and was ended' 'it printed more than 64 MiB on standard error, and was ended'
nothing_left_of "$(plan_id)"
no_process_left
run -C "$lab" run flood --resume
expect_stdout 'there is nothing to resume'
run -C "$lab" result show flood@out --failed --output --format json
expect_stdout 'bytes are excluded here'
run -C "$lab" gate flood@base flood@base
expect_stdout 'flood@base'

what='nowhere to work'
printf 'command: [sh, -c, "echo 1"]\nversions: { a: }\nwork: %s\n' "$tmp/none" >"$lab/apps/nowhere.yaml"
run -C "$lab" run nowhere
expect_status 1
expect_stdout 'cannot make a'

# ---- software ----

what='mixed software'
hosts="hosts:
  - { name: one, transport: local, on: here, env: { PATH: \"$tmp/bin1:$PATH\" } }
  - { name: two, transport: local, on: here, env: { PATH: \"$tmp/bin2:$PATH\" } }
  - { name: three, transport: local, on: here, env: { PATH: \"$tmp/bin1:$PATH\" } }"
run_lab mixed "$hosts"
mkdir "$tmp/bin1" "$tmp/bin2"
printf '#!/bin/sh\necho ran >>"%s/ran"\n' "$tmp" >"$tmp/bin1/program"
printf '#!/bin/sh\necho ran >>"%s/ran" # differs\n' "$tmp" >"$tmp/bin2/program"
chmod 755 "$tmp/bin1/program" "$tmp/bin2/program"
printf 'command: [program]\nversions: { a: , b: { command: [sh, -c, "echo ran >>%s/ran"] } }\nrepetitions: 1\nwarm_ups: 0\n' "$tmp" >"$lab/apps/mixed.yaml"
run -C "$lab" run mixed
expect_status 0
expect_stdout "Mixed software: version 'a' loads other programs or libraries on two than on one (program)"
cases=$((cases + 1))
[ "$(grep -c Mixed "$tmp/out")" = 1 ] || fail 'one host and version is mixed'
cases=$((cases + 1))
[ "$(wc -l <"$tmp/ran")" = 6 ] || fail '6 runs expected'
finish
