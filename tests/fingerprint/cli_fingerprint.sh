# Fingerprints from the command line: real stress-ng on this machine, kill -9 and --resume, a stress-ng that lies, drift, retire, rename.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_here.sh"
command -v stress-ng >/dev/null || skip 'there is no stress-ng'
[ -w /dev/shm ] || skip 'there is no /dev/shm to write to'

# Of the sessions of $lab: other tests may be measuring at the same time.
work_directories() {
	for id in $("$ASSAY" -C "$lab" host list --fingerprints | awk '$2 ~ /^[0-9a-f]+$/ { print $2 }'); do
		find /dev/shm -maxdepth 1 -name "assay-session-*-$id-*"
	done
}

nothing_in_shm() {
	cases=$((cases + 1))
	for _ in $(seq 600); do
		[ -z "$(work_directories)" ] && return
		sleep .1
	done
	fail "left in /dev/shm: $(work_directories)"
}

# The number of cells of the latest fingerprint, and how many different ones.
count_cells() {
	run -C "$lab" host show --passes "$1" --format json
	expect_status 0
	expect_json_parses
	cases=$((cases + 1))
	cells=$(grep -c '"stressor":' "$tmp/out")
	[ "$cells" -eq "$2" ] || fail "$2 cells expected, not $cells"
	tr -d ' \n' <"$tmp/out" | grep -o '"stressor":"[^"]*","pass":[0-9]*' | sort | uniq -d >"$tmp/twice"
	cases=$((cases + 1))
	[ ! -s "$tmp/twice" ] || fail "twice: $(cat "$tmp/twice")"
}

# ---- real stress-ng ----

what='two fingerprints'
make_lab real
battery "$tmp/tiny.yaml" 1 60 cpu:400 memcpy:100 str:100000
for _ in 1 2; do
	run -C "$lab" host measure --battery "$tmp/tiny.yaml" --format json
	expect_status 0
	expect_no_stderr
	expect_json .hosts[0].complete true
	expect_json .hosts[0].measured 3
	id=$(json .hosts[0].fingerprint)
	first=${first:-$id}
done
no_process_left
nothing_in_shm
count_cells here 3
expect_json .id "$id"
expect_json .complete true
expect_json .emulated false
expect_json .origin measured
run -C "$lab" host list --fingerprints
expect_stdout "$first" "$id" '2 fingerprints' measured
run -C "$lab" host show --passes here
expect_stdout "fingerprint $id of here" conditions kernel cpu memcpy str '3 measured, 0 not'
run -C "$lab" check
expect_status 0

what='diff of the two'
run -C "$lab" host show "$first" here --format json
expect_status 0
expect_json .compared 3
expect_json .before.id "$first"
expect_json .after.id "$id"
run -C "$lab" host show "$first" "$id"
expect_status 0
expect_stdout stressors "before $first" "after  $id"
run -C "$lab" host show here nobody
refused 2 "'nobody' is neither a machine"
run -C "$lab" host show here@19 here
refused 2 "starts with '19'" "$first"
run -C "$lab" host show here@20 here
refused 2 'has 2 fingerprints' "$first" "$id"

what='another battery is never compared'
battery "$tmp/other.yaml" 1 60 cpu:100
run -C "$lab" host measure --battery "$tmp/other.yaml" --format json
expect_status 0
run -C "$lab" host show "$id" here
refused 2 'different batteries cannot be compared' tiny

# ---- a stress-ng that is not one ----

