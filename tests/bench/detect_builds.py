"""The tables of whole programs, by several compilers and levels: ASSAY CORPUS faults|nothing [BUILD...]. What `assay detect` itself says
against tests/apps/whole/truth.csv: of faults, in both directions; or of what did not change, as it is and shifted. A mistake is a line on
standard error with the command that shows it. What was said is kept in CORPUS/judged, by the program that said it: a judging that was
cut off goes on where it was."""
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from detect_corpus import BUILDS, WHOLE, truth  # noqa: E402
from detect_programs import rate_text, table  # noqa: E402

METHODS = ("autoencoder",)
NOTHING = ("shifted", "again", "front", "order")
# learned from, judged
COMPARISONS = {"faults": [("good", "BAD"), ("BAD", "good")], "nothing": [("good", variant) for variant in NOTHING]}
BETTER = ("improved", "pass")


def detect(words, kept):
    """kept: where the answer is, or will be."""
    if os.path.exists(kept):
        return json.load(open(kept))
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return {"decision": f"status {done.returncode}: {done.stderr.strip()[:200]}", "functions": [], "runs": {}}
    with open(kept + ".part", "w") as out:
        json.dump(answer, out)
    os.rename(kept + ".part", kept)
    return answer


def name_of(function):
    """Without what compilers append, and what overloads and namespaces add."""
    name = re.sub(r"\(anonymous namespace\)::", "", function["name"])
    return re.sub(r"(\._omp_fn|\.constprop|\.isra|\.part|\.lto_priv|\.cold)(\.\d+)*", "", name)


def is_one_of(function, names):
    name = name_of(function)
    return any(name == wanted or (":" in name or "<" in name or "(" in name) and wanted in name.split("(")[0] for wanted in names)


class Said:
    """Of one comparison."""

    def __init__(self, document, row):
        self.decision = document["decision"]
        anomalous = [f for f in document["functions"] if f["anomalous"]]
        self.worse = [f for f in anomalous if not f["improved"] and not f["side_effect_of"]]
        self.better = [f for f in anomalous if f["improved"]]
        self.runs, self.flagged = (document["runs"].get(key) or 0 for key in ("judged", "anomalous"))
        right, also = row["function"].split(), row["also"].split()
        places = [i + 1 for i, f in enumerate(self.worse) if is_one_of(f, right)]
        self.rank = places[0] if places else None
        self.kinds = [self.worse[self.rank - 1]["kind"], *self.worse[self.rank - 1]["further_kinds"]] if places else []
        other = [f for f in self.worse if not is_one_of(f, right + also)]
        self.callers = [name_of(f) for f in other if f["with_nested"]]
        self.wrong = [name_of(f) for f in other if not f["with_nested"]]
        self.back = [name_of(f) for f in self.worse if not is_one_of(f, row["back"].split())]


    def is_right_back(self):
        """What has truly become dearer in exchange may be named."""
        return self.decision in BETTER or self.decision == "regression" and not self.back


def judge_all(assay, corpus, builds, rows, comparisons):
    """{(build, program, method, learned, judged): (Said, command)}."""
    jobs = {}
    with open(assay, "rb") as program:
        kept = f"{corpus}/judged/{hashlib.sha256(program.read()).hexdigest()[:12]}"
    os.makedirs(kept, exist_ok=True)
    for build in builds:
        for row in rows:
            where = f"{corpus}/builds/{build}/{row['program']}"
            for learned, judged in comparisons:
                if not os.path.isdir(f"{where}/{judged}"):
                    continue
                for method in METHODS:
                    words = [assay, "detect", f"{where}/{learned}", f"{where}/{judged}", "--model", method, "--threads", "1", "--format", "json"]
                    jobs[build, row["program"], method, learned, judged] = (words, row)
    out = {}
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("WORKERS", 2))) as pool:
        for key, document in zip(jobs, pool.map(detect, [words for words, _ in jobs.values()], [f"{kept}/{'-'.join(key)}.json" for key in jobs])):
            words, row = jobs[key]
            out[key] = Said(document, row), " ".join(words[:-2])
            if len(out) % 100 == 0:
                print(f"{len(out)} of {len(jobs)} comparisons", file=sys.stderr)
    return out


