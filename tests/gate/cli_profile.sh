# Profiles that say how far they can be trusted, and predictions, on the recorded machines.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# ---- few machines: what can be said without recorded ones ----

what='two machines are never trusted'
make_package "$tmp/two" 2 5
run init "$tmp/lab2"
import_package "$tmp/lab2" "$tmp/two"
run -C "$tmp/lab2" profile app/slow@1.0 --format json
expect_status 0
expect_json .trust.verdict 'not identifiable'
expect_json '.trust.reasons[0].code' too_few_types
expect_json .q2 null
expect_json .groups 0
run -C "$tmp/lab2" profile app/slow@1.0
expect_status 0
expect_stdout 'not identifiable' 'run it on'
run -C "$tmp/lab2" predict app/slow@1.0 --machine node01 --format json # of two types the mean, and an interval that nobody can miss
expect_status 0
expect_json .hardware_types 2 .modelled false .q2 null .mape null .stressors 0
cases=$((cases + 1))
echo "$(json .low) $(json .value) $(json .high)" | awk '{ exit !($3 / $1 > 2 && $2 > 1000 / 180 && $2 < 1000 / 140) }' || fail 'the mean of two types'
run -C "$tmp/lab2" predict app/slow@1.0 --machine node01
expect_status 0
expect_stdout 'from 2 hardware types' 'this is their mean'
make_package "$tmp/one" 1 5
run init "$tmp/lab1"
import_package "$tmp/lab1" "$tmp/one"
run -C "$tmp/lab1" predict app/slow@1.0 --machine node01
refused 6 'a prediction needs 2; run it on 1 more'

what='six machines: indicative at most, and still a profile'
make_package "$tmp/six" 6 5
run init "$tmp/lab6"
import_package "$tmp/lab6" "$tmp/six"
run -C "$tmp/lab6" profile app/slow@1.0 --format json
expect_status 0
expect_json_parses
expect_json '.trust.reasons[0].code' too_few_types
expect_json .hardware_types 6
cases=$((cases + 1))
[ "$(json .trust.verdict)" != trusted ] || fail 'six types are too few for trust'

[ -f "${ASSAY_QUIHO:-}/results.csv" ] || { echo "the recorded machines are not there (ASSAY_QUIHO=${ASSAY_QUIHO:-}): only a part was tested"; finish; }

# ---- the recorded machines ----

lab=$tmp/lab
run init "$lab"
import_package "$lab" "$ASSAY_QUIHO" "$ASSAY_QUIHO/types.csv"
expect_status 0

what='the members of the JSON'
run -C "$lab" profile hpccg --format json
expect_status 0
expect_no_stderr
for key in application version rows machines hardware_types effective_rank trust.verdict trust.reasons q2 mape unexplained.share \
	'groups[0].name' 'groups[0].categories' 'groups[0].members' 'groups[0].share' 'groups[0].share_low' 'groups[0].share_high' \
	'groups[0].share_min' 'groups[0].share_max' 'groups[0].importance' 'groups[0].rank' 'groups[0].first_probability' \
	'features[0].name' 'features[0].group' 'features[0].importance'; do
	cases=$((cases + 1))
	json ".$key" >/dev/null || fail "no key $key"
done
expect_json .rows 60
expect_json .machines 20
expect_json .hardware_types 9
expect_json .features 41
expect_json .dropped 2
expect_json '.groups[0].rank' 1

what='shares sum to one'
total=$(json .unexplained.share)
n=$(json .groups)
i=0
while [ "$i" -lt "$n" ]; do
	total=$(echo "$total $(json ".groups[$i].share")" | awk '{ printf "%.17g", $1 + $2 }')
	i=$((i + 1))
done
cases=$((cases + 1))
near "$total" 1 1e-12 || fail "the sum is $total"

what='the same bits again, from one processor too'
cp "$tmp/out" "$tmp/first"
run -C "$lab" profile hpccg --format json
expect_same_files "$tmp/out" "$tmp/first"
if command -v taskset >/dev/null; then
	taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$ASSAY" -C "$lab" profile hpccg --format json >"$tmp/out" 2>"$tmp/err"
	expect_same_files "$tmp/out" "$tmp/first"
fi

what='what waits for the disk is known by its msync'
run -C "$lab" profile mysqlslap/innodb_load --format json
expect_json .trust.verdict trusted
expect_json '.groups[0].members[0]' msync

what='only large shares are ranked'
expect_json '.groups[0].rank' 1
expect_json '.groups[1].rank' 2
expect_json '.groups[17].rank' 2

what='better than a third, where the paper is at .55'
expect_near .mape .195 .2

what='for people'
run -C "$lab" profile miniaero --top 3
expect_status 0
expect_stdout 'how miniaero@imported spends its time, because '
expect_stdout 'not identifiable' 'on held-out hardware types' 'are tied' '(unexplained)' 'other groups'
run -C "$lab" profile mysqlslap/innodb_load
expect_stdout 'mysqlslap/innodb_load@imported spends about ' '); trusted'
run -C "$lab" profile hpccg
expect_stdout '); indicative because '
run -C "$lab" profile hpccg --resamples 0
refused 2 --resamples
run -C "$lab" profile hpccg --model nope
refused 2 "--model must be time or paper, not 'nope'"

# ---- predict ----

what=predict
run -C "$lab" predict stream/add-1 --machine scruffy.soe.ucsc.edu --format json
expect_status 0
expect_json .higher_is_better true
expect_json .level 0.9
expect_json .hardware_types 14
cases=$((cases + 1))
echo "$(json .low) $(json .value) $(json .high)" | awk '{ exit !($1 > 0 && $1 < $2 && $2 < $3) }' || fail 'low < value < high'
run -C "$lab" predict miniamr --machine issdm-41
expect_status 0
expect_stdout 'miniamr@imported on issdm-41: ' '90 % interval' 'hardware types'
run -C "$lab" predict hpccg --machine issdm-41 --format json
expect_status 0
expect_json .hardware_types 9 .modelled true
run -C "$lab" predict comd --machine nowhere
refused 2 "no machine 'nowhere'"
run -C "$lab" predict comd
refused 2 '--machine MACHINE'

# ---- suggest ----

what='suggest'
run -C "$lab" suggest hpccg --format json
expect_status 0
expect_json .hardware_types 9
expect_json .machines 8
expect_json_parses
cases=$((cases + 1))
echo "$(json '.machines[0].gain') $(json '.machines[7].gain')" | awk '{ exit !($1 >= $2 && $1 > 0 && $1 < 1) }' || fail 'the most useful first'
run -C "$lab" suggest hpccg --top 2
expect_stdout 'sharper by' 'where to run it next'
first=$(run -C "$lab" suggest hpccg --format json; json '.machines[0].machine')
run -C "$lab" host retire "$first" --reason test
expect_status 0
run -C "$lab" suggest hpccg --format json
cases=$((cases + 1))
[ "$(json '.machines[0].machine')" != "$first" ] || fail 'a retired machine is not suggested'
run -C "$tmp/lab2" suggest app/slow@1.0
expect_status 0
expect_stdout 'already ran it'
cases=$((cases + 1))
! grep -q 'where to run it next\|come first' "$tmp/out" || fail 'nothing follows'
run -C "$lab" suggest nope
refused 2 nope

finish