# The stressor says what it does; $tmp/scale scales its numbers. It ends by itself, long before the seconds of its battery are over.
mkdir "$tmp/fake"
cat >"$tmp/fake/stress-ng" <<END
#!/bin/sh
[ "\$1" = --version ] && { echo 'stress-ng, version 0.15.06 (gcc 12.2, x86_64 Linux 6.1)'; exit; }
while [ "\$1" != -t ]; do shift; done
stressor=\${3#--}
number() {
	rate=\$(awk -v s="\$(cat "$tmp/scale.\$stressor" 2>/dev/null || echo 1)" -v r="\$(od -An -N1 -tu1 /dev/urandom)" 'BEGIN { print 1000 * s * (1 + r / 25600) }')
	printf -- '---\nsystem-info:\n      stress-ng-version: 0.15.06\n\nmetrics:\n    - stressor: %s\n      bogo-ops: %s\n' "\$stressor" "\$(awk -v r="\$rate" 'BEGIN { print r / 10 }')"
	printf '      bogo-ops-per-second-usr-sys-time: %s\n      bogo-ops-per-second-real-time: %s\n' "\$rate" "\$rate"
	printf '      wall-clock-time: 0.1\n      user-time: 0.1\n      system-time: 0.0\n\n...\n'
}
if [ -e "$tmp/hold" ]; then
	while [ -e "$tmp/first" ] && [ -e "$tmp/hold" ]; do sleep .05; done
	: >"$tmp/first"
fi
case \$stressor in
rubbish) head -c 3000 /dev/urandom ;;
flood) number; yes 'and so on' | head -c 3000000 ;;
lies) number | sed 's/\(bogo-ops-per-second-usr-sys-time:\).*/\1 20000/' ;;
noisy) number; yes 'of no use' | head -c 3000000 >&2 ;;
three) number; exit 3 ;;
four) number; exit 4 ;;
seven) number; exit 7 ;;
other) number | sed s/0.15.06/0.17.00/ ;;
early) # is told to end before it has started
	trap 'exit 0' INT
	sleep 30 &
	wait
	;;
hang) trap '' INT TERM; number; while :; do sleep 1; done ;;
*) number ;;
esac
END
chmod 755 "$tmp/fake/stress-ng"

what='kill -9 in the middle'
make_lab killed "$tmp/fake:$PATH"
battery "$tmp/longer.yaml" 2 60 cpu memcpy str
: >"$tmp/hold" # all cells after the first one wait
"$ASSAY" -C "$lab" host measure --battery "$tmp/longer.yaml" >"$tmp/out" 2>"$tmp/err" </dev/null &
victim=$!
for _ in $(seq 1000); do
	run -C "$lab" host list --fingerprints --format json
	measured=$(json .fingerprints[0].measured) || measured=0
	[ "$measured" -ge 1 ] && break
	sleep .05
done
there=$(work_directories)
kill -KILL $victim
wait $victim 2>/dev/null
status=$?
expect_status 137
no_process_left
cases=$((cases + 1))
[ -n "$there" ] || fail 'a session has a directory in /dev/shm while it measures'
nothing_in_shm
rm "$tmp/hold"
run -C "$lab" host list --fingerprints --format json
expect_json .fingerprints[0].measured 1
run -C "$lab" host list --fingerprints
expect_stdout incomplete
id=$("$ASSAY" -C "$lab" host list --fingerprints --format json | "$ASSAY_JSON" .fingerprints[0].id)
run -C "$lab" host show --passes "$id"
expect_stdout incomplete
run -C "$lab" host show --passes here
refused 2 "'here' is neither a machine with a complete fingerprint"
run -C "$lab" host drift
expect_status 0
run -C "$lab" host measure --battery "$tmp/longer.yaml" --resume --format json
expect_status 0
expect_json .hosts[0].fingerprint "$id"
expect_json .hosts[0].measured 5
count_cells here 6
run -C "$lab" host measure --battery "$tmp/longer.yaml" --resume --format json
expect_status 0
expect_json .hosts[0].fingerprint "$id"
expect_json .hosts[0].was_complete true
expect_json .hosts[0].measured 0
run -C "$lab" host measure --battery "$tmp/longer.yaml" --resume
expect_status 0
expect_stdout 'it was already complete' 'there is nothing to resume'
no_process_left
nothing_in_shm

what='lies, and what is made of them'
make_lab lies "$tmp/fake:$PATH"
battery "$tmp/lies.yaml" 1 60 cpu rubbish flood noisy three four seven other lies
run -C "$lab" host measure --battery "$tmp/lies.yaml" --format json
expect_status 0
expect_json .hosts[0].complete true
expect_json .hosts[0].measured 2
expect_json .hosts[0].missing 7
expect_json .hosts[0].without_rate[0] flood
expect_json .hosts[0].without_rate[6] three
no_process_left
nothing_in_shm
run -C "$lab" host show --passes here
while read -r stressor reason; do
	cases=$((cases + 1))
	grep -q "^  $stressor .* not measured (.*$reason" "$tmp/out" || fail "$stressor should not be measured because: $reason"
done <<'END'
rubbish stress-ng
flood 65536
three lacks a resource
four not implemented
seven does not trust its own metrics
other said version 0.15.06 before and 0.17.00 now
lies contradicts itself: 20000 operations of 'lies' per second, but
END
cases=$((cases + 1))
[ "$(grep -c '  1: [0-9]' "$tmp/out")" -eq 2 ] || fail 'cpu and noisy alone have a number'
run -C "$lab" check
expect_status 0

