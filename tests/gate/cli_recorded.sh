# What a user does with the recorded machines of the quiho experiments: import them, look at them, profile, decide.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

[ -f "${ASSAY_QUIHO:-}/results.csv" ] || skip "the recorded machines are not there (ASSAY_QUIHO=${ASSAY_QUIHO:-})"
lab=$tmp/lab

# ---- import ----

what=import
run init "$lab"
expect_status 0
run -C "$lab" import quiho "$ASSAY_QUIHO" --types "$ASSAY_QUIHO/types.csv"
expect_status 0
expect_no_stderr
expect_stdout '23751 rows' '105 new, 0 known before, of 51 machines' '16897 rates new' '6854 new, 0 known before' \
	'785 rates are kept as "recorded 0, not measured"' '105 rows of' '51 files written'

what='import twice'
cp -R "$lab/machines" "$tmp/machines"
run -C "$lab" runs export --csv
cp "$tmp/out" "$tmp/export"
run -C "$lab" import quiho "$ASSAY_QUIHO" --types "$ASSAY_QUIHO/types.csv" --format json
expect_status 0
expect_json .rows 23751
expect_json .fingerprints_added 0
expect_json .fingerprints_known 105
expect_json .rates_added 0
expect_json .rates_known 16897
expect_json .results_added 0
expect_json .results_known 6854
expect_json .applications 60
expect_json .catalog_files_written 0
cases=$((cases + 1))
diff -r "$lab/machines" "$tmp/machines" >/dev/null || fail 'the catalog changed'
run -C "$lab" runs export --csv
expect_same_files "$tmp/out" "$tmp/export"

what='what was recorded before may not be changed by an import'
mkdir "$tmp/changed"
sed '2s/[^,]*$/1/' "$ASSAY_QUIHO/results.csv" >"$tmp/changed/results.csv"
run -C "$lab" import quiho "$tmp/changed"
refused 2 'results.csv:2' af-alg 'stored'
run -C "$lab" runs export --csv
expect_same_files "$tmp/out" "$tmp/export"

# ---- catalog ----

what='catalog list'
run -C "$lab" catalog list
expect_status 0
expect_stdout scruffy.soe.ucsc.edu quiho-2017 '51 machines, 105 fingerprints, 22 hardware types'
what='catalog show'
run -C "$lab" catalog show issdm-41
expect_status 0
expect_stdout issdm-41 'quiho-2017, stress-ng unknown' 't01 (given by types.csv)' 'recorded 0' stackmmap
run -C "$lab" catalog show issdm-41 --format json
expect_json '.fingerprints[0].rates.oom-pipe.not_measured' 'recorded 0'
expect_json '.fingerprints[0].stress_ng' unknown
what='catalog types'
run -C "$lab" catalog types --format json
expect_json .types 22
expect_json '.types[0].name' t01
expect_json '.types[0].members[0].machine' issdm-0
what='catalog types without --types'
run init "$tmp/untyped"
run -C "$tmp/untyped" import quiho "$ASSAY_QUIHO"
expect_status 0
run -C "$tmp/untyped" catalog types --format json
expect_status 0
expect_json .types 22
what='catalog check'
run -C "$lab" catalog check
expect_status 0
expect_stdout 'All is well: 51 machines, 105 fingerprints'

# ---- runs ----

what='runs list'
run -C "$lab" runs list --format json
expect_status 0
expect_json .applications 60
run -C "$lab" runs list
cases=$((cases + 1))
awk '$1 == "stream/add-1" && $2 == "imported" && $3 == "higher" && $4 == 138 && $5 == 30' "$tmp/out" | grep -q . ||
	fail 'stream/add-1 imported higher 138 30'
awk '$1 == "hpccg" && $2 == "imported" && $3 == "lower" && $4 == 60 && $5 == 20' "$tmp/out" | grep -q . ||
	fail 'hpccg imported lower 60 20'
