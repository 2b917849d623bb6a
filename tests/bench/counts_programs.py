"""Counts by doses (assay profile --here --shapes), held against what programs do: tests/bench/counted.c, and real ones under strace -c. And
what a slower processor costs, held against what tests/apps/composed.c says of how long it had one.

    counts_programs.py measure ASSAY COUNTED WORK     appends to WORK/counts.jsonl what is not there yet, a line a program
    counts_programs.py sense ASSAY COMPOSED WORK      likewise, to WORK/sensed.jsonl
    counts_programs.py page WORK CSV                  the page's tables; every row of every answer to CSV
    counts_programs.py sensed_page WORK               the table of what a slower processor costs

COUNTS_ONLY=N measures the first N programs alone.
"""
import csv
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

BUDGET = "1"
CLASSES = {  # name in the answer: what counted.c calls it
    "reading and writing": "data", "file metadata": "metadata", "mapping memory": "mapping", "processes and signals": "processes",
    "synchronisation": "synchronisation", "network and pipes": "network", "waiting for events": "events", "time": "time", "other calls": "other",
    "allocations and releases": "allocations", "comparisons of qsort and bsearch": "comparisons"}
SEEN = 3000  # the notes' floor: fewer are told apart from none only in long programs

MADE = [
    dict(loops=60, data=60000, metadata=30000), dict(loops=100, mapping=40000, allocations=150000), dict(loops=40, synchronisation=90000, time=25000),
    dict(loops=150, comparisons=120000, other=50000), dict(loops=80, network=45000, events=20000), dict(loops=30, processes=200000, data=20000),
    dict(loops=200), dict(loops=60, metadata=120000, allocations=60000, time=60000)]
REAL = [
    ["sh", "-c", "grep -rc struct /usr/include/x86_64-linux-gnu | tail -n 1"], ["sh", "-c", "tar cf - /usr/include/linux 2>/dev/null | cat >/dev/null"],
    ["sh", "-c", "find /usr/share/doc -type f | wc -l"], ["sh", "-c", "dd if=/dev/zero bs=512 count=100000 2>/dev/null | cat >/dev/null"],
    ["sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i+1 from n where i<200000) select count(*),sum(i%7) from n group by i%100"]]


def programs(counted):
    made = [[counted, *(f"{k}={v}" for k, v in c.items())] for c in MADE]
    return [p for pair in itertools.zip_longest(made, REAL) for p in pair if p]


# ---- the truth ----

def class_table(source="fleet/shape/calls.c"):
    """Of each system call its class, as the sources have it."""
    names = {"data": "reading and writing", "metadata": "file metadata", "mapping": "mapping memory", "processes": "processes and signals",
             "synchronisation": "synchronisation", "sockets": "network and pipes", "events": "waiting for events", "time_calls": "time"}
    found = {}
    with open(source, encoding="utf-8") as lines:
        for name, calls in re.findall(r"static const short (\w+)\[\] = \{(.*?)\};", lines.read(), re.S):
            for call in re.findall(r"SYS_(\w+)", calls):
                found[call] = names[name]
    return found


def truth_of(words):
    """System calls by strace -c; of what counted.c is told also the rest."""
    table = class_table()
    truth = dict.fromkeys(CLASSES, 0)
    with tempfile.NamedTemporaryFile("r") as out:
        subprocess.run(["strace", "-f", "-c", "-U", "name,calls", "-o", out.name, *words], stdout=subprocess.DEVNULL, check=True)
        for row in out.read().splitlines():
            part = row.split()
            if len(part) == 2 and part[1].isdigit() and part[0] != "total":
                truth[table.get(part[0], "other calls")] += int(part[1])
    told = dict(w.split("=") for w in words[1:] if re.fullmatch(r"[a-z]+=\d+", w))
    for name in ("allocations and releases", "comparisons of qsort and bsearch"):
        truth[name] = int(told.get(CLASSES[name], 0)) if told else None
    return truth


# ---- measuring ----

