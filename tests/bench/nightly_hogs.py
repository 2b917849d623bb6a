#!/usr/bin/env python3
"""Nights beside hogs that come and go. `row NIGHT.json RUNS.db HOGS KIND`: a line of CSV for each decision of a night, HOGS has when hogs were there
(begin and end in ms, a line each). `table ROWS.csv`: the page's tables of all such lines."""
import collections
import csv
import json
import sqlite3
import statistics
import sys

# What a hog withholds: the writers to the disk and those that stream memory need processors, too.
RIGHT = {"cpu": ["run_delay"], "memory": ["run_delay"], "quota": ["throttled"], "disk": ["io_stalled", "run_delay"]}
WORDS = ["pass", "improved", "regression", "inconclusive", "environment"]
SLOWER = 1.1


def row(night, database, hogs, kind):
    spans = [tuple(map(int, line.split())) for line in open(hogs)]
    store = sqlite3.connect(database)
    for d in json.load(open(night))["decisions"]:
        document = json.loads(store.execute("SELECT document FROM decision WHERE id = ?", (d["id"],)).fetchone()[0])
        named = {(r["machine"], r["version"], r["repetition"]): r["cause"] for r in document.get("disturbed") or []}
        runs = [(tuple(r[:3]), r[3], r[3] + r[4] / 1e6) for r in store.execute(
            "SELECT machine, version, repetition, taken_ms, wall_ns FROM execution WHERE plan = ? AND outcome = 'ok'", (document["plan"],))]
        beside = {key for key, begin, end in runs if any(begin < to and end > since for since, to in spans)}
        usual = collections.defaultdict(list)
        for key, begin, end in runs:
            if key not in beside:
                usual[key[:2]].append(end - begin)
        slower = {key for key, begin, end in runs if key in beside and usual[key[:2]] and end - begin > SLOWER * statistics.median(usual[key[:2]])}
        rightly = {key for key, cause in named.items() if cause in RIGHT[kind]}
        causes = collections.Counter(named.values())
        print(kind, d["candidate"], d["decision"], document["reasons"][0]["code"] if document["reasons"] else "", d["ratio"], round(d["seconds"], 1),
              len(runs), len(beside), len(beside & set(named)), len(beside & rightly), len(slower), len(slower & rightly),
              "+".join(f"{k}:{v}" for k, v in sorted(causes.items())) or "none", sep=",")


def share(part, all_of):
    return f"{part} of {all_of}" + (f" ({part / all_of:.2f})" if all_of else "")


def table(path):
    rows = list(csv.reader(open(path)))
    print("| hog | candidate | nights |", " | ".join(WORDS), "| seconds |\n|", "--- | " * (4 + len(WORDS)))
    for kind in [*RIGHT, "all"]:
        for candidate in ["same2", "slow"]:
            of = [r for r in rows if kind in (r[0], "all") and r[1] == candidate]
            if of:
                count = collections.Counter(r[2] for r in of)
                print("|", " | ".join([kind, candidate, str(len(of)), *(str(count[w]) for w in WORDS), f"{statistics.mean(float(r[5]) for r in of):.1f}"]), "|")
    print("\n| hog | runs | beside it | disturbed of these | by the right cause | a tenth slower | rightly named of these | causes of all |\n|", "--- | " * 8)
    for kind in [*RIGHT, "all"]:
        of = [r for r in rows if kind in (r[0], "all")]
        runs, beside, disturbed, rightly, slower, slower_named = (sum(int(r[k]) for r in of) for k in range(6, 12))
        causes = collections.Counter()
        for r in of:
            for part in r[12].split("+"):
                if ":" in part:
                    causes[part.split(":")[0]] += int(part.split(":")[1])
        if of:
            print("|", " | ".join([kind, str(runs), str(beside), str(disturbed), share(rightly, disturbed), str(slower), share(slower_named, slower),
                                   ", ".join(f"{k} {v}" for k, v in causes.most_common()) or "none"]), "|")


if __name__ == "__main__":
    {"row": row, "table": table}[sys.argv[1]](*sys.argv[2:])
