# Counts by doses: one thing after the other made dearer.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
mkdir "$tmp/here"
cd "$tmp/here" || exit 1

# between LOW HIGH VALUE WHAT
between() {
	cases=$((cases + 1))
	awk -v low="$1" -v high="$2" -v value="$3" 'BEGIN { exit !(value + 0 >= low && value + 0 <= high) }' || fail "$4: $3 is not from $1 to $2"
}

what='what works here, and by how much'
for file in run/utmp= sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq=3500000; do
	mkdir -p "$tmp/machine/$(dirname "$file")"
	echo "${file#*=}" >"$tmp/machine/${file%%=*}"
done
export ASSAY_MACHINE_ROOT="$tmp/machine" # one whose processors have frequencies
run shapes list --here --dearer network --format json
unset ASSAY_MACHINE_ROOT
expect_status 0
expect_json_parses
expect_json '.shapes[0].name' calls-data
expect_json '.shapes[13].name' cores
expect_json '.shapes[13].on_request' true
expect_json '.shapes[13].dose_ns' null # nobody has asked for it
expect_json '.shapes[14].root' true
expect_json '.shapes[16].name' network
if [ "$(json '.shapes[16].works')" = true ]; then
	between 1000 10000000 "$(json '.shapes[16].dose_ns')" 'the dose of the network'
else
	cases=$((cases + 1))
	[ "$(json '.shapes[16].refused')" != null ] || fail 'the network does not work, and no reason is given'
fi
expect_json '.shapes[17].name' frequency
expect_json '.shapes[17].works' true
expect_json '.shapes[17].touches' 'the whole machine, while the command runs: scaling_max_freq of all processors'
expect_json '.shapes[18].works' false # this machine has no resctrl
cases=$((cases + 1))
[ "$(cat "$tmp/machine/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq")" = 3500000 ] || fail 'it was changed without being asked for'
run shapes list --here --dearer nothing
refused 2 'names of shapes'
run shapes list --here --dearer processor
refused 2 'on request'
run profile --here --dearer quota -- true
refused 2 '--shapes'
if [ "$(json '.shapes[0].works')" = true ]; then
	between 200 20000 "$(json '.shapes[0].dose_ns')" 'the dose'
else
	cases=$((cases + 1))
	[ "$(json '.shapes[0].refused')" != null ] || fail 'it does not work, and no reason is given'
fi
run shapes list --here -w node01
refused 2 'this machine'

what='on a host of a laboratory, by way of the helper'
mkdir "$tmp/lab"
cat >"$tmp/lab/lab.yaml" <<'END'
hosts:
  - name: here
    transport: local
END
run -C "$tmp/lab" shapes list -w here --format json
expect_status 0
expect_json '.shapes[0].host' here
expect_json '.shapes[9].refused' 'nothing is preloaded on hosts: only with --here'
[ "$(json '.shapes[0].works')" != true ] || between 200 20000 "$(json '.shapes[0].dose_ns')" 'the dose there'

what='calls are counted on a host of a laboratory'
run -C "$tmp/lab" shapes count -w here --budget 0.2 --format json -- dd if=/dev/zero of=/dev/null bs=16 count=200000
expect_status 0
expect_json_parses
expect_json '.hosts[0].host' here
expect_json '.hosts[0].calls[9].refused' 'nothing is preloaded on hosts: only with --here'
[ "$(json '.hosts[0].calls[0].refused')" != null ] || between 250000 600000 "$(json '.hosts[0].calls[0].count')" '400,000 reads and writes there'
run -C "$tmp/lab" shapes count -w here --budget 0.1 -- sh -c 'exit 3'
expect_status 0
cases=$((cases + 1))
grep -q 'exit status 3' "$tmp/out" || fail "why nothing was counted is not said: $(cat "$tmp/out")"
run -C "$tmp/lab" shapes count -w here
refused 2

