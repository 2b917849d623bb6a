# Where and when runs were slow, as a user asks; the records are made, and what happened in them is known.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_variance.sh"

what='nothing is slow'
made still 2 3 counted
run timeline "$tmp/still"
expect_status 0
expect_stdout 'no variance' 'no repeated work took more than 1.18 times as long as usual and lost ' '100 % of the time was in repeated work (coverage)'
expect_no_stderr

what='one rank waits for its processor, and others wait for it'
made queue 4 3 counted coupled 1:1:2:queue:2
run timeline "$tmp/queue"
expect_status 0
expect_stdout 'rank 1 lost' ' from 1.01 s to 2.00 s (' '% of the run)' 'waiting for a CPU that other programs were using' \
	'waited for region 1' 'rank 0, rank 2 and rank 3'
expect_no_stderr

what='as an HTML page: maps have colours, names and zoom'
run timeline "$tmp/queue" --format html
expect_status 0
expect_stdout 'svg class="zoom"' '<li>' 'class="m5"' '.m5 { fill' 'querySelectorAll("svg.zoom")'
what='the same for programs'
run timeline "$tmp/queue" --format json
expect_status 0
expect_json '.regions[0].processes[0].rank' 1
expect_json '.regions[0].activity' computation
expect_json '.regions[0].parts[0].cause' run_queue
expect_json '.regions[0].parts[0].timed' true
expect_json '.regions[1].caused_by' 1
expect_json '.basis' instructions

what='a clock that was set while the run went on'
made unset 2 3 counted one 1:1:2:queue:2
made set 2 3 counted one set=3600 1:1:2:queue:2
run timeline "$tmp/unset"
expect_stdout 'rank 1 lost' ' from 1.01 s to 2.00 s'
mv "$tmp/out" "$tmp/unset.out"
run timeline "$tmp/set"
expect_status 0
cmp "$tmp/out" "$tmp/unset.out" || fail 'the rest is not as if it had not been set'

what='files named one by one'
run timeline "$tmp"/queue/*.samples --format json
expect_json '.regions[1].caused_by' 1

what='a region that the user names'
run timeline "$tmp/queue" --region 0:0.5-0.9 --format json
expect_status 0
expect_json '.regions[0].marked' true
expect_json '.regions[0].processes[0].rank' 0

run timeline "$tmp/queue" --region 1:1.2-1.8 --format json # within a condition
expect_status 0
expect_json '.regions[0].parts[0].cause' run_queue

what='a region that the user names by a process id'
"$ASSAY" record -o "$tmp/shell" -- sh -c 'i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i + 1)); done' >/dev/null 2>&1 || fail 'not recorded'
pid=$(basename "$(ls "$tmp"/shell/*.samples | head -n 1)" | sed 's/-.*//')
run timeline "$tmp/shell" --region "$pid:0-100" --format json
expect_status 0
expect_json '.regions[0].marked' true '.regions[0].processes[0].pid' "$pid"
run timeline "$tmp/queue" --region 0:100-200
refused 2 'has no repeated computation from 100 s to 200 s'

what='of several runs, the one that was slow'
for run in 1 2 4 5; do
	made "run$run" 2 2 counted whole
