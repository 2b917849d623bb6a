#!/bin/sh
# `assay run` where it is disturbed: kill -9 at any moment and --resume, what may not change in between, a second controller.
# cli_run_boxes.sh: of other machines.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

# ---- kill -9 ----

# slower: tiny, with runs that last long enough to be met.
slower() {
	sed -i 's/0\.0[12]/0.06/g' "$lab/apps/tiny.yaml"
}

what='an undisturbed run'
run_lab whole
slower
run -C "$lab" run tiny --seed 3 --repetitions 2 --format json
expect_status 0
results_of tiny/x tiny/yy
cp "$tmp/set" "$tmp/undisturbed"
cases=$((cases + 1))
[ "$(wc -l <"$tmp/set")" = 8 ] || fail '8 results expected'

# Each time into what the kill before has left; the moments are random, but the same in every run of this test.
what='kill -9 three times'
run_lab killed
slower
lines=0
for delay in .31 .57 .42; do
	to_resume tiny
	[ -z "$resume" ] && [ "$lines" -gt 0 ] && break # nothing is left to do
	"$ASSAY" -C "$lab" run tiny --seed 3 --repetitions 2 $resume >"$tmp/out" 2>"$tmp/err" </dev/null &
	victim=$!
	sleep $delay
	kill -KILL $victim 2>/dev/null
	wait $victim 2>/dev/null
	results_of tiny/x tiny/yy
	cases=$((cases + 1))
	[ "$(wc -l <"$tmp/set")" -ge "$lines" ] || fail 'a result was lost'
	lines=$(wc -l <"$tmp/set")
done
to_resume tiny
if [ -n "$resume" ] || [ "$lines" = 0 ]; then
	run -C "$lab" run tiny --seed 3 --repetitions 2 $resume --format json
	expect_status 0
	expect_json .complete true
	nothing_left_of "$(plan_id)"
fi
no_process_left
never_together
results_of tiny/x tiny/yy
expect_same_files "$tmp/set" "$tmp/undisturbed"
# The killed session's command does not want to end, so that it is still being ended while the next session has begun.
what='kill -9 and --resume at once, twice'
run_lab at_once
sed -i "2a trap '' TERM" "$lab/apps/tiny/run.sh"
: >"$tmp/before"
for round in 1 2; do
	[ $round = 1 ] && resume= || resume=--resume
	: >"$tmp/scratch/begun"
	echo 3 >"$tmp/scratch/hold" # behind two warm-ups and one run, or three runs, it waits
	"$ASSAY" -C "$lab" run tiny --inputs x --seed 3 --repetitions 4 $resume >"$tmp/out" 2>"$tmp/err" </dev/null &
	victim=$!
	for _ in $(seq 1000); do
		[ "$(wc -l <"$tmp/scratch/begun")" -gt 3 ] && break
		sleep .02
	done
	kill -KILL $victim
	wait $victim 2>/dev/null
	results_of tiny/x
	cases=$((cases + 1))
	[ -z "$(comm -23 "$tmp/before" "$tmp/set")" ] && [ "$(wc -l <"$tmp/set")" -gt "$(wc -l <"$tmp/before")" ] ||
		fail "round $round: results were lost, or none was made"
	cp "$tmp/set" "$tmp/before"
done
rm "$tmp/scratch/hold"
run -C "$lab" run tiny --seed 3 --resume --format json
expect_status 0
expect_json .complete true
expect_json .hosts[0].outcome ok
expect_json .hosts[0].missing 0
results_of tiny/x
cases=$((cases + 1))
[ -z "$(comm -23 "$tmp/before" "$tmp/set")" ] && [ "$(wc -l <"$tmp/set")" = 8 ] && [ "$(cut -d ' ' -f 1-4 "$tmp/set" | sort -u | wc -l)" = 8 ] ||
	fail 'each run once, and those that were measured before as they were'
never_together
no_process_left
what='nothing to resume: a script may ask every night'
lab=$tmp/killed
run -C "$lab" run tiny --resume
expect_status 0
expect_no_stderr
expect_stdout 'there is nothing to resume'
run -C "$lab" run tiny --resume --format json
expect_status 0
expect_json .plan null
expect_json .complete true
expect_json .hosts 0
results_of tiny/x tiny/yy
expect_same_files "$tmp/set" "$tmp/undisturbed"

# ---- what may not change ----

# half NAME: $lab with runs that were interrupted when some were measured.
half() {
	run_lab "$1"
	hold 4 # two of them warm up
	"$ASSAY" -C "$lab" run tiny --versions a,bb --inputs x --repetitions 4 --seed 5 >"$tmp/out" 2>"$tmp/err" </dev/null &
	victim=$!
	for _ in $(seq 1000); do
		results_of tiny/x
		[ -s "$tmp/set" ] && break
		sleep .05
	done
	kill -KILL $victim
	wait $victim 2>/dev/null
	no_process_left
	rm "$tmp/scratch/hold"
	results_of tiny/x
	cp "$tmp/set" "$tmp/half"
}

