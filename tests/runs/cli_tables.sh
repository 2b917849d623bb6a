#!/bin/sh
# `runs export --tables`: everything in the store as tables, read back by Python's own reader and counted against the store.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v python3 >/dev/null || skip 'there is no python3'

run_lab lab
make_package "$tmp/package" 3 4
run -C "$lab" import quiho "$tmp/package"
expect_status 0
sed -i 's/^inputs:.*/inputs: { x: { arguments: [0.01] }, "y \\"z": { arguments: [0.02] } }/; $a environment: { MY_TOKEN: "hush-hush" }' "$lab/apps/tiny.yaml"
run -C "$lab" run tiny --quiet
expect_status 0

what='tables'
run -C "$lab" runs export --tables "$tmp/tables"
expect_status 0
expect_no_stderr
expect_stdout fingerprints.csv results.csv executions.csv
cases=$((cases + 1))
grep -rq hush-hush "$tmp/tables" && fail 'a secret is in a table'
cases=$((cases + 1))
python3 - "$tmp/tables" "$lab/.assay/runs.db" <<'END' || fail 'the tables are not what the store has'
import csv, sqlite3, sys
directory, path = sys.argv[1:]
store = sqlite3.connect(path)
table = lambda name: list(csv.DictReader(open(directory + "/" + name, newline="")))
rates, results, executions = table("fingerprints.csv"), table("results.csv"), table("executions.csv")
assert sorted(float(r["per_s"]) for r in rates) == sorted(v for v, in store.execute("SELECT per_s FROM rate"))
assert sorted((r["application"], r["version"], float(r["metric"])) for r in results) == sorted(store.execute("SELECT application, version, metric FROM run"))
assert {r["better"] for r in results} == {"lower"}
assert sorted((r["input"], int(r["wall_ns"]), int(r["voluntary_switches"])) for r in executions) == sorted(
    store.execute("SELECT input, wall_ns, json_extract(signature, '$.voluntary_switches') FROM execution"))
assert 'y "z' in {r["input"] for r in executions}
assert list(results[0]) == ["application", "version", "machine", "taken_ms", "repetition", "ordinal", "metric", "better", "fingerprint", "plan"]
known = {r["fingerprint"] for r in rates}
assert any(r["fingerprint"] for r in results) and all(r["fingerprint"] in known for r in results if r["fingerprint"])
END
cp -r "$tmp/tables" "$tmp/again"
run -C "$lab" runs export --tables "$tmp/again"
expect_same_files "$tmp/tables/executions.csv" "$tmp/again/executions.csv"

what=refused
run -C "$lab" runs export --tables "$tmp/no/where"
refused 1 'no/where'
run -C "$lab" runs export --tables "$tmp/tables" --csv
refused 2 '--tables'
finish
