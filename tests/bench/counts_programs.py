"""Counts by doses (assay profile --here --shapes), held against what programs do: tests/bench/counted.c, and real ones under strace -c.

    counts_programs.py measure ASSAY COUNTED WORK     appends to WORK/counts.jsonl what is not there yet, a line a program
    counts_programs.py page WORK CSV                  the page's tables; every row of every answer to CSV

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

def answers(work):
    try:
        with open(os.path.join(work, "counts.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []


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
    {"measure": measure, "page": page}[sys.argv[1]](*sys.argv[2:])
