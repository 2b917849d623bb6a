"""Programs of known composition on the emulated fleet, and on two hosts of one type that sample nothing: what `assay profile` says of them,
beside what they say of themselves.

    profile_fleet.py measure ASSAY COMPOSED WORK [N]    the first N (30) compositions of profile_composed.py; goes on where it ended
    profile_fleet.py page WORK
"""
import json
import os
import shutil
import subprocess
import sys

from profile_composed import COUNTED, SEVERAL, compositions, counts, covered, error_of, mean, percent, summary, truth_of, words

STANDS = {"arithmetic": ("cpu", "branch"), "vectors": ("cpu",), "branches": ("branch", "cpu"), "caches": ("stream",), "memory": ("stream",),
          "strings": ("str",), "sorting": ("qsort",), "allocation": ("malloc",), "file-data": ("seek", "zero"), "file-metadata": ("utime", "rename"),
          "mapping": ("mmap", "brk"), "faults": ("fault", "mmap"), "sockets": ("zero", "seek")}  # for the parts; the others have no stressor here

LIBRARY = ("C library", "string functions", "sorting and searching", "allocation")


def run(assay, lab, *arguments, ok=(0,)):
    said = subprocess.run([assay, "-C", lab, *arguments], capture_output=True, text=True, check=False)
    if said.returncode not in ok:
        sys.exit(f"{' '.join(arguments)}: {said.stderr[-2000:]}")
    return said


def manifest(lab, composed, chosen, sampling):
    lines = ["files: [composed]", f"command: ['{{files}}/composed', '{{arguments}}', seconds=.2, work=fixed, 'truth={lab}/truth-{{input}}']",
             "versions: { v: }", "repetitions: 3", "warm_ups: 0", "metric: cpu", f"sampling: {sampling}", "inputs:"]
    lines += [f"  - {{ name: c{i:02}, arguments: [{', '.join(words(weights))}] }}" for i, weights in enumerate(chosen, 1)]
    os.makedirs(os.path.join(lab, "apps"), exist_ok=True)
    shutil.copy(composed, os.path.join(lab, "apps", "composed"))
    with open(os.path.join(lab, "apps", "composed.yaml"), "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


def answers_of(assay, lab, chosen, path, load):
    for i, weights in enumerate(chosen, 1):
        said = run(assay, lab, "profile", f"composed/c{i:02}@v", "--format", "json", ok=(0, 4))
        with open(os.path.join(lab, f"truth-c{i:02}"), encoding="utf-8") as truth, open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps({"words": words(weights), "load": load, "answer": json.loads(said.stdout), "truth": truth.read(), "said": said.stderr}) + "\n")


