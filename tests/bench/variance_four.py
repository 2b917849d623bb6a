"""Real disturbances of a real program (tests/apps/special/four.c), recorded and judged.
usage: variance_four.py ASSAY DIRECTORY SEED [RUNS [UNDISTURBED [SECONDS]]]: records what DIRECTORY does not have yet, for so long, and prints the tables
(SECONDS 0: of what there is).
Who is disturbed and when, and the order of the runs, follow from the seed. Exits with 3 when runs are still missing. Needs root, two processors, control
groups of version 1, mpicc and mpirun."""
import atexit
import bisect
import json
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "apps", "special", "four.c")
GROUPS = "/sys/fs/cgroup"
TURNS = {"pipes": 1200, "net": 1200, "ranks2": 600, "ranks4": 800}
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-np"]
HOG, QUOTA, DISK = ("run_queue", None), ("throttled", None), ("calls/disk", "io")
# Of each: the program, what is done, of whom (one process, two of different processors, all), for how long (half or a third of
# the run's undisturbed time, a second, or all of it), and the causes that must be named first, with what was slow.
KINDS = {
    "hog": ("pipes", "another program that computes, on its processor", "one", "half", [HOG]),
    "quota": ("pipes", "a quota of 40 % of what it uses (20 % of a processor)", "one", "half", [QUOTA]),
    "walk": ("pipes", "another program that walks over 64 MB of memory, on its processor", "one", "half", [HOG]),
    "disk": ("pipes", "100 writes and 100 reads a second for its disk", "one", "half", [DISK]),
    "net": ("net", "10 Mbit/s for its connection, which leads into a network namespace", "one", "third", [("calls", "communication")]),
    "stop": ("pipes", "stopped by SIGSTOP, continued by SIGCONT", "one", "half", [("stopped", None)]),
    "second": ("pipes", "one second of `hog`", "one", "second", [HOG]),
    "two": ("pipes", "`hog` of one, and meanwhile `quota` of one of the other processor", "two", "half", [HOG, QUOTA]),
    "slow": ("pipes", "`hog` from beginning to end", "one", "whole", [HOG]),
    "whole": ("pipes", "a quota of 20 % of a processor for each of the four, from beginning to end: one slow run of ten", "all", "whole", []),
    "ranks-quota": ("ranks4", "a quota of 20 % of a processor for a rank", "one", "half", [QUOTA]),
    "ranks-disk": ("ranks4", "100 writes and 100 reads a second for a rank", "one", "half", [DISK]),
    "ranks-stop": ("ranks4", "a rank is stopped", "one", "half", [("stopped", None)]),
}
STILL = {"none": ("pipes", "four processes"), "ranks2-none": ("ranks2", "two ranks"), "ranks4-none": ("ranks4", "four ranks, `mpi_yield_when_idle`")}


def put(path, text):
    with open(path, "w") as out:
        out.write(str(text))


TRIES = 4  # of a run, until its disturbance is in it
SHARES = 16384  # of the processor, for each process: others on the machine have 1024


def preferred():
    """This process and what it starts, over others on the machine; until it ends. This process itself over those as well: ranks that yield in a loop
    kept it from its processor for a second and more, and what it was to disturb had ended."""
    name = f"{GROUPS}/cpu/assay-preferred-{os.getpid()}"
    os.mkdir(name)
    put(name + "/cpu.shares", 16 * SHARES)
    put(name + "/cpu.rt_runtime_us", 200000)
    put(name + "/cgroup.procs", os.getpid())
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))

    def undo():
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        put(f"{GROUPS}/cpu/cgroup.procs", os.getpid())
        os.rmdir(name)
    atexit.register(undo)


