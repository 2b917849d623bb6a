"""Real disturbances of a real program (tests/apps/special/four.c), recorded and judged.
usage: variance_four.py ASSAY DIRECTORY [RUNS [UNDISTURBED [SECONDS]]]: records what DIRECTORY does not have yet, for so long, and prints the tables.
Exits with 3 when runs are still missing. Needs root, two processors and control groups of version 1."""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "apps", "special", "four.c")
GROUPS = "/sys/fs/cgroup"
TURNS = 1200
# Which cause must be named first.
KINDS = {"hog": "run_queue", "quota": "throttled", "walk": "run_queue", "disk": "calls", "stop": "stopped"}
TEXTS = {
    "hog": "another program that computes, on its processor",
    "quota": "a quota of 40 % of what it uses (20 % of a processor)",
    "walk": "another program that walks over 64 MB of memory, on its processor",
    "disk": "200 writes and 200 reads a second for its disk",
    "stop": "stopped by SIGSTOP, continued by SIGCONT",
}


def put(path, text):
    with open(path, "w") as out:
        out.write(str(text))


class Groups:
    """A control group for each process, for its processor and for its disk."""

    def __init__(self, pids):
        self.names = [f"assay-four-{os.getpid()}-{i}" for i in range(len(pids))]
        for name, pid in zip(self.names, pids):
            for controller in ("cpu", "blkio"):
                os.mkdir(f"{GROUPS}/{controller}/{name}")
                put(f"{GROUPS}/{controller}/{name}/cgroup.procs", pid)

    def cpu(self, i, file, text):
        put(f"{GROUPS}/cpu/{self.names[i]}/{file}", text)

    def disk(self, i, text):
        for file in ("read_iops_device", "write_iops_device"):
            put(f"{GROUPS}/blkio/{self.names[i]}/blkio.throttle.{file}", text)

    def remove(self):
        for name in self.names:
            for controller in ("cpu", "blkio"):
                for _ in range(100):
                    try:
                        os.rmdir(f"{GROUPS}/{controller}/{name}")
                        break
                    except OSError:
                        time.sleep(.02)


def device(path):
    number = os.stat(path).st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def running(pid):
    """Stopped inside of a call that waits, a process looks as if it waited for the call."""
    with open(f"/proc/{pid}/stat") as line:
        return line.read().rsplit(")", 1)[1].split()[0] == "R"