what='what does not end, and what ends when it is told to'
make_lab ends "$tmp/fake:$PATH"
battery "$tmp/ends.yaml" 1 2 hang early
run -C "$lab" host measure --battery "$tmp/ends.yaml"
expect_status 1
no_process_left
nothing_in_shm
run -C "$lab" host list --fingerprints --format json
run -C "$lab" host show --passes "$(json .fingerprints[0].id)"
for text in '  hang .* not measured (.*was killed' \
	'  early .* not measured (.*was asked to end after 2 s, before it had measured anything: the machine is too busy'; do
	cases=$((cases + 1))
	grep -q "^$text" "$tmp/out" || fail "expected: $text"
done

what='nothing can be measured'
make_lab nothing "$tmp/fake:$PATH"
battery "$tmp/nothing.yaml" 1 10 rubbish
run -C "$lab" host measure --battery "$tmp/nothing.yaml"
expect_status 1
expect_stdout 'here: no stressor of the battery could be measured; 1 of 1 times: stress-ng'
run -C "$lab" host list --format json
cases=$((cases + 1))
json '.machines[0].fingerprints[0].id' >/dev/null && fail 'no fingerprint expected'

what='what was wrong with every stressor is mended, and --resume measures'
mkdir "$tmp/mends"
printf '#!/bin/sh\n[ "$1" = --version ] || [ -f "%s" ] || exit 2\nexec "%s" "$@"\n' "$tmp/mended" "$tmp/fake/stress-ng" >"$tmp/mends/stress-ng"
chmod 755 "$tmp/mends/stress-ng"
make_lab mends "$tmp/mends:$tmp/fake:$PATH"
battery "$tmp/one.yaml" 1 10 cpu
run -C "$lab" host measure --battery "$tmp/one.yaml"
expect_status 1
touch "$tmp/mended"
run -C "$lab" host measure --battery "$tmp/one.yaml" --resume
expect_status 0
expect_stdout '1 of 1 fingerprint complete'

what='what many hosts have in common is one line'
lab=$tmp/many
"$ASSAY" init "$lab" >/dev/null
printf 'hosts:\n  - { name: "h[1-3]", transport: local, on: box, profile: base, env: { PATH: "%s" } }\n' "$tmp/fake:$PATH" >>"$lab/lab.yaml"
battery "$tmp/lacks.yaml" 2 10 four
run -C "$lab" host measure --battery "$tmp/lacks.yaml"
expect_status 1
expect_stdout 'h[1-3]: no stressor of the battery could be measured; 2 of 2 times: the stressor is not implemented on this machine'
cases=$((cases + 1))
[ "$(grep -c 'no stressor of the battery' "$tmp/out")" -eq 1 ] || fail 'the reason should be said once'
battery "$tmp/part.yaml" 1 10 cpu four
run -C "$lab" host measure --battery "$tmp/part.yaml"
expect_status 0
expect_stdout 'h[1-3]: no rate of four'
run -C "$lab" host drift
expect_stdout 'no second fingerprint to compare with: h[1-3] (tiny)'

what='another stress-ng'
sed 's/0[.]15[.]06/0.17.08/' "$tmp/fake/stress-ng" >"$tmp/newer"
mv "$tmp/fake/stress-ng" "$tmp/older"
install -m 755 "$tmp/newer" "$tmp/fake/stress-ng"
run -C "$lab" host measure --battery "$tmp/part.yaml"
expect_status 0
expect_stdout 'h[1-3]: stress-ng was 0.15.06 and is 0.17.08: this fingerprint is compared only with those of 0.17.08'
run -C "$lab" host drift
expect_stdout 'h[1-3]: stress-ng was 0.15.06 and is 0.17.08: fingerprints (tiny) before and after are not compared'
cases=$((cases + 1))
[ "$(grep -c 'stress-ng was' "$tmp/out")" -eq 1 ] || fail 'the versions should be said once'
run -C "$lab" host drift --format json
expect_json '.machines[0].stress_ng_before' 0.15.06
run -C "$lab" host measure --battery "$tmp/part.yaml" --format json
expect_json '.hosts[0].stress_ng_before' null
run -C "$lab" host drift
cases=$((cases + 1))
grep -q 'stress-ng was' "$tmp/out" && fail 'the versions should not be said again'
install -m 755 "$tmp/older" "$tmp/fake/stress-ng"
what='and the way back'
run -C "$lab" host measure --battery "$tmp/part.yaml"
expect_status 0
expect_stdout 'h[1-3]: stress-ng was 0.17.08 and is 0.15.06: this fingerprint is compared only with those of 0.15.06'
run -C "$lab" host drift
expect_stdout 'h[1-3]: stress-ng was 0.17.08 and is 0.15.06: fingerprints (tiny) before and after are not compared'