what='runs show'
run -C "$lab" runs show hpccg
expect_status 0
expect_stdout 'hpccg@imported, lower is better' issdm-0 t01
what='the direction of a metric is kept'
mkdir "$tmp/fewer"
awk -F, 'NR == FNR { if ($5 == "hpccg") ran[$6]; next } FNR == 1 || $6 in ran' "$ASSAY_QUIHO/results.csv" "$ASSAY_QUIHO/results.csv" >"$tmp/fewer/results.csv"
run init "$tmp/some"
run -C "$tmp/some" import quiho "$tmp/fewer"
expect_status 0
cp -R "$tmp/some" "$tmp/direction"
run -C "$tmp/direction" import quiho "$tmp/fewer" --higher-is-better 'mini*' --lower-is-better 'minif?'
for row in miniamr:true miniaero:true minife:false stream/add-1:true comd:false; do
	run -C "$tmp/direction" runs show "${row%:*}" --format json
	expect_json .higher_is_better "${row#*:}"
done

what='export, import, export'
run -C "$lab" runs export --csv -o "$tmp/exported.csv"
expect_status 0
expect_no_stdout
expect_same_files "$tmp/export" "$tmp/exported.csv"
mkdir "$tmp/exported" "$tmp/reversed"
run -C "$tmp/some" runs export --csv -o "$tmp/exported/results.csv"
run init "$tmp/second"
run -C "$tmp/second" import quiho "$tmp/exported"
expect_status 0
run -C "$tmp/second" runs export --csv
expect_same_files "$tmp/out" "$tmp/exported/results.csv"
for command in 'runs list' 'catalog list' 'profile hpccg --format json'; do
	# shellcheck disable=SC2086
	run -C "$tmp/some" $command
	cp "$tmp/out" "$tmp/first"
	# shellcheck disable=SC2086
	run -C "$tmp/second" $command
	expect_same_files "$tmp/out" "$tmp/first"
done

what='the order of rows in the file changes nothing'
{ head -n 1 "$tmp/exported/results.csv" && tail -n +2 "$tmp/exported/results.csv" | tac; } >"$tmp/reversed/results.csv"
run init "$tmp/backwards"
run -C "$tmp/backwards" import quiho "$tmp/reversed"
expect_status 0
run -C "$tmp/backwards" runs export --csv
expect_same_files "$tmp/out" "$tmp/exported/results.csv"
cases=$((cases + 1))
diff -r "$tmp/backwards/machines" "$tmp/second/machines" >/dev/null || fail 'the catalog differs'

# ---- profile ----

# name in the laboratory, name in oracle.json, rows, machines, hardware types
while read -r app name rows machines types; do
	what="profile $app"
	run -C "$lab" profile "$app" --model paper --format json
	expect_status 0
	expect_no_stderr
	for key in application version rows machines hardware_types features train_mse importances_sum importances_per_tree tied_per_split; do
		cases=$((cases + 1))
		json ".$key" >/dev/null || fail "no key $key"
	done
	expect_json .application "$app"
	expect_json .version imported
	expect_json .rows "$rows"
	expect_json .machines "$machines"
	expect_json .hardware_types "$types"
	expect_json .features 43
	expect_json .train_mse 7
	expect_json .importances_sum 43
	expect_json .importances_per_tree 43
	for stage in 1 2 3 10 100 500 1000; do
		expect_near ".train_mse.$stage" "$("$ASSAY_JSON" ".apps.$name.train_mse_at.$stage" <"$ASSAY_QUIHO/oracle.json")" 1e-9
	done
	expect_json .rows "$("$ASSAY_JSON" ".apps.$name.n" <"$ASSAY_QUIHO/oracle.json")"
	cp "$tmp/out" "$tmp/first"
	run -C "$lab" profile "$app@imported" --model paper --format json
	expect_same_files "$tmp/out" "$tmp/first"
	run -C "$lab" profile "$app" --model paper
	expect_status 0
	expect_stdout "$app@imported" 'published method, unvalidated' "from $types hardware types" 'features tied a split'
done <<END
hpccg hpccg 60 20 9
stream/add-1 add-1 136 30 14
END

what='passes that lack a stressor are left out, and that is said'
for model in paper time; do
	run -C "$lab" profile stream/add-1 --model $model --format json
	expect_json .left_out.incomplete_fingerprint 2
	expect_json .rows 136
	run -C "$lab" profile stream/add-1 --model $model
	expect_stdout '2 results: its fingerprint lacks a stressor'
done

# ---- gate: one engine against another ----

