"""cost_slices.py PROGRAM ASSAY BENCH SOURCES WORK ROWS: a Markdown row a price on what slices of PROGRAM count, and for how little.

PROGRAM is built with pieces that can be left out. `assay build --for features --slice` looks for what two drawn inputs can do without where those counts
are wanted that the model of all inputs has terms of, as BENCH (bench_cost) says; what is left is built and runs the first COMPARED inputs of
ROWS (cost_programs.py): its counts are compared with those of whole runs, its processor time with that of the program as it is, which runs
before and after it. BENCH says how far models err with what is known before a run, without the slice's counts and with those that were right
in all inputs. What was measured is kept in WORK/PROGRAM.slices, input by input."""
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys

from cost_programs import PROGRAMS, built, counts, drawn, seconds

PRICES, EXAMPLES, COMPARED = (.05, .25), 2, 60


def build(program, name, sources, work, directory, count):
    """Sources of sqlite3 are made once, which takes minutes."""
    made = os.path.join(work, name + ".plain")
    if name == "sqlite3" and not os.path.exists(directory):
        shutil.copytree(made, directory, symlinks=True)
        os.remove(os.path.join(directory, program.binary))
        with open(directory + ".log", "wb") as log:
            if subprocess.run(["sh", "-c", program.build], cwd=directory, env=os.environ | {"COUNT": count}, stdout=log, stderr=log, check=False).returncode:
                sys.exit(f"{directory} was not built: {directory}.log")
    return built(program, sources, directory, count)


def rows_of(path):
    with open(path, encoding="utf-8") as source:
        lines = [line.rstrip("\n").split("\t") for line in source]
    return lines[0], [[float(x) for x in line] for line in lines[1:]]


def slice_of(assay, pieces, inputs, wanted, directory, price):
    """What it says of the features, and the file of what is left out."""
    without, said = f"{directory}/{price}.without", f"{directory}/{price}.json"
    if not os.path.exists(said):
        commands, only = f"{directory}/commands", f"{directory}/wanted"
        with open(commands, "w", encoding="utf-8") as out:
            for words in inputs:
                out.write(" ".join("'" + word.replace("'", "'\\''") + "'" for word in [pieces, *words]) + "\n")
        with open(only, "w", encoding="utf-8") as out:
            out.write("".join(name + "\n" for name in sorted(wanted)))
        done = subprocess.run([assay, "features", "slice", commands, "--only", only, "--price", str(price), "-o", without, "--format", "json"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        with open(said + ".new", "w", encoding="utf-8") as out:
            out.write(done.stdout)
        os.rename(said + ".new", said)
    with open(said, encoding="utf-8") as source:
        return json.load(source), without


def compare(assay, plain, sliced, inputs, names, rows, directory, price):
    """Of each name whether the slice has it right in all inputs, and its processor times as parts of the whole run's."""
    kept = f"{directory}/{price}.runs.csv"
    done = read(kept)
    for words, row in list(zip(inputs, rows))[len(done):]:
        before = seconds([plain, *words])
        part = ["timeout", "20", sliced, *words]  # what is left of a program may go wrong, or on: then its counts say so
        here = counts(assay, part, f"{directory}/features", well=False)
        took = seconds(part, well=False)
        after = seconds([plain, *words])
        with open(kept, "a", encoding="utf-8", newline="") as out:
            csv.writer(out).writerow([took / ((before + after) / 2)] + [name for name, value in zip(names, row) if " " in name and float(here.get(name, 0)) != value])
    done = read(kept)
    return {name for line in done for name in line[1:]}, [float(line[0]) for line in done]


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as source:
        return list(csv.reader(source))


def error(bench, names, rows, columns, path):
    """Of models of 300 inputs with these columns."""
    with open(path, "w", encoding="utf-8") as out:
        for row in [names, *rows]:
            out.write("\t".join(str(value) for name, value in zip(names, row) if name in columns) + "\n")
    said = subprocess.run([bench, path, "errors"], capture_output=True, text=True, check=True).stdout.splitlines()[-1].split("|")
    return said[3].strip(), said[5].strip()  # known before, default


def main():
    name, assay, bench, sources, work, table = sys.argv[1:7]
    program, directory = PROGRAMS[name], os.path.join(work, name + ".slices")
    os.makedirs(directory, exist_ok=True)
    names, rows = rows_of(table)
    drawings = os.path.join(work, name + ".inputs")
    os.makedirs(drawings, exist_ok=True)
    inputs = [drawn(program, name, drawings, i)[0] for i in range(COMPARED)]
    plain = built(program, sources, os.path.join(work, name + ".plain"), "")
    pieces = build(program, name, sources, work, directory + "/pieces", f"{assay} build --for features --pieces --")
    cheap = sorted(range(COMPARED), key=lambda i: rows[i][0])[:COMPARED // 4]
    examples = [inputs[i] for i in sorted(cheap)[:EXAMPLES]]  # runs of the cheaper quarter, drawn
    wanted = set(subprocess.run([bench, table, "selected"], capture_output=True, text=True, check=True).stdout.splitlines())
    free = [column for column in names if " " not in column]
    known, all_of_them = error(bench, names, rows, set(names), f"{directory}/rows")
    for price in PRICES:
        said, without = slice_of(assay, pieces, examples, wanted, directory, price)
        found = {one["feature"] for one in said["features"] if one["sliced"]}
        head = f"| {name} | {100 * price:.0f} % | {said['pieces']} | {said['runs']} | {len(wanted)} | {len(found)} |"
        if not found:
            least = min(one["alone"] for one in said["features"])
            print(f"{head} - | - | {100 * least:.0f} % at least | - | {known} | - | {all_of_them} |", flush=True)
            continue
        sliced = build(program, name, sources, work, f"{directory}/{price}", f"{assay} build --for features --without {without} --")
        wrong, parts = compare(assay, plain, sliced, inputs, names, rows[:COMPARED], directory, price)
        right = found - wrong
        cheaply = error(bench, names, rows, set(free) | right, f"{directory}/rows")[1] if right else known
        low, middle, high = (statistics.quantiles(parts, n=20)[k] for k in (0, 9, 18))
        print(f"{head} {len(right)} | {len(found & wrong)} | {100 * middle:.1f} % | {100 * low:.1f} to {100 * high:.1f} % | {known} | {cheaply} | {all_of_them} |", flush=True)


main()