what='stress-ng is missing'
make_lab missing "$tmp/none"
run -C "$lab" host measure --battery "$tmp/tiny.yaml"
expect_status 1
expect_stdout 'apt-get install stress-ng' "0 of 1 fingerprint complete; 'assay host measure --battery $tmp/tiny.yaml -w here' measures the rest"

what='one that was complete when we were killed is in the catalog'
make_lab half "$tmp/fake:$PATH"
printf 'hosts:\n' >"$lab/lab.yaml"
for host in fast hangs; do
	printf '  - { name: %s, transport: local, on: box, profile: %s, env: { ASSAY_TEST_MARK: "%s", PATH: "%s" } }\n' $host $host "$tmp" \
		"$tmp/$host:$tmp/fake:$PATH" >>"$lab/lab.yaml"
done
mkdir "$tmp/hangs"
printf '#!/bin/sh\n[ "$1" = --version ] && exec "%s" "$@"\nexec sleep 1000\n' "$tmp/fake/stress-ng" >"$tmp/hangs/stress-ng"
chmod 755 "$tmp/hangs/stress-ng"
battery "$tmp/half.yaml" 1 500 cpu
"$ASSAY" -C "$lab" host measure --battery "$tmp/half.yaml" >"$tmp/out" 2>"$tmp/err" </dev/null &
victim=$!
for _ in $(seq 600); do
	[ -f "$lab/machines/fast.json" ] && break
	sleep .1
done
run -C "$lab" host rename fast quick
refused 1 "another assay is writing to the laboratory '$lab' ('assay host measure', process $victim, since 20"
kill -KILL $victim
wait $victim 2>/dev/null
no_process_left
run -C "$lab" check
expect_status 0
expect_stdout 'No problems: 1 machine, 1 fingerprint' 'note: 1 host of lab.yaml is not in the catalog: hangs'
run -C "$lab" host rename fast quick
expect_status 0

what='broken batteries'
printf 'name: b\nstressors: [' >"$tmp/broken.yaml"
run -C "$lab" host measure --battery "$tmp/broken.yaml"
refused 2 broken.yaml
run -C "$lab" host measure --battery "$tmp/none.yaml"
refused 2 none.yaml
printf 'name: b\nstressors:\n  - { stressor: cpu, dangerous: true }\n' >"$tmp/dangerous.yaml"
run -C "$lab" host measure --battery "$tmp/dangerous.yaml"
refused 2 'only dangerous stressors'
run -C "$lab" host measure --battery quik
refused 2 quick

# ---- drift, retire, rename ----

what='drift'
make_lab drift "$tmp/fake:$PATH"
battery "$tmp/three.yaml" 2 10 cpu memcpy str
# What else this machine does must not decide: no load, in the store and in the catalog.
measure() {
	run -C "$lab" host measure --battery "$tmp/three.yaml"
	expect_status 0
	sqlite3 "$lab/.assay/runs.db" "UPDATE fingerprint SET conditions = replace(substr(conditions, 1, instr(conditions, '\"steal_percent\"') - 1),
		'\"load1\": ' || json_extract(conditions, '\$.load1') || ',', '\"load1\": 0,') || '\"steal_percent\": 0' || char(10) || '}' || char(10)"
	sed -i 's/"\(load1\|steal_percent\)":\( *\)[0-9.e+-]*/"\1":\20/' "$lab/machines/here.json"
}
measure
run -C "$lab" host drift
expect_status 0
expect_stdout 'no second fingerprint to compare with: here (tiny)' 'no second machine of their type: here (tiny)'
measure
run -C "$lab" host drift --format json
expect_json .machines[0].past.state compared
expect_json .machines[0].past.differing 0
expect_json .machines[0].past.history 2
echo .5 >"$tmp/scale.memcpy"
measure
run -C "$lab" host drift --format json
expect_json .machines[0].past.differing 1
expect_json .machines[0].past.history 3
expect_json .machines[0].past.stressors[1].stressor memcpy
expect_json .machines[0].past.stressors[1].differs true
expect_near .machines[0].past.stressors[1].ratio .5 .03
run -C "$lab" host drift
expect_stdout memcpy '1 of 1 machines differs'