what='gate innodb against memory'
run -C "$lab" gate mysqlslap/innodb_load mysqlslap/memory_load --format json
expect_status 0
expect_json .decision improved
expect_json '.resources[0].stressor' msync
expect_json '.resources[1].stressor' stackmmap
expect_near '.resources[0].correlation' .99 .04
expect_json .machines 21
expect_json '.machines[0].used' true
forward=$(json .effect.ratio) low=$(json .effect.low)
cases=$((cases + 1))
awk -v p="$(json '.resources[0].p')" 'BEGIN { exit !(p < .01) }' || fail 'msync should be beyond chance'
what='gate memory against innodb'
run -C "$lab" gate mysqlslap/memory_load mysqlslap/innodb_load --format json
expect_status 3
expect_json .decision regression
expect_json '.reasons[0].code' slower
expect_near .effect.ratio "$(awk -v r="$forward" 'BEGIN { printf "%.17g", 1 / r }')" 1e-9
expect_near .effect.high "$(awk -v r="$low" 'BEGIN { printf "%.17g", 1 / r }')" 1e-9
run -C "$lab" gate mysqlslap/memory_load mysqlslap/innodb_load
expect_status 3
expect_stdout 'regression  mysqlslap/innodb_load@imported costs ' ' times as much as mysqlslap/memory_load@imported (' 'from 10 hardware types'
what='gate of two directions'
run -C "$lab" gate hpccg stream/add-1
refused 2 'higher is better for' 'stream/add-1' 'hpccg'
what='gate of a version with itself'
run -C "$lab" gate hpccg hpccg --format json
expect_status 0
expect_json .decision pass
expect_json .effect.ratio 1
cases=$((cases + 1))
grep -q 'hpccg@imported is compared with itself' "$tmp/err" || fail 'a remark on standard error'

# ---- gate: identical halves ----

# Repetition 1 as version a and repetition 3 as version b, on all fingerprints; and a version c that has half the bandwidth of b.
mkdir "$tmp/halves"
awk -F, -v OFS=, '
NR == 1 { print $0, "version"; next }
$5 == "stressng" { print $0, ""; next }
$7 == 1 { print $0, "a" }
$7 == 3 { print $0, "b" }
$7 == 3 && $5 == "stream" { $9 /= 2; print $0, "c" }' "$ASSAY_QUIHO/results.csv" >"$tmp/halves/results.csv"
what='import of halves'
run init "$tmp/lab3"
run -C "$tmp/lab3" import quiho "$tmp/halves" --types "$ASSAY_QUIHO/types.csv"
expect_status 0
for app in hpccg scikit-learn comd lulesh minife mysqlslap/innodb_load stream/add-1; do
	what="gate on identical halves of $app"
	run -C "$tmp/lab3" gate "$app@a" "$app@b" --format json
	decision=$(json .decision)
	echo "$what: $decision, ratio $(json .effect.ratio) [$(json .effect.low), $(json .effect.high)]," \
		"detectable $(json .minimum_detectable_effect)"
	cases=$((cases + 1))
	case $decision:$status in
	pass:0 | inconclusive:4) ;;
	*) fail 'pass (0) or inconclusive (4) expected' ;;
	esac
	run -C "$tmp/lab3" gate "$app@b" "$app@a" --format json
	decision=$(json .decision)
	cases=$((cases + 1))
	case $decision:$status in
	pass:0 | inconclusive:4) ;;
	*) fail 'pass (0) or inconclusive (4) expected, reversed' ;;
	esac
done
what='half the bandwidth is a regression'
run -C "$tmp/lab3" gate stream/add-1@b stream/add-1@c --format json
expect_status 3
expect_json .decision regression
expect_near .effect.ratio 2 1e-4

what='categories of the page are those of the profile'
run -C "$lab" report stream/add-1 stream/add-1 -o "$tmp/same.html" # groups of several categories
run -C "$lab" profile stream/add-1
sums=$(sed -n 's/^By main category: //p' "$tmp/out")
cases=$((cases + 1))
[ -n "$sums" ] || fail "the profile has no line of categories: $(cat "$tmp/out")"
printf '%s\n' "$sums" | sed 's/, /\n/g' | while read -r sum; do
	grep -q "aria-label=\"[^\"]*$sum" "$tmp/same.html" || echo "$sum"
done >"$tmp/missing"
[ ! -s "$tmp/missing" ] || fail "not on the page: $(cat "$tmp/missing")"

what='a selector without version where several exist'
run -C "$tmp/lab3" gate hpccg hpccg@b
refused 2 'hpccg@VERSION' 'a, b'

finish
