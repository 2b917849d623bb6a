"""Versions of tests/apps/special/four.c, with and without others on their processor: code or environment?
usage: variance_versions.py ASSAY DIRECTORY [RUNS [SECONDS]]: records what DIRECTORY does not have yet, for so long, and prints the tables.
Exits with 3 when runs are still missing."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from variance_four import SOURCE, preferred

TURNS = 600
VERSIONS = {"old": [], "same": ["-Wl,--defsym=another=1"], "more": ["-DROUNDS=550000"]}
FAR = [1 << k for k in range(14, 25)]  # entries of the table of `slower`: the first that takes so much longer is taken
SLOWER = 1.1
TURNS_EACH = 3  # runs of the version, by turns with as many of the old one
CHANGED = .05  # of processor time: the product's own limit
TRUTH = {("same", False): "same", ("same", True): "environment", ("more", False): "code", ("more", True): "code", ("slower", False): "code",
         ("slower", True): "code"}


def record(assay, binary, to, hog):
    if os.path.exists(to):
        return
    shutil.rmtree(to + ".new", ignore_errors=True)
    os.makedirs(to + ".new/work")
    other = subprocess.Popen(["taskset", "-c", "0", binary, "spin"]) if hog else None
    try:
        subprocess.run([assay, "variance", "record", "-o", to + ".new/records", "--", binary, to + ".new/work", str(TURNS)], input=b"\n", check=True,
                       stderr=subprocess.DEVNULL)
    finally:
        if other:
            other.kill()
            other.wait()
    shutil.rmtree(to + ".new/work")
    os.rename(to + ".new", to)


def processor_time(binary):
    with tempfile.TemporaryDirectory() as work:
        before = os.times()
        subprocess.run([binary, work, "200"], input=b"\n", check=True)
        after = os.times()
    return after.children_user - before.children_user


def slower_by(binary, other):
    """Times as much processor time, of both by turns: the median of seven."""
    return statistics.median(processor_time(binary) / processor_time(other) for _ in range(7))


def build(directory):
    for version, words in VERSIONS.items():
        if not os.path.exists(f"{directory}/{version}.bin"):
            subprocess.run(["gcc", "-O2", *words, SOURCE, "-o", f"{directory}/{version}.bin"], check=True)
    if os.path.exists(f"{directory}/slower.bin"):
        return
    for far in FAR:
        subprocess.run(["gcc", "-O2", f"-DFAR={far}", SOURCE, "-o", f"{directory}/slower.new"], check=True)
        ratio = slower_by(f"{directory}/slower.new", f"{directory}/old.bin")
        if ratio >= SLOWER or far == FAR[-1]:
            break
    with open(f"{directory}/slower.txt", "w") as out:
        out.write(f"{far * 4 // 1024} KB: {100 * (ratio - 1):.0f} % more processor time")
    os.rename(f"{directory}/slower.new", f"{directory}/slower.bin")


def runs_of(directory, name):
    return [f"{directory}/{name}.{i}" for i in range(TURNS_EACH)]


def besides(directory, name):
    return [f"{directory}/{name}.beside.{i}" for i in range(TURNS_EACH)]


def is_whole(directory, name):
    return os.path.exists(besides(directory, name)[-1])


def judge(assay, directory, name, beside):
    """Of the first run alone, or of all, with those of the old version beside them."""
    runs = [f"{r}/records" for r in runs_of(directory, name)[:None if beside else 1]]
    words = [w for b in besides(directory, name) for w in ("--beside", f"{b}/records")] if beside else []
    done = subprocess.run([assay, "variance", "compare", f"{directory}/baseline/records", *runs, *words, "--format", "json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def percent(x):
    return "-" if x is None else f"{100 * x:+.1f} %"


def print_tables(assay, directory, names):
    rows = [(version, hog, i, judge(assay, directory, name, False), judge(assay, directory, name, True)) for name, version, hog, i in names]
    print("| version | others | runs | asked | right with the old version beside | right without | wrong without, but not inconclusive |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (version, hog), truth in TRUTH.items():
        of = [r for r in rows if r[0] == version and r[1] == hog]
        print(f"| {version} | {'yes' if hog else 'no'} | {len(of)} | {truth} | {sum(r[4]['decision'] == truth for r in of)} | "
              f"{sum(r[3]['decision'] == truth for r in of)} | {sum(r[3]['decision'] not in (truth, 'inconclusive') for r in of)} |")
    wrong = [r for r in rows if r[4]["decision"] != TRUTH[r[0], r[1]]]
    moved = sum(r[4]["decision"] == "environment" and abs(r[4]["runs"][1]["processor_more"] or 0) > CHANGED for r in wrong)
    slower = open(f"{directory}/slower.txt").read()
    print(f"\nWith the old version beside, {len(wrong)} of {len(rows)} are not as asked; in {moved} of these "
          f"the machine itself had changed its speed by more than {100 * CHANGED:.0f} %, by the old version's processor time, and that is what was said. The table of `slower` was chosen by its effect here ({slower}).\n")
    print("| version | others | run | work | time for it | processor time | of the old version beside | waits s | shared | decision | reason | without it |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for version, hog, i, alone, both in rows:
        run, old = both["runs"]
        print(f"| {version} | {'yes' if hog else 'no'} | {i} | {percent(run['work_more'])} | {percent(run['slower'])} | {percent(run['processor_more'])} | "
              f"{percent(old['processor_more'])} | {run['waits_s']:.3f} | {run['shared']:.2f} | {both['decision']} | {both['reason']} | {alone['decision']} |")


def main():
    assay, directory = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    runs, seconds = (int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((3, 10), (4, 540)))
    os.makedirs(directory, exist_ok=True)
    preferred()
    build(directory)
    names = [(f"{version}.{'others' if hog else 'alone'}.{i}", version, hog, i) for i in range(runs) for version, hog in TRUTH]
    until, missing = time.time() + seconds, 0
    if not os.path.exists(f"{directory}/baseline") and seconds <= 0:
        print("Not measured.")
        return
    record(assay, f"{directory}/old.bin", f"{directory}/baseline", False)
    for name, version, hog, i in names:
        if time.time() >= until:
            missing += not is_whole(directory, name)
            continue
        for run, beside in zip(runs_of(directory, name), besides(directory, name)):
            record(assay, f"{directory}/{version}.bin", run, hog)
            record(assay, f"{directory}/old.bin", beside, hog)
    if missing:
        print(f"{missing} runs are missing: once more", file=sys.stderr)
        if seconds > 0:
            sys.exit(3)
    print_tables(assay, directory, [n for n in names if is_whole(directory, n[0])])


main()
