"""The table of tests/evidence/soak.sh: ASSAY PROBE_LIBRARY SOURCES RUNS [PROGRAM...].

Programs from Debian's sources, built for the probe, do the same work natively and under the probe: what they print, their exit status and
what their clients are told must be the same. The runs of a program take turns: all functions or a third of them (drawn, seeded), and the
default budget or every call measured.
"""
import collections
import glob
import hashlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

LIMIT_S = 120
FLAGS = "-O2 -g -fpatchable-function-entry=5 -falign-loops=32 -w"
LUA = """
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(20))
local co = coroutine.wrap(function() for i = 1, 2000 do coroutine.yield(i) end end)
local sum = 0
for i = 1, 2000 do sum = sum + co() end
for i = 1, 1000 do assert(not pcall(error, {i})) end
local t = {}
for i = 1, 5000 do t[i] = (i * 7919) % 5003 end
table.sort(t)
collectgarbage()
print(sum, t[1], t[5000], (("x"):rep(1000):gsub("x", "yy")):len(), select("#", (table.unpack or unpack)(t, 1, 200)))
"""
LUA_FFI = LUA + """
local ffi = require("ffi")
ffi.cdef "void qsort(void *, size_t, size_t, int (*)(const int *, const int *));"
local n = 500
local a = ffi.new("int[?]", n)
for i = 0, n - 1 do a[i] = (i * 7919) % 503 end
ffi.C.qsort(a, n, 4, function(x, y) return x[0] - y[0] end)
print(a[0], a[n - 1])
"""
JS = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
print(fib(17));
var caught = 0;
for (var i = 0; i < 2000; i++) { try { if (i % 2) throw new Error("x" + i); JSON.parse("{" + i); } catch (e) { caught++; } }
print(caught, "a1b22c333".replace(/[0-9]+/g, function (d) { return "<" + d.length + ">"; }), [5, 3, 9, 1].sort().join());
"""
SCHEME = """
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(display (fib 15)) (newline)
(define (leave n) (call/cc (lambda (k) (let loop ((i 0)) (if (= i n) (k i) (loop (+ i 1)))))))
(define (many n sum) (if (= n 0) sum (many (- n 1) (+ sum (leave n)))))
(display (many 60 0)) (newline)
"""
TCL = """
proc fib n { if {$n < 2} { return $n }; expr {[fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
puts [fib 15]
set caught 0
for {set i 0} {$i < 2000} {incr i} { if {[catch {error x$i}]} { incr caught } }
set words {}
for {set i 0} {$i < 500} {incr i} { lappend words w[expr {($i * 7919) % 503}] }
puts "$caught [lindex [lsort $words] 100] [regsub -all {[0-9]+} a1b22 <&>] [string length [string repeat ab 1000]]"
"""
TCL_COROUTINE = TCL + """
coroutine next apply {{} { yield; for {set i 0} {1} {incr i} { yield $i } }}
for {set i 0} {$i < 1000} {incr i} { next }
puts [next]
"""
AWK = """BEGIN { for (i = 0; i < 3000; i++) { w = "w" (i * 7919) % 503; n[w]++; gsub(/[13579]/, "-", w); m[w] = m[w] i }
  for (w in n) { k++; s += n[w] }  print k, s, length(m["w-0-"]), substr("hello", 2, 3), sprintf("%.3f", sin(1)); exit 3 }
"""
SH = """
trap 'echo end $n' EXIT
trap 'n=$((n + 100))' USR1
n=0
while [ $n -lt 150 ]; do n=$((n + 1)); x=$(echo $n | (read a; echo $((a * 2)))); [ $((n % 50)) -ne 0 ] || echo $x; done
kill -USR1 $$
(exit 7) || echo status $?
f() { local i; for i in 1 2 3; do [ $i = 2 ] && continue; echo f$i; done; return 4; }
f
echo $? $n
eval "case abc in a*) echo yes;; esac"
sleep 0.01 & wait $!
nosuchcommand 2>/dev/null
exit 5
"""
BC = "scale=120\n4*a(1)\ne(1)\ndefine f(n){if(n<2)return n;return f(n-1)+f(n-2)}\nf(14)\n2^1000\nsqrt(2)\n"
SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into t select i, 'w' || (i * 7919 % 503), i / 7.0 from n;
create index tb on t(b);
select count(*), sum(a), max(b) from t;
select b, count(*), round(sum(c), 3) from t group by b order by 2 desc, 1 limit 5;
select x.a, y.a from t x join t y on x.b = y.b and x.a < y.a order by 1, 2 limit 5;
update t set c = c + 1 where b like 'w1%'; delete from t where a % 3 = 0; vacuum; pragma integrity_check;
select sum(length(b)), round(total(c), 3) from t; select nosuch from t;
"""


class Program:
    """sources: name of Debian's package; build: shell lines in its directory; binary: there; work: a function (run) -> what is compared."""

    def __init__(self, name, package, kind, build, binary, work):
        self.name, self.package, self.kind, self.build, self.binary, self.work = name, package, kind, build, binary, work


class Run:
    """One run of one program: its environment and a directory that starts empty."""

    def __init__(self, root, binary, environment, directory):
        self.root, self.binary, self.environment, self.directory = root, binary, environment, directory

    def command(self, *words, text="", **variables):
        """Output and exit status of the program; what the probe says about itself is left out."""
        done = subprocess.run([self.binary, *words], input=text.encode(), capture_output=True, cwd=self.directory, timeout=LIMIT_S,
                              env={**self.environment, **variables}, check=False)
        return done.returncode, done.stdout, [line for line in done.stderr.split(b"\n") if not line.startswith(b"assay record --for functions")]

    def file(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def server(self, words, port, end, client):
        """What the client is told by a server that is then ended by a signal, and the server's exit status."""
        process = subprocess.Popen([self.binary, *words], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(500):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.02)
            told = client(port)
            process.send_signal(end)
            return told, process.wait(LIMIT_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def script(text, name="script", **variables):
    return lambda run: run.command(run.file(name, text), **{key: value.format(root=run.root) for key, value in variables.items()})


def pcre2(run):
    answers = []
    for words in (("-q",), ("-q", "-jit"), ("-q", "-dfa")):
        for number in (1, 4, 7):
            status, out, err = run.command(*words, f"{run.root}/testdata/testinput{number}")
            answers.append((status, hashlib.sha256(out).hexdigest(), err))
    return answers


def pbzip2(run):
    path = run.file("data", "".join(f"{i * 7919 % 50021} line {i % 97}\n" for i in range(60000)))
    packed = run.command("-k", "-p3", "-1", "-b1", path)
    with open(path, "rb") as file:
        before = hashlib.sha256(file.read()).hexdigest()
    os.rename(path + ".bz2", path + ".again.bz2")
    unpacked = run.command("-d", "-p3", path + ".again.bz2")
    with open(path + ".again", "rb") as file:
        return packed[0], unpacked[0], before == hashlib.sha256(file.read()).hexdigest(), run.command("-d", path + ".again")


def zstd(run):
    path = run.file("data", "".join(f"{i * 7919 % 50021} line {i % 97}\n" for i in range(60000)))
    answers = [run.command("-q", "-f", level, "-T3", path, "-o", path + ".zst")[0] for level in ("-1", "-9")]
    return answers, run.command("-q", "-t", path + ".zst"), hashlib.sha256(run.command("-q", "-dc", path + ".zst")[1]).hexdigest()


def yaml(run):
    good = "".join(f"- {{name: n{i}, list: [1, 2, *a{i}], map: &m{i} {{x: y}}}}\n".replace(f"*a{i}", "3") for i in range(200))
    bad = ["[1, 2", "a: b: c", "- *unknown", "\t- x", "{a: [}", "key: 'open"]
    return [run.command(text=text) for text in [good, *bad]]


def jsoncpp(run):
    answers = []
    for path in sorted(glob.glob(f"{run.root}/test/data/*.json"))[:60]:
        copy = shutil.copy(path, run.directory)
        status, out, err = run.command(copy)
        answers.append((status, out.replace(run.directory.encode(), b""), [e.replace(run.directory.encode(), b"") for e in err]))
    return answers


def redis(run):
    def client(port):
        tool = [run.root + "/src/redis-benchmark", "-p", str(port), "-q", "-n", "1000", "-r", "200", "-c", "8", "-P", "4", "-t",
                "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset"]
        benchmark = subprocess.run(tool, capture_output=True, timeout=LIMIT_S, check=False).returncode
        told = [benchmark]
        for words in (["FLUSHALL"], ["MSET", "a", "1", "b", "2"], ["EVAL", "for i=1,500 do redis.call('zadd','z',i,'m'..i%97) end return redis.call('zcard','z')", "0"],
                      ["EVAL", "return {err='no'}", "0"], ["SORT", "z", "ALPHA", "LIMIT", "0", "5"], ["BGSAVE"], ["DEBUG", "DIGEST"], ["DBSIZE"], ["NOSUCH"]):
            told.append(subprocess.run([run.root + "/src/redis-cli", "-p", str(port), *words], capture_output=True, timeout=LIMIT_S, check=False).stdout)
        return told
    port = free_port()
    return run.server(["--port", str(port), "--io-threads", "2", "--enable-debug-command", "yes", "--dir", run.directory], port, signal.SIGTERM, client)


def memcached(run):
    def client(port):
        told = hashlib.sha256()
        connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(6)]
        for i in range(300):
            connection = connections[i % 6]
            connection.sendall(f"set k{i % 50} 0 0 {len(str(i))}\r\n{i}\r\nget k{i % 50}\r\nincr k{i % 50} 3\r\ngets nosuch\r\nbad\r\n".encode())
            got = b""
            while b"ERROR\r\n" not in got:
                got += connection.recv(4096)
            told.update(got)
        for connection in connections:
            connection.close()
        return told.hexdigest()
    port = free_port()
    return run.server(["-p", str(port), "-U", "0", "-l", "127.0.0.1", "-t", "3", "-u", "root"], port, signal.SIGTERM, client)


def nginx(run):
    port = free_port()
    os.makedirs(run.directory + "/logs", exist_ok=True)
    for i in range(5):
        run.file(f"f{i}", f"{i} " * 3000 * i)
    run.file("conf", "worker_processes 2; user root; daemon off; pid pid; error_log stderr crit; events { worker_connections 64; } http { access_log log;"
             f" server {{ listen 127.0.0.1:{port}; root {run.directory}; autoindex on; location /no {{ return 403; }} }} }}\n")

    def client(_):
        told = []
        for i in range(100):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{'no' if i % 20 == 19 else f'f{i % 6}'}", timeout=LIMIT_S) as answer:
                    told.append((answer.status, hashlib.sha256(answer.read()).hexdigest()))
            except urllib.error.HTTPError as error:
                told.append(error.code)
        return told
    return run.server(["-p", run.directory + "/", "-c", "conf", "-e", "stderr"], port, signal.SIGQUIT, client)


MAKE = "make -s MAKEINFO=true"
CONFIGURE = './configure CFLAGS="$FLAGS"'
# Where one package stands for a class: the reason is in `kind`.
PROGRAMS = [
    Program("lua", "lua5.4", "interpreter; long jumps, coroutines", 'cd src && make -s MYCFLAGS="$FLAGS" linux', "src/lua", script(LUA)),
    Program("luajit", "luajit", "JIT with calls back from C", 'make -s MYCFLAGS= CCDEBUG="$FLAGS"', "src/luajit", script(LUA_FFI)),
    Program("mujs", "mujs", "interpreter; long jumps", 'make -s CFLAGS="$FLAGS" LDFLAGS= build/release/mujs', "build/release/mujs", script(JS)),
    Program("tinyscheme", "tinyscheme", "interpreter; call/cc", 'make -s CC=gcc FEATURES= DEBUG="$FLAGS" scheme', "scheme",
            script(SCHEME, TINYSCHEMEINIT="{root}/init.scm")),
    Program("jimsh", "jimtcl", "interpreter", f"{CONFIGURE} && {MAKE}", "jimsh", script(TCL)),
    Program("tclsh", "tcl8.6", "interpreter; coroutines, threads", f"cd unix && {CONFIGURE} --disable-shared && {MAKE} tclsh", "unix/tclsh",
            script(TCL_COROUTINE, TCL_LIBRARY="{root}/library")),
    Program("mawk", "mawk", "interpreter", f"{CONFIGURE} && {MAKE}", "mawk", lambda run: run.command("-f", run.file("script", AWK))),
    Program("dash", "dash", "shell: fork, traps, long jumps", f"{CONFIGURE} && {MAKE}", "src/dash", script(SH)),
    Program("mksh", "mksh", "shell: fork, traps, long jumps", 'CC=gcc CFLAGS="$FLAGS" sh Build.sh -r', "mksh", script(SH)),
    Program("bc", "bc", "calculator", f"{CONFIGURE} && {MAKE}", "bc/bc", lambda run: run.command("-lq", text=BC)),
    Program("pcre2test", "pcre2", "JIT", f"{CONFIGURE} --enable-jit --disable-shared && {MAKE} pcre2test", "pcre2test", pcre2),
    Program("pth", "pth", "coroutines on stacks of their own", f"{CONFIGURE} --disable-shared && make pth_p.h && make CFLAGS=\"$FLAGS\" libpth.la test_std",
            "test_std", lambda run: run.command()),
    Program("pbzip2", "pbzip2", "C++ threads", 'make -s CXXFLAGS="$FLAGS -pthread -D_FILE_OFFSET_BITS=64" pbzip2', "pbzip2", pbzip2),
    Program("zstd", "libzstd", "threads", 'make -s -C programs zstd CFLAGS="$FLAGS" HAVE_LZMA=0 HAVE_LZ4=0', "programs/zstd", zstd),
    Program("yaml-cpp", "yaml-cpp", "C++ exceptions",
            'cmake -B b -DCMAKE_CXX_FLAGS="$FLAGS" -DCMAKE_EXE_LINKER_FLAGS="$LINK" -DYAML_CPP_BUILD_TESTS=OFF . && make -s -C b', "b/util/parse", yaml),
    Program("jsoncpp", "libjsoncpp", "C++ exceptions", 'cmake -B b -DCMAKE_CXX_FLAGS="$FLAGS" -DCMAKE_EXE_LINKER_FLAGS="$LINK" -DBUILD_SHARED_LIBS=OFF '
            "-DBUILD_OBJECT_LIBS=OFF -DJSONCPP_WITH_POST_BUILD_UNITTEST=OFF . && make -s -C b jsontestrunner_exe", "b/bin/jsontestrunner_exe", jsoncpp),
    Program("sqlite3", "sqlite3", "database", './configure CFLAGS="$FLAGS" --disable-shared --disable-tcl --disable-readline && make -s sqlite3', "sqlite3",
            lambda run: run.command(":memory:", text=SQL)),
    Program("redis", "redis", "server under load; threads, fork, scripts", 'make -s -C src MALLOC=libc OPTIMIZATION=-O2 CFLAGS="$FLAGS" redis-server redis-cli redis-benchmark',
            "src/redis-server", redis),
    Program("memcached", "memcached", "server under load; threads", f"{CONFIGURE} && {MAKE} memcached", "memcached", memcached),
    Program("nginx", "nginx", "server under load; processes", './configure --with-cc-opt="$FLAGS" --without-http_rewrite_module --without-http_gzip_module && make -s',
            "objs/nginx", nginx),
]


def functions(binary):
    """Those that begin with five bytes that do nothing and whose name is theirs alone."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", binary], capture_output=True, text=True, check=True).stdout
    names, current, nops = [], None, 0
    for line in listing.splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if head:
            current, nops = head[1], 0
        elif current and line.endswith("\tnop"):
            nops += 1
            if nops == 5:
                names.append(current)
                current = None
        elif current and line.strip() and not line.endswith("endbr64"):
            current = None
    count = collections.Counter(names)
    return sorted(name for name in count if count[name] == 1)


def build(program, root, here):
    environment = {**os.environ, "FLAGS": FLAGS, "LINK": f"-Wl,-T,{here}/runs/inside/probe/assay-probe.ld"}
    with open(root + ".log", "w") as log:
        done = subprocess.run(["sh", "-c", program.build], cwd=root, env=environment, stdout=log, stderr=log, check=False).returncode
    if done or not os.path.exists(f"{root}/{program.binary}"):
        sys.exit(f"soak: {program.name} cannot be built: see {root}.log")


def selection(names, number):
    """All functions, or a third of them."""
    return names if number % 4 < 2 else sorted(random.Random(number).sample(names, max(1, len(names) // 3)))


def soak(assay, library, program, root, runs):
    binary = f"{root}/{program.binary}"
    names = functions(binary)
    scratch = root + ".run"

    def answer(environment):
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch + "/work")
        try:
            return program.work(Run(root, binary, environment, scratch + "/work"))
        except (subprocess.TimeoutExpired, OSError) as trouble:
            return type(trouble).__name__

    plain = {**os.environ, "LC_ALL": "C"}
    native = [answer(plain) for _ in range(3)]
    if any(other != native[0] for other in native):
        sys.exit(f"soak: {program.name} does not answer alike when it runs natively: {native}")
    samples, harmed = 0, []
    for number in range(runs):
        with open(root + ".names", "w") as file:
            file.write("\n".join(selection(names, number)) + "\n")
        subprocess.run([assay, "record", "--for", "functions", "--functions", f"@{root}.names", "--list", root + ".list", "--", binary], check=True, stdout=subprocess.DEVNULL)
        directory = root + ".samples"
        shutil.rmtree(directory, ignore_errors=True)
        os.mkdir(directory, 0o700)
        got = answer({**plain, "LD_PRELOAD": library, "ASSAY_PROBE_LIST": root + ".list", "ASSAY_PROBE_DIRECTORY": directory,
                      "ASSAY_PROBE_BUDGET": "0" if number % 2 else "0.03"})
        if got != native[0]:
            harmed.append((number, got))
            print(f"soak: {program.name}, run {number}: {str(got)[:2000]}\n  natively: {str(native[0])[:2000]}", file=sys.stderr)
        files = glob.glob(directory + "/*.samples")
        samples += sum(os.path.getsize(path) for path in files)
        shutil.rmtree(directory)
        if not files:
            harmed.append((number, "no sample file"))
            print(f"soak: {program.name}, run {number}: no sample file", file=sys.stderr)
    return names, samples, harmed


def main():
    assay, library, sources, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    chosen = sys.argv[5:]
    total = bad = 0
    print("| program | sources | what it stands for | functions | runs under the probe | sample files, MiB | harmed |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for program in PROGRAMS:
        if chosen and program.name not in chosen:
            continue
        root = f"{sources}/{program.package}"
        if not os.path.exists(f"{root}/{program.binary}"):
            print(f"soak: building {program.name}", file=sys.stderr)
            build(program, root, os.getcwd())
        print(f"soak: {program.name}, {runs} runs", file=sys.stderr)
        names, samples, harmed = soak(assay, library, program, root, runs)
        with open(root + ".version") as file:
            version = file.read().strip()
        print(f"| {program.name} | {version} | {program.kind} | {len(names)} | {runs} | {samples / 2**20:.0f} | {len(harmed)} |", flush=True)
        total += runs
        bad += len(harmed)
    print(f"\n{total} runs, {bad} harmed.")
    sys.exit(1 if bad else 0)


if len(sys.argv) > 4:
    main()
else:
    print(*(program.package for program in PROGRAMS))
