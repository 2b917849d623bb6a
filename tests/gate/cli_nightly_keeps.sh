#!/bin/sh
# A night keeps what it started with, whatever is edited meanwhile; its pages keep their names; and what is set aside is not measured.
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
	"$ASSAY" -C "$lab" nightly run --format json >"$tmp/night.out" 2>"$tmp/night.err" </dev/null &
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
	rm -f "$lab/baselines.yaml" "$lab/calibration.json"
}
# A directory with the same store and a lab.yaml that nobody damages: it shows how far the night is.
mkdir "$tmp/reader"
cp "$lab/lab.yaml" "$tmp/reader"
ln -s "$lab/.assay" "$tmp/reader/.assay"

what='slips of the pen while a night goes on'
begun
for file in lab.yaml suite.yaml apps/good.yaml apps/bad.yaml baselines.yaml calibration.json; do
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
run -C "$lab" nightly run
refused 2 'suite.yaml:1'
restored
echo '{ [ a slip of the pen' >"$lab/calibration.json"
run -C "$lab" nightly run
refused 2 'calibration.json:1'
restored

what='a night that was killed goes on without the suite'
begun
kill -9 "$first"
wait "$first" 2>/dev/null
rm "$tmp/scratch/hold"
echo '{ [ a slip of the pen' >"$lab/suite.yaml"
run -C "$lab" nightly run --anew
refused 2 'suite.yaml:1'
run -C "$lab" nightly run --format json
expect_status 3
expect_json .decisions 2
expect_json .notes[0].code suite_unread
restored

what='pages of nights'
run -C "$lab" nightly pages -o "$tmp/pages" --format json
later=$(json .night)
run -C "$lab" nightly show --list --format json
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
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET signature = json_set(ifnull(signature, '{}'), '\$.others_delay_ns', 0, '\$.busy_ns', 2 * wall_ns, '\$.io_stalled_ns', 0,
	'\$.memory_stalled_ns', 0, '\$.steal_ns', 0, '\$.throttled_ns', 0, '\$.run_delay_ns', CASE WHEN
	machine = 'host1' AND version = 'v1' AND repetition = 1 THEN wall_ns ELSE 0 END) WHERE application = 'good'"
run -C "$lab" nightly pages "$later" -o "$tmp/disturbed"
expect_status 0
run -C "$lab" nightly show "$later" --format json
id=$(/usr/bin/python3 -c 'import json, sys; print(next(d["id"] for d in json.load(sys.stdin)["decisions"] if d["application"] == "good"))' <"$tmp/out")
page=$tmp/disturbed/$id.html
says 'of good@v1' 'disturbed by what else the machine did'
cases=$((cases + 1))
grep -q 'from another build' "$page" && fail 'a disturbed run is said to be of another build'

what='the machines of a night'
sqlite3 "$lab/.assay/runs.db" "DELETE FROM run WHERE machine = 'host2' AND application = 'bad'; DELETE FROM execution WHERE machine = 'host2' AND application = 'bad'"
sqlite3 "$lab/.assay/runs.db" "WITH RECURSIVE night(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM night WHERE n < 16), host(m) AS (VALUES (1), (2), (3))
	INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric) SELECT 'good', 'w' || n, 'host' || m,
	1500000000000 + 86400000 * n, r, 0, (CASE WHEN m = 3 AND n < 9 THEN 1 ELSE 1.2 END) / 1.2 * (100 + (n * 7 + r * 3) % 5 / 10.0)
	FROM night, host, (SELECT 1 AS r UNION SELECT 2)" # from w9 on it costs 1.2 times as much on host3
run -C "$lab" nightly pages "$later" -o "$tmp/lost"
expect_status 0
page=$tmp/lost/index.html
says '∅ not reached</span> <bdi>bad</bdi>: 1 of 2 comparisons' '? none</span>' '<bdi>bad, good</bdi>' ' not as usual' 'data-health="lost ' \
	'▲</span> slower by 20.0 % in <a href="./history-'
cases=$((cases + 1))
grep -q 'data-health="[a-z ]*slower ' "$page" || fail 'no machine is slower' # a busy one is disturbed, too
page=$(echo "$tmp/lost"/history-*-1.html)
says '× 1.200' 'host3 alone'

