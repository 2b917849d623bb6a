"""How often intervals of the emulated back end hold the truth, which is what --full says: ASSAY DIRECTORY apps|plain [PROGRAM...]. A
table by kind of counter, over the programs of tests/apps (docs/evidence/emulation.md) or over those of tests/apps/plain (intervals.md); what
lies far outside on standard error. Exact counters must be the same."""
import csv
import glob
import json
import math
import os
import shutil
import statistics
import subprocess
import sys

assay, work, what, only = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
apps = os.path.join(os.path.dirname(__file__), "..", "apps")
SIMULATED = {"hitm_true_milli": "potential HITM", "hitm_false_milli": "potential HITM", "l1_misses": "caches, TLB", "l2_misses": "caches, TLB",
             "tlb_misses": "caches, TLB", "branch_misses": "branches"}
CHANCE = ("hitm_seen", "remote")  # depend on how threads happen to run, and misses on that too: so these are of one thread
# Larger than they are by themselves, so that most of what they do comes after the windows that are all simulated.
SIZES = {"dispatch": 200000, "filters": 4000, "heat_openmp": 40, "json_reader": 4000, "log_writer": 60000, "lru_cache": 150000, "merge_sort": 400,
         "more_calls": 60000, "node_pool": 8000, "order_lost": 800, "refactored": 150000, "shard_map": 200000, "tree_index": 150000,
         "worker_stats": 300000, "seven": 800, "system_call": 300000, "extra_copy": 100000}
# Of tests/apps/plain: so many times the first argument that truth.csv has.
PLAIN_FACTOR, PLAIN_FACTORS = 100, {"matrix": 5, "tree": 40, "wordcount": 40, "packets": 40, "cache": 40}
FULLS = 8  # of two threads: what they meet on is a matter of their order
T = 2.364624  # Student's, .975, FULLS - 1 degrees of freedom
OTHERS = {"composed", "chain", "copies"}  # do not take threads and a size
EXACT, OWN, MEAN, NESTED = ("exact", "total of the function itself", "mean, no nested calls", "mean with nested calls")


def build(source):
    name, flags = os.path.basename(source).rsplit(".", 1)
    path = f"{work}/{name}"
    words = ["g++", "-std=c++17"] if flags == "cc" else ["gcc", "-std=c11"]
    words += ["-fopenmp"] if "openmp" in name else []
    subprocess.run([assay, "build", "--for", "counters", "--", *words, "-O2", "-g", "-D_GNU_SOURCE", "-w", "-DBAD", source, "-pthread", "-lm", "-o", path], check=True)
    return name, path


def run(words, full):
    """{function: row of the JSON of `assay inspect`}. Everything is at the same place."""
    directory = f"{work}/samples"
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    environment = {"PATH": os.environ["PATH"], "ASSAY_EMULATE_DIRECTORY": directory, "ASSAY_EMULATE_FULL": "01"[full]}
    subprocess.run(["setarch", "-R", *words], check=True, stdout=subprocess.DEVNULL, env=environment)
    out = subprocess.run([assay, "samples", directory, "--format", "json"], check=True, capture_output=True, text=True).stdout
    return {row["symbol"]: row for row in json.loads(out)["files"][0]["functions"]}


class Tally:
    def __init__(self):
        self.n = self.held = self.unknown = self.moved = 0
        self.programs, self.widths = set(), []

    def add(self, where, truths, value, low, high):
        """truths: of several runs with --full, which differ where threads meet in another order. What this run would have said with --full is
        one more of these, and not known. False: the interval holds nothing of where that lies in .95 of all cases."""
        if value is None or low is None or high is None:
            self.unknown += 1
            return True
        middle, half = truths[0], 0
        if len(truths) > 1:
            middle, half = statistics.mean(truths), T * statistics.stdev(truths) * math.sqrt(1 + 1 / len(truths))
        least, most = middle - half, middle + half
        held = low - 1e-9 * abs(low) <= most and least <= high + 1e-9 * abs(high)
        self.n += 1
        self.held += held
        self.moved += half > 1e-9 * middle
        self.programs.add(where.split(":")[0])
        if middle > 0:
            self.widths.append((high - low) / 2 / middle)
        return held

    def row(self, family, kind):
        widths = sorted(self.widths)
        middle = f"{widths[len(widths) // 2]:.3f}" if widths else "-"
        share = f"{self.held / self.n:.3f}" if self.n else "-"
        return f"| {family} | {kind} | {len(self.programs)} | {self.n} | {share} | {middle} | {self.unknown} | {self.moved} |"


