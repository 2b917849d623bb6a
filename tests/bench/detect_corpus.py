"""Runs of the programs of tests/apps for the tables of detection: ASSAY DIRECTORY programs|software|pairs|builds [PROGRAM...]. What is already
there is not run again.

  DIRECTORY/programs/PROGRAM/train|test|FLAG/RUN/*.samples    good runs to learn from, good ones to judge, bad ones
  DIRECTORY/pairs/seven|two/FLAG/RUN/*.samples                two faults at once (of seven to learn from: programs/seven/train)
  DIRECTORY/varying|same/PROGRAM/...                          as programs, by the probe without hardware counters; any size, one size
  DIRECTORY/builds/BUILD/PROGRAM/good|BAD|shifted|again|front|order/RUN/*.samples
                                    programs of tests/apps/whole, by several compilers and levels. again: other runs of good; front: good with
                                    an unrelated file linked in front; order: good with its functions in the order of their names, and a larger
                                    environment; shifted: all that at once. BUILDS=NAME,... takes some
  DIRECTORY/recorded-at             the revisions that have recorded some of it, a line each

QUICK=1: half as many runs of programs and software. WORKERS=N at once (2).

All but software's with the emulated back end. The input of each run (threads, size, seed) is drawn for itself, good and bad ones from
the same distribution."""
import concurrent.futures
import csv
import glob
import math
import os
import random
import shutil
import subprocess
import sys

APPS = os.path.join(os.path.dirname(__file__), "..", "apps")
THREADS = (2, 12)  # one thread alone shares nothing
# Sizes, log-uniform between; so that a run takes .01 to .4 s of CPU.
SIZES = {
    "scalar_sum": (1e6, 8e6), "dot_product": (5e5, 4e6), "vector_sum": (5e5, 4e6), "matrix_multiply": (95, 190),
    "matrix_compare": (800, 1600), "histogram": (5e5, 4e6), "linear_regression": (3e5, 2e6), "reverse_index": (5e5, 4e6),
    "ticket": (3e4, 3e5), "hash_lock": (1e4, 1e5), "spin_pool": (3e4, 3e5), "counter_array": (1e5, 1e6), "numa_init": (1e5, 1e6),
    "extra_copy": (2e3, 2e4), "worse_hash": (5e4, 4e5), "pointer_chase": (8e4, 2.5e5),  # more pages than the TLB has entries
    "branch": (3e4, 3e5), "system_call": (1e4, 1e5), "allocation": (1e4, 1e5), "seven": (10, 60),
}
TWO_SIZE, TWO_STEPS = (10, 60), (16, 64, 128, 256, 512, 1024, 2048, 4096)  # of detect_two.c: of the second function
# Of a thread at least, where good and bad runs are compared: behind the first thread's preparations not every window of 1024 accesses
# is simulated, but some of 128 in a row are; and what lies on another node is of interest where it does not fit into the caches.
LEAST = {"dot_product": 5e4, "vector_sum": 5e4, "histogram": 7.5e4, "reverse_index": 9e4, "numa_init": 8e4}
TRAIN, TEST, BAD = (19, 10, 5) if os.environ.get("QUICK") else (39, 20, 10)
WHOLE = f"{APPS}/whole"
# Of tests/apps/whole: some .01 s of CPU; of tree_index so much that queries cost more than the clearing of the nodes.
WHOLE_SIZES = {
    "lru_cache": 1500, "worker_stats": 2500, "dispatch": 2500, "more_calls": 500, "node_pool": 100, "filters": 400, "heat_openmp": 3,
    "json_reader": 120, "tree_index": 20000, "merge_sort": 15, "refactored": 1500, "log_writer": 3000, "order_lost": 15, "shard_map": 1500,
}
WHOLE_SPREAD, WHOLE_THREADS = 2, (2, 6)
WHOLE_RUNS = {"good": 20, "BAD": 20, "shifted": 8}  # 20: either may be what is learned from
WHOLE_MORE = {"again": 8, "front": 8, "order": 8}  # of the first build alone
BUILDS = {name: words.split() for name, words in {
    "gcc-O2": "gcc -O2", "gcc-O0": "gcc -O0", "gcc-O1": "gcc -O1", "gcc-O3": "gcc -O3", "gcc-O2-lto": "gcc -O2 -flto",
    "clang-O2": "clang-14 -O2", "clang-O0": "clang-14 -O0", "clang-O1": "clang-14 -O1", "clang-O3": "clang-14 -O3"}.items()}


