# What is concluded from the recorded machines of the quiho experiments: profiles as published, decisions of the gate, pages.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

[ -f "${ASSAY_QUIHO:-}/results.csv" ] || skip "the recorded machines are not there (ASSAY_QUIHO=${ASSAY_QUIHO:-})"
lab=$tmp/lab
run init "$lab"
import_package "$lab" "$ASSAY_QUIHO" "$ASSAY_QUIHO/types.csv"

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
	for stage in 1 3 100 1000; do
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
run -C "$lab" profile stream/add-1 --model paper
expect_stdout '2 results: its fingerprint lacks a stressor'
run -C "$lab" profile stream/add-1 --format json
expect_json .left_out.incomplete_fingerprint 2
expect_json .rows 136

# ---- gate: one engine against another ----

what='gate innodb against memory'
run -C "$lab" gate mysqlslap/innodb_load mysqlslap/memory_load --format json
expect_status 0
expect_json .decision improved
expect_json '.contributions.leading[0]' 'vm: msync, stackmmap'
expect_json .machines 21
expect_json '.machines[0].used' true
forward=$(json .effect.ratio) low=$(json .effect.low)
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

# Repetition 1 as version a and repetition 3 as version b, on all fingerprints; and a version c of one application that has half the bandwidth of b.
mkdir "$tmp/halves"
awk -F, -v OFS=, '
NR == 1 { print $0, "version"; next }
$5 == "stressng" { print $0, ""; next }
$7 == 1 { print $0, "a" }
$7 == 3 { print $0, "b" }
$7 == 3 && $5 == "stream" && $8 == "add-1" { $9 /= 2; print $0, "c" }' "$ASSAY_QUIHO/results.csv" >"$tmp/halves/results.csv"
what='import of halves'
run init "$tmp/lab3"
import_package "$tmp/lab3" "$tmp/halves" "$ASSAY_QUIHO/types.csv"
expect_status 0
# All of them, both ways: sh tests/run --evidence gate.
for row in hpccg@a:hpccg@b mysqlslap/innodb_load@b:mysqlslap/innodb_load@a stream/add-1@a:stream/add-1@b; do
	what="gate on identical halves, $row"
	run -C "$tmp/lab3" gate "${row%:*}" "${row#*:}" --format json
	decision=$(json .decision)
	echo "$what: $decision, ratio $(json .effect.ratio) [$(json .effect.low), $(json .effect.high)]," \
		"detectable $(json .minimum_detectable_effect)"
	cases=$((cases + 1))
	case $decision:$status in
	pass:0 | inconclusive:4) ;;
	*) fail 'pass (0) or inconclusive (4) expected' ;;
	esac
done
what='half the bandwidth is a regression'
run -C "$tmp/lab3" gate stream/add-1@b stream/add-1@c --format json
expect_status 3
expect_json .decision regression
expect_near .effect.ratio 2 1e-4

what='a selector without version where several exist'
run -C "$tmp/lab3" gate hpccg hpccg@b
refused 2 'hpccg@VERSION' 'a, b'

finish
