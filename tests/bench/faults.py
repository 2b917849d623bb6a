"""Hosts, links and controllers that fail while `assay host measure` and `assay run` are at work: the tables of tests/evidence/faults.sh.

    python3 faults.py ASSAY DIRECTORY          TRIALS each (20), JOBS at a time (3); none is begun after MINUTES
    FAULT="link cut" COMMAND=run SEED=7 python3 faults.py ASSAY DIRECTORY     one of them; MOMENT=1.234 at that second, KEEP=1 keeps its files

Each trial has namespaces of its own (mounts, network, processes), so that several can be under way and nothing of them stays. In it four
emulated hosts: emu01 and emu02 are one box, of which the laboratory does not know, and are kept apart by its lock alone; the others are boxes
of their own. The measured program and stress-ng notice another one in their box.
"""
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
import traceback

from faults_host import FAULTS, Fleet, Nothing, command_of, processes

COMMANDS = ("host measure", "run")
STRESSORS, PASSES = ("brk", "hdd"), 2
VERSIONS, REPETITIONS = ("a", "bb"), 3
CELLS = {"host measure": len(STRESSORS) * PASSES, "run": len(VERSIONS) * REPETITIONS}
# What a host that hangs may take, and with it those that wait for the lock it holds; what a busy machine may add.
LIMIT_S, SPARE_S = {"host measure": 190, "run": 430}, 30
SLOW_JOBS = 14
# What stress-ng does on a busy machine that gives it no processor for its 0.3 s: no fault of ours.
LATE = ("it made no operations in its time", "stress-ng was ended by signal 2", "the stressor failed", "it did not end in time and was killed")
BATTERY = """name: tiny
passes: %d
seconds: 0.3
limits: { memory_bytes: 1000000000, file_bytes: 16000000, processes: 50 }
stressors:
  - { stressor: brk }
  - { stressor: hdd, arguments: [--hdd-bytes, 1M] }
"""
MANIFEST = """files: [tiny/run.sh]
command: ['{files}/run.sh', '{version}']
versions: { %s }
repetitions: %d
time_limit: 5
metric: { source: regex, pattern: 'cost ([0-9]+)' }
""" % (", ".join(name + ": " for name in VERSIONS), REPETITIONS)
ALONE = """#!/bin/bash
exec 9>>"$ASSAY_BOX/alone"
flock -n 9 || echo "$ASSAY_BOX $*" >>"$ASSAY_BOX/together"
"""
PROGRAM = ALONE + """[ -z "$(ls -A)" ] || { echo 'the directory is not empty' >&2; exit 9; }
head -c 65536 /dev/zero >used || exit 8
echo "$ASSAY_NAME" >>"$ASSAY_BOX/begun"
sleep .05
echo "cost $((10 * ${#1}))"
"""
STRESSNG = "#!/bin/bash\n[ \"$1\" = --version ] && exec /usr/bin/stress-ng --version\n" + ALONE + """exec /usr/bin/stress-ng "$@"
"""


