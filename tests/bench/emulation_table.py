"""The tables of tests/evidence/emulation.sh: PROGRAM DIRECTORY ROUNDS COMPILER. Builds every program of tests/apps in its variants, natively
and for the emulation, and runs them in turns."""
import csv
import glob
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from samples_file import Samples  # noqa: E402

assay, work, rounds, compiler = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
apps = os.path.join(os.path.dirname(__file__), "..", "apps")
only = sys.argv[5:]
problems = []
SHARING = ("hitm_true", "hitm_false")


def build(name, variant, flags):
    """Paths of the native program and of the one for the emulation."""
    native, emulated = (f"{work}/{name}.{variant}.{kind}" for kind in ("native", "emulated"))
    words = [compiler, "-O2", "-g", "-std=c11", "-D_GNU_SOURCE", *flags, f"{apps}/{name}.c", "-pthread"]
    subprocess.run([*words, "-o", native], check=True)
    subprocess.run([assay, "build", "--for", "counters", "--", *words, "-o", emulated], check=True)
    return native, emulated


def run(words, environment=None):
    """CPU seconds, peak memory in MiB, standard output."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{words}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def emulated_run(program, options=(), one_core=False):
    samples = f"{work}/samples"
    shutil.rmtree(samples, ignore_errors=True)
    os.mkdir(samples)
    environment = dict(os.environ, ASSAY_EMULATE_DIRECTORY=samples, **dict(options))
    taken = run((["taskset", "1"] if one_core else []) + [program], environment)
    (path,) = glob.glob(f"{samples}/*.samples")
    return taken, Samples(path)


def rates(counts):
    """Per thousand accesses and basic blocks; accesses themselves as they are."""
    done = (counts["accesses"] + counts["blocks"]) / 1000 or 1
    out = {name: value / done for name, value in counts.items()}
    out["hitm_true"], out["hitm_false"] = out["hitm_true_milli"] / 1000, out["hitm_false_milli"] / 1000
    out["accesses"] = counts["accesses"]
    return out


def measure(name, variant, flags):
    native, emulated = build(name, variant, flags)
    took = {"native": [], "emulated": []}
    repeated = set()
    for i in range(rounds):
        seconds, memory, expected = run([native])
        took["native"].append(seconds)
        (seconds, more, output), samples = emulated_run(emulated, one_core=i % 2 == 1)
        took["emulated"].append(seconds)
        if output != expected:
            problems.append(f"{name} {variant}: the result is another one")
        total = rates(samples.totals())
        repeated.add(f"{total['hitm_true']:.3f} {total['hitm_false']:.3f}")
        for key in ("windows-forced", "touches-dropped", "threads-not-simulated", "threads-running"):
            if samples.infos[key] != "0":
                problems.append(f"{name} {variant}: {key} is {samples.infos[key]}")
    if len(repeated) > 1:
        problems.append(f"{name} {variant}: runs differ: {sorted(repeated)}")
    _, full = emulated_run(emulated, {"ASSAY_EMULATE_FULL": "1"})
    return {"total": total, "samples": samples, "ratio": statistics.median(took["emulated"]) / statistics.median(took["native"]),
            "native": statistics.median(took["native"]), "memory": more - memory, "full": rates(full.totals())}


def of_function(found, where, function):
    """The same, with the rates of one function; its accesses are those of one call."""
    counts, n = found["samples"].of(function)
    if not n:
        problems.append(f"{where}: no samples of {function}")
    counts_rates = rates(counts)
    counts_rates["accesses"] = counts["accesses"] / max(n, 1)
    return dict(found, function=counts_rates)


def judge(row, good, bad):
    """What the issue asks for; for a program and for the function that has the fault."""
    moves, where = row["moves"], f"{row['program']} {row['flag']}"
    for level in ("total", "function"):
        g, b = good[level][moves], bad[level][moves]
        if moves in SHARING:
            other = SHARING[1 - SHARING.index(moves)]
            if b < g + .5 or b < 10 * g:
                problems.append(f"{where}: {moves} of the {level} is {g:.3f} and {b:.3f}")
            if bad[level][other] > .1 * b:
                problems.append(f"{where}: {other} of the {level} is {bad[level][other]:.3f} where {moves} is {b:.3f}")
        elif b < 1.5 * g or b <= g:
            problems.append(f"{where}: {moves} of the {level} is {g:.3f} and {b:.3f}")
        if moves not in SHARING:
            for name in SHARING:
                if bad[level][name] > good[level][name] + .5:
                    problems.append(f"{where}: {name} of the {level} is {bad[level][name]:.3f}")


COLUMNS = (("true", "hitm_true", 3), ("false", "hitm_false", 3), ("seen", "hitm_seen", 2), ("remote", "remote", 2), ("L1", "l1_misses", 1),
           ("L2", "l2_misses", 1), ("TLB", "tlb_misses", 2), ("branch", "branch_misses", 1), ("calls", "system_calls", 2),
           ("allocations", "allocations", 2), ("copied bytes", "copied_bytes", 0))


def line(name, variant, found, level):
    cells = [f"{found[level][key]:.{digits}f}" for _, key, digits in COLUMNS]
    accesses = found[level]["accesses"]
    extra = [f"{accesses / 1e6:.1f}", f"{found['ratio']:.1f}", f"{found['memory']:.0f}"] if level == "total" else [f"{accesses:.0f}"]
    return f"| {name} | {variant} | " + " | ".join(cells + extra) + " |"


def main():
    rows = [row for row in csv.DictReader(open(f"{apps}/truth.csv")) if not only or row["program"] in only]
    measured, lines, functions, full = {}, [], [], []
    for row in rows:
        pair = []
        for variant, flags in (("good", []), (row["flag"].lower(), ["-D" + row["flag"]])):
            key = (row["program"], variant)
            if key not in measured:
                measured[key] = found = measure(*key, flags)
                lines.append(line(*key, found, "total"))
                full.append(f"| {row['program']} | {variant} | " + " | ".join(
                    f"{found[level][name]:.3f}" for name in SHARING for level in ("total", "full")) + " |")
                print(f"{key}: {found['ratio']:.1f} times {found['native']:.3f} s", file=sys.stderr)
            found = of_function(measured[key], " ".join(key), row["function"])
            functions.append(line(f"{row['program']}: {row['function']}", variant, found, "function"))
            pair.append(found)
        judge(row, *pair)
    head = [label for label, _, _ in COLUMNS]

    def table(title, columns, body):
        print(f"\n{title}\n\n| " + " | ".join(columns) + " |\n|" + " --- |" * 2 + " ---: |" * (len(columns) - 2))
        print("\n".join(body))

    table("Of the whole program, per thousand accesses and basic blocks:",
          ["program", "variant", *head, "million accesses", "CPU, x native", "more memory, MiB"], lines)
    table("Of the samples of the function that has the fault:", ["program: function", "variant", *head, "accesses a call"], functions)
    table("Sampled windows against all (`--full`):",
          ["program", "variant", "true, sampled", "true, all", "false, sampled", "false, all"], full)
    ratios = [found["ratio"] for found in measured.values()]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    worst = max(found["memory"] for found in measured.values())
    print(f"\nCPU in the geometric mean {mean:.2f} x native over {len(ratios)} programs and variants (at most 6 allowed); at most "
          f"{worst:.0f} MiB more memory (1024 allowed). Every run of a program ({rounds} of each, on all cores and on one in turn) gave the same "
          "potential HITM to three decimals, and the native program's result, unless it is listed here:")
    print("\n" + ("\n".join(f"- {text}" for text in problems) if problems else "- nothing"))
    if mean > 6:
        problems.append("too slow")
    sys.exit(1 if problems else 0)


resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
main()