def compare(name, threads, sampled, fulls, tallies):
    for function, row in sampled.items():
        if any(function not in full for full in fulls) or not row["calls"] or not row["complete"]:
            continue
        truth = fulls[0][function]
        nested = any(abs(truth["counters"][c] * truth["calls"] - truth["total"][c]) > .5 for c in ("emulated:accesses", "emulated:blocks"))
        for counter in row["counters"]:
            short, where = counter.split(":")[1], f"{name}: {function}: {counter}"
            total, mean = (([full[function][kind][counter] for full in fulls], row[kind][counter], row[low][counter], row[high][counter])
                           for kind, low, high in (("total", "total_low", "total_high"), ("counters", "low", "high")))
            if short in CHANCE or short == "simulated" or None in total[0] + mean[0] or (threads > 1) != short.startswith("hitm"):
                continue
            if short not in SIMULATED:
                kinds, family = ((OWN, NESTED) if nested else (OWN,)), EXACT
            elif {total[2], total[3], *total[0]} == {total[1]} and {mean[2], mean[3], *mean[0]} == {mean[1]}:
                continue  # all of it was simulated
            else:
                kinds, family = (OWN, NESTED if nested else MEAN), SIMULATED[short]
            for kind, values in zip(kinds, (total, mean)):
                if not tallies.setdefault((family, kind), Tally()).add(where, *values):
                    print(f"{where}: {kind}: {values}", file=sys.stderr)


def plain_words():
    """{program: (its threads, words behind its path)}; ring is none of them: what threads do that wait for each other is chance."""
    out = {}
    with open(f"{apps}/plain/truth.csv", newline="") as file:
        for row in csv.DictReader(file):
            size, *others = row["arguments"].split()
            size = str(int(size) * PLAIN_FACTORS.get(row["program"], PLAIN_FACTOR))
            if row["program"] != "ring":
                out[row["program"]] = {threads: [size, str(threads), "1"] for threads in (1, 2)} if others else {1: [size, "1"]}
    return out


def plain(tallies):
    for program, ways in plain_words().items():
        if only and program not in only:
            continue
        name, path = build(next(iter(glob.glob(f"{apps}/plain/{program}.c*"))))
        for threads, words in ways.items():
            fulls = [run([path, *words], True) for i in range(1 if threads == 1 else FULLS)]
            compare(name, threads, run([path, *words], False), fulls, tallies)


def of_apps(tallies):
    for source in sorted(glob.glob(f"{apps}/*.c") + glob.glob(f"{apps}/whole/*.c*")):
        stem = os.path.basename(source).rsplit(".", 1)[0]
        if source.endswith(".csv") or stem in OTHERS or only and stem not in only:
            continue
        name, path = build(source)
        for threads in (1, 2):
            words = [path, str(threads)] + ([str(SIZES[name])] if name in SIZES else [])
            fulls = [run(words, True) for i in range(1 if threads == 1 else FULLS)]
            compare(name, threads, run(words, False), fulls, tallies)


def main():
    tallies = {}
    {"apps": of_apps, "plain": plain}[what](tallies)
    print("\n## Intervals\n\nThe .95 intervals of `assay inspect`, of these programs, against the same run with --full; what was simulated as a whole in both\n"
          "is left out. Potential HITM are of two threads, everything else is of one. An interval says how far windows that were skipped may have\n"
          f"moved a value, not how far another order of the threads would. Where runs with --full differ by that, which {FULLS} of them tell, the truth of the sampled\n"
          "run is one more of these: held is what meets their .95 prediction interval (Student's t); how many intervals that concerns is the last column. Totals\n"
          "of exact counters must be equal.\n")
    print("| counters | of what | programs | intervals | hold the truth | median half width, of the truth | not stated | runs differ |\n| --- | --- |"
          + " ---: |" * 6)
    for (family, kind), tally in sorted(tallies.items()):
        print(tally.row(family, kind))
    sys.exit(any(t.held < t.n for (family, _), t in tallies.items() if family == EXACT))


main()
