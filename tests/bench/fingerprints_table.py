"""The tables of tests/evidence/fingerprints.sh: PROGRAM LABORATORY ROUNDS BATTERIES. Brings the emulated host up itself."""
import json
import os
import statistics
import subprocess
import sys

import numpy

program, lab, rounds, batteries = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4].split()
null = subprocess.DEVNULL


def ask(*words):
    done = subprocess.run([program, "-C", lab, *words, "--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 7):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def machine_state():
    """Free bytes of disk and /dev/shm, and available memory, in MiB."""
    disk, shm = os.statvfs("/"), os.statvfs("/dev/shm")
    with open("/proc/meminfo") as file:
        available = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    return {"disk": disk.f_bavail * disk.f_frsize / 2**20, "/dev/shm": shm.f_bavail * shm.f_frsize / 2**20, "memory": available / 1024}


def rates(battery):
    """{machine: [{stressor: median}, one a fingerprint]}"""
    found = {}
    for name in [m["id"] for m in ask("host", "list")["machines"]]:
        machine = ask("host", "show", name)
        found[name] = [{s: r["median"] for s, r in f["rates"].items() if "median" in r}
                       for f in machine["fingerprints"] if f["battery"] == battery]
    return found


def effective_rank(matrix):
    """Participation ratio of the eigenvalues of the correlation matrix of log rates over machines."""
    logs = numpy.log(matrix)
    logs = logs[:, logs.std(axis=0) > 0]
    values = numpy.linalg.eigvalsh(numpy.corrcoef(logs.T))
    return values.sum() ** 2 / (values**2).sum()


def report(battery, seconds, before, after):
    found = rates(battery)
    everywhere = sorted(set.intersection(*(set(f) for fs in found.values() for f in fs)))
    tried = sorted(set().union(*(f for fs in found.values() for f in fs)))
    print(f"\n## Battery {battery}\n")
    print(f"Seconds a machine: median {statistics.median(seconds):.1f}, from {min(seconds):.1f} to {max(seconds):.1f} "
          f"({len(seconds)} fingerprints). Stressors measured on every host every time: {len(everywhere)} of {len(tried)} that "
          "gave a rate anywhere.\n")
    print("| stressor | coefficient of variation over rounds, median of hosts | largest | log2 of the rates over hosts, from to |")
    print("| --- | --- | --- | --- |")
    for stressor in everywhere:
        spread = [statistics.stdev(v) / statistics.mean(v) for v in ([f[stressor] for f in fs] for fs in found.values())]
        middle = numpy.log2([statistics.median(f[stressor] for f in fs) for fs in found.values()])
        low, high = middle.min() - numpy.median(middle), middle.max() - numpy.median(middle)
        print(f"| {stressor} | {100 * statistics.median(spread):.1f} % | {100 * max(spread):.1f} % | {low:+.2f} {high:+.2f} |")
    matrix = numpy.array([[statistics.median(f[s] for f in fs) for s in everywhere] for fs in found.values()])
    print(f"\nEffective rank of the catalog (participation ratio, medians over rounds): {effective_rank(matrix):.2f} "
          f"over {len(found)} hosts and {len(everywhere)} stressors.\n")
    changes = ", ".join(f"{name} {after[name] - before[name]:+.0f} MiB" for name in before)
    print(f"Free on this machine after, against before: {changes}.")


subprocess.run([program, "host", "up", lab, "--hosts", "12"], check=True, stdout=null, stderr=null)
for battery in batteries:
    before, seconds = machine_state(), []
    for _ in range(rounds):
        for host in ask("host", "measure", "--battery", battery)["hosts"]:
            if not host["complete"]:
                sys.exit(f"{host['host']}: {host['message']}")
            seconds.append(host["seconds"])
    report(battery, seconds, before, machine_state())
