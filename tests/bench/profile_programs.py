"""Profiles of fifteen real programs, held against what other instruments say of the same commands.

    profile_programs.py measure ASSAY COMPOSED USER_TICKS WORK     appends to WORK/programs.jsonl (answers) and WORK/programs_truth.jsonl what is not
                                                                   there yet, a line a program
    profile_programs.py page WORK CSV                              the section of the page; every row of every answer to CSV

System calls: the kernel's own trace of each (raw_syscalls, by the time stamp counter, without what is switched away, less what tracing
costs, as calls of getppid() show). Page faults: their number, by the cost of one (composed). Waiting: wall-clock time less the
processor's and the run delay, of runs of their own. Reads and writes: of files, or of pipes and sockets, as the number of such calls
(strace). The user's side: where the kernel's timer of user time meets the program (user_ticks.c). Between the two answers, so that what
memory holds of the files is the same for all. Needs root, for the trace.
"""
import bisect
import collections
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import traced
from profile_composed import COUNTED, TIE, percent, slice_check, slice_ends, split, trusted

BUDGET_S = 5
NATIVE_RUNS = 5
TICKS, TICKS_S = 2500, 12  # of user time; at most so long
PERL = r"""my %n; for my $r (1..3) { open my $f, '<', $ARGV[0] or die; while (<$f>) { $n{lc $1}++ while /([A-Za-z_]+)/g } }
print scalar(keys %n), "\n";"""
PYTHON = r"""import json, re, sys
text = open(sys.argv[1], encoding="latin1").read()
words = {}
for word in re.findall(r"[a-z_]{3,}", text)[:250000]:
    words[word] = words.get(word, 0) + 1
for _ in range(5):
    words = json.loads(json.dumps(words))
print(len(words))"""
REDIS = r"""redis-server --port 0 --unixsocket "$1/socket" --save '' --appendonly no >/dev/null & server=$!
until redis-cli -s "$1/socket" ping >/dev/null 2>&1; do sleep .02; done
redis-benchmark -s "$1/socket" -q -n 15000 -c 20 -t set,get >/dev/null; kill $server; wait $server; exit 0"""

PROGRAMS = {
    "sqlite3": ["sqlite3", "{w}/a.db", ".read {w}/a.sql"],
    "tar": ["tar", "cf", "{w}/out.tar", "/usr/include"],
    "grep": ["grep", "-rc", "the", "/usr/include"],
    "find": ["find", "/usr", "-xdev", "-name", "*.h", "-size", "+100k"],
    "gzip": ["gzip", "-kf", "{w}/text"],
    "sort": ["sort", "--parallel=1", "-o", "{w}/sorted", "{w}/text"],
    "perl": ["perl", "-e", PERL, "{w}/small"],
    "cc": ["gcc", "-O2", "-c", "-o", "{w}/a.o", "tests/apps/composed.c"],
    "redis": ["sh", "-c", REDIS, "sh", "{w}"],
    "mawk": ["mawk", "{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) k++; print k }", "{w}/text"],
    "sha256sum": ["sha256sum", "{w}/large"],
    "xz": ["xz", "-0", "-kf", "-T1", "{w}/text"],
    "python3": ["/usr/bin/python3", "-c", PYTHON, "{w}/small"],
    "git": ["git", "-c", "grep.threads=1", "grep", "-c", "struct", "HEAD", "--", "*.c", "*.h"],
    "rsync": ["sh", "-c", 'rm -rf "$1/copy" && rsync -a /usr/include/linux "$1/copy"', "sh", "{w}"],
}

