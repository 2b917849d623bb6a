"""Hosts behind Slurm, on a cluster of three nodes on this machine: slurm_table.py ASSAY DIRECTORY [PART...]. Writes Markdown to standard output.

A laboratory from host check to gate, fingerprints and a run that are killed and resumed, the environment, nodes that differ, a login node,
every way in which an allocation can end, and what commands cost beside ssh and beside this machine without any transport. After each step:
jobs of Slurm and processes that are left."""
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import time

assay, directory = sys.argv[1:3]
lab, cluster = directory + "/lab", directory + "/slurm"
os.environ["SLURM_CONF"] = cluster + "/slurm.conf"
HOSTS = "hosts:\n" + "".join("""  - name: node%d
    type: %s
    on: here
    transport: slurm
    time_limit: {0}
    queue_limit: {0}
    options: [-p, lab]
""" % row for row in ((1, "rome"), (2, "milan"), (3, "genoa")))
RESTART = 'mount --bind "$1/machine-id-1" /etc/machine-id; exec slurmd -N node1 -f "$1/slurm.conf"'  # as machines/slurm-up starts it
MARK = "86399.75"  # seconds of a sleep that nobody else has


def shell(words):
    return subprocess.run(words, capture_output=True, text=True, timeout=900)


def lab_yaml(where, text):
    with open(where + "/lab.yaml", "w", encoding="utf-8") as file:
        file.write(text)


def jobs():
    return len(shell(["squeue", "-h"]).stdout.splitlines())


def processes():
    return len(shell(["pgrep", "-f", "-x", "sleep " + MARK.replace(".", "[.]")]).stdout.split())


def until(condition, seconds):
    end = time.time() + seconds
    while not condition() and time.time() < end:
        time.sleep(.05)
    return condition()


def wait_idle():
    until(lambda: shell(["sinfo", "-h", "-p", "lab", "-N", "-o", "%t"]).stdout.split().count("idle") == 3, 120)


def start(words, where=lab, before=()):
    return subprocess.Popen([*before, assay, "-C", where] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process):
    out, err = process.communicate(timeout=200)
    last = [line for line in err.splitlines() if "remark" not in line][-1:]
    return out, last[0].replace("assay host exec: ", "") if last else "", process.returncode


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def sleeping():
    until(lambda: processes() > 0, 60)


def left(seconds=60):
    until(lambda: jobs() == 0 and processes() == 0, seconds)
    return jobs(), processes()


def ends():
    print("## How allocations end\n\n`host exec -- sleep` on one host, and what happens to it; a minute is the smallest limit that "
          "Slurm knows, and it looks for those that have passed theirs every half minute or so.\n")
    row("what happens", "status", "what is said", "s from there to the end", "jobs left", "processes left")
    row("---", "---:", "---", "---:", "---:", "---:")

    def case(what, act, host="node1", words=("sleep", MARK), before=None, after=None):
        wait_idle()
        if before:
            before()
        process = start(["host", "exec", "-w", host, "--"] + list(words))
        if act:
            sleeping()
        began = time.time()
        kept = act(process) if act else None
        said, status = answer(process)[1:]
        took = time.time() - began
        if after:
            after(kept)
        row(what, status, said or "(killed)", "%.1f" % took, *left())

    pid = lambda node: int(open(cluster + "/slurmd-" + node + ".pid").read())
    case("job cancelled", lambda p: shell(["scancel", "-u", "root"]))
    case("job preempted", lambda p: subprocess.Popen(["srun", "-Q", "-p", "urgent", "-w", "node1", "-N1", "--exclusive", "true"]),
         after=lambda p: p.wait())
    case("srun killed", lambda p: shell(["pkill", "-KILL", "-x", "srun"]))
    case("controller killed", lambda p: p.kill())

    def drain():
        shell(["scontrol", "update", "nodename=node1", "state=drain", "reason=new disk"])

    def resume(_):
        shell(["scontrol", "update", "nodename=node1", "state=resume"])
    case("node drained before", None, before=drain, after=resume)
    case("slurmd killed", lambda p: os.kill(pid("node1"), 9),
         after=lambda _: (shell(["unshare", "-m", "sh", "-c", RESTART, "sh", cluster]), time.sleep(5)))
    lab_yaml(lab, HOSTS.format("1m"))
    case("time_limit of a minute", lambda p: None)
    holder = []
    case("queue_limit of a minute, while another has the node", None,
         before=lambda: (holder.append(subprocess.Popen(["srun", "-Q", "-w", "node1", "--exclusive", "sleep", "600"])), time.sleep(2)),
         after=lambda _: (holder[0].terminate(), holder[0].terminate(), holder[0].wait()))
    lab_yaml(lab, HOSTS.format("30m"))
    wait_idle()
    first = start(["host", "exec", "-w", "node1", "--", "sleep", MARK])
    sleeping()
    second = start(["host", "exec", "-w", "node1", "--", "sleep", MARK])
    until(lambda: jobs() == 2, 30)
    second.kill()
    alone = until(lambda: jobs() == 1, 30)
    first.kill()
    row("controller killed while its job waits in the queue", "", "its job left the queue: %s" % ("yes" if alone else "no"), "", *left())
    print()


