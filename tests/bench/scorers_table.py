"""The page of `--evidence scorers` from what bench_scorers printed: scorers_table.py FILE..."""
import json
import sys

NAMES = ["mahalanobis", "autoencoder", "paper", "som", "components", "heaps"]


def load():
    rows = []
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            rows += [json.loads(line) for line in file]
    return rows


def table(rows, of):
    cells = {(r["normal"], r["shift"], r["scorer"]): r for r in rows if r["of"] == of}
    names = [n for n in NAMES if any(k[2] == n for k in cells)]
    lines = list(dict.fromkeys(k[:2] for k in cells))
    print("| normal rows | shift | " + " | ".join(names) + " |")
    print("| --- " * (2 + len(names)) + "|")
    for line in lines:
        shown = [cells.get((*line, n)) for n in names]
        best = max(r["found"] for r in shown if r)
        print(f"| {line[0]} | {line[1]} | " + " | ".join(
            (f"**{r['found']:.2f}**" if r["found"] >= best - 2 * r["found_se"] - .005 else f"{r['found']:.2f}") +
            f" ({r['column_right']:.2f})" if r else "" for r in shown) + " |")
    print("\nFalse positives (standard error), and CPU seconds of a fit:\n")
    print("| normal rows | " + " | ".join(names) + " |")
    print("| --- " * (1 + len(names)) + "|")
    for normal in dict.fromkeys(k[0] for k in lines):
        first = [next((r for k, r in cells.items() if k[0] == normal and k[2] == n), None) for n in names]
        print(f"| {normal} | " + " | ".join(
            f"{r['false_positives']:.3f} ({r['false_positives_se']:.3f}), {r['fit_cpu_s']:.2f} s" if r else "" for r in first) + " |")


rows = load()
print("Share of what was shifted that is found (in brackets how often a column that was moved leads), means over",
      f"{rows[0]['repeats']} repeats; in bold the best, and what is within two standard errors of it. What is made up, and how it is shifted:",
      "`tests/bench/planted_rows.h`.\n")
print("## Samples, scorers alone, threshold at 1 % of normal samples\n")
table(rows, "samples")
print("\n## Runs of 10 samples, in the detector with its defaults, at a rate of .05\n")
table(rows, "runs")
print("\n## Raw numbers\n\n```")
for r in rows:
    print(json.dumps(r))
print("```")
