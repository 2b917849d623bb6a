"""Mutations: one line of each of some functions, drawn by a seed over the product's folders, is changed; the tests that reach the line run
until one fails. What reaches what is measured once, by gcov, a test at a time; each mutant is built incrementally, with sanitizers.

    mutations.py draw WORK RESULTS SEED COUNT    draws and tries until RESULTS has so many of that seed
    mutations.py again WORK RESULTS EQUIVALENTS  tries what survived there once more, on WORK's tree as it is now
    mutations.py page RESULTS EQUIVALENTS        the page

WORK has `tree`, a clone that is changed here and nowhere else, and `shared` beside it; what is slow to make is kept there. Tests run in
namespaces of their own (processes, network, mounts): a mutant that kills or removes what it should not reaches only its own. For root."""
import csv
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

FOLDERS = ["base", "fleet", "fingerprint", "runs", "model", "gate"]
CAP_S = float(os.environ.get("MUTATIONS_CAP", "300"))  # of tests a mutant, by what they took alone

# What runs in processes that are killed, or that are other people's, leaves no counts: these tests are taken to reach it.
INSIDE = {
    "fleet/helper/": r"test_helper|test_cgroup|test_engine|test_spool|test_counting$|cli_fleet|cli_bad_disk|cli_kill|cli_emulated|cli_run$|cli_run_resume|cli_run_boxes",
    "fleet/cgroup/": r"test_cgroup|test_helper|cli_fleet|cli_kill|cli_emulated",
    "fleet/counting/": r"test_counting|test_counters|test_countable|test_refused|cli_counters|cli_signatures",
    "fleet/emulate/knobs/": r"test_emulate$|cli_emulated",
    "runs/inside/probe/": r"test_probe|cli_probe|cli_run_probe|cli_counters",
    "runs/inside/emulate/": r"test_emulate_|test_emulation|cli_emulate$",
    "runs/inside/record/": r"test_record|test_samples|test_probe|test_emulate_|test_emulation|cli_probe|cli_emulate$|cli_run_probe",
}
# Objects of those, by the directory of their target: they are not counted.
UNCOUNTED = r"CMakeFiles/(helper|counting|knobs_[a-z]+|assay-probe[a-z-]*|emulate_objects|test_probe_[a-z]+|test_emulate_[a-z]+)\.dir/"

# ---- the sources ----


def git(tree, *words):
    return subprocess.run(["git", *words], cwd=tree, capture_output=True, text=True, check=True).stdout


def revision_of(tree):
    return git(tree, "rev-parse", "--short", "HEAD").strip()


