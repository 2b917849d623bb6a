"""Makes the data of tests/evidence/pairs.sh: `plant` writes planted versions and labelled pairs, `detectable` the second round.

    plant DATA DIRECTORY                    DIRECTORY/results.csv and pairs.json from the recorded machines
    detectable DATA DIRECTORY EVALUATION    each application slowed by what the evaluation says can be detected, into DIRECTORY
"""
import collections
import csv
import itertools
import json
import math
import statistics
import sys

SOUND = "1498013938000"  # the run of stream without a defect
SLOWDOWNS = [3, 6, 12, 24]
SHIFTS = [3, 6, 12, 24, 48]
# Disjoint halves of three and of five repetitions; the first one balances a drift over time and is the one planted upon.
HALVES = {3: [([2], [1, 3]), ([1], [2, 3]), ([3], [1, 2])], 5: [([2, 4], [1, 3, 5]), ([1, 2], [3, 4, 5]), ([4, 5], [1, 2, 3])]}


def read(data):
    applications, rates = collections.defaultdict(list), collections.defaultdict(lambda: collections.defaultdict(list))
    with open(f"{data}/results.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["benchmark"] == "stressng":
                rates[row["test"]][row["machine"], row["timestamp"]].append(float(row["result"]))
            elif row["benchmark"] != "stream" or row["timestamp"] == SOUND:
                name = row["benchmark"] if row["test"] in ("", row["benchmark"]) else f"{row['benchmark']}/{row['test']}"
                applications[name].append(row)
    return dict(sorted(applications.items())), rates


def higher_is_better(name):
    return name.split("/")[0] in ("stream", "fio")


def halves(rows):
    return HALVES[5 if max(int(r["repetition"]) for r in rows) >= 5 else 3]


def slowed(name, rows, fraction):
    factor = 1 / (1 + fraction) if higher_is_better(name) else 1 + fraction
    return [float(r["result"]) * factor for r in rows]


def with_resource(name, rows, rate, kept, fraction):
    """Cost becomes kept * cost + fraction * work / rate, the work such that work / rate is as large as the cost on average."""
    here = [statistics.median(rate[r["machine"], r["timestamp"]]) for r in rows]
    cost = [1 / float(r["result"]) if higher_is_better(name) else float(r["result"]) for r in rows]
    positive = [(c, h) for c, h in zip(cost, here) if c > 0]
    work = math.exp(sum(math.log(c * h) for c, h in positive) / len(positive))
    new = [kept * c + fraction * work / h for c, h in zip(cost, here)]
    return [1 / v for v in new] if higher_is_better(name) else new


def side(name, repetitions=None, version="imported"):
    result = {"application": name, "version": version}
    if repetitions:
        result["repetitions"] = repetitions
    if name.startswith("stream/"):
        result["timestamps"] = [int(SOUND)]
    return result


def pair(baseline, candidate, changed, label):
    return {"baseline": baseline, "candidate": candidate, "changed": changed, "label": label,
            "cluster": baseline["application"].split("/")[0]}


def open_results(directory, fields):
    writer = csv.DictWriter(open(f"{directory}/results.csv", "w", newline=""), [*fields, "version"])
    writer.writeheader()
    return writer


def write_version(writer, rows, values, version):
    for row, value in zip(rows, values):
        writer.writerow({**row, "result": f"{value:.9g}", "version": version})


def plant(data, directory):
    applications, rates = read(data)
    # Resources: stressors measured above 0 wherever an application ran.
    places = {(r["machine"], r["timestamp"]) for rows in applications.values() for r in rows}
    resources = sorted(s for s, at in rates.items() if s and all(at.get(p) and min(at[p]) > 0 for p in places))
    writer = open_results(directory, next(iter(applications.values()))[0].keys())
    pairs = []
    kernels = ["copy", "scale", "triad"]
    additions = sorted({int(n.split("-")[1]) for n in applications if n.startswith("stream/copy-")})
    for kernel in kernels:
        for a, b in itertools.combinations(additions, 2):
            pairs.append(pair(side(f"stream/{kernel}-{a}"), side(f"stream/{kernel}-{b}"), False, "stream, other N"))
    for number, (name, rows) in enumerate(applications.items()):
        parts = halves(rows)
        resource = resources[number * 7 % len(resources)]
        versions = [(f"slowdown {p:02} %", slowed(name, rows, p / 100)) for p in SLOWDOWNS]
        if all(float(r["result"]) > 0 for r in rows):
            versions += [(f"shift {p:02} %", with_resource(name, rows, rates[resource], 1 - p / 100, p / 100)) for p in SHIFTS]
            versions += [(f"added work {p:02} %", with_resource(name, rows, rates[resource], 1, p / 100)) for p in SHIFTS]
        for i, (first, second) in enumerate(parts):
            pairs.append(pair(side(name, first), side(name, second), False, f"halves {i + 1}"))
        partner = None
        if name.startswith("stream/") and name.split("/")[1].split("-")[0] in kernels:
            kernel, n = name.split("/")[1].split("-")
            partner = f"stream/{kernel}-{additions[additions.index(int(n)) - 1]}"
        for version, values in versions:
            write_version(writer, rows, values, version)
            pairs.append(pair(side(name, parts[0][0]), side(name, parts[0][1], version), True, version))
            if version.startswith("slowdown"):
                for first, second in parts[1:]:  # all repetitions of one side before the other's
                    pairs.append(pair(side(name, first), side(name, second, version), True, f"{version}, in order"))
            if partner and not version.startswith("slowdown"):
                pairs.append(pair(side(partner), side(name, version=version), True, version))
    for test in ("key", "load", "scan", "update"):
        pairs.append(pair(side(f"mysqlslap/innodb_{test}"), side(f"mysqlslap/memory_{test}"), True, "innodb to memory"))
    with open(f"{directory}/pairs.json", "w") as file:
        json.dump(pairs, file)


def detectable(data, directory, evaluation):
    applications, _ = read(data)
    writer = open_results(directory, next(iter(applications.values()))[0].keys())
    pairs = []
    with open(evaluation) as file:
        said = json.load(file)["pairs"]
    for unchanged in said:
        name, effect = unchanged["baseline"]["application"], unchanged["minimum_detectable_effect"]
        if not unchanged["label"].startswith("halves") or effect is None:
            continue
        version = "detectable " + unchanged["label"]
        write_version(writer, applications[name], slowed(name, applications[name], effect), version)
        pairs.append(pair(side(name, unchanged["baseline"]["repetitions"]), side(name, unchanged["candidate"]["repetitions"], version), True,
                          "slowed by what is detectable"))
    with open(f"{directory}/pairs.json", "w") as file:
        json.dump(pairs, file)


if __name__ == "__main__":
    {"plant": plant, "detectable": detectable}[sys.argv[1]](*sys.argv[2:])
