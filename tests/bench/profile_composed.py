"""Profiles of programs of known composition, held against what they say of themselves (tests/apps/composed.c).

    profile_composed.py measure ASSAY COMPOSED WORK     appends to WORK/composed.jsonl what is not there yet, a line an answer
    profile_composed.py page WORK CSV                   the section of the page; every row of every answer to CSV

Thirty compositions, some picked, some drawn (PROFILE_SEED), get BUDGET_S each; further ones are drawn for the intervals alone, and get less.
With PROFILE_SLICE, seconds, `measure` ends after about so long, with status 75, when there is more to do: a further call goes on.
"""
import collections
import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import traced

BUDGET_S, MORE_BUDGET_S = 8, 3
RUN_S = .5
SEED, MORE = int(os.environ.get("PROFILE_SEED", "17")), 180
MORE_TO_DO = 75
PICKED = [{part: 100} for part in ("arithmetic", "strings", "allocation", "file-data", "file-metadata", "faults", "locks", "sockets")] + [
    {"arithmetic": 30, "file-data": 20, "strings": 20, "sorting": 15, "mapping": 15},  # was trusted and wrong by machines alone
    {"caches": 50, "memory": 50},
    {"processes": 60, "file-metadata": 40},
    {"sleeping": 70, "vectors": 30},
    {"branches": 40, "file-data": 30, "sleeping": 30},
    {"faults": 50, "allocation": 50},
]
USER = ("arithmetic", "vectors", "branches", "caches", "memory", "strings", "sorting", "allocation")
KERNEL = ("file-data", "file-metadata", "mapping", "faults", "processes", "locks", "sockets", "sleeping")
SEVERAL = {"processes", "locks"}  # of which more than one process or thread is at work
OWN = ("arithmetic", "vectors", "branches", "caches", "memory")
LOOPS = {"strings": (0, .03), "allocation": (0, .1), "sorting": (.2, .5)}  # in the program's own code: instructions say .01, .05, .24
COUNTED = .02  # rows that are judged: the answer or the truth gives them as much of the time
READING_S = 5e-9  # so much of a call may be on the other side of where the time stamp is read
TIE = .02  # nobody leads by less

# Rows of an answer, by their names, and the parts that they should hold. What no row matches is not judged.
ROWS = [
    (r"own code", OWN),
    (r"^C library", ("strings", "sorting", "allocation")),
    (r"string", ("strings",)),
    (r"sort", ("sorting",)),
    (r"alloc", ("allocation",)),
    (r"reading and writing|file data", ("file-data",)),
    (r"names and attributes|metadata", ("file-metadata",)),
    (r"mapping", ("mapping",)),
    (r"page fault", ("faults",)),
    (r"^process", ("processes",)),
    (r"^synchron", ("locks",)),
    (r"^network", ("sockets",)),
    (r"^time$", ("sleeping",)),
]


def compositions():
    """(weights, budget) in the order in which they are measured."""
    draw = random.Random(SEED)
    found = [(dict(c), BUDGET_S) for c in PICKED]
    while len(found) < 30 + MORE:
        parts = draw.sample(USER + KERNEL, draw.randint(1, 5))
        left = 20
        weights = {}
        for i, part in enumerate(parts):  # in steps of 5 %, at least one each
            rest = len(parts) - i - 1
            weights[part] = 5 * (left if rest == 0 else draw.randint(1, left - rest))
            left -= weights[part] // 5
        found.append((weights, BUDGET_S if len(found) < 30 else MORE_BUDGET_S))
    return found


def words(weights):
    return [f"{part}={weight}" for part, weight in weights.items()]


# ---- measuring ----

def slice_ends():
    """The time at which this call has to end."""
    return time.monotonic() + float(os.environ.get("PROFILE_SLICE", "inf"))


def slice_check(ends):
    if time.monotonic() > ends:
        print("the slice is over; the same call goes on", file=sys.stderr)
        sys.exit(MORE_TO_DO)


