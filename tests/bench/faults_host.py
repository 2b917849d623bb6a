"""An emulated fleet to strike: hosts whose every box is its own, and what can happen to one. For tests/bench/faults.py, in namespaces of its own."""
import ctypes
import glob
import hashlib
import json
import os
import re
import signal
import subprocess
import time

HOSTS = 4
SHM = 192 << 20
STOPPED_S = (0.5, 4.0)
LIAR = """#!/usr/bin/python3 -IS
import os, random, struct, sys
draw = random.Random(%d)
magic = b"\\0assay helper 1\\n"
def say(*all, fd=1):
    for bytes in all:
        while bytes:
            bytes = bytes[os.write(fd, bytes):]
def frame(kind, bytes, length=None):
    return kind + struct.pack(">I", len(bytes) if length is None else length) + bytes
def noise(n):
    return draw.randbytes(n)
def garbage():
    say(noise(65536))
def frames():
    say(magic, *(frame(bytes([draw.randrange(256)]), noise(draw.randrange(5000))) for i in range(20)))
def length():
    say(magic, frame(b"R", b"exit 0\\n", 0xffffffff))
def cut():
    say(magic, frame(b"R", b"exit 0\\nwall_ns 100", 4000))
def numbers():
    say(magic, frame(b"B", b""), frame(b"R", b"exit 0\\nwall_ns -5\\nuser_us 1e300\\n"))
def twice():
    say(magic, frame(b"B", b""), frame(b"B", b""), frame(b"X", b"fno"))
def silence():
    say(magic)
def missing():
    sys.exit(127)
def flood_out():
    say(magic, frame(b"B", b""))
    while True:
        say(frame(b"O", noise(64) * 1024))
def flood_error():
    while True:
        say(noise(64) * 1024, fd=2)
def flood_noise():
    while True:
        say(noise(64) * 1024)
try:
    %s()
except BrokenPipeError:
    pass
"""
LIES = ("garbage", "frames", "length", "cut", "numbers", "twice", "silence", "missing")
FLOODS = ("flood_out", "flood_error", "flood_noise")


def run(*words, check=True, **options):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if check and done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(words), done.stderr.strip()))
    return done


