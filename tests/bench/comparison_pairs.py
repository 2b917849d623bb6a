"""Pairs of programs whose difference is known, held against what `assay diff` and `assay gate` say that it is made of
(tests/apps/composed.c; its own times are the truth, profile_composed.py says what they mean).

    comparison_pairs.py here ASSAY COMPOSED WORK     on this machine: appends to WORK/here.jsonl the pairs that are not there yet
    comparison_pairs.py hosts ASSAY COMPOSED WORK    on six emulated hosts: likewise WORK/hosts.jsonl
    comparison_pairs.py page WORK CSV                the sections of the page; every row that was judged to CSV

Each of sixteen parts is raised by 5, 10, 30 and 100 % of the program's time beside two or three others, which are drawn
(COMPARISON_SEED); 20 further pairs are one program twice. With COMPARISON_SLICE, seconds, a call ends after about so long, with status
75, if there is more to do.
"""
import collections
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from profile_composed import KERNEL, OWN, SEVERAL, USER, covered, held, is_sharp, parts_of, row_truth, run_seconds

RUNS = 25  # of each command on this machine
PACE_S = .2
RUN_S = {"here": .3, "hosts": .5}
RAISES = (5, 10, 30, 100)
UNCHANGED = 20
SEED = int(os.environ.get("COMPARISON_SEED", "17"))
MORE_TO_DO = 75
PROFILES = ("base", "vm", "str", "clock", "io", "meta")
REPETITIONS = 6  # as many samples as on this machine: runs of a laboratory are sampled every 10 ms, here every 4.6 ms
JUDGED = .02  # rows that are judged: either version spends as much of its time there
FILTERS = "system call filters"  # on the hosts: the time belongs to the call that was raised
STANDS = {"arithmetic": ("cpu", "branch"), "vectors": ("cpu",), "branches": ("branch", "cpu"), "caches": ("stream",), "memory": ("stream",),
          "strings": ("str",), "sorting": ("qsort",), "allocation": ("malloc",), "file-data": ("seek", "zero"), "file-metadata": ("utime", "rename"),
          "mapping": ("mmap", "brk"), "faults": ("fault", "mmap"), "sockets": ("zero", "seek")}  # the stressors that do the same


def pairs():
    """(name, part, raise in %, weights of the baseline) in the order in which they are measured."""
    draw = random.Random(SEED)
    found = []
    for part in USER + KERNEL:
        for more in RAISES:
            others = draw.sample([p for p in USER + KERNEL if p != part], draw.randint(2, 3))
            found.append((f"{part}-{more}", part, more, weights_of(draw, [part] + others)))
    for i in range(UNCHANGED):
        found.append((f"unchanged-{i + 1}", None, 0, weights_of(draw, draw.sample(USER + KERNEL, draw.randint(2, 4)))))
    draw.shuffle(found)  # so that load that comes and goes meets all kinds
    return found