def masked(text):
    """The text with comments, strings and characters blanked, of equal length."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def functions_in(text):
    """(name, first line of the body, line behind it), counted from 0: as .clang-format has them, '{' and '}' in the first column."""
    lines = masked(text).split("\n")
    found, name = [], None
    for i, line in enumerate(lines):
        match = re.match(r"[A-Za-z_].*?\b([A-Za-z_]\w*)\(", line)
        if match and not line.startswith(("typedef", "struct {", "enum {")):
            name = match.group(1)
        if line == "{" and name:
            end = lines.index("}", i)
            found.append((name, i + 1, end))
            name = None
        elif line.endswith(";") or line.startswith("}"):
            name = None
    return found


def number_changed(text):
    if re.search(r"[.eE]", text) and not text.lower().startswith("0x"):
        return f"({text} * 1.5)" if float(text) != 0 else "1.5"
    return {"0": "1", "1": "2"}.get(text, f"({text} + 1)")


OPERATORS = [(r" (==) ", ["!="]), (r" (!=) ", ["=="]), (r" (<) ", ["<=", ">="]), (r" (<=) ", ["<", ">"]), (r" (>) ", [">=", "<="]),
             (r" (>=) ", [">", "<"]), (r" (\+) ", ["-"]), (r"[\w)\]] (-) ", ["+"]), (r" (\*) ", ["/"]), (r" (/) ", ["*"]),
             (r" (\+=) ", ["-="]), (r" (-=) ", ["+="]), (r"(\+\+)", ["--"]), (r" (&&) ", ["||"]), (r" (\|\|) ", ["&&"])]
STATEMENT = re.compile(r"^\t+(?:[\w>.\[\]*-]+(?:\(.*\)|(?: [-+|&*/]?= .*)|\+\+)|break|continue);$")


def balanced(text):
    return text.count("(") == text.count(")") and text.count("[") == text.count("]")


def mutations_of_line(lines, hidden, i):
    """Every (operator, the line changed) of line i."""
    line, bare = lines[i], hidden[i]
    if bare.lstrip().startswith("#") or "ASSAY_BUG_IF" in bare or bare.rstrip().endswith("\\"):
        return []
    found = []
    for pattern, others in OPERATORS:
        for match in re.finditer(pattern, bare):
            for other in others:
                found.append((f"{match.group(1)} to {other}", line[:match.start(1)] + other + line[match.end(1):]))
    for match in re.finditer(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)(?=[uUlL]*(?![\w.]))", bare):
        if bare[match.end():match.end() + 1] not in ("u", "U", "l", "L"):
            found.append(("constant", line[:match.start()] + number_changed(match.group()) + line[match.end():]))
    match = re.match(r"^(\t+(?:\} else )?(?:if|while) \()(.*)(\)(?: \{)?)$", bare)
    if match and balanced(match.group(2)):
        found.append(("condition negated", line[:match.end(1)] + "!(" + line[match.start(2):match.end(2)] + ")" + line[match.start(3):]))
    match = re.match(r"^(\t+return )(.+);$", bare)
    if match and balanced(match.group(2)):
        value = line[match.start(2):match.end(2)]
        other = {"true": "false", "false": "true", "0": "1", "NULL": None}.get(value, "0")
        if other:
            found.append(("return value", f"{match.group(1)}{other};"))
    before = next((hidden[j].rstrip() for j in range(i - 1, -1, -1) if hidden[j].strip()), "{")
    if STATEMENT.match(bare) and balanced(bare) and before[-1] in ";{}:)e" and not before.endswith("="):
        found.append(("statement removed", re.match(r"\t+", line).group() + ";"))
    return found


def drawn(tree, seed):
    """Functions in an order drawn by the seed, each with its mutations in an order drawn likewise: lines first, then what is changed."""
    files = git(tree, "ls-files", *FOLDERS).split()
    every = sorted((f, *function) for f in files if f.endswith(".c") for function in functions_in(open(f"{tree}/{f}", encoding="utf-8").read()))
    random.Random(f"{seed}").shuffle(every)
    for file, name, begin, end in every:
        lines = open(f"{tree}/{file}", encoding="utf-8").read().split("\n")
        hidden = masked("\n".join(lines)).split("\n")
        by_line = [(i, mutations_of_line(lines, hidden, i)) for i in range(begin, end)]
        by_line = [(i, found) for i, found in by_line if found]
        chance = random.Random(f"{seed} {file} {name}")
        chance.shuffle(by_line)
        for _, found in by_line:
            chance.shuffle(found)
        yield {"file": file, "function": name}, [(i, lines[i], operator, other) for i, found in by_line for operator, other in found]


# ---- building and running ----

SANDBOX = r'''
work=$1 writable=$2 at=$3
shift 3
ip link set lo up
mount --bind "$work" /mnt
mount -o remount,ro,bind /
for at_once in /dev/shm /tmp /run /var/tmp; do mount -t tmpfs -o mode=1777 none "$at_once"; done
mkdir -p "$work" /run/sshd /run/lock
mount --bind /mnt "$work"
umount /mnt
if [ -n "$writable" ]; then
	mkdir -p "$writable/upper" "$writable/work"
	mount -t overlay none -o "lowerdir=$work/tree/build/coverage,upperdir=$writable/upper,workdir=$writable/work" "$work/tree/build/coverage"
else
	mount -o remount,ro,bind "$work"
fi
cd "$at"
exec "$@"
'''


class Tests:
    """The tests of one build directory."""

    def __init__(self, work, preset):
        self.work, self.build = work, f"{work}/tree/build/{preset}"
        self.tests = {}
        listed = open(f"{self.build}/tests/CTestTestfile.cmake", encoding="utf-8").read()  # ctest tells commands only where they are built
        for name, command, environment in re.findall(r'^add_test\(\[=\[(\w+)\]=\] (.*)\)\nset_tests_properties\(.* ENVIRONMENT "(.*?)"', listed, re.M):
            if not name.startswith("check_"):
                self.tests[name] = (re.findall(r'"(.*?)"', command), environment.split(";"))

    def run(self, name, limit_s, writable=""):
        """'passed', 'skipped', 'failed' or 'hung', and the seconds. All that the test started ends with it."""
        command, environment = self.tests[name]
        begun = time.monotonic()
        variables = {**os.environ, **dict(v.split("=", 1) for v in environment), "HOME": "/tmp"}
        variables["GCOV_ERROR_FILE"] = "/dev/null"  # tests that act as another user cannot write counts
        for variable in ("TMPDIR", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"):
            variables.pop(variable, None)
        child = subprocess.Popen(["unshare", "-m", "-p", "-n", "-f", "--kill-child", "--mount-proc", "sh", "-ec", SANDBOX, "sandbox",
                                  self.work, writable, f"{self.build}/tests", *command],
                                 env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(limit_s)
            word = {0: "passed", 77: "skipped"}.get(child.returncode, "failed")
        except subprocess.TimeoutExpired:
            child.kill()  # unshare's child dies with it, and with that one the namespace
            child.wait()
            word = "hung"
        return word, time.monotonic() - begun

    def targets(self, names):
        """What has to be built for them."""
        found = set()
        for name in names:
            program = os.path.basename(self.tests[name][0][0])
            found |= {"assay", "tool_json", "assay-probe-nothing", "assay-probe", "emulate_archive"} if program == "sh" else {program}
            if name.startswith("test_"):
                found |= {"assay-probe"} if "probe" in name else set()
        return sorted(found)


def build(directory, targets):
    return subprocess.run(["nice", "cmake", "--build", directory, "-j", "2", "--target", *targets], capture_output=True, text=True)


def configure(tree, preset, *options):
    subprocess.run(["cmake", "-S", tree, "-B", f"{tree}/build/{preset}", "-G", "Ninja", "-DASSAY_TESTS=ON", *options],
                   check=True, stdout=subprocess.DEVNULL)


# ---- which test reaches which line ----


def counted_lines(tree, directory):
    """{file: lines that ran} of the counts in a directory, and {file: lines that could}."""
    ran, could = {}, {}
    data = [os.path.join(at, f) for at, _, files in os.walk(directory) for f in files if f.endswith(".gcda")]
    for begin in range(0, len(data), 50):
        out = subprocess.run(["gcov", "--json-format", "--stdout", *data[begin:begin + 50]], capture_output=True, text=True, cwd=directory).stdout
        for text in out.split("\n"):
            if not text.startswith("{"):
                continue
            for entry in json.loads(text)["files"]:
                file = os.path.relpath(os.path.join(directory, entry["file"]), tree)
                if file.startswith(("..", "tests/")) or not file.endswith(".c"):
                    continue
                could.setdefault(file, set()).update(line["line_number"] for line in entry["lines"])
                ran.setdefault(file, set()).update(line["line_number"] for line in entry["lines"] if line["count"])
    return ran, could


def mapped(work):
    """{test: {"seconds", "ran": {file: [lines]}}} and {file: [lines that can run]}; taken once, kept in WORK/map.json."""
    tree, kept = f"{work}/tree", f"{work}/map.json"
    result = json.load(open(kept, encoding="utf-8")) if os.path.exists(kept) else {"revision": revision_of(tree), "tests": {}, "could": {}}
    if result.get("whole"):
        return result
    launcher = f"{work}/launcher"
    with open(launcher, "w", encoding="utf-8") as out:
        ccache = os.environ.get("CMAKE_C_COMPILER_LAUNCHER", "")
        out.write(f'#!/bin/bash\n[[ "$*" =~ {UNCOUNTED} ]] && exec {ccache} "$@"\nexec {ccache} "$@" --coverage -fprofile-update=atomic\n')
    os.chmod(launcher, 0o755)
    configure(tree, "coverage", f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}", "-DCMAKE_C_FLAGS=-O0 -g0", "-DCMAKE_EXE_LINKER_FLAGS=--coverage")
    helped = build(f"{tree}/build/coverage", ["help"]).stdout
    programs = [name for name in re.findall(r"^(\w+): phony", helped, re.M) if re.match(r"(runner|test)_(?!all)", name)]
    made = build(f"{tree}/build/coverage", ["assay", "assay-probe-nothing", "emulate_archive", "tool_json", "replay", *programs])
    if made.returncode:
        sys.exit(f"mutations: the build for coverage failed:\n{made.stdout[-3000:]}")
    tests = Tests(work, "coverage")
    os.makedirs(f"{work}/counts", exist_ok=True)

    def one(name):
        at = f"{work}/counts/{name}"
        word, seconds = tests.run(name, 900, at)
        if word == "failed":
            word, seconds = tests.run(name, 900, at)
        # gcov wants the notes beside the counts
        for place, _, files in os.walk(f"{at}/upper"):
            for f in files:
                if f.endswith(".gcda"):
                    note = f"{tests.build}/{os.path.relpath(place, at + '/upper')}/{f[:-5]}.gcno"
                    if os.path.exists(note):
                        shutil.copy(note, place)
        ran, could = counted_lines(tree, f"{at}/upper")
        shutil.rmtree(at, ignore_errors=True)
        print(f"map: {name}: {word}, {seconds:.1f} s, {len(ran)} files", file=sys.stderr, flush=True)
        return name, word, seconds, ran, could

    with ThreadPoolExecutor(2) as pool:
        for name, word, seconds, ran, could in pool.map(one, [name for name in tests.tests if name not in result["tests"]]):
            if word == "passed":
                result["tests"][name] = {"seconds": seconds, "ran": {f: sorted(lines) for f, lines in ran.items()}}
            for f, lines in could.items():
                result["could"][f] = sorted(set(result["could"].get(f, [])) | lines)
    if 10 * len(result["tests"]) < 8 * len(tests.tests):
        sys.exit("mutations: most tests have to pass on the tree as it is")
    result["whole"] = True
    json.dump(result, open(kept, "w", encoding="utf-8"))
    return result


def line_of(text, row):
    """Where a row's line stands in its file: its number, counted from 0; None: nowhere."""
    lines = text.split("\n")
    at = [i for name, begin, end in functions_in(text) if name == row["function"] for i in range(begin, end) if lines[i].strip() == row["original"]]
    return min(at, key=lambda i: abs(i + 1 - int(row["line"]))) if at else None


