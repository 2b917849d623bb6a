#!/bin/sh
# What a night waits for, and what it does not lose: another command that writes to the laboratory; a host that comes back, and one that does not.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v flock >/dev/null || skip 'there is no flock'

tidy() {
	kill_marked
	kill "$holder" 2>/dev/null
}
holder=

# far is reached through a launcher: not at all while there is $tmp/gone, and not once when there is $tmp/away.
cat >"$tmp/launcher" <<END
#!/bin/sh
[ ! -e "$tmp/gone" ] && ! rm "$tmp/away" 2>/dev/null || { echo 'no route to it' >&2; exit 255; }
exec "\$@"
END
chmod 755 "$tmp/launcher"
run_lab waits "$(hosts_here 3)
  - { name: far, transport: command, launcher: [$tmp/launcher], type: type4, env: { ASSAY_TEST_MARK: '$tmp' } }"
rm "$lab/apps/tiny.yaml"
printf '%s\n' "versions: { old: { command: [/bin/echo, 'cost 100'] }, new: { command: [/bin/echo, 'cost 101'] } }" 'repetitions: 2' 'warm_ups: 0' \
	"metric: { source: regex, pattern: 'cost ([0-9.]+)' }" >"$lab/apps/app.yaml"
# suite WAIT
suite() {
	printf '%s\n' 'comparisons: [{ application: app, against: old, budget: 20s }]' 'fingerprints: { battery: none }' "wait: $1" >"$lab/suite.yaml"
}
suite 1m

what='a host that comes back'
: >"$tmp/away"
run -C "$lab" nightly run --format json
expect_status 0
expect_json .decisions[0].decision pass
expect_json .decisions[0].machines 4
cases=$((cases + 2))
[ ! -e "$tmp/away" ] || fail 'it was always there'
grep -q hosts_lost "$tmp/out" && fail 'it was lost'

what='a host that does not'
: >"$tmp/gone"
run -C "$lab" nightly run --format json
expect_status 7
expect_json .decisions[0].decision pass
expect_json .decisions[0].machines 3
expect_stdout '"hosts_lost"' 'far: '
run -C "$lab" nightly show --fail-on regression
expect_status 0
run -C "$lab" nightly show --fail-on hosts
expect_status 7
rm "$tmp/gone"

# held SECONDS: another command writes to the laboratory for so long, and the night begins behind it.
held() {
	(flock 9 && echo >"$tmp/holds" && exec sleep "$1") 9>>"$lab/.assay/lock" &
	holder=$!
	until [ -e "$tmp/holds" ]; do sleep .05; done
	rm "$tmp/holds"
	run -C "$lab" nightly run --format json
	kill "$holder" 2>/dev/null
	wait "$holder"
	holder=
}
what='a command that writes for a while'
held 3
expect_status 0
expect_json .decisions[0].decision pass

what='one that goes on for longer than is waited'
suite 1s
held 60
expect_status 1
expect_error 'another assay is writing to the laboratory'
what='the next night is not the worse for it'
run -C "$lab" nightly run --format json
expect_status 0
finish
