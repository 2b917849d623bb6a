"""cost_lines.py PROGRAM ASSAY SOURCES WORK LOOPS: a Markdown row on how often `gate --method cost` names the loop that became dearer.

PROGRAM of cost_programs.py is built as it is, to count, and LOOPS times with a drawn loop in the sources made dearer: at the beginning of its
body a register is counted down, so often that all inputs together cost 10 % more; so often is measured, and loops in which 5 to 15 % cannot be had
are drawn again. The baseline runs LEARNED drawn inputs, and each candidate OTHERS, which the baseline never runs, once each with
`assay run`. What was decided is in WORK/PROGRAM.lines.csv."""
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys

from cost_programs import PROGRAMS, built, counts, seconds

LEARNED, OTHERS, LEAST, MORE = 60, 30, .02, .1
NS_EACH = .4  # of the countdown; corrected by measuring


def wrapped(work):
    """The environment of builds with debug information, whatever their options."""
    directory = os.path.join(work, "wrapped")
    os.makedirs(directory, exist_ok=True)
    for name, real in (("gcc", "gcc"), ("cc", "gcc"), ("g++", "g++"), ("c++", "g++")):
        path = os.path.join(directory, name)
        with open(path, "w", encoding="ascii") as out:
            out.write(f'#!/bin/sh\nexec {shutil.which(real, path="/usr/bin")} "$@" -g\n')
        os.chmod(path, 0o755)
    return directory + ":" + os.environ["PATH"]


