"""What inputs cost programs of known composition on hosts of the emulated fleet that are taken away: `assay predict --machine`.

    cost_machines.py measure ASSAY COMPOSED WORK    what is in WORK already is not measured again
    cost_machines.py page WORK

Five programs do two to four parts of composed.c: four of them in fixed proportions, so that an input is only larger or smaller, and one in
proportions that differ from input to input. One host runs LEARNED inputs, each other one the first ASKED of them. Then each other host is taken
away, and predicted from all that is left.
"""
import csv
import json
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys

SEED, LEARNED, ASKED = 19, 44, 8
PARTS = ("arithmetic", "branches", "memory", "strings", "sorting", "allocation", "file-data", "file-metadata", "faults")
PROGRAMS = ("first", "second", "third", "fourth", "mixed")
FIELDS = ("program", "host", "input", "measured", "refused", "value", "low", "high", "ratio", "mape", "types")


def drawn():
    """Of each program its inputs: milliseconds of each part."""
    draw = random.Random(SEED)
    for program in PROGRAMS:
        parts = draw.sample(PARTS, draw.randint(2, 4))
        proportions = {part: draw.uniform(.2, 1) for part in parts}
        inputs = []
        for _ in range(LEARNED):
            size = draw.uniform(40, 300)
            if program == "mixed":
                proportions = {part: draw.uniform(.05, 1) for part in parts}
            inputs.append({part: round(size * share / sum(proportions.values()), 3) for part, share in proportions.items()})
        yield program, inputs


def manifests(lab, composed):
    apps = os.path.join(lab, "apps")
    os.makedirs(apps, exist_ok=True)
    shutil.copy(composed, os.path.join(apps, "composed"))
    with open(os.path.join(apps, "work.sh"), "w", encoding="ascii") as out:
        out.write('#!/bin/sh\n# work.sh COMPOSED FILE: as many milliseconds of each part as the file says\n'
                  'words=; all=0\nwhile read -r ms part; do words="$words $part=$ms"; done <"$2"\n'
                  'exec "$1" $words seconds="$(cat "$2.seconds")" work=fixed truth=/dev/null\n')
    os.chmod(os.path.join(apps, "work.sh"), 0o755)
    for program, inputs in drawn():
        os.makedirs(os.path.join(apps, program), exist_ok=True)
        with open(os.path.join(apps, program + ".yaml"), "w", encoding="ascii") as out:
            out.write(f"files: [composed, work.sh, {program}]\ncommand: ['{{files}}/work.sh', '{{files}}/composed', '{{files}}/{program}/{{input}}']\n"
                      f"features: [/bin/cat, '{{files}}/{program}/{{input}}']\nversions: {{ v: }}\nrepetitions: 1\nwarm_ups: 0\nmetric: cpu\ninputs:\n")
            for i, parts in enumerate(inputs):
                out.write(f"  - {{ name: i{i:02} }}\n")
                path = os.path.join(apps, program, f"i{i:02}")
                with open(path, "w", encoding="ascii") as text:
                    text.write("".join(f"{ms} {part}\n" for part, ms in parts.items()))
                with open(path + ".seconds", "w", encoding="ascii") as text:
                    text.write(f"{sum(parts.values()) / 1000:.6f}\n")


def run(assay, lab, *arguments, ok=(0,)):
    said = subprocess.run([assay, "-C", lab, *arguments], capture_output=True, text=True, check=False)
    if said.returncode not in ok:
        sys.exit(f"{' '.join(arguments)}: {said.stderr[-2000:]}")
    return said


def hosts_of(lab):
    with sqlite3.connect(os.path.join(lab, ".assay", "runs.db")) as db:
        return [name for name, in db.execute("SELECT DISTINCT machine FROM fingerprint ORDER BY machine")]


