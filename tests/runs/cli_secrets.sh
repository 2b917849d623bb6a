#!/bin/sh
# What programs are given as a secret stays out of what they printed, of answers, pages, exports.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

lab=$tmp/lab
run init "$lab"
cat >"$lab/lab.yaml" <<'E2'
hosts:
  - { name: h1, transport: local, type: t1, on: here, env: { HOST_PASSWORD: hostsecret99, MONKEY: banana77 } }
E2
mkdir -p "$lab/apps"
cat >"$lab/apps/a.yaml" <<'E2'
environment: { API_TOKEN: s3cr3tvalue42, A_TOKEN: s3cr, PIN: '1234' } # one secret begins with another
versions:
  v1: { command: [sh, -c, 'echo cost 3; echo "with $API_TOKEN$API_TOKEN, $HOST_PASSWORD, $MONKEY, $PIN"'] }
  v2: { command: [sh, -c, 'echo "no log in with $API_TOKEN" >&2; exit 3'], environment: { deploy_key: privatekey5 } }
repetitions: 2
metric: { source: regex, pattern: 'cost ([0-9.]+)' }
E2
secrets='s3cr3tvalue42|hostsecret99|privatekey5'
run -C "$lab" run a --format json
what='what programs printed'
run -C "$lab" result show a@v2 --failed --output
expect_stdout 'no log in with (hidden)'
# The manifest is kept as it was: of the store, only what was printed is looked at.
sqlite3 "$lab/.assay/runs.db" 'SELECT * FROM execution' >"$tmp/stored"
holds "$tmp/stored" 'the store' 'with (hidden)(hidden), (hidden), banana77, 1234' # neither of these is called a secret
grep -aE "$secrets" "$tmp/stored" && fail 'the store has a secret'
for command in 'host list' 'host list --format json' 'result list --format json' 'result show a@v1 --format json' 'gate a@v1 a@v2 --format json' "result export $tmp/tables" 'inspect' \
	"report a@v1 a@v2 -o $tmp/page"; do
	what=$command
	# shellcheck disable=SC2086
	run -C "$lab" $command
	cases=$((cases + 1))
	cat "$tmp/out" "$tmp/err" "$tmp/page" "$tmp"/tables/*.csv 2>/dev/null | grep -E "$secrets" && fail "a secret is shown"
done
run -C "$lab" host list --format json
expect_json '.hosts[0].env.HOST_PASSWORD' '(hidden)'
expect_json '.hosts[0].env.MONKEY' banana77

what='what a host says of a run'
cat >"$lab/apps/c.yaml" <<'E2'
environment: { API_TOKEN: s3cr3tvalue42 }
versions:
  v1: { command: [sh, -c, 'echo 3'] }
  v2: { command: [s3cr3tvalue42-is-no-command] }
  v3: { command: [sh, -c, 'echo "$API_TOKEN"'] }
repetitions: 1
warm_ups: 0
metric: { source: regex, pattern: '^(.+)$' }
E2
for command in 'run c' 'run c --format json' 'result show c@v2 --failed --output' 'result show c@v3 --failed --format json' 'result list' 'gate c@v1 c@v2' \
	'gate c@v1 c@v2 --format json' 'gate c@v1 c@v2 --format markdown' 'gate c@v1 c@v2 --format junit' 'gate c@v1 c@v2 --format github' \
	"report c@v1 c@v2 -o $tmp/page" 'gate c@v1 c@v3' 'profile c@v3' "result export $tmp/tables" 'inspect'; do
	what="what a host says of a run: $command"
	# shellcheck disable=SC2086
	run -C "$lab" $command
	cases=$((cases + 1))
	cat "$tmp/out" "$tmp/err" "$tmp/page" "$tmp"/tables/*.csv | grep -E "$secrets" && fail 'a secret is shown'
done
run -C "$lab" result show c@v2 --failed
expect_stdout "cannot execute '(hidden)-is-no-command'"
run -C "$lab" result show c@v3 --failed
expect_stdout '(hidden)'
sqlite3 "$lab/.assay/runs.db" 'SELECT * FROM execution' >"$tmp/stored"
grep -aE "$secrets" "$tmp/stored" && fail 'the store has a secret'

what='names by patterns'
printf '%s\n' "secrets: [pin, 'MONK*']" >>"$lab/lab.yaml"
run -C "$lab" run a --versions v1 --quiet
sqlite3 "$lab/.assay/runs.db" "SELECT out FROM execution ORDER BY taken_ms DESC LIMIT 1" >"$tmp/stored"
holds "$tmp/stored" 'the store' 'with (hidden)(hidden), (hidden), (hidden), (hidden)'
run -C "$lab" host list --format json
expect_json '.hosts[0].env.MONKEY' '(hidden)'

what='errors and the log'
cat >"$lab/apps/b.yaml" <<'E2'
environment: { API_TOKEN: s3cr3tvalue42, PIN: '1234' }
command: ['{build}/s']
versions: { v1: { directory: ../of-s3cr3tvalue42 }, v2: { directory: ../of-1234 } }
E2
run -C "$lab" run b
refused 2 'of-(hidden)'
cat "$tmp/out" "$tmp/err" | grep -E "$secrets" && fail 'an error has a secret'
printf '%s\n' 'comparisons: [{ application: b, against: v1, candidates: v2 }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run --quiet
holds "$lab/.assay/night.log" 'the log' 'of-(hidden)'
cat "$tmp/out" "$tmp/err" "$lab/.assay/night.log" | grep -E "$secrets|of-1234" && fail 'the night tells a secret'
finish
