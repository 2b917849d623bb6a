#!/bin/sh
# `assay run` on other machines, where it is disturbed: two boxes of which one is gone, kill -9 over ssh, an sshd with one channel, emulated hosts.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
sshd_available && [ "$(id -u)" = 0 ] || skip 'two boxes and emulated hosts need root and openssh-server'

tidy() {
	[ -d "$tmp/fleet/.assay/emulated" ] && "$ASSAY" host down "$tmp/fleet" >/dev/null 2>&1
	for pid in ${sshd_left:-} ${sshd_right:-}; do kill "$pid" 2>/dev/null; done
	kill_marked
}

what='two boxes, one of them is gone'
sshd_start left
left=$port
sshd_start right
right=$port
run_lab boxes "hosts:
  - { name: left, address: 127.0.0.1, port: $left, user: root, identity_file: $tmp/user, env: { ASSAY_TEST_MARK: '$tmp' } }
  - { name: right, address: 127.0.0.1, port: $right, user: root, identity_file: $tmp/user, env: { ASSAY_TEST_MARK: '$tmp' } }"
run -C "$lab" host trust -w @all
expect_status 0
sshd_stop right
run -C "$lab" run tiny --inputs x --repetitions 1 --format json
expect_status 7
expect_json .complete false
expect_json .hosts[0].ok 2
expect_json .hosts[1].outcome unreachable
expect_json .hosts[1].missing 2
id=$(plan_id)
sshd_start right
run -C "$lab" run tiny --resume --format json
expect_status 0
expect_json .complete true
expect_json .plan "$id"
expect_json .hosts[0].known 2
expect_json .hosts[1].ok 2
nothing_left_of "$id"
# The old session's helpers learn late that nobody listens: what they still do must not meet the new session.
what='kill -9 over ssh, and --resume at once'
for round in 1 2 3; do
	[ "$round" = 1 ] && resume= || resume=--resume
	"$ASSAY" -C "$lab" run tiny --inputs x --repetitions 3 $resume >"$tmp/out" 2>"$tmp/err" </dev/null &
	victim=$!
	sleep "0.$((round * 7 % 10 + 1))"
	kill -KILL $victim 2>/dev/null
	wait $victim 2>/dev/null
done
to_resume tiny
run -C "$lab" run tiny --inputs x --repetitions 3 $resume --format json
expect_status 0
expect_json .complete true
nothing_left_of "$(plan_id)"
# A hardened sshd, and a shell that stays between it and what runs. The process that cleans up belongs to the connection all the same.
what='an sshd that allows one channel at a time'
cat >"$tmp/forced" <<'END'
#!/bin/sh
sh -c "$SSH_ORIGINAL_COMMAND"
exit $?
END
chmod 700 "$tmp/forced"
sshd_start single "MaxSessions 1
ForceCommand $tmp/forced"
single=$port
boxes=$lab
run_lab single "hosts:
  - { name: single, address: 127.0.0.1, port: $single, user: root, identity_file: $tmp/user, env: { ASSAY_TEST_MARK: '$tmp' } }"
run -C "$lab" host trust -w @all
expect_status 0
run -C "$lab" run tiny --inputs x --repetitions 1 --format json
expect_status 0
expect_json .complete true
cases=$((cases + 1))
[ "$(grep -c 'note: single: .*one channel' "$tmp/err")" = 1 ] || fail "said once: $(cat "$tmp/err")"
nothing_left_of "$(plan_id)"
hold 1
"$ASSAY" -C "$lab" run tiny --inputs x --repetitions 2 >"$tmp/out" 2>"$tmp/err" </dev/null &
victim=$!
for _ in $(seq 3000); do
	[ -s "$tmp/scratch/begun" ] && break
	sleep .02
done
there=$(left_of '*')
kill -KILL $victim
wait $victim 2>/dev/null
rm "$tmp/scratch/hold"
run -C "$lab" run tiny --resume --dry-run --format json
id=$(plan_id)
case $there in
*"-$id-"*) ;;
*) fail "the killed session had its directory: $there" ;;
esac
nothing_left_of "$id"
sshd_stop single
lab=$boxes
what='both at once'
run -C "$lab" run tiny --inputs x --repetitions 2 --format json
expect_status 0
expect_json .hosts[1].ok 4
never_together
no_process_left

what='emulated hosts'
run host up "$tmp/fleet" --hosts 2 --profiles base,str
expect_status 0
lab=$tmp/fleet
cat >"$lab/apps/tiny.yaml" <<'END'
command: [sh, -c, 'case "$LD_PRELOAD" in *knobs*) echo 2 ;; *) echo 1 ;; esac']
versions: { a: , bb: }
repetitions: 2
metric: { source: regex, pattern: "([0-9])" }
END
run -C "$lab" run tiny --format json
expect_status 0
expect_json .stacks[1].same true
expect_json .hosts[1].ok 4
expect_json .hosts[1].emulated true
results_of tiny
awk '{ printf "%s", $NF }' "$tmp/set" >"$tmp/metrics"
cases=$((cases + 1))
[ "$(cat "$tmp/metrics")" = 11221122 ] || fail "four runs on each host, slowed down on the second one only: $(cat "$tmp/set")"
run -C "$lab" gate tiny@a tiny@bb
expect_stdout emu01 emu02
finish
