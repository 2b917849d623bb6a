"""The tables of tests/evidence/detect.sh: BENCH_DETECT BENCH_DETECT_TREE CORPUS. Every program of tests/apps, good and bad,
by every method."""
import collections
import concurrent.futures
import csv
import math
import os
import random
import subprocess
import sys
import tempfile

APPS = os.path.join(os.path.dirname(__file__), "..", "apps")
METHODS = ("default", "autoencoder", "paper", "mahalanobis", "som", "mannwhitney")
TS = ("0", "0.5", "1", "1.5", "2", "2.5", "3")
FIXED = ("10%", "20%", "40%")
RATES = (.05, .1, .2)
CHOICES = 15
# Of truth.csv to the detector's.
KINDS = {"copy": ("copying",), "hash": ("more_work",), "locality": ("tlb", "cache_capacity"), "system_call": ("system_calls",)}
SHARING = ("false_sharing", "true_sharing", "remote_memory")


def kinds_of(row):
    return KINDS.get(row["trouble"], (row["trouble"],))


def counters_of(row):
    """Either of the two that false and true sharing are counted by has one name; of the work, accesses and blocks."""
    return {"accesses": ("accesses", "blocks"), "ns": ("ns",)}.get(row["moves"], (row["moves"], row["moves"] + "_milli"))


class Judged:
    """What bench_detect said of one directory, by method and rate."""

    def __init__(self):
        self.runs, self.functions, self.fit, self.error = {}, {}, None, None

    def flagged(self):
        return sum(run["anomalous"] for run in self.runs.values())


