"""Versions of real programs with a known slowdown, held against what `assay diff --git` says of them.

    why_pairs.py truth NAME REPOSITORIES WORK    instructions by function of both versions (valgrind's callgrind), for the table below
    why_pairs.py run ASSAY REPOSITORIES WORK     appends to WORK/pairs.jsonl the pairs that are not there yet
    why_pairs.py page WORK                       the sections of the page

REPOSITORIES has clones named lz4, zlib, lua, awk, cJSON and jq; those that are missing are skipped. Nothing of their code is kept here. Each
slowdown is documented by its project, or is the way back from a documented improvement. With WHY_SLICE, seconds, a call ends after about so
long, with status 75, if there is more to do.
"""
import collections
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time

MORE_TO_DO = 75
JQ = "sh -c 'autoreconf -fi && CFLAGS=\"-O2 -g\" ./configure --disable-maintainer-mode --disable-docs --disable-shared && make -j2'"
LUA = "make -j2 lua 'MYCFLAGS=-std=c99 -DLUA_USE_POSIX -g' MYLIBS=-ldl MYLDFLAGS="
AWK = "make 'CFLAGS=-O2 -g' 'YACC=bison -d'"
LZ4 = "make -j2 -C programs lz4 'CFLAGS=-O2 -g'"
ZLIB = "sh -c 'CFLAGS=\"-O2 -g\" ./configure --static && make -j2 libz.a && cc -O2 -g -I. {inputs}/%s.c libz.a -o driver'"
CJSON = "cc -O2 -g -I. {inputs}/array.c cJSON.c -lm -o driver"

Pair = collections.namedtuple("Pair", "name repository old new build command functions why kinds", defaults=[("more_work", "calls")])
# functions: at least 10 % of what callgrind counts more, most first; none: nothing is slower; None: callgrind, which counts nothing in the kernel,
# cannot tell. kinds: right reasons of these functions; by default they do more work in a call, or are called more often.
PAIRS = [
    Pair("lz4 -2", "lz4", "v1.9.4", "v1.10.0", LZ4, ["programs/lz4", "-2", "-c", "-k", "-f", "{inputs}/text"], ["LZ4MID_compress"],
         "level 2 is a new algorithm", ("more_work",)),
    Pair("lz4 -12", "lz4", "v1.9.4", "v1.10.0", LZ4, ["programs/lz4", "-12", "-c", "-k", "-f", "{inputs}/small"], None,
         "the same algorithm, with threads: twice the page faults and 3.3 % more processor time by getrusage; not judged"),
    Pair("awk index", "awk", "20230909", "2ndEdition", AWK,
         ["./a.out", 'BEGIN{s=sprintf("%1000s","x"); for(i=0;i<40000;i++){n+=length(s); n+=index(s,"x"); t=substr(s,500,10)} print n}'],
         ["u8_isutf", "sindex", "substr", "bltin"], "text is UTF-8"),
    Pair("awk match", "awk", "20230909", "2ndEdition", AWK, ["./a.out", "/(foo|bar|t[aeiou]n)/{n++} END{print n}", "{inputs}/small"],
         ["match", "u8_rune"], "text is UTF-8, tables of states are sparse"),
    Pair("zlib combine", "zlib", "47cb412", "47cb412^", ZLIB % "combine", ["./driver", "60000"],
         ["crc32_combine_"], "back to before 47cb412, 'speed it up by a factor of 200'", ("more_work",)),
    Pair("zlib crc", "zlib", "f8719f5", "f8719f5^", ZLIB % "crc", ["./driver", "400"], ["crc32_little"],
         "back to before f8719f5, 'speed up software CRC-32 by a factor of 1.5 to 3'", ("more_work",)),
    Pair("cJSON array", "cJSON", "3ece4c8", "3ece4c8^", CJSON, ["./driver", "300", "3000"], ["cJSON_AddItemToArray"],
         "back to before 3ece4c8, 'improve performance of adding item to array'", ("more_work",)),
    Pair("lua", "lua", "v5.3.6", "v5.4.0", LUA,
         ["./lua", "-e", "local t={} for r=1,10 do for i=1,20000 do t[i]=tostring(i)..r end table.sort(t) end print(#t)"],
         [], "a new interpreter, not a slower one"),
    Pair("jq start", "jq", "jq-1.5", "jq-1.6", JQ, ["./jq", "-n", "1"],
         ["block_bind_subblock", "block_count_refs", "opcode_describe"],
         "more definitions are bound at each start (issue 1411)"),
    Pair("jq bsearch", "jq", "562ffec8", "562ffec8^", JQ,
         ["./jq", "-n", "[range(10000)] as $a|reduce range(20000) as $i (0; .+($a|bsearch($i)))"], ["jq_next", "stack_push", "stack_pop"],
         "back to before 562ffec8, which moved bsearch to C"),
    Pair("jq unique", "jq", "95ee663b", "95ee663b^", JQ, ["./jq", "-n", "[range(300000)|.%1000]|unique|length"],
         ["jvp_array_free", "jv_free", "jv_array_get", "jv_cmp"], "back to before 95ee663b, 'improve performance of unique'"),
    Pair("jq repeat", "jq", "dc849e9b", "dc849e9b^", JQ, ["./jq", "-n", '[range(9)|"abcdefgh"*300000|length]'],
         ["jvp_utf8_next", "jvp_utf8_is_valid", "jvp_string_append"],
         "back to before dc849e9b, 'improve performance of repeating strings'"),
]
# A commit and the one before it, which differ in documents, tests or words.
INNOCENT = [("lua", "v5.4.0~1", "v5.4.0"), ("awk match", "20230909~1", "20230909"), ("cJSON array", "3ece4c8~2", "3ece4c8~1"),
            ("jq start", "jq-1.6~1", "jq-1.6"), ("jq bsearch", "jq-1.7.1~1", "jq-1.7.1")]

