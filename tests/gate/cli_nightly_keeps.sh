#!/bin/sh
# A night keeps what it started with, whatever is edited meanwhile, and its pages keep their names.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_night.sh"
suite_of_two
sed -i 's/against: \[previous, v1\]/against: v1/' "$lab/suite.yaml"
sed -i 's/repetitions: 2/repetitions: 8/' "$lab/apps/good.yaml"
cp -r "$lab" "$tmp/good"

# begun: a night that waits in its first run, in the background.
begun() {
	touch "$tmp/scratch/hold"
	"$ASSAY" -C "$lab" nightly --format json >"$tmp/night.out" 2>"$tmp/night.err" </dev/null &
	first=$!
	for _ in $(seq 600); do
		sleep .1
		"$ASSAY" -C "$tmp/reader" nightly show --format json 2>/dev/null | grep -q '"measuring"\|begun' && break
	done
}
# restored: all that people write is as it was.
restored() {
	for file in lab.yaml suite.yaml apps/good.yaml apps/bad.yaml; do
		cp "$tmp/good/$file" "$lab/$file"
	done
	rm -f "$lab/baselines.yaml"
}
# A directory with the same store and a lab.yaml that nobody damages: it shows how far the night is.
mkdir "$tmp/reader"
cp "$lab/lab.yaml" "$tmp/reader"
ln -s "$lab/.assay" "$tmp/reader/.assay"

what='slips of the pen while a night goes on'
begun
for file in lab.yaml suite.yaml apps/good.yaml apps/bad.yaml baselines.yaml; do
	echo '{ [ a slip of the pen' >"$lab/$file"
done
rm "$tmp/scratch/hold"
status=0
wait "$first" || status=$?
cp "$tmp/night.out" "$tmp/out"
cp "$tmp/night.err" "$tmp/err"
expect_status 3
expect_json .decisions 2
expect_json .decisions[0].decision regression
expect_json .decisions[1].decision pass
cp "$tmp/reader/lab.yaml" "$lab/lab.yaml"
run -C "$lab" nightly
refused 2 'suite.yaml:1'
restored

what='a night that was killed goes on without the suite'
begun
kill -9 "$first"
wait "$first" 2>/dev/null
rm "$tmp/scratch/hold"
echo '{ [ a slip of the pen' >"$lab/suite.yaml"
run -C "$lab" nightly --anew
refused 2 'suite.yaml:1'
run -C "$lab" nightly --format json
expect_status 3
expect_json .decisions 2
expect_json .notes[0].code suite_unread
restored

what='pages of nights'
run -C "$lab" nightly pages -o "$tmp/pages" --format json
later=$(json .night)
run -C "$lab" nightly list --format json
earlier=$(json .nights[1].night)
(cd "$tmp/pages" && sha256sum ./*-*.html ????????????????.html) >"$tmp/sums"
run -C "$lab" nightly pages "$earlier" -o "$tmp/pages"
expect_status 0
cases=$((cases + 4))
(cd "$tmp/pages" && sha256sum --quiet -c "$tmp/sums") || fail 'a page of one night was written by another'
cmp -s "$tmp/pages/index.html" "$tmp/pages/night-$later.html" || fail 'the index is not of the latest night'
grep -q "night-$earlier.html" "$tmp/pages/nights.html" && grep -q "night-$later.html" "$tmp/pages/nights.html" || fail 'not all nights are listed'
for page in "$tmp/pages"/*.html; do
	for link in $(grep -o 'href="\./[^"#]*' "$page" | cut -c 9-); do
		[ -f "$tmp/pages/$link" ] || fail "$page leads to $link"
	done
done
[ "$(ls "$tmp/pages" | grep -c '^history-')" = 4 ] || fail "$(ls "$tmp/pages")"

what='the reason why a run is left out'
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET signature = json_set(ifnull(signature, '{}'), '\$.run_delay_ns', CASE WHEN machine = 'host1' AND
	version = 'v1' AND repetition = 1 THEN wall_ns ELSE 0 END) WHERE application = 'good'"
run -C "$lab" nightly pages "$later" -o "$tmp/disturbed"
expect_status 0
run -C "$lab" nightly show "$later" --format json
id=$(/usr/bin/python3 -c 'import json, sys; print(next(d["id"] for d in json.load(sys.stdin)["decisions"] if d["application"] == "good"))' <"$tmp/out")
page=$tmp/disturbed/$id.html
says 'of good@v1' 'disturbed by what else the machine did'
cases=$((cases + 1))
grep -q 'of another build' "$page" && fail 'a disturbed run is said to be of another build'

what='the machines of a night'
sqlite3 "$lab/.assay/runs.db" "DELETE FROM run WHERE machine = 'host2' AND application = 'bad'; DELETE FROM execution WHERE machine = 'host2' AND application = 'bad'"
run -C "$lab" nightly pages "$later" -o "$tmp/lost"
expect_status 0
page=$tmp/lost/index.html
says 'not reached</span>' 'it was not reached for: bad' 'no fingerprint' 'bad, good'

what='accepted baselines that nothing is compared with'
printf '%s\n' 'comparisons:' '  - { application: bad, against: [release, previous] }' '  - { application: "g*", against: [v1, accepted] }' \
	'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" baseline accept bad@v1 --reason wanted
expect_status 0
expect_stdout 'accepted  bad@v1 is the baseline of bad' "No night compares with it: suite.yaml:2: its 'against' does not have 'accepted'"
run -C "$lab" baseline accept good@v1 --reason wanted --format json
expect_json .unused null
cat >>"$lab/baselines.yaml" <<'END_OF_BASELINES'
  - { application: godo, version: v1, reason: a slip of the pen }
END_OF_BASELINES
run -C "$lab" baseline list --format json
expect_json .baselines[0].state unused
expect_json .baselines[1].state counts
expect_json .baselines[2].state unused
expect_json .baselines[2].unused "no manifest of apps/ that can be read is of 'godo'"
run -C "$lab" baseline list
expect_stdout '1 baseline counts, of 3' "No night compares bad with v1: suite.yaml:2"
run -C "$lab" nightly --dry-run
expect_status 0
expect_stdout "nothing is compared with 'v1', the accepted baseline of bad: suite.yaml:2" "'v1', the accepted baseline of godo: no manifest"
printf '%s\n' 'comparisons: [{ application: good, against: accepted }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" baseline list --format json
expect_json .baselines[0].unused "suite.yaml compares nothing of 'bad'"
expect_json .baselines[1].state counts
rm "$lab/baselines.yaml"
finish
