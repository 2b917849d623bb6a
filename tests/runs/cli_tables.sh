#!/bin/sh
# `result export`: everything in the store as tables, read back by Python's own reader and counted against the store.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v python3 >/dev/null || skip 'there is no python3'

run_lab lab
make_package "$tmp/package" 3 4
import_package "$lab" "$tmp/package"
expect_status 0
sed -i 's/^inputs:.*/inputs: { x: { arguments: [0.01] }, "y \\"z": { arguments: [0.02] } }/; $a environment: { MY_TOKEN: "hush-hush" }' "$lab/apps/tiny.yaml"
run -C "$lab" run tiny --quiet
expect_status 0

what='tables'
run -C "$lab" result export "$tmp/tables"
expect_status 0
expect_no_stderr
expect_stdout machines.csv results.csv executions.csv
cases=$((cases + 1))
grep -rq hush-hush "$tmp/tables" && fail 'a secret is in a table'
cases=$((cases + 1))
python3 - "$tmp/tables" "$lab/.assay/runs.db" <<'END' || fail 'the tables are not what the store has'
import csv, sqlite3, sys
directory, path = sys.argv[1:]
store = sqlite3.connect(path)
table = lambda name: list(csv.DictReader(open(directory + "/" + name, newline="")))
rates, results, executions = table("machines.csv"), table("results.csv"), table("executions.csv")
assert sorted(float(r["rate"]) for r in rates) == sorted(v for v, in store.execute("SELECT per_s FROM rate"))
assert sorted((r["application"], r["version"], float(r["result"])) for r in results) == sorted(store.execute("SELECT application, version, metric FROM run"))
assert {r["direction"] for r in results} == {"lower"} and {r["exit_status"] for r in results} == {"ok"}
assert sorted((r["input"], int(r["wall_ns"]), int(r["voluntary_switches"])) for r in executions) == sorted(
    store.execute("SELECT input, wall_ns, json_extract(signature, '$.voluntary_switches') FROM execution"))
assert 'y "z' in {r["input"] for r in executions}
assert list(results[0]) == ["application", "version", "machine", "time", "repetition", "ordinal", "result", "direction", "fingerprint", "plan", "exit_status"]
known = {r["fingerprint"] for r in rates}
assert any(r["fingerprint"] for r in results) and all(r["fingerprint"] in known for r in results if r["fingerprint"])
END
cp -r "$tmp/tables" "$tmp/again"
run -C "$lab" result export "$tmp/again"
expect_same_files "$tmp/tables/executions.csv" "$tmp/again/executions.csv"

what=refused
run -C "$lab" result export "$tmp/no/where"
refused 1 'no/where'

what='what was exported can be imported'
run init "$tmp/copy"
run -C "$tmp/copy" host import "$tmp/tables/machines.csv"
expect_status 0
run -C "$tmp/copy" result import "$tmp/tables/results.csv" --columns 'ignore=*'
expect_status 0
run -C "$tmp/copy" result export "$tmp/copied"
cases=$((cases + 1))
for table in machines results; do # but for plans, and for fingerprints of what was measured here, which an import does not know
	cut -d , -f 2-5,11-14 "$tmp/tables/$table.csv" >"$tmp/first"
	cut -d , -f 2-5,11-14 "$tmp/copied/$table.csv" | cmp -s - "$tmp/first" || fail "$table.csv is not the same"
done

what='what failed still fails where the tables are imported'
cat >"$lab/apps/frail.yaml" <<'END'
command: [sh, -c, 'case {version}-$(cat /proc/sys/kernel/random/uuid) in frail-[0-7]*) exit 3 ;; none-*) kill -9 $$ ;; esac; echo cost 5']
versions: { good: , frail: , none: }
repetitions: 12
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)', direction: higher }
END
run -C "$lab" run frail --quiet
printf 'application,version,machine,time,result,exit_status\n' >"$tmp/rows.csv"
for n in 0 1 2 3 4 5 6 7; do
	printf 'rows,a,m,2026-11-01T02:0%s:00Z,1.0%s,0\nrows,b,m,2026-11-01T02:0%s:30Z,%s\n' $n $n $n "$([ $n -lt 5 ] && echo 1,0 || echo ,137)"
done >>"$tmp/rows.csv"
run -C "$lab" result import "$tmp/rows.csv"
run -C "$lab" result export "$tmp/failing"
run init "$tmp/elsewhere"
for again in 1 2; do
	run -C "$tmp/elsewhere" result import "$tmp/failing/results.csv" --columns 'ignore=*'
	expect_status 0
done
for laboratory in "$lab" "$tmp/elsewhere"; do
	run -C "$laboratory" result list --format json
	/usr/bin/python3 - "$tmp/out" <<'END'
import json, sys
for a in json.load(open(sys.argv[1]))["applications"]:
    print(a["application"], a["version"], a["results"], a["failed"], a["higher_is_better"])
END
done >"$tmp/lists"
cases=$((cases + 1))
[ "$(sort "$tmp/lists" | uniq -u)" = '' ] || fail "not the same: $(sort "$tmp/lists" | uniq -u)"
holds "$tmp/lists" 'the versions' 'frail none 0 12 True' 'rows b 5 3 False'
run -C "$tmp/elsewhere" gate frail@good frail@none
expect_status 3
run -C "$tmp/elsewhere" gate rows@a rows@b
expect_status 4
finish
