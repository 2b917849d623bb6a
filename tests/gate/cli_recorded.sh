# What a user does with the recorded machines of the quiho experiments: import them, look at them, export. cli_recorded_decided.sh goes on with
# them.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

[ -f "${ASSAY_QUIHO:-}/results.csv" ] || skip "the recorded machines are not there (ASSAY_QUIHO=${ASSAY_QUIHO:-})"
lab=$tmp/lab

# ---- import ----

what=import
run init "$lab"
expect_status 0
import_package "$lab" "$ASSAY_QUIHO" "$ASSAY_QUIHO/types.csv"
expect_status 0
expect_no_stderr
expect_stdout '16897 rows' '105 new, 0 known before, of 51 machines' '16897 rates new' '785 rates are kept as "recorded 0, not measured"' \
	'51 files written' '5881 new, 0 known before'
tables=$tmp/of_package

what='import twice'
cp -R "$lab/machines" "$tmp/machines"
export_to "$tmp/export"
run -C "$lab" host import "$tables/machines.csv" --format json
expect_status 0
expect_json .rows 16897
expect_json .fingerprints_added 0
expect_json .fingerprints_known 105
expect_json .rates_added 0
expect_json .rates_known 16897
expect_json .results_without_fingerprint 0
expect_json .catalog_files_written 0
run -C "$lab" result import "$tables/results.csv" --format json
expect_status 0
expect_json .results_added 0
expect_json .results_known 5881
cases=$((cases + 1))
diff -r "$lab/machines" "$tmp/machines" >/dev/null || fail 'the catalog changed'
export_to "$tmp/now"
expect_same_files "$tmp/now" "$tmp/export"

what='what was recorded before may not be changed by an import'
awk -F, -v OFS=, 'NR == 2 { $5 = 1 } { print }' "$tables/machines.csv" >"$tmp/changed.csv"
run -C "$lab" host import "$tmp/changed.csv"
refused 2 'changed.csv:2' af-alg 'stored'
export_to "$tmp/now"
expect_same_files "$tmp/now" "$tmp/export"

# ---- catalog ----

what='host list'
run -C "$lab" host list
expect_status 0
expect_stdout scruffy.soe.ucsc.edu quiho-2017 '51 machines, 105 fingerprints, 22 hardware types'
what='host show'
run -C "$lab" host show issdm-41
expect_status 0
expect_stdout issdm-41 'quiho-2017, stress-ng unknown' 't01 (given by machines.csv)' 'recorded 0' stackmmap
run -C "$lab" host show issdm-41 --format json
expect_json '.fingerprints[0].rates.oom-pipe.not_measured' 'recorded 0'
expect_json '.fingerprints[0].stress_ng' unknown
what='host list --types'
run -C "$lab" host list --types --format json
expect_json .types 22
expect_json '.types[0].name' t01
expect_json '.types[0].members[0].machine' issdm-0
what='host list --types without --types'
run init "$tmp/untyped"
import_package "$tmp/untyped" "$ASSAY_QUIHO"
expect_status 0
run -C "$tmp/untyped" host list --types --format json
expect_status 0
expect_json .types 22
what='check'
run -C "$lab" check
expect_status 0
expect_stdout 'No problems: 51 machines, 105 fingerprints'

# ---- runs ----

what='result list'
run -C "$lab" result list --format json
expect_status 0
expect_json .applications 60
run -C "$lab" result list
cases=$((cases + 1))
awk '$1 == "stream/add-1" && $2 == "imported" && $3 == "higher" && $4 == 138 && $5 == 30' "$tmp/out" | grep -q . ||
	fail 'stream/add-1 imported higher 138 30'
awk '$1 == "hpccg" && $2 == "imported" && $3 == "lower" && $4 == 60 && $5 == 20' "$tmp/out" | grep -q . ||
	fail 'hpccg imported lower 60 20'
what='result show'
run -C "$lab" result show hpccg
expect_status 0
expect_stdout 'hpccg@imported, lower is better' issdm-0 t01

what='export, import, export'
run -C "$lab" result export "$tmp/first"
run init "$tmp/second"
run -C "$tmp/second" host import "$tmp/first/machines.csv"
expect_status 0
run -C "$tmp/second" result import "$tmp/first/results.csv" --columns 'ignore=*'
expect_status 0
run -C "$tmp/second" result export "$tmp/again"
for table in machines results executions; do
	expect_same_files "$tmp/first/$table.csv" "$tmp/again/$table.csv"
done

finish
