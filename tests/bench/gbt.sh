#!/bin/sh
# CPU seconds of one fit of boosted trees, ours and scikit-learn's in turn (A B A B ...), single thread:
#   sh gbt.sh PATH-OF-bench_gbt DATA-DIRECTORY ROUNDS
# Fails unless both end with the same training error (1e-6 relative): a benchmark that timed something else is no benchmark.
# A Markdown table on stdout, then every sample. PYTHON is the interpreter that has scikit-learn.
set -eu

if [ $# -ne 3 ]; then
	echo "usage: gbt.sh PATH-OF-bench_gbt DATA-DIRECTORY ROUNDS" >&2
	exit 2
fi
bench=$1
matrix=$2/matrix.csv
rounds=$3
here=$(dirname "$0")
python=${PYTHON:-/usr/bin/python3}
samples=$(mktemp)
trap 'rm -f "$samples"' EXIT

for application in hpccg add-1; do
	round=0
	while [ "$round" -lt "$rounds" ]; do
		for program in "$bench" "$python $here/gbt_peer.py"; do
			printf '%s\t' "$application" >> "$samples"
			# shellcheck disable=SC2086 # an interpreter and its script are two words
			$program "$matrix" "$application" 1 >> "$samples"
		done
		round=$((round + 1))
	done
done

"$python" - "$samples" << 'EOF'
import json
import statistics
import sys

runs = {}
with open(sys.argv[1]) as file:
    for line in file:
        application, text = line.split("\t")
        run = json.loads(text)
        side = "assay" if run["program"] == "assay" else "peer"
        runs.setdefault(application, {"assay": [], "peer": []})[side].append(run)

name = next(iter(runs.values()))["peer"][0]["program"]
print(f"| application | rows x features | assay, s (median) | {name}, s (median) | ratio | training MSE, relative difference |")
print("| --- | --- | --- | --- | --- | --- |")
for application, sides in runs.items():
    first = {side: sides[side][0] for side in sides}
    seconds = {side: [s for run in sides[side] for s in run["seconds"]] for side in sides}
    middle = {side: statistics.median(seconds[side]) for side in seconds}
    off = max(abs(a["train_mse"] / b["train_mse"] - 1) for a in sides["assay"] for b in sides["peer"])
    if off > 1e-6 or first["assay"]["rows"] != first["peer"]["rows"]:
        sys.exit(f"gbt.sh: {application}: not the same fit: rows {first['assay']['rows']} and {first['peer']['rows']}, "
                 f"training errors differ by {off:.3g}")
    sides["seconds"] = seconds
    print(f"| {application} | {first['assay']['rows']} x 43 | {middle['assay']:.4f} | {middle['peer']:.4f} "
          f"| 1/{middle['peer'] / middle['assay']:.0f} | {off:.1e} |")
print()
for application, sides in runs.items():
    for side in ("assay", "peer"):
        print(f"{application}, {side}, every sample in s:", *sides["seconds"][side])
EOF
