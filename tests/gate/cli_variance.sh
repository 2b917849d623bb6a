# Where and when runs were slow, as a user asks; the records are made, and what happened in them is known.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# made NAME ARGUMENTS...: $tmp/NAME.
made() {
	made_name=$1
	shift
	mkdir "$tmp/$made_name"
	"${ASSAY_VARIANCE:?}" "$tmp/$made_name" "$@" || fail "cannot make $made_name"
}

what='nothing is slow'
made still 2 3 counted
run variance show "$tmp/still"
expect_status 0
expect_stdout 'no variance' 'above 15 % that cost' '100 % of the time was in fixed work'
expect_no_stderr

what='one rank waits for its processor, and others wait for it'
made queue 4 3 counted coupled 1:1:2:queue:2
run variance show "$tmp/queue"
expect_status 0
expect_stdout 'rank 1 lost' 'in computation from 1.01 s to 2.01 s' '1.98 times as long as usual' 'waiting for a processor that others used' \
	'waited for region 1' 'rank 0, rank 2 and rank 3'
expect_no_stderr

what='the same as a page: maps have colours, names and zoom'
run variance show "$tmp/queue" --format html
expect_status 0
expect_stdout 'svg class="zoom"' '<li>' 'class="m5"' '.m5 { fill' 'querySelectorAll("svg.zoom")'
what='the same for programs'
run variance show "$tmp/queue" --format json
expect_status 0
expect_json '.regions[0].processes[0].rank' 1
expect_json '.regions[0].activity' computation
expect_json '.regions[0].parts[0].cause' run_queue
expect_json '.regions[0].parts[0].timed' true
expect_json '.regions[1].caused_by' 1
expect_json '.basis' instructions

what='files named one by one'
run variance show "$tmp"/queue/*.samples --format json
expect_json '.regions[1].caused_by' 1

what='a region that the user names'
run variance show "$tmp/queue" --region 0:0.5-0.9 --format json
expect_status 0
expect_json '.regions[0].marked' true
expect_json '.regions[0].processes[0].rank' 0

what='work that nobody counted'
made more 2 3 1:1:2:work:1.5
run variance show "$tmp/more"
expect_status 0
expect_stdout 'rank 1 lost' 'it may have been more of it'

what='wrong words'
run variance show
refused 2 FILE
run variance show "$tmp/nowhere"
refused 2 nowhere
mkdir "$tmp/empty"
run variance show "$tmp/empty"
refused 6 '*.samples'
run variance show "$tmp/still" --region 1:5-4
refused 2 'RANK:FROM-TO'
run variance show "$tmp/still" --region 9:1-2
refused 2 'no process 9'
run variance show "$tmp/still" --threshold 2
refused 2 threshold
echo hello >"$tmp/text.samples"
run variance show "$tmp/text.samples"
refused 2 'not a sample file'

what='a file that was cut'
for file in "$tmp"/still/*.samples; do
	head -c 100000 "$file" >"$tmp/cut.samples"
done
run variance show "$tmp/cut.samples" --format json
expect_status 0
expect_json '.truncated' 1
finish
