"""The table of tests/evidence/gate.sh: PROGRAM LABORATORY."""
import collections
import json
import subprocess
import sys

program, lab = sys.argv[1:]


def ask(*words):
    done = subprocess.run([program, "-C", lab, *words, "--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 3, 4, 5, 6):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


versions = collections.defaultdict(list)
for listed in ask("result", "list")["applications"]:
    versions[listed["application"]].append(listed["version"])
planted = ["odd", "odd+3", "odd+6", "odd+12", "odd+24"]
totals = {v: collections.Counter() for v in planted}
print("| application | types | unchanged | interval | detectable | " + " | ".join(f"+{v[4:]} %" for v in planted[1:]) + " |")
print("| --- | --- | --- | --- | --- |" + " --- |" * (len(planted) - 1))
for application in sorted(versions):
    cells = []
    for kind in planted:
        version = kind if kind == "odd" else f"{kind}.{application.replace('/', '')}"
        if version not in versions[application]:
            cells.append("")
            continue
        got = ask("gate", f"{application}@even", f"{application}@{version}")
        totals[kind][got["decision"]] += 1
        if version == "odd":
            effect = got["effect"]
            low, high = ("none", "none") if effect["low"] is None else (f"{effect['low']:.3f}", f"{effect['high']:.3f}")
            detectable = got["minimum_detectable_effect"]
            cells += [str(effect["hardware_types"]), got["decision"], f"{low} to {high}",
                      "none" if detectable is None else f"{100 * detectable:.1f} %"]
        else:
            cells.append(got["decision"])
    print(f"| {application} | " + " | ".join(cells) + " |")
print()
for version in planted:
    what = "unchanged" if version == "odd" else f"slowed by {version[4:]} %"
    counted = ", ".join(f"{n} {decision}" for decision, n in sorted(totals[version].items()))
    print(f"- {what}: {counted}")