DRIVERS = {
    "array": """#include "cJSON.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	double sum = argc;
	for (int r = 0; r < atoi(argv[2]); r++) {
		cJSON *a = cJSON_CreateArray();
		for (int i = 0; i < atoi(argv[1]); i++)
			cJSON_AddItemToArray(a, cJSON_CreateNumber(i));
		sum += cJSON_GetArraySize(a);
		cJSON_Delete(a);
	}
	printf("%g\\n", sum);
	return 0;
}
""",
    "combine": """#include "zlib.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	unsigned long c = (unsigned long)argc;
	for (long i = 0; i < atol(argv[1]); i++)
		c = crc32_combine(c, (unsigned long)(i * 2654435761u), 1 + i % 100000);
	printf("%lx\\n", c);
	return 0;
}
""",
    "crc": """#include "zlib.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	unsigned char *b = malloc(1 << 20);
	unsigned long c = (unsigned long)argc;
	for (int i = 0; i < 1 << 20; i++)
		b[i] = (unsigned char)(i * 7 + (i >> 8));
	for (long i = 0; i < atol(argv[1]); i++)
		c = crc32(c, b, 1 << 20);
	printf("%lx\\n", c);
	return 0;
}
""",
}


def all_pairs():
    named = {p.name: p for p in PAIRS}
    return PAIRS + [named[name]._replace(name=f"{name}: {old}", old=old, new=new, functions=[], why="neighbouring commits") for name, old, new in INNOCENT]


def make_inputs(work):
    """The drivers, and words drawn by a fixed seed."""
    inputs = os.path.join(work, "inputs")
    os.makedirs(inputs, exist_ok=True)
    for name, text in DRIVERS.items():
        with open(os.path.join(inputs, name + ".c"), "w") as f:
            f.write(text)
    draw = random.Random(1)
    words = ["".join(draw.choice("etaoinshrdlucmfwypvbgk") for _ in range(draw.randint(2, 9))) for _ in range(4000)]
    lines = "".join(" ".join(draw.choice(words) for _ in range(10)) + "\n" for _ in range(120000))
    for name, times in (("small", 1), ("text", 10)):
        with open(os.path.join(inputs, name), "w") as f:
            f.write(lines * times)
    return inputs


def filled(pair, inputs):
    return pair.build.replace("{inputs}", inputs), [word.replace("{inputs}", inputs) for word in pair.command]


def perf_diff(recordings):
    """Functions whose share grew, most first: perf knows shares of a run and not how long it takes."""
    text = subprocess.run(["perf", "diff", "-s", "symbol", *recordings], capture_output=True, text=True).stdout
    rows = re.findall(r"^\s*(?:[\d.]+%)?\s*\+([\d.]+)%\s+\[\.\]\s+(\S+)", text, re.M)
    return [name for _, name in sorted(rows, key=lambda row: -float(row[0]))]


