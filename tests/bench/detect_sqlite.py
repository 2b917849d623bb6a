"""The page of tests/evidence/detect_sqlite.sh: ASSAY BENCH_DETECT DIRECTORY BUILDS OLD NEW FAR. BUILDS has
detect_sqlite.VERSION, built for the emulation, and VERSION.so, built natively, of the three versions and of NEW with two faults, `loop` and `step`."""
import collections
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from detect_corpus import run_all  # noqa: E402
from detect_programs import interval, judge, leading, rank, rate_text, table, Judged  # noqa: E402

TRAIN, TEST, FAULT = 39, 20, 10
FAULTS = {"loop": "sqlite3VdbeExec", "step": "sqlite3_step"}
METHODS = ("default", "mahalanobis", "mannwhitney")


def runs_of(builds, version, where, n):
    jobs = []
    for i in range(n):
        rng = random.Random(f"sqlite {version} {where} {i}")
        threads, rounds, seed = rng.randint(2, 8), rng.randint(20, 80), rng.randint(1, 10**6)
        words = [f"{builds}/detect_sqlite.{version}", "DATABASE", str(threads), str(rounds), str(seed)]
        jobs.append((words, f"{where}/{i:03d}-{threads}-{rounds}-{seed}"))
    return jobs


def corpus(builds, directory, versions):
    old, new, far = versions
    jobs = []
    for version, part, n in ((old, "train", TRAIN), (old, "test", TEST), (new, "train", TRAIN), (new, "test", TEST), (far, "test", TEST),
                             *((fault, "test", FAULT) for fault in FAULTS)):
        jobs += runs_of(builds, version, f"{directory}/{version}/{part}", n)
    files = f"{directory}/databases"
    os.makedirs(files, exist_ok=True)
    jobs = [([words[0], f"{files}/{where.replace('/', '_')}", *words[2:]], where) for words, where in jobs]
    run_all(jobs, {"ASSAY_EMULATE_DIRECTORY": "@", "ASSAY_EMULATE_FUNCTIONS": f"@{builds}/functions"})
    shutil.rmtree(files)


def functions(assay, builds, versions):
    """Of all comparisons: what has to be counted. {comparison: names}."""
    old, new, far = versions
    lists = {}
    for a, b in ((old, new), (new, far), *((new, fault) for fault in FAULTS)):
        path = f"{builds}/list.{a}.{b}"
        subprocess.run([assay, "changes", f"{builds}/{a}.so", f"{builds}/{b}.so", "--list", path], check=True, stdout=subprocess.DEVNULL)
        lists[a, b] = [line.split("\t")[0] for line in open(path) if not line.startswith("#")]
    names = sorted(set().union(*lists.values()))
    with open(f"{builds}/functions", "w") as out:
        out.write("\n".join(names) + "\n")
    return lists


def main():
    assay, bench, directory, builds = sys.argv[1:5]
    versions = sys.argv[5:8]
    old, new, far = versions
    lists = functions(assay, builds, versions)
    corpus(builds, directory, versions)
    print("sqlite: all runs are there", file=sys.stderr)
    problems, found = [], collections.defaultdict(Judged)
    for version, others in ((old, (old, new, *FAULTS)), (new, (new, far, *FAULTS))):
        out = judge(bench, METHODS, (.05,), f"{directory}/{version}/train", [f"{directory}/{other}/test" for other in others])
        for (method, rate, path), judged in out.items():
            found[version, path.split("/")[-2], method] = judged
        print(f"sqlite: judged against {version}", file=sys.stderr)
    for a, b in lists:
        print(f"- {a} and {b}: {len(lists[a, b])} function{'' if len(lists[a, b]) == 1 else 's'} by `assay changes`")
    body = []
    for a, b in ((old, old), (old, new), (new, new), *((a, b) for b in FAULTS for a in (old, new)), (new, far)):
        for method in METHODS:
            judged = found[a, b, method]
            if judged.error:
                body.append([a, b, method, judged.error, "", "", ""])
                continue
            names = leading(judged)
            text = rate_text(judged.flagged(), len(judged.runs))
            fault = FAULTS.get(b)
            of = judged.functions.get(fault)
            known = sum(f["known"] for f in judged.functions.values())
            body.append([a, b, method, text, f"{len(names)} of {known}", rank(names, (fault,)) if fault else "",
                         f"{of['kind']} by {of['counters'][0]}" if of and of["counters"] else "put aside" if fault and not of else ""])
            if method != "default" or b == far:
                continue
            if fault:
                if judged.flagged() < len(judged.runs):
                    problems.append(f"{a} to {b}: missed in {len(judged.runs) - judged.flagged()} runs")
                if names[:1] != [fault] or of["kind"] != "false_sharing":
                    problems.append(f"{a} to {b}: first is {names[:1]}, {fault} has {of and of['kind']}")
            else:
                low, high = interval(judged.flagged(), len(judged.runs))
                if low > .05:
                    problems.append(f"{a} to {b}: false alarms {text}")
    table(["learned from", "judged", "method", "runs called anomalous", "functions", "place of the function with the fault", "what it has"],
          body, left=3)
    for a, b in ((old, new), *((new, fault) for fault in FAULTS), (new, far)):
        judged = found[a, b, "default"]
        print(f"\n## {a} to {b}: what the default calls anomalous\n")
        body = []
        for name in leading(judged)[:15]:
            f = judged.functions[name]
            body.append([name, f["kind"], f"{f['runs_anomalous']}", f"{f['part']:.4f}", ", ".join(
                f"{c[0]} {float(c[4]):.4g} → {float(c[5]):.4g}" for c in f["columns"][:3])])
        if body:
            table(["function", "kind", "runs", "part of the work", "counters: normal → now"], body, left=2)
        else:
            print("nothing")
        fit = judged.fit
        if fit:
            print(f"\nLearned from {fit['runs']} runs, {fit['samples']} samples of {fit['functions']} functions; {fit['clusters']} clusters, "
                  f"{fit['topology']}, in {fit['fit_s']} s of CPU.")
    print("\n## Not as wanted\n")
    print("\n".join(f"- {text}" for text in problems) if problems else "- nothing")


if __name__ == "__main__":
    sys.exit(main())
