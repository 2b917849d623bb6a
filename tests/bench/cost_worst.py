"""cost_worst.py PROGRAM ASSAY SOURCES WORK SAMPLES: a Markdown row on what `cost worst` finds of inputs that were drawn before (cost_programs.py).

PROGRAM runs LEARNED drawn inputs in a laboratory whose manifest has all of them, with what they were drawn by. Of the others `cost worst` lists those that should
cost most for each byte; the first SHOWN of all are run, and compared with what SAMPLES (CSV, of cost.sh) has of every one."""
import csv
import itertools
import json
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys

from cost_programs import PROGRAMS, built, drawn, read

INPUTS, LEARNED, SHOWN = 360, 60, 10
BYTES = 400 << 20  # of all inputs of a program: a version has files of at most 512 MiB
WORK = """#!/bin/sh
# work.sh PROGRAM WORDS FILE: its words, a line each, in which @ stands for the file
program=$1 words=$2 file=$3
set --
while IFS= read -r word; do
	case $word in *@FILE@*) word=${word%%@FILE@*}$file${word##*@FILE@} ;; esac
	set -- "$@" "$word"
done <"$words"
exec "$program" "$@"
"""


def named(i):
    """An input; jsoncpp's program takes no file of another ending."""
    return f"i{i:03}.json"


def laboratory(assay, program, name, versions, inputs, known, lab, work):
    """A laboratory with these drawn inputs, what they were drawn by in their environment or not, and these binaries by version; one that is there already stays as it is."""
    apps, drawings = os.path.join(lab, "apps"), os.path.join(work, name + ".inputs")
    if os.path.exists(os.path.join(lab, "done")):
        return lab
    shutil.rmtree(lab, ignore_errors=True)
    subprocess.run([assay, "init", lab], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(lab, "lab.yaml"), "a", encoding="ascii") as out:
        out.write("hosts:\n  - { name: here, transport: local }\n")
    for directory in ("bin", "data", "words"):
        os.makedirs(os.path.join(apps, directory))
    listed = []
    for version, binary in versions.items():
        shutil.copy(binary, os.path.join(apps, "bin", version))
    with open(os.path.join(apps, "bin", "work.sh"), "w", encoding="ascii") as out:
        out.write(WORK)
    os.chmod(os.path.join(apps, "bin", "work.sh"), 0o755)
    os.makedirs(drawings, exist_ok=True)
    for i in inputs:
        words, drawn_by = drawn(program, name, drawings, i)
        path = os.path.join(drawings, f"{i:03}.json")
        shutil.copy(path, os.path.join(apps, "data", named(i)))
        with open(os.path.join(apps, "words", named(i)), "w", encoding="utf-8") as out:
            out.write("".join(word.replace(path, "@FILE@") + "\n" for word in words))
        variables = ", ".join(f"{key.upper()}: '{value}'" for key, value in drawn_by.items() if key != "bytes")
        listed.append(f"  {named(i)}: {{ arguments: ['{{files}}/words/{named(i)}', '{{files}}/data/{named(i)}'], environment: {{ {variables} }} }}\n")
    with open(os.path.join(apps, name + ".yaml"), "w", encoding="ascii") as out:
        command = "'{files}/bin/work.sh', '{files}/bin/{version}'"
        if known:
            out.write(f"files: [bin, words, data]\ncommand: [{command}]\ninputs:\n" + "".join(listed))
        else:
            out.write(f"files: [bin, words]\ninputs_of: data\ncommand: [{command}, '{{files}}/words/{{input}}', '{{files}}/data/{{input}}']\n")
        out.write("versions: { " + ": , ".join(versions) + ": }\nrepetitions: 1\nwarm_ups: 0\nsampling: off\n")
    return lab


def learned_of(name, inputs=range(INPUTS)):
    return sorted(random.Random(f"worst {name}").sample(inputs, LEARNED))


def fitting(sizes):
    """The first inputs: as many as a manifest may have."""
    return range(sum(total <= BYTES for total in itertools.accumulate(sizes)))


def said_of(words, ok=(0,)):
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    if said.returncode not in ok:
        sys.exit(f"{' '.join(words)}: {said.returncode}: {said.stderr[-2000:]}")
    return said


