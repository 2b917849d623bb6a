"""A laboratory of simulated hosts behind a launcher: launched_lab.py ASSAY DIRECTORY HOSTS[,HOSTS...] [SEED]. Root.

Each host is a mount namespace with a machine id and /dev/shm of its own, behind launched_stub with drawn delays, queues, deaths; its stress-ng
is a script that tells the host's own number, and so does the application: what is looked at is the controller. A command is executed on all by
two fan-outs; then they are fingerprinted and used, both killed once in the middle (SIGKILL) and resumed twice. With the last number of hosts
states and values are held against what was drawn. Writes Markdown to standard output; status 1: something is not as it must be."""
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
PARTS = ("hosts", "home", "bin", "lab")
PLACE = {"HOME": directory + "/home", "PATH": directory + "/bin:/usr/sbin:/usr/bin:/sbin:/bin"}  # of hosts, too
# A host's own number; on its way, where something dies there, the sign that it is at work.
WORK = """#!/bin/sh
read -r number mortal </dev/shm/number
[ -z "$mortal" ] || { echo $$.$(date +%s%N) >/dev/shm/begun; sleep 5; }
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
         "wrong_status": (.05, 0, .3, "complete"), "queues": (.06, 1, 2, "complete"), "dies_once": (.04, 0, .1, "complete"),
         "dies_before": (.03, 0, 1, "unreachable"), "dies_within": (.03, 0, .1, "failed"), "hangs": (.01, 0, 0, "timeout")}
MORTAL = ("dies_once", "dies_within", "loses_launcher")


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def make(n):
    """Hosts by name: (fate, number)."""
    draw = random.Random(seed + n)
    for name in PARTS[:3]:
        os.mkdir(f"{directory}/{name}")
    subprocess.run(["mount", "-t", "tmpfs", "none", directory + "/hosts"], check=True)
    subprocess.run(["gcc", "-O1", "-o", directory + "/stub", os.path.dirname(os.path.abspath(__file__)) + "/launched_stub.c"], check=True)
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
        lines.append("  - {name: %s, transport: command, launcher: [%s/stub, %s, '%.3f', %s]}\n" %
                     (name, directory, fate, draw.uniform(*FATES[fate][1:3]), host))
    write(directory + "/lab/lab.yaml", "".join(lines))
    write(directory + "/battery.yaml", "name: tiny\npasses: 1\nseconds: 1\nstressors:\n  - { stressor: cpu }\n")
    os.makedirs(directory + "/lab/apps", exist_ok=True)
    write(directory + "/lab/apps/work.yaml", f"command: [{directory}/bin/work]\nversions: {{ only: }}\nrepetitions: 2\nwarm_ups: 0\n"
          "metric: { pattern: 'value ([0-9]+)', direction: lower }\n")
    return found


class Command:
    """One command and what it cost: seconds (without those in which all of this stood still), ms of processor, MiB at most."""

    stood = 0

    def __init__(self, hosts, name, words, kill_when=None):
        began, self.ticks, self.memory, self.killed = time.time(), 0, 0, False
        self.hosts, self.name = hosts, name
        with open(directory + "/out", "wb") as out, open(directory + "/err", "wb") as err:
            self.process = subprocess.Popen([assay, "-C", directory + "/lab", *words], stdout=out, stderr=err, env=PLACE)
            try:
                self.watch(kill_when)
            finally:
                self.process.kill()
        self.status, self.seconds = self.process.returncode, time.time() - began - self.stood
        text = open(directory + "/out", encoding="utf-8").read()
        self.answer = json.loads(text) if text and not self.killed else None
        print(f"evidence: {hosts} hosts: {name}: status {self.status} after {self.seconds:.1f} s", file=sys.stderr)

    def watch(self, kill_when):
        last = time.time()
        while self.process.poll() is None:
            now = time.time()
            self.stood, last = self.stood + (now - last if now - last > 20 else 0), now
            self.look(self.process.pid)
            if kill_when and kill_when():
                self.process.send_signal(signal.SIGKILL)
                self.killed = True
            time.sleep(.02)

    def look(self, pid):
        try:
            self.memory = max(self.memory, int(re.search(r"VmHWM:\s*(\d+)", open(f"/proc/{pid}/status").read()).group(1)) / 1024)
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            self.ticks = int(fields[11]) + int(fields[12])
        except (OSError, AttributeError):
            pass

    def row(self):
        return (f"| {self.hosts} | `{self.name}` | {'SIGKILL' if self.killed else f'itself, status {self.status}'} | {self.seconds:.1f} | "
                f"{1000 * self.ticks / os.sysconf('SC_CLK_TCK') / self.hosts:.2f} | {self.memory:.1f} |")


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


def executed(n):
    """A command by two fan-outs."""
    return [Command(n, f"host exec --fanout {fanout}", ["host", "exec", "--fanout", str(fanout), "--timeout", "15", "--format", "json", "--", "work"])
            for fanout in (32, 256)]


def interrupted(n, name, words, sql, cells):
    """The command killed in the middle, resumed, and resumed once more: hosts that died once are well then."""
    words = words + ["--quiet", "--format", "json"]
    return [Command(n, name, words, half(sql, cells)), *(Command(n, name + " --resume", words + ["--resume"]) for _ in range(2))]


def revive(found):
    """Hosts that have died once do so again."""
    for name, (fate, _) in found.items():
        if fate == "dies_once":
            subprocess.run(["rm", "-f", f"{directory}/hosts/{name}/shm/died"], check=True)


def outcomes(answer, found):
    ended = collections.Counter()
    for host in answer["hosts"]:
        ended[found[host["host"]][0], host["outcome"]] += 1
    return ended


def processes():
    """Those of launchers and hosts: all have the directory in their words."""
    found = subprocess.run(["pgrep", "-f", directory + "/(stub|bin|home)"], capture_output=True, text=True, check=False).stdout
    return [int(pid) for pid in found.split()]


def left():
    """Processes that do not end within 15 s, and files on hosts that nobody would look for there."""
    end = time.time() + 15
    while processes() and time.time() < end:
        time.sleep(.2)
    files = [os.path.join(path, name) for path, _, names in os.walk(directory + "/hosts") for name in names]
    return processes(), [f for f in files if not re.search(r"/(id|shm/(number|begun|died|assay[^/]*lock[^/]*|assay-[0-9]+[.]kernel))$", f)]


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
    """Also in the middle: what is at work then would find another place for its helper once the hosts' home is gone."""
    end = time.time() + 15
    while processes() and time.time() < end:
        for pid in processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(.1)
    subprocess.run(["umount", directory + "/hosts"], check=False)
    for name in PARTS:
        subprocess.run(["rm", "-rf", f"{directory}/{name}"], check=True)


