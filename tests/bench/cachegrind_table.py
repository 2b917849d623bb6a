"""Side by side, of functions of tests/apps with one thread: what the emulation counts and what cachegrind does, with caches of the same
geometry. ASSAY DIRECTORY. The second table of tests/evidence/emulation.sh."""
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from samples_file import Samples  # noqa: E402

assay, work = sys.argv[1], sys.argv[2]
apps = os.path.join(os.path.dirname(__file__), "..", "apps")
ROWS = (("scalar_sum", "sum_part", 200000), ("dot_product", "multiply_part", 200000), ("vector_sum", "add_part", 200000),
        ("matrix_multiply", "multiply_part", 100), ("matrix_compare", "compare_part", 300), ("histogram", "count_part", 200000),
        ("linear_regression", "add_points", 200000), ("ticket", "draw", 200000), ("spin_pool", "use_lock", 200000),
        ("numa_init", "use", 100000), ("pointer_chase", "add_all", 50000), ("branch", "count_values", 50000), ("branch -DBAD", "count_values", 50000))
CAUSES = """
Ratios that are not 1, and why: ticket has its number in a variable on its own stack, which the compiler does not instrument; in spin_pool an
atomic exchange is one write here, a read and a write there. A few branch misses fewer are first visits, which are never misses here."""


def build(name):
    program, *flags = name.split()
    words = ["gcc", "-O2", "-g", "-std=c11", "-D_GNU_SOURCE", *flags, f"{apps}/{program}.c", "-pthread"]
    subprocess.run([*words, "-o", f"{work}/{name}"], check=True)
    subprocess.run([assay, "build", "--for", "counters", "--", *words, "-o", f"{work}/{name}.emulated"], check=True)


def cachegrind(name, function, size):
    """Counts of the function's own instructions: {event: count}."""
    out = f"{work}/cachegrind.out"
    subprocess.run(["valgrind", "--tool=cachegrind", "--branch-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=524288,8,64",
                    f"--cachegrind-out-file={out}", f"{work}/{name}", "1", str(size)], check=True, capture_output=True)
    events, here, sums = [], False, {}
    for line in open(out):
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("fn="):
            here = line[3:].strip().split(".")[0] == function
        elif here and line[0].isdigit():
            for event, count in zip(events, line.split()[1:]):
                sums[event] = sums.get(event, 0) + int(count)
    return sums


def emulated(name, function, size):
    samples = f"{work}/samples"
    shutil.rmtree(samples, ignore_errors=True)
    os.mkdir(samples)
    environment = dict(os.environ, ASSAY_EMULATE_DIRECTORY=samples, ASSAY_EMULATE_FULL="1")
    subprocess.run([f"{work}/{name}.emulated", "1", str(size)], check=True, capture_output=True, env=environment)
    (path,) = glob.glob(f"{samples}/*.samples")
    return Samples(path).of(function)[0]


def ratio(a, b):
    return f"{a / b:.3f}" if b else "-"


def main():
    print("\n## Against cachegrind\n\nOne thread, the function that has the work, built by gcc at -O2; valgrind's cachegrind with a first level of "
          "32 KiB and a second of 512 KiB, 8 ways.\nAccesses against its data reads and writes, misses of the first level against its own, "
          "branch misses against its mispredicted conditional and indirect jumps.\n")
    print("| function | accesses | Dr + Dw | ratio | L1 misses | D1 misses | ratio | branch misses | mispredicted | ratio |")
    print("| --- |" + " ---: |" * 9)
    for name, function, size in ROWS:
        build(name)
        theirs, ours = cachegrind(name, function, size), emulated(name, function, size)
        pairs = ((ours["accesses"], theirs.get("Dr", 0) + theirs.get("Dw", 0)),
                 (ours["l1_misses"], theirs.get("D1mr", 0) + theirs.get("D1mw", 0)),
                 (ours["branch_misses"], theirs.get("Bcm", 0) + theirs.get("Bim", 0)))
        print(f"| {name}: {function} | " + " | ".join(f"{a:.0f} | {b} | {ratio(a, b)}" for a, b in pairs) + " |", flush=True)
    print(CAUSES)


main()
