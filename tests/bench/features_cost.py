"""features_cost.py packages: prints the packages that the programs are of.
features_cost.py build|time|few ASSAY SOURCES WORK SAMPLES ROUNDS: what counting costs programs of Debian.

build builds each program three times from its sources in SOURCES/PACKAGE, as it is, to count, and to count with values, and makes its
input; what is there is kept. time runs all of them in turns, ROUNDS times, from memory, and writes their processor times to SAMPLES (CSV); rounds that were
ended before are in WORK/times.csv, and are not run again. It prints the table of the page. Counts are kept in memory, too, as `assay record --for features` has them kept.

few runs LEARNED drawn inputs (cost_programs.py) by the plain and the counting build, has `assay cost train --selected` say what the model needs, builds what counts that, and runs the three
in turns, ROUNDS times (0: they are built alone); what is in WORK is neither chosen nor measured again."""
import concurrent.futures
import csv
import json
import math
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

import cost_programs

BUILDS = {"plain": "", "counting": "build --for features --", "values": "build --for features --values --"}
LIMITS = {"counting": 1.15, "values": 2.0}
FEW = ("bzip2", "lz4", "sqlite3")
INPUTS, LEARNED = 360, 60
WORK = """#!/bin/sh
# work.sh PROGRAM WORDS FILE: starts PROGRAM with the arguments in WORDS, one per line; @FILE@ in them is FILE.
program=$1 words=$2 file=$3
set --
while IFS= read -r word; do
	case $word in *@FILE@*) word=${word%%@FILE@*}$file${word##*@FILE@} ;; esac
	set -- "$@" "$word"
done <"$words"
exec "$program" "$@"
"""


def text_of(path, n):
    draw = random.Random(path.rsplit("/", 1)[1])
    with open(path, "w", encoding="ascii") as out:
        out.write(" ".join(cost_programs.words_of(draw, n)))


def rows(path, n):
    """Rows of a table, groups of one, a join, an index, updates."""
    draw = random.Random("sqlite3")
    with open(path, "w", encoding="ascii") as out:
        out.write("CREATE TABLE a (x INTEGER, y INTEGER, z TEXT); CREATE TABLE b (x INTEGER PRIMARY KEY, w TEXT);\nBEGIN;\n")
        out.writelines(f"INSERT INTO a VALUES ({draw.randrange(2000)}, {i % 100}, 'row {i} {draw.getrandbits(40):x}');\n" for i in range(n))
        out.writelines(f"INSERT INTO b VALUES ({i}, 'name {i}');\n" for i in range(2000))
        out.write("COMMIT;\nCREATE INDEX i ON a (y);\nSELECT y, count(*), sum(x) FROM a GROUP BY y;\nSELECT count(*) FROM a JOIN b USING (x) WHERE w LIKE '%7%';\n"
                  "UPDATE a SET y = y + 1 WHERE x % 5 = 1;\nSELECT count(*) FROM a WHERE z LIKE '%1f%';\n")


def objects(path, n):
    draw = random.Random("objects")
    with open(path, "w", encoding="ascii") as out:
        out.write("[" + ",".join(f'{{"k0": {draw.randrange(1000)}, "name{draw.randrange(10000)}": ["{"y" * draw.randint(1, 40)}", {draw.random()}, {{"a": true}}]}}'
                                 for _ in range(n)) + "]")


# What makes its input of so many words, rows or objects, and its arguments.
PROGRAMS = {
    "bzip2": (text_of, 1_500_000, lambda path: ["-9", "-c", path]),
    "lz4": (text_of, 5_000_000, lambda path: ["-9", "-c", path]),
    "zstd": (text_of, 2_500_000, lambda path: ["-9", "-c", path]),
    "sqlite3": (rows, 250_000, lambda path: [":memory:", f".read {path}"]),
    "jq": (objects, 40_000, lambda path: ["[.[] | .k0] | sort | reverse | map(. * 3) | add", path]),
    "jsoncpp": (objects, 40_000, lambda path: [path]),
}
ALL = cost_programs.PROGRAMS | {"zstd": cost_programs.Program("libzstd", "$COUNT make -s -C programs CFLAGS=-O3 HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 zstd", "programs/zstd", None)}


def built(name, how, assay, sources, work, words=None):
    words = BUILDS[how] if words is None else words
    return cost_programs.built(ALL[name], sources, os.path.join(work, f"{name}.{how}"), f"{assay} {words}" if words else "")


