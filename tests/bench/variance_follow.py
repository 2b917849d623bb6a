"""Runs that are analysed while they go on: how late each window is told, and what that takes. usage: variance_follow.py ASSAY DIRECTORY [SECONDS]: records
tests/apps/special/four.c for ten minutes with an analysis beside it, and replays 2,048 ranks through two analyses, unless DIRECTORY has that or SECONDS is 0;
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
RANKS, ANALYSES, MADE_S = 2048, 2, 24
SLOW = {700: (3, 6), 1900: (12, 15)}  # ranks, and when their computation takes 1.6 times as long


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
        run = subprocess.Popen([assay, "record", "-o", work + "/records", "--", work + "/four", work + "/out", "100000000"], cwd=work,
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        run.stdin.write(b"\n")
        run.stdin.close()
        began = time.monotonic()
        while not glob.glob(work + "/records/*.samples"):
            time.sleep(.1)
        follow = subprocess.Popen([assay, "timeline", work + "/records", "--follow", "--format", "json"], stdout=subprocess.PIPE, text=True)
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


def follow_some(assay, files):
    """One analysis: its windows, and how long each took after the one before it."""
    began, windows = time.monotonic(), []
    analysis = subprocess.Popen([assay, "timeline", *files, "--follow", "--window", str(WINDOW_S), "--format", "json"], stdout=subprocess.PIPE, text=True)
    for line in analysis.stdout:
        w, now = json.loads(line), time.monotonic()
        windows.append({"took_s": now - began, "fragments": w["fragments"],
                        "regions": [[p["rank"], w["from_s"], r["from_s"], r["to_s"]] for r in w["regions"] for p in r["processes"]]})
        began = now
    _, status, used = os.wait4(analysis.pid, 0)
    return {"status": status, "cpu_s": used.ru_utime + used.ru_stime, "kb": used.ru_maxrss, "windows": windows}


def follow_many(assay):
    """As if they had just been written; each analysis has as many ranks."""
    with tempfile.TemporaryDirectory() as work:
        made = [f"{rank}:{a}:{b}:slow:1.6" for rank, (a, b) in SLOW.items()]
        subprocess.run([os.path.dirname(assay) + "/tests/tool_variance", work, str(RANKS), str(MADE_S), *made], check=True)
        files, told = sorted(glob.glob(work + "/*.samples")), [None] * ANALYSES

        def one(i):
            told[i] = follow_some(assay, files[i * RANKS // ANALYSES:(i + 1) * RANKS // ANALYSES])
        threads = [threading.Thread(target=one, args=(i,)) for i in range(ANALYSES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"analyses": told, "load": os.getloadavg()[0], "bytes": sum(os.stat(f).st_blocks * 512 for f in files)}


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
        print(f"`four` for {long['seconds']:.0f} s with `assay timeline --follow` beside it, on a machine with a load of {long['load']:.0f}: {len(windows)} windows of {WINDOW_S} s,\n"
              f"{sum(w['fragments'] for w in windows):,} fragments in all (each in two windows), at most {max(w['fragments'] for w in windows):,} in one. A window was told at most\n"
              f"{max(w['lag_s'] for w in windows):.1f} s after its end ({WINDOW_S} s asked). Resident memory of the analysis: {long['early_kb']:,} KB at most in the first {EARLY_S} s, {long['most_kb']:,} KB at most in all.\n")
    if many:
        windows, analyses = [w for a in many["analyses"] for w in a["windows"]], many["analyses"]
        whole, regions = [w for a in analyses for w in a["windows"][:-2]], [r for w in windows for r in w["regions"]]
        right, named = sum(rank in SLOW for rank, *_ in regions), {rank for rank, *_ in regions} & set(SLOW)
        print(f"Records of {RANKS:,} ranks ({MADE_S} s, {many['bytes'] / RANKS / MADE_S / 1024:.0f} KB in a second of a rank, nothing counts the work; in two of them, {' and '.join(map(str, SLOW))}, computation takes 1.6 times as\n"
              f"long for three seconds), as if they had just been written, through {ANALYSES} analyses beside each other of {RANKS // ANALYSES:,} ranks each, on {os.cpu_count()} processors at a load of {many['load']:.0f}, with windows of {WINDOW_S} s,\n"
              f"of which one begins every {WINDOW_S / 2} s: a window took {min(w['took_s'] for w in whole):.1f} to {max(w['took_s'] for w in whole):.1f} s after the one before it, with at most {max(w['fragments'] for w in windows):,} fragments; each analysis took\n"
              f"{min(a['cpu_s'] / len(a['windows']) for a in analyses):.1f} to {max(a['cpu_s'] / len(a['windows']) for a in analyses):.1f} s of processor time a window, and {min(a['kb'] for a in analyses) // 1024} to {max(a['kb'] for a in analyses) // 1024} MB. {len(named)} of the {len(SLOW)} slow ranks were told, in {right} windows, and {len(regions) - right} others.\n")
    if not long or not many:
        print("Not all of it is measured: once more", file=sys.stderr)
        if seconds > 0:
            sys.exit(3)


main()
