"""Profiles of programs of other shapes than tests/apps/composed.c, against what each of them, or its parent, measures itself.

    profile_others.py ASSAY DIRECTORY [NAME...]     builds and writes to DIRECTORY; a table to standard output; exit 1: something is far off

C++ with exceptions and threads (stages.cc), sendfile, copy_file_range and a mapped file (copies.c), a chain of execve() (chain.c), a Python
script whose parts time themselves, a pipeline of the shell whose processes are waited for one by one. A row of the truth is a pattern of
categories that together are expected to have from LOW to HIGH of the time.
"""
import collections
import json
import os
import re
import subprocess
import sys
import time

BUDGET_S = 6
FAR = .05  # beyond the truth's ends

SCRIPT = r"""import hashlib, os, re, sys, time, zlib
text = open(sys.argv[2], "rb").read()[:1 << 20]
said, began = [], time.monotonic()
def part(name, work, times):
    from_s = time.process_time()
    for _ in range(times):
        work()
    said.append((name, time.process_time() - from_s))
def loop():
    n = 0
    for i in range(60000):
        n += i * i % 7
    return n
def write():
    with open(sys.argv[3], "wb", buffering=0) as out:
        for i in range(0, len(text), 1 << 16):
            out.write(text[i:i + (1 << 16)])
part("zlib", lambda: zlib.compress(text, 9), 3)
part("sha256", lambda: hashlib.sha256(text).digest(), 90)
part("loop", loop, 25)
part("regex", lambda: re.findall(rb"[a-z]+_[a-z]+", text), 2)
part("write", write, 120)
time.sleep(.15)
part("all", lambda: None, 1)
with open(sys.argv[1], "a") as out:
    for name, s in said[:-1]:
        out.write(f"{name},{s}\n")
    out.write(f"wall,{time.monotonic() - began}\ncpu,{time.process_time()}\n")
    out.write(f"delay,{int(open('/proc/self/schedstat').read().split()[1]) / 1e9}\n")
"""

# As `sh -c` runs it, and as its parent here runs it, to wait for each.
PIPELINE = ["cat {w}/text", "gzip -9", "sha256sum"]


def shares(truth):
    """SECONDS by part of all runs -> shares of the time."""
    whole = max(truth["wall"] - truth["delay"], truth["cpu"])
    return collections.defaultdict(float, {k: v / whole for k, v in truth.items()})


def of_stages(s):
    return [("computing", "time:compute", s["cpu"] - .03, 1), ("in the kernel", "time:kernel", 0, .03),
            ("throwing", r"C\+\+ library|^dynamic|allocation", s["throwing"] * .85, s["throwing"] + s["formatting"]),
            ("sorting", r"^sorting", s["sorting"] * .6, s["sorting"]),
            ("formatting", r"C\+\+ library|formatting|string|character", s["formatting"] * .8, s["formatting"] + s["throwing"]),
            ("own code", r"^own code", s["threads"], s["threads"] + s["sorting"] * .5 + s["formatting"] * .2)]


def of_copies(s):
    kernel = s["sendfile"] + s["copy_file_range"] + s["mapping"] + s["faults"] + s["pread"]
    return [("computing", "time:compute", s["looking"] * .8, s["looking"] + .03), ("in the kernel", "time:kernel", kernel * .93, kernel + .04),
            ("waiting", "time:waiting", s["slept"] - .02, s["slept"] + .01),
            ("file data", r"^file data", (s["sendfile"] + s["copy_file_range"] + s["pread"]) * .9, s["sendfile"] + s["copy_file_range"] + s["pread"] + .02),
            ("page faults", r"^page faults", s["faults"] * .7, s["faults"] + .03), ("own code", r"^own code", s["looking"] * .8, s["looking"] + .02)]


def of_chain(s):
    rest = s["cpu"] - s["computed"]
    return [("computing", "time:compute", s["computed"] * .9, s["computed"] + rest * .5),
            ("own code", r"^own code", s["computed"] * .9, s["computed"] + .03), ("in the kernel", "time:kernel", rest * .4, rest + s["computed"] * .08),
            ("waiting", "time:waiting", 0, max(1 - s["cpu"], 0) + .02)]


def of_script(s):
    return [("compression", r"^compression", s["zlib"] * .9, s["zlib"] + .02), ("cryptography", r"^cryptography", s["sha256"] * .93, s["sha256"] + .02),
            ("interpreter", r"^interpreter", (s["loop"] + s["regex"]) * .8, s["loop"] + s["regex"] + max(s["cpu"] - sum(s[n] for n in ("zlib", "sha256", "loop", "regex", "write")), 0) + .03),
            ("file data", r"^file data", s["write"] * .8, s["write"] + .02), ("waiting", "time:waiting", 1 - s["cpu"] - .02, 1 - s["cpu"] + .02)]


