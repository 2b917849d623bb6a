"""A night over four applications from git, each with one slow commit: does it name the function and its line?

    why_night.py run ASSAY REPOSITORIES WORK     makes the laboratory WORK/lab, and goes on with its night; status 75: there is more to do
    why_night.py page ASSAY WORK                 the table of the page, from the night's JSON and its pages

REPOSITORIES has clones named as in why_pairs.py, whose tables say what is slow and in which function. Nothing of their code is kept here. Each
application is a repository of its own with two commits: the trees of the pair. With WHY_SLICE, seconds, a call interrupts its night after so long.
"""
import json
import os
import re
import shlex
import signal
import subprocess
import sys

from why_pairs import MORE_TO_DO, PAIRS, make_inputs, same_function

# Of why_pairs.py, with less to do, since counting takes about a hundred times as long.
COMMANDS = {
    "lz4 -2": ["{build}/programs/lz4", "-2", "-f", "{files}/small", "/dev/null"],
    "awk index": ["{build}/a.out", 'BEGIN{{s=sprintf("%1000s","x"); for(i=0;i<3000;i++){{n+=length(s); n+=index(s,"x"); t=substr(s,500,10)} print n}'],
    "zlib crc": ["{build}/driver", "20"],
    "cJSON array": ["{build}/driver", "30", "1000"],
}
SLOW = [pair for pair in PAIRS if pair.name in COMMANDS]


def git(repository, *words):
    identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "night"), ("EMAIL", "night@localhost"))}
    return subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True, text=True, env=dict(os.environ, **identity)).stdout.strip()


def application(pair):
    return pair.name.split()[0].lower()


def make_repository(source, work, pair):
    """A branch `main` with the trees of both: the slow one is the latest commit."""
    path = os.path.join(work, "repositories", application(pair))
    subprocess.run(["git", "clone", "--quiet", "--bare", source, path], check=True)
    commit = git(path, "commit-tree", "-m", "as it was", pair.old + "^{tree}")
    commit = git(path, "commit-tree", "-m", "a slow commit", "-p", commit, pair.new + "^{tree}")
    git(path, "update-ref", "refs/heads/night", commit)
    return path


def make_laboratory(assay, repositories, work):
    lab, inputs = os.path.join(work, "lab"), make_inputs(work)
    subprocess.run([assay, "init", lab], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(lab, "lab.yaml"), "a") as f:
        f.write("hosts: [{ name: here, transport: local, type: here }]\n")
    for pair in SLOW:
        repository = make_repository(os.path.join(repositories, pair.repository), work, pair)
        build = shlex.split(pair.build.replace("{inputs}", inputs))
        version = {"git": {"repository": repository, "reference": "night", "build": build}}
        manifest = {"command": COMMANDS[pair.name], "files": [os.path.join(inputs, "small")], "versions": {"main": version}, "repetitions": 4}
        with open(os.path.join(lab, "apps", application(pair) + ".yaml"), "w") as f:
            json.dump(manifest, f)  # which is YAML
    with open(os.path.join(lab, "suite.yaml"), "w") as f:
        json.dump({"comparisons": [{"application": application(pair), "against": ["previous"], "budget": "1m"} for pair in SLOW],
                   "fingerprints": {"battery": "none"}}, f)


def run(assay, repositories, work):
    if not os.path.exists(os.path.join(work, "lab", "suite.yaml")):
        make_laboratory(assay, repositories, work)
    if os.path.exists(os.path.join(work, "night.json")):
        return
    night = subprocess.Popen([assay, "-C", os.path.join(work, "lab"), "nightly", "run", "--quiet", "--format", "json"], stdout=subprocess.PIPE, text=True)
    try:
        out = night.communicate(timeout=float(os.environ["WHY_SLICE"]) if "WHY_SLICE" in os.environ else None)[0]
    except subprocess.TimeoutExpired:
        night.send_signal(signal.SIGTERM)
        out = night.communicate()[0]
        sys.exit(MORE_TO_DO)
    if night.returncode in (1, 2):
        sys.exit(f"the night failed with status {night.returncode}")
    with open(os.path.join(work, "night.json"), "w") as f:
        f.write(out)


def line_has(work, pair, function):
    """Does the line that is named define the function, in the slow commit?"""
    repository = os.path.join(work, "repositories", application(pair))
    paths = [path for path in git(repository, "ls-tree", "-r", "--name-only", "night").splitlines()
             if os.path.basename(path) == os.path.basename(function["file"] or "")]
    name = re.sub(r"\..*", "", function["name"])
    texts = [git(repository, "show", "night:" + path).splitlines() for path in paths]
    return any(function["line"] <= len(text) and name in text[function["line"] - 1] for text in texts)


def page_of(assay, work):
    """All pages of the night as text without tags."""
    pages = os.path.join(work, "pages")
    subprocess.run([assay, "-C", os.path.join(work, "lab"), "nightly", "pages", "-o", pages], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(pages, "index.html")) as f:
        return re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(script|style).*?</\1>", " ", f.read()))


def page(assay, work):
    with open(os.path.join(work, "night.json")) as f:
        night = json.load(f)
    text, right = page_of(assay, work), 0
    print("| application | slow commit | decision | ratio | function first | file and line | it is defined there | slower by the truth | kind | on the page |\n"
          "| --- | --- | --- | ---: | --- | --- | --- | --- | --- | --- |")
    for pair in SLOW:
        d = next(d for d in night["decisions"] if d["application"] == application(pair))
        f = d["functions"][0] if d["functions"] else None
        if not f:
            notes = "; ".join(n["text"] for n in night["notes"] if application(pair) in n["text"])
            print(f"| {application(pair)} | {pair.why} | {d['decision']} | {d['ratio'] or 0:.3g} | none | {notes} | | {', '.join(pair.functions[:2])} | | |")
            continue
        there = bool(f["line"]) and line_has(work, pair, f)
        named = same_function(f["name"], pair.functions)
        shown = f"{f['name']} ({os.path.basename(f['file'] or '')}:{f['line']}" in text
        right += there and named and shown
        print(f"| {application(pair)} | {pair.why} | {d['decision']} | {d['ratio']:.3g} | {f['name']} | {f['file']}:{f['line']} | {'yes' if there else '**no**'} | "
              f"{'yes' if named else '**no**: ' + ', '.join(pair.functions[:2])} | {f['kind']} | {'yes' if shown else '**no**'} |")
    print(f"\nIn {right} of {len(SLOW)} the night's JSON and its page name a function that is slower by the truth first, with the line that defines it.")


if __name__ == "__main__":
    {"run": run, "page": page}[sys.argv[1]](*sys.argv[2:])
