#!/bin/sh
# A finding that fresh runs cannot confirm, because hosts are lost or what is to run is not there any more: no chance, no deadline, and nothing hidden.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_night.sh"

# A host N is reached until fresh runs begin, if there is $tmp/tired-N.
cat >"$tmp/launcher" <<END
#!/bin/sh
[ ! -e "$tmp/tired-\$1" ] || ! tail -n 1 "$lab/.assay/night.log" | grep -q ' confirming ' || : >"$tmp/gone-\$1"
[ ! -e "$tmp/gone-\$1" ] || { echo 'no route to it' >&2; exit 255; }
echo \$\$ >>"$tmp/pids-\$1"
shift
exec "\$@"
END
chmod 755 "$tmp/launcher"
{
	echo hosts:
	for i in 1 2 3; do
		echo "  - { name: host$i, transport: command, launcher: [$tmp/launcher, '$i'], type: type$i, on: here, env: { ASSAY_TEST_MARK: '$tmp', HOST: '$i' } }"
	done
} >"$lab/lab.yaml"
application lost 100 120
printf '%s\n' 'comparisons: [{ application: lost, against: v1 }]' 'fingerprints: { battery: none }' 'deadline: 23h' >"$lab/suite.yaml"

# lacks TEXT...: none of them stands on standard output.
lacks() {
	for text; do
		cases=$((cases + 1))
		! grep -qF -e "$text" "$tmp/out" || fail "standard output should not have: $text"
	done
}
# night TIRED...: a night, in which these hosts are lost before fresh runs
night() {
	rm -f "$tmp"/gone-* "$tmp"/tired-*
	for host; do : >"$tmp/tired-$host"; done
	run -C "$lab" nightly run --format json
}

what='all hosts are lost: nothing says that it was chance'
night 1 2 3
expect_status 4
expect_json .decisions[0].reasons[0].code not_confirmed .decisions[0].machines 3
expect_stdout '"hosts_lost"' 'in fresh runs: host1: ' '; host3: '
lacks '"deadline"'
run -C "$lab" explain "$(json '.decisions[0].id')"
expect_stdout 'a regression was found, but there are no confirmation runs'
lacks 'Confirmation runs were made'
run -C "$lab" verify "$(sqlite3 "$lab/.assay/runs.db" 'SELECT id FROM decision')"
expect_status 0

what='some of them are: the others confirm it, and the night says who was lost'
night 2
expect_status 3
expect_json .decisions[0].machines 3
expect_stdout '"hosts_lost"' 'in fresh runs: host2: '
lacks 'host1: ' 'host3: '

what='none is'
night
expect_status 3
lacks '"hosts_lost"'

what='one that is lost after its first run has not run both versions, and its page says so'
application lost 100 121
sed -i '$i [ "$HOST" != 2 ] || ! rm '"'$tmp/dies' 2>/dev/null || { : >'$tmp/gone-2'; kill -9 "'$(cat '"'$tmp/pids-2'"') 2>/dev/null; }' "$lab/apps/tiny/cost.sh"
: >"$tmp/dies"
night
expect_status 3
expect_json .decisions[0].machines 2
expect_stdout '"hosts_lost"' 'host2: '
run -C "$lab" nightly pages -o "$tmp/pages"
cases=$((cases + 2))
grep -o '<tr[^>]*data-health="[^"]*"' "$tmp/pages/index.html" >"$tmp/out"
[ "$(grep -c lost "$tmp/out")" = 1 ] || fail 'one machine is lost'
grep -q 'not reached.*lost.*0 of 1 comparisons' "$tmp/pages/index.html" || fail 'it was not reached'

what='what is to run is not there any more: a note, and neither a deadline nor lost hosts'
application lost 100 125
sed -i 's/v2: {/v2: { directory: extra,/' "$lab/apps/lost.yaml"
sed -i '$i [ "$1" != 125 ] || [ "$n" -lt 5 ] || rm -rf '"'$lab/apps/extra'" "$lab/apps/tiny/cost.sh" # after the last run of the first look
mkdir "$lab/apps/extra"
: >"$lab/apps/extra/file"
night
expect_status 4
expect_json .decisions[0].reasons[0].code not_confirmed '.notes[0].code' not_confirmed
expect_stdout 'lost v2 could not be confirmed: '
lacks '"deadline",' '"hosts_lost"'
finish