def fleet(assay, composed, work, name, chosen, up, sampling="on"):
    path = os.path.join(work, f"{name}.jsonl")
    if os.path.exists(path):
        return
    lab = os.path.join(work, name)
    shutil.rmtree(lab, ignore_errors=True)
    load = [os.getloadavg()[0]]
    subprocess.run([assay, "host", "up", lab, *up], check=True, stdout=subprocess.DEVNULL)
    try:
        manifest(lab, composed, chosen, sampling)
        run(assay, lab, "host", "measure", "--battery", "machines/demo-lab/battery.yaml", ok=(0, 7))
        run(assay, lab, "run", "composed", ok=(0, 7))
        load.append(os.getloadavg()[0])
        answers_of(assay, lab, chosen, path, load)
    finally:
        subprocess.run([assay, "host", "down", lab], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(assay, composed, work, n="30"):
    chosen = [weights for weights, _ in compositions()][:int(n)]
    fleet(assay, composed, work, "twelve", chosen, [])
    fleet(assay, composed, work, "two", chosen[8:9], ["--hosts", "2", "--profiles", "base"], "off")


def answers(work, name):
    with open(os.path.join(work, f"{name}.jsonl"), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def inferred(answer):
    """Its leading group with members, its truth, the verdict, and whether it leads in truth."""
    groups = answer["answer"].get("groups") or []
    parts = truth_of(answer["truth"])[1]
    if not groups:
        return None, None, "not identifiable", None
    lead = max(groups, key=lambda g: g["share"])
    stood = {part for part, stressors in STANDS.items() if set(stressors) & set(lead["members"])}
    of = sum(parts.get(part, 0) for part in stood)
    verdict = (answer["answer"].get("trust") or {}).get("verdict", "")
    return lead, of, verdict, of >= max((parts.get(p, 0) for p in parts if p != "calling"), default=0) - .02


def line(s):
    a = s["answer"]
    by = {r["name"]: r for r in s["levels"][4]}
    lead, of, verdict, right = inferred(a)
    ours = s["categories"][1]
    return "| " + " | ".join([
        " ".join(a["words"]),
        " ".join(f"{percent(by[n]['share'])} ({percent(by[n]['known'])})" for n in ("compute", "kernel", "waiting") if n in by),
        ("trusted" if s["levels"][0] else "indicative") + ("" if s["levels"][3] else ", wrong"),
        f"{ours['name']} {percent(ours['share'])} ({percent(ours['truth'][0])} to {percent(ours['truth'][1])})" if ours else "none",
        ("trusted" if s["categories"][0] else "indicative") + ("" if s["categories"][3] else ", wrong"),
        f"{lead['name']} {percent(lead['share'])} ({percent(of)})" if lead else "none", verdict + ("" if right or right is None else ", wrong")]) + " |"


def measured(answer):
    """The rows that were measured. A host does not tell which function of a library it was in: what of the C library has a row of its own, for that
    is in the program or in what an emulated host preloads, is added to the rest of it."""
    rows = [dict(r) for r in answer["answer"].get("levels", []) if r["how"] == "measured"]
    of_library = [r for r in rows if r["level"] == "category" and r["name"] in LIBRARY]
    if of_library:
        one = dict(of_library[0], name="C library", **{k: sum(r[k] for r in of_library) for k in ("share", "low", "high")})
        if any(r["verdict"] != "trusted" for r in of_library):
            one["verdict"] = "indicative"
        rows = [one if r is of_library[0] else r for r in rows if r is of_library[0] or r not in of_library]
    return dict(answer, budget=0, answer=dict(answer["answer"], levels=rows))


def page(work):
    all_of = [summary(measured(a)) for a in answers(work, "twelve")]
    loads = [x for s in all_of for x in s["answer"]["load"]]
    judged = [(r, bool(SEVERAL & {word.split("=")[0] for word in s["answer"]["words"]}))
              for s in all_of for r in s["rows"] if r["judged"] and r["low"] is not None]
    alone, beside = ([r for r, several in judged if several == which] for which in (False, True))
    print(f"Twelve hosts, three runs on each; load {min(loads):.0f} to {max(loads):.0f}. Truth: the mean over hosts of what the programs say. \
Strings, sorting and allocation are in the C library, of which hosts tell no functions: they are one category here. What the programs say of waiting is too \
little where several processes or threads are at work (processes, locks): what two do at once counts twice, and hides as much of it; on one machine the \
kernel's own trace is the truth ([profile.md](profile.md)).\n")
    print("| measured | | goal |\n| --- | --- | --- |")
    counts(all_of, f"{27 * len(all_of) // 30}", f"{20 * len(all_of) // 30}")
    for of, rows, goal in ((", one thread at work", alone, ".90"), (", several at work", beside, "")):
        print(f"| intervals that hold the truth{of} | {sum(map(covered, rows))} of {len(rows)} | {goal} |")
    for of, rows in ((", one thread at work", alone), (", several at work", beside)):
        print(f"| mean error of rows of {100 * COUNTED:.0f} % or more{of} | {mean(error_of(r) for r in rows)} | |")
    known = [inferred(s["answer"]) for s in all_of]
    trusted = [k for k in known if k[2] == "trusted"]
    print(f"| inferred from how hosts differ: trusted | {len(trusted)} of {len(all_of)} | |")
    print(f"| of these, right in what leads | {sum(bool(k[3]) for k in trusted)} of {len(trusted)} | .95 |\n")
    print("| composition | computing, kernel, waiting, %: answer (truth) | level | leading category, % | category | leading group of stressors, inferred (truth) | trust |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for s in all_of:
        print(line(s))
    print("\nOn two hosts of one type, with sampling off:\n")
    for a in answers(work, "two"):
        s = a["answer"]
        print(f"- `{' '.join(a['words'])}`: trust {json.dumps((s.get('trust') or {}).get('verdict'))}; levels "
              + ", ".join(f"{r['level']} {r['name']} {percent(r['share'])} ({r['verdict']})" for r in s.get("levels", [])))
        for reason in (s.get("trust") or {}).get("reasons", []) + (s.get("measured") or {}).get("reasons", []):
            print(f"  - {reason['code']}: {reason['text']}")


if __name__ == "__main__":
    {"measure": measure, "page": page}[sys.argv[1]](*sys.argv[2:])
