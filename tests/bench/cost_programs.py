"""cost_programs.py [PROGRAM]: prints the packages that the programs, or this one, are of.
cost_programs.py draw|time|count PROGRAM ASSAY SOURCES WORK SAMPLES INPUTS: what inputs cost PROGRAM, and what it counts in them.

draw builds PROGRAM twice from Debian's sources in SOURCES/PACKAGE, as it is and to count, and draws INPUTS inputs. time runs those that SAMPLES (CSV) does not
have yet three times by the first, from memory, all of them before any a second time, and adds them: their processor times and what is known of them before
a run. count counts all of them by the second. Printed is a line of TAB-separated values an input, after one of names: the least of its times, what is
known of it, and all counts that vary and repeat no other's."""
import csv
import dataclasses
import json
import os
import random
import shutil
import string
import subprocess
import sys
import tempfile

TIMES = 3


@dataclasses.dataclass
class Program:
    package: str
    build: str
    binary: str
    draw: object


def words_of(draw, n):
    """So many words of a drawn vocabulary, the earlier ones more often."""
    words = ["".join(draw.choices(string.ascii_lowercase, k=draw.randint(2, 9))) for _ in range(draw.choice((50, 500, 5000)))]
    return draw.choices(words, weights=[1 / (k + 1) for k in range(len(words))], k=n)