def reaching(known, tree, row):
    """Tests that reach the row's line (where no statement begins there, or it is new since the map: its function), and those that are
    newer than the map; the likely and quick ones first."""
    file = row["file"]
    shown = subprocess.run(["git", "show", f"{known['revision']}:{file}"], cwd=tree, capture_output=True, text=True)
    then = shown.stdout if shown.returncode == 0 else ""
    line, could = line_of(then, row), set(known["could"].get(file, []))
    wanted = {line + 1} & could if line is not None else set()
    if not wanted:
        wanted = {i for name, begin, end in functions_in(then) if name == row["function"] for i in range(begin + 1, end + 1)} & could
    inside = next((pattern for folder, pattern in INSIDE.items() if file.startswith(folder)), None)
    found, folder = [], file.split("/", maxsplit=1)[0]
    for name in set(known["tests"]) | known["newer"]:
        test = known["tests"].get(name, {"seconds": 10, "ran": {}})
        if wanted & set(test["ran"].get(file, [])) or (inside and re.match(inside, name)) or (name in known["newer"] and known["folder"].get(name) == folder):
            far = 1 if name.startswith("test_") and known["folder"].get(name) == folder else 2
            found.append((test["seconds"] * far, name))
    return [name for _, name in sorted(found)]


# ---- one mutant ----


