"""A laboratory of two emulated hosts and a guest of aarch64: aarch64_table.py ASSAY DIRECTORY GUEST [PART...]. Writes Markdown to
standard output: a step a row, with what was asserted, and the time. Exit status 1 when anything did not hold."""
import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time

assay, directory, guest_directory = sys.argv[1:4]
parts = sys.argv[4:]
lab = directory + "/lab"
ARM, EMULATED = "arm1", ["emu01", "emu02"]
HOST = """  - name: arm1
    address: 127.0.0.1
    port: %d
    user: bench
    identity_file: %s/user
    on: this-box
"""
BATTERY = """name: small
passes: 3
seconds: .2
stressors:
  - { stressor: cpu, arguments: [--cpu-method, int64] }
  - { stressor: qsort, arguments: [--qsort-size, 1024] }
  - { stressor: getdent }
  - { stressor: pipe }
"""
# Programs that are not executable are data, which may be for any architecture.
MANIFEST = """files: [%(at)s/programs]
command: [sh, -c, 'cp {files}/programs/{version}-$(uname -m) run && chmod +x run && exec ./run']
versions: { one: , same: , slow: }
metric: cpu
repetitions: 6
"""
WRONG = """command: ['{build}/work']
versions: { one: { directory: %(at)s/x86_64 } }
repetitions: 1
"""
PROBED = """command: ['{build}/work']
versions: { one: { directory: %(at)s/%(program)s } }
repetitions: 1
probe: { back_end: %(back_end)s, functions: [main]%(more)s }
"""
MACHINES = {"x86_64": "3e", "aarch64": "b7"}  # byte 18 of an ELF file
failed = 0


def shell(*words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)


def call(*words):
    return shell(assay, "-C", lab, *words)


def answer(*words):
    """Of a command as JSON; its exit status is in it."""
    done = call(*words[:2], "--format", "json", *words[2:])
    return dict(json.loads(done.stdout or "{}"), status=done.returncode, said=done.stderr)


def by_host(document):
    return {host["host"]: host for host in document.get("hosts", [])}


@contextlib.contextmanager
def step(what):
    """A row of the table. It yields a function to which each assertion is said: what, whether it holds, and what was seen."""
    held = []

    def holds(text, right, seen=""):
        global failed
        if not right:
            failed += 1
            print("FAIL: %s: %s: %s" % (what, text, seen), file=sys.stderr)
        held.append(text if right else "**NOT: %s**" % text)
    began = time.time()
    try:
        yield holds
    except (KeyError, IndexError, TypeError, AttributeError, subprocess.TimeoutExpired) as trouble:
        holds("the answer has what is looked for", False, repr(trouble))
    print("| %s | %s | %.1f |" % (what, "; ".join(held).replace("|", "\\|"), time.time() - began), flush=True)


# ---- the guest ----

class Guest:
    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = None

    def start(self):
        net = "user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22" % self.port
        self.process = subprocess.Popen(
            ["setsid", "sh", "-c", '. tests/lib_guest.sh; guest_run "$@"', "sh", guest_directory, "cortex-a57", "3000", "-m", "2600", "-icount",
             "shift=3", "-netdev", net, "-device", "virtio-net-device,netdev=n"],
            stdout=open(directory + "/console", "ab"), stderr=subprocess.STDOUT)
        return until(self.greets, 180)

    def greets(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 10) as server:
                return server.recv(4) == b"SSH-"
        except OSError:
            return False

    def kill(self):
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def ssh(self, command):
        return shell("ssh", "-p", str(self.port), "-i", directory + "/user", "-F", "none", "-o", "BatchMode=yes",
                     "-o", "UserKnownHostsFile=" + lab + "/known_hosts", "bench@127.0.0.1", command).stdout


def until(condition, seconds):
    end = time.time() + seconds
    while not condition() and time.time() < end:
        time.sleep(.1)
    return condition()


# ---- what is left on hosts ----

there = "sum(machine = '%s')" % ARM


