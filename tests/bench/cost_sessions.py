"""cost_sessions.py ASSAY CSV PROGRAM WORK: decisions of `gate --method cost` about a candidate that is the same program as its baseline.

The passes over the inputs of PROGRAM in CSV (docs/evidence/cost_PROGRAM.csv) stand for sessions: a laboratory in WORK runs every input with a program that
does nothing, and its runs get the recorded times. The baseline has one pass or two, the candidate another one. Printed is a line per pair: the passes of
the baseline, that of the candidate, the decision, the ratio and its interval. With one session the interval is that by inputs alone."""
import csv
import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys

PASSES = 3


def laboratory(assay, name, rows, lab):
    """Three sessions of `old` and one of `new`; the store as it was then is kept in runs.db.kept."""
    store = os.path.join(lab, ".assay", "runs.db")
    if os.path.exists(store + ".kept"):
        return store
    shutil.rmtree(lab, ignore_errors=True)
    subprocess.run([assay, "init", lab], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(lab, "lab.yaml"), "a", encoding="ascii") as out:
        out.write("hosts:\n  - { name: here, transport: local }\n")
    with open(os.path.join(lab, "apps", name + ".yaml"), "w", encoding="ascii") as out:
        out.write("command: [/bin/true, '{arguments}']\nrepetitions: 1\nwarm_ups: 0\nsampling: off\n"
                  "versions: { old: { environment: { VERSION: a } }, new: { environment: { VERSION: b } } }\ninputs:\n")
        for i, row in enumerate(rows):
            known = [value for key, value in row.items() if not key.startswith("seconds")]
            out.write(f"  i{i:03}: {{ arguments: {json.dumps(known)} }}\n")
    for version in ["old"] * PASSES + ["new"]:
        subprocess.run([assay, "-C", lab, "run", name, "--versions", version, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(store, store + ".kept")
    return store


def set_times(store, rows, baseline, candidate):
    """Sessions of `old` have the times of the passes `baseline`, further ones go; `new` has those of the pass `candidate`."""
    shutil.copy(store + ".kept", store)
    with sqlite3.connect(store) as db:
        sessions = [plan for plan, in db.execute("SELECT plan FROM execution WHERE version = 'old' GROUP BY plan ORDER BY min(taken_ms)")]
        of = dict(zip(sessions, baseline))
        for plan in sessions[len(baseline):]:
            db.execute("DELETE FROM execution WHERE plan = ?", (plan,))
        for row, version, plan, name in db.execute("SELECT rowid, version, plan, input FROM execution").fetchall():
            seconds = rows[int(name[1:])][f"seconds {(of[plan] if version == 'old' else candidate) + 1}"]
            db.execute("UPDATE execution SET sys_us = 0, user_us = ? WHERE rowid = ?", (round(1e6 * float(seconds)), row))


def main():
    assay, table, name, work = sys.argv[1:5]
    with open(table, encoding="ascii", newline="") as source:
        rows = list(csv.DictReader(source))
    lab = os.path.join(work, name + ".sessions")
    store = laboratory(assay, name, rows, lab)
    for n in (1, 2):
        for baseline in itertools.combinations(range(PASSES), n):
            for candidate in sorted(set(range(PASSES)) - set(baseline)):
                set_times(store, rows, baseline, candidate)
                said = subprocess.run([assay, "-C", lab, "gate", f"{name}@old", f"{name}@new", "--method", "cost", "--format", "json"],
                                      capture_output=True, text=True, check=False)
                answer = json.loads(said.stdout)
                effect = answer["effect"]
                print(name, "+".join(str(k + 1) for k in baseline), candidate + 1, answer["decision"],
                      *(f"{effect[key]:.4f}" for key in ("ratio", "low", "high")), flush=True)


main()