class Trial:
    def __init__(self, assay, directory, fault, command, seed, moment):
        self.assay, self.directory, self.command, self.moment = assay, directory, command, moment
        self.draw = random.Random("%s %s %s" % (fault, command, seed))
        self.share = self.draw.random()
        self.fleet = Fleet(assay, directory)
        self.failures, self.done_s, self.sessions, self.late = [], {}, 0, 0
        self.write_laboratory()
        self.kind = FAULTS.get(fault, Nothing)
        if fault == "impostor": # there is a catalog that knows them
            with open(directory + "/known.yaml", "w") as file:
                file.write(BATTERY % 1)
            subprocess.run([assay, "-C", self.fleet.lab, "host", "measure", "--battery", directory + "/known.yaml"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.before = set(self.rows(command))

    def write_laboratory(self):
        lab = self.fleet.lab
        os.makedirs(lab + "/apps/tiny")
        os.makedirs(self.directory + "/bin")
        for path, text in ((self.directory + "/tiny.yaml", BATTERY % PASSES), (lab + "/apps/tiny.yaml", MANIFEST),
                           (lab + "/apps/tiny/run.sh", PROGRAM), (self.directory + "/bin/stress-ng", STRESSNG)):
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o755)
        with open(lab + "/lab.yaml", "w") as file:
            file.write("hosts:\n")
            for host in self.fleet.hosts:
                file.write('  - name: %s\n    address: %s\n    user: root\n    identity_file: .assay/emulated/id_ed25519\n'
                           '    env: { ASSAY_BOX: "%s", ASSAY_NAME: "%s", PATH: "%s/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" }\n'
                           % (host.name, host.address, host.box, host.name, self.directory))

    # ---- what is stored ----

    def query(self, text):
        try:
            with sqlite3.connect("file:%s/.assay/runs.db?mode=ro" % self.fleet.lab, uri=True, timeout=20) as db:
                return db.execute(text).fetchall()
        except sqlite3.OperationalError as err:
            if "unable to open" in str(err) or "no such table" in str(err):
                return []
            raise

    def rows(self, command):
        """(machine, cell, value), each once: lists show doubles."""
        if command == "run":
            return self.query("SELECT machine, plan || ' ' || version || ' ' || repetition, outcome || ' ' || coalesce(metric, detail) FROM execution")
        return self.query("SELECT machine, fingerprint || ' ' || stressor || ' ' || pass, value FROM (SELECT fingerprint, stressor, pass, per_s AS value"
                          " FROM rate UNION ALL SELECT fingerprint, stressor, pass, reason FROM missing) JOIN fingerprint AS f ON id = fingerprint"
                          # Where all that was tried had failed, --resume begins anew.
                          " WHERE EXISTS (SELECT 1 FROM rate WHERE fingerprint = f.id)"
                          " OR NOT EXISTS (SELECT 1 FROM fingerprint AS g WHERE g.machine = f.machine AND g.taken_ms > f.taken_ms)")

    def stored(self):
        return [row for row in self.rows(self.command) if row not in self.before]

    def complete(self):
        """Machines with all of their cells (and their fingerprint complete)."""
        count = collections.Counter(row[0] for row in self.stored())
        full = {name for name, n in count.items() if n == CELLS[self.command]}
        if self.command == "run":
            return full
        known = {row[1].split()[0] for row in self.before}
        return full & {row[0] for row in self.query("SELECT machine, id FROM fingerprint WHERE complete = 1") if row[1] not in known}

    def failed(self, machine):
        """Why cells of a machine have no value."""
        return [str(value) for name, _, value in self.stored() if name == machine and not isinstance(value, float) and not value.startswith("ok ")]

    # ---- commands ----

    def assay_run(self, command, *options):
        words = {"run": ["run", "tiny"], "host measure": ["host", "measure", "--battery", self.directory + "/tiny.yaml"]}[command]
        return subprocess.Popen([self.assay, "-C", self.fleet.lab, *words, "--format", "json", "--quiet"] + [o for o in options if o == "--resume"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def watch(self, began, stop):
        while not stop.wait(0.1):
            for name in self.complete():
                self.done_s.setdefault(name, time.monotonic() - began)

    def answer_of(self, process):
        out, err = process.communicate()
        try:
            return json.loads(out), err
        except ValueError:
            return None, err

    def wrong(self, what, text):
        self.failures.append((what, text))

    # ---- the trial ----

    def disturb(self, durations):
        began = time.monotonic()
        process = self.assay_run(self.command)
        self.sessions = 1
        self.fault = self.kind(self.fleet, self.draw, process)
        stop = threading.Event()
        watcher = threading.Thread(target=self.watch, args=(began, stop), daemon=True)
        watcher.start()
        answer = []
        reader = threading.Thread(target=lambda: answer.append(self.answer_of(process)), daemon=True)
        reader.start()
        if self.moment is None:
            self.moment = self.share * durations[self.fault.to.name if self.fault.to else ""] if durations else 0.0
        reader.join(max(0, self.moment - (time.monotonic() - began)))
        self.hit = reader.is_alive() and not (self.fault.to and self.fault.to.name in self.complete())
        self.committed = self.stored()
        with open(self.directory + "/struck", "w"):
            pass
        self.fault.strike()
        reader.join(LIMIT_S[self.command] + SPARE_S)
        if reader.is_alive():
            self.wrong("others", "the command had not ended %d s after the fault" % (LIMIT_S[self.command] + SPARE_S))
            self.fault.heal()
            reader.join(60)
            if reader.is_alive():
                process.kill()
        reader.join()
        self.seconds = time.monotonic() - began
        stop.set()
        watcher.join()
        for name in self.complete():
            self.done_s.setdefault(name, self.seconds)
        self.answer, self.stderr = answer[0]

    def neighbours(self):
        to = self.fault.to
        return [host for host in self.fleet.hosts if to and host is not to and host.box == to.box]

    def check_states(self):
        """Of the disturbed command: the struck host says why, all others are complete."""
        complete = self.complete()
        self.said = ""
        if self.answer is None:
            early = self.kind.__name__ == "Interrupted" and "interrupted; what was stored" in self.stderr and not self.stored()
            if self.kind.__name__ not in ("Killed",) and not early:
                self.wrong("state", "no answer: %s" % self.stderr.strip()[-300:])
            return
        listed = {host["host"]: host for host in self.answer["hosts"]}
        for host in self.fleet.hosts:
            said = listed[host.name]
            whole = said["outcome"] == "ok" and host.name in complete
            struck = host is self.fault.to
            if struck:
                self.said = "complete" if whole else re.sub(r"[0-9a-f]{16,}", "…", said["message"])
                self.said += "".join("; without a value: " + why for why in sorted(set(self.failed(host.name)) - set(LATE)))
            if whole or self.kind.__name__ == "Interrupted":
                continue
            if struck and self.fault.harms:
                if said["outcome"] == "ok" or not re.search(self.fault.says, said["message"]):
                    self.wrong("state", "%s: %s: %s" % (host.name, said["outcome"], said["message"] or "no reason"))
            elif struck:
                self.wrong("state", "%s is not complete: %s: %s" % (host.name, said["outcome"], said["message"]))
            elif self.kind.__name__ == "Suspended" and re.search("ended (during authentication|while the session)", said["message"]): # sshd's own LoginGraceTime
                self.said += "; %s: %s" % (host.name, said["message"])
            elif said["message"].startswith("not one stressor") and said["message"].endswith(LATE):
                self.late += 1
            elif host in self.neighbours() and "busy" in said["message"]:
                self.said += "; its neighbour: " + said["message"]
            elif host in self.neighbours() and self.kind.__name__ in ("Lock",) and self.fault.harms and re.search(self.fault.says, said["message"]):
                continue
            else:
                self.wrong("others", "%s: %s: %s" % (host.name, said["outcome"], said["message"]))

    def check_cells(self):
        """Of hosts that were not struck, all are measured."""
        struck = {self.fault.to.name} if self.fault.to else set()
        if self.kind.__name__ == "Lock" and self.fault.harms:
            struck |= {host.name for host in self.neighbours()}
        for machine, cell, value in self.stored():
            good = (value == "ok %.1f" % (10 * len(cell.split()[1]))) if self.command == "run" else isinstance(value, float) and 0 < value < 1e12
            if good:
                continue
            if value in LATE:
                self.late += 1
                continue
            if machine not in struck or not self.fault.harms or not self.fault.says or not re.search(self.fault.says, str(value)):
                self.wrong("others" if machine not in struck else "state", "%s, %s: %s" % (machine, cell, value))

    def check_delays(self, undisturbed):
        self.delay_near = self.delay_far = 0.0
        if not undisturbed or not self.fault.to:
            return
        for host in self.fleet.hosts:
            if host is self.fault.to or host.name not in self.done_s:
                continue
            late = max(0.0, self.done_s[host.name] - undisturbed)
            near = host in self.neighbours()
            if near:
                self.delay_near = max(self.delay_near, late)
            else:
                self.delay_far = max(self.delay_far, late)
            if late > SPARE_S + (LIMIT_S[self.command] if near else 0):
                self.wrong("others", "%s was ready %.1f s later than undisturbed" % (host.name, late))

    def resume(self):
        """At once, or when the host is well again."""
        if self.answer is None or not all(host["outcome"] == "ok" for host in self.answer["hosts"]) or len(self.complete()) < len(self.fleet.hosts):
            self.sessions += 1
            answer, err = self.answer_of(self.assay_run(self.command, "--resume"))
            if (answer.get("plan", 1) is None if answer else self.answer is None) and not self.stored(): # nothing was begun
                answer, err = self.answer_of(self.assay_run(self.command))
            for host in answer["hosts"] if answer else []:
                if host["outcome"] != "ok":
                    self.wrong("state", "resumed: %s: %s: %s" % (host["host"], host["outcome"], host["message"]))
            if not answer:
                self.wrong("state", "resumed: %s" % err.strip()[-300:])

    def check_store(self):
        now = self.stored()
        for row in set(self.committed) - set(now):
            if row[2] not in LATE: # where a busy machine left nothing measured, --resume begins anew
                self.wrong("lost", "%s, %s: %s" % row)
        for name in [host.name for host in self.fleet.hosts if host.name not in self.complete()]:
            have = sum(row[0] == name for row in now)
            self.wrong({-1: "lost", 0: "state", 1: "doubled"}[(have > CELLS[self.command]) - (have < CELLS[self.command])],
                       "%s is not complete when resumed: %d of %d cells" % (name, have, CELLS[self.command]))
        cells = collections.Counter((row[0], row[1]) for row in now)
        for cell, n in cells.items():
            if n > 1:
                self.wrong("doubled", "%s, %s: %d times" % (*cell, n))
        if self.command == "run":
            for row in self.query("SELECT machine, version, repetition, count(*) FROM run GROUP BY 1, 2, 3 HAVING count(*) > 1"):
                self.wrong("doubled", "%s, %s %s: %d results" % row)
        for host in self.fleet.hosts:
            path = host.box + "/together"
            if os.path.exists(path):
                with open(path) as file:
                    self.wrong("doubled", "two measurements in one box: %s" % file.readline().strip()[:200])
                os.unlink(path)
            if self.command == "run" and os.path.exists(host.box + "/begun"):
                with open(host.box + "/begun") as file:
                    n = file.read().split().count(host.name)
                most = CELLS["run"] + self.sessions * len(VERSIONS) + self.sessions - 1
                if n > most:
                    self.wrong("doubled", "%s began %d runs, %d at most were to be" % (host.name, n, most))

    def check_left(self):
        """On hosts, and here."""
        patience = 150 if self.kind.slow or self.kind.__name__ == "Blip" else 15
        deadline = time.monotonic() + patience
        leaves = self.kind.leaves
        if self.kind.__name__ == "Dead" and self.sessions == 1: # nobody was there since: its directory is the next session's to remove
            leaves += r"|/assay-session-"
        while True:
            left = ["%s: %s" % (host.name, text) for host in self.fleet.hosts for text in host.left()
                    if not (host in [self.fault.to, *self.neighbours()] and leaves and re.search(leaves, text))]
            left += ["here: process: " + command_of(pid) for pid in processes() if command_of(pid).startswith(self.assay)]
            left += ["here: file: " + name for name in os.listdir(self.directory + "/tmp")]
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        for text in left[:6]:
            self.wrong("left", text + (" (before --resume)" if self.sessions == 1 and self.kind.__name__ == "Interrupted" else ""))

    def run(self, undisturbed, durations):
        self.disturb(durations)
        self.fault.heal()
        self.check_states()
        if self.kind.__name__ == "Interrupted":
            self.check_left()
        self.resume()
        self.check_cells()
        self.check_delays(undisturbed)
        self.check_store()
        self.check_left()
        return {"failures": self.failures, "hit": self.hit, "moment": self.moment, "variant": self.fault.variant, "said": self.said,
                "struck": self.fault.to.name if self.fault.to else "", "seconds": self.seconds, "done_s": self.done_s,
                "near": self.delay_near, "far": self.delay_far, "committed": len(self.committed), "late": self.late}


def trial(words):
    assay, directory, fault, command, seed, moment, undisturbed, durations = words
    result = {"failures": [("harness", "")]}
    one = None
    try:
        one = Trial(assay, directory, fault, command, seed, float(moment) if moment else None)
        result = one.run(float(undisturbed), json.loads(durations))
        one.fleet.down()
    except Exception:
        result["failures"] = [("harness", traceback.format_exc())]
    with open(directory + "/result", "w") as file:
        json.dump(result, file)


# ---- all trials ----

class Campaign:
    def __init__(self, assay, directory):
        self.assay, self.directory, self.number, self.lock = os.path.realpath(assay), directory, 0, threading.Lock()
        self.durations, self.undisturbed = {}, {}
        self.slots = threading.Semaphore(int(os.environ.get("JOBS", 3))) # of trials that use the processor

    def one(self, fault, command, seed, moment=""):
        with self.lock:
            self.number += 1
            directory = "%s/%d" % (self.directory, self.number)
        os.mkdir(directory)
        words = [self.assay, directory, fault, command, str(seed), str(moment), str(self.undisturbed.get(command, 0)), json.dumps(self.durations.get(command))]
        slow = fault in FAULTS and FAULTS[fault].slow
        with self.slots:
            done = subprocess.Popen(["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", 'python3 "$@"; exit $?',
                                     "bash", os.path.abspath(__file__), "--trial", *words],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            while slow and done.poll() is None and not os.path.exists(directory + "/struck"):
                time.sleep(0.1)
            out = None if slow else done.communicate()[0]
        out = done.communicate()[0] if slow else out
        try:
            with open(directory + "/result") as file:
                result = json.load(file)
        except (OSError, ValueError):
            result = {"failures": [("harness", out)]}
        self.remove_groups(directory)
        result.update(fault=fault, command=command, seed=seed)
        if not os.environ.get("KEEP"):
            shutil.rmtree(directory, ignore_errors=True)
        return result

    @staticmethod
    def remove_groups(directory):
        """Of a trial that could not take its host down; its processes have ended with its namespace."""
        try:
            with open(directory + "/lab/.assay/emulated/state") as file:
                tag = re.search(r"\b[0-9a-f]{8}\b", file.read())[0]
        except (OSError, TypeError):
            return
        for kind in ("memory", "pids"):
            for top, _, _ in os.walk("/sys/fs/cgroup/%s/assay-%s" % (kind, tag), topdown=False):
                try:
                    os.rmdir(top)
                except OSError:
                    pass

    def calibrate(self, jobs):
        for command in COMMANDS:
            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                all = list(pool.map(lambda i: self.one("none", command, i), range(max(3, jobs))))
            for result in all:
                if result["failures"]:
                    sys.exit("undisturbed, %s: %s" % (command, result["failures"]))
            self.durations[command] = {name: statistics.median(result["done_s"][name] for result in all) for name in all[0]["done_s"]}
            self.durations[command][""] = statistics.median(result["seconds"] for result in all)
            self.undisturbed[command] = max(max(result["done_s"].values()) for result in all)

    def all(self, faults, commands, trials, jobs):
        done, began = [], time.monotonic()
        minutes = float(os.environ.get("MINUTES", 1e9))

        def work(item):
            if time.monotonic() - began > 60 * minutes:
                return None
            try:
                result = self.one(*item)
            except Exception:
                result = {"failures": [["harness", traceback.format_exc()]], "fault": item[0], "command": item[1], "seed": item[2]}
            with self.lock:
                done.append(result)
                print("%4d: %s, %s, seed %s%s" % (len(done), *item, "".join("\n      %s: %s" % tuple(f) for f in result["failures"])), file=sys.stderr, flush=True)
            return result

        items = [(fault, command, seed) for seed in range(1, trials + 1) for fault in faults for command in commands]
        slow = [item for item in items if FAULTS[item[0]].slow]
        with concurrent.futures.ThreadPoolExecutor(SLOW_JOBS) as pool, concurrent.futures.ThreadPoolExecutor(jobs) as quick:
            waiting = [pool.submit(work, item) for item in slow] + [quick.submit(work, item) for item in items if item not in slow]
            return [future.result() for future in waiting if future.result()]


def spread(values):
    return "%.1f, %.1f" % (statistics.median(values), max(values)) if values else ""


def write_table(results, faults, commands):
    print("| fault | command | trials | at work | right state | others unharmed | lost | doubled | left behind | delay of others, s | of its box, s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for fault in faults:
        for command in commands:
            these = [r for r in results if r["fault"] == fault and r["command"] == command and "hit" in r]
            bad = {what: sum(any(f[0] == what for f in r["failures"]) for r in these) for what in ("state", "others", "lost", "doubled", "left")}
            n = len(these)
            print("| %s | `%s` | %d | %d | %d | %d | %d | %d | %d | %s | %s |" % (
                fault, command, n, sum(r["hit"] for r in these), n - bad["state"], n - bad["others"], bad["lost"], bad["doubled"], bad["left"],
                spread([r["far"] for r in these if r["struck"]]), spread([r["near"] for r in these if r["struck"] in ("emu01", "emu02")])))


def write_said(results, faults):
    print("\n## What was said of the host that was struck\n")
    print("| fault | times | its state |")
    print("| --- | --- | --- |")
    for fault in faults:
        said = collections.Counter(re.sub(r"\d+(\.\d+)?", "N", r["said"]) for r in results if r["fault"] == fault and r.get("said"))
        for text, n in said.most_common():
            print("| %s | %d | %s |" % (fault, n, text.replace("|", "\\|")))


def write_failures(results):
    bad = [r for r in results if r["failures"]]
    print("\n## Failures\n")
    if not bad:
        print("None.")
    for r in sorted(bad, key=lambda r: (r["fault"], r["command"], r["seed"])):
        print("- `FAULT='%s' COMMAND='%s' SEED=%s MOMENT=%.3f`%s" % (r["fault"], r["command"], r["seed"], r.get("moment") or 0,
                                                                 " (%s)" % r["variant"] if r.get("variant") else ""))
        for what, text in r["failures"]:
            print("  - %s: %s" % (what, text.strip().replace("\n", "; ")[-400:]))


def main():
    if sys.argv[1] == "--trial":
        return trial(sys.argv[2:])
    campaign = Campaign(*sys.argv[1:3])
    jobs, trials = int(os.environ.get("JOBS", 3)), int(os.environ.get("TRIALS", 20))
    faults = os.environ["FAULT"].split(",") if os.environ.get("FAULT") else list(FAULTS)
    commands = os.environ["COMMAND"].split(",") if os.environ.get("COMMAND") else list(COMMANDS)
    if os.environ.get("MOMENT"):
        result = campaign.one(faults[0], commands[0], os.environ["SEED"], os.environ["MOMENT"])
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return bool(result["failures"])
    campaign.calibrate(jobs)
    if os.environ.get("SEED"):
        result = campaign.one(faults[0], commands[0], os.environ["SEED"])
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return bool(result["failures"])
    began = time.monotonic()
    results = campaign.all(faults, commands, trials, jobs)
    hours = (time.monotonic() - began) / 60
    good = sum(not r["failures"] for r in results)
    print("Undisturbed, %d at a time: %s. %d trials in %.0f minutes, %d of them as they should be.\n" % (
        jobs, ", ".join("`%s` %.1f s" % (command, campaign.durations[command][""]) for command in COMMANDS), len(results), hours, good))
    write_table(results, faults, commands)
    write_said(results, faults)
    write_failures(results)
    return good < len(results)


sys.exit(main())