what='accepted baselines that nothing is compared with'
printf '%s\n' 'comparisons:' '  - { application: bad, against: [release, previous] }' '  - { application: "g*", against: [v1, accepted] }' \
	'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" baseline accept bad@v1 --reason wanted
expect_status 0
expect_stdout 'accepted  bad@v1 is the baseline of bad' "No night compares with this baseline: suite.yaml:2: its 'against' does not have 'accepted'"
run -C "$lab" baseline accept good@v1 --reason wanted --format json
expect_json .unused null
cat >>"$lab/baselines.yaml" <<'END_OF_BASELINES'
  - { application: godo, version: v1, reason: a slip of the pen }
END_OF_BASELINES
run -C "$lab" baseline list --format json
expect_json .baselines[0].state unused
expect_json .baselines[1].state counts
expect_json .baselines[2].state unused
expect_json .baselines[2].unused "no readable manifest in apps/ has the name 'godo'"
run -C "$lab" baseline list
expect_stdout '1 baseline counts, of 3' "No night compares bad with v1: suite.yaml:2"
run -C "$lab" nightly run --dry-run
expect_status 0
expect_stdout "nothing is compared with 'v1', the accepted baseline of bad: suite.yaml:2" "'v1', the accepted baseline of godo: no readable manifest"
printf '%s\n' 'comparisons: [{ application: good, against: accepted }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" baseline list --format json
expect_json .baselines[0].unused "suite.yaml compares nothing of 'bad'"
expect_json .baselines[1].state counts
sed -i 's/^baselines/baselinse/' "$lab/baselines.yaml"
run -C "$lab" nightly run --dry-run
refused 2 'baselines.yaml:' "unknown key 'baselinse'"
rm "$lab/baselines.yaml"

what='sets with what is taken out of them'
# chosen SET NAMES: what "host list -w SET" shows
chosen() {
	run -C "$lab" host list -w "$1" --format json
	expect_json .names "$2"
}
chosen '@all!host2' 'host[1,3]'
chosen '!host[1-2]' host3
chosen 'any 1 of @all!host1' host2
for bad in '@all!' '!' '@all!host9' 'host1!host1'; do
	run -C "$lab" host list -w "$bad"
	refused 2
done
holds "$tmp/err" 'what leaves no host' "no host is left by 'host1!host1'"
run -C "$lab" host list -x '@all!host2' --format json
expect_json .names host2

what='hosts that are set aside'
why="its fan is broken"
cp "$tmp/good/suite.yaml" "$lab/suite.yaml"
run -C "$lab" nightly run -x host3 --applications good --format json
expect_status 0
expect_json .decisions[0].machines 2
expect_json .decisions[0].hosts 'host[1-2]'
expect_json .notes[0].text 'not measured: host3 (excluded by -x)'
cat >>"$lab/lab.yaml" <<END_OF_LAB
out_of_use:
  - { hosts: '@all!host2!host3', until: 2999-12-31, reason: $why }
  - { hosts: 'host[2-3]', until: 2020-01-31, reason: long ago }
END_OF_LAB
cp "$lab/lab.yaml" "$tmp/aside.yaml"
run -C "$lab" nightly run --applications good --format json
expect_status 0
expect_json .decisions[0].machines 2
expect_json .decisions[0].hosts 'host[2-3]'
expect_json .notes[0].code out_of_use
expect_json .notes[0].text "not measured: host1 (out of use until 2999-12-31: $why)"
run -C "$lab" run good -w host1
refused 2 "not measured: host1 (out of use until 2999-12-31: $why)"
run -C "$lab" run good --quiet
expect_status 0
holds "$tmp/err" 'a remark' "not measured: host1 (out of use"
run -C "$lab" host measure -w host1
refused 2 'host1 (out of use until 2999-12-31'
run -C "$lab" host list --format json
expect_json .n 3 '.hosts[0].out_of_use' "out of use until 2999-12-31: $why" '.hosts[1].out_of_use' null
run -C "$lab" run good -w 'any 2 of @all' --quiet --dry-run
expect_status 0
run -C "$lab" run good -w 'any 3 of @all' --dry-run
refused 2 "any 3 of '@all' are requested, but lab.yaml has only 2 that are not excluded; not measured: host1"
run -C "$lab" run good -x '@all!host1' --dry-run # takes nothing back that lab.yaml excludes
refused 2 'not measured: host1'