def left():
    """Programs and directories of sessions: on the guest, and of the emulated hosts, whose processes are this machine's."""
    found = [line for line in guest.ssh("ps -o user,args; ls /dev/shm").splitlines()
             if re.match(r"bench .*(/run\b|stress-ng|helper-|counting-)|assay-session", line)]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            environment = open("/proc/%s/environ" % pid, "rb").read()
            words = open("/proc/%s/cmdline" % pid, "rb").read().decode(errors="replace").split("\0")
            if b"ASSAY_EMULATED=" in environment and lab.encode() in environment and re.search("/run$|/work$|stress-ng|helper-", words[0]):
                found.append(" ".join(words))
    done = shell("find", lab + "/.assay/emulated", "-name", "assay-session*")
    return found + done.stdout.splitlines()


def nothing_left(holds):
    until(lambda: not left(), 60)
    holds("nothing left on any host", not left(), left())


def stored(what="count(*)"):
    """Of results, as SQL counts them."""
    with contextlib.closing(sqlite3.connect("file:%s/.assay/runs.db?mode=ro" % lab, uri=True)) as db:
        return db.execute("SELECT %s FROM run WHERE application = 'work'" % what).fetchone()[0] or 0


# ---- steps ----

def reach():
    with step("the guest boots") as holds:
        holds("its sshd answers", guest.start(), open(directory + "/console", errors="replace").read()[-300:])
    with step("`host up --hosts 2`") as holds:
        done = shell(assay, "host", "up", lab, "--hosts", "2")
        holds("status 0", done.returncode == 0, done.stderr)
        with open(lab + "/lab.yaml", "a", encoding="utf-8") as file:
            file.write(HOST % (guest.port, directory))
    with step("`host exec` before its key is known") as holds:
        host = by_host(answer("host", "exec", "-w", ARM, "--", "true"))[ARM]
        holds("refused: its key is not known", host["outcome"] != "ok" and "key" in host["message"], host)
    with step("`host trust -w arm1`") as holds:
        done = call("host", "trust", "-w", ARM)
        key = shell("ssh-keygen", "-lf", guest_directory + "/guest/etc/host.pub").stdout.split()[1]
        holds("the key that it shows is the guest's own", done.returncode == 0 and key in done.stdout, done.stdout + done.stderr)


def facts():
    with step("`host check`") as holds:
        hosts = by_host(answer("host", "check"))
        arm, x86 = hosts[ARM]["facts"], hosts[EMULATED[0]]["facts"]
        own = re.search("model name.*: (.*)", open("/proc/cpuinfo").read()).group(1)
        holds("architecture `aarch64` and `x86_64`", (arm["architecture"], x86["architecture"]) == ("aarch64", "x86_64"), (arm, x86))
        holds("processor `%s` by MIDR, and `%s`" % (arm["cpu_model"], x86["cpu_model"]),
              arm["cpu_model"] == "ARM Cortex-A57" and x86["cpu_model"] == own, (arm, x86))
        holds("virtual machine `qemu` by the device tree, whose board it names", arm["virtual_machine"] == "qemu" and
              arm["board_name"] == "linux,dummy-virt", arm)
        holds("no microcode, family, model, stepping there, and family and model here",
              not any(arm[name] for name in ("microcode", "cpu_family", "cpu_model_number", "cpu_stepping")) and
              x86["cpu_family"] is not None and x86["cpu_model_number"] is not None, (arm, x86))
    with step("`host exec`") as holds:
        hosts = by_host(answer("host", "exec", "--", "sh", "-c", "uname -m; od -An -tx1 -j18 -N1 /proc/$PPID/exe; readlink /proc/$PPID/exe"))
        for name in [ARM] + EMULATED:
            machine, byte, helper = hosts[name]["stdout"].split()
            holds("%s has the helper of %s" % (name, machine), machine == ("aarch64" if name == ARM else "x86_64") and
                  byte == MACHINES[machine] and "/.cache/assay/helper-" in helper, hosts[name]["stdout"])