def processes():
    """Living ones: {id: namespace of its mounts}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as file:
                state = file.read().rpartition(")")[2].split()[0]
            if state not in "ZX":
                found[int(pid)] = os.stat("/proc/%s/ns/mnt" % pid).st_ino
        except OSError:
            pass
    return found


def command_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


class Host:
    def __init__(self, fleet, name, address, link):
        self.fleet, self.name, self.address, self.link = fleet, name, address, link
        self.directory = "%s/.assay/emulated/run/%s" % (fleet.lab, name)
        self.sshd = next(pid for pid in processes() if self.directory + "/sshd_config" in command_of(pid))
        with open("/proc/%d/cgroup" % self.sshd) as file:
            groups = dict(line.strip().split(":")[1:] for line in file)
        self.groups = ["/sys/fs/cgroup/%s%s" % (kind, groups[kind]) for kind in ("memory", "pids") if kind in groups]
        # Its namespaces outlive all of its processes.
        self.holder = subprocess.Popen(self.inside(self.sshd, "sleep", "1000000"), stdin=subprocess.DEVNULL).pid
        deadline = time.monotonic() + 10
        while processes().get(self.holder) != processes()[self.sshd]:
            if time.monotonic() > deadline:
                raise RuntimeError("the namespaces of %s cannot be entered" % name)
            time.sleep(0.01)
        self.namespace = processes()[self.holder]
        self.box = os.path.join(fleet.directory, "box1" if name in ("emu01", "emu02") else "box-" + name)
        os.makedirs(self.box, exist_ok=True)
        if self.box.endswith(name): # emu01 and emu02 keep /dev/shm in common, and with it the lock
            self.mount("/dev/shm", SHM)
        self.mount("/tmp", SHM)

    @staticmethod
    def inside(pid, *words):
        return ("nsenter", "-t", str(pid), "-m", "-r", "-n", "-u", "--", *words) # -r: this may be a chroot

    def enter(self, *words, **options):
        return run(*self.inside(self.holder, *words), **options)

    def mount(self, where, size):
        self.enter("mount", "-t", "tmpfs", "-o", "mode=1777,size=%d" % size, "assay", where)

    def path(self, path):
        return "/proc/%d/root%s" % (self.holder, path)

    @property
    def home(self):
        return self.directory + "/home"

    def all(self):
        return [pid for pid, namespace in processes().items() if namespace == self.namespace and pid != self.holder]

    def helpers(self):
        """Everything below sshd's sessions."""
        return [pid for pid in self.all() if not command_of(pid).startswith("sshd")]

    def signal(self, number, pids=None):
        """To all, also to those that come to be meanwhile."""
        done = set()
        while True:
            new = set(self.all() if pids is None else pids()) - done
            if not new:
                return
            done |= new
            for pid in new:
                try:
                    os.kill(pid, number)
                except OSError:
                    pass

    def start(self):
        """Its sshd, once more."""
        words = ["/usr/sbin/sshd", "-D", "-f", self.directory + "/sshd_config", "-E", self.directory + "/sshd.log"]
        script = 'for group in "$@"; do echo $$ >"$group/cgroup.procs" || exit; done; exec ' + " ".join(self.inside(self.holder, *words))
        subprocess.Popen(["bash", "-c", script, "bash", *self.groups], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not any("listener" in command_of(pid) for pid in self.all()):
            if time.monotonic() > deadline:
                raise RuntimeError("the sshd of %s does not start" % self.name)
            time.sleep(0.02)

    # ---- what is left ----

    def left(self):
        """Processes, files, groups that should not be there when nobody measures."""
        found = ["process: " + command_of(pid)[:100] for pid in self.all() if not re.match(r"sshd: (.*\[listener\]|[a-z]+@notty|[a-z]+ \[priv\])", command_of(pid))]
        for where in ("/dev/shm", "/tmp", self.home):
            top = self.path(where)
            for directory, _, names in os.walk(top):
                for name in names:
                    if self.is_left(directory, name):
                        found.append("file: " + os.path.relpath(os.path.join(directory, name), top + "/.."))
                if not names and directory != top and self.is_empty(directory) and os.path.basename(directory) not in ("tmp", ".cache") and not re.match(r"assay(-\d+)?$", os.path.basename(directory)):
                    found.append("directory: " + os.path.relpath(directory, top + "/.."))
        for group in self.groups:
            found += ["control group: " + entry.name for entry in os.scandir(group) if entry.is_dir()]
        return found

    @staticmethod
    def is_empty(directory):
        try:
            return not os.listdir(directory)
        except FileNotFoundError: # just removed
            return False

    @staticmethod
    def is_left(directory, name):
        if name.endswith("lock") or re.fullmatch(r"assay-\d+\.kernel", name): # the kernel's names are kept until the machine starts anew
            return False
        match = re.fullmatch(r"(helper|counting)-([0-9a-f]{64})", name)
        if not match:
            return True
        with open(os.path.join(directory, name), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest() != match[2]


class Fleet:
    def __init__(self, assay, directory):
        self.assay, self.directory, self.lab = assay, directory, directory + "/lab"
        # What outlives the trial's own processes becomes this one's child.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        run("mount", "-t", "tmpfs", "-o", "mode=1777,size=%d" % SHM, "assay", "/dev/shm")
        run("ip", "link", "set", "lo", "up")
        os.makedirs(directory + "/tmp", exist_ok=True)
        os.environ["TMPDIR"] = directory + "/tmp"
        self.listed = json.loads(run(assay, "host", "up", self.lab, "--hosts", str(HOSTS), "--profiles", "base", "--format", "json").stdout)["hosts"]
        links = re.findall(r"^\d+: (as[0-9a-f]{8}([0-9a-f]+))@", run("ip", "-o", "link", "show", "type", "veth").stdout, re.M)
        links = [name for _, name in sorted((int(number, 16), name) for name, number in links)]
        self.hosts = [Host(self, host["name"], host["address"], link) for host, link in zip(self.listed, links)]

    def host(self, name):
        return next(host for host in self.hosts if host.name == name)

    def locks(self, host):
        return [path for path in glob.glob(host.path("/dev/shm/*")) if path.endswith("lock")]

    def down(self):
        for host in self.hosts:
            os.kill(host.holder, signal.SIGKILL)
        run(self.assay, "host", "down", self.lab)


# ---- faults ----

# A deployment that is killed cannot remove its file. The next ones do after an hour, which no deployment takes: earlier nobody can tell whether
# it is still at work, perhaps on another host with the same home (test_deploy_changed has an old one).
DEPLOYMENT = r"/assay(-\d+)?/new-\w{6}$"


class Fault:
    """strike() at the moment; heal() when the command has ended. `to`: the host that is struck, or None: the controller is. `harms`: it may be
    left incomplete. `slow`: what waits for it waits for minutes, and uses no processor. `says`: why, in the host's message.
    `leaves`: what may be left on it."""
    harms, slow, says, leaves, variant = True, False, None, None, ""

    def __init__(self, fleet, draw, controller):
        self.fleet, self.draw, self.controller = fleet, draw, controller
        self.to = draw.choice(fleet.hosts)
        self.prepare()

    def prepare(self):
        pass

    def strike(self):
        raise NotImplementedError

    def heal(self):
        pass


class Dead(Fault):
    """All of its processes are killed, its sshd too."""
    says = r"connection|closed|lost|refused|ended"
    leaves = DEPLOYMENT

    def strike(self):
        self.to.signal(signal.SIGKILL)

    def heal(self):
        if not any("listener" in command_of(pid) for pid in self.to.all()):
            self.to.start()


class Hung(Fault):
    """Stopped until the command has ended: all of it, or all but its sshd."""
    slow, says = True, r"did not end within|nothing was heard|within [0-9.]+ s|in time|busy"
    leaves = DEPLOYMENT

    def prepare(self):
        self.variant = self.draw.choice(("whole host", "all but sshd"))

    def strike(self):
        self.to.signal(signal.SIGSTOP, None if self.variant == "whole host" else self.to.helpers)

    def heal(self):
        self.to.signal(signal.SIGCONT)


class Lying(Fault):
    """Whatever is asked, a shell that lies answers; or the host is another one."""
    says = r"sense|no answer|not found|signal|exit|frame|helper|same machine-id|not the machine|more than|nothing was heard|did not end"
    lies = LIES

    def prepare(self):
        self.variant = self.draw.choice(self.lies)
        self.slow = self.variant == "silence"
        self.liar = "%s/liar" % self.fleet.directory
        with open(self.liar, "w") as file:
            file.write(LIAR % (self.draw.randrange(1 << 30), self.variant))
        os.chmod(self.liar, 0o755)

    def strike(self):
        self.to.enter("mount", "--bind", self.liar, os.path.realpath("/bin/sh"))

    def heal(self):
        self.to.enter("umount", "-l", os.path.realpath("/bin/sh"))
        for pid in self.to.all(): # one that writes to /dev/null never ends
            if "python3 -IS" in command_of(pid):
                os.kill(pid, signal.SIGKILL)


class Flooding(Lying):
    """A shell that writes without end."""
    says = r"more than|no answer|sense|not found|did not end"
    lies = FLOODS


class Impostor(Fault):
    """It has another host's identity from now on."""
    says = r"machine-id"

    def prepare(self):
        self.of = self.draw.choice([host for host in self.fleet.hosts if host is not self.to])

    def strike(self):
        self.to.enter("mount", "--bind", self.of.directory + "/machine-id", "/etc/machine-id")

    def heal(self):
        self.to.enter("umount", "/etc/machine-id")


class Disk(Fault):
    """Its temporary file system is full, or that of its home is, or both are."""
    says = r"space|full|written|write|directory|tmpfs|deploy|quota|lock|exit status 8"

    def prepare(self):
        self.to = self.draw.choice([host for host in self.fleet.hosts if host.box.endswith(host.name)])
        self.variant = self.draw.choice(("/dev/shm", "home", "both"))
        self.where = {"/dev/shm": ["/dev/shm"], "home": [self.to.home, "/tmp"], "both": ["/dev/shm", "/tmp", self.to.home]}[self.variant]

    def resize(self, where, size):
        return self.to.enter("mount", "-o", "remount,size=%d" % size, where, check=False).returncode == 0

    def strike(self):
        for where in self.where:
            for attempt in range(20): # it may grow in between
                info = os.statvfs(self.to.path(where))
                if self.resize(where, max(4096, (info.f_blocks - info.f_bfree) * info.f_frsize)):
                    break

    def heal(self):
        for where in self.where:
            self.resize(where, SHM)


class Memory(Fault):
    """Of the memory that its control group has, hardly any is left."""
    says = r"memory|killed|KILL|connection|closed|ended|helper|signal|answer|process|shell"
    leaves = DEPLOYMENT

    def file(self, *names):
        return next(path for path in (self.to.groups[0] + "/" + name for name in names) if os.path.exists(path))

    def limit(self, bytes):
        try:
            with open(self.file("memory.limit_in_bytes", "memory.max"), "w") as file:
                file.write(str(bytes))
            return True
        except OSError:
            return False

    def used(self):
        with open(self.file("memory.usage_in_bytes", "memory.current")) as file:
            return int(file.read())

    def strike(self):
        """As little as the kernel lets us after it has taken back what it can."""
        least = self.used()
        while least > 1 << 20 and self.limit(least - (1 << 20)):
            least -= 1 << 20
        spare = self.draw.randrange(1 << 20)
        for attempt in range(50):
            if self.limit(max(least, self.used()) + spare):
                return

    def heal(self):
        self.limit(1 << 30)
        if not any("listener" in command_of(pid) for pid in self.to.all()):
            self.to.start()


class Cut(Fault):
    """Its link is down until the command has ended."""
    slow, says = True, r"did not end within|nothing was heard|within [0-9.]+ s|in time|unreachable|connection|route|busy"

    def link(self, state):
        run("ip", "link", "set", self.to.link, state)

    def strike(self):
        self.link("down")

    def heal(self):
        self.link("up")


class Blip(Cut):
    """Its link is down for a moment."""
    harms, slow = False, False

    def strike(self):
        self.link("down")
        time.sleep(self.draw.uniform(0.1, 2.0))
        self.link("up")


class Lock(Fault):
    """The lock's file is removed, or all that is in /dev/shm, as logind's RemoveIPC does when its user logs out."""
    says = r"directory|No such file|files cannot be deployed|removed|exit status [89]"

    def prepare(self):
        self.to = self.draw.choice(self.fleet.hosts[:2])
        self.variant = self.draw.choice(("the lock", "all of /dev/shm"))
        self.harms = self.variant != "the lock"

    def strike(self):
        if self.harms:
            self.to.enter("find", "/dev/shm", "-mindepth", "1", "-delete", check=False)
        else:
            for path in self.fleet.locks(self.to):
                os.unlink(path)


class Helper(Fault):
    """The helper on it is damaged, as after a loss of power: cut, empty, zeros at its end, one bit is another."""
    harms, late = False, False

    def prepare(self):
        self.variant = self.draw.choice(("cut", "empty", "zeros", "a bit"))

    def strike(self):
        deadline = time.monotonic() + 5
        while not (found := glob.glob(self.to.path(self.to.home + "/.cache/assay/helper-*"))) and time.monotonic() < deadline:
            time.sleep(0.01) # not deployed yet: soon after it is
            self.late = True
        time.sleep(0.2 if self.late else 0)
        for path in found:
            with open(path, "rb") as file:
                good = file.read()
            n = self.draw.randrange(1, len(good))
            bad = {"cut": good[:n], "empty": b"", "zeros": good[:n] + bytes(len(good) - n),
                   "a bit": good[:n] + bytes([good[n] ^ 1 << self.draw.randrange(8)]) + good[n + 1:]}[self.variant]
            with open(path + ".bad", "wb") as file:
                file.write(bad)
            os.chmod(path + ".bad", 0o700)
            os.rename(path + ".bad", path)

    def heal(self):
        """The next session replaces it."""
        run(self.fleet.assay, "-C", self.fleet.lab, "host", "exec", "-w", self.to.name, "--", "true", check=False)


class Controller(Fault):
    def prepare(self):
        self.to = None


class Stopped(Controller):
    """The controller is stopped for some seconds."""
    harms = False

    def strike(self):
        self.controller.send_signal(signal.SIGSTOP)
        time.sleep(self.draw.uniform(*STOPPED_S))
        self.controller.send_signal(signal.SIGCONT)


class Suspended(Controller):
    """The controller is stopped for longer than any answer may take, as by Ctrl-Z."""
    harms, slow = False, True

    def strike(self):
        self.controller.send_signal(signal.SIGSTOP)
        time.sleep(self.draw.uniform(130, 140))
        self.controller.send_signal(signal.SIGCONT)


class Killed(Controller):
    """The controller is killed, and resumed at once."""
    def strike(self):
        self.controller.kill()


class Interrupted(Controller):
    """Ctrl-C. While the program is being loaded it would end without a word, as any does: strike() waits until it has begun."""
    def listens(self):
        with open("/proc/%d/status" % self.controller.pid) as file:
            caught = int(re.search(r"^SigCgt:\s*(\w+)", file.read(), re.M)[1], 16)
        return caught >> (signal.SIGINT - 1) & 1

    def strike(self):
        while self.controller.poll() is None and not self.listens():
            time.sleep(0.001)
        self.controller.send_signal(signal.SIGINT)


class Nothing(Controller):
    """An undisturbed run."""
    harms = False

    def strike(self):
        pass


FAULTS = {"dead": Dead, "hung": Hung, "flooding": Flooding, "lying": Lying, "impostor": Impostor, "disk full": Disk, "memory full": Memory,
          "link cut": Cut, "link blips": Blip, "lock removed": Lock, "helper damaged": Helper, "controller stopped": Stopped,
          "controller suspended": Suspended, "controller killed": Killed, "controller interrupted": Interrupted}