def other_tools(programs, arguments, work):
    """Seconds that other tools take for both programs, and the functions that perf diff names first. A tool that is not there is left out."""
    out, recordings = {}, [os.path.join(work, "perf." + side) for side in ("old", "new")]
    commands = {"perf": [["perf", "record", "-q", "-e", "cpu-clock", "-o", to, program, *arguments] for to, program in zip(recordings, programs)],
                "callgrind": [["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *arguments] for program in programs],
                "hyperfine": [["hyperfine", "-N", "-i", *(shlex.join([program, *arguments]) for program in programs)]]}
    for tool, calls in commands.items():
        if not shutil.which(calls[0][0]):
            continue
        start = time.monotonic()
        for words in calls:
            subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out[tool + "_s"] = time.monotonic() - start
    if "perf_s" in out:
        out["perf"] = perf_diff(recordings)[:2]
    return out


def run(assay, repositories, work):
    inputs, path, began = make_inputs(work), os.path.join(work, "pairs.jsonl"), time.monotonic()
    with open(path, "a+") as f:
        f.seek(0)
        done = {json.loads(line)["name"] for line in f}
        for pair in all_pairs():
            repository = os.path.join(repositories, pair.repository)
            if pair.name in done:
                continue
            if not os.path.isdir(repository):
                print(f"skipped: {pair.name}: there is no {repository}", flush=True)
                continue
            if time.monotonic() - began > float(os.environ.get("WHY_SLICE", "inf")):
                sys.exit(MORE_TO_DO)
            build, command = filled(pair, inputs)
            environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(work, "cache"))
            words = [assay, "diff", "--git", repository, pair.old, pair.new, "--build", build, "--quiet", "--format", "json", "--", *command]
            at = words.index("--")
            built = subprocess.run(words[:at] + ["--budget", "1"] + words[at:], env=environment, capture_output=True)
            start, load = time.monotonic(), os.getloadavg()[0]
            p = subprocess.run(words, env=environment, capture_output=True, text=True)
            row = {"name": pair.name, "status": p.returncode, "seconds": time.monotonic() - start, "load": load, "built": built.returncode,
                   "answer": json.loads(p.stdout) if p.stdout.startswith("{") else None, "error": p.stderr[-2000:]}
            if pair.functions and row["answer"]:
                row["tools"] = other_tools([os.path.join(tree["directory"], command[0]) for tree in row["answer"]["trees"]], command[1:], work)
            f.write(json.dumps(row) + "\n")
            f.flush()
            print(f"{pair.name}: status {p.returncode}, {row['seconds']:.0f} s", flush=True)


def named_functions(answer):
    """Functions whose difference is certain and in the direction of the whole change, largest first."""
    rows = [r for r in answer["measured"]["parts"] if r["level"] == "function" and r["certain"] and r["difference"] > 0]
    return [r["name"] for r in sorted(rows, key=lambda r: -r["difference"])]


def same_function(name, truth):
    """Clones of the compiler (NAME.part.0, NAME.constprop.0) are the function."""
    return re.sub(r"\.(part|constprop|isra|cold|lto_priv)\b.*", "", name) in truth


def reason(answer, truth):
    """The kinds that counters give for the first two functions named, if these are among the true ones."""
    rows = (answer.get("functions") or {}).get("functions") or []
    first = [name for name in named_functions(answer)[:2] if same_function(name, truth)]
    return [kind for name in first for row in rows if row["name"] == name and row["anomalous"] for kind in (row["kind"], *row["further_kinds"])]


def tools_page(pairs, rows):
    """What other tools need and name, beside the reasons that the call has given."""
    right = perf = n = 0
    print("\n| pair | reason | right | perf diff | true function | perf, seconds | callgrind, seconds | hyperfine, seconds |\n"
          "| --- | --- | --- | --- | --- | ---: | ---: | ---: |")
    for pair in pairs:
        r = rows.get(pair.name)
        if not pair.functions or not r or not r["answer"]:
            continue
        kinds, tools = reason(r["answer"], pair.functions), r.get("tools") or {}
        is_right, is_named = bool(set(kinds) & set(pair.kinds)), any(same_function(name, pair.functions) for name in tools.get("perf", []))
        n, right, perf = n + 1, right + is_right, perf + is_named
        seconds = " | ".join(f"{tools[key]:.0f}" if key in tools else "" for key in ("perf_s", "callgrind_s", "hyperfine_s"))
        print(f"| {pair.name} | {', '.join(dict.fromkeys(kinds)) or 'none'} | {'yes' if is_right else '**no**'} | {', '.join(tools.get('perf', []))} | "
              f"{'yes' if is_named else '**no**'} | {seconds} |")
    print(f"\nThe reason is right in {right} of {n}; perf diff names a true function first or second in {perf}. Callgrind counts the truth of this page; "
          "hyperfine names no function.")


def page(work):
    with open(os.path.join(work, "pairs.jsonl")) as f:
        rows = {r["name"]: r for r in map(json.loads, f)}
    right, named, slower, innocent, called = 0, 0, 0, 0, 0
    print("| pair | why | decision | ratio | first two functions | by callgrind or the project | seconds |\n| --- | --- | --- | ---: | --- | --- | ---: |")
    for pair in all_pairs():
        r = rows.get(pair.name)
        if not r:
            continue
        if not r["answer"]:
            print(f"| {pair.name} | {pair.why} | failed: {r['error'].strip()[:200]} | | | | {r['seconds']:.0f} |")
            slower += bool(pair.functions)
            innocent += pair.functions == []
            continue
        answer, found = r["answer"], named_functions(r["answer"])[:2]
        is_right = (r["status"] == 3) == bool(pair.functions)
        is_named = any(same_function(name, pair.functions or []) for name in found)
        if pair.functions is None:
            pass
        elif pair.functions:
            slower, right, named = slower + 1, right + is_right, named + is_named
        else:
            innocent, called = innocent + 1, called + (r["status"] == 3)
        times = answer.get("ratio") or answer.get("processor", {}).get("ratio")
        print(f"| {pair.name} | {pair.why} | {answer.get('decision', r['status'])} | {times:.3g} | {', '.join(found) or 'none'} | "
              f"{', '.join((pair.functions or [])[:2]) or 'nothing is slower'} | {r['seconds']:.0f} |")
    print(f"\n{right} of {slower} slowdowns are decided right, in {named} the function is named first or second; {called} of {innocent} others are called slower.")
    tools_page(all_pairs(), rows)


def truth(name, repositories, work):
    """Differences of instructions by function; inlined code counts with its caller."""
    pair = next(p for p in all_pairs() if p.name == name)
    build, command = filled(pair, make_inputs(work))
    counts = []
    for reference in (pair.old, pair.new):
        tree = os.path.join(work, "truth", re.sub(r"\W+", "-", f"{name}-{reference}"))
        shutil.rmtree(tree, ignore_errors=True)
        os.makedirs(tree)
        archive = subprocess.Popen(["git", "-C", os.path.join(repositories, pair.repository), "archive", reference], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", tree], stdin=archive.stdout, check=True)
        subprocess.run(["sh", "-c", build], cwd=tree, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out = os.path.join(tree, "callgrind.out")
        subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, *command], cwd=tree, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        text = subprocess.run(["callgrind_annotate", "--threshold=100", out], capture_output=True, text=True, check=True).stdout
        counts.append(collections.Counter())
        for line in text.splitlines():
            found = re.match(r"\s*([\d,]+)\s*\(\s*[\d.]+%\)\s+\S+?:(\S.*?)(\s\[.*)?$", line)
            if found:
                counts[-1][re.sub(r"'\d+$", "", found.group(2))] += int(found.group(1).replace(",", ""))
    whole = [sum(c.values()) for c in counts]
    print(f"{name}: {whole[0] / 1e6:.1f} million instructions, then {whole[1] / 1e6:.1f}")
    more = {key: counts[1][key] - counts[0][key] for key in counts[0] | counts[1]}
    for key in sorted(more, key=lambda key: -more[key])[:8]:
        print(f"  {more[key] / 1e6:+9.1f} million  {key}")


if __name__ == "__main__":
    {"truth": truth, "run": run, "page": page}[sys.argv[1]](*sys.argv[2:])