def weights_of(draw, parts):
    """In steps of 5 %, at least 10 % each."""
    weights = dict.fromkeys(parts, 10)
    for _ in range((100 - 10 * len(parts)) // 5):
        weights[draw.choice(parts)] += 5
    return weights


def words_of(weights, seconds, pace, part=None, more=0):
    """The arguments of a program that does this work, and of one part so much more. pace: the seconds that a second of each part takes here."""
    raised = {p: (w + (more if p == part else 0)) / pace[p] for p, w in weights.items()}
    return [f"{p}={w:.2f}" for p, w in raised.items()] + [f"seconds={seconds * sum(raised.values()) / 100:.4f}", "work=fixed"]


# ---- measuring ----

def answers(work, where):
    try:
        with open(os.path.join(work, f"{where}.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []


def left_of(work, where):
    """Yields the pairs that have not been measured, and ends the program when its slice is over."""
    done = {a["name"] for a in answers(work, where)}
    ends = time.monotonic() + float(os.environ.get("COMPARISON_SLICE", "inf"))
    for n, pair in enumerate(pairs(), 1):
        if pair[0] in done:
            continue
        if time.monotonic() > ends:
            print("the slice is over; the same call goes on", file=sys.stderr)
            sys.exit(MORE_TO_DO)
        print(f"{where}: {n} of {len(pairs())}: {pair[0]}", file=sys.stderr)
        yield pair


def keep(work, where, pair, load, answer, paths):
    truth = []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            truth.append(lines.read())
    name, part, more, weights = pair
    with open(os.path.join(work, f"{where}.jsonl"), "a", encoding="utf-8") as out:
        out.write(json.dumps({"name": name, "part": part, "raise": more, "weights": weights, "load": [load, os.getloadavg()[0]], "answer": answer,
                              "truth": truth}) + "\n")


def run(command, ok=(0,), **more):
    said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)
    if said.returncode not in ok:
        sys.exit(f"{' '.join(command)}: {said.stderr[-2000:]}")
    return said.stdout


def pace_of(composed, work):
    """Measured once: the least of five runs, by the program's own time, without what it waited for a CPU."""
    path = os.path.join(work, "pace.json")
    if not os.path.exists(path):
        pace = {}
        for part in USER + KERNEL:
            took = []
            for _ in range(5):
                lines = csv.reader(run([composed, f"{part}=100", f"seconds={PACE_S}", "work=fixed"]).splitlines())
                wall, cpu, _, _, delay, *_ = next([float(v) for v in row[2:]] for row in lines if row[1] == part)
                took.append(max(wall - delay, cpu))
            pace[part] = min(took) / PACE_S
        with open(path, "w", encoding="utf-8") as out:
            json.dump(pace, out)
    with open(path, encoding="utf-8") as lines:
        return json.load(lines)


def here(assay, composed, work):
    pace = pace_of(composed, work)
    for pair in left_of(work, "here"):
        _, part, more, weights = pair
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as scratch:
            paths = [os.path.join(scratch, side) for side in "ab"]
            a, b = ([composed, *words_of(weights, RUN_S["here"], pace, part, m), f"truth={p}"] for m, p in zip((0, more), paths))
            began = time.monotonic()
            for words in a, b:  # how long a run of each takes; their truth is not kept
                run([*words[:-1], "truth=/dev/null"])
            budget_s = RUNS * (time.monotonic() - began)
            said = run([assay, "diff", "--quiet", "--budget", f"{budget_s:.1f}", "--format", "json", "--", *a, "--", *b], ok=(0, 3, 4, 5),
                       env={**os.environ, "TMPDIR": scratch})
            keep(work, "here", pair, load, json.loads(said), paths)


def manifest(lab, pace, pair):
    name, part, more, weights = pair
    lines = ["files: [composed]"]
    for side, m in (("a", 0), ("b", more)):
        words = ["{files}/composed", *words_of(weights, RUN_S["hosts"], pace, part, m), f"truth={lab}/{name}-{side}"]
        command = "[" + ", ".join(f"'{w}'" for w in words) + "]"
        lines += [f"command: {command}", "versions:", "  a:"] if side == "a" else [f"  b: {{ command: {command} }}"]
    lines += [f"repetitions: {REPETITIONS}", "warm_ups: 0", "metric: cpu"]
    with open(os.path.join(lab, "apps", f"{name}.yaml"), "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


def hosts(assay, composed, work):
    left = left_of(work, "hosts")
    pair = next(left, None)
    if not pair:
        return
    pace = pace_of(composed, work)
    lab = os.path.join(os.path.abspath(work), "six")
    shutil.rmtree(lab, ignore_errors=True)
    run([assay, "host", "up", lab, "--profiles", ",".join(PROFILES)])
    try:
        os.makedirs(os.path.join(lab, "apps"), exist_ok=True)
        shutil.copy(composed, os.path.join(lab, "apps", "composed"))
        run([assay, "-C", lab, "host", "measure", "--battery", "machines/demo-lab/battery.yaml"], ok=(0, 7))
        while pair:
            name, load = pair[0], os.getloadavg()[0]
            manifest(lab, pace, pair)
            run([assay, "-C", lab, "run", name], ok=(0, 7))
            said = run([assay, "-C", lab, "gate", f"{name}@a", f"{name}@b", "--format", "json"], ok=(0, 3, 4, 5))
            keep(work, "hosts", pair, load, json.loads(said), [os.path.join(lab, f"{name}-{side}") for side in "ab"])
            pair = next(left, None)
    finally:
        subprocess.run([assay, "host", "down", lab], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# ---- the truth ----

def seconds_of(text):
    """The mean over runs of the seconds of each level and part; each run's last line is `beside`."""
    sums, runs, rows = collections.Counter(), 0, {}
    for _, part, *values in csv.reader(text.splitlines()):
        rows[part] = [float(v) for v in values]
        if part == "beside":
            for seconds in run_seconds(rows):
                sums.update(seconds)
            runs, rows = runs + 1, {}
    return {k: v / runs for k, v in sums.items()}


def difference_of(answer):
    a, b = map(seconds_of, answer["truth"])
    return {k: b.get(k, 0) - a.get(k, 0) for k in {**a, **b}}


# ---- an answer against it ----

def truth_of(row, known, aside, taken, own):
    """From, to, of the row's difference; None: the program does not know."""
    small, taken = abs(known.get("small", 0)), abs(taken)
    if row["level"] == "time":
        of = known.get(row["name"], 0)
        return {"compute": (of - small - taken, of + small), "kernel": (of - small, of + small + taken), "waiting": (of, of)}[row["name"]]
    parts = parts_of(row["name"])
    if not parts:
        return None
    if len(parts) > 1 and parts != OWN:  # what has a row of its own is not in the library's rest
        parts = tuple(p for p in parts if p not in own) or ("calling",)
    low, high = sorted(row_truth(parts, known, aside))
    return low - (taken if row["of"] == "compute" else 0), high


def measured_of(answer):
    return answer["answer"]["measured"]


def judge(answer):
    """The rows whose truth is known, with it."""
    rows = [r for r in measured_of(answer)["parts"] if r["level"] != "function"]
    known = difference_of(answer)
    whole = max(sum(r[side] for r in rows if r["level"] == "time") for side in ("baseline", "candidate"))
    kernel = [r for r in rows if r["level"] == "category" and r["of"] == "kernel"]
    of_kernel = sum(r["baseline"] + r["candidate"] for r in kernel)
    aside = sum(r["baseline"] + r["candidate"] for r in kernel if not parts_of(r["name"])) / of_kernel if of_kernel else 0
    taken = sum(r["difference"] for r in kernel if re.search("interrupt|switching", r["name"]))
    own = [p for p in ("strings", "sorting", "allocation") if any(parts_of(r["name"]) == (p,) for r in rows)]
    judged = []
    for r in rows:
        truth = truth_of(r, known, aside, taken, own)
        if not truth or r["low"] is None or max(r["baseline"], r["candidate"]) < JUDGED * whole:
            continue
        if r["name"] == "waiting" and SEVERAL & answer["weights"].keys():  # what two do at once counts twice
            continue
        judged.append(dict(r, truth=truth, share=r["difference"]))
    return judged


def named(answer):
    """The class of the largest difference that is certain; waiting has no classes. None: nothing is certain."""
    rows = [r for r in measured_of(answer)["parts"] if r["certain"] and (r["level"] == "category" or r["name"] == "waiting")]
    return max(rows, key=lambda r: abs(r["difference"]), default=None)


def said_first(answer):
    """The class that the answer names first."""
    text = answer["answer"].get("cause") or ""
    places = []
    for r in measured_of(answer)["parts"]:
        if r["level"] == "category" or r["name"] == "waiting":
            at = re.search(r"[-+][0-9.]+ s " + re.escape(r["name"]), text)
            places += [(at.start(), r["name"])] if at else []
    return min(places)[1] if places else None


def is_class_of(name, part):
    if name == FILTERS:
        return part in KERNEL and part not in ("faults", "sleeping")
    if name == "waiting":
        return part == "sleeping" or part in SEVERAL
    return part != "sleeping" and part in (parts_of(name) or ())


# ---- the page ----

def row(what, right, of, bar=""):
    print(f"| {what} | {right:g} of {of} | {f'{right / of:.3f}' if of else ''} | {bar} |")


def upper_limit(k, n):
    """The one-sided upper 95 % limit of a share (Clopper and Pearson)."""
    if k == n:
        return 1.0
    low, high = k / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        below, term = 0.0, (1 - middle) ** n
        for i in range(k + 1):
            below += term
            term *= (n - i) / (i + 1) * middle / (1 - middle)
        low, high = (middle, high) if below > .05 else (low, middle)
    return high


def ms(seconds):
    return f"{1000 * seconds:+.0f}"


def cell(answer):
    """What is named, with its difference in ms, beside what the part took more by its own account."""
    first, known = named(answer), difference_of(answer)
    true = known["waiting"] if answer["part"] == "sleeping" else known.get(answer["part"], 0)
    if not first:
        return f"nothing ({ms(true)})"
    return ("" if is_right(first["name"], answer) else f"**{first['name']}** ") + f"{ms(first['difference'])} ({ms(true)})"


def intervals(rows, what, bar=""):
    sharp = [r for r in rows if is_sharp(r)]
    row(what, round(sum(map(held, sharp)), 1), len(sharp), bar)


def is_right(name, answer):
    """Reports whether the class holds the part that was raised, or one that changed by more in these very runs, as the program itself says."""
    known = difference_of(answer)
    known["sleeping"] = known.get("waiting", 0)
    raised = abs(known.get(answer["part"], 0))
    return bool(name) and any(is_class_of(name, p) and abs(known.get(p, 0)) >= raised for p in USER + KERNEL)


def section(work, where, out):
    all_of = answers(work, where)
    changed = [a for a in all_of if a["part"]]
    same = [a for a in all_of if not a["part"]]
    large = [a for a in changed if a["raise"] >= 10]
    rows = {a["name"]: judge(a) for a in all_of}
    for a in all_of:
        for r in rows[a["name"]]:
            out.writerow([where, a["name"], *(f"{x:.2f}" for x in a["load"]), measured_of(a)["runs_baseline"], r["level"], r["name"],
                          *(f"{r[k]:.6f}" for k in ("baseline", "candidate", "difference", "low", "high")), int(r["certain"]),
                          *(f"{x:.6f}" for x in r["truth"])])
    right = {a["name"]: is_right((named(a) or {}).get("name"), a) for a in changed}
    loads = [x for a in all_of for x in a["load"]]
    runs = [measured_of(a)["runs_baseline"] for a in all_of]
    print(f"{len(changed)} pairs that differ and {len(same)} that do not; {min(runs)} to {max(runs)} runs of each version; load {min(loads):.1f} to "
          f"{max(loads):.1f}.\n")
    print("| measured | | | bar |\n| --- | ---: | ---: | ---: |")
    row("class named first is right, 10 % and more", sum(right[a["name"]] for a in large), len(large), "0.95")
    for more in RAISES:
        of = [a for a in changed if a["raise"] == more]
        row(f"raised by {more} %", sum(right[a["name"]] for a in of), len(of))
    row("another class is named first, all sizes", sum(bool(named(a)) and not right[a["name"]] for a in changed), len(changed))
    row("the sentence names the right class first, 10 % and more", sum(is_right(said_first(a), a) for a in large), len(large))
    every = [r for rs in rows.values() for r in rs]
    intervals(every, "95 % intervals of seconds that hold the truth", "0.92")
    intervals([r for r in every if r["level"] == "time"], "of these, levels")
    intervals([r for r in every if r["level"] != "time"], "of these, classes")
    intervals([r for a in changed for r in rows[a["name"]] if is_class_of(r["name"], a["part"])], "of these, the class that was raised")
    row("all intervals that meet the truth or its range", sum(map(covered, every)), len(every))
    if same:
        called = sum(named(a) is not None for a in same)
        row(f"unchanged pairs of which a class is called (upper 95 % limit {upper_limit(called, len(same)):.3f})", called, len(same), "0.05")
    print("\nNamed first, with its measured difference in ms; in brackets what the part took more by its own account. Bold: another class.\n")
    print("| raised part | " + " | ".join(f"{m} %" for m in RAISES) + " |\n| --- |" + " ---: |" * len(RAISES))
    by = {(a["part"], a["raise"]): a for a in changed}
    for part in USER + KERNEL:
        if any((part, m) in by for m in RAISES):
            print(f"| {part} | " + " | ".join(cell(by[part, m]) if (part, m) in by else "not measured" for m in RAISES) + " |")
    for a in same:
        first = named(a)
        if first:
            print(f"\nCalled though nothing differs: {a['name']} ({' '.join(f'{p}={w}' for p, w in a['weights'].items())}): {first['name']} "
                  f"{ms(first['difference'])} ms ({ms(first['low'])} to {ms(first['high'])}).")
    print()


def inferred(work):
    """In how many pairs the fingerprints say which groups of stressors changed most, and whether these do what was raised."""
    large = [a for a in answers(work, "hosts") if a["part"] in STANDS and a["raise"] >= 10]
    told = right = 0
    for a in large:
        inferred_of = a["answer"].get("contributions") or {}
        leading = [g for g in inferred_of.get("groups") or [] if g["name"] in (inferred_of.get("leading") or [])]
        told += bool(leading)
        right += bool(leading) and bool(set(STANDS[a["part"]]) & set(leading[0]["members"]))
    print("## What the inferred part says\n")
    print("The pairs on the hosts of 10 % and more whose raised part has stressors that do the same: in how many the fingerprints name groups of")
    print("stressors one of which changed most (`contributions.leading`), and in how many of these the first does what was raised.\n")
    print("| measured | | | bar |\n| --- | ---: | ---: | ---: |")
    row("groups are named", told, len(large))
    row("of these, the first is right", right, told)


def page(work, table):
    with open(table, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow("where pair load_before load_after runs level name baseline candidate difference low high certain truth_low truth_high".split())
        print("## On one machine: `assay diff`\n")
        section(work, "here", out)
        print("## On six emulated hosts: `assay gate`\n")
        if answers(work, "hosts"):
            section(work, "hosts", out)
            inferred(work)
        else:
            print("Not measured: COMPARISON_HOSTS=no.")


if __name__ == "__main__":
    {"here": here, "hosts": hosts, "page": page}[sys.argv[1]](*sys.argv[2:])
