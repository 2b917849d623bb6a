"""What recording calls costs: single calls, and whole programs at the policy's 1 %, by turns plain, recorded, and recorded with call paths; and programs
that count statements. usage: variance_costs.py LIBRARY DIRECTORY [TURNS [SECONDS]]: measures what DIRECTORY does not have yet, for so long, and prints the tables. Exits with 3 when
pairs are still missing. Programs that are not installed are named; those that count are built from DIRECTORY/sources/PROGRAM, if that is there."""
import glob
import itertools
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

from variance_four import preferred

HERE = os.path.dirname(os.path.abspath(__file__))
# Rounds, and which calls of each are recorded.
CALLS = {"lock": (2000000, ["pthread_mutex_lock"]), "write": (500000, ["write"]), "read": (500000, ["read"]),
         "pipe": (200000, ["write", "read"]), "poll": (500000, ["poll"])}
SQL = """INSERT INTO t SELECT value, hex(value * 7919) FROM generate_series({0}, {0} + 9999);
SELECT count(*), sum(length(b)) FROM t WHERE a >= {0} AND b > '3';
UPDATE t SET b = b || 'x' WHERE a >= {0} AND a % 3 = 0;
"""
HPCC = """HPLinpack benchmark input file
assay
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{}         Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""


def inputs(directory):
    if os.path.exists(directory + "/video.y4m"):
        return
    dice = random.Random(1)
    with open(directory + "/text", "w") as out:
        for _ in range(900000):
            out.write(f"{dice.randrange(10 ** 12)} {dice.randrange(1000)}\n")
    with open(directory + "/hpccinf.txt", "w") as out:
        out.write(HPCC.format(2000))
    with open(directory + "/sql", "w") as out:
        out.write("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX x ON t(b);\n" + "".join(SQL.format(10000 * i) for i in range(70)))
    with open(directory + "/video.new", "wb") as out:
        out.write(b"YUV4MPEG2 W640 H360 F25:1 Ip A1:1 C420jpeg\n")
        line = bytes(dice.randrange(256) for _ in range(2048))
        for frame in range(400):
            out.write(b"FRAME\n" + b"".join(line[(7 * y + 3 * frame) % 1000:][:640] for y in range(360)) + bytes([128]) * (640 * 360 // 2))
    os.rename(directory + "/video.new", directory + "/video.y4m")


# Each in DIRECTORY, for a second or more on two processors by itself; what it prints is thrown away. What has one thread stays on one processor.
ONE = ["taskset", "-c", "1"]
MPI = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
LONG = "hpcc, 2 ranks, longer"
PROGRAMS = {
    "hpcc, 2 ranks": [*MPI, "-np", "2", "hpcc"],
    LONG: [*MPI, "--wdir", "long", "-np", "2", "hpcc"],
    "pigz -p 2": ["pigz", "-p", "2", "-c", "text", "text", "text"],
    "sqlite3": [*ONE, "sh", "-c", "rm -f base; sqlite3 base <sql"],
    "sort --parallel=2": ["sort", "--parallel=2", "-S", "200M", "text", "text", "text"],
    "x264, 2 threads": ["x264", "--quiet", "--threads", "2", "-o", "video.264", "video.y4m"],
    "xz -1 -T 2": ["xz", "-1", "-T", "2", "-c", "text", "text"],
    "redis-server, under load": None,
}
# Built twice, as it is and to count statements: what is compiled, and how it is run.
COUNTING = {
    "bzip2 -9": ("bzip2", "blocksort.c bzip2.c bzlib.c compress.c crctable.c decompress.c huffman.c randtable.c", "-9 -c text"),
    "lz4 -12": ("lz4", "lib/*.c programs/*.c -Ilib -pthread", "-12 -c text"),
    "sqlite3": ("sqlite3", "sqlite3.c shell.c -lm -ldl -lpthread", "-init sql counted.base .quit"),
}


def programs_there(directory, assay):
    there = {name: [words, words] for name, words in PROGRAMS.items()
             if shutil.which("redis-server" if not words else "sqlite3" if name == "sqlite3" else words[-1] if "hpcc" in name else words[0])}
    for name, (program, built, run) in COUNTING.items():
        source, ways = f"{directory}/sources/{program}", {"plain": ["gcc"], "counting": [assay, "build", "--for", "work", "--", "gcc"]}
        if not os.path.isdir(source):
            continue
        words = [w for word in built.split() for w in (sorted(glob.glob(word, root_dir=source)) if word.endswith(".c") else [word])]
        for way, compiler in ways.items():
            if not os.path.exists(f"{directory}/{program}.{way}"):
                subprocess.run([*compiler, "-O2", "-w", "-o", f"{directory}/{program}.{way}", *words], cwd=source, check=True)
        there[name + ", counting"] = [["sh", "-c", f"rm -f counted.base; exec taskset -c 1 ./{program}.{way} {run}"] for way in ways]
    return there


PLAIN, RECORDED, PATHS = range(3)
RUNS = 5  # that coverage is told of: as many as work must repeat to be compared


def environment(library, records, overhead, how=RECORDED):
    if not records:
        return dict(os.environ)
    return dict(os.environ, LD_PRELOAD=library, ASSAY_INTERPOSE_DIRECTORY=records, ASSAY_INTERPOSE_OVERHEAD_PPM=str(overhead),
                ASSAY_INTERPOSE_CONTEXT=str(int(how == PATHS)))


def cpu_of(pid):
    """Waits for it; processor time of it and of those that it waited for."""
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"a program failed: {status}")
    return used.ru_utime + used.ru_stime


def redis(directory, env, before=()):
    """The server's processor time for a fixed number of requests."""
    server = subprocess.Popen([*before, *ONE, "redis-server", "--port", "7999", "--save", "", "--appendonly", "no"], cwd=directory, env=env, stdout=subprocess.DEVNULL)
    while subprocess.run(["redis-cli", "-p", "7999", "ping"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        time.sleep(.02)
    subprocess.run(["taskset", "-c", "0", "redis-benchmark", "-p", "7999", "-t", "set,get", "-n", "60000", "-c", "20", "-q"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["redis-cli", "-p", "7999", "shutdown", "nosave"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cpu_of(server.pid)


def once(library, directory, words, how):
    """Processor time, time, and bytes of records, of the process that has most."""
    records = directory + "/records" if how != PLAIN else None
    shutil.rmtree(directory + "/records", ignore_errors=True)
    os.makedirs(directory + "/records")
    env = environment(library, records, 10000, how)
    began = time.monotonic()
    if words:
        cpu = cpu_of(subprocess.Popen(words, cwd=directory, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)
    else:
        cpu = redis(directory, env)
    seconds = time.monotonic() - began
    files = [os.stat(f"{directory}/records/{f}").st_blocks * 512 for f in os.listdir(directory + "/records")]
    return {"cpu": cpu, "seconds": seconds, "bytes": max(files, default=0)}


def reading(library, directory, words, read):
    """Processor time with the library preloaded; by the command that also reads from outside what each process used and waited for (`read`), then of
    both, and of that command by itself."""
    assay, records = os.path.dirname(library) + "/assay", directory + "/records"
    shutil.rmtree(records, ignore_errors=True)
    if not read:
        os.makedirs(records)
    before = [*([assay, "record", "-o", records, "--"] if read else []), "sh", "-c", f'"$@"; cat /proc/$PPID/schedstat >{directory}/own', "-"]
    env = environment(library, None if read else records, 10000)
    if words is None:
        cpu = redis(directory, env, before)
    else:
        cpu = cpu_of(subprocess.Popen([*before, *words], cwd=directory, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)
    with open(directory + "/own") as line:
        return {"cpu": cpu, "own": int(line.read().split()[0]) / 1e9 if read else 0}


def print_reading(turns, start_s):
    """Of pairs (alone, read); start_s: what the command takes of itself where its program does nothing."""
    print("\nReading from outside, by turns: `assay record` against the library alone; and the processor time of that command by itself, without what it\n"
          f"takes for a program that does nothing ({start_s:.3f} s; medians), as part of the program's (bar .005).\n")
    print("| program | turns | processor time s | read / alone | upper 95 % limit | the command itself s | part |\n| --- | --- | --- | --- | --- | --- | --- |")
    parts = []
    for name, rows in turns.items():
        middle, upper = typical([math.log((b["cpu"] - start_s) / a["cpu"]) for a, b in rows])
        cpu, own = statistics.median(a["cpu"] for a, _ in rows), statistics.median(b["own"] for _, b in rows) - start_s
        parts.append(own / cpu)
        print(f"| {name} | {len(rows)} | {cpu:.3f} | {math.exp(middle):.4f} | {math.exp(upper):.4f} | {own:.4f} | {own / cpu:.4f} |")
    if parts:
        print(f"\nArithmetic mean of the parts: {statistics.mean(parts):.4f}; the most: {max(parts):.4f}.")


def seen_of(library, directory, words):
    """Of RUNS recorded runs, the one in the middle by its coverage: coverage, by what the work of computation is known, the part of the time that was
    waiting; bytes a second (of one second at least: a file has a beginning). And the coverage of all of them together."""
    def shown(names):
        return json.loads(subprocess.run([os.path.dirname(library) + "/assay", "timeline", *names, "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)
    runs, kept = [], [f"{directory}/records.{i}" for i in range(RUNS)]
    for name in kept:
        ran = once(library, directory, words, RECORDED)
        shutil.rmtree(name, ignore_errors=True)
        os.rename(directory + "/records", name)
        one = shown([name])
        runs.append({"rate": ran["bytes"] / max(ran["seconds"], 1), **{key: one[key] for key in ("coverage", "basis", "waiting", "fragments", "processes")}})
    runs.sort(key=lambda run: run["coverage"])
    return {**runs[RUNS // 2], "range": [runs[0]["coverage"], runs[-1]["coverage"]], "together": shown(kept)["coverage"]}


def call_ns(library, directory, call, overhead):
    """Of a round, nanoseconds of processor time; overhead: None, plain."""
    records = directory + "/call-records"
    shutil.rmtree(records, ignore_errors=True)
    os.makedirs(records)
    env = environment(library, records if overhead is not None else None, overhead)
    done = subprocess.run([directory + "/calls", call, str(CALLS[call][0])], env=env, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def keep(path, what):
    """What there is, or what is measured now."""
    if not os.path.exists(path):
        value = what()
        with open(path + ".new", "w") as out:
            json.dump(value, out)
        os.rename(path + ".new", path)
    return json.load(open(path))


def print_calls(rows):
    if not all(rows.values()):
        print("Not measured.")
        return
    print("| round | recorded calls | plain ns | recorded at 1 % | every call timed | beside each call |")
    print("| --- | --- | --- | --- | --- | --- |")
    for call, (_, called) in CALLS.items():
        plain, usual, every = (statistics.median(r[i] for r in rows[call]) for i in range(3))
        print(f"| {call} | {', '.join(called)} | {plain:.1f} | {usual:.1f} | {every:.1f} | {(usual - plain) / len(called):+.1f}, {(every - plain) / len(called):+.1f} |")


def typical(x):
    """Of numbers around a centre, that (Hodges and Lehmann, 1963: the median of the means of two), and its upper 95 % limit by signed ranks, one-sided."""
    n, means, sums = len(x), sorted((a + b) / 2 for i, a in enumerate(x) for b in x[i:]), [1]
    for rank in range(1, n + 1):
        sums = [(sums[w] if w < len(sums) else 0) + (sums[w - rank] if w >= rank else 0) for w in range(len(sums) + rank)]
    outside = 0
    while sum(sums[:outside + 1]) <= .05 * 2 ** n:
        outside += 1
    return statistics.median(means), means[len(means) - max(outside, 1)]


def print_programs(turns, how=RECORDED):
    """Against plain ones. Returns ratio and limit of each."""
    told = {}
    print("| program | turns | seconds | processor time s | two plain ones differ by | recorded / plain | upper 95 % limit |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, rows in turns.items():
        rows = [(row[PLAIN], row[how]) for row in rows if len(row) > how]
        middle, upper = typical([math.log(b["cpu"] / a["cpu"]) for a, b in rows])
        told[name] = math.exp(middle), math.exp(upper)
        plain = [a["cpu"] for a, _ in rows]
        differ = statistics.median(abs(a / b - 1) for a, b in zip(plain, plain[1:]))
        print(f"| {name} | {len(rows)} | {statistics.median(b['seconds'] for _, b in rows):.2f} | {statistics.median(plain):.3f} | {100 * differ:.1f} % | "
              f"{told[name][0]:.4f} | {told[name][1]:.4f} |")
    return told


def print_mean(told):
    for without, what in (LONG, ""), ("hpcc, 2 ranks", ", hpcc being the longer one"):
        some = [one for name, one in told.items() if name != without]
        if some and (without == LONG or LONG in told):
            mean, error = statistics.mean(r for r, _ in some), math.sqrt(sum((u - r) ** 2 for r, u in some)) / len(some)
            print(f"\nArithmetic mean of {len(some)} programs{what}: {mean:.4f}, upper 95 % limit {mean + error:.4f}; the worst: {max(some)[0]:.4f}; the highest limit: {max(u for _, u in some):.4f}.")


def print_all(turns):
    counting = {name: rows for name, rows in turns.items() if name.endswith("counting")}
    others = {name: rows for name, rows in turns.items() if name not in counting}
    print_mean(print_programs(others))
    print("\nThe same, in the same turns, with call paths (`--context-aware`):\n")
    print_mean(print_programs(others, PATHS))
    if counting:
        print("\nThe same where the recorded ones are built to count statements, and the plain ones are not:\n")
        print_programs(counting)


def print_seen(seen):
    """Of a run of each."""
    if not seen:
        return
    print("\nWhat is seen of a recorded run of each: coverage is the part of the time without waiting that is in work that repeats; KB/s: of the process that\n"
          f"records most; of its first second where it has no more. Of {RUNS} runs, the one in the middle by coverage; the least and the most in brackets; and that of\n"
          f"all {RUNS} analysed together (`assay timeline RUN RUN...`), in which work that a run does only once repeats.\n")
    print("| program | coverage | of all together | work of computation known by | waiting | fragments | processes | records KB/s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, one in seen.items():
        print(f"| {name} | {one['coverage']:.2f} ({one['range'][0]:.2f} to {one['range'][1]:.2f}) | {one['together']:.2f} | {one['basis']} | {one['waiting']:.2f} | "
              f"{one['fragments']:,} | {one['processes']} | {one['rate'] / 1000:.1f} |")


def main():
    library, directory = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    turns, seconds = (int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((3, 12), (4, 540)))
    os.makedirs(directory + "/long", exist_ok=True)
    with open(directory + "/long/hpccinf.txt", "w") as out:
        out.write(HPCC.format(3600))
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a rank for each processor, and no threads beside
    preferred()
    inputs(directory)
    if not os.path.exists(directory + "/calls"):
        subprocess.run(["gcc", "-O2", "-pthread", HERE + "/variance_calls.c", "-o", directory + "/calls"], check=True)
    until, missing = time.monotonic() + seconds, 0
    there = programs_there(directory, os.path.dirname(library) + "/assay")
    calls, programs, readings = {call: [] for call in CALLS}, {name: [] for name in there}, {name: [] for name in PROGRAMS if name in there}
    for i in range(turns):
        for call in CALLS if i < 7 else ():
            path = f"{directory}/call.{call}.{i}"
            if os.path.exists(path) or time.monotonic() < until:
                calls[call].append(keep(path, lambda: [call_ns(library, directory, call, o) for o in (None, 10000, 0)]))
            else:
                missing += 1
        for name in readings:
            path = f"{directory}/reading.{name.replace('/', '-')}.{i}"
            if os.path.exists(path) or time.monotonic() < until:
                readings[name].append(keep(path, lambda: [r for _, r in sorted(((read, reading(library, directory, there[name][RECORDED], read))
                                                                                  for read in random.Random(i).sample((False, True), 2)), key=lambda one: one[0])]))
            else:
                missing += 1
        for name, words in there.items():
            if i % 2 and (name == LONG or name.endswith("counting")):  # they are half as many, and so are those with call paths
                continue
            path, ways = f"{directory}/turn.{name.replace('/', '-')}.{i}", [PLAIN, RECORDED] if i % 2 or name.endswith("counting") else [PLAIN, RECORDED, PATHS]
            if os.path.exists(path) or time.monotonic() < until:
                order = list(itertools.permutations(ways))[i // 2 % math.factorial(len(ways))]
                programs[name].append(keep(path, lambda: [r for _, r in sorted((how, once(library, directory, words[min(how, RECORDED)], how)) for how in order)]))
            else:
                missing += 1
    if missing:
        print(f"{missing} measurements are missing: once more", file=sys.stderr)
        if seconds > 0:
            sys.exit(3)
    print_calls(calls)
    print()
    print_all({name: rows for name, rows in programs.items() if len(rows) > 4})
    starts = keep(directory + "/starts", lambda: [reading(library, directory, ["true"], True)["own"] for _ in range(9)]) if any(map(len, readings.values())) else []
    print_reading({name: rows for name, rows in readings.items() if len(rows) > 4}, statistics.median(starts or [0]))
    seen = {name: f"{directory}/seen.{name.replace('/', '-')}" for name in there}
    print_seen({name: keep(path, lambda: seen_of(library, directory, there[name][RECORDED])) for name, path in seen.items() if seconds > 0 or os.path.exists(path)})
    for name in PROGRAMS:
        if name not in there:
            print(f"\n`{name}` is not installed here.")


if __name__ == "__main__":
    main()
