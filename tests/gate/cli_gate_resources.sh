# Which resources a change concerns, as assay gate says; the order of repetitions.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# ---- what can be said without recorded machines ----

make_package "$tmp/many" 8 12
run init "$tmp/lab"
import_package "$tmp/lab" "$tmp/many"
what='one selector'
run -C "$tmp/lab" gate app/slow@1.0
refused 2 'CANDIDATE'
what='a number that is none'
run -C "$tmp/lab" gate app/slow@1.0 app/slow@1.1 --top none
refused 2 '--top'
what='the change, beside the decision'
run -C "$tmp/lab" gate app/slow@1.0 app/slow@1.1
expect_status 3
expect_no_stderr
expect_stdout 'app/slow@1.1 costs 1.49 times as much as app/slow@1.0 (1.49 to 1.50)' 'kind of change  ' 'Inferred from how the machines differ' '(unexplained)'
cases=$((cases + 1))
[ "$(wc -l <"$tmp/out")" -le 48 ] || fail "more than a screen: $(wc -l <"$tmp/out") lines"
run -C "$tmp/lab" gate app/slow@1.0 app/slow@1.1 --format json
expect_status 3
expect_json_parses
expect_json .decision regression
expect_json '.absent[1].part' measured '.absent[1].code' no_times '.absent[3].part' functions '.absent[3].code' no_samples
for key in baseline.version effect.ratio change.kind change.p \
	'machines[0].ratio' contributions.total contributions.total_low \
	contributions.missing 'contributions.groups[0].name' 'contributions.groups[0].members' 'contributions.groups[0].before' \
	'contributions.groups[0].after' 'contributions.groups[0].change' 'contributions.groups[0].low' contributions.unexplained.high; do
	cases=$((cases + 1))
	json ".$key" >/dev/null || fail "no key $key"
done
what='so many groups'
run -C "$tmp/lab" gate app/slow@1.0 app/slow@1.1 --top 1
cases=$((cases + 1))
[ "$(sed -n '/^Inferred from how/,/(unexplained)/p' "$tmp/out" | grep -c ' %')" -le 4 ] || fail "more than one group: $(cat "$tmp/out")"
what='one machine'
make_package "$tmp/one" 1 5
run init "$tmp/lab1"
import_package "$tmp/lab1" "$tmp/one"
run -C "$tmp/lab1" gate app/slow@1.0 app/slow@1.1
expect_stdout 'not_tested' 'Not known: fewer than 4 hardware types'
what='no machine in common'
mkdir "$tmp/apart"
awk -F, 'NR == 1 || $5 == "stressng" || ($6 <= "node04") == ($10 == "1.0")' "$tmp/many/results.csv" >"$tmp/apart/results.csv"
run init "$tmp/lab0"
import_package "$tmp/lab0" "$tmp/apart"
run -C "$tmp/lab0" gate app/slow@1.0 app/slow@1.1
expect_status 6
run -C "$tmp/lab0" gate app/slow@1.0 app/slow@1.1 --format json
expect_status 6
expect_json .change.kind not_tested
expect_json .effect.ratio null

# batch N SLOWER: imports N applications, of which so many are 1.2 times as slow in version 1.1, into a new laboratory, and decides about the first.
batch() {
	run init "$tmp/batch-$1-$2"
	awk -v n="$1" -v slower="$2" 'BEGIN {
		print "application,version,machine,time,repetition,direction,result"
		for (a = 1; a <= n; a++)
			for (m = 1; m <= 6; m++)
				for (r = 1; r <= 3; r++)
					for (v = 0; v < 2; v++)
						printf "app%d,1.%d,node%d,1500000000,%d,lower,%.6f\n", a, v, m, r,
							(100 + 40 * m) * (v && a <= slower ? 1.2 : 1) * (1 + .001 * ((7 * r + 3 * m + v) % 5))
	}' >"$tmp/batch.csv"
	run -C "$tmp/batch-$1-$2" result import "$tmp/batch.csv"
	expect_status 0
	run -C "$tmp/batch-$1-$2" gate app1@1.0 app1@1.1 --format json
}
what='a batch of imports suspects itself: nearly all lean one way'
batch 5 5
expect_status 5
expect_json .decision environment '.reasons[0].code' findings_alike
what='three of five do not lean all one way'
batch 5 3
expect_status 3
expect_json .decision regression
what='three applications are no batch'
batch 3 3
expect_status 3
expect_json .decision regression