def truth(directory=APPS):
    return list(csv.DictReader(open(f"{directory}/truth.csv")))


def build(assay, directory, program, flag, how=(), source=None):
    path = f"{directory}/bin/{program}.{flag or 'good'}{'.probe' if how else ''}"
    if not os.path.exists(path):
        os.makedirs(f"{directory}/bin", exist_ok=True)
        flags = ["-D" + word for word in flag.split()]
        subprocess.run([*(() if how else (assay, "build", "--for", "counters", "--")), "gcc", "-O2", "-g", "-std=c11", "-D_GNU_SOURCE", *how, *flags,
                        source or f"{APPS}/{program}.c", "-pthread", "-o", path], check=True)
    return path


FRONT = """/* Nothing that a program needs: what is linked behind it lies elsewhere. */
%s
"""


def build_whole(assay, directory, name, program, variant):
    """A program of tests/apps/whole; None: this compiler has no OpenMP."""
    path = f"{directory}/bin/{name}/{program}.{variant}"
    source = next(iter(glob.glob(f"{WHOLE}/{program}.c*")))
    compiler, *flags = BUILDS[name]
    openmp = "omp.h" in open(source).read()
    if openmp and compiler != "gcc":
        return None
    if os.path.exists(path):
        return path
    os.makedirs(f"{directory}/bin/{name}", exist_ok=True)
    if source.endswith(".cc"):
        compiler = {"gcc": "g++", "clang-14": "clang++-14"}[compiler]
    else:
        flags = ["-std=c11", *flags]
    files = [source]
    if variant in ("front", "shifted"):
        files.insert(0, f"{directory}/bin/front{os.path.splitext(source)[1]}")
        functions = (f"int front_{i}(int x);\n__attribute__((used, noinline)) int front_{i}(int x)\n{{\n\treturn x > {i} ? x * {i} : x + {i};\n}}" for i in range(37))
        with open(files[0], "w") as out:
            out.write(FRONT % "\n".join(functions))
    if variant in ("order", "shifted"):
        flags += ["-ffunction-sections", "-Wl,--sort-section=name"]
    flags += ["-DBAD"] if variant == "BAD" else []
    flags += ["-fopenmp"] if openmp else []
    subprocess.run([assay, "build", "--for", "counters", "--", compiler, "-g", "-w", "-D_GNU_SOURCE", *flags, *files, "-pthread", "-o", path + ".part"], check=True)
    os.rename(path + ".part", path)
    return path


def builds(assay, directory, name, only):
    jobs = []
    for program, size in WHOLE_SIZES.items():
        if only and program not in only:
            continue
        for variant, n in {**WHOLE_RUNS, **(WHOLE_MORE if name == next(iter(BUILDS)) else {})}.items():
            binary = build_whole(assay, directory, name, program, "good" if variant == "again" else variant)
            if not binary:
                break
            environment = [f"PADDING={'x' * 3333}"] if variant in ("order", "shifted") else []
            for i in range(n):
                rng = random.Random(f"{program} {variant} {i}")
                words = [rng.randint(*WHOLE_THREADS), round(size * WHOLE_SPREAD ** rng.random()), rng.randint(1, 10**6)]
                words = [str(word) for word in words]
                jobs.append((["env", *environment, binary, *words], f"{directory}/builds/{name}/{program}/{variant}/{i:03d}-{'-'.join(words)}"))
    return jobs


def draw(program, what, least):
    """The arguments of a run."""
    rng = random.Random(f"{program} {what}")
    low, high = (math.log(x) for x in SIZES.get(program, TWO_SIZE))
    threads, size, seed = rng.randint(*THREADS), math.exp(rng.uniform(low, high)), rng.randint(1, 10**6)
    return [str(x) for x in (threads, round(max(size, threads * least)), seed)]


def one_run(words, directory, environment):
    """Directories of runs appear when they are whole. In words and values, @ is where the samples go."""
    if os.path.isdir(directory):
        return
    part = directory + ".part"
    os.makedirs(part, exist_ok=True)
    for left in glob.glob(f"{part}/*"):
        os.remove(left)
    here = {key: part if value == "@" else value for key, value in environment.items()}
    subprocess.run([part if word == "@" else word for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, **here))
    files = glob.glob(f"{part}/*.samples")
    if not files:
        sys.exit(f"{words}: no samples")
    subprocess.run(["fallocate", "-d", *files], check=False, stderr=subprocess.DEVNULL)  # what is empty takes no room
    os.rename(part, directory)