# System calls by class; the names that answers give to it.
CALLS = [
    ("file data", r"reading and writing|file data", r"^(p?(read|write)(v|64)?|preadv2?|pwritev2?|sendfile|copy_file_range|splice|fsync|fdatasync|f?truncate|lseek|fallocate|fadvise64)$"),
    ("file metadata", r"names and attributes|metadata", r"^(open(at)?2?|creat|close(_range)?|new\w*stat\w*|[fl]?stat(fs|x)?|fstatfs|faccessat2?|access|getdents(64)?|rename\w*|unlink(at)?|mkdir(at)?|rmdir|link(at)?|symlink(at)?|readlink(at)?|utimensat|f?ch(mod|own|dir)(at)?|lchown|fcntl|dup\d?|flock|ioctl|umask|getcwd)$"),
    ("mapping", r"mapping", r"^(mmap|munmap|mprotect|mremap|madvise|brk|msync)$"),
    ("processes", r"^process", r"^(clone3?|v?fork|execve|exit(_group)?|wait4|waitid|kill|tgkill|rt_sig\w*|prctl|arch_prctl|set_tid_address|set_robust_list|rseq|get[pt]id|prlimit64|getrusage|sysinfo)$"),
    ("synchronisation", r"^synchron", r"^(futex\w*|sched_\w+|membarrier)$"),
    ("network and pipes", r"^network", r"^(socket(pair)?|bind|listen|accept4?|connect|send\w*|recv\w*|shutdown|[gs]etsockopt|getsockname|pipe2?)$"),
    ("waiting for events", r"^waiting for", r"^(p?poll|p?select6?|epoll_\w+)$"),
]
# Functions of the program's side, in files of the C library (True) or in any; then files. What has neither is "own code" or a library.
FUNCTIONS = [
    ("string functions", False, r"_*(str|mem|raw?memchr|wmem|wcs|stp)(?!to|ftime|error|alloc|stream)[a-z]+(_.*)?"),
    ("allocation", False, r"_*(int_(malloc|free|realloc|memalign)|malloc(_consolidate)?|c?free|calloc|realloc|unlink_chunk.*|sysmalloc|alloc_perturb|"
                          r"tcache_\w+|Py(Object|Mem)_(Malloc|Free|Calloc|Realloc))"),
    ("sorting", True, r"_*(msort_with_tmp.*|qsort(_r)?|quicksort|bsearch|introsort\w*)"),
    # behind the last two stand the functions of regexec.c that have no names
    ("parsing", False, r"(Perl_(re|pregexec|pp_match|pp_subst|pp_split)|S_reg)\w*|Perl_start_glob|Perl_isSCRIPT_RUN"),
    ("parsing", True, r"_*(reg(comp|exec)|re_.*|fnmatch.*|strto[a-z]+.*|ato[il]+|vf?s?scanf.*)"),
    ("formatting", True, r"_*(\w*printf\w*|_?itoa\w*)"),
    ("buffered", True, r"_*(IO_\w+|f(read|write|gets|puts|putc|getc|flush|open|close)\w*|getc\w*|putc\w*|puts|getdelim|getline|underflow|overflow)"),
    ("character sets", True, r"_*(mb\w+|wc(r?to)\w+|gconv\w*|iconv\w*|isw\w+|tow\w+|ctype\w*)"),
]
FILES = [
    ("C library", r"libc[.-]"), ("dynamic linker", r"ld-linux"), ("mathematics", r"lib(m|mvec|gmp|mpfr|mpc)[.-]"),
    ("compression", r"(lib(z|lzma|bz2|zstd|lz4)\.|gzip$|xz$)"), ("cryptography", r"(lib(crypto|ssl|gcrypt)\.|sha256sum$)"),
    ("allocation", r"libjemalloc"), ("C\\+\\+ library", r"lib(stdc\+\+|gcc_s)"), ("parsing", r"(libpcre|libexpat|grep$)"), ("interpreter", r"(perl|python3|mawk|dash|sh$)"),
    ("compiling", r"(cc1|as$|ld(\.bfd)?$|collect2|x86_64-linux-gnu-|libbfd|libopcodes|lto)"), ("database", r"(libsqlite3|sqlite3$)"),
]


# ---- what is worked on ----

