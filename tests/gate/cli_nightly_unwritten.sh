#!/bin/sh
# Pages that cannot be written: the night is decided all the same, and its answer, its log and its status say so.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_night.sh"
[ "$(id -u)" = 0 ] || skip 'mounting takes root'
tidy() {
	umount "$tmp/full" "$tmp/sealed" 2>/dev/null
}
mkdir "$tmp/full" "$tmp/sealed"
mount -t tmpfs -o size=16k none "$tmp/full" && mount -t tmpfs -o ro none "$tmp/sealed" || skip 'nothing can be mounted here'
application shift 100 100.01 100.02 100.03 100.04 140

# night CANDIDATE PAGES STATUS: a night of that version against the previous one
night() {
	printf '%s\n' "comparisons: [{ application: shift, candidates: $1, against: previous }]" 'fingerprints: { battery: none }' 'why: off' "pages: $2" >"$lab/suite.yaml"
	run -C "$lab" nightly run --format json
	expect_status "$3"
}
# unwritten WORDS...: the night says of its pages why they are not there
unwritten() {
	id=$(json .night)
	expect_json '.notes[0].code' pages_not_written
	for words in "the night's pages were not written: " "$@"; do
		holds "$tmp/err" 'a note' "$words"
		holds "$lab/.assay/night.log" 'the log' "pages_not_written: the night's pages were not written: " "$words"
	done
	cases=$((cases + 1))
	tail -n 1 "$lab/.assay/night.log" | grep -q "ended with status $status\$" || fail "the log ends with: $(tail -n 1 "$lab/.assay/night.log")"
	run -C "$lab" nightly show "$id" --format json
	expect_status "$status"
	expect_json '.notes[0].code' pages_not_written
	run -C "$lab" nightly show --list --format json
	expect_json '.nights[0].exit_status' "$shown"
}

what='pages that can be written'
night v2 "$tmp/pages" 0
expect_json .notes 0

for case in "v3 $tmp/full 1 space" "v4 $tmp/sealed 1 Read-only" 'v5 lab.yaml 1 lab.yaml'; do
	# shellcheck disable=SC2086
	set -- $case
	what="pages in $2"
	night "$1" "$2" "$3"
	shown=$3
	unwritten "$4"
done

what='a regression is not hidden by that'
night v6 lab.yaml 3
shown=3
unwritten lab.yaml
finish
