"""Real programs, disturbed for a known time, recorded and judged: cause, place and loss in the first place of the answer.
usage: conditions_real.py ASSAY DIRECTORY SEED [RUNS [SECONDS]]: records what DIRECTORY does not have yet, for so long, and prints the tables
(SECONDS 0: of what there is). Exits with 3 when runs are still missing. Needs root, two CPUs, cgroups of version 1, and the programs' packages."""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from variance_costs import HPCC
from variance_four import GROUPS, MPIRUN, began_of, device, preferred, put, signal_to

HERE = os.path.dirname(os.path.abspath(__file__))
LASTS_S, READ_S = 1.5, .002
STEPS = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute('create table t (a integer primary key, b text)')
for batch in range(int(sys.argv[2])):
    with c: c.executemany('insert into t (b) values (?)', ((f'{batch} {i}' * 3,) for i in range(20000)))
    c.execute('select count(*), max(b) from t where a % 7 = 1').fetchall()
"""
THREADS = """
import hashlib, sys, threading
def work(n):
    data = bytes(1 << 16)
    for _ in range(n): data = hashlib.sha256(data).digest() * 2048
ts = [threading.Thread(target=work, args=(int(sys.argv[1]),)) for _ in range(2)]
[t.start() for t in ts]; [t.join() for t in ts]
"""
REDIS = """redis-server --port 0 --unixsocket $1/redis.sock --save '' --appendonly no >/dev/null & server=$!
until [ -S $1/redis.sock ]; do sleep .01; done
redis-benchmark -s $1/redis.sock -n $2 -c 8 -t set,get,lrange_100 -q >/dev/null; kill $server; wait $server"""
PIPELINE = "seq $2 | sort -S 200M --parallel=1 -k1.3 | gzip -3 | dd of=$1/out bs=64k conv=fsync 2>/dev/null"
# Of each: its words (@: the directory), whether its disk and its neighbour on another CPU can be disturbed, and on which CPUs it runs.
PROGRAMS = {
    "MPI": ([*MPIRUN, "2", "@/ranks", "@", "700"], "disk"),
    "OpenMP": (["gm", "convert", "-size", "2600x2600", "gradient:", "-blur", "0x24", "@/blurred.bmp"], ""),
    "redis": (["sh", "-c", REDIS, "-", "@", "400000"], ""),
    "pipeline": (["sh", "-c", PIPELINE, "-", "@", "6000000"], ""),
    "Python threads": (["python3", "-c", THREADS, "9000"], ""),
    "sqlite": (["python3", "-c", STEPS, "@/table.db", "40"], "disk neighbour"),
    "dd": (["dd", "if=/dev/zero", "of=@/zeros", "bs=4k", "count=12000", "oflag=dsync"], "disk neighbour"),
    "hpcc": (["sh", "-c", "cd $1 && exec hpcc", "-", "@"], ""),
}
CAUSES = {"stop": {"stopped"}, "quota": {"throttled"}, "load": {"run_queue"}, "disk": {"disk", "calls"}, "neighbour": set()}


def processes():
    """{pid: parent}"""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="latin-1") as line:
                    found[int(name)] = int(line.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    return found


def below(top):
    parents, found = processes(), {top}
    while True:
        more = {p for p, parent in parents.items() if parent in found} - found
        if not more:
            return found - {top}
        found |= more


def delays(pid):
    """{thread: (CPU s, run-queue delay s)}, as the kernel counts them."""
    found = {}
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/schedstat") as line:
                cpu, delay, _ = map(int, line.read().split())
            found[int(tid)] = (cpu / 1e9, delay / 1e9)
    except (OSError, ValueError):
        pass
    return found


class Blocked(threading.Thread):
    """Counts how long some thread of a process waits for a disk (state D)."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seconds, self.over = pid, 0.0, threading.Event()

    def run(self):
        last = time.monotonic()
        while not self.over.wait(READ_S):
            now = time.monotonic()
            try:
                states = []
                for tid in os.listdir(f"/proc/{self.pid}/task"):
                    with open(f"/proc/{self.pid}/task/{tid}/stat", encoding="latin-1") as line:
                        states.append(line.read().rpartition(")")[2].split()[0])
            except OSError:
                return
            self.seconds += (now - last) * ("D" in states)
            last = now


