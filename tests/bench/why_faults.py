"""The faults of tests/apps, and refactorings of the same programs, as versions that a user compares by `assay gate --run` on an emulated fleet.

    why_faults.py run ASSAY WORK     appends to WORK/cases.jsonl the cases that are not there yet; status 75: there is more to do
    why_faults.py page WORK          the tables of the page

Both versions are sources and a build command. What each of them costs is a number that it prints, so that any machine, however busy, calls the new
one slower, and the flow to the functions follows by itself. With WHY_SLICE, seconds, a call ends after about so long. WHY_ONLY=PATTERN: only cases
whose names have it (a regular expression).
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from detect_programs import KINDS
from detect_corpus import APPS, LEAST, SIZES, truth

MORE_TO_DO = 75
THREADS, SEED = "2", "7"
HOSTS = 2
COST = {"old": "10000", "new": "13000"}
HERE = os.path.dirname(os.path.abspath(__file__))
SAY_COST = """#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void say_cost(void)
{
	printf("cost %d\\n", atoi(getenv("COST")) + getpid() % 7);
}
"""


BUILD = ["gcc", "-O2", "-g", "-std=c11", "-D_GNU_SOURCE", "p.c", "-pthread", "-o", "p"]


def shape_of(text, function):
    """The whole definition, what is before its name, its parameters and its body."""
    found = re.search(r"^FUNCTION ([^\n(]*?)\b%s\(([^)]*)\)\n(\{.*?\n\}\n)" % function, text, re.S | re.M)
    return found.group(0), found.group(1), found.group(2), found.group(3)


def renamed(text, function):
    for name in re.findall(r"^FUNCTION [^\n(]*?\b(\w+)\(", text, re.M):
        text = re.sub(r"\b%s\b" % name, name + "_renamed", text)
    return text


def split(text, function):
    """Its body is a function of its own, which the compiler puts back."""
    whole, kind, parameters, body = shape_of(text, function)
    words = ", ".join(re.search(r"(\w+)$", p.strip()).group(1) for p in parameters.split(","))
    inner = f"static inline __attribute__((always_inline)) {kind}{function}_body({parameters})\n{body}"
    return text.replace(whole, f"{inner}\nFUNCTION {kind}{function}({parameters})\n{{\n\treturn {function}_body({words});\n}}\n")


def moved(text, function):
    """It stands behind all others, as the last before main()."""
    whole, kind, parameters, _ = shape_of(text, function)
    return text.replace(whole, f"FUNCTION {kind}{function}({parameters});\n").replace("\nint main(", f"\n{whole}\nint main(", 1)


def bounded(text, function):
    """Bounds of its loops are variables."""
    whole = shape_of(text, function)[0]
    return text.replace(whole, re.sub(r"for \(long i = ([^;]*); i < ([^;]*); i\+\+\)", r"for (long i = \1, end = \2; i < end; ++i)", whole))


REFACTORINGS = (("renamed", renamed), ("split", split), ("moved", moved), ("bounded", bounded))


def of_app(text, flag=""):
    """The files of a program, which prints what it costs."""
    with open(f"{APPS}/app.h") as f:
        header = f.read().replace('printf("%" PRIu64 "\\n", result);', 'printf("%" PRIu64 "\\n", result);\n\tsay_cost();')
    return {"p.c": f"#define {flag}\n{text}" if flag else text, "app.h": SAY_COST + header}


def of_sqlite(directory, patch=None):
    """The files of SQLite's amalgamation and its driver."""
    files = {}
    for path in (f"{directory}/sqlite3.c", f"{directory}/sqlite3.h", f"{HERE}/detect_sqlite.c"):
        with open(path) as f:
            files[os.path.basename(path)] = f.read()
    files["cost.c"] = SAY_COST + "__attribute__((destructor)) static void end(void)\n{\n\tsay_cost();\n}\n"
    if patch:
        with tempfile.TemporaryDirectory() as place:
            shutil.copy(f"{directory}/sqlite3.c", place)
            subprocess.run(["patch", "-s", "-p1", "-d", place, "-i", f"{HERE}/{patch}"], check=True)
            with open(f"{place}/sqlite3.c") as f:
                files["sqlite3.c"] = f.read()
    return files


# limit: of the time in which functions are measured, as --why takes it.
Case = collections.namedtuple("Case", "name function kinds old new build arguments limit", defaults=[BUILD, (), "5m"])


def cases(work):
    """function None: nothing is to be found. SQLite is among them if WORK/sqlite has its amalgamation."""
    out, first = [], {}
    for row in truth():
        with open(f"{APPS}/{row['program']}.c") as f:
            text = f.read()
        size = max(SIZES[row["program"]][0], int(THREADS) * LEAST.get(row["program"], 0))
        arguments = [THREADS, str(round(size)), SEED]
        first.setdefault(row["program"], (row["function"], text, arguments))
        kinds = KINDS.get(row["trouble"], (row["trouble"],))
        out.append(Case(f"{row['program']} {row['flag']}", row["function"], kinds, of_app(text), of_app(text, row["flag"].replace("=", " ")),
                        arguments=arguments))
    if os.path.exists(f"{work}/sqlite/sqlite3.c"):
        build = ["gcc", "-O1", "-g", "-w", "-I.", "sqlite3.c", "detect_sqlite.c", "cost.c", "-pthread", "-lm", "-o", "p"]
        out.append(Case("sqlite step", "sqlite3_step", ("false_sharing",), of_sqlite(f"{work}/sqlite"),
                        of_sqlite(f"{work}/sqlite", "detect_sqlite_step.patch"), build, ["database", THREADS, "20", SEED], "90m"))
    for i, (program, (function, text, arguments)) in enumerate(first.items()):
        name, change = REFACTORINGS[i % len(REFACTORINGS)]
        new = change(text, function)
        if new == text:
            name, new = "split", split(text, function)
        out.append(Case(f"{program} {name}", None, (), of_app(text), of_app(new), arguments=arguments))
    return out