what='an interrupted run does not decide unsaid'
half changes
run -C "$lab" gate tiny/x@bb tiny/x@bb --format json # the first of the order by this seed
expect_stdout '"runs_missing"' 'of 4 runs of the candidate' --resume
what='options that contradict'
for option in '--versions a' '--inputs yy' '--repetitions 5' '--seed 6'; do
	run -C "$lab" run tiny --resume $option
	refused 2 "${option% *} contradicts"
done
what='a changed manifest'
cp "$lab/apps/tiny.yaml" "$tmp/tiny.yaml"
sed -i 's/time_limit: 20/time_limit: 21/' "$lab/apps/tiny.yaml"
run -C "$lab" run tiny --resume
refused 2 'has changed since' 'the time limit'
cp "$tmp/tiny.yaml" "$lab/apps/tiny.yaml"
what='a changed file'
cp -p "$lab/apps/tiny/run.sh" "$tmp/run.sh"
echo '# another' >>"$lab/apps/tiny/run.sh"
run -C "$lab" run tiny --resume
refused 2 'deployed files have changed' "version 'a'"
cp -p "$tmp/run.sh" "$lab/apps/tiny/run.sh"
what='a host that is gone'
sed 's/name: here/name: there/' "$lab/lab.yaml" >"$tmp/lab.yaml" && cp "$lab/lab.yaml" "$tmp/lab.saved" && cp "$tmp/lab.yaml" "$lab/lab.yaml"
run -C "$lab" run tiny --resume
refused 2 "machine 'here' of these runs is no longer in lab.yaml"
cp "$tmp/lab.saved" "$lab/lab.yaml"
what='a new run beside an interrupted one'
results_of tiny/x
expect_same_files "$tmp/set" "$tmp/half"
run -C "$lab" run tiny --inputs yy --versions a --repetitions 1
expect_status 0
cases=$((cases + 1))
grep -q 'were interrupted; these are new runs' "$tmp/err" || fail 'the interrupted runs should be mentioned'
what='what is left is resumed'
run -C "$lab" run tiny --resume --versions bb,a --inputs x --seed 5 --format json
expect_status 0
expect_json .hosts[0].ok 8
results_of tiny/x
cases=$((cases + 1))
[ "$(wc -l <"$tmp/set")" = 8 ] && [ -z "$(comm -23 "$tmp/half" "$tmp/set")" ] || fail 'what was measured before the kill is not there any more'
nothing_left_of "$(plan_id)"

# ---- why runs are missing ----

what='a host that is gone is told at once, and in the first line'
run_lab gone "$here
  - { name: away, address: 127.0.0.1, port: 1, user: nobody }"
hold 0
"$ASSAY" -C "$lab" run tiny --inputs x --repetitions 1 >"$tmp/out" 2>"$tmp/err" </dev/null &
first=$!
for _ in $(seq 1000); do
	grep -q away "$tmp/err" && [ -s "$tmp/scratch/begun" ] && break
	sleep .02
done
holds "$tmp/err" 'standard error, while another host is at work' 'away: ' ': 2 runs are not made there'
rm "$tmp/scratch/hold"
wait $first
status=$?
expect_status 7
head -n 1 "$tmp/out" >"$tmp/line"
holds "$tmp/line" 'the first line' '2 of 4 runs measured, 2 missing (finished runs are kept): away: '
what='an interrupted run says so in its first line'
run_lab interrupted
hold 3
"$ASSAY" -C "$lab" run tiny --inputs x --repetitions 2 >"$tmp/out" 2>"$tmp/err" </dev/null &
first=$!
for _ in $(seq 1000); do
	results_of tiny/x
	[ -s "$tmp/set" ] && break
	sleep .02
done
kill -INT $first
wait $first
status=$?
rm "$tmp/scratch/hold"
head -n 1 "$tmp/out" >"$tmp/line"
holds "$tmp/line" 'the first line' 'missing (finished runs are kept): interrupted'
no_process_left
run -C "$lab" run tiny --resume --dry-run --format json
nothing_left_of "$(plan_id)"

# ---- a second controller ----

what='one laboratory, two controllers'
run_lab busy
hold 0
"$ASSAY" -C "$lab" run tiny --inputs x --repetitions 2 >"$tmp/first" 2>&1 </dev/null &
first=$!
for _ in $(seq 3000); do
	[ -s "$tmp/scratch/begun" ] && break
	sleep .02
done
run -C "$lab" run tiny
refused 1 'another assay is writing'
rm "$tmp/scratch/hold"
wait $first
status=$?
expect_status 0
what='one box, two laboratories'
one=$lab
run_lab second
"$ASSAY" -C "$one" run tiny --inputs x >"$tmp/first" 2>&1 </dev/null &
first=$!
run -C "$lab" run tiny --inputs x
expect_status 0
wait $first
status=$?
expect_status 0
never_together
finish