what='accept-drift'
run -C "$lab" host accept here
refused 2 '--reason'
run -C "$lab" host accept heer --reason x
refused 2 "did you mean 'here'"
line=$(grep -n '"load1"' "$lab/machines/here.json" | tail -n 1 | cut -d : -f 1)
sed -i "$line s/\"load1\": *0/\"load1\": 1000000/" "$lab/machines/here.json"
run -C "$lab" host accept here --reason 'half the memory, ticket 7'
refused 2 'cannot be the reference, because it was taken with a load of 1000000.0 on '
sed -i "$line s/1000000/0/" "$lab/machines/here.json"
run -C "$lab" host accept here --reason 'half the memory, ticket 7'
expect_status 0
expect_stdout 'is the reference now'
run -C "$lab" host drift
expect_stdout 'nothing newer than the accepted fingerprint: here (tiny)'
measure
run -C "$lab" host drift --format json
expect_json .machines[0].past.accepted true
expect_json .machines[0].past.differing 0
expect_json .machines[0].past.history 2
run -C "$lab" host show here
expect_stdout 'half the memory, ticket 7'
run -C "$lab" check
expect_status 0

what='rename'
run -C "$lab" host show --passes here --format json
id=$(json .id)
run -C "$lab" host rename here there
expect_status 0
expect_stdout 'here is called there: 4 fingerprints'
cases=$((cases + 1))
grep -q "lab.yaml still calls it 'here': give that host 'id: there'" "$tmp/err" || fail 'the name in lab.yaml should be mentioned'
run -C "$lab" host list --types
expect_stdout 'there (4 fingerprints, 20'
cases=$((cases + 1))
[ -f "$lab/machines/there.json" ] && [ ! -f "$lab/machines/here.json" ] || fail 'the file should follow'
cases=$((cases + 1))
named=$(sqlite3 "$lab/.assay/runs.db" 'SELECT machine, count(*) FROM fingerprint GROUP BY machine')
[ "$named" = 'there|4' ] || fail "the stored fingerprints should follow: $named"
run -C "$lab" host show --passes there --format json
expect_json .id "$id"
run -C "$lab" check
expect_status 0
run -C "$lab" host rename here there
refused 2 "no machine 'here'"
if [ -s /etc/machine-id ]; then
	run -C "$lab" host measure --battery "$tmp/three.yaml"
	expect_status 1
	expect_stdout 'same machine-id'
fi

what='retire'
run -C "$lab" host retire there --reason sold
expect_status 0
run -C "$lab" host retire there
refused 2 'already retired'
cp "$lab/lab.yaml" "$tmp/lab.yaml"
printf '  - { name: there, address: 192.0.2.1 }\n' >>"$lab/lab.yaml"
run -C "$lab" host list
expect_stdout 'there is not measured: retired: sold'
run -C "$lab" host list -w there --format json
expect_json .hosts[0].out_of_use 'retired: sold'
cp "$tmp/lab.yaml" "$lab/lab.yaml"
run -C "$lab" host drift
expect_stdout '1 retired machine is excluded'
run -C "$lab" host list --types
expect_stdout 'retired machines are excluded'
run -C "$lab" host list
expect_stdout retired
run -C "$lab" host show --passes there
expect_status 0
run -C "$lab" check
expect_status 0
run -C "$lab" host retire there --undo
expect_status 0
run -C "$lab" host drift
expect_stdout 'there (tiny)'

what='the line for cron, with the little that cron gives'
make_lab cron "$tmp/fake:$PATH"
line=$(sed -n 's/^    0 3 \* \* 0  //p' "$ASSAY_SOURCE/docs/administrators.md" |
	sed "s|/srv/lab|$lab|; s|/usr/local/bin/assay host measure|$ASSAY host measure --battery $tmp/three.yaml|; s#|| mail.*#|| echo failed#")
case $line in "cd $lab && $ASSAY host measure --battery "*) ;; *) fail "the line of docs/administrators.md is another one: $line" ;; esac
: >"$tmp/before"
env -i PATH=/usr/bin:/bin /bin/sh -c "$line" >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 0
expect_no_stdout
cp "$lab/fingerprints.json" "$tmp/out"
expect_json .hosts[0].complete true
cases=$((cases + 1))
[ -z "$(find /.cache/assay -newer "$tmp/before" 2>/dev/null)" ] || fail 'files of programs belong to the home of the account, also where HOME is not set'

finish