MANIFEST = """command: [dd, if=/dev/zero, of=/dev/null, bs=1, 'count={version}']
versions: { '300000': , '400000': }
repetitions: 6
"""


def stored(sql):
    try:
        store = sqlite3.connect("file:%s/.assay/runs.db?mode=ro" % lab, uri=True)
        n = store.execute(sql).fetchone()
        store.close()
    except sqlite3.OperationalError:  # the first command has not made it yet
        return (0,)
    return n


def killed(words, times, sql):
    """The command, so many times ended by SIGKILL once it has stored more than there was, and resumed; how many times it was, and its end."""
    kills, process = 0, start(words)
    while kills < times:
        before = stored(sql)[0]
        until(lambda: stored(sql)[0] > before + 2 or process.poll() is not None, 600)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        until(lambda: jobs() == 0, 30)
        n = jobs()
        if n:
            print("- **after a kill %d jobs were left**" % n)
        process = start(words + ["--resume"])
    process.communicate()
    return kills, process.returncode


def laboratory():
    print("## A laboratory\n")
    began = time.time()
    done = shell([assay, "-C", lab, "host", "check"])
    print("- `assay host check`: status %d, %.1f s; %s" % (done.returncode, time.time() - began, "; ".join(
        line for i, line in enumerate(done.stdout.splitlines() or [done.stderr]) if i == 0 or ": problem: " in line)))
    kills, status = killed(["host", "measure", "--battery", "quick", "-q"], 2, "select count(*) from rate")
    print("- `assay host measure --battery quick`, killed %d times with SIGKILL and resumed: status %d; %d complete fingerprints of %d machines, %d "
          "incomplete; rates %d, different ones %d" % ((kills, status) + stored(
              "select sum(complete), count(distinct machine), sum(not complete) from fingerprint") + stored(
                  "select count(*), count(distinct machine || battery || pass || stressor || ordinal) from rate join fingerprint on id = fingerprint")))
    kills, status = killed(["run", "dd", "-q"], 3, "select count(*) from execution")
    print("- `assay run dd`, killed %d times with SIGKILL and resumed: status %d; results %d, different ones %d, of 36" % ((kills, status) + stored(
        "select count(*), count(distinct machine || version || repetition) from execution where outcome = 'ok'")))
    done = shell([assay, "-C", lab, "gate", "dd@300000", "dd@400000"])
    print("- `assay gate dd@300000 dd@400000`: status %d; %s" % (done.returncode, (done.stdout.splitlines() or [done.stderr])[0]))
    print("- left: %d jobs, %d processes\n" % left())


def cost():
    print("## What it costs\n\nMedians of nine, of one host; the ssh host is an emulated one without anything made dearer.\n")
    places = {"local": directory + "/here", "ssh": directory + "/ssh", "slurm": lab}
    os.mkdir(places["local"])
    shell([assay, "init", places["local"]])
    lab_yaml(places["local"], "hosts: [{name: here, transport: local}]\n")
    shell([assay, "host", "up", places["ssh"], "--hosts", "1", "--profiles", "base"])
    wait_idle()
    row("transport", "`host exec -- true`, ms", "`host check`, ms more than that", "`host copy` of 64 MiB, ms", "`host measure --battery quick`, s")
    row("---", "---:", "---:", "---:", "---:")
    with open(directory + "/big", "wb") as file:
        file.write(os.urandom(64 << 20))
    said = []
    for name, where in places.items():
        host = json.loads(shell([assay, "-C", where, "host", "list", "--format", "json"]).stdout)["hosts"][0]["name"]

        def timed(words, times=9):
            taken = []
            for _ in range(times):
                began = time.time()
                done = shell([assay, "-C", where] + words)
                taken.append(time.time() - began)
                if done.returncode and words[1] != "check":  # which finds that the machine is busy
                    said.append("%s: `%s` ended with %d: %s" % (name, words[1], done.returncode, (done.stderr or done.stdout).splitlines()[0]))
            return statistics.median(taken)
        once = timed(["host", "exec", "-w", host, "--", "true"])
        put = timed(["host", "copy", "-w", host, directory + "/big", "/tmp/assay-evidence-big"], 5)
        check = timed(["host", "check", "-w", host])
        battery = timed(["host", "measure", "-w", host, "--battery", "quick", "-q"], 1)
        row(name, "%.0f" % (1000 * once), "%.0f" % (1000 * (check - once)), "%.0f" % (1000 * put), "%.1f" % battery)
    os.remove("/tmp/assay-evidence-big")
    shell([assay, "host", "down", places["ssh"]])
    print("".join("\n- " + line for line in said) + "\n" * bool(said))