what='entries without a host that is left'
printf '%s\n' 'comparisons:' '  - { application: good, hosts: host1 }' '  - { application: bad, hosts: "@all!host3", against: v1 }' \
	'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run --format json
expect_json .decisions 2
expect_json .decisions[0].application bad
expect_json .decisions[0].hosts host2
expect_json .decisions[1].decision nothing_measured
expect_json .decisions[1].reasons[0].text "no host is left by 'host1'; not measured: host1 (out of use until 2999-12-31: $why)"
run -C "$lab" nightly run -x host2 --dry-run --format json
expect_status 0
expect_json .measured 0 .notes[0].text "not measured: host1 (out of use until 2999-12-31: $why), host2 (excluded by -x)"
run -C "$lab" nightly run -x '@all' --dry-run
refused 2 "-x '@all' excludes all hosts"
for bad in host9 '@none' 'any 1 of @all' '@all!'; do
	run -C "$lab" nightly run -x "$bad" --dry-run
	refused 2
done

what='machines that are retired'
cp "$tmp/good/lab.yaml" "$lab/lab.yaml"
cp "$tmp/good/suite.yaml" "$lab/suite.yaml"
mkdir -p "$lab/machines"
cat >"$lab/machines/host2.json" <<'END_OF_MACHINE'
{"format": "assay machine", "version": 1, "id": "host2", "identity": {}, "fingerprints": []}
END_OF_MACHINE
run -C "$lab" host retire host2 --reason sold
expect_status 0
expect_no_stderr
run -C "$lab" nightly run --applications good --format json
expect_json .decisions[0].hosts 'host[1,3]'
expect_json .notes[0].text 'not measured: host2 (retired: sold)'
run -C "$lab" host measure -w host2
refused 2 'host2 (retired: sold)'
echo '{ [ a slip of the pen' >"$lab/machines/host3.json" # a run needs no catalog
run -C "$lab" run good --quiet --dry-run
expect_status 0
rm "$lab/machines/host3.json"

what='runs that were interrupted on a host that was set aside since'
run -C "$lab" host retire host2 --undo
touch "$tmp/scratch/hold"
"$ASSAY" -C "$lab" run good --quiet >/dev/null 2>&1 </dev/null &
first=$!
for _ in $(seq 600); do
	sleep .1
	[ "$(sqlite3 "$tmp/reader/.assay/runs.db" 'SELECT count(*) FROM plan WHERE complete = 0')" = 0 ] || break
done
kill -9 "$first"
wait "$first" 2>/dev/null
rm "$tmp/scratch/hold"
cp "$tmp/aside.yaml" "$lab/lab.yaml"
run -C "$lab" run good --resume --quiet
refused 2 "'host1' is not measured (out of use until 2999-12-31: $why): start again without --resume"
cp "$tmp/good/lab.yaml" "$lab/lab.yaml"
run -C "$lab" run good --resume --quiet
expect_status 0
what='a host that was set aside, or taken out, since a night was killed is not measured, and the night says so'
# taken LINE: a night that was killed goes on with another lab.yaml.
taken() {
	begun
	for _ in $(seq 300); do
		! pgrep -f "cost.sh .*$tmp/scratch" >/dev/null || break
		sleep .1
	done
	kill -9 "$first"
	wait "$first" 2>/dev/null
	rm "$tmp/scratch/hold"
	eval "$1"
	run -C "$lab" nightly run --format json
	expect_status 3
	expect_json .decisions[0].decision regression .decisions[0].machines 2 .decisions[1].decision pass .decisions[1].machines 2
	restored
}
taken 'echo "out_of_use: [{ hosts: host3, reason: its fan }]" >>"$lab/lab.yaml"'
expect_json '.notes[0].code' out_of_use
expect_stdout 'not measured: host3 (out of use: its fan)'
taken 'sed -i /host3/d "$lab/lab.yaml"'
finish