def of_pipeline(s):
    return [("compression", r"^compression", s["gzip"] * .9, s["gzip"]), ("cryptography", r"^cryptography", s["sha256sum"] * .7, s["sha256sum"]),
            ("in the kernel", "time:kernel", s["cat"] * .7, s["cat"] + .1 * s["gzip"] + .3 * s["sha256sum"] + .02)]


PROGRAMS = {
    "stages": (["{w}/stages", "{t}"], of_stages),
    "copies": (["{w}/copies", "{t}"], of_copies),
    "chain": (["{w}/chain", "{t}", "60", "2000"], of_chain),
    "script": (["/usr/bin/python3", "-c", SCRIPT, "{t}", "{w}/text", "{w}/written"], of_script),
    "pipeline": (["sh", "-c", " | ".join(PIPELINE) + " > {w}/sum"], of_pipeline),
}
SOURCES = {"stages": ["g++", "-O2", "-pthread", "tests/apps/stages.cc"], "copies": ["gcc", "-O2", "tests/apps/copies.c"],
           "chain": ["gcc", "-O2", "tests/apps/chain.c"]}


def prepare(w):
    for name, words in SOURCES.items():
        subprocess.run([*words[:-1], "-o", os.path.join(w, name), words[-1]], check=True)
    text = b""
    for directory, _, files in sorted(os.walk("/usr/include")):
        for name in sorted(files):
            if name.endswith(".h"):
                with open(os.path.join(directory, name), "rb") as file:
                    text += file.read()
        if len(text) > 4 << 20:
            break
    with open(os.path.join(w, "text"), "wb") as file:
        file.write(text[:4 << 20])


def pipeline_truth(w):
    """A line a process, waited for one by one."""
    spent = collections.Counter()
    for _ in range(5):
        began, before, children = time.monotonic(), None, []
        for i, words in enumerate(PIPELINE):
            out = open(os.path.join(w, "sum"), "wb") if i == len(PIPELINE) - 1 else subprocess.PIPE
            child = subprocess.Popen(words.replace("{w}", w).split(), stdin=before, stdout=out)
            if before:
                before.close()
            before = child.stdout
            children.append((words.split()[0], child))
        for name, child in children:
            usage = os.wait4(child.pid, 0)[2]
            child.returncode = 0
            spent[name] += usage.ru_utime + usage.ru_stime
            spent["cpu"] += usage.ru_utime + usage.ru_stime
        spent["wall"] += time.monotonic() - began
    return spent


def truth_of(name, path, w):
    if name == "pipeline":
        return pipeline_truth(w)
    spent = collections.Counter()
    with open(path, encoding="ascii") as lines:
        for line in lines:
            part, s = line.split(",")
            spent[part] += float(s)
    return spent


def share_of(answer, pattern):
    if pattern.startswith("time:"):
        rows = [r for r in answer["levels"] if r["level"] == "time" and r["name"] == pattern[5:]]
    else:
        rows = [r for r in answer["levels"] if r["level"] == "category" and re.search(pattern, r["name"])]
    return sum(r["share"] for r in rows), "trusted" if all(r["verdict"] == "trusted" for r in rows) else "indicative"


def measure(assay, w, name):
    """True: nothing is far off."""
    words, expected = PROGRAMS[name]
    truth = os.path.join(w, name + ".truth")
    if os.path.exists(truth):
        os.unlink(truth)
    said = subprocess.run([assay, "stat", "--budget", str(BUDGET_S), "--format", "json", "--",
                           *[word.replace("{w}", w).replace("{t}", truth) for word in words]], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if said.returncode:
        sys.exit(f"{name}: {said.stderr}")
    answer = json.loads(said.stdout)
    with open(os.path.join(w, name + ".json"), "w", encoding="utf-8") as out:
        out.write(said.stdout)
    well = True
    for what, pattern, low, high in expected(shares(truth_of(name, truth, w))):
        share, verdict = share_of(answer, pattern)
        off = max(low - share, share - high, 0)
        well = well and (off <= FAR or verdict != "trusted")
        print(f"| {name} | {answer['runs']} | {100 * answer['delay']:.1f} | {what} | {100 * share:.1f} | {100 * max(low, 0):.1f} to {100 * min(high, 1):.1f} | "
              f"{verdict} | {f'{100 * off:.1f}' if off else ''} |", flush=True)
    return well


def main(assay, w, *names):
    os.makedirs(w, exist_ok=True)
    prepare(w)
    print("| program | runs | delay, % | what | answer, % | truth, % | verdict | off by |\n| --- | ---: | ---: | --- | ---: | --- | --- | ---: |")
    well = [measure(assay, w, name) for name in names or PROGRAMS]
    sys.exit(not all(well))


if __name__ == "__main__":
    main(*sys.argv[1:])