def all_of(name, assay, sources, work):
    """The binaries by build, and the input."""
    make, n, _ = PROGRAMS[name]
    path = os.path.join(work, name + ".input")
    if not os.path.exists(path):
        make(path + ".new", n)
        os.rename(path + ".new", path)
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        return dict(zip(BUILDS, two.map(lambda how: built(name, how, assay, sources, work), BUILDS))), path


def round_of(name, binaries, path, k):
    """Seconds by build, in an order that turns."""
    order, row = list(binaries), {}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        arguments = PROGRAMS[name][2](shutil.copy(path, os.path.join(memory, "input.json")))  # jsoncpp's program takes no file of another ending
        for how in order[k % len(order):] + order[:k % len(order)]:
            os.environ["ASSAY_FEATURES_DIRECTORY"] = counts = tempfile.mkdtemp(dir=memory)
            row[how] = cost_programs.seconds([binaries[how], *arguments])
            shutil.rmtree(counts)
    return row


def samples_of(programs, path, rounds):
    """Rounds by program, those of PATH among them; each new one is added to it when it has ended."""
    kept = {(row["program"], int(row["round"])): {how: row[how] for how in BUILDS} for row in cost_programs.read_text(path)}
    with open(path, "a", encoding="ascii", newline="") as out:
        write = csv.writer(out, lineterminator="\n")
        if not kept and not out.tell():
            write.writerow(["program", "round", *BUILDS])
        for k in range(rounds):
            for name in programs:
                if (name, k + 1) not in kept:
                    row = round_of(name, *programs[name], k)
                    kept[name, k + 1] = row
                    write.writerow([name, k + 1, *(f"{row[how]:.6f}" for how in BUILDS)])
                    out.flush()
    return {name: [{how: float(seconds) for how, seconds in kept[name, k + 1].items()} for k in range(rounds)] for name in programs}


def named(i):
    """Returns the name of an input. jsoncpp's program takes no file of another ending."""
    return f"i{i:03}.json"


def learned_of(name):
    """Returns the numbers of the inputs that a model learns from."""
    return sorted(random.Random(f"worst {name}").sample(range(INPUTS), LEARNED))


def laboratory(assay, name, versions, inputs, lab, work):
    """Makes a laboratory with these drawn inputs and these binaries by version."""
    apps, drawings = os.path.join(lab, "apps"), os.path.join(work, name + ".inputs")
    shutil.rmtree(lab, ignore_errors=True)
    subprocess.run([assay, "init", lab], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(lab, "lab.yaml"), "a", encoding="ascii") as out:
        out.write("hosts:\n  - { name: here, transport: local }\n")
    for directory in ("bin", "data", "words"):
        os.makedirs(os.path.join(apps, directory))
    for version, binary in versions.items():
        shutil.copy(binary, os.path.join(apps, "bin", version))
    with open(os.path.join(apps, "bin", "work.sh"), "w", encoding="ascii") as out:
        out.write(WORK)
    os.chmod(os.path.join(apps, "bin", "work.sh"), 0o755)
    os.makedirs(drawings, exist_ok=True)
    for i in inputs:
        words, _ = cost_programs.drawn(cost_programs.PROGRAMS[name], name, drawings, i)
        path = os.path.join(drawings, f"{i:03}.json")
        shutil.copy(path, os.path.join(apps, "data", named(i)))
        with open(os.path.join(apps, "words", named(i)), "w", encoding="utf-8") as out:
            out.write("".join(word.replace(path, "@FILE@") + "\n" for word in words))
    with open(os.path.join(apps, name + ".yaml"), "w", encoding="ascii") as out:
        out.write("files: [bin, words]\ninputs_of: data\ncommand: ['{files}/bin/work.sh', '{files}/bin/{version}', '{files}/words/{input}', '{files}/data/{input}']\n")
        out.write("versions: { " + ": , ".join(versions) + ": }\nrepetitions: 1\nwarm_ups: 0\nsampling: off\n")


def run(assay, lab, name, inputs):
    """Runs all of them by all versions. A machine that is busy for long may end a run early: it is resumed."""
    words = [assay, "-C", lab, "run", name, "--inputs", ",".join(inputs), "--quiet"]
    for _ in range(5):
        if subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            break
        words += ["--resume"] * ("--resume" not in words)
    with sqlite3.connect(os.path.join(lab, ".assay", "runs.db")) as db:
        ran = {row[0] for row in db.execute("SELECT input FROM execution WHERE outcome = 'ok'")}
        if set(inputs) - ran:
            sys.exit(f"{name} was not run with {sorted(set(inputs) - ran)}: {db.execute('SELECT err FROM execution ORDER BY taken_ms DESC').fetchone()}")


