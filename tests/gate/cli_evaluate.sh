# Labelled pairs through the program, and the walk as published.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

make_package "$tmp/package" 8 12
healthy_lab "$tmp/package"
cat >"$tmp/pairs.json" <<'END'
[{"baseline": "app/slow@1.0", "candidate": "app/slow@1.1", "changed": true, "label": "slower"},
 {"baseline": "same@1.0", "candidate": "same@1.1", "changed": false},
 {"baseline": {"application": "same@1.0", "repetitions": [1]}, "candidate": {"application": "same", "version": "1.0", "repetitions": [2, 3]},
  "changed": false, "label": "halves"},
 {"baseline": {"application": "app/slow", "version": "1.0", "timestamps": [1500000000]}, "candidate": "app/slow@1.1", "changed": true}]
END

# ---- evaluate ----

what='for people'
run -C "$lab" evaluate "$tmp/pairs.json"
expect_status 0
expect_no_stderr
expect_stdout 'the gate finds 1.000 (' '4 pairs, 2 changed and 2 unchanged, in 2 clusters' 'false positives' halves slower '1 pass'
run -C "$lab" evaluate "$tmp/pairs.json" --all
expect_status 0
expect_stdout 'same@1.0; repetitions 2,3' 'app/slow@1.0; time stamps 1500000000000'

what='for programs'
run -C "$lab" evaluate "$tmp/pairs.json" --format json
expect_status 0
expect_json .changed 2
expect_json .unchanged 2
expect_json '.clusters[0]' app/slow
expect_json '.clusters[1]' same
expect_json '.pairs[0].decision' regression
expect_json '.pairs[0].methods.gate.changed' true
expect_near '.pairs[0].ratio' 1.5 .02
expect_near '.pairs[0].methods.mean.score' .4055 .05
expect_json '.pairs[1].decision' pass
expect_json '.pairs[1].methods.gate.changed' false
expect_json '.pairs[2].baseline.results' 8
expect_json '.pairs[2].candidate.results' 16
expect_json '.pairs[2].candidate.repetitions[1]' 3
expect_json '.pairs[2].methods.shape.score' null
expect_json '.pairs[3].baseline.timestamps[0]' 1500000000000
expect_json .methods.gate.false_positives.flagged 0
expect_json .methods.gate.false_positives.pairs 2
expect_json .methods.gate.true_positives.rate 1
expect_json .methods.gate.area.value 1
expect_json .methods.walk.scored 4
expect_json '.labels[0].label' ''
run -C "$lab" evaluate "$tmp/pairs.json" --format json
cp "$tmp/out" "$tmp/first"
run -C "$lab" evaluate "$tmp/pairs.json" --format json
expect_same_files "$tmp/out" "$tmp/first"
taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$ASSAY" -C "$lab" evaluate "$tmp/pairs.json" --format json >"$tmp/out"
expect_same_files "$tmp/out" "$tmp/first"

what='without the walk'
run -C "$lab" evaluate "$tmp/pairs.json" --no-walk --format json
expect_status 0
expect_json .methods.gate.true_positives.flagged 2
cases=$((cases + 1))
json .methods.walk >/dev/null && fail 'no walk was asked for'

what='an effect that matters to nobody'
run -C "$lab" evaluate "$tmp/pairs.json" --min-effect 1 --format json
expect_json '.pairs[0].decision' pass
expect_json .methods.gate.true_positives.flagged 0

what='a version against itself'
echo '[{"baseline": "same@1.0", "candidate": "same@1.0", "changed": false}]' >"$tmp/self.json"
run -C "$lab" evaluate "$tmp/self.json" --format json
expect_status 0
expect_error 'the first is number 1'
expect_json '.pairs[0].shared_results' 24

what='wrong pairs'
for text in '{}' '[{"baseline": "same@1.0", "candidate": "same@1.1"}]' '[{"baseline": "same@1.0", "candidate": "same@1.1", "changed": 0}]'; do
	echo "$text" >"$tmp/bad.json"
	run -C "$lab" evaluate "$tmp/bad.json"
	refused 2 bad.json