class Bench:
    def __init__(self, work):
        self.work, self.tree = work, f"{work}/tree"
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is changed is put back
        git(self.tree, "checkout", "-q", "-f", ".")
        self.known = mapped(work)
        configure(self.tree, "dev", "-DCMAKE_C_FLAGS=-O1 -g", "-DASSAY_SANITIZE=ON")
        self.tests = Tests(work, "dev")
        self.known["folder"] = {}
        for file in git(self.tree, "ls-files", "tests").split():
            self.known["folder"][os.path.splitext(os.path.basename(file))[0]] = file.split("/")[1]
        changed = git(self.tree, "diff", "--name-only", self.known["revision"], "HEAD", "--", "tests").split()
        self.known["newer"] = {name for name in (os.path.splitext(os.path.basename(file))[0] for file in changed) if name in self.tests.tests}
        self.revision = revision_of(self.tree)
        self.commands = {}
        for entry in json.load(open(f"{self.tree}/build/dev/compile_commands.json", encoding="utf-8")):
            self.commands.setdefault(os.path.relpath(entry["file"], self.tree), entry)

    def code(self, file):
        """What the compiler makes of a file as users get it, without sanitizers; None where it makes nothing."""
        entry = self.commands[file]
        command = re.sub(r" -fsanitize\S*| -fno-sanitize\S*| -g\b| -O1| -Werror", "", entry["command"])
        command = re.sub(r" -o \S+", f" -O2 -g0 -w -o {self.work}/mutant.o", command)
        if subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True).returncode:
            return None
        return open(f"{self.work}/mutant.o", "rb").read()

    def attempt(self, row):
        """The verdict of the tests on the row's file with its line changed. None: it does not compile, or to the same code."""
        file, path = row["file"], f"{self.tree}/{row['file']}"
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        lines, line = text.split("\n"), line_of(text, row)
        if line is None:
            return {"verdict": "removed", "by": ""}
        before = self.code(file)
        lines[line] = re.match(r"\t*", lines[line]).group() + row["mutated"]
        try:
            with open(path, "w", encoding="utf-8") as out:
                out.write("\n".join(lines))
            after = self.code(file)
            if after is None or after == before:
                return None
            return self.judge(reaching(self.known, self.tree, row))
        finally:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)

    def judge(self, names):
        spent, ran, built = 0.0, [], set()
        for name in names:
            seconds = self.known["tests"].get(name, {"seconds": 10})["seconds"]
            if ran and spent + seconds > CAP_S:
                continue
            wanted = set(self.tests.targets([name]))
            if not wanted <= built:
                made = build(self.tests.build, sorted(wanted))
                if made.returncode:
                    return {"verdict": "caught", "by": "the build", "ran": ran}
                built |= wanted
            limit = 60 + 6 * seconds
            word, _ = self.tests.run(name, limit)
            if word == "failed":
                word, _ = self.tests.run(name, limit)  # twice: not a test that fails now and then
            spent += seconds
            ran.append(name)
            if word in ("failed", "hung"):
                return {"verdict": "caught" if word == "failed" else "caught (hangs)", "by": name, "ran": ran}
        return {"verdict": "survived", "by": "" if ran else "no test reaches it", "ran": ran, "left": len(names) - len(ran)}