def prepare(w):
    """A text of 8 MB and its beginning, zeroes, statements."""
    headers = []
    for directory, _, files in sorted(os.walk("/usr/include")):
        headers += [os.path.join(directory, f) for f in sorted(files) if f.endswith(".h")]
    text = b""
    for header in headers:
        with open(header, "rb") as file:
            text += file.read()
        if len(text) > 8 << 20:
            break
    for name, data in (("text", text[:8 << 20]), ("small", text[:1 << 20]), ("large", text * (64 // (1 + (len(text) >> 20)) + 1))):
        with open(os.path.join(w, name), "wb") as file:
            file.write(data)
    with open(os.path.join(w, "a.sql"), "w", encoding="utf-8") as file:
        file.write("pragma synchronous=off; pragma journal_mode=delete; drop table if exists t; create table t(a integer primary key, b text);\n")
        for i in range(1500):
            file.write(f"insert into t values ({i}, 'row {i * 7919 % 10007}');\n")
        file.write("select count(*) from t x join t y on x.a % 40 = y.a % 50 where x.b < y.b;\n")


# ---- other instruments ----

def native(command, said):
    """Means of wall, user, system, delay of the command's first process, faults. What it prints goes to a file, for some programs do less
    when that is /dev/null."""
    rows = []
    for _ in range(NATIVE_RUNS):
        began = time.monotonic()
        with open(said, "wb") as out, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL) as child:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            with open(f"/proc/{child.pid}/schedstat", encoding="ascii") as file:
                delay = int(file.read().split()[1]) / 1e9
            wall = time.monotonic() - began
            usage = os.wait4(child.pid, 0)[2]
            child.returncode = 0
        rows.append((wall, usage.ru_utime, usage.ru_stime, delay, usage.ru_minflt))
    return [sum(column) / len(rows) for column in zip(*rows)]


class Trace(traced.Instance):
    """An instance of the kernel's tracing of its own, for one command and what it starts."""

    def __init__(self):
        super().__init__({"raw_syscalls": None, "sched/sched_switch": None, "sched/sched_wakeup": None, "sched/sched_process_fork": None})

    def run(self, command, said):
        """Of all processes, for who is traced alone has no record of how an idle processor goes to it."""
        self.put("set_event_pid", "")
        self.put("trace", "")
        with open(said, "wb") as out, subprocess.Popen(["sh", "-c", 'read go; exec "$@"', "sh", *command], stdin=subprocess.PIPE, stdout=out,
                                                       stderr=subprocess.DEVNULL) as child:
            self.put("tracing_on", "1")
            child.stdin.write(b"\n")
            child.stdin.close()
            child.wait()
        self.put("tracing_on", "0")
        return self.calls(child.pid)

    def at_time(self):
        """Its clock, ours, and how far they may be apart."""
        self.put("set_event_pid", "0")
        self.put("trace", "")
        self.put("tracing_on", "1")
        began = time.monotonic()
        self.put("trace_marker", "now")
        ended = time.monotonic()
        self.put("tracing_on", "0")
        return int(re.search(r" (\d+): tracing_mark_write", "".join(self.lines()))[1]), (began + ended) / 2, ended - began

    def calls(self, root):
        """number of a call -> [ticks on a processor, ...], of a process and what it starts"""
        line_of = re.compile(r"-(\d+) +\[\d+\] \S+ +(\d+): (\w+): (.*)")
        tree, open_calls, off, woken, spent = {root}, {}, {}, {}, collections.defaultdict(list)

        def came(thread, at):
            since = off.pop(thread, at)
            if thread in open_calls:
                open_calls[thread][1] += max(at - max(since, open_calls[thread][1]), 0)

        for line in self.lines():
            found = line_of.search(line)
            if not found:
                continue
            thread, at, event, rest = int(found[1]), int(found[2]), found[3], found[4]
            if thread in off:  # it runs: how an idle processor went to it is not always told, but when it was woken
                came(thread, woken[thread] if woken.get(thread, 0) > off[thread] else at)
            if event == "sched_process_fork" and thread in tree:
                tree.add(int(re.search(r"child_pid=(\d+)", rest)[1]))
            elif event == "sched_wakeup":
                woken[int(re.search(r" pid=(\d+)", rest)[1])] = at
            elif event == "sys_enter" and thread in tree:
                open_calls[thread] = [int(rest.split()[1]), at]
            elif event == "sys_exit" and thread in open_calls:
                number, began = open_calls.pop(thread)
                spent[number].append(at - began)
            elif event == "sched_switch":
                gone, come = (int(n) for n in re.findall(r"(?:prev|next)_pid=(\d+)", rest))
                if gone in open_calls and re.search(r"prev_state=[XZ]", rest):  # exit() does not return
                    number, began = open_calls.pop(gone)
                    spent[number].append(at - began)
                if gone in tree:
                    off[gone] = at
                came(come, at)
        return spent


def call_names():
    names = {}
    for path in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"):
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                names = {int(n): name for name, n in re.findall(r"#define __NR_(\w+) (\d+)", file.read())}
            break
    return names


class Names:
    """Functions of a file by where they are in it: the one that begins there or before."""

    def __init__(self, path):
        said = self.readelf("-lW", path)
        self.segments = [[int(n, 16) for n in m] for m in re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", said)]
        build = re.search(r"Build ID: (..)(\w+)", self.readelf("-nW", path))
        debug = f"/usr/lib/debug/.build-id/{build[1]}/{build[2]}.debug" if build else ""
        found = {}
        for file in (path, debug):
            for at, name in re.findall(r"^ *\d+: (\w+) +\w+ (?:FUNC|IFUNC) +\w+ +\w+ +\d+ (\S+)", self.readelf("-sW", file) if os.path.exists(file) else "", re.M):
                found[int(at, 16)] = name.split("@")[0]
        self.begins = sorted(found)
        self.names = found

    @staticmethod
    def readelf(what, path):
        return subprocess.run(["readelf", what, path], capture_output=True, text=True, check=False).stdout

    def at(self, offset):
        address = next((offset - start + begin for start, begin, size in self.segments if start <= offset < start + size), None)
        i = bisect.bisect_right(self.begins, address) if address is not None else 0
        return self.names[self.begins[i - 1]] if i else "?"


def user_ticks(command, preload, w):
    """[file, function, share of the ticks]"""
    said, ticks, began = os.path.join(w, "ticks"), [], time.monotonic()
    runs = 0
    while runs < NATIVE_RUNS or (len(ticks) < TICKS and time.monotonic() - began < TICKS_S):
        runs += 1
        open(said, "wb").close()
        with open(os.path.join(w, "said"), "wb") as out:
            subprocess.run(command, env={**os.environ, "LD_PRELOAD": preload, "USER_TICKS": said}, stdin=subprocess.DEVNULL, stdout=out,
                           stderr=subprocess.DEVNULL, check=False)
        with open(said, encoding="utf-8", errors="replace") as lines:
            ticks += [line.rsplit(" ", 1) for line in lines]
    known, counts = {}, collections.Counter()
    for path, offset in ticks:
        if os.path.exists(path) and path not in known:
            known[path] = Names(path)
        counts[os.path.basename(path), known[path].at(int(offset, 16)) if path in known else "?"] += 1
    return [[*key, count / len(ticks)] for key, count in counts.most_common()]


def ends_of(command, w):
    """For reads and writes: of how many calls the other end is a socket or a pipe."""
    said = os.path.join(w, "ends")
    with open(os.path.join(w, "said"), "wb") as out:
        subprocess.run(["strace", "-f", "-qq", "-y", "-s", "0", "-e", "signal=none", "-e", "trace=read,write,readv,writev", "-o", said, *command],
                       stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, check=False)
    counts = collections.defaultdict(lambda: [0, 0])
    with open(said, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = re.match(r"\d+ +(\w+)\(\d+<(socket:|pipe:|UNIX|TCP)?", line)
            if found:
                counts[found[1]][bool(found[2])] += 1
    return {name: through / (through + other) for name, (other, through) in counts.items()}


def user_class(function, path):
    libc = path.startswith("libc") or path == "?"  # the same file as the line before it
    for name, only, pattern in FUNCTIONS:
        if (libc or not only) and re.fullmatch(pattern, function):
            return name
    for name, pattern in FILES:
        if re.match(pattern, path):
            return name
    return ("library " if ".so" in path else "own code of ") + path


# ---- measuring ----

def calibrate(trace, composed, w):
    """Ticks a second; ticks that tracing adds to a call; seconds of a page fault."""
    getppid = sorted(trace.run(["/usr/bin/python3", "-c", "import os\nfor i in range(50000): os.getppid()"], os.path.join(w, "said"))[110])
    begin = min((trace.at_time() for _ in range(5)), key=lambda at: at[2])
    time.sleep(1)
    end = min((trace.at_time() for _ in range(5)), key=lambda at: at[2])
    per_s = (end[0] - begin[0]) / (end[1] - begin[1])
    truth = os.path.join(w, "truth")
    usage = native([composed, "faults=1", "seconds=0.5", f"truth={truth}"], os.path.join(w, "said"))
    with open(truth, encoding="ascii") as file:
        rows = [line.split(",") for line in file.read().split()]
    os.unlink(truth)
    fault_s = sum(float(r[7]) * float(r[3]) / (float(r[3]) + float(r[6])) for r in rows if r[1] == "faults") / NATIVE_RUNS / usage[4]
    call_ns = float(subprocess.run([composed, "getppid"], stdout=subprocess.PIPE, check=True, text=True).stdout)
    return {"ticks_per_s": per_s, "overhead_ticks": getppid[len(getppid) // 2] - call_ns * per_s / 1e9, "fault_s": fault_s}


def truth_of(command, trace, known, preload, w):
    wall, user, system, delay, faults = native(command, os.path.join(w, "said"))
    names, ends = call_names(), ends_of(command, w)
    spent = collections.Counter()
    for number, ticks in trace.run(command, os.path.join(w, "said")).items():
        name = names.get(number, "?")
        which = next((c[0] for c in CALLS if re.match(c[2], name)), "other calls")
        own_s = max(sum(ticks) - len(ticks) * known["overhead_ticks"], 0) / known["ticks_per_s"]
        spent["network and pipes"] += own_s * ends.get(name, 0)
        spent[which] += own_s * (1 - ends.get(name, 0))
    spent["page faults"] = faults * known["fault_s"]
    cpu = user + system
    kernel = min(sum(spent.values()), cpu)
    whole = max(wall - delay, cpu)
    return {"compute": (cpu - kernel) / whole, "kernel": kernel / whole, "waiting": 1 - cpu / whole, "ticks_kernel": system / whole,
            "calls": {name: min(s, cpu) / whole for name, s in spent.items()}, "functions": user_ticks(command, preload, w)}


def lines_of(path):
    try:
        with open(path, encoding="utf-8") as lines:
            return {one["program"]: one for one in map(json.loads, lines)}
    except FileNotFoundError:
        return {}


def add_line(path, one):
    with open(path, "a", encoding="utf-8") as out:
        out.write(json.dumps(one) + "\n")


def measure(assay, composed, preload, w):
    answers, truths = (os.path.join(w, name) for name in ("programs.jsonl", "programs_truth.jsonl"))
    answered, known = lines_of(answers), lines_of(truths)
    scratch = os.path.join(w, "files")
    os.makedirs(scratch, exist_ok=True)
    prepare(scratch)
    ends = slice_ends()
    with Trace() as trace:
        costs = calibrate(trace, composed, scratch)
        for program, words in PROGRAMS.items():
            command = [word.replace("{w}", scratch) for word in words]
            if program in answered and program in known:
                continue
            slice_check(ends)
            print(program, file=sys.stderr)
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # from now on its files are in memory
            one = {"program": program, "load": [os.getloadavg()[0]], "answers": [profile(assay, command)]}
            truth = {"program": program, "costs": costs, "load": os.getloadavg()[0], **truth_of(command, trace, costs, preload, scratch)}
            one["answers"].append(profile(assay, command))
            add_line(answers, dict(one, load=one["load"] + [os.getloadavg()[0]]))
            add_line(truths, truth)


def profile(assay, command):
    said = subprocess.run([assay, "stat", "--budget", str(BUDGET_S), "--format", "json", "--", *command],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if said.returncode:
        sys.exit(f"{command}: {said.stderr}")
    return json.loads(said.stdout)


# ---- the page ----

def is_of(row, of, name):
    """Does the answer's row hold this class?"""
    if of == "kernel":
        pattern = next((pattern for known, pattern, _ in CALLS if known == name), "page fault" if name == "page faults" else "$^")
    else:
        pattern = "^own code" if name.startswith("own code") else "^" + re.escape(name) if name.startswith("library") else name
    return row["of"] == of and bool(re.search(pattern, row["name"]))


def classes(truth):
    shares = collections.Counter({("kernel", name): share for name, share in truth["calls"].items()})
    for file, function, share in truth["functions"]:
        shares["compute", user_class(function, file)] += share * truth["compute"]
    return shares


def judge(answer, truth):
    """The answer's rows (waiting and the categories), each with what the truth gives it; what no row has is a row of its own."""
    levels, categories = split(answer)
    rows = [dict(r, of="waiting", truth=truth["waiting"]) for r in levels if r["name"] == "waiting"]
    rows += [dict(r, truth=0.0) for r in categories]
    libc = [name for name, only, _ in FUNCTIONS if only] + ["string functions", "allocation"]
    for (of, name), share in classes(truth).items():
        holder = next((r for r in rows if is_of(r, of, name)), None)
        if not holder and name in libc:
            holder = next((r for r in rows if is_of(r, of, "C library")), None)
        if holder:
            holder["truth"] += share
        elif share >= COUNTED:
            rows.append({"name": f"({name})", "of": of, "share": 0.0, "low": None, "high": None, "verdict": "", "truth": share})
    return rows


def overlap(first, second):
    """(agreeing rows, rows) of two answers, of those that either gives enough."""
    mine, yours = ({(r["level"], r["name"]): r for rows in split(answer) for r in rows} for answer in (first, second))
    both = [(mine[k], yours[k]) for k in mine if k in yours and max(mine[k]["share"], yours[k]["share"]) >= COUNTED]
    both = [(a, b) for a, b in both if a["low"] is not None and b["low"] is not None]
    return sum(a["low"] <= b["high"] and b["low"] <= a["high"] for a, b in both), len(both)


def page(w, table):
    with open(table, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow("program load_before load_after answer runs level_or_category of share low high verdict truth".split())
        lines = []
        right = near = agree = pairs = 0
        truths = lines_of(os.path.join(w, "programs_truth.jsonl"))
        for one in lines_of(os.path.join(w, "programs.jsonl")).values():
            if one["program"] not in truths:
                continue
            one["truth"] = truths[one["program"]]
            for n, answer in enumerate(one["answers"]):
                for r in [dict(r, of="", truth=one["truth"][r["name"]]) for r in split(answer)[0]] + judge(answer, one["truth"])[1:]:
                    out.writerow([one["program"], *one["load"], n + 1, answer["runs"], r["name"], r["of"], r["share"], r["low"], r["high"],
                                  r["verdict"], r["truth"]])
            answer = one["answers"][0]
            rows = judge(answer, one["truth"])
            ours, true = max(rows, key=lambda r: r["share"]), max(rows, key=lambda r: r["truth"])
            is_right, is_near = ours["truth"] >= true["truth"] - TIE, abs(true["share"] - true["truth"]) <= .1
            alike, of = overlap(*one["answers"])
            right, near, agree, pairs = right + is_right, near + is_near, agree + alike, pairs + of
            by = {r["name"]: r["share"] for r in split(answer)[0]}
            lines.append("| " + " | ".join([
                one["program"], f"{one['load'][0]:.1f} to {one['load'][1]:.1f}", percent(answer["delay"]), str(answer["runs"]),
                " ".join(f"{percent(by[n])} ({percent(one['truth'][n])})" for n in ("compute", "kernel", "waiting")),
                f"{ours['name']} {percent(ours['share'])} ({percent(ours['truth'])})",
                "" if is_right else f"{true['name']} {percent(true['share'])} ({percent(true['truth'])})", "yes" if is_near else "no",
                "trusted" if trusted(split(answer)[0]) else "indicative", f"{alike} of {of}"]) + " |")
    n = len(lines)
    print("| measured | | goal |\n| --- | --- | --- |")
    print(f"| what leads is right | {right} of {n} | 14 of 15 |\n| it is within 10 points | {near} of {n} | 12 of 15 |")
    print(f"| A/A: rows of two answers whose intervals meet | {agree} of {pairs} | |\n")
    print("| program | load | delay, % | runs | computing, kernel, waiting, %: answer (truth) | leads, % | truth, if another | within 10 | level | A/A |")
    print("| --- | --- | ---: | ---: | --- | --- | --- | --- | --- | --- |")
    print("\n".join(lines))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the trace's buffers are not to stay
    {"measure": measure, "page": page}[sys.argv[1]](*sys.argv[2:])