def note_revision(directory):
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout
    with open(f"{directory}/recorded-at", "a+") as file:
        file.seek(0)
        if revision not in file.readlines():
            file.write(revision)


def run_all(jobs, environment, workers=int(os.environ.get("WORKERS", 2)), corpus=None):
    """jobs: [(words, directory)]. What was kept of other plans goes. corpus: where the revision is noted, if anything is run."""
    planned = {where for _, where in jobs}
    for parent in {os.path.dirname(where) for where in planned}:
        for entry in os.listdir(parent) if os.path.isdir(parent) else ():
            if f"{parent}/{entry}" not in planned:
                shutil.rmtree(f"{parent}/{entry}")
    jobs = [job for job in jobs if not os.path.isdir(job[1])]
    if jobs and corpus:
        note_revision(corpus)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(one_run, words, where, environment) for words, where in jobs]
        for i, future in enumerate(concurrent.futures.as_completed(running)):
            future.result()
            if i % 200 == 199:
                print(f"{i + 1} of {len(jobs)} runs", file=sys.stderr)


def jobs_of(program, binary, where, n, key, size=None):
    out = []
    for i in range(n):
        words = draw(program, f"{key} {i}", LEAST.get(program, 0))
        words[1] = size or words[1]
        out.append(([*binary, *words], f"{where}/{i:03d}-{'-'.join(words)}"))
    return out


def programs(assay, directory):
    jobs = []
    for program in SIZES:
        good = build(assay, directory, program, "")
        base = f"{directory}/programs/{program}"
        jobs += jobs_of(program, [good], f"{base}/train", TRAIN, "train")
        jobs += jobs_of(program, [good], f"{base}/test", TEST, "test")
        for row in truth():
            if row["program"] == program:
                bad = build(assay, directory, program, row["flag"])
                jobs += jobs_of(program, [bad], f"{base}/{row['flag']}", BAD, row["flag"])
    return jobs


def pairs(assay, directory):
    """Two faults at once: of the seven functions, and of two functions that both do nothing but miss more."""
    jobs, base = [], f"{directory}/pairs"
    for flag in (f"FAULT={a}{b}" for a in range(1, 8) for b in range(a + 1, 8)):
        jobs += jobs_of("seven", [build(assay, directory, "seven", flag)], f"{base}/seven/{flag}", BAD, flag)
    source = os.path.join(os.path.dirname(__file__), "detect_two.c")
    for part, flag, n in (("train", "", TRAIN), *((f"{steps}", f"WALK=4096 SCAN={steps}", BAD) for steps in TWO_STEPS)):
        jobs += jobs_of("two", [build(assay, directory, "two", flag, source=source)], f"{base}/two/{part}", n, f"two {part}")
    return jobs


def software(assay, directory):
    """Of the programs that are not about sharing, natively; the function that has the fault is measured."""
    jobs = []
    probe = ("-fpatchable-function-entry=5", "-falign-loops=32")
    for row in truth():
        program = row["program"]
        if row["flag"] != "BAD" or row["trouble"].endswith("_sharing") or row["trouble"] == "remote_memory":
            continue
        size = str(round(math.sqrt(SIZES[program][0] * SIZES[program][1])))
        for part, flag, n in (("train", "", TRAIN), ("test", "", TEST), ("BAD", "BAD", BAD)):
            words = [assay, "record", "--for", "functions", "--functions", row["function"], "--counters", "default", "-o", "@", "--",
                     build(assay, directory, program, flag, probe)]
            jobs += jobs_of(program, words, f"{directory}/varying/{program}/{part}", n, f"probe {part}")
            jobs += jobs_of(program, words, f"{directory}/same/{program}/{part}", n, f"probe {part}", size)
    random.Random(1).shuffle(jobs)  # what else the machine does meets all alike
    return jobs


def main():
    assay, target, what = sys.argv[1:4]
    if what == "builds":
        for name in os.environ.get("BUILDS", ",".join(BUILDS)).split(","):
            run_all(builds(assay, target, name, sys.argv[4:]), {"ASSAY_EMULATE_DIRECTORY": "@"}, corpus=target)
        return
    plan = {"programs": programs, "software": software, "pairs": pairs}[what](assay, target)
    if what == "software":
        run_all(plan, {}, 1, target)
    else:
        run_all(plan, {"ASSAY_EMULATE_DIRECTORY": "@"}, corpus=target)


if __name__ == "__main__":
    main()