# ---- commands ----

# A row for each mutant: as it was drawn, what the tests said then, and what they said last.
COLUMNS = ["seed", "n", "file", "function", "line", "operator", "original", "mutated", "first_revision", "first_verdict", "first_by",
           "last_revision", "last_verdict", "last_by"]


def rows_read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def rows_write(path, rows):
    with open(path + ".new", "w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(path + ".new", path)


def said(row, verdict):
    print(f"{row['seed']}, {row['n']}: {row['file']}: {row['function']}: {verdict['verdict']} {verdict['by']}", file=sys.stderr, flush=True)


def draw(work, results, seed, count):
    bench, rows = Bench(work), rows_read(results)
    seen = {(r["file"], r["function"]) for r in rows}
    n = sum(r["seed"] == seed for r in rows)
    for function, candidates in drawn(bench.tree, seed):
        if n >= count:
            break
        if (function["file"], function["function"]) in seen:
            continue
        for line, original, operator, other in candidates[:20]:
            row = {"seed": seed, "n": n + 1, **function, "line": line + 1, "operator": operator, "original": original.strip(), "mutated": other.strip()}
            verdict = bench.attempt(row)
            if not verdict:
                continue
            n += 1
            for which in ("first", "last"):
                row |= {f"{which}_revision": bench.revision, f"{which}_verdict": verdict["verdict"], f"{which}_by": verdict["by"]}
            rows.append(row)
            rows_write(results, rows)
            said(row, verdict)
            break


def reasons_of(equivalents):
    """{(file, function, changed line): why it is none}."""
    lines = [text.split("\t") for text in open(equivalents, encoding="utf-8").read().split("\n") if text and not text.startswith("#")]
    return {(file, function, mutated): reason for file, function, mutated, reason in lines}


def again(work, results, equivalents):
    bench, rows, reasons = Bench(work), rows_read(results), reasons_of(equivalents)
    for row in rows:
        if row["last_verdict"] != "survived" or (row["file"], row["function"], row["mutated"]) in reasons:
            continue
        verdict = bench.attempt(row)
        if verdict:
            row |= {"last_revision": bench.revision, "last_verdict": verdict["verdict"], "last_by": verdict["by"]}
            rows_write(results, rows)
            said(row, verdict)


def cell(text):
    return "`" + text.replace("|", "\\|") + "`"


def page(results, equivalents):
    rows, reasons = rows_read(results), reasons_of(equivalents)
    for row in rows:
        row["reason"] = reasons.get((row["file"], row["function"], row["mutated"])) if row["first_verdict"] == "survived" else None
    print("One line of each function is changed: a comparison turned round or off by one, a constant, a sign, `&&` and `||`, a condition "
          "negated, a call or an assignment left out, another value returned. Functions are drawn from all of the product's; lines that "
          "only catch a caller's bug are left alone, and so is what the compiler makes the same code of. The tests that reach the line "
          "(gcov's counts of one run of each) run with sanitizers, the quick and near ones first, until one fails twice or hangs. A "
          "mutant that no program could tell from the original, as a person judged, is *equivalent* and stands with its reason in "
          "`tests/bench/mutations.equivalent`. *At first* is with the tests as they were when it was drawn; *now* with those that it led to.\n")
    print("| seed | functions | equivalent | caught at first | | caught now, or the line is gone | |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for seed in [*dict.fromkeys(r["seed"] for r in rows), "all"]:
        of = [r for r in rows if seed in (r["seed"], "all")]
        counted = [r for r in of if not r["reason"]]
        first = sum(r["first_verdict"].startswith("caught") for r in counted)
        last = sum(r["last_verdict"] != "survived" for r in counted)
        low, high = wilson(first, len(counted))
        print(f"| {seed} | {len(of)} | {len(of) - len(counted)} | {first} of {len(counted)} | {100 * first / len(counted):.0f} % "
              f"({100 * low:.0f} to {100 * high:.0f}) | {last} of {len(counted)} | {100 * last / len(counted):.0f} % |")
    print("\nIn parentheses: Wilson's interval at 95 %.\n\n## What survived at first\n\n| seed, number | function | line | changed to | now |\n| --- | --- | --- | --- | --- |")
    for r in (r for r in rows if r["first_verdict"] == "survived"):
        now = f"equivalent: {r['reason']}" if r["reason"] else "the line is gone" if r["last_verdict"] == "removed" else \
            "**survives**" if r["last_verdict"] == "survived" else f"`{r['last_by']}`"
        print(f"| {r['seed']}, {r['n']} | `{r['file']}`: `{r['function']}` | {cell(r['original'])} | {cell(r['mutated'])} | {now} |")
    print("\n## All\n\nWith the lines themselves: [mutations.csv](mutations.csv).\n\n| seed, number | function | line | what | at first |\n| --- | --- | ---: | --- | --- |")
    for r in rows:
        verdict = "equivalent" if r["reason"] else "survived" if r["first_verdict"] == "survived" else f"`{r['first_by']}`" + \
            (", hangs" if "hangs" in r["first_verdict"] else "")
        print(f"| {r['seed']}, {r['n']} | `{r['file']}`: `{r['function']}` | {r['line']} | {r['operator'].replace('|', chr(92) + '|')} | {verdict} |")


def wilson(k, n, z=1.96):
    middle, half = (k + z * z / 2) / (n + z * z), z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    return middle - half, middle + half


if __name__ == "__main__":
    if sys.argv[1] == "draw":
        draw(*sys.argv[2:5], int(sys.argv[5]))
    elif sys.argv[1] == "again":
        again(*sys.argv[2:5])
    else:
        page(*sys.argv[2:4])
