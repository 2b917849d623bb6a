"""Writes machines.csv and results.csv, as `host import` and `result import` read them, from a table of both kinds of rows.

Usage: recorded.py DIR OUT [TYPES]

DIR/results.csv is in the layout of the data package of the quiho paper (benchmark `stressng` is a rate of the stressor `test`, any other a
result of the application `benchmark/test`). TYPES has the columns machine, timestamp, type. Results of stream and fio are better when they
are higher, unless a column `direction` says otherwise. Values of one run are averaged if one of them is 0, which an import takes for a
failure; if all of them are 0, nothing was measured."""
import csv
import os
import sys

directory, out = sys.argv[1:3]
types = {}
if len(sys.argv) > 3:
    with open(sys.argv[3], newline="") as file:
        types = {(row["machine"], row["timestamp"]): row["type"] for row in csv.DictReader(file)}

BATTERY = ["battery", "battery_hash", "stress_ng", "architecture"]
rates, results = [], {}
with open(directory + "/results.csv", newline="") as file:
    for row in csv.DictReader(file):
        machine, time, test, benchmark = row["machine"], row["timestamp"], row["test"], row["benchmark"]
        if benchmark == "stressng":
            rates.append([machine, time, row["repetition"], test or "null", row["result"], types.get((machine, time), "")]
                         + [row.get(BATTERY[0]) or "quiho-2017"] + [row.get(name) or "" for name in BATTERY[1:]])
        else:
            name = benchmark if test in ("", benchmark) else benchmark + "/" + test
            direction = row.get("direction") or ("higher" if benchmark in ("stream", "fio") else "lower")
            key = (name, row.get("version") or "", machine, time, row["repetition"], direction)
            results.setdefault(key, []).append(row["result"])


def write(name, header, rows):
    if rows:
        os.makedirs(out, exist_ok=True)
        with open(out + "/" + name, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


def is_zero(text):
    try:
        return float(text) == 0
    except ValueError:
        return False


def measured(values):
    if not any(map(is_zero, values)):
        return values
    numbers = sorted(map(float, values))
    return [repr(sum(numbers) / len(numbers))] if any(numbers) else []


write("machines.csv", ["machine", "time", "repetition", "stressor", "rate", "type"] + BATTERY, rates)
write("results.csv", ["application", "version", "machine", "time", "repetition", "direction", "result"],
      [[*key, value] for key, values in results.items() for value in measured(values)])