def disturb(kind, binary, directory, groups, pids, victim, seconds):
    """Begins, lasts, ends: returns when."""
    other, hog = victim ^ 1, None
    began = time.time()
    if kind in ("hog", "walk"):
        groups.cpu(other, "cpu.shares", 65536)
        hog = subprocess.Popen(["taskset", "-c", str(victim // 2), binary, "spin" if kind == "hog" else "walk"])
        groups.cpu(victim, "cgroup.procs", hog.pid)
    elif kind == "quota":
        groups.cpu(victim, "cpu.cfs_period_us", 20000)
        groups.cpu(victim, "cpu.cfs_quota_us", 4000)
    elif kind == "disk":
        groups.disk(victim, f"{device(directory)} 200")
    elif kind == "stop":
        while not running(pids[victim]):
            pass
        os.kill(pids[victim], signal.SIGSTOP)
    time.sleep(seconds)
    if hog:
        hog.kill()
        hog.wait()
        groups.cpu(other, "cpu.shares", 1024)
    elif kind == "quota":
        groups.cpu(victim, "cpu.cfs_quota_us", -1)
    elif kind == "disk":
        groups.disk(victim, f"{device(directory)} 0")
    elif kind == "stop":
        os.kill(pids[victim], signal.SIGCONT)
    return began, time.time()


def processor_times():
    """Seconds of all processors since the machine began: busy, stolen."""
    with open("/proc/stat") as lines:
        t = [int(x) / os.sysconf("SC_CLK_TCK") for x in next(lines).split()[1:]]
    return t[0] + t[1] + t[2] + t[5] + t[6], t[7]


def own_time():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


def record(assay, binary, to, kind, victim, usual_s):
    shutil.rmtree(to + ".new", ignore_errors=True)
    os.makedirs(to + ".new")
    busy, stolen = processor_times()
    own = own_time()
    began = time.time()
    run = subprocess.Popen([assay, "variance", "record", "-o", to + ".new/records", "--", binary, to + ".new", str(TURNS)],
                           stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    paths = [f"{to}.new/pid.{i}" for i in range(4)]
    while not all(os.path.exists(p) and os.path.getsize(p) for p in paths):
        if run.poll() is not None:
            sys.exit(f"{binary} ended before it began")
        time.sleep(.005)
    pids = [int(open(p).read()) for p in paths]
    groups = Groups(pids)
    when = None
    try:
        run.stdin.write(b"\n")
        run.stdin.close()
        if kind != "none":
            time.sleep(usual_s / 3)
            when = disturb(kind, binary, to + ".new", groups, pids, victim, usual_s / 2)
        if run.wait() != 0:
            sys.exit(f"the run of '{kind}' failed: {to}.new")
    finally:
        groups.remove()
    seconds = time.time() - began
    busy, stolen = processor_times()[0] - busy, processor_times()[1] - stolen
    put(to + ".new/run.json", json.dumps({"kind": kind, "victim": victim, "pids": pids, "began": began, "when": when, "seconds": seconds,
                                          "others": (busy - (own_time() - own)) / seconds, "steal": stolen / seconds}))
    os.rename(to + ".new", to)


def pieces(directory, process):
    with open(f"{directory}/log.{process}") as lines:
        return [(k, int(start) / 1e9, int(ns) / 1e9) for k, start, ns in (line.split() for line in lines)]


def lost(directory, run):
    """By the process's own clock: what its pieces took beyond the median of those outside of the disturbance. The token is the other one's time."""
    from_s, to_s = run["when"]
    total = 0
    for kind in "abrw":
        mine = [(start, s) for k, start, s in pieces(directory, run["victim"]) if k == kind]
        within = [s for start, s in mine if start + s > from_s and start < to_s]
        usual = statistics.median(s for start, s in mine if start + s <= from_s or start >= to_s)
        total += sum(within) - usual * len(within)
    return total


def confirmed(directory, run, region):
    """Does the clock of the program itself have half of what is told? A message also takes what is between two pieces: the token that is given."""
    total = 0
    for process in (run["pids"].index(p["pid"]) for p in region["processes"] if p["pid"] in run["pids"]):
        log = [piece for piece in pieces(directory, process) if piece[0] != "d"]
        if region["activity"] == "communication":
            log = [("t", start, s) for k, start, s in log if k == "t"] + [("g", a[1] + a[2], b[1] - a[1] - a[2]) for a, b in zip(log, log[1:])]
        else:
            log = [piece for piece in log if piece[0] in ("ab" if region["activity"] == "computation" else "rw")]
        for kind in {k for k, _, _ in log}:
            usual = statistics.median(s for k, _, s in log if k == kind)
            total += sum(s - usual for k, start, s in log if k == kind and region["from_s"] <= start - run["began"] < region["to_s"])
    return total >= region["loss_s"] / 2


def delayed(directory):
    """The part of the run that one of the processes waited for a processor, at most."""
    ends = [pieces(directory, i) for i in range(4)]
    return max(log[-1][2] / (log[-1][1] - log[0][1]) for log in ends)


def judge(assay, directory):
    run = json.load(open(directory + "/run.json"))
    shown = subprocess.run([assay, "variance", "show", directory + "/records", "--format", "json"], stdout=subprocess.PIPE, check=True)
    answer = json.loads(shown.stdout)
    regions = [r for r in answer["regions"] if r["caused_by"] is None]
    out = dict(run, delayed=delayed(directory), regions=len(regions), coverage=answer["coverage"], place=False, right_kind=False, overlap=0, loss=None, truth=None, first="-", told="-")
    if regions:
        r = regions[0]
        out["first"] = "+".join(str(run["pids"].index(p["pid"])) if p["pid"] in run["pids"] else "parent" for p in r["processes"])
        out["told"] = f"{r['activity']} {r['from_s']:.2f}-{r['to_s']:.2f} s: " + (
            f"{100 * r['parts'][0]['share']:.0f} % {r['parts'][0]['cause']}" if r["parts"] else "-")
        out["loss"] = sum(r["loss_s"] for r in regions if [p["pid"] for p in r["processes"]] == [run["pids"][run["victim"]]])
    out["unconfirmed"] = sum(not confirmed(directory, run, r) for r in regions)
    out["environment"] = answer["by_environment"]
    if run["when"]:
        out["truth"] = lost(directory, run)
        from_s, to_s = run["when"][0] - run["began"], run["when"][1] - run["began"]
        out["from"], out["to"] = from_s, to_s
        if regions:
            both = min(to_s, r["to_s"]) - max(from_s, r["from_s"])
            out["overlap"] = max(both, 0) / (max(to_s, r["to_s"]) - min(from_s, r["from_s"]))
            out["right_kind"] = bool(r["parts"]) and r["parts"][0]["cause"] == KINDS[run["kind"]]
            out["place"] = out["first"] == str(run["victim"]) and out["overlap"] >= .7
    return out


def by_host(row):
    """Others took more than a tenth of a processor, or the host did."""
    return row["others"] > .1 or row["steal"] > .005


def share(rows, key):
    return f"{sum(1 for r in rows if key(r))} of {len(rows)}"


def near(row):
    return row["loss"] is not None and row["truth"] > 0 and abs(row["loss"] / row["truth"] - 1) <= .1


def print_tables(rows):
    print("| disturbance | what | runs | right process and time | right kind | loss within 10 % | the same, of runs without others |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        of = [r for r in rows if r["kind"] == kind]
        quiet = [r for r in of if not by_host(r)]
        print(f"| {kind} | {TEXTS[kind]} | {len(of)} | {share(of, lambda r: r['place'])} | {share(of, lambda r: r['right_kind'])} | {share(of, near)} |"
              f" {share(quiet, lambda r: r['place'])}, {share(quiet, lambda r: r['right_kind'])}, {share(quiet, near)} |")
    of = [r for r in rows if r["kind"] != "none"]
    quiet = [r for r in of if not by_host(r)]
    print(f"| all | | {len(of)} | {share(of, lambda r: r['place'])} | {share(of, lambda r: r['right_kind'])} | {share(of, near)} |"
          f" {share(quiet, lambda r: r['place'])}, {share(quiet, lambda r: r['right_kind'])}, {share(quiet, near)} |")
    still = [r for r in rows if r["kind"] == "none"]
    quiet = [r for r in still if not by_host(r)]
    print(f"\nUndisturbed: nothing was found in {share(still, lambda r: not r['regions'])}; of those without others in "
          f"{share(quiet, lambda r: not r['regions'])}, nothing that the program's own clock does not have as well in "
          f"{share(quiet, lambda r: not r['unconfirmed'])}. Coverage: median {statistics.median([r['coverage'] for r in rows] or [0]):.2f}.\n")
    print("Every run. Others: processors that other programs used, on the average; steal: that the host took; waited: the part of the run that the process that waited most for a processor did.\n")
    print("| run | process | from to s | others | steal | waited | told of process | what was told | overlap | lost, by its own clock | told | place | kind |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for r in rows:
        made = r["kind"] != "none"
        print(f"| {r['kind']} | {r['victim'] if made else ''} | " + (f"{r['from']:.2f} {r['to']:.2f}" if made else "") +
              f" | {r['others']:.2f} | {r['steal']:.3f} | {r['delayed']:.3f} | {r['first']} | {r['told']} | " + (f"{r['overlap']:.2f}" if made else "") + " | " +
              (f"{r['truth']:.3f}" if made else "") + " | " + (f"{r['loss']:.3f}" if r["loss"] is not None else "") + " | " +
              (("yes" if r["place"] else "no") if made else "") + " | " + (("yes" if r["right_kind"] else "no") if made else "") + " |")


def main():
    assay, directory = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    runs, undisturbed, seconds = (int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((3, 8), (4, 40), (5, 540)))
    binary = directory + "/four"
    os.makedirs(directory, exist_ok=True)
    if not os.path.exists(binary):
        subprocess.run(["gcc", "-O2", SOURCE, "-o", binary], check=True)
    plan = [(kind, i) for i in range(runs) for kind in KINDS]
    plan = [x for i in range(max(undisturbed, len(plan))) for x in ([("none", i)] if i < undisturbed else []) + plan[i:i + 1]]
    until, usual, missing = time.time() + seconds, 3.0, 0
    for kind, i in plan:
        to = f"{directory}/{kind}.{i}"
        if not os.path.exists(to):
            if time.time() >= until:
                missing += 1
                continue
            record(assay, binary, to, kind, i % 4, usual)
        if kind == "none":
            usual = json.load(open(to + "/run.json"))["seconds"]
    if missing:
        print(f"{missing} runs are missing: once more", file=sys.stderr)
        sys.exit(3)
    print_tables([judge(assay, f"{directory}/{kind}.{i}") for kind, i in plan])


if __name__ == "__main__":
    main()