def output_of(words):
    """Returns the standard output of a command. Exits with its error if the command fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def few(name, assay, sources, work, rounds):
    """A row of the table."""
    versions = {how: built(name, how, assay, sources, work) for how in ("plain", "counting")}
    lab, learned, kept = os.path.join(work, name + ".lab"), learned_of(name), os.path.join(work, name + ".few.json")
    names = os.path.join(work, name + ".names")
    if not os.path.exists(kept):
        laboratory(assay, name, versions, learned, lab, work)
        run(assay, lab, name, [named(i) for i in learned])
        text = output_of([assay, "-C", lab, "cost", "train", f"{name}@plain", "--counts", "counting", "--selected", names,
                          "--format", "json", "--max-error", "100"])
        shutil.rmtree(os.path.join(work, f"{name}.few"), ignore_errors=True)
        with open(kept, "w", encoding="utf-8") as out:
            out.write(text)
    with open(kept, encoding="utf-8") as text:
        said = json.load(text)
    versions["few"] = built(name, "few", assay, sources, work, f"build --for features --only {names} --")
    if not rounds:
        return ""
    times = {how: [0.0] * rounds for how in versions}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        for i in learned:
            words, _ = cost_programs.drawn(cost_programs.PROGRAMS[name], name, os.path.join(work, name + ".inputs"), i)
            path = os.path.join(work, name + ".inputs", f"{i:03}.json")
            words = [word.replace(path, shutil.copy(path, memory)) for word in words]
            for k in range(rounds):
                for how in sorted(versions, key=lambda how, k=k: (list(versions).index(how) + k) % len(versions)):
                    os.environ["ASSAY_FEATURES_DIRECTORY"] = counts = tempfile.mkdtemp(dir=memory)
                    times[how][k] += cost_programs.seconds([versions[how], *words])
                    shutil.rmtree(counts)
    with open(names, encoding="utf-8") as text:
        needed = len(text.readlines())
    parts = {how: f"{100 * (statistics.median(a / b for a, b in zip(times[how], times['plain'])) - 1):.1f} %" for how in ("counting", "few")}
    return f"| {name} | {needed} | {100 * said['error']:.1f} % | {parts['counting']} | **{parts['few']}** |"


def table(samples):
    """Medians, and those of ratios of a round; the geometric means of these."""
    print("| program | plain | counting | | with values | |\n| --- | --- | --- | --- | --- | --- |")
    means = {how: [] for how in LIMITS}
    for name, rounds in samples.items():
        cells = [f"{statistics.median(row['plain'] for row in rounds):.3f} s"]
        for how, ratios in means.items():
            ratios.append(statistics.median(row[how] / row["plain"] for row in rounds))
            cells += [f"{statistics.median(row[how] for row in rounds):.3f} s", f"{ratios[-1]:.3f}"]
        print(f"| {name} |", " | ".join(cells), "|")
    cells = [f"| | **{math.exp(statistics.mean(math.log(x) for x in ratios)):.3f}** (at most {LIMITS[how]:g})" for how, ratios in means.items()]
    print("| geometric mean |", *cells, "|")


def main():
    if sys.argv[1] == "packages":
        print(*(ALL[name].package for name in PROGRAMS))
        return
    what, assay, sources, work, path, rounds = *sys.argv[1:6], int(sys.argv[6])
    if what == "few":
        for name in FEW:
            row = os.path.join(work, name + ".few.row")
            if not os.path.exists(row):
                text = few(name, assay, sources, work, rounds)
                if not rounds:
                    continue
                with open(row, "w", encoding="utf-8") as out:
                    out.write(text + "\n")
            with open(row, encoding="utf-8") as measured:
                print(measured.read(), end="", flush=True)
        return
    programs = {name: all_of(name, assay, sources, work) for name in PROGRAMS}
    if what == "build":
        return
    kept = os.path.join(work, "times.csv")
    samples = samples_of(programs, kept, rounds)
    shutil.copy(kept, path)
    table(samples)


if __name__ == "__main__":
    main()
