#!/bin/sh
# Training of an autoencoder against PyTorch, in the same run; then a whole detection.
. tests/lib_evidence.sh
bench=build/release/tests/bench_autoencoder
peer="/usr/bin/python3 tests/bench/autoencoder_peer.py"
rounds=${ROUNDS:-7}

"$bench" data "$work/rows"
round=1
while [ "$round" -le "$rounds" ]; do
	"$bench" start "$round" >"$work/start"
	"$bench" fit "$work/rows" "$round" 1 >>"$work/samples"
	for loop in tensor tensor64 loader; do
		$peer "$work/rows" "$work/start" "$loop" 1 "$round" >>"$work/samples"
	done
	"$bench" fit "$work/rows" "$round" 2 >>"$work/samples"
	for loop in tensor loader; do
		$peer "$work/rows" "$work/start" "$loop" 2 "$round" >>"$work/samples"
	done
	"$bench" products >>"$work/products"
	cut -d' ' -f1 /proc/loadavg >>"$work/loads"
	echo "evidence: round $round of $rounds done" >&2
	round=$((round + 1))
done

cat >"$work/table.py" <<'EOF'
import json
import statistics
import sys


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def middle(values):
    return statistics.median(values)


NAMES = {"tensor": "slices of a tensor, float32", "tensor64": "slices of a tensor, float64", "loader": "DataLoader, float32"}
samples, products = read(sys.argv[1]), read(sys.argv[2])
groups = {}
for sample in samples:
    groups.setdefault((sample["threads"], sample.get("loop", "assay")), []).append(sample)
print("| threads | program | wall s a fit | CPU s a fit | held-out loss | wall, times ours | CPU, times ours |")
print("| --- | --- | --- | --- | --- | --- | --- |")
bad = []
for (threads, loop), group in sorted(groups.items(), key=lambda item: (item[0][0], list(NAMES).index(item[0][1]) if item[0][1] in NAMES else -1)):
    ours = groups[threads, "assay"]
    wall, cpu = ([s[key] / s["fits"] for s in group] for key in ("wall_s", "cpu_s"))
    our_wall, our_cpu = ([s[key] / s["fits"] for s in ours] for key in ("wall_s", "cpu_s"))
    loss, our_loss = middle([s["held_out"] for s in group]), middle([s["held_out"] for s in ours])
    name = "assay, float64" + (", two fits side by side" if threads == 2 else "") if loop == "assay" else f"{group[0]['program']}, {NAMES[loop]}"
    by_wall = middle([a / b for a, b in zip(wall, our_wall)])
    by_cpu = middle([a / b for a, b in zip(cpu, our_cpu)])
    print(f"| {threads} | {name} | {middle(wall):.3f} | {middle(cpu):.3f} | {loss:.5f} | {by_wall:.1f} | {by_cpu:.1f} |")
    if our_loss > 1.02 * loss:
        bad.append(f"our held-out loss {our_loss:.5f} is more than 2 % above {name}'s {loss:.5f}")
    if loop == "tensor" and by_wall < 6:
        bad.append(f"{threads} threads: only {by_wall:.1f} times as fast as {name}")
print()
print("Wanted: at least 6 times as fast as the loop over slices of a tensor, with a held-out loss at most 2 % above its:",
      "; ".join(bad) if bad else "met", end=".\n\n")
print(f"The eleven products of one step: OpenBLAS ({products[0]['openblas']}) {middle([p['openblas_us'] for p in products]):.1f} µs,",
      f"model/anomaly/lanes.c {middle([p['lanes_us'] for p in products]):.1f} µs (medians of {len(products)}, each the smallest of twenty);",
      f"ratio {middle([p['openblas_us'] / p['lanes_us'] for p in products]):.1f}.\n")
for (threads, loop), group in groups.items():
    print(f"{loop}, {threads} thread{'s' if threads > 1 else ''}, every sample, wall/CPU s of {group[0]['fits']} fit(s), held-out loss:",
          ", ".join(f"{s['wall_s']:.3f}/{s['cpu_s']:.3f} {s['held_out']:.5f}" for s in group), end="\n\n")
print("Products, every sample, OpenBLAS/ours in µs:", ", ".join(f"{p['openblas_us']}/{p['lanes_us']}" for p in products))
EOF

{
	evidence_head "Autoencoders against PyTorch, and a whole detection"
	cat <<'EOF'
## Training

One network, 32-16-8-16-32, tanh and a linear output, 10,000 rows, batches of 100, 100 epochs, Adam at .001, the same starting weights
in both programs, another seed a round; the two take turns, each fit in a process of its own; loading and starting are not counted.
We compute in float64; PyTorch's default is float32, so both are here. Held out: 2,000 rows. The times are medians, the ratios medians
of the ratios within a round. Two threads mean different things: PyTorch divides the work of one fit (`torch.set_num_threads(2)`; at
this size its threads mostly wait for each other), we make two independent fits side by side, because that is what a detection consists
of, and the time is half of what both take.

EOF
	/usr/bin/python3 "$work/table.py" "$work/samples" "$work/products"
	echo
	echo "Load of the machine after each round (above 2 there was other work, and PyTorch's two threads waited for each other even longer):" \
		"$(tr '\n' ' ' <"$work/loads" | sed 's/ $//')."
	cat <<'EOF'

## What the default was chosen by

4,000 steps of batches of 32 for each network; what the worlds are stands in `tests/bench/bench_autoencoder_choices.c`. "Found" is the share
of samples with one counter off by so many standard deviations that lie above 98 % of the untouched ones; "right counter" the share of those
found in which that counter has the largest part of the error. Means of three seeds; all but the times are the same in every run.

EOF
	build/release/tests/bench_autoencoder_choices
	echo
	echo "## A whole detection"
	echo
	if [ -x build/release/tests/bench_detect_speed ]; then # 50 functions x 2,000 samples
		build/release/tests/bench_detect_speed
	else
		echo "Not measured: there is no tests/bench/bench_detect_speed.c yet."
	fi
} >"$work/page"
evidence_done