def fingerprints():
    with open(directory + "/small.yaml", "w", encoding="utf-8") as file:
        file.write(BATTERY)
    with step("`host measure --counters`, four stressors, three passes") as holds:
        done = answer("host", "measure", "-q", "--counters", "--battery", directory + "/small.yaml")
        hosts = by_host(done)
        holds("all complete", done["status"] == 0 and all(hosts[name]["complete"] for name in [ARM] + EMULATED), done)
        holds("of architecture `aarch64` and `x86_64`", [answer("host", "show", "--passes", name)["architecture"] for name in [ARM] + EMULATED] ==
              ["aarch64", "x86_64", "x86_64"])
        counting = guest.ssh("od -An -tx1 -j18 -N1 .cache/assay/counting-*").split()
        holds("the guest has the counting program of aarch64", counting == [MACHINES["aarch64"]], counting)
        nothing_left(holds)
    with step("`host show arm1 emu01`") as holds:
        done = call("host", "show", ARM, EMULATED[0])
        holds("refused: fingerprints of different architectures cannot be compared",
              done.returncode == 2 and "different architectures cannot be compared" in done.stderr, done.stderr)


def manifest(name, text, **values):
    with open("%s/apps/%s.yaml" % (lab, name), "w", encoding="utf-8") as file:
        file.write(text % dict(values, at=directory))