done
made run3 2 2 counted whole -1:0:99:queue:1.6
run timeline "$tmp/run1" "$tmp/run2" "$tmp/run3" "$tmp/run4" "$tmp/run5" --format json
expect_status 0
expect_json .slow_runs 1
expect_json '.runs[1].slow' false
expect_json '.runs[1].process' null
expect_json '.runs[2].slow' true
expect_json '.runs[2].cause' run_queue
expect_json '.regions[0].throughout' true
expect_json '.regions[1]' '(nothing)'
run timeline "$tmp/run1" "$tmp/run2" "$tmp/run3" "$tmp/run4" "$tmp/run5"
expect_stdout 'of 5 runs' 'run3 was slow' 'times as long as the median' 'waiting for a CPU that other programs were using'
expect_no_stderr
run timeline "$tmp/run1" "$tmp/run2" "$tmp/run4"
expect_stdout 'no slow run' 'in 3: the median took'
run timeline "$tmp/run1" "$tmp/run2" --region 0:.5-.9
refused 2 'one run'
run timeline "$tmp/run1" "$tmp/run2" "$tmp"/run3/*.samples
refused 2 'directories of several runs'

what='work that nobody counted'
made more 2 3 1:1:2:work:1.5
run timeline "$tmp/more"
expect_status 0
expect_stdout 'rank 1 lost' 'was not counted, so the cause may be more work'
made much 2 3 1:1:2:work:8
run timeline "$tmp/much"
expect_stdout 'rank 1 most likely had more work from' 'no other repeated work' 'most likely more work: '
run timeline "$tmp/much" --format json
expect_json .variance false
expect_json '.regions[0].likely_work' true
made slow 2 3 1:1:2:queue:8
run timeline "$tmp/slow"
expect_stdout 'rank 1 lost' 'waiting for a CPU' 'times as long as usual: . below 1.1, - 1.1'
! grep -q 'more work' "$tmp/out" || fail 'waiting alone is not more work'
made crawling 2 3 1:1:2:queue:40 1:1:2:slow:1.5
run timeline "$tmp/crawling"
expect_stdout 'rank 1 lost' 'waiting for a CPU'
! grep -q 'more work' "$tmp/out" || fail 'what hardly ran lost nothing by more work'

what='wrong words'
run timeline
refused 2 FILE
run timeline "$tmp/nowhere"
refused 2 nowhere
mkdir "$tmp/empty"
run timeline "$tmp/empty"
refused 6 '*.samples'
run timeline "$tmp/still" --region 1:5-4
refused 2 'RANK:FROM-TO'
run timeline "$tmp/still" --region 9:1-2
refused 2 'no process 9'
run timeline "$tmp/still" --threshold 2
refused 2 threshold
echo hello >"$tmp/text.samples"
run timeline "$tmp/text.samples"
refused 2 'not a sample file'

what='a file that was cut'
for file in "$tmp"/still/*.samples; do
	head -c 100000 "$file" >"$tmp/cut.samples"
done
run timeline "$tmp/cut.samples" --format json
expect_status 0
expect_json '.truncated' 1

what='a file that was cut within its names, where no call is left'
head -c 5000 "$tmp/cut.samples" >"$tmp/names.samples"
run timeline "$tmp/names.samples"
refused 6 'names.samples: the file has been cut'

what='a process counts once, by whatever names its file is given'
run timeline "$tmp/queue" --format json
expect_json '.processes' 4
set -- "$tmp"/queue/*.samples
cp "$1" "$tmp/copy.samples"
run timeline "$tmp/queue" "$1" "$tmp/copy.samples" --format json
expect_status 0
expect_json '.processes' 4
what='records that are cut, and of a rank that are missing'
made parted 3 2 counted
run timeline "$tmp/parted" --format json
expect_json .missing_ranks 0
truncate -s 90000 "$(ls "$tmp"/parted/*.samples | head -n 1)"
rm "$(ls "$tmp"/parted/*.samples | tail -n 1)"
run timeline "$tmp/parted"
expect_status 0
expect_stdout 'the records of rank 0 are cut off' '1 rank left no records here (2)'
run timeline "$tmp/parted" --format json
expect_json .missing_ranks 1
expect_json .truncated 1

what='of processes that were killed while they made their files'
made begun 2 2 counted
: >"$tmp/begun/1-0.samples"
truncate -s 70000 "$tmp/begun/2-0.samples"
made names 1 .0001 counted "killed=$$"
for file in "$tmp"/names/*.samples; do # with two lines of its names, and no chunk yet
	head -c 4114 "$file" >"$tmp/begun/3-0.samples"
done
truncate -s 70000 "$tmp/begun/3-0.samples"
printf '\0' | dd of="$tmp/begun/3-0.samples" bs=1 seek=72 conv=notrunc 2>/dev/null
run timeline "$tmp/begun" --format json
expect_status 0
expect_json .processes 2
run inspect "$tmp/begun/3-0.samples"
refused 6 'ended before the first sample'

what='a record file that cannot be read does not take the others with it'
made spoilt 2 2 counted
mkdir "$tmp/spoilt/7-0.samples"
head -c 5000 /dev/urandom >"$tmp/spoilt/8-0.samples"
run timeline "$tmp/spoilt"
expect_status 0
expect_stdout '2 record files cannot be read: cannot read ' '7-0.samples'
run timeline "$tmp/spoilt" --format json
expect_json .unreadable_files 2
expect_json .processes 2
run timeline "$tmp/spoilt/8-0.samples" "$tmp/spoilt/8-0.samples"
refused 2 'not a sample file'
mkdir "$tmp/noise"
mv "$tmp/spoilt/8-0.samples" "$tmp/noise"
run timeline "$tmp/spoilt" "$tmp/noise"
refused 6 'noise: it has no readable record file with calls'

what='what one run does once repeats in five'
gcc -O2 -o "$tmp/once" "$ASSAY_SOURCE/tests/interposed/once.c" || fail 'cannot compile'
for run in a b c d e; do
	"$ASSAY" record -o "$tmp/once.$run" -- "$tmp/once" 2>/dev/null || fail 'not recorded'
done
run timeline "$tmp/once.a"
expect_stdout '0 % of the time was in repeated work' 'record it 5 times' 'show all of them together'
run timeline "$tmp/once.a" "$tmp/once.b" "$tmp/once.c" "$tmp/once.d" "$tmp/once.e"
cases=$((cases + 1))
! grep -q 'record it 5 times' "$tmp/out" || fail "$(cat "$tmp/out")"
cases=$((cases + 1))
"$ASSAY" timeline "$tmp"/once.? --format json | grep -q '^  "coverage": 0.[89]' || fail 'five runs do not repeat'

what='records of two runs in one directory'
mkdir "$tmp/mixed"
made one 2 2 counted run=1
made two 2 2 counted run=2
run timeline "$tmp/one" "$tmp/two"
expect_status 0
for name in one two; do
	for file in "$tmp/$name"/*.samples; do
		cp "$file" "$tmp/mixed/$name-${file##*/}"
	done
done
run timeline "$tmp/mixed"
refused 2 'belongs to another run than the files before it'

what='calls for which there was no room'
cp -R "$tmp/one" "$tmp/lost"
printf '\001' | dd of="$(ls "$tmp"/lost/*.samples | head -n 1)" bs=1 seek=82 conv=notrunc 2>/dev/null # of one process 65,536
run timeline "$tmp/lost"
expect_stdout '65536 calls of rank ' 'could not be recorded (a full disk' 'missing from this answer and its coverage'

what='the file of a process that another one waited for is gone'
"$ASSAY" record -o "$tmp/one_gone" -- sh -c 'for i in 1 2; do dd if=/dev/zero of="$1" bs=64k count=400 & done; wait' sh "$tmp/zeros" 2>"$tmp/err" || fail "$(cat "$tmp/err")"
run timeline "$tmp/one_gone" --format json
expect_json .missing_children 0
# shellcheck disable=SC2012 # the one that began last
rm "$(ls -v "$tmp"/one_gone/*.samples | tail -n 1)"
run timeline "$tmp/one_gone" --format json
expect_json .missing_children 1
finish
