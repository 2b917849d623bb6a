"""A laboratory of simulated hosts, fingerprinted and used as a whole: launched_lab.py ASSAY DIRECTORY HOSTS[,HOSTS...] [SEED]. Root.

Each host is a mount namespace with a machine id and /dev/shm of its own, behind a stub launcher with drawn delays, queues, deaths; its
stress-ng is a script that tells the host's own number, and so does the application: what is looked at is the controller. Both commands are
killed once in the middle (SIGKILL) and resumed. With the last number of hosts states and values are held against what was drawn. Writes
Markdown to standard output; status 1: something is not as it must be."""
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

assay, directory = sys.argv[1:3]
sizes = [int(n) for n in sys.argv[3].split(",")]
seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
FANOUT = 64
# A host that dies takes all with it that is there, whichever launcher it came by; a launcher that is lost leaves the stream to the helper.
STUB = """#!/bin/sh
# FATE SECONDS HOST WORDS
fate=$1 seconds=$2 host=@DIR@/hosts/$3; shift 3
export HOME=@DIR@/home PATH=@DIR@/bin:$PATH
enter() { # OPTIONS-OF-UNSHARE WORDS
	options=$1; shift
	exec unshare -m $options --propagation private sh -c '
		mount --bind "$1/shm" /dev/shm && mount --bind "$1/id" /etc/machine-id && shift && exec "$@"' sh "$host" "$@"
}
begun() { work=; [ ! -e "$host/shm/begun" ] || read -r work <"$host/shm/begun"; }
case $fate in
wrong_status) sleep "$seconds"; (enter '' "$@"); exit 9 ;;
dies_before) sleep "$seconds"; echo "lost contact" >&2; exit 0 ;;
dies_once | dies_within | loses_launcher)
	[ "$fate" != dies_once ] || [ ! -e "$host/shm/died" ] || enter '' "$@"
	options='-p --fork --kill-child=KILL --mount-proc'
	[ "$fate" != loses_launcher ] || options=
	begun; before=$work
	exec 3<&0 # what the shell starts beside itself would have no input
	(enter "$options" "$@") <&3 & pid=$!
	while begun; [ "$work" = "$before" ] && kill -0 $pid; do sleep .2; done 2>/dev/null
	[ "$work" = "$before" ] || { kill -9 $pid; touch "$host/shm/died"; }
	exit 0 ;;
hangs) sleep 600 ;;
noise) echo "Welcome" ;;
esac
sleep "$seconds"
enter '' "$@"
"""
# A host's own number; on its way, where something dies there, the sign that it is at work.
WORK = """#!/bin/sh
read -r number mortal </dev/shm/number
[ -z "$mortal" ] || { echo $$.$(date +%s%N) >/dev/shm/begun; sleep 1; }
"""
STRESS = WORK.replace("read", """case $1 in --version) echo 'stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux)'; exit 0 ;; esac
trap stop=1 INT
read""", 1) + """[ -n "$stop" ] || { sleep 10 >/dev/null & wait; kill $!; }
printf -- '---\\nsystem-info:\\n      stress-ng-version: 0.15.06\\n\\nmetrics:\\n    - stressor: cpu\\n      bogo-ops: %s\\n' "$number"
printf '      bogo-ops-per-second-usr-sys-time: %s.0\\n      bogo-ops-per-second-real-time: %s.0\\n' "$number" "$number"
printf '      wall-clock-time: 1.0\\n      user-time: 1.0\\n      system-time: 0.0\\n\\n...\\n'
"""
# Share, seconds at least and at most, as what the host must end in the end.
FATES = {"answers": (.70, 0, .3, "complete"), "loses_launcher": (.02, 0, .1, "complete"), "noise": (.06, 0, .3, "complete"),
         "wrong_status": (.05, 0, .3, "complete"), "queues": (.06, 2, 6, "complete"), "dies_once": (.04, 0, .1, "complete"),
         "dies_before": (.03, 0, 1, "unreachable"), "dies_within": (.03, 0, .1, "failed"), "hangs": (.01, 0, 0, "timeout")}