def runs():
    manifest("work", MANIFEST)
    with step("`run work`, three versions, six times each on three hosts; the controller gets SIGKILL in the middle") as holds:
        process = subprocess.Popen([assay, "-C", lab, "run", "work", "-q"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        holds("it was at work on the guest", until(lambda: stored(there) >= 2, 120), stored())
        holds("its session's files are seen there", any("assay-session" in line for line in left()))
        process.kill()
        process.wait()
        nothing_left(holds)
        before = stored()
        holds("%d of 54 results are stored" % before, 0 < before < 54)
    with step("`run work --resume`") as holds:
        done = answer("run", "work", "--resume", "-q")
        holds("status 0", done["status"] == 0, done)
        holds("54 results, 18 a host, none twice", stored() == 54 and
              stored("count(DISTINCT machine || version || repetition)") == 54 and stored("count(DISTINCT machine)") == 3, stored())
        nothing_left(holds)


def gated(candidate, *more):
    done = answer("gate", "work@one", "work@" + candidate, "--min-effect", ".1", *more)
    apart = {row["architecture"]: row for row in done.get("architectures", [])}
    reason = [row["text"] for row in done.get("reasons", []) if row["code"] == "architectures_apart"]
    return done, apart, reason[0] if reason else ""


def decisions():
    with step("`gate work@one work@same --min-effect .1`") as holds:
        done, apart, reason = gated("same")
        holds("`pass`: aarch64 %.3f on %d machine, x86_64 %.3f on %d" % tuple(apart[a][k] for a in sorted(apart) for k in ("ratio", "machines")),
              done["status"] == 0 and [apart[a]["decision"] for a in sorted(MACHINES)] == ["pass", "pass"], done)
        holds("it says that they are decided apart", "aarch64 pass" in reason and "x86_64 pass" in reason, reason)
    with step("`gate work@one work@slow --min-effect .1`") as holds:
        done, apart, reason = gated("slow")
        holds("`regression`, status 3: aarch64 %.3f (%.3f to %.3f)" % tuple(apart["aarch64"][k] for k in ("ratio", "low", "high")),
              done["status"] == 3 and done["decision"] == apart["aarch64"]["decision"] == "regression" and
              1.4 < apart["aarch64"]["ratio"] < 1.6, done)
        holds("x86_64 `pass`, %.3f" % apart["x86_64"]["ratio"], apart["x86_64"]["decision"] == "pass", done)
        holds("the reason names aarch64", "aarch64 regression" in reason and "x86_64 pass" in reason, reason)
        holds("the ratio is that of aarch64", done["effect"]["ratio"] == apart["aarch64"]["ratio"], done["effect"])
    with step("`report work@one work@slow`") as holds:
        done = call("report", "work@one", "work@slow", "--min-effect", ".1", "-o", directory + "/report.html")
        page = open(directory + "/report.html", encoding="utf-8").read()
        holds("the page says `aarch64 regression`", done.returncode == 0 and "aarch64 regression" in page, done.stderr)
    with step("`profile work@one`") as holds:
        done = answer("profile", "work@one")
        holds("the %d results of x86_64 alone, which are most" % done["rows"], (done["rows"], done["machines"]) == (12, 2), done)
        holds("the 6 of aarch64 are left out, and that is said", "the 12 of x86_64 are looked at, the 6 others left out" in done["said"], done)
    with step("`history work`") as holds:
        for asked, of, machines in ((), "x86_64", 2), (("--architecture", "aarch64"), "aarch64", 1):
            done = answer("history", "work", *asked)
            points = {point["version"]: point["cost"] for point in done["points"]}
            holds("of %s: `slow` is %.2f of `one`" % (of, points["slow"] / points["one"]),
                  (done["architecture"], done["machines"]) == (of, machines) and len(done["other_architectures"]) == 1 and
                  (points["slow"] / points["one"] > 1.3) == (of == "aarch64"), done)


def refusals():
    for back_end, program, more in (("probe", "x86_64", ", counters: []"), ("emulated", "emulated", "")):
        manifest("probed", PROBED, back_end=back_end, program=program, more=more)
        with step("`run probed --probe`, back end `%s`" % back_end) as holds:
            done = answer("run", "probed", "--probe", "-q")
            hosts = by_host(done)
            holds("%s: `%s`, %s" % (ARM, hosts[ARM]["outcome"], hosts[ARM]["message"]),
                  hosts[ARM]["outcome"] == "failed" and "aarch64" in hosts[ARM]["message"], done)
            holds("the other two give samples, status 7", done["status"] == 7 and all(hosts[name]["outcome"] == "ok" for name in EMULATED), done)
            nothing_left(holds)
    manifest("wrong", WRONG)
    with step("`run wrong`, whose only program is for x86_64") as holds:
        done = answer("run", "wrong", "-q")
        hosts = by_host(done)
        holds("%s: `%s`, %s" % (ARM, hosts[ARM]["outcome"], hosts[ARM]["message"].replace(directory, "")),
              hosts[ARM]["outcome"] == "failed" and "work" in hosts[ARM]["message"] and "x86" in hosts[ARM]["message"], done)
        holds("the other two go on, status 7", done["status"] == 7 and all(hosts[name]["outcome"] == "ok" for name in EMULATED), done)
    program = directory + "/aarch64/work"
    for words in (["changes", program, program], ["inspect", program], ["record", "--for", "functions", "--functions", "main", "--", program]):
        with step("`%s` of the program for aarch64" % words[0]) as holds:
            done = call(*words)
            holds("status 2: for aarch64; only x86-64 is supported",
                  done.returncode == 2 and "is for aarch64; only x86-64 is supported" in done.stderr, done.stderr)


def death():
    manifest("work", MANIFEST)
    with step("`run work --versions one,same`; the guest is killed in the middle") as holds:
        before, there_before = stored(), stored(there)
        process = subprocess.Popen([assay, "-C", lab, "run", "work", "-q", "--versions", "one,same", "--format", "json"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        holds("it was at work there", until(lambda: stored(there) >= there_before + 2, 120))
        guest.kill()
        hosts = by_host(json.loads(process.communicate(timeout=300)[0]))
        holds("`%s`: %s" % (hosts[ARM]["outcome"], hosts[ARM]["message"]), hosts[ARM]["outcome"] not in ("ok", "timeout"), hosts)
        holds("the others are whole, status 7", process.returncode == 7 and all(hosts[name]["outcome"] == "ok" for name in EMULATED), hosts)
    with step("the guest boots again; `run work --resume`") as holds:
        holds("its sshd answers with the same key", guest.start() and call("host", "exec", "-w", ARM, "--", "true").returncode == 0)
        done = answer("run", "work", "--resume", "-q")
        holds("status 0, 36 results more", done["status"] == 0 and stored() == before + 36, (done, stored()))
        nothing_left(holds)
    with step("`gate work@one work@same --min-effect .1` once more") as holds:
        done, apart, reason = gated("same")
        holds("`pass` in both", done["status"] == 0 and [apart[a]["decision"] for a in sorted(MACHINES)] == ["pass", "pass"], done)


def main():
    print("| step | what was asserted | s |\n| --- | --- | ---: |", flush=True)
    for part in (reach, facts, fingerprints, runs, decisions, refusals, death):
        if part == reach or not parts or part.__name__ in parts:
            part()
    print("\nAll steps took %.0f s, at a load of %.1f on %d processors." % (time.time() - began, os.getloadavg()[1], os.cpu_count()))


began = time.time()
guest = Guest()
try:
    main()
finally:
    guest.kill()
sys.exit(1 if failed else 0)
