"""The tables of tests/evidence/fleet.sh: PROGRAM LABORATORY ROUNDS. Brings the emulated host up and down itself."""
import json
import os
import statistics
import subprocess
import sys
import time

program, lab, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
null = subprocess.DEVNULL


def measure(words):
    """Wall seconds, CPU seconds and peak memory of a command with all its children; None when it failed."""
    start = time.monotonic()
    process = subprocess.Popen(words, stdin=null, stdout=null, stderr=null)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    if status:
        return None
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def up(n):
    start = time.monotonic()
    subprocess.run([program, "host", "up", lab, "--hosts", str(n)], check=True, stdout=null, stderr=null)
    return time.monotonic() - start


def hosts():
    done = subprocess.run([program, "-C", lab, "host", "list", "--format", "json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["hosts"]


def write_ssh_config(listed):
    """What the peers need: the same keys of hosts, the same key of ours, the same key exchange and cipher as assay uses."""
    with open(f"{lab}/peers.config", "w") as file:
        for host in listed:
            file.write(f"Host {host['name']}\n HostName {host['address']}\n Port {host['port']}\n User {host['user']}\n")
        file.write(f"Host *\n IdentityFile {lab}/.assay/emulated/id_ed25519\n IdentitiesOnly yes\n BatchMode yes\n"
                   f" UserKnownHostsFile {lab}/known_hosts\n GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n"
                   " KexAlgorithms curve25519-sha256\n Ciphers chacha20-poly1305@openssh.com\n ControlPath none\n")
    with open(f"{lab}/peers.hosts", "w") as file:
        file.writelines(host["name"] + "\n" for host in listed)


def rivals(listed):
    names = ",".join(host["name"] for host in listed)
    config = f"{lab}/peers.config"
    return {
        "assay": [program, "-C", lab, "host", "exec", "--", "true"],
        "pssh": ["parallel-ssh", "-h", f"{lab}/peers.hosts", "-p", "32", "-t", "60", "-x", f"-F {config}", "true"],
        "clush": ["clush", "-w", names, "-f", "32", "-o", f"-F {config}", "true"],
    }


def compare(n):
    took = up(n)
    listed = hosts()
    write_ssh_config(listed)
    commands = rivals(listed)
    samples = {name: [] for name in commands}
    for command in commands.values():
        measure(command)  # warm up; assay deploys its helper
    for _ in range(rounds):
        for name, command in commands.items():
            got = measure(command)
            if got is not None:
                samples[name].append(got)
            elif name == "assay":
                sys.exit(f"{name} failed on {n} hosts")
    print(f"\n{n} hosts (brought up in {took:.2f} s), `true` on each, fan-out 32, curve25519-sha256 and chacha20-poly1305, "
          f"{rounds} rounds in turn:\n")
    print("| program | wall, s (median) | / assay | client CPU, ms a host (median) | peak memory, MiB (largest process) |")
    print("| --- | --- | --- | --- | --- |")
    base = statistics.median(s[0] for s in samples["assay"])
    for name, got in samples.items():
        if not got:
            print(f"| {name} | failed | | | |")
            continue
        wall, cpu, memory = (statistics.median(s[i] for s in got) for i in range(3))
        print(f"| {name} | {wall:.3f} | {wall / base:.2f} | {1000 * cpu / n:.2f} | {memory:.1f} |")
    print()
    for name, got in samples.items():
        print(f"{name}, wall, every sample in s:", *(f"{s[0]:.3f}" for s in got), "\n")


for n in (50, 200):
    compare(n)
    subprocess.run([program, "host", "down", lab], check=True, stdout=null, stderr=null)