what='an application is counted with its runs, and its profile shows that'
mkdir "$tmp/lab/apps"
cat >"$tmp/lab/apps/copy.yaml" <<'END'
command: [dd, if=/dev/zero, of=/dev/null, bs=16, '{arguments}']
inputs: { small: { arguments: [count=20000] }, large: { arguments: [count=200000] } }
versions: { plain: }
repetitions: 2
warm_ups: 0
sampling: off
END
run -C "$tmp/lab" run copy --shapes 0.1 --probe
refused 2
run -C "$tmp/lab" run copy --shapes 0.1 --dry-run
expect_stdout 'with one thing after the other dearer'
run -C "$tmp/lab" run copy --shapes 0.1 --format json
expect_status 0
expect_json .complete true
expect_json .shaped 2
cases=$((cases + 1))
[ "$(sqlite3 "$tmp/lab/.assay/runs.db" 'SELECT count(*) FROM run')" = 4 ] || fail 'runs with something dearer are results'
run -C "$tmp/lab" profile copy/large --format json
expect_status 0
expect_json_parses
expect_json .counts 1
expect_json '.counts[0].machine' here
expect_json '.counts[0].calls[0].shape' calls-data
expect_json '.counts[0].calls[9].refused' 'nothing is preloaded on hosts: only with --here'
if [ "$(json '.counts[0].calls[0].refused')" = null ]; then
	between 250000 600000 "$(json '.counts[0].calls[0].count')" '400,000 reads and writes'
	run -C "$tmp/lab" profile copy/large
	expect_stdout 'Counted by doses'
	expect_stdout 'reading and writing'
	run -C "$tmp/lab" profile copy/small --format json
	between 20000 80000 "$(json '.counts[0].calls[0].count')" '40,000 reads and writes'
fi
run -C "$tmp/lab" run copy --resume --format json
expect_status 0
expect_json .plan null

what='what was interrupted among the shapes is resumed there, and only there'
sqlite3 "$tmp/lab/.assay/runs.db" "DELETE FROM shaped_run WHERE input = 'small'; UPDATE plan SET complete = 0"
shaped_large() {
	sqlite3 "$tmp/lab/.assay/runs.db" "SELECT sum(cpu_s) FROM shaped_run WHERE input = 'large'"
}
large=$(shaped_large)
run -C "$tmp/lab" run copy --resume --shapes 0.2
refused 2 '--shapes contradicts'
run -C "$tmp/lab" run copy --resume --format json
expect_status 0
expect_json .shaped 2
expect_json .complete true
expect_json '.hosts[0].known' 4
cases=$((cases + 1))
[ "$(shaped_large)" = "$large" ] || fail 'what was there was measured again'

what='a host of which lab.yaml says so'
printf '    shapes: never\n' >>"$tmp/lab/lab.yaml"
run -C "$tmp/lab" run copy --dry-run
refused 2 "'shapes' must be"
sed -i 's/shapes: never/shapes: 0.1s/' "$tmp/lab/lab.yaml"
run -C "$tmp/lab" run copy --inputs large --repetitions 1 --format json
expect_status 0
expect_json .shaped 1 .complete true
printf '    dearer: [cores, nothing]\n' >>"$tmp/lab/lab.yaml"
run -C "$tmp/lab" run copy --dry-run
refused 2 "'nothing' in 'dearer'"
sed -i 's/, nothing//' "$tmp/lab/lab.yaml"
run -C "$tmp/lab" run copy --inputs large --repetitions 1 --dearer network --format json
expect_status 0
cases=$((cases + 1))
for shape in cores network quota; do
	sqlite3 "$tmp/lab/.assay/runs.db" "SELECT count(*) > 0 FROM shaped_run WHERE shape = '$shape'"
done >"$tmp/out"
[ "$(tr -d '\n' <"$tmp/out")" = 110 ] || fail "not what was asked for is dearer: $(cat "$tmp/out")"
run -C "$tmp/lab" profile copy/large --format json
expect_json '.counts[0].sensitivities[2].name' cores
expect_json '.counts[0].sensitivities[3].name' network
sqlite3 "$tmp/lab/.assay/runs.db" "DELETE FROM shaped_run; UPDATE plan SET complete = 0 WHERE dearer = 'network'"
run -C "$tmp/lab" run copy --resume --dearer quota
refused 2 '--dearer contradicts the runs that are to be resumed (network)'
run -C "$tmp/lab" run copy --resume --format json
expect_status 0
cases=$((cases + 1))
[ "$(sqlite3 "$tmp/lab/.assay/runs.db" "SELECT count(*) > 0 FROM shaped_run WHERE shape = 'network'")" = 1 ] ||
	fail 'what was asked for is not dearer in runs that are resumed'
sed -i '/shapes:/d; /dearer:/d' "$tmp/lab/lab.yaml"

