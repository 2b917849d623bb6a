#!/bin/sh
# How nights end: killed and going on, given up, at a deadline; and one at a time.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_night.sh"
suite_of_two
sed -i 's/against: \[previous, v1\]/against: v1/' "$lab/suite.yaml"

what='one that was killed goes on, and there is one at a time'
touch "$tmp/scratch/hold"
"$ASSAY" -C "$lab" nightly run -x host3 >/dev/null 2>&1 &
first=$!
for _ in $(seq 600); do
	sleep .1
	"$ASSAY" -C "$lab" nightly show --format json 2>/dev/null | grep -q '"measuring"\|begun' && break
done
run -C "$lab" nightly run
refused 1 'another night'
kill -9 "$first"
wait "$first" 2>/dev/null
rm "$tmp/scratch/hold"
run -C "$lab" nightly show --list --format json
expect_json .nights[0].finished_ms null
killed=$(json .nights[0].night)
cp "$lab/suite.yaml" "$tmp/suite.yaml"
echo '# changed' >>"$lab/suite.yaml"
run -C "$lab" nightly run --dry-run --format json
expect_status 0
expect_json .night "$killed"
run -C "$lab" nightly run --dry-run --anew --format json
expect_json .night null
run -C "$lab" nightly run --format json
expect_status 3
cases=$((cases + 1))
grep -q 'suite.yaml was changed since, but this night keeps its own copy' "$tmp/err" || fail "$(cat "$tmp/err")"
cp "$tmp/suite.yaml" "$lab/suite.yaml"
expect_json .night "$killed"
expect_json .decisions 2
expect_json .decisions[0].decision regression
expect_json .notes[0].text 'not measured: host3 (excluded by -x)' # which the session that was killed noted

what='one that was killed can be given up'
touch "$tmp/scratch/hold"
"$ASSAY" -C "$lab" nightly run >/dev/null 2>&1 &
first=$!
for _ in $(seq 600); do
	sleep .1
	"$ASSAY" -C "$lab" nightly show --format json 2>/dev/null | grep -q '"measuring"\|begun' && break
done
kill -9 "$first"
wait "$first" 2>/dev/null
rm "$tmp/scratch/hold"
killed=$("$ASSAY" -C "$lab" nightly show --list --format json | sed -n 's/.*"night": *"\([0-9a-f]*\)".*/\1/p' | head -n 1)
printf '%s\n' 'comparisons: [{ application: good }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run --anew --format json
expect_status 0
expect_json .decisions 1
cases=$((cases + 2))
[ "$(json .night)" != "$killed" ] || fail 'it goes on with the night that was given up'
holds "$tmp/err" 'a remark' 'this night was ended by --anew: it is decided with the results that it has'
run -C "$lab" nightly show "$killed" --format json
expect_json .notes[0].code given_up
expect_json .undecided 2
case $(json .finished_ms) in null) fail 'the night that was given up has no end' ;; esac

what='another threshold for improvements'
application gain 100 98 90
for row in '.03 v2 pass v3 improved' '{faster:.01} v2 improved' '{faster:.2} v3 pass'; do
	# shellcheck disable=SC2086
	set -- $row
	printf 'comparisons:\n  - { application: gain, candidates: [%s], against: v1, min_effect: %s }\nfingerprints: { battery: none }\n' \
		"$2${4:+, $4}" "$(echo "$1" | sed 's/:/: /')" >"$lab/suite.yaml"
	run -C "$lab" nightly run --format json
	expect_status 0
	expect_json .decisions $((($# - 1) / 2))
	for at in $(seq 0 $((($# - 3) / 2))); do
		id=$(json ".decisions[$at].id")
		[ "$(json ".decisions[$at].candidate")" = "$2" ] && expect_json ".decisions[$at].decision" "$3" || expect_json ".decisions[$at].decision" "${5:-}"
	done
	run -C "$lab" verify "$id"
	expect_status 0
done
expect_stdout 'byte by byte: pass'
run -C "$lab" explain "$id"
expect_stdout 'here, a change counts as an improvement from 20.0 % on'

what='a deadline'
cat >"$lab/suite.yaml" <<'END_OF_SUITE'
comparisons:
  - { application: good }
  - { application: bad, against: [v1, v2] }
fingerprints: { battery: none }
deadline: 6s
hook: [sh, -c, 'sleep .4; echo "$1" >>"$0"', '$tmp/late']
END_OF_SUITE
sed -i "s|\$tmp|$tmp|" "$lab/suite.yaml"
touch "$tmp/scratch/hold"
run -C "$lab" nightly run --format json
expect_status 6
rm "$tmp/scratch/hold"
expect_json .notes[0].code deadline
expect_stdout '3 of 3 comparisons were not reached or not finished before the deadline'
[ "$(cat "$tmp/late")" = "$(json '.decisions[0].id')" ] || fail "hooks that ended after the deadline: $(cat "$tmp/late")"

what='what was begun is not said to be unreached'
run -C "$lab" nightly show
expect_stdout 'good@v2: it was started, but no machine had results of both versions before the deadline' 'before the deadline'
run -C "$lab" nightly pages -o "$tmp/cut"
expect_status 0
grep -q 'it was started, but no machine had results' "$tmp/cut/index.html" || fail 'a comparison that was started is not said to be so on the page'

what='what was not reached is in every rendering'
run -C "$lab" nightly show --format junit
expect_stdout 'tests="2"' 'nothing_measured: ' 'not reached'
run -C "$lab" nightly show --format markdown
expect_stdout '3 nothing_measured' '- not reached' 'not reached before the deadline'
run -C "$lab" nightly show --format github
expect_stdout 'not reached' '::notice title=assay::'
finish
