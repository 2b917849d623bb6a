"""Programs as people write them, without an attribute on any function (tests/apps/plain): two faults, a refactoring, the same again, and the code in
another place; built, run and judged as docs/detect.md says.
usage: detect_plain.py ASSAY DIRECTORY [RUNS [MODEL|native...]]: prints tables. DIRECTORY keeps builds, runs and native times for the next time;
`native` alone, on a quiet machine, measures those."""
import csv
import json
import os
import random
import statistics
import subprocess
import sys

APPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps", "plain")
VARIANTS = {"old": [], "again": [], "shifted": [], "tidy": ["-DTIDY=1"], "fault1": ["-DFAULT=1"], "fault2": ["-DFAULT=2"]}
ROUNDS, FACTOR, MATRIX = 101, 20, 4
FRONT = "static volatile int kept;\n" + "".join(
    f"__attribute__((used, noinline)) void front_{i}(int x) {{ for (int k = 0; k < x; k++) kept += k * {i}; }}\n" for i in range(41))


def compiler_of(program):
    source = next(p for p in (f"{APPS}/{program}.c", f"{APPS}/{program}.cc") if os.path.exists(p))
    return [*(["g++"] if source.endswith("cc") else ["gcc", "-std=gnu11"]), "-O2", "-g"], source


def build(assay, directory, program):
    compiler, source = compiler_of(program)
    front = f"{directory}/front{os.path.splitext(source)[1]}"
    with open(front, "w") as out:
        out.write(FRONT)
    for variant, words in VARIANTS.items():
        binary = f"{directory}/{program}.{variant}"
        before = ["-ffunction-sections", "-Wl,--sort-section=name", front] if variant == "shifted" else []
        if not os.path.exists(binary):
            subprocess.run([assay, "build", "--for", "counters", "--", *compiler, *words, *before, source, "-o", binary, "-pthread", "-lm"], check=True)


def record(directory, program, arguments, runs):
    for variant in VARIANTS:
        for i in range(runs):
            to = f"{directory}/runs/{program}/{variant}/{i}"
            if os.path.exists(to):
                continue
            os.makedirs(to + ".new", exist_ok=True)
            seed = i + 1 + (runs if variant in ("again", "shifted") else 0)
            subprocess.run([f"{directory}/{program}.{variant}", *arguments, str(seed)], check=True, stdout=subprocess.DEVNULL,
                           env=dict(os.environ, ASSAY_EMULATE_DIRECTORY=to + ".new"))
            os.rename(to + ".new", to)


def judge(assay, directory, program, variant, model):
    done = subprocess.run([assay, "detect", f"{directory}/runs/{program}/old", f"{directory}/runs/{program}/{variant}", "--model", model, "--format", "json"],
                          stdout=subprocess.PIPE)
    answer = json.loads(done.stdout)
    worse = [f for f in answer["functions"] if f.get("anomalous") and not f.get("side_effect_of") and not f.get("small") and not f.get("improved")]
    return answer["decision"], worse


def named(function, truth):
    name = function["name"].split("(")[0].split("[")[0].split("::")[-1]
    return name in truth.split()


def table(assay, directory, truth, model):
    programs = {row["program"]: row["arguments"].split() for row in truth}
    found = first = kind = 0
    rows = []
    for row in truth:
        decision, worse = judge(assay, directory, row["program"], "fault" + row["fault"], model)
        hit = decision == "regression"
        right = bool(worse) and named(worse[0], row["functions"])
        kinds = right and {worse[0].get("kind"), *worse[0].get("further_kinds", [])} & set(row["kinds"].split())
        found, first, kind = found + hit, first + right, kind + bool(kinds)
        says = "; ".join(f"{f['name'].split('(')[0][:40]}: {f.get('kind')}" for f in worse[:3])
        rows.append(f"| {row['program']} | {row['about']} | {row['functions']} | {decision} | {says} | {'yes' if right else '**no**'} | {'yes' if kinds else '**no**'} |")
    print(f"## {model}\n\n| | |\n| --- | --- |")
    print(f"| faults found | {found} of {len(truth)} |\n| the function that has it leads | {first} of {len(truth)} |\n| and its kind is right | {kind} of {len(truth)} |")
    for variant in ("again", "shifted", "tidy"):
        called = {p: judge(assay, directory, p, variant, model) for p in programs}
        bad = [f"{p} ({d}{': ' + w[0]['name'].split('(')[0] if w else ''})" for p, (d, w) in called.items() if d != "pass"]
        print(f"| {variant}: not `pass` | {len(bad)} of {len(programs)}{': ' + ', '.join(bad) if bad else ''} |")
    print("\n| program | fault | in | decision | what leads | right | kind |\n| --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows) + "\n")


def native_times(directory, program, arguments):
    """Of each variant, in turns, each round in another order."""
    kept = f"{directory}/{program}.times"
    if os.path.exists(kept):
        with open(kept) as file:
            return json.load(file)
    compiler, source = compiler_of(program)
    took = {"old": [], "again": [], "tidy": []}
    for variant in took:
        subprocess.run([*compiler, *VARIANTS[variant], source, "-o", f"{directory}/{program}.{variant}.native", "-pthread", "-lm"], check=True)
    rng = random.Random(program)
    for _ in range(ROUNDS):
        for variant in rng.sample(list(took), len(took)):
            process = subprocess.Popen([f"{directory}/{program}.{variant}.native", *arguments], stdout=subprocess.DEVNULL)
            usage = os.wait4(process.pid, 0)[2]
            took[variant].append(1000 * (usage.ru_utime + usage.ru_stime))
    with open(kept, "w") as file:
        json.dump(took, file)
    return took


def native(directory, truth):
    """Is the refactoring slower without the emulation? With more to do; the same build once more says what chance does."""
    print(f"## Natively\n\nProcessor time, median of {ROUNDS} runs in turns, first argument {FACTOR} times as large (of `matrix` {MATRIX} times); `again` and `tidy` "
          "beside the first build.\n\n| program | ms | again | tidy |\n| --- | --- | --- | --- |")
    for program, arguments in {row["program"]: row["arguments"].split() for row in truth}.items():
        took = native_times(directory, program, [str(int(arguments[0]) * (MATRIX if program == "matrix" else FACTOR)), *arguments[1:], "1"])
        old, again, tidy = (statistics.median(times) for times in took.values())
        print(f"| {program} | {old:.3g} | {again / old:.3f} | {tidy / old:.3f} |")


def main():
    assay, directory = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    with open(f"{APPS}/truth.csv", newline="") as file:
        truth = list(csv.DictReader(file))
    os.makedirs(directory, exist_ok=True)
    what = sys.argv[4:] or ["autoencoder", "native"]
    for program, arguments in {row["program"]: row["arguments"].split() for row in truth}.items():
        if what == ["native"]:
            break
        print(f"evidence: {program}", file=sys.stderr)
        build(assay, directory, program)
        record(directory, program, arguments, runs)
    for model in what:
        if model == "native":
            native(directory, truth)
        else:
            table(assay, directory, truth, model)


main()