done
echo '[{"baseline": "same@1.0", "candidate": "sane@1.1", "changed": true}]' >"$tmp/bad.json"
run -C "$lab" evaluate "$tmp/bad.json"
refused 2 'pair 1, candidate' "did you mean 'same'?"
echo '[{"baseline": "same", "candidate": "same@1.1", "changed": true}]' >"$tmp/bad.json"
run -C "$lab" evaluate "$tmp/bad.json"
refused 2 'pair 1, baseline' 'several versions'
echo '[{"baseline": {"application": "same@1.0", "repetitions": [7]}, "candidate": "same@1.1", "changed": true}]' >"$tmp/bad.json"
run -C "$lab" evaluate "$tmp/bad.json"
refused 2 'pair 1, baseline' 'these repetitions'
run -C "$lab" evaluate "$tmp/nothing.json"
refused 2 nothing.json
run -C "$lab" evaluate
refused 2 PAIRS.json
run -C "$lab" evaluate "$tmp/pairs.json" --epsilon -1
refused 2 --epsilon
run -C "$lab" evaluate "$tmp/pairs.json" --resamples 0
refused 2 --resamples

# ---- the walk ----

what='the walk: a uniform slowdown does not show, and other noise does'
run -C "$lab" gate app/slow@1.0 app/slow@1.0 --method walk
expect_status 0
expect_stdout pass 'the method of the quiho paper' 'no stressor'
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --method walk --epsilon 100 --format json
expect_status 0
expect_json .method walk
expect_json .decision pass
expect_json .epsilon 100
expect_json .stopped_at null
expect_json '.reasons[0].code' profiles_alike
expect_json '.reasons[1].code' as_published
run -C "$lab" gate app/slow@1.0 same@1.0 --method walk --epsilon 0 --format json
expect_status 3
expect_json .decision regression
expect_json '.reasons[0].code' profiles_differ
run -C "$lab" gate app/slow@1.0 same@1.0 --method walk --epsilon 0
expect_status 3
expect_stdout 'stopped here'

what='options of the other method'
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --epsilon 5
refused 2 '--method walk'
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --method walk --min-effect .1
refused 2 --min-effect
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --method wlak
refused 2 wlak 'ratio, walk or cost'
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --method ratio
expect_status 3

what='no fingerprints, no walk'
grep -v stressng "$tmp/package/results.csv" >"$tmp/none.csv"
mkdir "$tmp/none"
mv "$tmp/none.csv" "$tmp/none/results.csv"
run init "$tmp/bare"
run -C "$tmp/bare" import quiho "$tmp/none"
expect_status 0
run -C "$tmp/bare" gate app/slow@1.0 app/slow@1.1 --method walk
refused 6 fingerprint
run -C "$tmp/bare" evaluate "$tmp/pairs.json" --format json
expect_status 0
expect_json .methods.walk.scored 0
expect_json '.pairs[0].decision' regression

# ---- the recorded machines ----

[ -f "${ASSAY_QUIHO:-}/results.csv" ] || finish
what='the recorded machines: the published walk takes nearly all unchanged pairs for changed'
lab=$tmp/recorded
run init "$lab"
run -C "$lab" import quiho "$ASSAY_QUIHO" --types "$ASSAY_QUIHO/types.csv"
{
	comma='['
	for application in comd lulesh minife miniamr hpccg scikit-learn mysqlslap/innodb_load mysqlslap/memory_load; do
		echo "$comma"'{"baseline": {"application": "'$application'", "repetitions": [1]}, "changed": false,'
		echo '"candidate": {"application": "'$application'", "repetitions": [2, 3]}}'
		comma=,
	done
	echo ',{"baseline": "mysqlslap/innodb_load", "candidate": "mysqlslap/memory_load", "changed": true}]'
} >"$tmp/pairs.json"
run -C "$lab" evaluate "$tmp/pairs.json" --format json
expect_status 0
expect_json .methods.gate.false_positives.flagged 0
expect_json .methods.gate.false_positives.pairs 8
expect_json .methods.gate.true_positives.flagged 1
cases=$((cases + 1))
[ "$(json .methods.walk.false_positives.flagged)" -ge 6 ] || fail 'the walk should take most unchanged pairs for changed'

finish