def take(assay, composed, work):
    """The laboratory with everything measured, once the fleet is gone."""
    lab = os.path.join(work, "lab")
    if os.path.exists(os.path.join(work, "measured")):
        return lab
    shutil.rmtree(lab, ignore_errors=True)
    load = [os.getloadavg()[0]]
    subprocess.run([assay, "host", "up", lab], check=True, stdout=subprocess.DEVNULL)
    try:
        manifests(lab, composed)
        run(assay, lab, "host", "measure", "--battery", "machines/demo-lab/battery.yaml", ok=(0, 7))
        hosts = hosts_of(lab)
        for program in PROGRAMS:
            run(assay, lab, "run", program, "-w", hosts[0], ok=(0, 7))
            run(assay, lab, "run", program, "-w", ",".join(hosts[1:]), "--inputs", ",".join(f"i{i:02}" for i in range(ASKED)), ok=(0, 7))
        load.append(os.getloadavg()[0])
    finally:
        subprocess.run([assay, "host", "down", lab], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(os.path.join(work, "measured"), "w", encoding="ascii") as out:
        json.dump(load, out)
    return lab


def measured_of(lab, program, host):
    with sqlite3.connect(os.path.join(lab, ".assay", "runs.db")) as db:
        return {name: 1e-6 * us for name, us in db.execute("SELECT input, user_us + sys_us FROM execution WHERE application LIKE ? AND machine = ? AND "
                                                           "outcome = 'ok'", (program + "/%", host))}


def without(lab, other, program, host):
    """A copy of the laboratory in which the host has not run the program."""
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(lab, other, symlinks=True)
    with sqlite3.connect(os.path.join(other, ".assay", "runs.db")) as db:
        for table in ("run", "execution"):
            db.execute(f"DELETE FROM {table} WHERE machine = ? AND application LIKE ?", (host, program + "/%"))


def measure(assay, composed, work):
    lab, table = take(assay, composed, work), os.path.join(work, "predicted.csv")
    there = set()
    if os.path.exists(table):
        with open(table, encoding="ascii", newline="") as source:
            there = {(row["program"], row["host"]) for row in csv.DictReader(source)}
    with open(table, "a", encoding="ascii", newline="") as out:
        write = csv.DictWriter(out, FIELDS)
        if not there:
            write.writeheader()
        for program in PROGRAMS:
            for host in hosts_of(lab)[1:]:
                measured = measured_of(lab, program, host)
                if (program, host) in there or not measured:
                    continue
                without(lab, os.path.join(work, "without"), program, host)
                rows = []
                for name, cost in sorted(measured.items())[:3]:
                    said = run(assay, os.path.join(work, "without"), "predict", program + "@v", "--machine", host, "--input", name, "--format", "json",
                               ok=(0, 4, 6))
                    row = {"program": program, "host": host, "input": name, "measured": cost, "refused": ""}
                    if said.returncode == 6:
                        rows.append(row | {"refused": said.stderr.strip()})
                        break
                    answer = json.loads(said.stdout)
                    rows.append(row | {key: answer[key] for key in ("value", "low", "high")} |
                                {"ratio": answer["elsewhere"]["ratio"], "mape": answer["elsewhere"]["mape"], "types": answer["elsewhere"]["hardware_types"]})
                write.writerows(rows)
                out.flush()
    shutil.rmtree(os.path.join(work, "without"), ignore_errors=True)


def page(work):
    with open(os.path.join(work, "predicted.csv"), encoding="ascii", newline="") as source:
        rows = list(csv.DictReader(source))
    with open(os.path.join(work, "measured"), encoding="ascii") as source:
        load = json.load(source)
    print(f"""Five programs of composed.c on the {len(hosts_of(os.path.join(work, 'lab')))} hosts of `assay host up` (load {load[0]:.1f} to {load[1]:.1f}): four in fixed proportions, so that inputs are larger
or smaller, and one, *mixed*, whose proportions differ from input to input. The first host ran {LEARNED} inputs, from which the model is learned; each other one ran {ASKED}, and was then
taken away and predicted by its fingerprint (battery of the demonstration, 13 stressors) and what the {LEARNED} and the other hosts' inputs cost: `assay predict --machine`, three inputs each. Error: |prediction / cost - 1|. *As if
alike*: by the model alone, as if the host were the first one. Runs are single, processor time.

| program | hosts | refused | predictions | error, mean | median | most | as if alike | in the 90 % interval | interval, times |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |""")
    for program in PROGRAMS + ("all",):
        own = [row for row in rows if program in (row["program"], "all")]
        said = [row for row in own if not row["refused"]]
        cells = ["-"] * 6
        if said:
            number = [{key: float(row[key]) for key in ("value", "low", "high", "measured", "ratio")} for row in said]
            errors = [abs(n["value"] / n["measured"] - 1) for n in number]
            alike = [abs(n["value"] / n["ratio"] / n["measured"] - 1) for n in number]
            cells = [f"{100 * statistics.mean(errors):.1f} %", f"{100 * statistics.median(errors):.1f} %", f"{100 * max(errors):.1f} %",
                     f"{100 * statistics.mean(alike):.1f} %", f"{sum(n['low'] <= n['measured'] <= n['high'] for n in number) / len(number):.2f}",
                     f"{statistics.median(n['high'] / n['value'] for n in number):.2f}"]
        print(f"| {program} | {len({(row['program'], row['host']) for row in own})} | {len(own) - len(said)} | {len(said)} | " + " | ".join(cells) + " |")
    refused = sorted({row["program"] + ", " + row["host"] + ": " + row["refused"] for row in rows if row["refused"]})
    print("\nRefused:\n\n" + "\n".join("    " + text for text in refused) if refused else "\nNone was refused.")
    print("\nEach:\n\n    " + "\n    ".join(",".join(row[key] or "" for key in FIELDS if key != "refused") for row in rows if not row["refused"]))


if __name__ == "__main__":
    {"measure": measure, "page": page}[sys.argv[1]](*sys.argv[2:])
