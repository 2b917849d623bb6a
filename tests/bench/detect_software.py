"""The tables of the software back end in tests/evidence/detect.sh: BENCH_DETECT CORPUS."""
import collections
import csv
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from detect_programs import APPS, COLUMNS, Judged, choices_table, judge, methods_table, program_rows, table  # noqa: E402

METHODS = ("default", "default-as-is", "paper", "mahalanobis", "som", "mannwhitney", "mannwhitney-as-is")
CHOICES, CHOICE_METHODS, CHOICE_RATES = 15, ("default", "default-as-is"), (.05, .1)


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
    choices_table(bench, rows, corpus, CHOICES, CHOICE_METHODS, CHOICE_RATES)
    print("\nThe default, program by program:")
    table(COLUMNS, program_rows(found, rows, corpus, "default", .05, []), left=2)


if __name__ == "__main__":
    main()