class Disturbance:
    """Disturbs one process (a quota: all of the program) from __init__ to end(), which returns the seconds lost, as the kernel counts them
    ([]: nobody counts): those of the thread that lost most, and of all threads together."""

    def __init__(self, kind, pid, pids, run_group, directory, tool):
        self.kind, self.pid, self.pids, self.run_group, self.hogs, self.group = kind, pid, pids, run_group, [], None
        self.directory, self.before = directory, waits(pids)
        if kind == "stop":
            signal_to(pid, signal.SIGSTOP)
        elif kind == "quota":
            put(run_group + "/cpu.cfs_period_us", 20000)
            put(run_group + "/cpu.cfs_quota_us", 4000)
        elif kind == "load":
            self.hogs = [subprocess.Popen(["taskset", "-c", str(cpu), tool, "spin"]) for cpu in range(os.cpu_count()) for _ in range(2)]
        elif kind == "neighbour":
            self.hogs = [subprocess.Popen(["taskset", "-c", "1", tool, "walk"])]
        elif kind == "disk":
            self.group = f"{GROUPS}/blkio/assay-conditions-{os.getpid()}"
            os.mkdir(self.group)
            for way in ("read", "write"):
                put(f"{self.group}/blkio.throttle.{way}_iops_device", f"{device(directory)} 40")
            put(self.group + "/cgroup.procs", pid)
            self.blocked = Blocked(pid)
            self.blocked.start()

    def end(self):
        waited = [s - self.before.get(t, 0) for t, s in waits(self.pids).items()]
        lost = [max(waited), sum(waited)] if waited else []
        if self.kind == "stop":
            signal_to(self.pid, signal.SIGCONT)
        elif self.kind == "quota":
            put(self.run_group + "/cpu.cfs_quota_us", -1)
        elif self.kind == "disk":
            for way in ("read", "write"):
                put(f"{self.group}/blkio.throttle.{way}_iops_device", f"{device(self.directory)} 0")
            self.blocked.over.set()
            self.blocked.join()
            lost = [self.blocked.seconds]
        for hog in self.hogs:
            hog.kill()
            hog.wait()
        return [] if self.kind in ("stop", "neighbour") else lost

    def remove(self):
        if self.group:
            remove_group(self.group)


def waits(pids):
    """{thread: run-queue delay, s} of these processes."""
    return {t: delay for p in pids for t, (_, delay) in delays(p).items()}


def remove_group(path):
    for _ in range(100):
        try:
            os.rmdir(path)
            return
        except OSError:
            time.sleep(.02)


def victim_of(top):
    """The process below `top` that used most CPU time in the last fifth of a second."""
    first = {p: sum(c for c, _ in delays(p).values()) for p in below(top)}
    time.sleep(.2)
    used = {p: sum(c for c, _ in delays(p).values()) - first.get(p, 0) for p in below(top)}
    return max(used, key=lambda p: (used[p], -p))


def words_of(program, kind, to):
    words = [w.replace("@", to) for w in PROGRAMS[program][0]]
    return ["taskset", "-c", "0", *words] if kind == "neighbour" else words


