# Counters of stressors from the command line: the kernel's software events for real, hardware events where the machine has them; the rates
# stay what they are, kill -9 and --resume, stressors that fail.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_here.sh"
command -v stress-ng >/dev/null || skip 'there is no stress-ng'
[ -w /dev/shm ] || skip 'there is no /dev/shm to write to'

export XDG_CACHE_HOME="$tmp/cache"
faults=perf::PAGE-FAULTS,perf::MINOR-FAULTS,perf::MAJOR-FAULTS

# Each stressor of run N was counted once, and its page faults are at least those of both kinds (one that is tried again is one more fault,
# but neither minor nor major until it is done). The kernel counts the three apart: 1166 faults were seen with 1167 minor.
sums_are_right() {
	cases=$((cases + 1))
	cell=0
	while stressor=$(json ".counters.runs[$1].cells[$cell].stressor") && [ -n "$stressor" ]; do
		all=$(json ".counters.runs[$1].cells[$cell].counts.perf::PAGE-FAULTS")
		minor=$(json ".counters.runs[$1].cells[$cell].counts.perf::MINOR-FAULTS")
		major=$(json ".counters.runs[$1].cells[$cell].counts.perf::MAJOR-FAULTS")
		both=$((minor + major))
		[ "$all" -gt 0 ] && [ "$all" -ge $((both - both / 100 - 2)) ] || fail "$stressor: $all page faults, $minor minor, $major major"
		cell=$((cell + 1))
	done
	[ "$cell" -eq "$2" ] || fail "$2 stressors expected, not $cell"
}

battery "$tmp/tiny.yaml" 1 60 cpu:400 memcpy:100 str:100000

what='counters that are no list'
make_lab plain
for bad in , A,,B 'A B' A,A "$(head -c 70 /dev/zero | tr '\0' A)"; do
	run -C "$lab" host measure --battery "$tmp/tiny.yaml" --counters="$bad"
	expect_status 2
done

what='none asked for'
run -C "$lab" host measure --battery "$tmp/tiny.yaml" --format json
expect_status 0
expect_json .hosts[0].counted 0
expect_json .hosts[0].without_counters null
run -C "$lab" host show --passes here --format json
expect_json .counters null
cases=$((cases + 1))
[ -z "$(find "$tmp/cache" -name 'counting-*')" ] || fail 'the counting program should not have been deployed'

what='hardware counters, or why there are none'
run -C "$lab" host measure --battery "$tmp/tiny.yaml" --counters --format json
expect_status 0
expect_no_stderr
expect_json .hosts[0].complete true
expect_json .hosts[0].measured 3
counted=$(json .hosts[0].counted)
without=$(json .hosts[0].without_counters)
run -C "$lab" host show --passes here --format json
if [ "$counted" -gt 0 ]; then
	expect_json .counters.runs[0].family hardware
	expect_json .counters.none null
else
	echo "no hardware counters here: $without"
	expect_json .counters.none "$without"
	expect_json .counters.left_out[0].reason "$without"
	battery "$tmp/one.yaml" 1 60 memcpy:100
	run -C "$lab" host measure --battery "$tmp/one.yaml" --counters
	expect_status 0
	expect_stdout 'here: no hardware counters: ' '1 of 1 fingerprint complete'
fi
cases=$((cases + 1))
[ "$(find "$tmp/cache" -name 'counting-*' | wc -l)" -eq 1 ] || fail 'the counting program should be there once'

what='software events'
run -C "$lab" host measure --battery "$tmp/tiny.yaml" --counters="$faults,perf::NOPE" --format json
expect_status 0
expect_json .hosts[0].measured 3
expect_json .hosts[0].counted 3
expect_json .hosts[0].not_counted 0
id=$(json .hosts[0].fingerprint)
run -C "$lab" host show --passes here --format json
expect_json .id "$id"
expect_json .counters.runs[0].family software
cases=$((cases + 1))
json .counters.runs[1].family >/dev/null && fail 'they all fit in one run'
expect_json .counters.left_out[0].event perf::NOPE
sums_are_right 0 3
cases=$((cases + 1))
[ "$(tr -d ' \n' <"$tmp/out" | grep -o '"pass":[0-9]*,"per_s"' | wc -l)" -eq 3 ] || fail 'the counted runs must not be among the rates'
run -C "$lab" host show --passes here
expect_stdout 'counters of one run of each stressor' 'run 1, software' 'perf::MINOR-FAULTS'
run -C "$lab" check
expect_status 0
no_process_left

# ---- a stress-ng that is not one ----

mkdir "$tmp/fake"
cat >"$tmp/fake/stress-ng" <<END
#!/bin/sh
[ "\$1" = --version ] && { echo 'stress-ng, version 0.15.06 (gcc 12.2, x86_64 Linux 6.1)'; exit; }
while [ "\$1" != -t ]; do shift; done
stressor=\${3#--}
echo >>"$tmp/begun" # while there is $tmp/hold, all after four wait
while [ -e "$tmp/hold" ] && [ "\$(wc -l <"$tmp/begun")" -gt 4 ]; do sleep .05; done
case \$stressor in
seven) exit 7 ;;
three) exit 3 ;;
esac
printf -- '---\nsystem-info:\n      stress-ng-version: 0.15.06\n\nmetrics:\n    - stressor: %s\n      bogo-ops: 100\n' "\$stressor"
printf '      bogo-ops-per-second-usr-sys-time: 1000\n      bogo-ops-per-second-real-time: 1000\n'
printf '      wall-clock-time: 0.1\n      user-time: 0.1\n      system-time: 0.0\n\n...\n'
END
chmod 755 "$tmp/fake/stress-ng"

what='kill -9 while it counts'
make_lab killed "$tmp/fake:$PATH"
battery "$tmp/longer.yaml" 1 60 cpu memcpy str
: >"$tmp/hold" # once the first of the counted ones has ended
"$ASSAY" -C "$lab" host measure --battery "$tmp/longer.yaml" --counters="$faults" >"$tmp/out" 2>"$tmp/err" </dev/null &
victim=$!
for _ in $(seq 1200); do
	[ "$(wc -l 2>/dev/null <"$tmp/begun" || echo 0)" -le 4 ] || break
	sleep .1
done
run -C "$lab" host list --fingerprints --format json
id=$(json .fingerprints[0].id)
run -C "$lab" host show --passes "$id" --format json
expect_json .counters.runs[0].cells 1
kill -KILL $victim
wait $victim 2>/dev/null
status=$?
expect_status 137
no_process_left
rm "$tmp/hold"
run -C "$lab" host measure --battery "$tmp/longer.yaml" --counters=perf::TASK-CLOCK --resume --format json
expect_status 0
expect_json .hosts[0].fingerprint "$id"
expect_json .hosts[0].measured 0
run -C "$lab" host show --passes here --format json
sums_are_right 0 3 # as it was started
no_process_left

what='stressors that fail'
make_lab fails "$tmp/fake:$PATH"
battery "$tmp/fails.yaml" 1 10 cpu seven three
run -C "$lab" host measure --battery "$tmp/fails.yaml" --counters="$faults" --format json
expect_status 0
expect_json .hosts[0].counted 1
expect_json .hosts[0].not_counted 2
run -C "$lab" host show --passes here
expect_stdout 'not counted (stress-ng does not trust its own metrics' 'not counted (the machine lacks a resource'
run -C "$lab" host show --passes here --format json
expect_json .counters.runs[0].cells[0].stressor cpu
expect_json .counters.runs[0].cells[0].operations 100
no_process_left

finish