def ask(command, scratch):
    said = subprocess.run(command, env={**os.environ, "TMPDIR": scratch}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if said.returncode:
        sys.exit(f"{' '.join(command)}: {said.stderr}")
    return said.stdout


def truth_lines(path):
    with open(path, encoding="utf-8") as lines:
        return lines.read()


def roots_of(truth):
    return {int(line.split(",")[0]) for line in truth.splitlines()}


def measure(assay, composed, work):
    path = os.path.join(work, "composed.jsonl")
    done = {tuple(a["words"]) + (a["budget"],) for a in answers(work)}
    ends = slice_ends()
    for n, (weights, budget) in enumerate(compositions(), 1):
        if tuple(words(weights)) + (budget,) in done:
            continue
        slice_check(ends)
        print(f"{n} of {30 + MORE}: {' '.join(words(weights))}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as scratch:
            truth = os.path.join(scratch, "truth")
            load = [os.getloadavg()[0]]
            command = [assay, "stat", "--budget", str(budget), "--format", "json", "--", composed, *words(weights), f"seconds={RUN_S}",
                       f"truth={truth}"]
            answer = {"words": words(weights), "budget": budget, "load": load}
            if SEVERAL & weights.keys() and traced.possible():
                with traced.scheduling(os.path.basename(composed)) as trace:
                    trace.put("tracing_on", "1")
                    said = ask(command, scratch)
                    trace.put("tracing_on", "0")
                    answer["truth"] = truth_lines(truth)
                    answer["withheld"] = traced.withheld(trace.lines(), os.path.basename(composed), roots_of(answer["truth"]))
            else:
                said = ask(command, scratch)
                answer["truth"] = truth_lines(truth)
            load.append(os.getloadavg()[0])
            answer["answer"] = json.loads(said)
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps(answer) + "\n")


def answers(work):
    try:
        with open(os.path.join(work, "composed.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []


# ---- the truth ----

def run_seconds(rows, idle=None):
    """Returns the seconds of one run by level and by part; rows: part -> seconds of each kind. `small`: of what is before and beside
    the turns it is not known whether it was the kernel's. `idle`: seconds for which, by the kernel's trace, none of its threads and
    processes was charged for a processor, less those for which one was ready and others had all of them. Without, waiting is what is left of each turn's
    time; of several at work that would be too little, for what two of them compute at once is counted twice, and hides as much of the waiting."""
    levels = collections.Counter()
    parts = collections.Counter()
    for part, (wall, cpu, _, _, delay, calls, mapping, n, touching) in rows.items():
        waited = wall - cpu - delay
        if part in USER:
            computed = cpu
        elif part in KERNEL:
            running = cpu / (cpu + delay) if cpu > 0 else 0
            outside = max(wall - calls - mapping, 0) * running
            computed = min(outside * (2 if part == "locks" else 1) + touching * running / 2, cpu)  # of two threads that do the same
            levels["small"] += n * READING_S + touching * running / 2
            parts["touching"] += touching * running / 2
        else:
            computed = cpu / 2
            levels["small"] += cpu / 2
            waited = max(waited, 0)  # the beginning's processor time has more of it than its wall-clock time
        levels["compute"] += computed
        levels["kernel"] += cpu - computed
        levels["waiting"] += waited
        freed = mapping / wall * (cpu - computed) if part == "faults" else 0
        parts["mapping"] += freed
        parts[part] += computed if part in USER else cpu - computed - freed
        parts["calling"] += computed if part in KERNEL else 0
    if idle is not None:
        levels["waiting"] = idle
    levels["waiting"] = max(levels["waiting"], 0)
    return levels, parts


def run_truth(rows, idle=None):
    """Returns the shares of the time of one run by level and by part."""
    levels, parts = run_seconds(rows, idle)
    whole = levels["compute"] + levels["kernel"] + levels["waiting"]
    return {k: v / whole for k, v in levels.items()}, {k: v / whole for k, v in parts.items()}


def truth_of(text, withheld=None):
    runs = collections.defaultdict(dict)
    for process, part, *values in csv.reader(text.splitlines()):
        runs[process][part] = [float(v) for v in values]
    both = [run_truth(rows, withheld and withheld[process][1]) for process, rows in runs.items()]
    return tuple({k: sum(b[i].get(k, 0) for b in both) / len(both) for k in set().union(*(b[i] for b in both))} for i in (0, 1))


# ---- an answer against it ----

def parts_of(name):
    return next((parts for pattern, parts in ROWS if re.search(pattern, name)), None)


def row_truth(parts, truth, aside):
    """From, to: loops around the library's functions are the program's own code or may be called the library's; calls of the kernel pass
    either; what the answer sets aside of the kernel's work (entries, switches) may be in a class or not."""
    low = high = sum(truth.get(part, 0) for part in parts)
    if parts == ("faults",):
        low, high = low - truth.get("touching", 0), high + truth.get("touching", 0)
    if parts == ("strings",):
        high += .1 * truth.get("sorting", 0)  # which copies
    if parts == OWN:
        low += sum(truth.get(part, 0) * least for part, (least, _) in LOOPS.items())
        high += sum(truth.get(part, 0) * most for part, (_, most) in LOOPS.items()) + truth.get("calling", 0) + truth.get("touching", 0)
    elif parts == ("calling",):
        low = 0
    elif parts[0] in USER:
        low -= sum(truth.get(part, 0) * (LOOPS[part][1] + .1 * (part == "sorting")) for part in parts)
        high -= sum(truth.get(part, 0) * LOOPS[part][0] for part in parts)
        high += truth.get("calling", 0) if len(parts) > 1 else 0
    else:
        low -= aside * low
    return low, high + truth.get("beginning", 0) + truth.get("beside", 0)  # of what those are made is not known


def split(answer):
    """Its rows of the first level, and those of categories."""
    return [r for r in answer["levels"] if r["level"] == "time"], [r for r in answer["levels"] if r["level"] == "category"] + (answer.get("categories") or [])


def judge(answer):
    """Rows: level, name, answer, truth from and to, judged or not."""
    levels, parts = truth_of(answer["truth"], answer.get("withheld"))
    said = answer["answer"]
    rows = []
    time_rows, categories = split(said)
    taken = sum(r["share"] for r in categories if re.search("interrupt|switching", r["name"]))  # from whatever was at work
    for r in time_rows:
        known, small = levels[r["name"]], levels.get("small", 0) * (r["name"] != "waiting")
        more, less = taken * (r["name"] == "kernel"), taken * (r["name"] == "compute")
        truth = (max(known - small - less, 0), known + small + more)
        rows.append(dict(r, known=known, truth=truth, judged=max(r["share"], truth[1]) >= COUNTED, parts=None))
    kernel = sum(r["share"] for r in categories if r["of"] == "kernel")
    aside = sum(r["share"] for r in categories if r["of"] == "kernel" and not parts_of(r["name"])) / kernel if kernel else 0
    met = set()
    own = [part for part in ("strings", "sorting", "allocation") if any(parts_of(r["name"]) == (part,) for r in categories)]
    for r in categories:
        of = parts_of(r["name"])
        if of and len(of) > 1 and of != OWN:  # what has a row of its own is not in the library's rest
            of = tuple(part for part in of if part not in own) or ("calling",)
        truth = row_truth(of, parts, aside) if of else (None, None)
        if of and r["of"] == "compute":
            truth = truth[0] * (1 - taken / max(levels["compute"], taken, 1e-9)), truth[1]
        met |= set(of or ())
        rows.append(dict(r, truth=truth, judged=bool(of) and max(r["share"], truth[1]) >= COUNTED, parts=of))
    for part in set(USER + KERNEL) - met:  # of which the answer has nothing
        if categories and parts.get(part, 0) >= COUNTED:
            rows.append({"level": "category", "name": f"({part})", "share": 0.0, "low": 0.0, "high": 0.0, "verdict": "", "parts": (part,),
                         "of": "compute" if part in USER else "kernel", "truth": (parts[part],) * 2, "judged": part != "sleeping"})
    return rows


def error_of(row):
    low, high = row["truth"]
    return max(low - row["share"], row["share"] - high, 0)


def covered(row):
    low, high = row["truth"]
    return row["low"] is not None and row["low"] <= high + 1e-9 and row["high"] >= low - 1e-9


def is_sharp(row):
    """Is the truth known well enough to say whether the interval is too wide?"""
    return row["truth"][1] - row["truth"][0] <= .5 * (row["high"] - row["low"])


def held(row):
    """How much of the truth's range the interval holds, [0, 1]: so probable it is that it holds the truth, which may be anywhere there."""
    low, high = row["truth"]
    if high - low < 1e-9:
        return float(covered(row))
    return max(min(high, row["high"]) - max(low, row["low"]), 0) / (high - low)


def leads(rows):
    """(its leading row, the truth's, whether they are the same or nearly as large)"""
    rows = [r for r in rows if r["truth"][1] is not None]
    if not rows:
        return None, None, False
    ours, true = max(rows, key=lambda r: r["share"]), max(rows, key=lambda r: r["truth"][1])
    return ours, true, ours["truth"][1] >= true["truth"][0] - TIE


def trusted(rows, but=()):
    return bool(rows) and all(r["verdict"] == "trusted" for r in rows if r["share"] >= .05 and r["name"] not in but)


def has_several(answer):
    return bool(SEVERAL & {word.split("=")[0] for word in answer["words"]})


def summary(answer):
    rows = judge(answer)
    one = {"levels": [r for r in rows if r["level"] == "time"], "categories": [r for r in rows if r["level"] != "time"]}
    return {"answer": answer, "rows": rows, **{k: (trusted(v), *leads(v), v) for k, v in one.items()}}


# ---- the page ----

def percent(value):
    return "" if value is None else f"{100 * value:.1f}"


def mean(values):
    values = list(values)
    return f"{100 * sum(values) / len(values):.1f} points ({len(values)})" if values else "none"


def line(s):
    answer, (level_trusted, _, _, level_right, levels), (cat_trusted, ours, true, cat_right, _) = s["answer"], s["levels"], s["categories"]
    by = {r["name"]: r for r in levels}
    judged = [r for r in s["rows"] if r["judged"]]
    told = answer["answer"]
    return "| " + " | ".join([
        " ".join(answer["words"]), f"{answer['load'][0]:.1f} to {answer['load'][1]:.1f}", percent(told["delay"]), str(told["runs"]),
        " ".join(f"{percent(by[n]['share'])} ({percent(by[n]['known'])})" for n in ("compute", "kernel", "waiting")),
        ("trusted" if level_trusted else "indicative") + ("" if level_right else ", wrong"),
        f"{ours['name']} {percent(ours['share'])} ({percent(ours['truth'][0])} to {percent(ours['truth'][1])})" if ours else "none",
        ("trusted" if cat_trusted else "indicative" if ours else "") + ("" if cat_right or not ours else f", wrong: {true['name']}"),
        f"{sum(covered(r) for r in judged)} of {len(judged)}"]) + " |"


def counts(named, goal_levels, goal_categories):
    n = len(named)
    enough = sum(trusted(s["levels"][4], ("waiting",) if has_several(s["answer"]) else ()) for s in named)
    print(f"| trusted at compute and kernel, and at waiting but of several at once | {enough} of {n} | {goal_levels} |")
    for key, goal in (("levels", ""), ("categories", goal_categories)):
        t = [s for s in named if s[key][0]]
        right = sum(s[key][3] for s in t)
        what = "compute, kernel, waiting" if key == "levels" else "categories"
        print(f"| trusted at {what} | {len(t)} of {n} | {goal} |")
        print(f"| of these, right in what leads | {right} of {len(t)} | .95 |")


def page(work, table):
    all_of = [summary(a) for a in answers(work)]
    thirty = [s for s in all_of if s["answer"]["budget"] == BUDGET_S]
    judged = [r for s in all_of for r in s["rows"] if r["judged"]]
    with open(table, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow("composition budget_s load_before load_after runs delay doubt level name share low high verdict truth_low truth_high judged".split())
        for s in all_of:
            a = s["answer"]
            for r in s["rows"]:
                out.writerow([" ".join(a["words"]), a["budget"], *a["load"], a["answer"]["runs"], a["answer"]["delay"], a["answer"]["doubt"],
                              r["level"], r["name"], r["share"], r["low"], r["high"], r["verdict"], *r["truth"], int(r["judged"])])
    intervals = [r for r in judged if r["low"] is not None]
    kernel = [r for r in judged if r["level"] != "time" and r["of"] == "kernel"]
    user = [r for r in judged if r["level"] != "time" and r["of"] == "compute"]
    waiting = [r for r in judged if r["name"] == "waiting"]
    print("| measured | | goal |\n| --- | --- | --- |")
    counts(thirty, "27", "20")
    sharp = [r for r in intervals if is_sharp(r)]
    print(f"| intervals that hold the truth, where that is known well enough, all {len(all_of)} compositions | {sum(map(held, sharp)):.1f} of {len(sharp)} "
          f"({sum(map(held, sharp)) / max(len(sharp), 1):.3f}) | .90 ± .03 of at least 400 |")
    several = [id(r) for s in all_of if has_several(s["answer"]) for r in s["rows"]]
    waits = [r for r in sharp if r["name"] == "waiting"]
    for what, rows in (("computing and the kernel", [r for r in sharp if r["level"] == "time" and r["name"] != "waiting"]),
                       ("waiting, of one thread", [r for r in waits if id(r) not in several]),
                       ("waiting, of several at work (processes, locks)", [r for r in waits if id(r) in several]),
                       ("categories", [r for r in sharp if r["level"] != "time"])):
        print(f"| of these, {what} | {sum(map(held, rows)):.1f} of {len(rows)} | |")
    print(f"| all intervals that meet the truth or its range | {sum(map(covered, intervals))} of {len(intervals)} | |")
    print(f"| mean error of waiting and of the kernel's classes | {mean(map(error_of, kernel + waiting))} | 5 points |")
    print(f"| of these, of trusted rows | {mean(error_of(r) for r in kernel + waiting if r['verdict'] == 'trusted')} | |")
    print(f"| mean error of user categories | {mean(map(error_of, user))} | 10 points |\n")
    print("| composition | load | delay, % | runs | computing, kernel, waiting, %: answer (truth) | level | leading category, % | category | intervals |")
    print("| --- | --- | ---: | ---: | --- | --- | --- | --- | --- |")
    for s in thirty:
        print(line(s))


if __name__ == "__main__":
    {"measure": measure, "page": page}[sys.argv[1]](*sys.argv[2:])
