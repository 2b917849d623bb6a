"""The table of tests/evidence/oracle.sh: PROGRAM LABORATORY ORACLE."""
import json
import subprocess
import sys

program, lab, oracle_path = sys.argv[1:]
oracle = json.load(open(oracle_path))


def ask(*words):
    done = subprocess.run([program, "-C", lab, *words, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


rows = []
for listed in ask("result", "list")["applications"]:
    name = listed["application"]
    expected = oracle["apps"][name.split("/")[-1]]
    got = ask("profile", name, "--model", "paper")
    if got["features"] != oracle["features"] or got["rows"] != expected["n"]:
        sys.exit(f"{name}: other rows or features than the oracle")
    mse = max(abs(got["train_mse"][k] / v - 1) for k, v in expected["train_mse_at"].items())
    mean = expected.get("imp_per_tree_norm_mean20")
    importances = [got["importances_per_tree"][f] for f in oracle["features"]]
    distance = sum(abs(a - b) for a, b in zip(importances, mean)) if mean else None
    rows.append((name, got["rows"], got["hardware_types"], mse, distance, got["tied_per_split"], got["ambiguous_splits"]))

print("| application | rows | hardware types | training error, relative difference | importances, L1 | tied a split | ambiguous splits |")
print("| --- | --- | --- | --- | --- | --- | --- |")
for name, n, types, mse, distance, tied, ambiguous in rows:
    shown = f"{distance:.3f}" if distance is not None else ""
    print(f"| {name} | {n} | {types} | {mse:.1e} | {shown} | {tied:.1f} | {ambiguous} |")
close = [r for r in rows if r[3] <= 1e-9]
far = [r[0] for r in rows if r[3] > 1e-9]
print()
print(f"{len(close)} of {len(rows)} applications meet the training error within 1e-9 relative at all seven stages (largest "
      f"{max(r[3] for r in close):.1e}). The others are near-ties: {', '.join(far)}.")