class Groups:
    """A control group for each process, for its processor and for its disk, preferred over other programs. Ranks that wait do not sleep, but yield to others of their own group only: they
    come into that for the processor for as long as it is wanted."""

    def __init__(self, pids, together):
        self.names, self.pids, self.together = [f"assay-four-{os.getpid()}-{i}" for i in range(len(pids))], pids, together
        for i, name in enumerate(self.names):
            for controller in ("cpu", "blkio"):
                os.mkdir(f"{GROUPS}/{controller}/{name}")
            put(f"{GROUPS}/blkio/{name}/cgroup.procs", pids[i])
            if not together:
                put(f"{GROUPS}/cpu/{name}/cgroup.procs", pids[i])
            self.cpu(i, "cpu.shares", SHARES)
        if together:
            self.all = f"{GROUPS}/cpu/assay-four-{os.getpid()}-all"
            os.mkdir(self.all)
            put(f"{self.all}/cpu.shares", len(pids) * SHARES)
            for pid in pids:
                put(f"{self.all}/cgroup.procs", pid)

    def cpu(self, i, file, text):
        put(f"{GROUPS}/cpu/{self.names[i]}/{file}", text)

    def quota(self, i, us):
        self.cpu(i, "cpu.cfs_period_us", 20000)
        self.cpu(i, "cpu.cfs_quota_us", us)
        if self.together:
            try:
                put(f"{GROUPS}/cpu/{self.names[i]}/cgroup.procs" if us > 0 else f"{self.all}/cgroup.procs", self.pids[i])
            except ProcessLookupError:
                pass  # it has ended

    def disk(self, i, text):
        for file in ("read_iops_device", "write_iops_device"):
            put(f"{GROUPS}/blkio/{self.names[i]}/blkio.throttle.{file}", text)

    def remove(self):
        for path in [f"{GROUPS}/{controller}/{name}" for name in self.names for controller in ("cpu", "blkio")] + ([self.all] if self.together else []):
            for _ in range(100):
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    time.sleep(.02)


class Networks:
    """A network namespace for each process, with one that answers in it."""

    def __init__(self, binary):
        self.others, self.names = [], [f"assay-four-{i}" for i in range(4)]
        for i, name in enumerate(self.names):
            link = f"assay{i}"
            for words in (f"netns add {name}", f"link add {link} type veth peer name {link}b", f"link set {link}b netns {name}", f"addr add 10.77.{i}.1/24 dev {link}",
                          f"link set {link} up", f"-n {name} addr add 10.77.{i}.2/24 dev {link}b", f"-n {name} link set {link}b up"):
                subprocess.run(["ip", *words.split()], check=True)
            self.others.append(subprocess.Popen(["ip", "netns", "exec", name, binary, "echo"]))

    def slow(self, i):
        subprocess.run(f"tc qdisc add dev assay{i} root tbf rate 10mbit burst 4400 latency 100ms".split(), check=True)

    def usual(self, i):
        subprocess.run(f"tc qdisc del dev assay{i} root".split(), check=True)

    def remove(self):
        for other in self.others:
            other.kill()
            other.wait()
        for i, name in enumerate(self.names):
            subprocess.run(["ip", "link", "del", f"assay{i}"], check=True)
            subprocess.run(["ip", "netns", "del", name], check=True)


