# Two versions: slower by their code or by their environment; the records are made, and what happened in them is known.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_variance.sh"

# ran NAME ARGUMENTS...: made, of the same work of two ranks, however long it takes.
ran() {
	ran_name=$1
	shift
	made "$ran_name" 2 3 counted whole "$@"
}

# compared DECISION REASON ARGUMENTS...
compared() {
	decision=$1 reason=$2
	shift 2
	run variance compare "$@" --format json
	expect_status 0
	expect_json .decision "$decision"
	expect_json .reason "$reason"
}

ran old
ran again
ran more -1:0:99:work:1.2
ran queue -1:0:99:queue:1.5
ran both -1:0:99:queue:1.5 -1:0:99:slow:1.15
ran slow -1:0:99:slow:1.15

what='nothing changed'
compared same same "$tmp/old" "$tmp/again"
run variance compare "$tmp/old" "$tmp/again"
expect_stdout 'same ' 'the same work in the same time' 'work +0.0 %'
expect_no_stderr

what='records without counters of the operating system'
ran silent silent
run variance compare "$tmp/silent" "$tmp/silent"
expect_stdout 'same ' 'processor time for it not known'

what='more work'
compared code more_work "$tmp/old" "$tmp/more"
compared code less_work "$tmp/more" "$tmp/old"
compared code more_work "$tmp/old" "$tmp/more" --beside "$tmp/queue"
run variance compare "$tmp/old" "$tmp/more"
expect_stdout 'code ' 'the candidate does more work; the run took' 'work +20.'

what='others used the processor'
compared environment waits "$tmp/old" "$tmp/queue"
run variance compare "$tmp/old" "$tmp/queue"
expect_stdout 'environment ' 'the candidate waited for a processor' '--beside'

what='others used the processor beside the baseline'
compared environment waited_less "$tmp/queue" "$tmp/old"
compared environment both_faster "$tmp/queue" "$tmp/old" --beside "$tmp/again"
run variance compare "$tmp/queue" "$tmp/old"
expect_stdout 'environment ' 'the same work in less time, because the baseline waited longer for a processor'

what='others used the processor, and the work itself took longer'
compared inconclusive needs_interleaved_runs "$tmp/old" "$tmp/both"
compared code slower_per_operation "$tmp/old" "$tmp/both" --beside "$tmp/queue"

what='a baseline that was slow does not make a version faster'
compared inconclusive needs_interleaved_runs "$tmp/slow" "$tmp/old"
compared environment both_faster "$tmp/slow" "$tmp/old" --beside "$tmp/again"

what='slower on the processor: what the old version does beside it decides'
compared inconclusive needs_interleaved_runs "$tmp/old" "$tmp/slow"
run variance compare "$tmp/old" "$tmp/slow"
expect_stdout 'inconclusive ' 'the same work took more processor time, because of the code or of the environment' 'record the old version again now'
compared environment both_slower "$tmp/old" "$tmp/slow" --beside "$tmp/slow"
compared code slower_per_operation "$tmp/old" "$tmp/slow" --beside "$tmp/again"
compared code slower_per_operation "$tmp/old" "$tmp/slow" --beside "$tmp/slow" --beside "$tmp/again" --beside "$tmp/queue"
compared environment both_slower "$tmp/old" "$tmp/slow" --beside "$tmp/again" --beside "$tmp/slow" --beside "$tmp/slow"
compared same same "$tmp/old" "$tmp/slow" "$tmp/again" "$tmp/old" --beside "$tmp/again"
compared code slower_per_operation "$tmp/old" "$tmp/slow" "$tmp/again" "$tmp/slow" --beside "$tmp/again"
compared code slower_per_operation "$tmp/old" "$tmp/slow" --beside "$tmp/queue"
compared code faster_per_operation "$tmp/old" "$tmp/again" --beside "$tmp/slow"

