"""cost_programs.py PROGRAM DIRECTORY INPUTS: runs PROGRAM with drawn inputs, each three times, and prints a row of CSV for each: the median of its
processor time, the size of its input, and other numbers that are known of the input before it is run."""
import json
import os
import random
import subprocess
import sys


def run(words, stdin):
    with open(stdin, "rb") as source:
        child = subprocess.Popen(words, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        sys.exit(f"{words[0]} did not end well")
    return usage.ru_utime + usage.ru_stime


def bzip2(draw, path):
    """Text, random bytes, and repeated lines, in drawn parts."""
    text, noise, repeated = (int(draw.uniform(2e4, 6e5)) for _ in range(3))
    words = [b"%x" % draw.getrandbits(draw.choice((8, 16, 32))) for _ in range(2000)]
    level = draw.randint(1, 9)
    with open(path, "wb") as out:
        out.write(b" ".join(draw.choice(words) for _ in range(text // 6)))
        out.write(draw.randbytes(noise))
        out.write(b"the same line again\n" * (repeated // 20))
    return ["bzip2", f"-{level}", "-c"], {"text": text, "random": noise, "repeated": repeated, "level": level}


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
    return ["sqlite3", ":memory:"], {"a": a, "b": b, "groups": groups, "indexed": indexed, "updates": updates, "likes": likes}


def jq(draw, path):
    """Objects with a drawn number of members, sorted and grouped, or not."""
    objects, members, text, times = draw.randint(200, 6000), draw.randint(1, 10), draw.randint(4, 120), draw.randint(0, 3)
    with open(path, "w", encoding="ascii") as out:
        json.dump([{f"k{m}": draw.randrange(1000) for m in range(members)} | {"t": "x" * text} for _ in range(objects)], out)
    words = "[.[] | .k0] | " + "sort | reverse | " * times + "map(. * 3) | add"
    return ["jq", words], {"objects": objects, "members": members, "text": text, "times": times}


def main():
    program, directory, inputs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    draw = random.Random(19)
    path = os.path.join(directory, "input")
    for i in range(inputs):
        words, features = globals()[program](draw, path)
        seconds = sorted(run(words, path) for _ in range(3))[1]
        size = os.path.getsize(path)
        if i == 0:
            print(",".join(["cost", "bytes", *features]))
        print(",".join(str(x) for x in [seconds, size, *features.values()]), flush=True)


main()
