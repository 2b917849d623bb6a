# What a user does with the recorded machines of the quiho experiments: import them, look at them, export. cli_recorded_decided.sh goes on with
# them.
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

finish
