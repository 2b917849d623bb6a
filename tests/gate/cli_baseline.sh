#!/bin/sh
# Versions that are accepted as baselines: baselines.yaml, which people may edit.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

make_package "$tmp/package" 3 4
healthy_lab "$tmp/package"

echo 'comparisons: [{ application: "*", against: accepted }]' >"$lab/suite.yaml"
echo 'versions: { a: { command: ["true"] } }' >"$lab/apps/same.yaml"
cp "$lab/apps/same.yaml" "$lab/apps/app.yaml"

what='nothing yet'
run -C "$lab" baseline list
expect_status 0
expect_stdout 'no baselines yet' 'baseline accept'

what='accepted'
run -C "$lab" baseline accept same@1.0 --reason 'release "1.0": good # enough'
expect_status 0
expect_stdout 'accepted  same@1.0 is the baseline of same'
run -C "$lab" baseline accept app/slow@1.1 --reason 'ä ' --until 2999-12-31
expect_status 0
expect_stdout 'until 2999-12-31'
run -C "$lab" baseline list --format json
expect_json '.baselines[0].version' 1.0
expect_json '.baselines[0].reason' 'release "1.0": good # enough'
expect_json '.baselines[0].state' counts
expect_json '.baselines[0].until' null
expect_json '.baselines[1].application' app/slow
expect_json '.baselines[1].until' 2999-12-31

what='the last one counts, until it expires'
run -C "$lab" baseline accept same@1.1 --reason 'the new one' --until "$(date -u +%F)"
expect_status 0
cat >>"$lab/baselines.yaml" <<'END'
# by hand
  - application: same
    version: "1.0"
    until: 2020-02-29
    reason: long ago
END
truncate -s -1 "$lab/baselines.yaml" # editors leave out the last line end
run -C "$lab" baseline list --format json
expect_json '.baselines[0].state' replaced
expect_json '.baselines[2].state' counts
expect_json '.baselines[3].state' expired
run -C "$lab" baseline accept same@1.0 --reason again
expect_status 0
cases=$((cases + 1))
grep -q '^# by hand$' "$lab/baselines.yaml" || fail 'what people wrote is gone'
run -C "$lab" baseline list
expect_stdout '2 baselines count, of 5 that were accepted'

what='refused'
cp "$lab/baselines.yaml" "$tmp/before"
run -C "$lab" baseline accept same@1.2 --reason x
refused 2 'same@1.2 has no results; there are results of 1.0, '
run -C "$lab" baseline accept none@1 --reason x
refused 2 "'none' has no results" 'result list'
run -C "$lab" baseline accept same --reason x
refused 2 "which version of 'same' is meant? Name it as same@VERSION: there are results of 1.0, "
run -C "$lab" baseline accept same@1.0
refused 2 '--reason TEXT is required'
run -C "$lab" baseline accept same@1.0 --reason "two
lines"
refused 2 --reason
run -C "$lab" baseline accept same@1.0 --reason x --until 2027-02-29
refused 2 "'2027-02-29' is no day"
run -C "$lab" baseline accept same@1.0 --reason x --until 2020-01-01
refused 2 'the day is in the past'
expect_same_files "$lab/baselines.yaml" "$tmp/before"

what='a version without a good run'
cp "$lab/baselines.yaml" "$tmp/before"
sqlite3 "$lab/.assay/runs.db" "INSERT INTO plan (id, application, manifest, manifest_hash, repetitions, warm_ups, seed, started_ms) VALUES ('p', 'same', '', '', 2, 0, 1, 1)"
for repetition in 1 2; do
	sqlite3 "$lab/.assay/runs.db" "INSERT INTO execution (plan, machine, version, input, repetition, application, taken_ms, outcome, out, err) VALUES ('p', 'm1', 'crash', '', $repetition, 'same', 1, 'killed', '', '')"
done
run -C "$lab" baseline accept same@crash --reason x
refused 2 'same@crash has no usable result' 'all of its 2 runs failed' 'assay result show same@crash --failed --output'
expect_same_files "$lab/baselines.yaml" "$tmp/before"

what='a damaged file'
for bad in 'baselines: {a: 1}' 'baselines: [{application: same}]' 'baselines: [{application: same, version: 1, reason: x, til: 1}]' \
	'baselines: [{application: same, version: 1, reason: x, until: soon}]' 'other: 1'; do
	echo "$bad" >"$lab/baselines.yaml"
	run -C "$lab" baseline list
	refused 2 'baselines.yaml:1: '
	run -C "$lab" baseline accept same@1.0 --reason x
	refused 2 'baselines.yaml:'
done
echo 'baselines: []' >"$lab/baselines.yaml"
run -C "$lab" baseline accept same@1.0 --reason x
refused 2 'baselines.yaml'
rm "$lab/baselines.yaml"
finish