what='another build is not counted by the runs of the one before'
sed 's/bs=16/bs=32/' "$tmp/lab/apps/copy.yaml" >"$tmp/copy.yaml"
mv "$tmp/copy.yaml" "$tmp/lab/apps/copy.yaml"
run -C "$tmp/lab" run copy --inputs large
expect_status 0
run -C "$tmp/lab" profile copy/large --format json
expect_json .counts 0

what='calls are counted by class'
run profile --here --shapes --budget 0.2 --format json -- dd if=/dev/zero of=/dev/null bs=16 count=200000
expect_status 0
expect_json_parses
expect_json '.counts.calls[0].shape' calls-data
expect_json '.counts.calls[0].how' doses
if [ "$(json '.counts.calls[0].refused')" = null ]; then
	between 250000 600000 "$(json '.counts.calls[0].count')" '400,000 reads and writes'
	between 0 20000 "$(json '.counts.calls[1].low')" 'file metadata, of which there are few'
	between 200 20000 "$(json '.counts.calls[0].dose_ns')" 'the dose'
	run profile --here --shapes --budget 0.2 -- dd if=/dev/zero of=/dev/null bs=16 count=200000
	expect_status 0
	cases=$((cases + 1))
	grep -q '^Counted by doses ' "$tmp/out" || fail "no section of counts: $(cat "$tmp/out")"
fi

what='a command that ends with another status than 0'
run profile --here --shapes --budget 0.1 -- sh -c 'exit 3'
refused 6 'exit status 3'
run profile --here --shapes --ignore-failure --budget 0.1 --format json -- sh -c 'exit 3'
expect_status 0
expect_json '.counts.calls[0].shape' calls-data

what='what is preloaded is counted, where it can be'
if command -v gcc >/dev/null; then
	gcc -O2 -o counted "$ASSAY_SOURCE/tests/bench/counted.c"
	run profile --here --shapes --budget 0.1 --format json -- ./counted allocations=60000 comparisons=40000
	expect_status 0
	between 30000 120000 "$(json '.counts.calls[9].count')" '60,000 allocations and releases'
	between 20000 80000 "$(json '.counts.calls[10].count')" '40,000 comparisons'
	if gcc -O2 -static -o counted "$ASSAY_SOURCE/tests/bench/counted.c" 2>/dev/null; then
		run profile --here --shapes --budget 0.1 --format json -- ./counted metadata=40000
		expect_status 0
		expect_json '.counts.calls[9].count' null
		expect_json '.counts.calls[9].refused' 'the program is linked statically: nothing can be preloaded into it'
		[ "$(json '.counts.calls[1].refused')" != null ] || between 20000 80000 "$(json '.counts.calls[1].count')" '40,000 calls of a static program'
	fi
fi

what='after SIGKILL in the middle nothing is left'
# The third run, under a dose, does not end by itself.
"$ASSAY" profile --here --shapes --quiet --budget 0.1 -- sh -c 'echo >>runs; sleep 0.2; [ "$(wc -l <runs)" -lt 3 ] || exec sleep 4242' >/dev/null 2>&1 &
held=$!
i=0
while ! pgrep -x -f 'sleep 4242' >/dev/null && [ $i -lt 3000 ]; do # a measurement beside this one goes first
	sleep .1
	i=$((i + 1))
done
cases=$((cases + 1))
pgrep -x -f 'sleep 4242' >/dev/null || fail 'the third run did not begin'
kill -KILL $held
wait $held 2>/dev/null
i=0
while pgrep -x -f 'sleep 4242' >/dev/null && [ $i -lt 300 ]; do
	sleep .1
	i=$((i + 1))
done
cases=$((cases + 1))
! pgrep -x -f 'sleep 4242' >/dev/null || fail 'the command goes on'
rm -f runs

what='rights of its own'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp /bin/true "$tmp/here/owned"
	chmod 4755 "$tmp/here/owned"
	chmod 755 "$tmp" "$tmp/here"
	mkdir -m 777 "$tmp/home"
	HOME=$tmp/home setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "${ASSAY:?}" profile --here --shapes --budget 0.1 -- "$tmp/here/owned" >"$tmp/out" 2>"$tmp/err"
	cases=$((cases + 1))
	grep -q 'has rights of its own (set-user-ID)' "$tmp/out" || fail "a set-user-ID program is counted: $(cat "$tmp/out" "$tmp/err")"
fi

what='only here'
run profile app --shapes
refused 2 '--here'
finish