def lines_of(path):
    try:
        with open(path, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []


def answers(work):
    return lines_of(os.path.join(work, "counts.jsonl"))


def measure(assay, counted, work):
    done = [a["words"][1:] for a in answers(work)]
    for words in programs(counted)[:int(os.environ.get("COUNTS_ONLY", "99"))]:
        if words[1:] in done:
            continue
        print(" ".join(words), file=sys.stderr)
        load = [os.getloadavg()[0]]
        said = subprocess.run([assay, "profile", "--here", "--shapes", "--quiet", "--budget", BUDGET, "--format", "json", "--", *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        load.append(os.getloadavg()[0])
        if said.returncode:
            sys.exit(said.stderr)
        answer = json.loads(said.stdout)
        with open(os.path.join(work, "counts.jsonl"), "a", encoding="utf-8") as out:
            out.write(json.dumps({"words": words, "load": load, "counts": answer["counts"], "cpu_s": answer["cpu_s"], "truth": truth_of(words)}) + "\n")


# ---- what is slower ----

SENSED = [["arithmetic=100"], ["arithmetic=50", "sleeping=50"], ["arithmetic=25", "sleeping=75"], ["arithmetic=50", "file-data=25", "sleeping=25"],
          ["sorting=40", "memory=35", "sleeping=25"], ["sleeping=100"]]
SENSED_RUNS = 5


def processor_share(composed, words):
    """How much of its time, without what others kept it waiting for, it had a processor."""
    cpu = whole = 0
    for _ in range(SENSED_RUNS):
        said = subprocess.run([composed, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
        rows = [[float(v) for v in line.split(",")[2:]] for line in said.splitlines()]
        cpu += sum(r[1] for r in rows)
        whole += sum(r[0] - r[4] for r in rows)
    return cpu / whole


def sense(assay, composed, work):
    path = os.path.join(work, "sensed.jsonl")
    done = [a["words"] for a in lines_of(path)]
    for parts in SENSED:
        words = [*parts, "seconds=.2", "work=fixed"]
        if words in done:
            continue
        print(" ".join(words), file=sys.stderr)
        before = processor_share(composed, words)
        said = subprocess.run([assay, "profile", "--here", "--shapes", "--dearer", "quota", "--quiet", "--budget", BUDGET, "--format", "json", "--", composed,
                               *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if said.returncode:
            sys.exit(said.stderr)
        told = {s["name"]: s for s in json.loads(said.stdout)["sensitivities"]}
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps({"words": words, "told": told, "truth": (before + processor_share(composed, words)) / 2}) + "\n")


def sensed_truth(answer, name):
    """From, to: of the processor how much of its time the program had one. A quota takes no longer than that, and no shorter than until the
    program has had all of its time: what it sleeps for may pass while it has used its quota up."""
    share, dose = answer["truth"], answer["told"][name]["dose"]  # 1: twice as long
    return (min(max((1 + dose) * share - 1, 0) / dose, share) if name == "quota" else share), share


def sensed_page(work):
    all_of = lines_of(os.path.join(work, "sensed.jsonl"))
    print("\n| program | had a processor | a slower one costs | 90 % interval | a quota should cost | costs | 90 % interval |\n"
          "| --- | ---: | ---: | --- | ---: | ---: | --- |")
    for a in all_of:
        row = [" ".join(w for w in a["words"] if w.split("=")[0] not in ("seconds", "work")), f"{a['truth']:.2f}"]
        for name in ("processor", "quota"):
            s = a["told"][name]
            if name == "quota":
                row.append("" if s["cost"] is None else "{:.2f} to {:.2f}".format(*sensed_truth(a, name)))
            row += [s["refused"] or "not told from nothing", ""] if s["cost"] is None else [f"{s['cost']:.2f}", f"{s['low']:.2f} to {s['high']:.2f}"]
        print("| " + " | ".join(row) + " |")
    for name in ("processor", "quota"):
        rows = [(a["told"][name], *sensed_truth(a, name)) for a in all_of if a["told"][name]["cost"] is not None]
        errors = [max(low - s["cost"], s["cost"] - high, 0) for s, low, high in rows]
        print(f"\n{name}: {sum(s['low'] <= high and s['high'] >= low for s, low, high in rows)} of {len(rows)} intervals hold it, off by "
              f"{sum(errors) / max(len(rows), 1):.2f} on the average, by {max(errors, default=0):.2f} at most.")


# ---- the page ----

def rows_of(answer):
    for c in answer["counts"]["calls"]:
        true = answer["truth"][c["name"]]
        if c["count"] is not None and true is not None:
            yield dict(c, true=true, held=c["low"] <= true <= c["high"])


def shown(words):
    return " ".join(["counted" if i == 0 and w.endswith("/counted") else w for i, w in enumerate(words)]).replace("|", "\\|")


def page(work, table):
    all_of = answers(work)
    rows = [dict(r, words=shown(a["words"]), load=a["load"], cpu_s=a["cpu_s"]) for a in all_of for r in rows_of(a)]
    with open(table, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow("program cpu_s load_before load_after class true count low high dose_ns runs held".split())
        for r in rows:
            out.writerow([r["words"], r["cpu_s"], *r["load"], r["name"], r["true"], r["count"], r["low"], r["high"], r["dose_ns"], r["runs"], int(r["held"])])
    many = [r for r in rows if r["true"] >= SEEN]
    errors = sorted(abs(r["count"] / r["true"] - 1) for r in many)
    print("| measured | | goal |\n| --- | --- | --- |")
    print(f"| 90 % intervals that hold the true count, {len(all_of)} programs | {sum(r['held'] for r in rows)} of {len(rows)} "
          f"({sum(r['held'] for r in rows) / max(len(rows), 1):.2f}) | .90 |")
    print(f"| of these, of {SEEN} and more | {sum(r['held'] for r in many)} of {len(many)} | |")
    if errors:
        print(f"| error of counts of {SEEN} and more, median | {100 * errors[len(errors) // 2]:.0f} % | |")
    print(f"| told from none (low above 0) where there are {SEEN} and more | {sum(r['low'] > 0 for r in many)} of {len(many)} | |")
    print(f"| seen where there are none | {sum(r['low'] > 0 for r in rows if r['true'] == 0)} of {sum(r['true'] == 0 for r in rows)} | |\n")
    print("| program | CPU, s | load | class | true | counted | 90 % interval |\n| --- | ---: | --- | --- | ---: | ---: | ---: |")
    for r in sorted(many, key=lambda r: (r["words"], -r["true"])):
        print(f"| {r['words']} | {r['cpu_s']:.2f} | {r['load'][0]:.0f} to {r['load'][1]:.0f} | {r['name']} | {r['true']:,} | {r['count']:,.0f} | "
              f"{r['low']:,.0f} to {r['high']:,.0f}{'' if r['held'] else ' (not held)'} |")


if __name__ == "__main__":
    {"measure": measure, "sense": sense, "page": page, "sensed_page": sensed_page}[sys.argv[1]](*sys.argv[2:])