MORTAL = ("dies_once", "dies_within", "loses_launcher")


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def make(n):
    """Hosts by name: (fate, number)."""
    draw = random.Random(seed + n)
    for name in ("hosts", "home", "bin"):
        os.mkdir(f"{directory}/{name}")
    subprocess.run(["mount", "-t", "tmpfs", "none", directory + "/hosts"], check=True)
    write(directory + "/stub", STUB.replace("@DIR@", directory), 0o755)
    write(directory + "/bin/stress-ng", STRESS, 0o755)
    write(directory + "/bin/work", WORK + 'echo "value $number"\n', 0o755)
    subprocess.run([assay, "init", directory + "/lab"], check=True, capture_output=True)
    found, lines = {}, [f"fanout: {FANOUT}\nhosts:\n"]
    for i in range(n):
        name, fate = f"h{i:04}", draw.choices(list(FATES), [row[0] for row in FATES.values()])[0]
        found[name] = (fate, 100000 + 7 * i)
        host = f"{directory}/hosts/{name}"
        for part in ("", "/shm"):
            os.mkdir(host + part)
        write(host + "/id", f"{i + 1:032x}\n")
        write(host + "/shm/number", f"{found[name][1]}{' mortal' if fate in MORTAL else ''}\n")
        lines.append("  - {name: %s, transport: command, launcher: [%s/stub, %s, '%.3f', '{host}']}\n" %
                     (name, directory, fate, draw.uniform(*FATES[fate][1:3])))
    write(directory + "/lab/lab.yaml", "".join(lines))
    write(directory + "/battery.yaml", "name: tiny\npasses: 1\nseconds: 0.1\nstressors:\n  - { stressor: cpu }\n")
    os.makedirs(directory + "/lab/apps", exist_ok=True)
    write(directory + "/lab/apps/work.yaml", f"command: [{directory}/bin/work]\nversions: {{ old: , new: }}\nrepetitions: 1\n"
          "metric: { pattern: 'value ([0-9]+)', direction: lower }\n")
    return found


class Command:
    """One command and what it cost: seconds, ms of processor, MiB at most."""

    def __init__(self, words, kill_when=None):
        began, self.ticks, self.memory, self.killed = time.time(), 0, 0, False
        with open(directory + "/out", "wb") as out, open(directory + "/err", "wb") as err:
            process = subprocess.Popen([assay, "-C", directory + "/lab", *words, "--quiet", "--format", "json"], stdout=out, stderr=err)
            while process.poll() is None:
                self.look(process.pid)
                if kill_when and kill_when():
                    process.send_signal(signal.SIGKILL)
                    self.killed = True
                time.sleep(.05)
        self.status, self.seconds = process.returncode, time.time() - began
        text = open(directory + "/out", encoding="utf-8").read()
        self.answer = json.loads(text) if text and not self.killed else None

    def look(self, pid):
        try:
            self.memory = max(self.memory, int(re.search(r"VmHWM:\s*(\d+)", open(f"/proc/{pid}/status").read()).group(1)) / 1024)
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            self.ticks = int(fields[11]) + int(fields[12])
        except (OSError, AttributeError):
            pass


def rows_of(sql):
    return subprocess.run(["sqlite3", "-readonly", "-separator", " ", directory + "/lab/.assay/runs.db", sql], capture_output=True, text=True,
                          check=False).stdout.split("\n")[:-1]


def half(sql, n):
    """Whether half of what is to come is there; looked at once a quarter of a second."""
    last = [0.0]

    def looked():
        if time.time() - last[0] < .25:
            return False
        last[0] = time.time()
        rows = rows_of(sql)
        return bool(rows) and int(rows[0] or 0) >= n // 2
    return looked


def all_of(words, sql, n, found, measured):
    """The command killed in the middle, resumed, and resumed once more: hosts that died once are well then."""
    runs = [Command(words, half(sql, n)), Command(words + ["--resume"]), Command(words + ["--resume"])]
    measured.append((len(found), " ".join(words[:2]) if words[0] == "fingerprint" else "run", runs))
    return runs


def outcomes(answer, found):
    ended = collections.Counter()
    for host in answer["hosts"]:
        ended[found[host["host"]][0], host["outcome"]] += 1
    return ended


