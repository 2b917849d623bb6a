"""Runs that are analysed while they go on: how late each window is told, and what that takes. usage: variance_follow.py ASSAY DIRECTORY [SECONDS]: records
tests/apps/special/four.c for ten minutes with an analysis beside it, and replays 2,048 ranks through eight analyses, unless DIRECTORY has that or SECONDS is 0;
prints what it found. Exits with 3 when something is missing."""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RUN_S, EARLY_S, WINDOW_S = 605, 30, 15
RANKS, ANALYSES, SHORT_S = 2048, 8, 2
SLOW = {700: (1, 2), 1900: (2, 3)}  # ranks, and when their computation takes 1.6 times as long


def resident_kb(pid):
    try:
        with open(f"/proc/{pid}/status") as f:
            return max((int(line.split()[1]) for line in f if line.startswith("VmRSS:")), default=0)
    except OSError:
        return 0


def follow_long(assay):
    """Of `four`, which is ended after RUN_S."""
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["gcc", "-O2", "-o", work + "/four", HERE + "/../apps/special/four.c"], check=True)
        os.mkdir(work + "/out")
        run = subprocess.Popen([assay, "variance", "record", "-o", work + "/records", "--", work + "/four", work + "/out", "100000000"], cwd=work,
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        run.stdin.write(b"\n")
        run.stdin.close()
        began = time.monotonic()
        while not glob.glob(work + "/records/*.samples"):
            time.sleep(.1)
        follow = subprocess.Popen([assay, "variance", "show", work + "/records", "--follow", "--format", "json"], stdout=subprocess.PIPE, text=True)
        memory, windows = {}, []

        def watch():
            while follow.poll() is None:
                memory[time.monotonic() - began] = resident_kb(follow.pid)
                if time.monotonic() - began > RUN_S and run.poll() is None:
                    os.killpg(run.pid, signal.SIGTERM)  # the program's processes, too
                time.sleep(.5)
        watcher = threading.Thread(target=watch)
        watcher.start()
        for line in follow.stdout:
            w = json.loads(line)
            windows.append({key: w[key] for key in ("from_s", "to_s", "lag_s", "fragments")})
        watcher.join()
        run.wait()
        return {"seconds": time.monotonic() - began, "load": os.getloadavg()[1], "windows": windows, "status": follow.returncode,
                "early_kb": max(kb for at, kb in memory.items() if at < EARLY_S), "most_kb": max(memory.values())}


def follow_many(assay):
    """As if they had just been written; each analysis has as many ranks."""
    with tempfile.TemporaryDirectory() as work:
        made = [f"{rank}:{a}:{b}:slow:1.6" for rank, (a, b) in SLOW.items()]
        subprocess.run([os.path.dirname(assay) + "/tests/tool_variance", work, str(RANKS), "4", *made], check=True)
        files, began, there, told = sorted(glob.glob(work + "/*.samples"), key=lambda f: int(os.path.basename(f).split("-")[0])), time.monotonic(), [], []
        for i in range(ANALYSES):
            out = open(f"{work}/out.{i}", "w+")
            some = files[i * RANKS // ANALYSES:(i + 1) * RANKS // ANALYSES]
            there.append((subprocess.Popen([assay, "variance", "show", *some, "--follow", "--window", str(SHORT_S), "--format", "json"], stdout=out), out))
        for analysis, out in there:
            _, status, used = os.wait4(analysis.pid, 0)
            out.seek(0)
            windows = [json.loads(line) for line in out]
            told.append({"status": status, "cpu_s": used.ru_utime + used.ru_stime, "kb": used.ru_maxrss, "fragments": max(w["fragments"] for w in windows),
                         "regions": [[p["rank"], w["from_s"], r["from_s"], r["to_s"]] for w in windows for r in w["regions"] for p in r["processes"]]})
            out.close()
        return {"seconds": time.monotonic() - began, "analyses": told}


def keep(path, what, seconds):
    if not os.path.exists(path):
        if seconds <= 0:
            return None
        value = what()
        with open(path + ".new", "w") as out:
            json.dump(value, out)
        os.rename(path + ".new", path)
    with open(path) as kept:
        return json.load(kept)


def main():
    assay, directory, seconds = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1
    os.makedirs(directory, exist_ok=True)
    many = keep(directory + "/many.json", lambda: follow_many(assay), seconds)
    long = keep(directory + "/long.json", lambda: follow_long(assay), seconds)
    if long:
        windows = long["windows"]
        print(f"`four` for {long['seconds']:.0f} s with `assay variance show --follow` beside it, on a machine with a load of {long['load']:.0f}: {len(windows)} windows of {WINDOW_S} s,\n"
              f"{sum(w['fragments'] for w in windows):,} fragments in all (each in two windows), at most {max(w['fragments'] for w in windows):,} in one. A window was told at most\n"
              f"{max(w['lag_s'] for w in windows):.1f} s after its end ({WINDOW_S} s asked). Resident memory of the analysis: {long['early_kb']:,} KB at most in the first {EARLY_S} s, {long['most_kb']:,} KB at most in all.\n")
    if many:
        all_of, expected = many["analyses"], sum(len(a["regions"]) for a in many["analyses"])
        right = sum(rank in SLOW for a in all_of for rank, *_ in a["regions"])
        named = {rank for a in all_of for rank, *_ in a["regions"]} & set(SLOW)
        print(f"Records of {RANKS:,} ranks (4 s, nothing counts the work; in two of them, {' and '.join(map(str, SLOW))}, computation takes 1.6 times as long for a second), as if they had just been\n"
              f"written, through {ANALYSES} analyses beside each other of {RANKS // ANALYSES} ranks each, with windows of {SHORT_S} s: all done after {many['seconds']:.1f} s; each took {min(a['cpu_s'] for a in all_of):.1f} to\n"
              f"{max(a['cpu_s'] for a in all_of):.1f} s of processor time and {min(a['kb'] for a in all_of) // 1024} to {max(a['kb'] for a in all_of) // 1024} MB, at most {max(a['fragments'] for a in all_of):,} fragments in a window.\n"
              f"{len(named)} of the {len(SLOW)} slow ranks were told, in {right} windows, and {expected - right} others.\n")
    if not long or not many:
        print("Not all of it is measured: once more", file=sys.stderr)
        if seconds > 0:
            sys.exit(3)


main()
