"""Runs on an emulated fleet that are killed and resumed, and the gate on one version under two names: tables for docs/evidence/runs.md.

    python3 runs_table.py ASSAY LABORATORY [KILLS [ROUNDS]]
"""
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

HOSTS = 4
KILLED = """files: [work.sh]
command: [sh, '{files}/work.sh']
inputs: { x: { arguments: [0.05] }, y: { arguments: [0.1] } }
versions: { a: , b: { environment: { OTHER: 1 } } }
repetitions: 3
time_limit: 20
"""
SAME = """command: [awk, 'BEGIN {{ for (i = 0; i < 4000000; i++) s += i * i; exit s < 0 }']
versions: { one: , other: }
repetitions: 7
time_limit: 20
"""


def run(*words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stored(lab, plan):
    """Every result of a plan: (machine, application, version, repetition), doubles too."""
    path = os.path.join(lab, ".assay", "runs.db")
    with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
        return sorted(db.execute("SELECT machine, application, version, repetition FROM run WHERE plan = ?", (plan,)))


def latest_plan(lab):
    path = os.path.join(lab, ".assay", "runs.db")
    try:
        with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
            row = db.execute("SELECT id, complete FROM plan ORDER BY started_ms DESC LIMIT 1").fetchone()
    except sqlite3.OperationalError:
        return None, 1
    return row or (None, 1)


def left(plan):
    return [name for name in os.listdir("/dev/shm") if name.startswith("assay-session-") and plan in name]


def processes(mark):
    """Processes of the measured program that are alive."""
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                found += mark.encode() in file.read()
        except OSError:
            pass
    return found


def kills(assay, lab, n):
    with open(os.path.join(lab, "apps", "work.sh"), "w") as file:
        file.write('sleep "$1"\n')
    with open(os.path.join(lab, "apps", "killed.yaml"), "w") as file:
        file.write(KILLED)
    start = time.monotonic()
    whole = json.loads(run(assay, "-C", lab, "run", "killed", "--format", "json").stdout)
    seconds = time.monotonic() - start
    wanted = stored(lab, whole["plan"])
    print("## Twenty times kill -9\n" if n == 20 else "## %d times kill -9\n" % n)
    print("%d emulated hosts, two versions, two inputs, three repetitions. Undisturbed: %d results in %.1f s. Each time the controller is killed"
          " with\nSIGKILL at a moment drawn from the whole run (seed 20261120), then `assay run --resume`; \"same\" compares all (machine,"
          " application, version,\nrepetition) with the undisturbed run.\n" % (HOSTS, len(wanted), seconds))
    print("| kill | after s | stored then | lost | resumed to | doubled | same | processes left | directories left |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    draw, same, before_plan = random.Random(20261120), 0, whole["plan"]
    for i in range(1, n + 1):
        delay = draw.uniform(0, seconds)
        victim = subprocess.Popen([assay, "-C", lab, "run", "killed"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        time.sleep(delay)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        plan, complete = latest_plan(lab)
        begun = plan is not None and plan != before_plan
        then = stored(lab, plan) if begun else []
        resumed = ["--resume"] if begun and not complete else []
        if begun and complete:
            result = plan
        else:
            result = json.loads(run(assay, "-C", lab, "run", "killed", *resumed, "--format", "json").stdout)["plan"]
        now = stored(lab, result)
        lost = len(set(then) - set(now))
        doubled = len(now) - len(set(now))
        good = now == wanted and lost == 0 and (not begun or result == plan)
        same += good
        before_plan = result
        print("| %d | %.2f | %s | %d | %d | %d | %s | %d | %d |" % (
            i, delay, len(then) if begun else "not begun", lost, len(now), doubled, "yes" if good else "NO",
            processes("assay-session-0-" + result), len(left(result))), flush=True)
    print("\n%d of %d resumed to the same set." % (same, n))
    return same == n


def gate(assay, lab, rounds):
    with open(os.path.join(lab, "apps", "same.yaml"), "w") as file:
        file.write(SAME)
    print("\n## One version under two names\n")
    print("The same awk program as versions `one` and `other`, %d emulated hosts of %d profiles, seven repetitions, `assay gate` with its"
          " defaults after each\n`assay run`.\n" % (HOSTS, HOSTS))
    print("| round | decision | ratio | low | high | detectable | seconds of a run, median |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    regressions = 0
    for i in range(1, rounds + 1):
        done = json.loads(run(assay, "-C", lab, "run", "same", "--format", "json").stdout)
        verdict = json.loads(run(assay, "-C", lab, "gate", "same@one", "same@other", "--format", "json").stdout)
        effect = verdict["effect"]
        regressions += verdict["decision"] == "regression"
        print("| %d | %s | %.4f | %.4f | %.4f | %.1f %% | %.3f |" % (
            i, verdict["decision"], effect["ratio"], effect["low"], effect["high"], 100 * verdict["minimum_detectable_effect"],
            done["results"][0]["median"]), flush=True)
    print("\nregression was said %d times of %d." % (regressions, rounds))
    return regressions == 0


def main():
    assay, lab = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 10
    up = run(assay, "host", "up", lab, "--hosts", str(HOSTS))
    if up.returncode:
        sys.exit(up.stderr)
    good = kills(assay, lab, n)
    good = gate(assay, lab, rounds) and good
    run(assay, "host", "down", lab)
    sys.exit(0 if good else 1)


main()
