"""cost_lines.py PROGRAM ASSAY SOURCES WORK LOOPS: Markdown rows on how often `gate --method cost` names the loop that became dearer.

PROGRAM of cost_programs.py is built as it is, to count, and LOOPS times with a drawn loop in the sources made dearer: at the beginning of its
body a register is counted down from a number in the program's data, which is set so that all inputs together cost 5 and 10 % more, as measured;
loops in which that cannot be had are drawn again. The baseline runs LEARNED drawn inputs, and each candidate OTHERS, which the baseline never
runs, once each with `assay run`. Loops and builds are in WORK/PROGRAM.loops.csv, which is added to: what it has is not measured again; what
`gate` says of them, each time that this is called, in WORK/PROGRAM.lines.csv."""
import csv
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys

from cost_programs import PROGRAMS, built, counts, seconds

LEARNED, OTHERS, MORE = 60, 30, (.05, .1)
SESSIONS = 4  # of the baseline: what they differ by is no change of a version
LEAST = {"sqlite3": .005}  # of all that is counted; else .02: in sqlite no loop of so much has braces
NS_EACH = .4  # of the countdown; corrected by measuring
MARK = (0x7A55A197, 0x19C057ED)  # stand before the number in the program


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


def build(program, source, directory, path, edit=None):
    """The binary, built anew; None: it does not compile."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(source, directory, symlinks=True)
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


def plant(loop):
    """An edit that makes each round of the loop dearer, by the number behind each MARK of the program."""
    file, line = loop.split(" ")[1].rsplit(":", 1)

    def edit(directory):
        path = find(directory, file)
        with open(path, encoding="utf-8", errors="surrogateescape") as source:
            text = source.read()
        at = body_of(text, int(line))
        countdown = (' __asm__ volatile inline("mov 8f(%%rip), %%ecx\\n9:\\tdec %%ecx\\n\\tjns 9b\\n\\t.pushsection .data\\n\\t.long '
                     f'{MARK[0]}, {MARK[1]}\\n8:\\t.long 0\\n\\t.popsection" : : : "ecx", "cc");')
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write(text[:at] + countdown + text[at:])
    return edit


def set_times(binary, times):
    """A copy of the binary that counts down from so many."""
    with open(binary, "rb") as source:
        parts = source.read().split(struct.pack("<2I", *MARK))
    if len(parts) == 1:
        return None
    with open(binary + ".set", "wb") as out:
        out.write(parts[0] + b"".join(struct.pack("<3I", *MARK, times) + part[4:] for part in parts[1:]))
    os.chmod(binary + ".set", 0o755)
    return binary + ".set"


def where_to_plant(loop, directories):
    """The first directory that has its file, if it can be planted there: a file may be made by the build."""
    file, line = loop.split(" ")[1].rsplit(":", 1)
    directory = next((directory for directory in directories if find(directory, file)), None)
    if not directory:
        return None
    with open(find(directory, file), encoding="utf-8", errors="surrogateescape") as source:
        return directory if body_of(source.read(), int(line)) is not None else None


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
    for _ in range(5):
        if subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            return
        words += ["--resume"] * ("--resume" not in words)  # a machine that was busy for long
    sys.exit(f"{name}@{version} was not run")


def gate(assay, lab, name, version):
    said = subprocess.run([assay, "-C", lab, "gate", f"{name}@old", f"{name}@{version}", "--method", "cost", "--counts", "counts", "--format", "json"],
                          capture_output=True, text=True, check=False)
    if not said.stdout:
        sys.exit(said.stderr)
    return json.loads(said.stdout)


def together(binary, some, words):
    return sum(min(seconds([binary, *words[i]]) for _ in range(3)) for i in some)


def dearer(binary, least, some, words, times, wanted):
    """The binary set so that all takes about so much more, and how much that is; None: it cannot be."""
    for _ in range(5):
        made = set_times(binary, times)
        more = together(made, some, words) / least - 1 if made else 0
        if .7 * wanted < more < 1.4 * wanted:
            return made, more
        times = max(1, round(times * min(8, max(.125, wanted / max(more, .01)))))
    return None


def laboratory_of(program, name, assay, sources, work, path, loops):
    """The words of each input, in a laboratory where the baseline has run; one that is there already stays as it is."""
    lab, inputs, words = os.path.join(work, name + ".lab"), range(LEARNED + OTHERS), []
    data, done = os.path.join(work, name + ".data"), os.path.join(lab, "done")
    if not os.path.exists(done):
        shutil.rmtree(lab, ignore_errors=True)
    os.makedirs(data, exist_ok=True)
    for i in inputs:
        words.append(program.draw(random.Random(f"{name} {i}"), os.path.join(data, f"i{i:03}.json"))[0])
    if os.path.exists(done):
        return words
    versions = ["counts", "old", "same"] + [f"new{k}-{100 * more:.0f}" for k in range(loops) for more in MORE]
    laboratory(assay, lab, name, versions, [[word.replace("{", "{{").replace(data, "{files}/data") for word in drawn] for drawn in words])
    shutil.copytree(data, os.path.join(lab, "apps", "data"))
    counting = built(program, sources, os.path.join(work, name + ".counting"), f"{assay} build --for features --")
    old = build(program, os.path.join(sources, program.package), os.path.join(work, "old"), path)
    shutil.copy(old, os.path.join(work, name + ".old"))
    for version in versions:
        put(lab, version, counting if version == "counts" else old)
    run(assay, lab, name, "counts", inputs)
    for k in range(SESSIONS):
        run(assay, lab, name, "old", inputs[k:LEARNED:SESSIONS])
    run(assay, lab, name, "same", inputs[LEARNED:])
    with open(done, "w", encoding="ascii"):
        return words


def rounds_of(assay, counting, some, words, directory):
    """How often each feature was counted in some inputs together."""
    rounds = {}
    for i in some:
        for feature, number in counts(assay, [counting, *words[i]], directory).items():
            rounds[feature] = rounds.get(feature, 0) + float(number)
    return rounds


FIELDS = ("loop", "version", "dearer")


def measure(program, name, assay, sources, work, loops, words, path):
    """Adds to the table what it does not have yet."""
    lab, table = os.path.join(work, name + ".lab"), os.path.join(work, name + ".loops.csv")
    some, old = [LEARNED + i for i in range(0, OTHERS, 5)], os.path.join(work, name + ".old")
    rounds = rounds_of(assay, os.path.join(work, name + ".counting", program.binary), some, words, os.path.join(work, "features"))
    directories = os.path.join(sources, program.package), os.path.join(work, "old")
    may = sorted(feature for feature in rounds if feature.startswith("loop ") and rounds[feature] > LEAST.get(name, .02) * sum(rounds.values())
                 and where_to_plant(feature, directories))
    drawn, there = random.Random(name), rows_of(table)
    tried = {row["loop"] for row in there}
    with open(table, "a", encoding="utf-8", newline="") as out:
        write = csv.writer(out)
        if not there:
            write.writerow(FIELDS)
        for loop in drawn.sample(may, len(may)):
            made = len({row["loop"] for row in rows_of(table) if row["version"]})
            if made >= loops or loop in tried:
                continue
            binary = build(program, where_to_plant(loop, directories), os.path.join(work, "new"), path, plant(loop))
            least, found = together(old, some, words), []
            for more in MORE:
                times = max(1, round(more * least / rounds[loop] / (NS_EACH * 1e-9)))
                found.append(dearer(binary, least, some, words, times, more) if binary else None)
                if not found[-1]:
                    break
                version = f"new{made}-{100 * more:.0f}"
                put(lab, version, found[-1][0])
                run(assay, lab, name, version, range(LEARNED, LEARNED + OTHERS))
                found[-1] = (loop, version, f"{found[-1][1]:.4f}")
            write.writerows(found if found[-1] else [(loop, "", "")])
            out.flush()
    return len(may)


def rows_of(table):
    if not os.path.exists(table):
        return []
    with open(table, encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def judged(assay, lab, name, row):
    """What the gate says of a build, and which of it is right: the decision, function and loop by samples, loop by costs."""
    answer = gate(assay, lab, name, row["version"])
    where = (answer.get("slower_at") or [{"function": "", "loop": "", "line": ""}])[0]
    suspect = (answer.get("slower") or [{"term": ""}])[0]["term"]
    at, function = row["loop"].split(" ")[1], row["loop"].split(" ", 2)[2]
    right = (answer["decision"] == "regression", where["function"].split("(")[0] == function.split("(")[0], where["loop"] == row["loop"],
             bool(re.search(re.escape(at) + r"\b", suspect)))
    return right, (*row.values(), answer["decision"], f'{answer["effect"]["ratio"]:.4f}', where["function"], where["loop"], where["line"], suspect)


def main():
    name, assay, sources, work, loops = *sys.argv[1:5], int(sys.argv[5])
    os.makedirs(work, exist_ok=True)
    program, path, lab = PROGRAMS[name], wrapped(work), os.path.join(work, name + ".lab")
    words = laboratory_of(program, name, assay, sources, work, path, loops)
    may = measure(program, name, assay, sources, work, loops, words, path)
    same = gate(assay, lab, name, "same")
    effect, unlike = same["effect"], sum(machine["unlike"] for machine in same["machines"])
    unchanged = f"{same['decision']}, {effect['ratio']:.3f} ({effect['low']:.3f} to {effect['high']:.3f}), {unlike} of {OTHERS}"
    with open(os.path.join(work, name + ".lines.csv"), "w", encoding="utf-8", newline="") as out:
        write = csv.writer(out)
        write.writerow(FIELDS + ("decision", "ratio", "function", "named_loop", "line", "suspect"))
        for more in MORE:
            both = [judged(assay, lab, name, row) for row in rows_of(os.path.join(work, name + ".loops.csv")) if row["version"].endswith(f"-{100 * more:.0f}")]
            write.writerows(text for _, text in both)
            print(f"| {name} | {may} | {100 * more:.0f} % | {len(both)} | " + " | ".join(str(sum(column)) for column in zip(*(right for right, _ in both))) +
                  f" | {unchanged} | {len(same.get('slower_at') or [])} |")


main()