[ -f "${ASSAY_QUIHO:-}/results.csv" ] || { echo "the recorded machines are not there (ASSAY_QUIHO=${ASSAY_QUIHO:-}): only a part was tested"; finish; }

# ---- the recorded machines ----

# comd slowed everywhere, and with work on one stressor added: a quarter of its time times how slow the machine is at it. And
# fio/write-fiofile-4k-seq by repetitions, of which the first is slow nearly everywhere.
mkdir "$tmp/planted"
awk -F, -v OFS=, '
NR == FNR { if ($5 == "stressng" && $8 == "af-alg") rate[$6 "," $4 "," $7] = $9; next }
FNR == 1 { print $0, "version"; next }
$5 == "stressng" { print $0, ""; next }
$5 == "comd" {
	cost = $9
	print $0, "old"
	$9 = cost * 1.2; print $0, "slower"
	key = $6 "," $4 "," $7
	if (key in rate) { $9 = cost + 6e4 / rate[key]; print $0, "more" }
}
$5 == "fio" && $8 == "write-fiofile-4k-seq" {
	print $0, $7 == 1 ? "first" : "later"
	print $0, $7 == 2 ? "second" : "others"
	print $0, "all"
	$9 *= 1.0001; print $0, "again"
}' "$ASSAY_QUIHO/results.csv" "$ASSAY_QUIHO/results.csv" >"$tmp/planted/results.csv"
run init "$tmp/lab2"
import_package "$tmp/lab2" "$tmp/planted" "$ASSAY_QUIHO/types.csv"
expect_status 0

what='slower everywhere'
run -C "$tmp/lab2" gate comd@old comd@slower --format json
expect_status 3
expect_json .change.kind uniform
expect_near .contributions.total 0.2 1e-5
run -C "$tmp/lab2" gate comd@old comd@slower
expect_status 3
expect_stdout 'more or less of the same work'
expect_stdout 'no group has changed for certain'
cases=$((cases + 1))
[ "$(wc -l <"$tmp/out")" -le 48 ] || fail "more than a screen: $(wc -l <"$tmp/out") lines"
what='work on one resource added'
run -C "$tmp/lab2" gate comd@old comd@more --format json
expect_status 3
expect_json .change.kind other_resource
expect_json '.contributions.groups[0].members[0]' af-alg
expect_json '.contributions.leading[0]' "$(json '.contributions.groups[0].name')"
expect_json '.contributions.leading[1]' '(nothing)'
cases=$((cases + 1))
awk -v x="$(json .contributions.unexplained.change)" 'BEGIN { exit !(x * x < 1e-4) }' || fail 'nothing of it is unexplained'
cases=$((cases + 1))
awk -v low="$(json '.contributions.groups[0].low')" 'BEGIN { exit !(low > 0) }' || fail 'the group should be said to have grown'
cp "$tmp/out" "$tmp/first"
run -C "$tmp/lab2" gate comd@old comd@more --format json
expect_same_files "$tmp/first" "$tmp/out"
what='the other way round'
run -C "$tmp/lab2" gate comd@more comd@old --format json
expect_json .change.kind other_resource
expect_json '.contributions.leading[0]' "$(sed -n 's/^ *"name": *"\(.*af-alg.*\)",$/\1/p' "$tmp/first" | head -n 1)"

# The first repetition alone, and beside others: neither is a change of the version.
app=fio/write-fiofile-4k-seq
what='all of one side before the other'
run -C "$tmp/lab2" gate "$app@first" "$app@later" --format json
expect_status 4
cases=$((cases + 1))
grep -q '"order_confounded"' "$tmp/out" || fail 'no reason order_confounded'
what='one repetition between the others'
run -C "$tmp/lab2" gate "$app@second" "$app@others" --format json
expect_status 4
cases=$((cases + 1))
grep -q '"repetitions_drift"' "$tmp/out" || fail 'no reason repetitions_drift'
what='the same repetitions on both sides'
run -C "$tmp/lab2" gate "$app@all" "$app@again" --format json
expect_status 4 # for repetitions differ too much to tell
expect_json '.reasons[0].code' interval_too_wide
cases=$((cases + 1))
! grep -qE 'order_confounded|repetitions_drift' "$tmp/out" || fail 'their order is the same'

finish