def signal_to(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has ended: the disturbance fell beside the program, and the run is made again


def device(path):
    number = os.stat(path).st_dev
    return f"{os.major(number)}:{os.minor(number)}"


class Disturbance:
    """What is done to one process; __init__ begins it, end() ends it."""

    def __init__(self, what, run, victim):
        self.what, self.run, self.victim, self.hog = what, run, victim, None
        groups = run.groups
        if what in ("hog", "walk"):
            self.hog = subprocess.Popen(["taskset", "-c", str(victim // 2), run.binaries["pipes"], "spin" if what == "hog" else "walk"])
            if not groups.together:  # the one that shares its processor keeps it
                groups.cpu(victim ^ 1, "cpu.shares", 16 * SHARES)
                groups.cpu(victim, "cgroup.procs", self.hog.pid)
        elif what == "quota":
            groups.quota(victim, 4000)
        elif what == "disk":
            groups.disk(victim, f"{device(run.directory)} 100")
        elif what == "net":
            run.networks.slow(victim)
        elif what == "stop":
            signal_to(run.pids[victim], signal.SIGSTOP)

    def end(self):
        groups, victim = self.run.groups, self.victim
        if self.hog:
            self.hog.kill()
            self.hog.wait()
            if not groups.together:
                groups.cpu(victim ^ 1, "cpu.shares", SHARES)
        elif self.what == "quota":
            groups.quota(victim, -1)
        elif self.what == "disk":
            groups.disk(victim, f"{device(self.run.directory)} 0")
        elif self.what == "net":
            self.run.networks.usual(victim)
        elif self.what == "stop":
            signal_to(self.run.pids[victim], signal.SIGCONT)


def plan_of(kind, dice):
    """Who is disturbed by what, how long."""
    if kind in STILL:
        return {"kind": kind, "program": STILL[kind][0], "done": [], "lasts": None, "at": None}
    program, _, whom, lasts, _ = KINDS[kind]
    first = dice.randrange(4)
    what = {"second": "hog", "slow": "hog", "whole": "quota"}.get(kind, kind.split("-")[-1])
    done = [(what, [first])]
    if whom == "two":
        done = [("hog", [first]), ("quota", [(first ^ 2) ^ dice.randrange(2)])]
    elif whom == "all":
        done = [(what, [i]) for i in range(4)]
    return {"kind": kind, "program": program, "done": done, "lasts": lasts, "at": dice.uniform(.2, .4)}


def processor_times():
    """Seconds of all processors since the machine began: busy, stolen."""
    with open("/proc/stat") as lines:
        t = [int(x) / os.sysconf("SC_CLK_TCK") for x in next(lines).split()[1:]]
    return t[0] + t[1] + t[2] + t[5] + t[6], t[7]


def own_time():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


class Run:
    def __init__(self, assay, binaries, to, plan, usual_s):
        self.binaries, self.directory, self.plan, self.usual_s = binaries, to + ".new", plan, usual_s
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        self.program = plan["program"]
        ranks = int(self.program[-1]) if self.program.startswith("ranks") else 0
        self.networks = Networks(binaries["pipes"]) if self.program == "net" else None
        self.command = [assay, "record", "-o", self.directory + "/records", "--", *(MPIRUN + [str(ranks)] if ranks else []),
                        binaries["ranks" if ranks else "pipes"], self.directory, str(TURNS[self.program]), *(["net"] if self.networks else [])]
        self.processes, self.groups, self.pids = ranks or 4, None, []

    def begin(self):
        """Returns the running program, which waits for a line."""
        run = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        paths = [f"{self.directory}/pid.{i}" for i in range(self.processes)]
        while not all(os.path.exists(p) and os.path.getsize(p) for p in paths):
            if run.poll() is not None:
                sys.exit(f"{self.command} ended before it began")
            time.sleep(.005)
        self.pids = [int(open(p).read()) for p in paths]
        self.groups = Groups(self.pids, self.program.startswith("ranks"))
        return run

    def go(self, run):
        """Until it has ended; when it was disturbed."""
        whole, began, disturbances = self.plan["lasts"] == "whole", None, []
        if whole:
            began, disturbances = time.time(), self.disturb()
        self.went = time.time()
        run.stdin.write(b"\n")
        run.stdin.close()
        if self.plan["done"] and not whole:
            time.sleep(self.usual_s * self.plan["at"])
            began, disturbances = time.time(), self.disturb()
            time.sleep({"second": 1, "half": self.usual_s / 2, "third": self.usual_s / 3}[self.plan["lasts"]])
        if whole:
            run.wait()
        for d in disturbances:
            d.end()
        ended = time.time()
        if run.wait() != 0:
            sys.exit(f"a run failed: {self.directory}")
        self.ran_s = time.time() - self.went
        return (began, ended) if began else None

    def disturb(self):
        return [Disturbance(what, self, victims[0]) for what, victims in self.plan["done"]]

    def end(self):
        if self.groups:
            self.groups.remove()
        if self.networks:
            self.networks.remove()


def record(assay, binaries, to, plan, usual_s):
    run = Run(assay, binaries, to, plan, usual_s)
    busy, stolen = processor_times()
    own = own_time()
    began = time.time()
    try:
        when = run.go(run.begin())
    finally:
        run.end()
    seconds = time.time() - began
    busy, stolen = processor_times()[0] - busy, processor_times()[1] - stolen
    put(run.directory + "/run.json", json.dumps(dict(plan, pids=run.pids, began=began, when=when, seconds=seconds, ran_s=run.ran_s,
                                                     others=(busy - (own_time() - own)) / seconds, steal=stolen / seconds)))
    for i in range(run.processes):  # what was written by the program is not looked at
        if os.path.exists(f"{run.directory}/data.{i}"):
            os.remove(f"{run.directory}/data.{i}")
    os.rename(run.directory, to)


def pieces(directory, process):
    with open(f"{directory}/log.{process}") as lines:
        return [(k, int(start) / 1e9, int(ns) / 1e9) for k, start, ns in (line.split() for line in lines)]


def late(directory, process):
    """For how long the token had been there already when it was taken: it is given when the partner's transfer ends. Before that, it is the other one's time."""
    given = [start + s for kind, start, s in pieces(directory, process ^ 1) if kind in "rwn"]
    out = []
    for kind, start, s in pieces(directory, process):
        before = bisect.bisect_right(given, start + s) - 1
        if kind == "t":
            out.append((kind, start, start + s - max(start, given[before] if before >= 0 else start)))
    return out


def stood_still(directory, process):
    """For how long at most a process did not look at its clock: one that is stopped between two pieces has none that says so, and whoever lets it go on may
    be late to say when that was."""
    stamps = sorted(at for kind, start, s in pieces(directory, process) if kind != "d" for at in (start, start + s))
    return max(b - a for a, b in zip(stamps, stamps[1:]))


def lost(directory, run, victims):
    """By the processes' own clocks: what their pieces took, and for how long a token had to wait for them, beyond the median of those outside of the
    disturbance, or, where that lasted as long as the run, of the other processes'."""
    from_s, to_s = run["when"]
    if run["kind"].endswith("stop"):
        return stood_still(directory, victims[0])
    whole = run["lasts"] == "whole"
    total = 0
    logs = [[piece for piece in pieces(directory, p) if piece[0] in "abrwn"] + late(directory, p) for p in range(len(run["pids"]))]
    for kind in "abrwnt":
        for victim in victims:
            mine = [(start, s) for k, start, s in logs[victim] if k == kind]
            within = [s for start, s in mine if whole or (start + s > from_s and start < to_s)]
            usual = [s for p in range(len(run["pids"])) if p not in victims for k, start, s in logs[p] if k == kind] if whole else [
                s for start, s in mine if start + s <= from_s or start >= to_s]
            if mine and usual:
                total += sum(within) - statistics.median(usual) * len(within)
    return total


def confirmed(directory, run, region):
    """Does the clock of the program itself have half of what is told? A message also takes what is between two pieces: the token that is given."""
    total = 0
    for process in (run["pids"].index(p["pid"]) for p in region["processes"] if p["pid"] in run["pids"]):
        log = [piece for piece in pieces(directory, process) if piece[0] != "d"]
        if region["activity"] == "communication":
            log = [("t", start, s) for k, start, s in log if k == "t"] + [("g", a[1] + a[2], b[1] - a[1] - a[2]) for a, b in zip(log, log[1:])]
        else:
            log = [piece for piece in log if piece[0] in ("ab" if region["activity"] == "computation" else "rwn")]
        for kind in {k for k, _, _ in log}:
            usual = statistics.median(s for k, _, s in log if k == kind)
            total += sum(s - usual for k, start, s in log if k == kind and region["from_s"] <= start - run["began"] < region["to_s"])
    return total >= region["loss_s"] / 2


def delayed(directory, run):
    """The part of the run that one of the processes waited for a processor, at most."""
    ends = [pieces(directory, i) for i in range(len(run["pids"]))]
    return max(log[-1][2] / (log[-1][1] - log[0][1]) for log in ends)


def in_messages(directory, run):
    """What accounting by communication alone blames: the process that spent the most of its time in messages."""
    def share(i):
        log = pieces(directory, i)
        return sum(s for k, _, s in log if k == "t") / (log[-1][1] - log[0][1])
    return max(range(len(run["pids"])), key=share)


def fell_beside(directory, run):
    """Less than nine tenths of the disturbance were in the program, or it lasted much longer than it was to: the recorder, or the kernel's threads that move a process to
    another control group, had been kept from their processor by ranks that yield in a loop. Such a run is not what was asked for."""
    if not run["when"] or run["lasts"] == "whole":
        return False
    usual = json.load(open(f"{os.path.dirname(directory)}/usual.{run['program']}/run.json"))
    usual_s = usual.get("ran_s", usual["seconds"])
    asked_s = {"second": 1, "half": usual_s / 2, "third": usual_s / 3}[run["lasts"]]
    ended = min(max(start + s for kind, start, s in pieces(directory, v) if kind != "d") for _, victims in run["done"] for v in victims)
    return min(ended, run["when"][1]) - run["when"][0] < .9 * asked_s or run["when"][1] - run["when"][0] > 1.2 * asked_s + .1


def found(run, regions, victims, cause, whole_s):
    """How the first region of only these processes is as asked."""
    began, ended = (0, whole_s) if run["lasts"] == "whole" else (run["when"][0] - run["began"], run["when"][1] - run["began"])
    wanted = [r for r in regions if {p["pid"] for p in r["processes"]} <= {run["pids"][v] for v in victims}]
    if not wanted:
        return {"overlap": 0, "kind": False, "at": None}
    r = wanted[0]
    both = min(ended, r["to_s"]) - max(began, r["from_s"])
    first = r["parts"][0]["cause"] if r["parts"] else None
    return {"overlap": max(both, 0) / (max(ended, r["to_s"]) - min(began, r["from_s"])), "kind": first in cause[0].split("/") and cause[1] in (None, r["activity"]),
            "at": regions.index(r)}


def began_of(records):
    """When the first process began, which times are told from: mpirun takes a while."""
    def one(path):
        with open(path, "rb") as file:
            return struct.unpack_from("<Q", file.read(64), 40)[0] / 1e9
    return min(one(f"{records}/{name}") for name in os.listdir(records))


def judge(assay, directory):
    run = json.load(open(directory + "/run.json"))
    run["began"] = began_of(directory + "/records")
    shown = subprocess.run([assay, "timeline", directory + "/records", "--format", "json"], stdout=subprocess.PIPE, check=True)
    answer = json.loads(shown.stdout)
    regions = [r for r in answer["regions"] if r["caused_by"] is None]
    out = dict(run, delayed=delayed(directory, run), regions=len(regions), coverage=answer["coverage"], loss=None, truth=None, first="-", told="-", overlap=0,
               place=False, right_kind=False, messages=in_messages(directory, run))
    if regions:
        r = regions[0]
        out["first"] = "+".join(str(run["pids"].index(p["pid"])) if p["pid"] in run["pids"] else "parent" for p in r["processes"])
        out["told"] = f"{r['activity']} {r['from_s']:.2f}-{r['to_s']:.2f} s: " + (
            f"{100 * r['parts'][0]['share']:.0f} % {r['parts'][0]['cause']}" if r["parts"] else "-")
    out["unconfirmed"] = sum(not confirmed(directory, run, r) for r in regions)
    out["beside"] = fell_beside(directory, run)
    out["by_itself"] = sum(r["environment"] < .5 for r in regions)
    if run["when"] and run["kind"] != "whole":
        causes = KINDS[run["kind"]][4]
        each = [found(run, regions, victims, cause, answer["span_s"]) for (_, victims), cause in zip(run["done"], causes)]
        out["overlap"] = min(e["overlap"] for e in each)
        # The regions that cost most are those asked for.
        out["place"] = all(e["overlap"] >= .7 and e["at"] < len(each) for e in each)
        out["right_kind"] = all(e["kind"] for e in each)
        victims = [v for _, some in run["done"] for v in some]
        out["truth"] = lost(directory, run, victims)
        out["loss"] = sum(r["loss_s"] for r in regions if {p["pid"] for p in r["processes"]} <= {run["pids"][v] for v in victims})
        out["from"], out["to"] = run["when"][0] - run["began"], run["when"][1] - run["began"]
    return out


def one_of_ten(assay, directory, slow, others):
    """Is this run named as slow among nine undisturbed ones, and why? And which of those that took no longer than what is not slow?"""
    shown = subprocess.run([assay, "timeline", *(f"{directory}/{name}/records" for name in [*others, slow]), "--format", "json"], stdout=subprocess.PIPE, check=True)
    runs = json.loads(shown.stdout)["runs"]
    return {"named": runs[-1]["slow"], "others": sum(r["slow"] for r in runs[:-1]), "wrong": sum(r["slow"] for r in runs[:-1] if r["times_usual"] <= 1 / .85), "cause": runs[-1]["cause"], "times": runs[-1]["times_usual"],
            "most": max(r["times_usual"] for r in runs[:-1])}


def print_ten(assay, directory, names):
    others = [n for n in names if n.startswith("none.")][:9]
    slow = [n for n in names if n.startswith("whole.")]
    if len(others) < 9 or not slow:
        print("\nOne slow run of ten: not judged, there are not nine undisturbed runs and a slow one.")
        return
    rows = [one_of_ten(assay, directory, n, others) for n in slow]
    print(f"\nOne slow run of ten ({KINDS['whole'][1].split(',')[0]}, in all of the run) among nine undisturbed ones, by `timeline` of the ten: this run is called "
          f"slow in {sum(r['named'] for r in rows)} of {len(rows)}; of the nine, at most {max(r['others'] for r in rows)} are, and {max(r['wrong'] for r in rows)} that took no more than 1 / .85 "
          f"of the median; the cause of the slow one is the quota in {sum(r['cause'] == 'throttled' for r in rows)}. They took "
          f"{min(r['times'] for r in rows):.2f} to {max(r['times'] for r in rows):.2f} times as long as the median, the slowest of the nine {max(r['most'] for r in rows):.2f}.")


def by_host(row):
    """Others took more than a tenth of a processor, or the host did."""
    return row["others"] > .1 or row["steal"] > .005


def share(rows, key):
    return f"{sum(1 for r in rows if key(r))} of {len(rows)}"


def near(row):
    return row["loss"] is not None and row["truth"] > 0 and abs(row["loss"] / row["truth"] - 1) <= .1


RATES = (lambda r: r["place"], lambda r: r["right_kind"], near, lambda r: any(r["messages"] in victims for _, victims in r["done"]))


def gain(of, rows):
    """What the run gains without the disturbance, as part of the loss that was told: by the median of the same program's undisturbed runs."""
    usual = {program: statistics.median(r["seconds"] for r in rows if r["kind"] in STILL and r["program"] == program)
             for program in {r["program"] for r in rows if r["kind"] in STILL}}
    parts = [(r["seconds"] - usual[r["program"]]) / r["loss"] for r in of if r["loss"] and r["program"] in usual]
    return f"{statistics.median(parts):.2f}" if parts else "-"


def disturbed_row(name, what, of, rows):
    quiet = [r for r in of if not by_host(r)]
    print(f"| {name} | {what} | {len(of)} | {' | '.join(share(of, key) for key in RATES)} | {gain(of, rows)} | {', '.join(share(quiet, key) for key in RATES[:3])} |")


def print_tables(rows):
    print("| disturbance | what | runs | right process and time | right kind | loss within 10 % | most of its time in messages | gain without it / loss told | the first three, of runs without others |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind, (_, what, _, _, causes) in KINDS.items():
        if causes:
            disturbed_row(kind, what, [r for r in rows if r["kind"] == kind], rows)
    disturbed_row("all", "", [r for r in rows if r["kind"] not in STILL and KINDS[r["kind"]][4]], rows)
    print("\n| undisturbed | runs | nothing found | nothing but what others or the host did | runs without others | nothing found | nothing but what others or the host did | "
          "nothing that the program's own clock does not have as well | coverage, median |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind, (_, what) in STILL.items():
        of = [r for r in rows if r["kind"] == kind]
        quiet = [r for r in of if not by_host(r)]
        print(f"| {what} | {len(of)} | {share(of, lambda r: not r['regions'])} | {share(of, lambda r: not r['by_itself'])} | {len(quiet)} | {share(quiet, lambda r: not r['regions'])} | "
              f"{share(quiet, lambda r: not r['by_itself'])} | {share(quiet, lambda r: not r['unconfirmed'])} | {statistics.median([r['coverage'] for r in of] or [0]):.2f} |")
    print("\nEvery run. Others: processors that other programs used, on the average (of disturbed runs less what disturbs); steal: that the host took; waited: the part"
          "\nof the run that the process that waited most for a processor did.\n")
    print("| run | processes | from to s | others | steal | waited | told of process | what was told first | overlap | lost, by its own clock | told | place | kind |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for r in rows:
        made = r["truth"] is not None
        who = " ".join(f"{what} {'+'.join(map(str, victims))}" for what, victims in r["done"])
        print(f"| {r['kind']} | {who} | " + (f"{r['from']:.2f} {r['to']:.2f}" if made else "") +
              f" | {r['others']:.2f} | {r['steal']:.3f} | {r['delayed']:.3f} | {r['first']} | {r['told']} | " + (f"{r['overlap']:.2f}" if made else "") + " | " +
              (f"{r['truth']:.3f}" if made else "") + " | " + (f"{r['loss']:.3f}" if made else "") + " | " +
              (("yes" if r["place"] else "no") if made else "") + " | " + (("yes" if r["right_kind"] else "no") if made else "") + " |")


def built(directory):
    """The program by pipes and by MPI."""
    os.makedirs(directory, exist_ok=True)
    binaries = {name: f"{directory}/{name}" for name in ("pipes", "ranks")}
    for name, words in (("pipes", ["gcc"]), ("ranks", ["mpicc", "-DRANKS"])):
        if not os.path.exists(binaries[name]):
            subprocess.run([*words, "-O2", SOURCE, "-o", binaries[name]], check=True)
    return binaries


def planned(seed, runs, undisturbed):
    """[(name, plan)] in the order of recording; what exists of it stays the same when there are to be more."""
    rounds = []
    for i in range(max(runs, undisturbed)):
        of = [(f"{kind}.{i}", plan_of(kind, random.Random(f"{seed} {kind} {i}"))) for kind in [*(STILL if i < undisturbed else ()), *(KINDS if i < runs else ())]]
        random.Random(f"{seed} {i}").shuffle(of)
        rounds += of
    return rounds


def usual_of(assay, binaries, directory, program):
    """Seconds that a run takes by itself, from when all its processes are there: of one that is not judged."""
    to = f"{directory}/usual.{program}"
    if not os.path.exists(to):
        record(assay, binaries, to, {"kind": "usual", "program": program, "done": [], "lasts": None, "at": None}, None)
    return json.load(open(to + "/run.json"))["ran_s"]


def main():
    assay, directory, seed = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
    runs, undisturbed, seconds = (int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((4, 20), (5, 40), (6, 540)))
    binaries = built(directory)
    until, missing, plans = time.time() + seconds, 0, planned(seed, runs, undisturbed)
    for name, plan in plans:
        to = f"{directory}/{name}"
        if not os.path.exists(to):
            if time.time() >= until:
                missing += 1
                continue
            usual_s = usual_of(assay, binaries, directory, plan["program"])
            for _ in range(TRIES):
                record(assay, binaries, to, plan, usual_s)
                if not fell_beside(to, json.load(open(to + "/run.json"))):
                    break
                shutil.rmtree(to)
    if missing:
        print(f"{missing} runs are missing: once more", file=sys.stderr)
        if seconds > 0:
            sys.exit(3)
        print(f"{missing} of {len(plans)} planned runs have not been recorded; the order of recording was drawn, and does not depend on what came out.\n")
    names = [name for name, _ in plans if os.path.exists(f"{directory}/{name}")]
    rows = [judge(assay, f"{directory}/{name}") for name in names]
    beside = [r["kind"] for r in rows if r["beside"]]
    if beside:
        print(f"Of {len(beside)} runs ({', '.join(f'{kind} {beside.count(kind)}' for kind in sorted(set(beside)))}) the disturbance fell beside "
              "the program: less than nine tenths of it came before that had ended, by its own log, or it did not end as asked. They are not counted.\n")
    print_tables([r for r in rows if not r["beside"]])
    print_ten(assay, directory, names)


if __name__ == "__main__":
    main()