def build(program, sources, directory, path, edit=None):
    """The binary, built anew; NULL: it does not compile."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(os.path.join(sources, program.package), directory, symlinks=True)
    if edit:
        edit(directory)
    with open(directory + ".log", "wb") as log:
        failed = subprocess.run(["sh", "-c", program.build], cwd=directory, env=os.environ | {"COUNT": "", "PATH": path}, stdout=log, stderr=log,
                                check=False).returncode
    return None if failed else os.path.join(directory, program.binary)


def body_of(text, line):
    """Where the body in braces of the loop begins whose test is in this line; None: it has none, or it is no plain `for` or `while`."""
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    heads = [m for m in re.finditer(r"\b(for|while)\s*\(", text[:starts[line] if line < len(starts) else len(text)])]
    if not heads or heads[-1].end() < starts[max(0, line - 2)]:
        return None
    at, depth = heads[-1].end(), 1
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    m = re.compile(r"\s*\{").match(text, at)
    return m.end() if m and at >= starts[line - 1] else None


def find(directory, name):
    found = [os.path.join(where, name) for where, _, files in os.walk(directory) if name in files]
    return found[0] if len(found) == 1 else None


def plant(loop, times):
    """An edit that makes each round of the loop so much dearer."""
    file, line = loop.split(" ")[1].rsplit(":", 1)

    def edit(directory):
        path = find(directory, file)
        with open(path, encoding="utf-8", errors="surrogateescape") as source:
            text = source.read()
        at = body_of(text, int(line))
        countdown = f' __asm__ volatile("mov $%c0, %%ecx\\n9:\\tdec %%ecx\\n\\tjnz 9b" : : "i"({times}) : "ecx", "cc");'
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write(text[:at] + countdown + text[at:])
    return edit


def can_plant(loop, sources):
    file, line = loop.split(" ")[1].rsplit(":", 1)
    path = find(sources, file)
    if not path:
        return False
    with open(path, encoding="utf-8", errors="surrogateescape") as source:
        return body_of(source.read(), int(line)) is not None


def laboratory(assay, lab, name, versions, inputs):
    """A laboratory of this machine with an application of these versions; inputs: words of each."""
    subprocess.run([assay, "init", lab], stdout=subprocess.DEVNULL, check=True)
    with open(os.path.join(lab, "lab.yaml"), "a", encoding="ascii") as out:
        out.write("hosts:\n  - { name: here, transport: local }\n")
    with open(os.path.join(lab, "apps", name + ".yaml"), "w", encoding="ascii") as out:
        out.write("files: [data]\ncommand: ['{build}/program', '{arguments}']\nrepetitions: 1\nwarm_ups: 0\ninputs:\n")
        for i, words in enumerate(inputs):
            out.write(f"  i{i:03}: {{ arguments: {json.dumps(words)} }}\n")
        out.write("versions:\n" + "".join(f"  {version}: {{ directory: {version} }}\n" for version in versions))


def put(lab, version, binary):
    directory = os.path.join(lab, "apps", version)
    os.makedirs(directory, exist_ok=True)
    shutil.copy(binary, os.path.join(directory, "program"))


def run(assay, lab, name, version, inputs):
    words = [assay, "-C", lab, "run", name, "--versions", version, "--inputs", ",".join(f"i{i:03}" for i in inputs), "--quiet"]
    if subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode:  # a machine that was busy for long
        subprocess.run(words + ["--resume"], stdout=subprocess.DEVNULL, check=True)


def gate(assay, lab, name, version):
    said = subprocess.run([assay, "-C", lab, "gate", f"{name}@old", f"{name}@{version}", "--method", "cost", "--counts", "counts", "--format", "json"],
                          capture_output=True, text=True, check=False)
    if not said.stdout:
        sys.exit(said.stderr)
    return json.loads(said.stdout)


def dearer(program, sources, work, path, loop, some, words, rounds, spent):
    """A build in which the loop takes 5 to 15 % of all, and how much it takes; None: there is none."""
    times = max(1, round(MORE * spent / rounds / (NS_EACH * 1e-9)))
    for _ in range(3):
        binary = build(program, sources, os.path.join(work, "new"), path, plant(loop, times))
        if not binary:
            return None
        least = [[min(seconds([b, *words[i]]) for _ in range(3)) for i in some] for b in (os.path.join(work, "old.program"), binary)]
        more = sum(least[1]) / sum(least[0]) - 1
        if .05 < more < .15:
            return binary, more
        times = max(1, round(times * min(8, max(.125, MORE / max(more, .01)))))
    return None


def main():
    name, assay, sources, work, loops = *sys.argv[1:5], int(sys.argv[5])
    program, lab, path = PROGRAMS[name], os.path.join(sys.argv[4], name + ".lab"), wrapped(sys.argv[4])
    shutil.rmtree(lab, ignore_errors=True)
    data = os.path.join(lab, "apps", "data")
    versions = ["counts", "old", "same"] + [f"new{k}" for k in range(loops)]
    inputs, words = range(LEARNED + OTHERS), []
    os.makedirs(work, exist_ok=True)
    laboratory(assay, lab, name, versions, [])
    os.makedirs(data)
    for i in inputs:
        drawn, _ = program.draw(random.Random(f"{name} {i}"), os.path.join(data, f"i{i:03}"))
        words.append(drawn)
    shutil.rmtree(lab + ".kept", ignore_errors=True)
    os.rename(data, lab + ".kept")
    shutil.rmtree(lab)
    laboratory(assay, lab, name, versions, [[word.replace(data, "{files}/data") for word in drawn] for drawn in words])
    os.rename(lab + ".kept", data)
    counting = built(program, sources, os.path.join(work, name + ".counting"), f"{assay} features build --")
    old = build(program, sources, os.path.join(work, "old"), path)
    shutil.copy(old, os.path.join(work, "old.program"))
    for version, binary in (("counts", counting), ("old", old), ("same", old)):
        put(lab, version, binary)
    for version in versions[3:]:
        os.makedirs(os.path.join(lab, "apps", version))
    run(assay, lab, name, "counts", inputs)
    run(assay, lab, name, "old", inputs[:LEARNED])
    run(assay, lab, name, "same", inputs[LEARNED:])
    some = [LEARNED + i for i in range(0, OTHERS, 5)]
    spent = sum(min(seconds([old, *words[i]]) for _ in range(3)) for i in some)
    counted = [counts(assay, [counting, *words[i]], os.path.join(work, "features")) for i in some]
    rounds = {}
    for row in counted:
        for feature, number in row.items():
            rounds[feature] = rounds.get(feature, 0) + float(number)
    may = sorted(feature for feature in rounds if feature.startswith("loop ") and rounds[feature] > LEAST * sum(rounds.values())
                 and can_plant(feature, os.path.join(sources, program.package)))
    drawn, said, tried = random.Random(name), [], 0
    order = [feature for _ in range(loops) for feature in drawn.sample(may, len(may))]
    refused = set()
    same = gate(assay, lab, name, "same")
    with open(os.path.join(work, name + ".lines.csv"), "w", encoding="ascii", newline="") as out:
        table = csv.writer(out)
        table.writerow(("loop", "dearer", "decision", "ratio", "named_function", "named_loop", "named_line", "first_suspect"))
        for loop in order:
            if len(said) == loops or loop in refused:
                continue
            made = dearer(program, sources, work, path, loop, some, words, rounds[loop], spent)
            tried += 1
            if not made:
                refused.add(loop)
                continue
            version = f"new{len(said)}"
            put(lab, version, made[0])
            run(assay, lab, name, version, inputs[LEARNED:])
            answer = gate(assay, lab, name, version)
            where = (answer.get("slower_at") or [{"function": "", "loop": "", "line": ""}])[0]
            suspect = (answer.get("slower") or [{"term": ""}])[0]["term"]
            at, function = loop.split(" ")[1], loop.split(" ", 2)[2]
            row = (answer["decision"] == "regression", where["function"].split("(")[0] == function.split("(")[0], where["loop"] == loop,
                   bool(re.search(re.escape(at) + r"\b", suspect)))
            said.append(row)
            table.writerow((loop, f"{made[1]:.4f}", answer["decision"], answer["effect"]["ratio"], where["function"], where["loop"], where["line"], suspect))
            out.flush()
    print(f"| {name} | {len(may)} | {len(said)} | " + " | ".join(str(sum(column)) for column in zip(*said)) +
          f" | {same['decision']}, {len(same.get('slower_at') or [])} |")


main()
