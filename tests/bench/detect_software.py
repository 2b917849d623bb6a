"""The tables of the software back end in tests/evidence/detect.sh: BENCH_DETECT CORPUS."""
import collections
import csv
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from detect_programs import APPS, COLUMNS, Judged, judge, methods_table, program_rows, rate_text, table  # noqa: E402

METHODS = ("default", "default-as-is", "paper", "mahalanobis", "som", "mannwhitney", "mannwhitney-as-is")
CHOICES, CHOICE_METHODS, CHOICE_RATES = 15, ("default", "default-as-is"), (.05, .1)


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


def choices_table(bench, rows, corpus):
    """Rates over many choices of what is learned from, of the same runs."""
    counts = collections.Counter()
    for program in sorted({row["program"] for row in rows}):
        for choice in range(CHOICES):
            with tempfile.TemporaryDirectory() as directory:
                chosen(directory, corpus, program, choice)
                parts = {f"{directory}/test": "good", f"{corpus}/{program}/BAD": "bad"}
                found = judge(bench, CHOICE_METHODS, CHOICE_RATES, f"{directory}/train", list(parts), seed=choice + 1)
            for (method, rate, where), judged in found.items():
                counts[method, rate, parts[where], "all"] += len(judged.runs)
                counts[method, rate, parts[where], "called"] += judged.flagged()
    body = []
    for method in CHOICE_METHODS:
        for rate in CHOICE_RATES:
            good, bad = ([counts[method, rate, part, what] for what in ("called", "all")] for part in ("good", "bad"))
            body.append([method, rate, rate_text(*good), rate_text(bad[1] - bad[0], bad[1])])
    print(f"\nThe same runs, {CHOICES} other choices of those to learn from. They overlap: the intervals are too narrow.")
    table(["method", "asked", "false alarms", "misses"], body)


def main():
    bench, corpus = sys.argv[1:3]
    names = os.listdir(corpus)
    rows = [dict(row, moves="ns", trouble="slower") for row in csv.DictReader(open(f"{APPS}/truth.csv"))
            if row["program"] in names]  # the time of a call, if anything
    found = collections.defaultdict(Judged)
    for row in rows:
        where = f"{corpus}/{row['program']}"
        found.update(judge(bench, METHODS, (.05,), f"{where}/train", [f"{where}/test", f"{where}/BAD"]))
    print("\nThe right kind is `slower` here: of these counters none says why. Of allocation `page_faults` would be right as well, and is not counted.")
    methods_table(found, rows, corpus, METHODS, None)
    choices_table(bench, rows, corpus)
    print("\nThe default, program by program:")
    table(COLUMNS, program_rows(found, rows, corpus, "default", .05, []), left=2)


if __name__ == "__main__":
    main()