def judge(bench, methods, rates, train, directories, seed=1):
    """{(method, rate, directory): Judged}."""
    out = collections.defaultdict(Judged)
    text = subprocess.run([bench, ",".join(methods), ",".join(map(str, rates)), str(seed), train, *directories], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        what, method, rate, directory, *rest = line.split("\t")
        judged = out[method, float(rate), directory]
        if what == "run":
            judged.runs[rest[0]] = {"anomalous": int(rest[1]), "p": float(rest[2])}
        elif what == "function":
            counters = [c.split(":") for c in rest[10].split(",") if c]
            judged.functions[rest[0]] = {
                "known": int(rest[1]), "anomalous": int(rest[2]), "runs_anomalous": int(rest[3]), "excess": float(rest[7]),
                "part": float(rest[8]), "kind": rest[9], "counters": [c[0] for c in counters], "columns": counters,
                "small": int(rest[11]), "side_effect_of": rest[12]}
        elif what == "fit":
            names = ("runs", "samples", "functions", "columns", "clusters", "topology", "measured", "sufficient", "chosen", "fit_s",
                     "judge_s")
            judged.fit = dict(zip(names, rest))
        else:
            judged.error = rest[0]
    return out


def interval(bad, n):
    """Wilson's, 95 %."""
    z2 = 1.959964 ** 2
    middle, half = (bad + z2 / 2) / (n + z2), math.sqrt(z2 * (bad * (n - bad) / n + z2 / 4)) / (n + z2)
    return max(0.0, middle - half), min(1.0, middle + half)


def rate_text(bad, n):
    low, high = interval(bad, n)
    return f"{bad} of {n} ({100 * bad / n:.1f} %, {100 * low:.1f} to {100 * high:.1f} %)"


def table(columns, body, left=1):
    print("\n| " + " | ".join(columns) + " |\n|" + " --- |" * left + " ---: |" * (len(columns) - left))
    for cells in body:
        print("| " + " | ".join(str(cell) for cell in cells) + " |")


def f1(tp, fp, fn):
    return 2 * tp / (2 * tp + fp + fn) if tp else 0.0


def counts(found, rows, corpus, method, rate):
    """Over all programs: false alarms, good runs, misses, bad runs."""
    fp = good = fn = bad = 0
    for program in {row["program"] for row in rows}:
        judged = found[method, rate, f"{corpus}/{program}/test"]
        fp, good = fp + judged.flagged(), good + len(judged.runs)
    for row in rows:
        judged = found[method, rate, f"{corpus}/{row['program']}/{row['flag']}"]
        bad, fn = bad + len(judged.runs), fn + len(judged.runs) - judged.flagged()
    return fp, good, fn, bad


def leading(judged):
    """Functions that are anomalous, the one first that costs most."""
    names = [name for name, f in judged.functions.items() if f["known"] and f["anomalous"]]
    return sorted(names, key=lambda name: -judged.functions[name]["excess"] * judged.functions[name]["part"])


def rank(names, wanted):
    places = [i + 1 for i, name in enumerate(names) if name in wanted]
    return places[0] if places else "-"


def program_rows(found, rows, corpus, method, rate, problems):
    body = []
    for row in rows:
        name = f"{row['program']} {row['flag']}"
        test, bad = (found[method, rate, f"{corpus}/{row['program']}/{part}"] for part in ("test", row["flag"]))
        if test.error or bad.error:
            body.append([name, test.error or bad.error] + [""] * 9)
            continue
        missed = len(bad.runs) - bad.flagged()
        of = bad.functions.get(row["function"])
        kind = of["kind"] if of else "-"
        first = leading(bad)
        right = kind in kinds_of(row)
        body.append([name, row["function"], f"{test.flagged()} of {len(test.runs)}", f"{missed} of {len(bad.runs)}",
                     f"{f1(bad.flagged(), test.flagged(), missed):.2f}", rank(first, (row["function"],)),
                     rank(of["counters"] if of else [], counters_of(row)), kind + ("" if right else " **(no)**"),
                     *([bad.fit["clusters"], bad.fit["topology"], bad.fit["chosen"] if bad.fit["sufficient"] == "1" else "not"]
                       if bad.fit else ["", "", ""])])
        if missed:
            problems.append(f"{method}: {name}: {missed} of {len(bad.runs)} bad runs were missed")
        if row["trouble"] in SHARING and not right:
            problems.append(f"{method}: {name}: the kind is {kind}")
    return body


COLUMNS = ["program", "function", "false alarms", "misses", "F1", "place of the function", "place of the counter", "kind", "clusters", "topology",
           "runs were enough after"]


def tree_rows(bench, rows, corpus):
    """What the tree says that learned from the other programs. {(program, label): {run: {function: label}}}."""
    lines = []
    for program in {row["program"] for row in rows}:
        lines += [f"{program} good - {corpus}/{program}/{part}" for part in ("train", "test")]
    lines += [f"{row['program']} {row['trouble']} {row['function']} {corpus}/{row['program']}/{row['flag']}" for row in rows]
    path = f"{corpus}/tree.{os.getpid()}"
    with open(path, "w") as out:
        out.write("\n".join(sorted(lines)) + "\n")
    said = collections.defaultdict(lambda: collections.defaultdict(dict))
    for line in subprocess.run([bench, path], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        _, program, label, run, function, found = line.split("\t")
        said[program, label][run][function] = found
    os.remove(path)
    return said


def tree_table(said, rows):
    body, totals = [], [0, 0, 0, 0, 0]
    for row in rows:
        good, bad = said[row["program"], "good"], said[row["program"], row["trouble"]]
        alarms = sum(any(label != "good" for label in run.values()) for run in good.values())
        missed = sum(run.get(row["function"], "good") == "good" for run in bad.values())
        right = sum(run.get(row["function"]) == row["trouble"] for run in bad.values())
        body.append([f"{row['program']} {row['flag']}", f"{alarms} of {len(good)}", f"{missed} of {len(bad)}", f"{right} of {len(bad)}"])
        totals = [a + b for a, b in zip(totals, (alarms if row["flag"] in ("BAD", "FAULT=1") else 0,
                                                 len(good) if row["flag"] in ("BAD", "FAULT=1") else 0, missed, len(bad), right))]
    return body, totals


def right_of(found, rows, corpus, method, rate):
    """Of the programs: right kind, function in the first place, counter in the first place."""
    kind = function = counter = 0
    for row in rows:
        bad = found[method, rate, f"{corpus}/{row['program']}/{row['flag']}"]
        of = bad.functions.get(row["function"])
        kind += bool(of) and of["kind"] in kinds_of(row)
        function += rank(leading(bad), (row["function"],)) == 1
        counter += bool(of) and rank(of["counters"], counters_of(row)) == 1
    return kind, function, counter


def methods_table(found, rows, corpus, methods, tree):
    body = []
    for method in methods:
        fp, good, fn, bad = counts(found, rows, corpus, method, .05)
        if not good:
            body.append([method, "nothing could be judged"] + [""] * 6)
            continue
        times = sorted(float(j.fit["fit_s"]) for (m, r, _), j in found.items() if m == method and r == .05 and j.fit)
        body.append([method, rate_text(fp, good), rate_text(fn, bad), f"{f1(bad - fn, fp, fn):.3f}",
                     *(f"{n} of {len(rows)}" for n in right_of(found, rows, corpus, method, .05)),
                     f"{times[len(times) // 2]:.2f}" if times else "-"])
    if tree:
        fp, good, fn, bad, right = tree
        body.append(["decision tree, learned from the other programs", rate_text(fp, good), rate_text(fn, bad), f"{f1(bad - fn, fp, fn):.3f}",
                     f"{right} of {bad} runs", "", "", ""])
    table(["method", "false alarms, by run", "misses, by run", "F1", "kind right", "function first", "counter first",
           "CPU seconds of learning, median"], body)


def roc(found, rows, corpus):
    print("\n## Thresholds\n\nThe published rule, mean + t standard deviations of the training errors, one sample makes a run anomalous; and root")
    print("mean square errors above a fixed part of the range:")
    body = []
    for method in [f"paper-t{t}" for t in TS] + [f"paper-{f}" for f in FIXED]:
        fp, good, fn, bad = counts(found, rows, corpus, method, .05)
        if good and bad:
            body.append([method, f"{fp / good:.3f}", f"{1 - fn / bad:.3f}", f"{f1(bad - fn, fp, fn):.3f}"])
    table(["threshold", "false alarms", "found", "F1"], body)
    print("\nThe default by the rate that was asked for, from the runs' p (calibrated once):")
    runs = {"test": [], "bad": []}
    for (method, rate, directory), judged in found.items():
        if method == "default" and rate == .05:
            runs["test" if directory.endswith("/test") else "bad"] += [run["p"] for run in judged.runs.values()]
    body = []
    for asked in (.025, .05, .075, .1, .15, .2, .3, .5):
        flagged = {part: sum(p <= asked + 1e-9 for p in values) for part, values in runs.items()}
        if runs["test"] and runs["bad"]:
            body.append([asked, rate_text(flagged["test"], len(runs["test"])), f"{flagged['bad'] / len(runs['bad']):.3f}"])
    table(["asked", "false alarms", "found"], body, left=0)


def rates_table(found, rows, corpus, problems):
    body = []
    for rate in RATES:
        fp, good, fn, bad = counts(found, rows, corpus, "default", rate)
        if not good:
            continue
        low, high = interval(fp, good)
        body.append([rate, rate_text(fp, good), rate_text(fn, bad)])
        if not low <= rate <= high:
            problems.append(f"default: asked {rate}, false alarms {fp} of {good}")
    print("\nThe default at other rates, calibrated for each:")
    table(["asked", "false alarms", "misses"], body, left=0)


def chosen(directory, corpus, program, choice):
    """The good runs, those to learn from drawn anew: directories of links."""
    where = f"{corpus}/{program}"
    runs = [f"{where}/{part}/{run}" for part in ("train", "test") for run in sorted(os.listdir(f"{where}/{part}"))]
    n = len(os.listdir(f"{where}/train"))
    random.Random(f"{program} {choice}").shuffle(runs)
    for part, some in (("train", runs[:n]), ("test", runs[n:])):
        os.makedirs(f"{directory}/{part}")
        for i, run in enumerate(some):
            os.symlink(os.path.abspath(run), f"{directory}/{part}/{i:02d}")


def choices_table(bench, rows, corpus, choices, methods, rates):
    """Rates over many choices of what is learned from, of the same runs."""
    counts = collections.Counter()
    for program in sorted({row["program"] for row in rows}):
        for choice in range(choices):
            with tempfile.TemporaryDirectory() as directory:
                chosen(directory, corpus, program, choice)
                bad = [f"{corpus}/{program}/{row['flag']}" for row in rows if row["program"] == program]
                parts = {f"{directory}/test": "good", **{where: "bad" for where in bad}}
                found = judge(bench, methods, rates, f"{directory}/train", list(parts), seed=choice + 1)
            for (method, rate, where), judged in found.items():
                counts[method, rate, parts[where], "all"] += len(judged.runs)
                counts[method, rate, parts[where], "called"] += judged.flagged()
    body = []
    for method in methods:
        for rate in rates:
            good, bad = ([counts[method, rate, part, what] for what in ("called", "all")] for part in ("good", "bad"))
            body.append([method, rate, rate_text(*good), rate_text(bad[1] - bad[0], bad[1])])
    print(f"\nThe same runs, {choices} other choices of those to learn from. They overlap: the intervals are too narrow.")
    table(["method", "asked", "false alarms", "misses"], body)


def main():
    bench, bench_tree, corpus = sys.argv[1:4]
    only = sys.argv[4:]
    rows = [row for row in csv.DictReader(open(f"{APPS}/truth.csv")) if not only or row["program"] in only]
    found, problems = {}, []

    def one(program):
        flags = [row["flag"] for row in rows if row["program"] == program]
        where = f"{corpus}/{program}"
        directories = [f"{where}/{part}" for part in ["test"] + flags]
        by_t = [f"paper-t{t}" for t in TS] + [f"paper-{f}" for f in FIXED]
        out = {**judge(bench, [*METHODS, *by_t], (.05,), f"{where}/train", directories),
               **judge(bench, ("default",), RATES[1:], f"{where}/train", directories)}
        print(f"{program}: judged", file=sys.stderr)
        return out

    names = list(dict.fromkeys(row["program"] for row in rows))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for out in pool.map(one, sorted(names, key=lambda name: name != "seven")):
            found.update(out)
    found = collections.defaultdict(Judged, found)
    said = tree_rows(bench_tree, rows, corpus)
    body, totals = tree_table(said, rows)
    print("\n## Side by side\n\nAll programs; asked for 5 % false alarms where that can be asked.")
    methods_table(found, rows, corpus, METHODS, totals)
    rates_table(found, rows, corpus, problems)
    choices_table(bench, rows, corpus, CHOICES, ("default",), (.05,))
    for method in ("default", "paper"):
        print(f"\n## Program by program: {method}")
        table(COLUMNS, program_rows(found, rows, corpus, method, .05, problems if method == "default" else []), left=2)
    for method in METHODS:
        if method not in ("default", "paper"):
            print(f"\n### {method}")
            table(COLUMNS, program_rows(found, rows, corpus, method, .05, []), left=2)
    print("\n### decision tree")
    table(["program", "false alarms", "misses", "kind right"], body)
    roc(found, rows, corpus)
    print("\n## Not as wanted\n")
    print("\n".join(f"- {text}" for text in problems) if problems else "- nothing")


if __name__ == "__main__":
    main()
