"""A laboratory of 1,000 hosts behind a stub launcher with drawn delays, deaths and queues: launched_table.py ASSAY DIRECTORY [HOSTS [SEED]].
Writes Markdown to standard output: how the hosts ended beside what was drawn for them, time, and the controller's processor time and memory."""
import collections
import json
import os
import random
import re
import subprocess
import sys
import time

assay, directory = sys.argv[1:3]
hosts = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
STUB = """#!/bin/sh
# FATE SECONDS HOST WORDS
fate=$1 seconds=$2; shift 3
case $fate in
answers) sleep "$seconds"; exec "$@" ;;
noise) echo "Welcome"; sleep "$seconds"; exec "$@" ;;
wrong_status) sleep "$seconds"; "$@"; exit 9 ;;
queues) sleep "$seconds"; exec "$@" ;;
dies_before) sleep "$seconds"; echo "lost contact" >&2; exit 0 ;;
dies_within) "$@" & sleep "$seconds"; kill -9 $!; exit 0 ;;
hangs) sleep 600 ;;
esac
"""
# Share, seconds at least and at most, what a host with this fate must end as when `sleep .5` is run on it.
FATES = {"answers": (.70, 0, .3, "ok"), "noise": (.06, 0, .3, "ok"), "wrong_status": (.06, 0, .3, "ok"), "queues": (.08, 2, 8, "ok"),
         "dies_before": (.05, 0, 2, "unreachable"), "dies_within": (.03, .1, .2, ("unreachable", "failed")), "hangs": (.02, 0, 0, "timeout")}


def main():
    draw = random.Random(seed)
    lab = directory + "/lab"
    subprocess.run([assay, "init", lab], check=True, capture_output=True)
    with open(directory + "/stub", "w", encoding="utf-8") as file:
        file.write(STUB)
    os.chmod(directory + "/stub", 0o755)
    fates = {}
    with open(lab + "/lab.yaml", "w", encoding="utf-8") as file:
        file.write("hosts:\n")
        for i in range(hosts):
            fate = draw.choices(list(FATES), [row[0] for row in FATES.values()])[0]
            fates["h%04d" % i] = fate
            file.write("  - {name: h%04d, transport: command, launcher: [%s/stub, %s, '%.3f', '{host}']}\n" %
                       (i, directory, fate, draw.uniform(*FATES[fate][1:3])))
    print("%d hosts, drawn with seed %d; `fleet exec --timeout 15 -- sleep .5`.\n" % (hosts, seed))
    rows = []
    for fanout in (32, 256):
        began = time.time()
        done = subprocess.Popen([assay, "-C", lab, "fleet", "exec", "--fanout", str(fanout), "--timeout", "15", "--format", "json", "--", "sleep", ".5"],
                                stdout=open(directory + "/out", "wb"), stderr=subprocess.DEVNULL)
        memory, ticks = 0, 0
        while done.poll() is None:
            try:
                memory = int(re.search(r"VmHWM:\s*(\d+)", open("/proc/%d/status" % done.pid).read()).group(1))
                fields = open("/proc/%d/stat" % done.pid).read().rsplit(")", 1)[1].split()
                ticks = int(fields[11]) + int(fields[12])
            except (OSError, AttributeError):
                pass
            time.sleep(.05)
        took = time.time() - began
        with open(directory + "/out", encoding="utf-8") as file:
            answer = json.load(file)
        ended = collections.Counter((fates[host["host"]], host["outcome"]) for host in answer["hosts"])
        rows.append((fanout, done.returncode, took, 1000 * ticks / os.sysconf("SC_CLK_TCK") / hosts, memory / 1024, ended))
    print("| fan-out | status | s | controller's ms of processor a host | controller's MiB at most |\n| ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        print("| %d | %d | %.1f | %.2f | %.1f |" % row[:5])
    print("\n| drawn | hosts | ended, fan-out 32 | ended, fan-out 256 | as must be |\n| --- | ---: | --- | --- | --- |")
    good = True
    for fate, row in FATES.items():
        said = [", ".join("%s %d" % (state, n) for (drawn, state), n in sorted(r[5].items()) if drawn == fate) for r in rows]
        right = all(state in row[3] if isinstance(row[3], tuple) else state == row[3]
                    for r in rows for (drawn, state) in r[5] if drawn == fate)
        good = good and right
        print("| %s | %d | %s | %s | %s |" % (fate, sum(f == fate for f in fates.values()), *said, "yes" if right else "**no**"))
    left = subprocess.run(["pgrep", "-f", directory + "/stub"], capture_output=True, text=True).stdout.split()
    print("\nLeft: %d processes of the launcher." % len(left))
    sys.exit(0 if good and not left else 1)


main()
