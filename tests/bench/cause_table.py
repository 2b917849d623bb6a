"""The page of tests/evidence/cause.sh from what bench_cause printed: WORDS GROWTH LEAD."""
import collections
import json
import statistics
import sys

WORDS = ["neither", "uniform", "other_resource", "not_tested"]
KINDS = {"none": "nothing", "uniform": "uniform", "added": "work added", "moved": "work moved", "both": "both"}
LEADS = {**KINDS, "removed": "work taken away"}
words, growth, lead = ([json.loads(line) for line in open(path, encoding="utf-8")] for path in sys.argv[1:4])


def chosen(rows, **wanted):
    return [r for r in rows if all(r[key] == value for key, value in wanted.items() if value is not None)]


print("## The kind of change\n")
print("Each recorded application on its types, one machine a type; see docs/evidence/statistics.md for what is planted. Share of each word:\n")
print("| planted | size | repetitions | noise | cases | " + " | ".join(f"`{w}`" for w in WORDS) + " |")
print("| --- " * (5 + len(WORDS)) + "|")
for repetitions in (1, 3, 5):
    for noise in (.01, .03):
        for kind, name in KINDS.items():
            for size in (None,) if kind == "none" else (.06, .12, .24, .48):
                rows = chosen(words, repetitions=repetitions, noise=noise, kind=kind, size=size)
                count = collections.Counter(r["word"] for r in rows)
                print(f"| {name} | {'' if size is None else f'{100 * size:g} %'} | {repetitions} | {noise:g} | {len(rows)} | "
                      + " | ".join(f"{count[w] / len(rows):.3f}" for w in WORDS) + " |")
print("## Where the time went\n")
print("Three repetitions a version, 100 resamples. Right: intervals of the planted group's change, and of all groups', that contain the truth, to within")
print(".1 percentage points of the baseline's time; of a uniform change the truth is its size times the share that the model gives the group. Others:")
print("comparisons that say of any other group that it changed.\n")
print("| planted | size | noise | cases | planted group right | all groups right | said to have grown | others | mean width |")
print("| --- " * 9 + "|")
for noise in (.01, .03):
    for kind in ("none", "uniform", "added"):
        for size in (None,) if kind == "none" else (.06, .12, .24, .48):
            rows = chosen(growth, noise=noise, kind=kind, size=size)
            right = [r["planted_low"] - .001 <= r["truth"] <= r["planted_high"] + .001 for r in rows]
            own = kind == "added"
            print(f"| {KINDS[kind]} | {'' if size is None else f'{100 * size:g} %'} | {noise:g} | {len(rows)} | "
                  f"{f'{statistics.fmean(right):.2f}' if own else ''} | {sum(r['within'] for r in rows) / sum(r['groups'] for r in rows):.3f} | "
                  f"{statistics.fmean(r['grew'] for r in rows):.2f} | {sum(r['others'] > 0 for r in rows) if kind != 'uniform' else ''} | "
                  f"{f'''{statistics.fmean(r['planted_high'] - r['planted_low'] for r in rows):.2f}''' if own else ''} |")


def share(rows, key):
    return f"{statistics.fmean(r[key] for r in rows):.2f}" if rows else ""


print("\n## Which group changed most\n")
print("Three repetitions a version; without the stressor: the one on which work was added is left out of the fingerprint, and right is a group with another one that")
print("moved with it. Named: a group, or several of which one changed most with a probability of .9. Oracle: who knows how much work was added, and the noise.\n")
print("| planted | size | noise | cases | first is right | named | groups | right one among them | one group | it is right | oracle: first is right | one group | it is right |")
print("| --- " * 13 + "|")
for left_out in (False, True):
    for kind, name in LEADS.items():
        for noise in (.01, .03):
            for size in (.06, .12, .24, .48):
                rows = chosen(lead, noise=noise, kind=kind, size=size, left_out=left_out)
                if not rows:
                    continue
                named, one, oracle = ([r for r in rows if keep(r)] for keep in (lambda r: r["set"], lambda r: r["set"] == 1, lambda r: r["oracle"] == 1))
                size_of_set = f"{statistics.fmean(r['set'] for r in named):.1f}" if named else ""
                known = kind not in ("none", "uniform")
                print(f"| {name}{', without the stressor' if left_out else ''} | {100 * size:g} % | {noise:g} | {len(rows)} | {share(rows, 'right') if known else ''} | "
                      f"{len(named) / len(rows):.2f} | {size_of_set} | {share(named, 'covers')} | "
                      f"{len(one) / len(rows):.2f} | {share(one, 'covers')} | " + (f"{share(rows, 'oracle_right')} | {len(oracle) / len(rows):.2f} | "
                      f"{share(oracle, 'oracle_covers')} |" if known else " | | |"))