def record(assay, directory, name, program, kind, at_s):
    """Records one run, disturbed at_s after it began (None: not at all)."""
    to = f"{directory}/{name}.new"
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(to)
    shutil.copy(f"{directory}/ranks", to)
    if program == "hpcc":
        shutil.copy(f"{directory}/hpccinf.txt", to)
    group = f"{GROUPS}/cpu/assay-preferred-{os.getpid()}/run"
    os.mkdir(group)
    began = time.time()
    run = subprocess.Popen(["sh", "-c", f"echo $$ >{group}/cgroup.procs; exec \"$@\"", "-", assay, "record", "-o", to + "/records", "--", *words_of(program, kind, to)], stdin=subprocess.PIPE,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    run.stdin.write(b"\n")
    run.stdin.close()
    try:
        watched = watch(run, group, to, directory, kind, began, at_s)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        remove_group(group)
    took = time.time() - began
    if run.returncode != 0:
        sys.exit(f"{name}: the program ended with {run.returncode}")
    put(to + "/run.json", json.dumps({"program": program, "kind": kind, "at": at_s, "began": began, "took": took, **watched}))
    for entry in os.scandir(to):
        if entry.name not in ("records", "run.json"):
            os.remove(entry.path)
    os.rename(to, f"{directory}/{name}")


def watch(run, group, to, directory, kind, began, at_s):
    """Disturbs the run until it has ended; returns by what (None: not while it ran), and how long its threads waited for a CPU."""
    kept, disturbed = {}, None
    disturbance = victim = None
    while run.poll() is None:
        now = time.time() - began
        if at_s is not None and not disturbance and now >= at_s - .2:
            victim = victim_of(run.pid)
            since = time.time()
            victims = below(run.pid) if kind == "quota" else {victim}
            disturbance = Disturbance(kind, victim, victims, group, to, directory + "/pipes")
        elif disturbance and disturbed is None and time.time() - since >= LASTS_S:
            lost = disturbance.end()
            until = time.time()
            disturbed = {"pids": sorted(victims), "from": since, "to": until, "lost": [until - since] if kind == "stop" else lost}
        if int(now * 20) % 4 == 0:  # five times a second: how long each has waited so far
            for pid in below(run.pid):
                kept[pid] = max((d for _, d in delays(pid).values()), default=0)
        time.sleep(.005)
    if disturbance and disturbed is None:  # the run was over before the disturbance was
        disturbance.end()
    if disturbance:
        disturbance.remove()
    return {"disturbed": disturbed, "waited": sorted(kept.values(), reverse=True)[:3]}


def planned(seed, runs):
    """[(name, program, kind)] in the order of recording; the first `runs` of each kind stay the same when there are to be more."""
    rounds = []
    for i in range(runs):
        of = [(f"{program.replace(' ', '-')}.{kind}.{i}", program, kind) for program, (_, may) in PROGRAMS.items()
              for kind in ("none", "stop", "quota", "load", *may.split())]
        random.Random(f"{seed} {i}").shuffle(of)
        rounds += of
    return rounds


# ---- judging ----

def first_of(answer):
    """The finding that the answer gives first: cause, pids, from, to (s since the run began), loss (s)."""
    found = [r for r in answer["regions"] if r["caused_by"] is None]
    if not found:
        return None
    r = found[0]
    return {"cause": r["parts"][0]["cause"] if r["parts"] else None, "pids": {p["pid"] for p in r["processes"]}, "from": r["from_s"], "to": r["to_s"],
            "loss": r["elapsed_loss_s"]}


def judge(assay, directory, name):
    with open(f"{directory}/{name}/run.json") as text:
        run = json.load(text)
    shown = subprocess.run([assay, "timeline", f"{directory}/{name}/records", "--format", "json"], capture_output=True, text=True, check=False)
    if shown.returncode:
        sys.exit(f"{name}: {shown.stderr[-200:].strip()}")
    answer = json.loads(shown.stdout)
    first, d = first_of(answer), run["disturbed"]
    findings = [r for r in answer["regions"] if r["caused_by"] is None]
    out = dict(run, name=name, findings=len(findings), proved=sum(r["proved"] for r in findings), first=first, cause=False, place=False, near=False)
    if d and run["kind"] == "neighbour":
        out["cause"] = out["place"] = out["near"] = not first or first["cause"] not in ("run_queue", "throttled", "stopped", "lock")
    elif d and first:
        began = began_of(f"{directory}/{name}/records")
        since, until = d["from"] - began, d["to"] - began
        both = min(until, first["to"]) - max(since, first["from"])
        out["cause"] = first["cause"] in CAUSES[run["kind"]]
        out["place"] = bool(first["pids"] & set(d["pids"])) and both >= .7 * (max(until, first["to"]) - min(since, first["from"]))
        out["near"] = any(lost > 0 and abs(first["loss"] / lost - 1) <= .1 for lost in d["lost"])
        out["overlap"] = max(both, 0) / (max(until, first["to"]) - min(since, first["from"]))
    return out


def share(rows, key):
    return f"{sum(map(key, rows))} of {len(rows)}"


def print_tables(rows):
    disturbed = [r for r in rows if r["disturbed"]]
    beside = [r for r in rows if r["kind"] != "none" and not r["disturbed"]]
    kinds = list(CAUSES)
    print("| program | " + " | ".join(kinds) + " |\n| --- |" + " --- |" * len(kinds))
    for program in PROGRAMS:
        cells = []
        for kind in kinds:
            of = [r for r in disturbed if (r["program"], r["kind"]) == (program, kind)]
            cells.append("; ".join(share(of, lambda r, k=k: r[k]) for k in ("cause", "place", "near")) if of else "")
        print(f"| {program} | {' | '.join(cells)} |")
    for text, key in (("cause", lambda r: r["cause"]), ("place", lambda r: r["place"]), ("loss", lambda r: r["near"]),
                      ("all three", lambda r: r["cause"] and r["place"] and r["near"])):
        print(f"\n- first finding right in {text}: {share(disturbed, key)} (bar 0.9)", end="")
    print()
    if beside:
        print(f"\nIn {len(beside)} runs the program ended before the disturbance did; they are not judged.")
    print("\n| undisturbed | runs | findings, and those that more work or later messages cannot explain | first finding | waited for a CPU, s, the three threads that waited most |\n| --- | --- | --- | --- | --- |")
    still = collections.defaultdict(list)
    for r in rows:
        if r["kind"] == "none":
            still[r["program"]].append(r)
    for program, of in still.items():
        told = ", ".join(f"{r['findings']}, {r['proved']}" for r in of)
        firsts = "; ".join(f"{r['first']['cause']} {r['first']['loss']:.2f} s of {r['took']:.1f} s" for r in of if r["first"]) or "none"
        print(f"| {program} | {len(of)} | {told} | {firsts} | {'; '.join(' '.join(f'{w:.2f}' for w in r['waited']) for r in of)} |")
    print("\nEvery disturbed run.\n\n| run | from to s | lost s | cause | said from to s | said lost s | overlap | right |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for r in sorted(disturbed, key=lambda r: r["name"]):
        d, f = r["disturbed"], r["first"]
        lost = " ".join(f"{s:.3f}" for s in d["lost"])
        said = f"{f['cause']} | {f['from']:.2f} {f['to']:.2f} | {f['loss']:.3f}" if f else "nothing | | "
        right = " ".join(k for k in ("cause", "place", "near") if r[k]) or "nothing"
        print(f"| {r['name']} | {d['from'] - r['began']:.2f} {d['to'] - r['began']:.2f} | {lost} | {said} | {r.get('overlap', 0):.2f} | {right} |")


def prepare(directory):
    os.makedirs(directory, exist_ok=True)
    source = os.path.join(HERE, "..", "apps", "special", "four.c")
    for name, words in (("pipes", ["gcc"]), ("ranks", ["mpicc", "-DRANKS"])):
        if not os.path.exists(f"{directory}/{name}"):
            subprocess.run([*words, "-O2", source, "-o", f"{directory}/{name}"], check=True)
    if not os.path.exists(f"{directory}/hpccinf.txt"):
        put(f"{directory}/hpccinf.txt", HPCC.format(2000))


def main():
    assay, directory, seed = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
    runs, seconds = (int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((4, 3), (5, 3600)))
    prepare(directory)
    until, plans, missing = time.time() + seconds, planned(seed, runs), 0
    if seconds:
        preferred()
    for name, program, kind in plans:
        if os.path.exists(f"{directory}/{name}"):
            continue
        if time.time() >= until:
            missing += 1
            continue
        usual = f"usual.{program.replace(' ', '-')}"
        if not os.path.exists(f"{directory}/{usual}"):
            record(assay, directory, usual, program, "none", None)
        with open(f"{directory}/{usual}/run.json") as text:
            usual_s = json.load(text)["took"]
        at = random.Random(f"{seed} {name}").uniform(.2, .5) * usual_s if kind != "none" else None
        record(assay, directory, name, program, kind, at)
    if missing:
        print(f"{missing} runs are missing: once more", file=sys.stderr)
        if seconds:
            sys.exit(3)
    print_tables([judge(assay, directory, name) for name, _, _ in plans if os.path.exists(f"{directory}/{name}")])


if __name__ == "__main__":
    main()