def left():
    """Processes of the launcher, and files on hosts that nobody would look for there."""
    processes = subprocess.run(["pgrep", "-f", directory + "/stub|" + directory + "/bin/|assay-helper"], capture_output=True, text=True,
                               check=False).stdout.split()
    files = [os.path.join(path, name) for path, _, names in os.walk(directory + "/hosts") for name in names]
    return processes, [f for f in files if not re.search(r"/(id|shm/(number|begun|died|assay[^/]*lock[^/]*))$", f)]


def check_values(found):
    """Every host that can has its own number once a cell, and no other host has any; how many rows are not so."""
    cells = {"fingerprint": 1, "run": 2}
    sqls = {"fingerprint": "SELECT machine, count(*), count(DISTINCT rate.per_s), max(rate.per_s) FROM rate JOIN fingerprint ON fingerprint.id = rate.fingerprint "
            "GROUP BY machine", "run": "SELECT machine, count(*), count(DISTINCT metric), max(metric) FROM run GROUP BY machine"}
    wrong = {}
    for what, sql in sqls.items():
        rows = {row.split()[0]: row.split()[1:] for row in rows_of(sql)}
        wrong[what] = sum((FATES[fate][3] == "complete") != (name in rows) or
                          (name in rows and (int(rows[name][0]), int(rows[name][1]), float(rows[name][2])) != (cells[what], 1, number))
                          for name, (fate, number) in found.items())
    return wrong


def clear():
    subprocess.run(["umount", directory + "/hosts"], check=False)
    for name in ("hosts", "home", "bin", "lab"):
        subprocess.run(["rm", "-rf", f"{directory}/{name}"], check=True)


def measure(n, measured):
    """States in the end by fate and command, values that are wrong, what is left."""
    found = make(n)
    try:
        able = sum(FATES[fate][3] == "complete" for fate, _ in found.values())
        fingerprints = all_of(["fingerprint", "run", "--battery", directory + "/battery.yaml"], "SELECT count(*) FROM fingerprint WHERE complete", able,
                              found, measured)
        for name, (fate, _) in found.items():
            if fate == "dies_once":
                subprocess.run(["rm", "-f", f"{directory}/hosts/{name}/shm/died"], check=True)
        runs = all_of(["run", "work"], "SELECT count(*) FROM run", 2 * able, found, measured)
        states = [outcomes(command.answer, found) for command in (fingerprints[1], fingerprints[2], runs[1], runs[2])]
        return found, states, check_values(found), left()
    finally:
        clear()


def main():
    measured, good = [], True
    for n in sizes:
        print(f"evidence: {n} hosts", file=sys.stderr)
        found, states, wrong, (processes, files) = measure(n, measured)
        good = good and not any(wrong.values()) and not processes and not files
    print("| hosts | command | ended by | s | controller's ms of processor a host | controller's MiB at most |\n| ---: | --- | --- | ---: | ---: | ---: |")
    for n, name, runs in measured:
        for run, text in zip(runs, ("", " --resume", " --resume")):
            print(f"| {n} | `{name}{text}` | {'SIGKILL' if run.killed else f'itself, status {run.status}'} | {run.seconds:.1f} | "
                  f"{1000 * run.ticks / os.sysconf('SC_CLK_TCK') / n:.2f} | {run.memory:.1f} |")
    print(f"\nThe {sizes[-1]} hosts, by what was drawn for them, after the first and the second `--resume`:\n")
    print("| drawn | hosts | fingerprint, first | second | run, first | second | as must be |\n| --- | ---: | --- | --- | --- | --- | --- |")
    for fate, row in FATES.items():
        said = [", ".join(f"{state} {k}" for (drawn, state), k in sorted(counter.items()) if drawn == fate) for counter in states]
        wanted = "ok" if row[3] == "complete" else row[3]
        right = all(state == wanted for counter in (states[1], states[3]) for drawn, state in counter if drawn == fate)
        good = good and right
        print(f"| {fate} | {sum(f == fate for f, _ in found.values())} | {' | '.join(said)} | {'yes' if right else '**no**'} |")
    print(f"\nHosts whose own numbers are not in the store exactly once for each cell, or that have some and could not: {wrong['fingerprint']} (fingerprints), "
          f"{wrong['run']} (runs). Left: {len(processes)} processes, {len(files)} files on hosts.")
    for name in files[:5]:
        print("left:", name, file=sys.stderr)
    return 0 if good else 1


sys.exit(main())
