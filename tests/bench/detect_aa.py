"""The page of tests/evidence/detect_aa.sh: BENCH_DETECT CORPUS [METHOD...]. Blocks of good runs, each with a model of its
own: how many of the runs that it has not seen are called anomalous?"""
import collections
import concurrent.futures
import math
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from detect_programs import judge, table  # noqa: E402

RATES = (.05, .1, .2)
T_975 = 1.97  # of Student's t at 299 degrees of freedom


def measured(shares):
    """Mean over blocks, and its interval: runs of one block share a model and are not independent."""
    n = len(shares)
    mean = sum(shares) / n
    half = T_975 * math.sqrt(sum((x - mean) ** 2 for x in shares) / (n - 1) / n) if n > 1 else 1.0
    return mean, max(0.0, mean - half), mean + half


def main():
    bench, corpus = sys.argv[1:3]
    methods = sys.argv[3:] or ["default", "mahalanobis"]
    blocks = sorted(os.listdir(corpus))
    names = sorted({block.rsplit("-", 1)[0] for block in blocks})
    print(f"{len(blocks)} blocks; no run is in two of them.")
    problems = []
    for part, about in (("train", "39 runs to learn from"), ("few", "19 runs to learn from, the fewest that can support 5 %")):
        print(f"\n## {about}")
        problems += rates_of(bench, corpus, blocks, names, methods, part)
    print("\n## Not as wanted\n")
    print("\n".join(f"- {text}" for text in problems) if problems else "- nothing")


def rates_of(bench, corpus, blocks, names, methods, part):
    """Prints a table; returns what is not as wanted of the default."""
    shares, whole, failed = collections.defaultdict(dict), collections.defaultdict(dict), []
    differ = collections.defaultdict(list)

    def one(block):
        return block, judge(bench, methods, RATES[:1], f"{corpus}/{block}/{part}", [f"{corpus}/{block}/test"])

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("WORKERS", 2))) as pool:
        for i, (block, found) in enumerate(pool.map(one, blocks)):
            for (method, rate, _), judged in found.items():
                if judged.error:
                    failed.append(f"{block}: {method}: {judged.error}")
                    continue
                if judged.flagged() != sum(run["p"] <= rate + 1e-9 for run in judged.runs.values()):
                    failed.append(f"{block}: {method}: verdicts do not follow from the runs' p")
                for asked in RATES:
                    shares[method, asked][block] = sum(run["p"] <= asked + 1e-9 for run in judged.runs.values()) / len(judged.runs)
                whole[method][block] = any(f["anomalous"] for f in judged.functions.values())
                differ[method].append([run["p"] < 1 for run in judged.runs.values()])
            if i % 50 == 49:
                print(f"{part}: {i + 1} of {len(blocks)} blocks", file=sys.stderr)
    body, problems = [], list(failed)
    for method in methods:
        for rate in RATES:
            of = shares[method, rate]
            if not of:
                continue
            mean, low, high = measured(list(of.values()))
            body.append([method, rate, len(of), f"{mean:.4f}", f"{low:.4f} to {high:.4f}", "yes" if low <= rate <= high else "**no**",
                         *(f"{measured([of[block] for block in of if block.startswith(name + '-')])[0]:.3f}" for name in names),
                         f"{sum(whole[method].values())} of {len(of)}" if rate == RATES[0] else ""])
            if method == "default" and not low <= rate <= high:
                problems.append(f"default, {part}: asked {rate}, measured {low:.4f} to {high:.4f}")
    table(["method", "asked", "blocks", "false alarms, by run", "95 % interval", "contains the asked", *names,
           "blocks with a function called anomalous"], body)
    for method in methods:
        runs = sum(len(judged) for judged in differ[method])
        print(f"\n{method}: {sum(map(sum, differ[method]))} of {runs} runs are stranger than at least one normal one; the others have p = 1.")
    return problems


if __name__ == "__main__":
    sys.exit(main())