def measure(n):
    """The commands; states in the end by fate and command; values that are wrong; what is left."""
    try:
        found = make(n)
        able = sum(FATES[fate][3] == "complete" for fate, _ in found.values())
        commands = executed(n)
        revive(found)
        commands += interrupted(n, "host measure", ["host", "measure", "--battery", directory + "/battery.yaml"],
                                "SELECT count(*) FROM fingerprint WHERE complete", able)
        revive(found)
        commands += interrupted(n, "run", ["run", "work"], "SELECT count(*) FROM run", 2 * able)
        return found, commands, [outcomes(command.answer, found) for command in commands if not command.killed], check_values(found), left()
    finally:
        clear()


def stop(number, _):
    signal.signal(number, signal.SIG_IGN)  # one is enough
    sys.exit(128 + number)


def main():
    good, measured = True, []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    for n in sizes:
        found, commands, states, wrong, (there, files) = measure(n)
        measured += commands
        good = good and not any(wrong.values()) and not there and not files
    print(f"Hosts were drawn with seed {seed}, as many at a time as `fanout: {FANOUT}` says, but of `host exec`.\n")
    print("| hosts | command | ended by | s | controller's ms of processor a host | controller's MiB at most |\n| ---: | --- | --- | ---: | ---: | ---: |")
    for command in measured:
        print(command.row())
    for command in measured:
        if command.stood:
            print(f"\n`{command.name}` on {command.hosts} hosts: all of this stood still for {command.stood:.0f} s, which are not counted.")
    print(f"\nThe {sizes[-1]} hosts, by what was drawn for them; `host exec` with either fan-out, the others after the first and the second `--resume`:\n")
    print("| drawn | hosts | exec, 32 | exec, 256 | fingerprint, first | second | run, first | second | as must be |\n| --- | ---: |" + " --- |" * 7)
    for fate, row in FATES.items():
        said = [", ".join(f"{state} {k}" for (drawn, state), k in sorted(counter.items()) if drawn == fate) for counter in states]
        wanted = "ok" if row[3] == "complete" else row[3]
        right = all(state == wanted for counter in states[1::2] for drawn, state in counter if drawn == fate)
        good = good and right
        print(f"| {fate} | {sum(f == fate for f, _ in found.values())} | {' | '.join(said)} | {'yes' if right else '**no**'} |")
    print(f"\nHosts whose own numbers are not in the store exactly once for each cell, or that have some and could not: {wrong['fingerprint']} (fingerprints), "
          f"{wrong['run']} (runs). Left: {len(there)} processes, {len(files)} files on hosts.")
    for name in files[:5]:
        print("left:", name, file=sys.stderr)
    return 0 if good else 1


sys.exit(main())