what='a version that waits longer, with as much work, is not the same'
ran waits wait=.0005
ran waits_again wait=.0005
ran longer wait=.004
compared same same "$tmp/waits" "$tmp/waits_again"
compared inconclusive waits_differ "$tmp/waits" "$tmp/longer"
expect_json '.places[0].place' 'sem_wait at 1100 in c0ffee'
compared inconclusive waits_differ "$tmp/longer" "$tmp/waits"
compared inconclusive waits_differ "$tmp/waits" "$tmp/longer" --beside "$tmp/waits_again"
compared environment both_faster "$tmp/longer" "$tmp/waits" --beside "$tmp/waits_again"
compared environment both_slower "$tmp/waits" "$tmp/longer" --beside "$tmp/longer"
run variance compare "$tmp/waits" "$tmp/longer"
expect_stdout 'one of them waits longer in calls' 'the run took' 'instead of' 'record the old version again now'

what='what nothing counted is not called the same work'
made uncounted 2 3 whole
made uncounted_again 2 3 whole
run variance compare "$tmp/uncounted" "$tmp/uncounted_again"
expect_stdout 'same ' 'as many calls, with work between them that nothing counted, in the same time' 'calls +0.0 %'
! grep -q 'same work' "$tmp/out" || fail 'nothing counted it'

what='records that are not whole: no decision'
# no_room NAME BYTE: one process of $tmp/NAME had no room for a record, or for 65,536 where it is the third byte of their number.
no_room() {
	printf '\001' | dd of="$(ls "$tmp/$1"/*.samples | head -n 1)" bs=1 seek=$((80 + $2)) conv=notrunc 2>/dev/null
}
for name in cut missing lost few; do cp -R "$tmp/old" "$tmp/$name"; done
truncate -s 90000 "$(ls "$tmp"/cut/*.samples | head -n 1)"
rm "$(ls "$tmp"/missing/*.samples | tail -n 1)"
no_room lost 2
no_room few 0
for name in cut missing lost; do
	compared inconclusive records_incomplete "$tmp/old" "$tmp/$name"
	compared inconclusive records_incomplete "$tmp/$name" "$tmp/old"
	compared inconclusive records_incomplete "$tmp/old" "$tmp/queue" --beside "$tmp/$name"
done
compared same same "$tmp/old" "$tmp/few"
run variance compare "$tmp/old" "$tmp/lost"
expect_stdout 'in the candidate, 65536 calls of rank ' 'could not be recorded (a full disk' 'record it again'
run variance compare "$tmp/missing" "$tmp/old"
expect_stdout 'in the baseline, 1 of 2 ranks left no records here'
run variance show "$tmp/few"
expect_stdout '1 call of rank ' 'could not be recorded' 'missing from this answer and its coverage'

what='a clock that was set while one of them ran'
ran one one
ran set one set=3600
compared same same "$tmp/one" "$tmp/set"
run variance compare "$tmp/one" "$tmp/set"
! grep -q 'ran on' "$tmp/out" || fail 'another host than the same'

what='the file of a process that another one waited for is gone'
"$ASSAY" variance record -o "$tmp/both_there" -- sh -c 'for i in 1 2; do dd if=/dev/zero of="$1" bs=64k count=400 & done; wait' sh "$tmp/zeros" 2>"$tmp/err" || fail "$(cat "$tmp/err")"
cp -R "$tmp/both_there" "$tmp/one_gone"
# shellcheck disable=SC2012 # the one that began last
rm "$(ls -v "$tmp"/one_gone/*.samples | tail -n 1)"
compared same same "$tmp/both_there" "$tmp/both_there"
run variance show "$tmp/one_gone" --format json
expect_json .missing_children 1

what='the same as a page'
run variance compare "$tmp/old" "$tmp/more" --format html
expect_status 0
expect_stdout 'Where the time changed'

what='wrong words'
run variance compare "$tmp/old"
refused 2 CANDIDATE
run variance compare "$tmp/old" "$tmp/nowhere"
refused 2 nowhere
run variance compare "$tmp/old" "$tmp/more" --beside "$tmp"
refused 6 '*.samples'
finish