def mistake(key, said, row):
    """What is wrong with an answer; None: nothing."""
    _, _, _, learned, judged = key
    if judged in NOTHING or row["decision"] == "pass":
        return f"{said.decision}: {', '.join(name_of(f) for f in said.worse + said.better)}" if said.decision != "pass" else None
    if learned == "BAD":
        return f"{said.decision}, worse: {', '.join(said.back)}" if not said.is_right_back() else None
    if said.decision != "regression":
        return f"missed: {said.decision}"
    if not said.rank:
        return f"another function: {', '.join(map(name_of, said.worse))}"
    problems = [] if said.rank == 1 else [f"{row['function']} in place {said.rank}"]
    if not set(said.kinds[:1]) & set(row["kinds"].split()):
        problems.append(f"kind {', also '.join(said.kinds)}")
    if said.wrong:
        problems.append(f"wrongly also {', '.join(said.wrong)}")
    return "; ".join(problems) or None


def faults_tables(found, rows, builds):
    """Of the programs that have a fault; the row that has none is in the table of the shifted ones."""
    faulty = {row["program"]: row for row in rows if row["decision"] == "regression"}
    body = []
    for build in builds:
        for method in METHODS:
            forward = [(key, said) for key, (said, _) in found.items() if key[0] == build and key[2] == method and key[4] == "BAD" and key[1] in faulty]
            back = [said for key, (said, _) in found.items() if key[0] == build and key[2] == method and key[3] == "BAD" and key[1] in faulty]
            if not forward:
                continue
            n = len(forward)
            kinds = sum(bool(set(said.kinds[:1]) & set(faulty[key[1]]["kinds"].split())) for key, said in forward)
            body.append([build, method, rate_text(sum(said.decision != "regression" for _, said in forward), n),
                         f"{sum(said.rank == 1 for _, said in forward)} of {n}", f"{sum(bool(said.rank) for _, said in forward)} of {n}", f"{kinds} of {n}",
                         sum(len(said.wrong) for _, said in forward), sum(len(said.callers) for _, said in forward), rate_text(sum(not said.is_right_back() for said in back), len(back)),
                         sum(said.decision == "improved" for said in back)])
    table(["build", "method", "missed", "function first", "function named", "kind right", "functions wrongly named", "callers named as such", "back: wrong",
           "back: improved"], body, left=2)


def programs_table(found, rows, builds):
    body = []
    for row in rows:
        for method in METHODS:
            keys = [(build, row["program"], method, "good", "BAD") for build in builds]
            wrong = collections.Counter(mistake(key, found[key][0], row) for key in keys if key in found)
            n, right = sum(wrong.values()), wrong.pop(None, 0)
            body.append([row["program"], f"{row['decision']}: {row['function']}: {row['kinds']}" if row["function"] else row["decision"], method,
                         f"{right} of {n}", "; ".join(f"{text} ({times})" for text, times in wrong.most_common(3))])
    table(["program", "truth", "method", "all right, of builds", "what was wrong (in how many)"], body, left=3)


def nothing_table(found, builds):
    body = []
    for method in METHODS:
        for judged in NOTHING:
            for group, members in [("all", builds)] + [(build, [build]) for build in builds]:
                some = [said for key, (said, _) in found.items() if key[0] in members and key[2] == method and key[4] == judged]
                if not some or judged != NOTHING[0] and group != "all":
                    continue
                body.append([method, judged, group, rate_text(sum(said.decision != "pass" for said in some), len(some)),
                             sum(said.decision == "regression" for said in some), sum(said.decision == "improved" for said in some),
                             rate_text(sum(said.flagged for said in some), max(1, sum(said.runs for said in some)))])
    table(["method", "judged", "build", "comparisons that were not `pass`", "regression", "improved", "runs called anomalous"], body, left=3)


def main():
    assay, corpus, what = sys.argv[1:4]
    rows = truth(WHOLE)
    asked = os.environ.get("BUILDS")
    builds = [build for build in sys.argv[4:] or (asked.split(",") if asked else BUILDS) if os.path.isdir(f"{corpus}/builds/{build}")]
    found = judge_all(assay, corpus, builds, rows, COMPARISONS[what])
    if what == "faults":
        faults_tables(found, rows, builds)
        print("\nProgram by program:")
        programs_table(found, rows, builds)
    else:
        nothing_table(found, builds)
    by_name = {row["program"]: row for row in rows}
    for key, (said, command) in found.items():
        wrong = mistake(key, said, by_name[key[1]])
        if wrong:
            print(f"WRONG {' '.join(key)}: {wrong}\n    {command}", file=sys.stderr)


if __name__ == "__main__":
    main()
