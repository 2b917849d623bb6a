"""What sampling costs ten commands: a table from the lines of bench_sampling.

    sampling_table.py BENCH ROUNDS WORK   measures what WORK/NAME.csv does not have yet, and prints the table
"""
import csv
import math
import os
import statistics
import subprocess
import sys


FORKS = "forks"  # beside the ten
WAYS = {1: "as runs of the laboratory", 2: "as `stat`"}  # of bench_sampling


def commands(work):
    text, lines = f"{work}/text", f"{work}/lines"
    if not os.path.exists(text):
        with open(text, "w") as out:
            for root, _, names in sorted(os.walk("/usr/share/doc"))[:3000]:
                out.writelines(f"{root}/{name} {hash_of(name)}\n" for name in sorted(names))
        with open(lines, "w") as out:
            out.writelines(f"{hash_of(str(i))} {i}\n" for i in range(150000))
        with open(f"{work}/many.c", "w") as out:
            out.writelines(f"int f{i}(int a, int *b) {{ for (int i = 0; i < a; i++) b[i] += a * i + b[i / 2]; return b[a / 3]; }}\n"
                           for i in range(80))
    table = "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000) " \
        "insert into t select i, hex(i * 7919 % 10007) from n; create index x on t(b); select count(*), sum(a) from t where b like '3%';"
    return {
        "gzip": ["gzip", "-c", lines],
        "xz": ["xz", "-0", "-c", lines],
        "sort": ["sort", "-o", "/dev/null", lines],
        "grep": ["grep", "-c", "-E", "(ab|cd)+[0-9]{3}f", lines],
        "sqlite3": ["sqlite3", ":memory:", table],
        "perl": ["perl", "-e", "my %h; for (1 .. 600000) { $h{$_ % 977} .= chr(65 + $_ % 26) } print length $h{5}"],
        "gcc": ["gcc", "-O2", "-c", "-o", "/dev/null", f"{work}/many.c"],
        "tar": ["tar", "-cf", f"{work}/tar", "/usr/include"],
        "find": ["find", "/usr/share", "-name", "*xyz*"],
        FORKS: ["sh", "-c", "i=0; while [ $i -lt 1000 ]; do (:); i=$((i + 1)); done"],
        "openssl": ["sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do openssl dgst -sha512 {lines}; done"],
    }


def hash_of(text):
    value = 2166136261
    for c in text:
        value = (value ^ ord(c)) * 16777619 % 2**32
    return f"{value * 2654435761 % 2**64:016x}"


def measure(bench, rounds, path, command, ways):
    """Of rounds that have all ways: way -> the numbers that the benchmark says of it."""
    if not os.path.exists(path):
        with open(path + ".new", "w") as out:
            subprocess.run([bench, str(rounds), *command], stdout=out, check=True)
        os.rename(path + ".new", path)
    runs = {}
    with open(path) as file:
        for at, way, *numbers in csv.reader(file):
            runs.setdefault(int(at), {})[int(way)] = [int(n) for n in numbers]
    return [r for r in runs.values() if len(r) == ways]


def interval(programs):
    """Mean of the programs' means, and its 90 % interval (its upper end is the one-sided 95 % limit); normal quantile: there are dozens of pairs
    of each. What one program took says nothing of another, which ran at another time."""
    mean = statistics.mean(statistics.mean(logs) for logs in programs)
    reach = 1.645 * math.sqrt(sum(statistics.variance(logs) / len(logs) for logs in programs)) / len(programs)
    mean, low, high = [f"{(math.exp(x) - 1) * 100:+.2f} %" for x in (mean, mean - reach, mean + reach)]
    return mean, f"{low} to {high}"


def main(bench, rounds, work):
    everything = {way: [] for way in WAYS}
    ways = " | ".join(f"samples | {text} | 90 % interval" for text in WAYS.values())
    print(f"| program | rounds | CPU time, ms (median) | {ways} |\n| --- | --- | ---{' | --- | --- | ---' * len(WAYS)} |")
    for name, command in commands(work).items():
        runs = measure(bench, rounds, f"{work}/{name}.csv", command, 1 + len(WAYS))  # CPU time in us, samples
        cells = []
        for way in WAYS:
            logs = [math.log(r[way][0] / r[0][0]) for r in runs]
            cells += [f"{statistics.median(r[way][1] for r in runs):.0f}", *interval([logs])]
            if name != FORKS:
                everything[way].append(logs)
        print(f"| {name} | {len(runs)} | {statistics.median(r[0][0] for r in runs) / 1000:.0f} | {' | '.join(cells)} |")
    cells = []
    for programs in everything.values():
        mean, reach = interval(programs)
        cells += ["", f"**{mean}**", reach]
    print(f"| all but {FORKS} | | | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