def queue():
    print("## 64 jobs, eight at a time\n")
    text = "hosts:\n"
    for i in range(64):
        text += "  - {name: q%02d, address: node%d, transport: slurm, time_limit: 5m, queue_limit: 30m}\n" % (i, i % 3 + 1)
    where = directory + "/queue"
    os.mkdir(where)
    shell([assay, "init", where])
    lab_yaml(where, text)
    wait_idle()
    most = [0]
    began = time.time()
    process = start(["host", "exec", "--fanout", "8", "--", "sleep", ".2"], where)
    while process.poll() is None:
        most[0] = max(most[0], jobs())
        time.sleep(.2)
    said, status = answer(process)[1:]
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print("`host exec --fanout 8 -- sleep .2` on 64 hosts that are three nodes: status %d after %.0f s, `%s`; at most %d jobs at a time in "
          "Slurm; the largest process of the whole page had %.0f MiB. Left: %d jobs, %d processes." %
          ((status, time.time() - began, said, most[0], memory / 1024) + left()))


def environment():
    print("## The environment on a node\n")
    os.mkdir(directory + "/own")
    mine = dict(os.environ, HOME=directory + "/own", PATH=directory + "/own:" + os.environ["PATH"], LANG="C.UTF-8", TOKEN="secret", SRUN_LABEL="0")
    wait_idle()
    done = subprocess.run([assay, "-C", lab, "host", "exec", "-w", "node1", "--", "env"], capture_output=True, text=True, env=mine)
    there = dict(line.split(": ", 1)[1].split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    print("`host exec -w node1 -- env`, with `TOKEN`, `LANG` and %d other variables beside `HOME` and `PATH` here: status %d. On the node `HOME` is %s, "
          "`PATH` is %s; besides these `%s` and %d that begin with `SLURM` or `SRUN`. With a value from here: `%s`.\n" %
          (len(mine) - 4, done.returncode, "ours" if there.get("HOME") == mine["HOME"] else "**%s**" % there.get("HOME"),
           "ours" if there.get("PATH") == mine["PATH"] else "**%s**" % there.get("PATH"),
           "`, `".join(sorted(n for n in there if n not in ("HOME", "PATH") and not n.startswith(("SLURM", "SRUN")))),
           sum(n.startswith(("SLURM", "SRUN")) for n in there), "`, `".join(sorted(n for n in there if mine.get(n) == there[n]))))


def nodes():
    print("## Nodes that differ from night to night\n\nSix hosts of type rome on the three nodes: r1 and r2 are node1, r3 and r4 node2, r5 and r6 node3. "
          "`host exec -w 'any 3 of type:rome' -- true`:\n")
    where = directory + "/nodes"
    shell([assay, "init", where])
    lab_yaml(where, "hosts:\n" + "".join("  - {name: r%d, address: node%d, type: rome, transport: slurm, time_limit: 5m, queue_limit: 30m}\n" %
                                        (i, (i + 1) // 2) for i in range(1, 7)))
    row("the nodes", "status", "hosts", "jobs left")
    row("---", "---:", "---", "---:")
    holder = []

    def case(what, before, after):
        wait_idle()
        before()
        done = shell([assay, "-C", where, "host", "exec", "-w", "any 3 of type:rome", "--format", "json", "--", "true"])
        said = json.loads(done.stdout)["hosts"] if done.stdout else []
        after()
        row(what, done.returncode, ", ".join("%s %s" % (host["host"], host["outcome"]) for host in said) or done.stderr.splitlines()[-1], left()[0])

    def state(node, *words):
        return lambda: shell(["scontrol", "update", "nodename=" + node, *words])
    case("all idle", lambda: None, lambda: None)
    for node in ("node1", "node2"):
        case(node + " is drained", state(node, "state=drain", "reason=new disk"), state(node, "state=resume"))
    case("node1 is busy", lambda: (holder.append(subprocess.Popen(["srun", "-Q", "-w", "node1", "--exclusive", "sleep", "600"])), time.sleep(2)),
         lambda: (holder[0].terminate(), holder[0].terminate(), holder[0].wait()))
    done = shell([assay, "-C", where, "host", "exec", "-w", "any 7 of type:rome", "--", "true"])
    print("\n`any 7 of type:rome`: status %d, `%s`\n" % (done.returncode, done.stderr.splitlines()[-1]))


def login_start(home):
    """An sshd that is the login node, and an account of this machine whose ~/.ssh knows its way there; its port, its key's fingerprint."""
    os.makedirs(home + "/.ssh", mode=0o700)
    for name in ("/id_ed25519", "/host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home + "/.ssh" + name], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(home + "/sshd", "w", encoding="utf-8") as file:
        file.write("ListenAddress 127.0.0.1\nPort %d\nHostKey %s/.ssh/host\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nMaxStartups 500\n"
                   "AuthorizedKeysFile %s/.ssh/id_ed25519.pub\nSetEnv SHLVL=2 SLURM_CONF=%s\n" % (port, home, home, os.environ["SLURM_CONF"]))
    with open(home + "/.ssh/config", "w", encoding="utf-8") as file:
        file.write("Host *\n\tIdentityFile %s/.ssh/id_ed25519\n\tIdentitiesOnly yes\n" % home)
    os.chmod(home + "/.ssh/config", 0o600)
    with open("/etc/passwd", encoding="utf-8") as file, open(home + "/passwd", "w", encoding="utf-8") as own:
        own.write("".join(re.sub("(:0:0:[^:]*:)[^:]*", "\\1" + home, line, count=1) for line in file))
    os.makedirs("/run/sshd", exist_ok=True)
    process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", home + "/sshd"], stderr=subprocess.DEVNULL)
    return process, port, shell(["ssh-keygen", "-lf", home + "/.ssh/host.pub"]).stdout.split()[1]


def login():
    print("## Through a login node\n\nAn sshd of this machine is the login node; the commands of Slurm are run there.\n")
    home = directory + "/home"
    server, port, key = login_start(home)
    at = "root@127.0.0.1:%d" % port
    places = {"slurm": "    transport: slurm\n    time_limit: 30m\n    queue_limit: 30m\n",
              "command": "    transport: command\n    launcher: [srun, -Q, -u, -N1, -w, '{host}', '--export=HOME,PATH']\n"}
    before = ["env", "-u", "SLURM_CONF", "-u", "SSH_AUTH_SOCK", "unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/passwd || exit 99; exec "$@"',
              home + "/passwd"]
    row("transport", "command", "status", "what is said", "s", "jobs left", "processes left")
    row("---", "---", "---:", "---", "---:", "---:", "---:")

    def case(name, words, what=None, act=None):
        wait_idle()
        process = start(words, directory + "/login-" + name, before)
        if act:
            sleeping()
        began = time.time()
        if act:
            act(process)
        out, said, status = answer(process)
        row(name, what or "`%s`" % " ".join(words), status, (out.splitlines() or [said or "(killed)"])[0].replace(key, "(its own key)"), "%.1f" %
            (time.time() - began), *left(150))
        return out
    try:
        for name, text in places.items():
            where = directory + "/login-" + name
            shell([assay, "init", where])
            lab_yaml(where, "hosts:\n  - name: node[1-3]\n    login: %s\n%s" % (at, text))
            case(name, ["host", "exec", "-w", "node1", "--", "true"], "`host exec` before its key is known")
            if key not in case(name, ["host", "trust", "-w", "node1"]):
                print("\n**the login node's key was not shown**\n")
            case(name, ["host", "exec", "--", "printf", "%s,", "a  b", "$HOME"], "`host exec -- printf '%s,' 'a  b' '$HOME'`")
            case(name, ["host", "exec", "-w", "node1", "--", "sleep", MARK], "the controller gets SIGKILL", lambda p: p.kill())
            case(name, ["host", "exec", "-w", "node1", "--", "sleep", MARK], "every ssh to it gets SIGKILL",
                 lambda p: [os.kill(int(n), 9) for n in shell(["pgrep", "-f", "^ssh .*-p %d|^ssh .*127.0.0.1" % port]).stdout.split()])
        done = shell(before + [assay, "-C", directory + "/login-slurm", "host", "import", "slurm", "--login", at, "--dry-run"])
        print("\n`host import slurm --login %s --dry-run`: status %d; %s\n" % (at, done.returncode, (done.stdout.splitlines() or [done.stderr])[0]))
    finally:
        server.terminate()
        server.wait()


def main():
    shell([assay, "init", lab])
    lab_yaml(lab, HOSTS.format("30m"))
    with open(lab + "/apps/dd.yaml", "w", encoding="utf-8") as file:
        file.write(MANIFEST)
    wait_idle()
    parts = {"laboratory": laboratory, "environment": environment, "nodes": nodes, "ends": ends, "login": login, "cost": cost, "queue": queue}
    for part in sys.argv[3:] or parts:
        parts[part]()


main()
