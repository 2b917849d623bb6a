"""What each knob moves: how many times as dear a stressor is on a host with one of them as on the machine as it is.

    knobs_table.py LAB PROFILES-DIRECTORY NAME,...
"""
import glob
import json
import os
import statistics
import sys

MOVED = 1.15


def rates(lab):
    """profile -> stressor -> rates of all fingerprints, and how noisy each was."""
    found, spread = {}, []
    for path in sorted(glob.glob(os.path.join(lab, "machines", "*.json"))):
        with open(path, encoding="utf-8") as file:
            for fingerprint in json.load(file)["fingerprints"]:
                own = found.setdefault(fingerprint["profile"], {})
                for name, rate in fingerprint["rates"].items():
                    if rate.get("median"):
                        own.setdefault(name, []).append(rate["median"])
                        spread.append(1.4826 * rate["mad"] / rate["median"])
    return found, statistics.median(spread)


def settings(directory, name):
    with open(os.path.join(directory, name + ".yaml"), encoding="utf-8") as file:
        return " ".join(line.strip() for line in file if not line.startswith(("#", "about", "system_calls")))


def main(lab, directory, names):
    found, spread = rates(lab)
    names = names.split(",")
    load = os.getloadavg()
    stressors = sorted(found["base"])
    ratios = {name: {s: statistics.median(found["base"][s]) / statistics.median(found[name][s]) for s in stressors if found[name].get(s)} for name in names}
    print(f"Cost of an operation of each stressor, in CPU time, as a multiple of that on the host `base`; from {max(len(v) for v in found['base'].values())} times two passes on each. The "
          f"hosts are measured one after another: what else runs on the machine, and when, is in the numbers of `cache` and `stream` above all. Bold: {MOVED} or more. Repetitions on one host differ by {100 * spread:.0f} % (median); load at the end {load[0]:.0f}.\n")
    print("| stressor | " + " | ".join(names[1:]) + " |")
    print("| --- |" + " ---: |" * (len(names) - 1))
    for s in stressors:
        cells = [ratios[name].get(s) for name in names[1:]]
        print(f"| {s} | " + " | ".join("" if c is None else f"**{c:.2f}**" if c >= MOVED else f"{c:.2f}" for c in cells) + " |")
    print("\n| profile | its knob | moves, most first |\n| --- | --- | --- |")
    for name in names[1:]:
        moved = sorted(((r, s) for s, r in ratios[name].items() if r >= MOVED), reverse=True)
        print(f"| {name} | `{settings(directory, name)}` | {', '.join(f'{s} {r:.1f}' for r, s in moved) or 'nothing'} |")
    still = [s for s in stressors if all((ratios[name].get(s) or 0) < MOVED for name in names[1:])]
    print(f"\nStressors that none moves: {', '.join(still) or 'none'}. A share of the processor (a quota) is no knob: it moves no cost in CPU time; `interrupts` stands for "
          "a slower processor. Home directories are a tmpfs, which no limit of storage reaches, and this kernel has no netem: neither is a knob.")


if __name__ == "__main__":
    main(*sys.argv[1:])