def measure(assay, work, case):
    name, versions = re.sub(r"\W+", "-", case.name).lower(), {}
    for version, files in (("old", case.old), ("new", case.new)):
        sources = os.path.join(work, "sources", name, version)
        os.makedirs(sources, exist_ok=True)
        for path, text in files.items():
            with open(f"{sources}/{path}", "w") as f:
                f.write(text)
        versions[version] = {"sources": sources, "build": case.build, "environment": {"COST": COST[version]}}
    manifest = {"command": ["{build}/p", *case.arguments], "versions": versions, "repetitions": 4, "warm_ups": 0,
                "metric": {"source": "regex", "pattern": "cost ([0-9]+)"}}
    with open(os.path.join(work, "lab", "apps", name + ".yaml"), "w") as f:
        json.dump(manifest, f)  # which is YAML
    start, load = time.monotonic(), os.getloadavg()[0]
    p = subprocess.run([assay, "-C", os.path.join(work, "lab"), "gate", f"{name}@old", f"{name}@new", "--run", "--why", case.limit, "--quiet",
                        "--format", "json"],
                       capture_output=True, text=True)
    a = json.loads(p.stdout) if p.stdout.startswith("{") else {}
    functions = a.get("functions") or {}
    found = [{k: f.get(k) for k in ("name", "kind", "further_kinds", "line")} for f in functions.get("functions") or []
             if f.get("anomalous") and not f.get("side_effect_of") and not f.get("small") and not f.get("improved")]
    shutil.rmtree(os.path.join(work, "sources", name))
    return {"name": case.name, "status": p.returncode, "cause": a.get("cause"), "why": a.get("why"), "backend": functions.get("backend"), "found": found,
            "seconds": time.monotonic() - start, "load": load, "error": p.stderr[-500:]}


def run(assay, work):
    began, path = time.monotonic(), os.path.join(work, "cases.jsonl")
    lab, out_of_time = os.path.join(work, "lab"), False
    with open(path, "a+") as f:
        f.seek(0)
        done = {json.loads(line)["name"] for line in f}
        left = [case for case in cases(work) if case.name not in done and re.search(os.environ.get("WHY_ONLY", ""), case.name)]
        if left:
            subprocess.run([assay, "host", "up", lab, "--hosts", str(HOSTS), "--profiles", "base"], check=True, stdout=subprocess.DEVNULL)
        try:
            for case in left:
                out_of_time = time.monotonic() - began > float(os.environ.get("WHY_SLICE", "inf"))
                if out_of_time:
                    break
                row = measure(assay, work, case)
                f.write(json.dumps(row) + "\n")
                f.flush()
                print(f"{row['name']}: {row['status']}, {row['found'][:2]}, {row['seconds']:.0f} s", file=sys.stderr, flush=True)
        finally:
            if left:
                subprocess.run([assay, "host", "down", lab], stdout=subprocess.DEVNULL)
    if out_of_time:
        sys.exit(MORE_TO_DO)


def page(work):
    with open(os.path.join(work, "cases.jsonl")) as f:
        rows = {r["name"]: r for r in map(json.loads, f)}
    asked = first = kind = refactorings = called = 0
    print("| program | change | first of the functions | kind | others | right | runs, emulated | seconds |\n| --- | --- | --- | --- | --- | --- | ---: | ---: |")
    every = cases(work)
    for name, function, kinds, *_ in every:
        r = rows.get(name)
        if not r:
            continue
        f, why = (r["found"] or [None])[0], r["why"] or {}
        if function:
            right = bool(f) and f["name"] == function
            of_kind = right and bool({f["kind"], *(f["further_kinds"] or [])} & set(kinds))
            asked, first, kind = asked + 1, first + right, kind + of_kind
            text = "yes" if of_kind else f"**no**: {function}, {kinds[0]}"
        else:
            refactorings, called = refactorings + 1, called + bool(f)
            text = "**no**" if f else "yes"
        program, change = name.split(" ", 1)
        others = ", ".join(f"{g['name']}: {g['kind']}" for g in r["found"][1:3])
        print(f"| {program} | {change} | {f['name'] if f else why.get('code') or 'none'} | {f['kind'] if f else ''} | {others} | {text} | "
              f"{why.get('runs', 0)}, {why.get('emulated', 0)} | {r['seconds']:.0f} |")
    print(f"\nFaults: {asked} of {sum(bool(c.function) for c in every)} measured; the function that has it is first in {first}, with the right kind in {kind}.")
    print(f"Refactorings: {refactorings} of {sum(not c.function for c in every)} measured; functions are called in {called}.")


if __name__ == "__main__":
    {"run": run, "page": page}[sys.argv[1]](*sys.argv[2:])