def run(program, lab, name, inputs):
    """All of them, by all versions; what failed is said."""
    words = [program, "-C", lab, "run", name, "--inputs", ",".join(inputs), "--quiet"]
    for _ in range(5):
        if subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            break
        words += ["--resume"] * ("--resume" not in words)  # a machine that was busy for long
    with sqlite3.connect(os.path.join(lab, ".assay", "runs.db")) as db:
        ran = {row[0] for row in db.execute("SELECT input FROM execution WHERE outcome = 'ok'")}
        if set(inputs) - ran:
            sys.exit(f"{name} was not run with {sorted(set(inputs) - ran)}: {db.execute('SELECT err FROM execution ORDER BY taken_ms DESC').fetchone()}")


def main():
    name, program, sources, work, samples = sys.argv[1:6]
    plain = built(PROGRAMS[name], sources, os.path.join(work, name + ".plain"), "")
    rows = read(samples)
    inputs = fitting(row["bytes"] for row in rows)
    lab = laboratory(program, PROGRAMS[name], name, {"plain": plain}, inputs, True, os.path.join(work, name + ".worst"), work)
    done, learned = os.path.join(lab, "done"), [named(i) for i in learned_of(name, inputs)]
    if not os.path.exists(done):
        run(program, lab, name, learned)
        with open(done, "w", encoding="ascii"):
            pass
    trained = json.loads(said_of([program, "-C", lab, "cost", "train", name, "--format", "json"], (0, 4)).stdout)
    ask = [program, "-C", lab, "cost", "worst", name, "--shown", str(INPUTS), "--format", "json"]
    said = said_of(ask, (0, 6))
    refused = said.returncode != 0
    if refused:
        said = said_of([*ask, "--max-error", "100"])
    worst, answer = json.loads(said.stdout)["worst"], json.loads(said.stdout)
    cost = {named(i): min(row[f"seconds {k + 1}"] for k in range(3)) for i, row in enumerate(rows)}
    size = {named(i): row["bytes"] for i, row in enumerate(rows)}
    # Both start the program differently, which costs the same of every input: what every run costs is by each of them.
    floor = trained["intercept"]
    measured = {key: (cost[key] - floor) / size[key] for key in (one["input"] for one in worst)}
    order = sorted(measured, key=measured.get, reverse=True)
    first = [one["input"] for one in worst[:SHOWN]]
    run(program, lab, name, first)
    with sqlite3.connect(os.path.join(lab, ".assay", "runs.db")) as db:
        now = {key: 1e-6 * us for key, us in db.execute("SELECT input, min(user_us + sys_us) FROM execution WHERE outcome = 'ok' GROUP BY input")}
    expected = [one["expected"] for one in worst[:SHOWN]]
    off = statistics.mean(abs(value / now[key] - 1) for key, value in zip(first, expected))
    found = [(now[key] - floor) / size[key] for key in first]
    usual = statistics.median(measured.values())
    best_of_learned = max((measured[key] for key in learned if key in measured), default=float("nan"))
    print(f"| {name} | {100 * trained['error']:.1f} %{' (refused)' if refused else ''} | {answer['inputs']} | {answer['small'] + answer['unknown'] + answer['empty']} | {worst[0]['times']:.2f} | {found[0] / usual:.2f} | {max(found) / usual:.2f} "
          f"| {measured[order[0]] / usual:.2f} | {best_of_learned / usual:.2f} | {order.index(first[0]) + 1} | {len(set(first) & set(order[:SHOWN]))} of {min(SHOWN, len(order))} | {100 * off:.1f} % |")
    with open(os.path.join(work, name + ".worst.csv"), "w", encoding="ascii", newline="") as out:
        write = csv.writer(out)
        for one in worst[:SHOWN]:
            write.writerow((name, one["input"], f"{one['bytes']:.0f}", f"{one['expected']:.6f}", f"{now[one['input']]:.6f}", f"{cost[one['input']]:.6f}",
                            order.index(one["input"]) + 1, "learned" if one["input"] in learned else "not run"))


if __name__ == "__main__":
    main()