def mixture(draw, path, unit):
    """Text, random bytes, and repeated lines, in drawn parts."""
    text, noise, repeated = (int(draw.uniform(.03, 1) * unit) for _ in range(3))
    with open(path, "wb") as out:
        out.write(" ".join(words_of(draw, text // 6)).encode())
        out.write(draw.randbytes(noise))
        out.write(b"the same line again\n" * (repeated // 20))
    return {"text": text, "random": noise, "repeated": repeated}


def bzip2(draw, path):
    level = draw.randint(1, 9)
    return [f"-{level}", "-c", path], mixture(draw, path, 6e5) | {"level": level}


def lz4(draw, path):
    level = draw.randint(1, 12)
    return [f"-{level}", "-c", path], mixture(draw, path, 2e6) | {"level": level}


def sqlite3(draw, path):
    """Rows of two tables, groups of one, a join of both, with or without an index, and updates."""
    a, b, groups = int(draw.uniform(1000, 15000)), int(draw.uniform(100, 2000)), draw.randint(2, 200)
    indexed, updates, likes = draw.randint(0, 1), draw.randint(0, 5), draw.randint(0, 8)
    with open(path, "w", encoding="ascii") as out:
        out.write("CREATE TABLE a (x INTEGER, y INTEGER, z TEXT); CREATE TABLE b (x INTEGER PRIMARY KEY, w TEXT);\nBEGIN;\n")
        for i in range(a):
            out.write(f"INSERT INTO a VALUES ({draw.randrange(b)}, {i % groups}, 'row {i} {draw.getrandbits(40):x}');\n")
        out.write("COMMIT; BEGIN;\n")
        for i in range(b):
            out.write(f"INSERT INTO b VALUES ({i}, 'name {i}');\n")
        out.write("COMMIT;\n")
        if indexed:
            out.write("CREATE INDEX i ON a (y);\n")
        out.write("SELECT y, count(*), sum(x) FROM a GROUP BY y;\nSELECT count(*) FROM a JOIN b USING (x) WHERE w LIKE '%7%';\n")
        for i in range(updates):
            out.write(f"UPDATE a SET y = y + 1 WHERE x % 5 = {i};\n")
        for i in range(likes):
            out.write(f"SELECT count(*) FROM a WHERE z LIKE '%{i}f%';\n")
    known = {"a": a, "b": b, "groups": groups, "indexed": indexed, "updates": updates, "likes": likes}
    return [":memory:", f".read {path}"], known


def jq(draw, path):
    """Objects with a drawn number of members, sorted and grouped, or not."""
    objects, members, text, times = draw.randint(200, 6000), draw.randint(1, 10), draw.randint(4, 120), draw.randint(0, 3)
    with open(path, "w", encoding="ascii") as out:
        json.dump([{f"k{m}": draw.randrange(1000) for m in range(members)} | {"t": "x" * text} for _ in range(objects)], out)
    query = "[.[] | .k0] | " + "sort | reverse | " * times + "map(. * 3) | add"
    return [query, path], {"objects": objects, "members": members, "text": text, "times": times}


def mawk(draw, path):
    """Lines that are split, and in which what matches one of several regular expressions is replaced."""
    lines, words, classes, choices = draw.randint(6000, 60000), draw.randint(3, 30), draw.randint(0, 4), draw.randint(1, 8)
    text = words_of(draw, lines * words)
    with open(path, "w", encoding="ascii") as out:
        for i in range(lines):
            out.write(" ".join(text[i * words:(i + 1) * words]) + "\n")
    parts = ["".join(draw.choices(string.ascii_lowercase, k=2)) + "[a-m]+" * classes + draw.choice("aeiou") for _ in range(choices)]
    script = f"{{ n += gsub(/{'|'.join(parts)}/, \"-\"); m += split($0, part, /[aeiou]+/) }} END {{ print n, m }}"
    return [script, path], {"lines": lines, "words": words, "classes": classes, "choices": choices}


def jsoncpp(draw, path):
    """A tree of objects (std::map), arrays, numbers and strings."""
    members, depth, entries, text = draw.randint(3, 30), draw.randint(1, 3), draw.randint(30, 300), draw.randint(2, 60)

    def value(level):
        if level:
            return {f"k{draw.randrange(10000)}": value(level - 1) for _ in range(draw.randint(1, 3))}
        return draw.choice((draw.randrange(10**6), "y" * text, [True, None, draw.random()]))

    with open(path, "w", encoding="ascii") as out:
        json.dump([{f"m{draw.randrange(10000)}": value(depth) for _ in range(members)} for _ in range(entries)], out)
    return [path], {"members": members, "depth": depth, "entries": entries, "text": text}


JQ = ("sed -e 's/\\\\/\\\\\\\\/g' -e 's/\"/\\\\\"/g' -e 's/^/\"/' -e 's/$/\\\\n\"/' src/builtin.jq >src/builtin.inc && echo '#define JQ_VERSION \"1.6\"' >src/version.h && "
      "$COUNT gcc -O2 -w -I. -D_GNU_SOURCE -DIEEE_8087 -DHAVE_MEMMEM -DHAVE_MKSTEMP -o jq $(ls src/*.c | grep -v inject_errors) -lm -lpthread")
PROGRAMS = {
    "bzip2": Program("bzip2", "$COUNT make -s CFLAGS=-O2 bzip2", "bzip2", bzip2),
    "lz4": Program("lz4", "$COUNT make -s -C programs CFLAGS=-O3 lz4", "programs/lz4", lz4),
    "sqlite3": Program("sqlite3", "{ [ -f sqlite3.c ] || { ./configure --disable-tcl --disable-readline && make -s sqlite3.c shell.c; }; } && "
                       "$COUNT gcc -O2 -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -o sqlite3 sqlite3.c shell.c -lm", "sqlite3", sqlite3),
    "jq": Program("jq", JQ, "jq", jq),
    "mawk": Program("mawk", "touch parse.c && ./configure CFLAGS=-O2 && $COUNT make -s mawk", "mawk", mawk),
    "jsoncpp": Program("libjsoncpp", "$COUNT g++ -O2 -w -Iinclude -o jsontestrunner src/lib_json/*.cpp src/jsontestrunner/main.cpp", "jsontestrunner", jsoncpp),
}


def built(program, sources, directory, count):
    """The binary; what was built before is there still."""
    binary = os.path.join(directory, program.binary)
    if not os.path.exists(binary):
        shutil.copytree(os.path.join(sources, program.package), directory, symlinks=True)
        with open(directory + ".log", "wb") as log:
            if subprocess.run(["sh", "-c", program.build], cwd=directory, env=os.environ | {"COUNT": count}, stdout=log, stderr=log, check=False).returncode:
                sys.exit(f"{directory} was not built: {directory}.log")
    return binary


def seconds(words, well=True):
    """Processor time of a run, which has to end well or not."""
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status and well:
        sys.exit(f"{words} did not end well")
    return usage.ru_utime + usage.ru_stime


def counts(assay, words, directory, well=True):
    shutil.rmtree(directory, ignore_errors=True)
    run = subprocess.run([assay, "record", "--for", "features", "-o", directory, "--", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode and well:
        sys.exit(run.stderr)
    shown = subprocess.run([assay, "inspect", "--text", directory], capture_output=True, text=True, check=well).stdout
    return {name: number for number, name in (line.split(" ", 1) for line in shown.splitlines())}


def read_text(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii", newline="") as source:
        return list(csv.DictReader(source))


def read(path):
    return [{name: float(value) for name, value in row.items()} for row in read_text(path)]


def independent(rows):
    """Names of counts that vary, without those that have the same values as one before."""
    seen = set()
    for name in sorted({name for row in rows for name in row}):
        column = tuple(row.get(name, "0") for row in rows)
        if len(set(column)) > 1 and column not in seen:
            seen.add(column)
            yield name


def drawn(program, name, directory, i):
    """Words of an input, and what is known of it; one that was drawn before is there still."""
    path = os.path.join(directory, f"{i:03}.json")
    if not os.path.exists(path + ".words"):
        words, known = program.draw(random.Random(f"{name} {i}"), path)
        with open(path + ".words", "w", encoding="ascii") as out:
            json.dump([words, {"bytes": os.path.getsize(path)} | known], out)
    with open(path + ".words", encoding="ascii") as source:
        return json.load(source)


def measure(plain, directory, inputs, there, samples):
    """Adds the times of inputs that are not there yet. What reads and writes files does so in memory."""
    new = range(there, len(inputs))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        for i in new:
            shutil.copy(os.path.join(directory, f"{i:03}.json"), memory)
        times = [[seconds([plain, *(word.replace(directory, memory) for word in inputs[i][0])]) for i in new] for _ in range(TIMES)]
    with open(samples, "a", encoding="ascii") as out:
        for i in new:
            if i == 0:
                print(",".join([f"seconds {k + 1}" for k in range(TIMES)] + list(inputs[i][1])), file=out)
            print(",".join(str(x) for x in [column[i - there] for column in times] + list(inputs[i][1].values())), file=out)


def count(counting, rows, inputs, work, assay):
    known = [counts(assay, [counting, *words], work) for words, _ in inputs]
    names = list(independent(known))
    free = list(inputs[0][1])
    print("cost", *free, *names, sep="\t")
    for row, counted in zip(rows, known):
        print(min(row[f"seconds {k + 1}"] for k in range(TIMES)), *(row[word] for word in free), *(counted.get(word, 0) for word in names), sep="\t")


def main():
    if sys.argv[1:2] not in (["draw"], ["time"], ["count"]):
        print(*(program.package for name, program in PROGRAMS.items() if name in sys.argv[1:] or len(sys.argv) == 1))
        return
    what, name, assay, sources, work, samples, inputs = *sys.argv[1:7], int(sys.argv[7])
    program, directory = PROGRAMS[name], os.path.join(work, name + ".inputs")
    plain = built(program, sources, os.path.join(work, name + ".plain"), "")
    counting = built(program, sources, os.path.join(work, name + ".counting"), f"{assay} build --for features --")
    os.makedirs(directory, exist_ok=True)
    drawings = [drawn(program, name, directory, i) for i in range(inputs)]
    if what == "time":
        measure(plain, directory, drawings, len(read(samples)), samples)
    if what == "count":
        count(counting, read(samples), drawings, os.path.join(work, name + ".features"), assay)


if __name__ == "__main__":
    main()
