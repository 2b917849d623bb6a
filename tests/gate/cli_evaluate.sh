# Labelled pairs through tests/bench/evaluate.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

evaluate() {
	"${ASSAY_EVALUATE:?}" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	shown "$@"
}

# fails STATUS TEXT...
fails() {
	expect_status "$1"
	shift
	expect_no_stdout
	holds "$tmp/err" 'standard error' 'evaluate: ' "$@"
}

make_package "$tmp/package" 8 12
healthy_lab "$tmp/package"
cat >"$tmp/pairs.json" <<'END'
[{"baseline": "app/slow@1.0", "candidate": "app/slow@1.1", "changed": true, "label": "slower"},
 {"baseline": "same@1.0", "candidate": "same@1.1", "changed": false},
 {"baseline": {"application": "same@1.0", "repetitions": [1]}, "candidate": {"application": "same", "version": "1.0", "repetitions": [2, 3]},
  "changed": false, "label": "halves"},
 {"baseline": {"application": "app/slow", "version": "1.0", "timestamps": [1500000000]}, "candidate": "app/slow@1.1", "changed": true}]
END

what='labelled pairs'
evaluate -C "$lab" "$tmp/pairs.json"
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
evaluate -C "$lab" "$tmp/pairs.json"
cp "$tmp/out" "$tmp/first"
evaluate -C "$lab" "$tmp/pairs.json"
expect_same_files "$tmp/out" "$tmp/first"
taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$ASSAY_EVALUATE" -C "$lab" "$tmp/pairs.json" >"$tmp/out"
expect_same_files "$tmp/out" "$tmp/first"

what='without the walk'
evaluate -C "$lab" "$tmp/pairs.json" --no-walk
expect_status 0
expect_json .methods.gate.true_positives.flagged 2
cases=$((cases + 1))
json .methods.walk >/dev/null && fail 'no walk was asked for'

what='an effect that matters to nobody'
evaluate -C "$lab" "$tmp/pairs.json" --min-effect 1
expect_json '.pairs[0].decision' pass
expect_json .methods.gate.true_positives.flagged 0

what='a version against itself'
echo '[{"baseline": "same@1.0", "candidate": "same@1.0", "changed": false}]' >"$tmp/self.json"
evaluate -C "$lab" "$tmp/self.json"
expect_status 0
holds "$tmp/err" 'standard error' 'the first is number 1'
expect_json '.pairs[0].shared_results' 24

what='wrong pairs'
for text in '{}' '[{"baseline": "same@1.0", "candidate": "same@1.1"}]' '[{"baseline": "same@1.0", "candidate": "same@1.1", "changed": 0}]'; do
	echo "$text" >"$tmp/bad.json"
	evaluate -C "$lab" "$tmp/bad.json"
	fails 2 bad.json
done
echo '[{"baseline": "same@1.0", "candidate": "sane@1.1", "changed": true}]' >"$tmp/bad.json"
evaluate -C "$lab" "$tmp/bad.json"
fails 2 'pair 1, candidate' "did you mean 'same'?"
echo '[{"baseline": "same", "candidate": "same@1.1", "changed": true}]' >"$tmp/bad.json"
evaluate -C "$lab" "$tmp/bad.json"
fails 2 'pair 1, baseline' 'several versions'
echo '[{"baseline": {"application": "same@1.0", "repetitions": [7]}, "candidate": "same@1.1", "changed": true}]' >"$tmp/bad.json"
evaluate -C "$lab" "$tmp/bad.json"
fails 2 'pair 1, baseline' 'these repetitions'
evaluate -C "$lab" "$tmp/nothing.json"
fails 2 nothing.json
evaluate -C "$lab"
fails 2 PAIRS.json
evaluate -C "$lab" "$tmp/pairs.json" --epsilon -1
fails 2 --epsilon
evaluate -C "$lab" "$tmp/pairs.json" --resamples 0
fails 2 --resamples

what='no fingerprints, no walk'
grep -v stressng "$tmp/package/results.csv" >"$tmp/none.csv"
mkdir "$tmp/none"
mv "$tmp/none.csv" "$tmp/none/results.csv"
run init "$tmp/bare"
import_package "$tmp/bare" "$tmp/none"
evaluate -C "$tmp/bare" "$tmp/pairs.json"
expect_status 0
expect_json .methods.walk.scored 0
expect_json '.pairs[0].decision' regression

# ---- the recorded machines ----

[ -f "${ASSAY_QUIHO:-}/results.csv" ] || finish
what='the recorded machines: the published walk takes nearly all unchanged pairs for changed'
lab=$tmp/recorded
run init "$lab"
import_package "$lab" "$ASSAY_QUIHO" "$ASSAY_QUIHO/types.csv"
{
	comma='['
	for application in comd lulesh minife miniamr hpccg scikit-learn mysqlslap/innodb_load mysqlslap/memory_load; do
		echo "$comma"'{"baseline": {"application": "'$application'", "repetitions": [1]}, "changed": false,'
		echo '"candidate": {"application": "'$application'", "repetitions": [2, 3]}}'
		comma=,
	done
	echo ',{"baseline": "mysqlslap/innodb_load", "candidate": "mysqlslap/memory_load", "changed": true}]'
} >"$tmp/pairs.json"
evaluate -C "$lab" "$tmp/pairs.json"
expect_status 0
expect_json .methods.gate.false_positives.flagged 0
expect_json .methods.gate.false_positives.pairs 8
expect_json .methods.gate.true_positives.flagged 1
cases=$((cases + 1))
[ "$(json .methods.walk.false_positives.flagged)" -ge 6 ] || fail 'the walk should take most unchanged pairs for changed'

finish
