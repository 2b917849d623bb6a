"""Plain words: counts in each file what is hard to read, and compares that with tests/words, which has a line "COUNT KIND FILE" for each
file that is not clean yet. A count may only fall; a file without a line is clean, and stays so.

    python3 tests/check_words.py            compares; exit status 1 and file:line of what was added
    python3 tests/check_words.py --write    writes tests/words anew; refuses to raise a number
    python3 tests/check_words.py --show FILE...   each place in these files

Kinds: comment (starts with a word that hides its subject), term (a word that the project has replaced), sentence (more than 35 words),
cell (more than 25 words), table (no header row). Pages that are too long (LIMITS) fail, too. Subjects of commits since SINCE are "area: verb object", at most 72 characters.
Comments and text of the product's C files; tasks and design pages of docs; README.md. Not: docs/evidence, docs/reference."""
import re
import subprocess
import sys

SINCE = "342c732c"
START = re.compile(r"^(of|by|at|with|that|what|who)\b(?!-)", re.I)
TERMS = [re.compile(r"\b(?:" + t + r")\b", re.I) for t in (
    r"(?<!co)(?<!per )processor time", r"begin|begins|began|begun|beginning", r"(?:is|are|was|were) (?:said|told)", r"left out", r"dearer",
    r"planted", r"stands? for", r"anew|afresh", r"told apart", r"control groups?", r"beside itself", r"hogs?", r"remarks?", r"who waits",
    r"nobody|somebody", r"fresh runs?")]
WORDS_OF_SENTENCE, WORDS_OF_CELL = 35, 25
# Words that a task page may have (docs/*.md; design pages have none), words of all pages, and lines of README.md.
WORDS_OF_PAGE, WORDS_OF_DOCS, LINES_OF_README = 1500, 28000, 120
LIMITS = {"docs/architecture.md": 3000, "docs/changes.md": WORDS_OF_DOCS, "docs/glossary.md": WORDS_OF_DOCS}


def comments_of(text):
    """(line, text) of each comment of a C file; and (line, text) of each string."""
    for m in re.finditer(r'/\*(.*?)\*/|//([^\n]*)|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)*\'', text, re.S):
        line = text.count("\n", 0, m.start()) + 1
        if m[1] is not None:
            yield "comment", line, re.sub(r"\n\s*\*", "\n", m[1]).strip()
        elif m[2] is not None:
            yield "comment", line, m[2].strip()
        elif m[3] is not None:
            yield "string", line, m[3]


def terms_in(text, line):
    for term in TERMS:
        for m in term.finditer(text):
            yield "term", line + text.count("\n", 0, m.start()), m[0]


def of_source(text):
    for what, line, said in comments_of(text):
        if what == "comment" and START.match(said):
            yield "comment", line, said.split("\n")[0][:60]
        if what == "comment" or " " in said:
            yield from terms_in(said, line)


def plain(text):
    """Code spans and links count as one word."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", text))


def sentences_of(paragraph):
    return re.split(r"(?<=[.!?:;])\s+(?=[A-Z`*\[])", plain(paragraph))


def of_page(text):
    paragraph, start, table, code = [], 0, 0, False

    def ended():
        if paragraph:
            for sentence in sentences_of(" ".join(paragraph)):
                if len(sentence.split()) > WORDS_OF_SENTENCE:
                    yield "sentence", start, f"{len(sentence.split())} words: {sentence[:60]}"
            paragraph.clear()
    lines = text.split("\n")
    for at, line in enumerate(lines, 1):
        bare = line.strip()
        if bare.startswith("```"):
            code = not code
            yield from ended()
            continue
        if code or line.startswith("    "):
            yield from ended()
            continue
        yield from terms_in(re.sub(r"`[^`]*`", "", line), at)
        if bare.startswith("|"):
            yield from ended()
            table += 1
            if table == 2 and not re.fullmatch(r"[|:\s-]+", bare):
                yield "table", at, "no header row"
            for cell in re.split(r"(?<!\\)\|", bare)[1:-1]:
                if len(plain(cell).split()) > WORDS_OF_CELL:
                    yield "cell", at, f"{len(plain(cell).split())} words: {cell.strip()[:60]}"
            continue
        table = 0
        if not bare or bare.startswith("#") or re.match(r"[-*] |\d+\. ", bare):
            yield from ended()
        if bare and not bare.startswith("#"):
            start = start if paragraph else at
            paragraph.append(re.sub(r"^([-*]|\d+\.) ", "", bare))
    yield from ended()


def found_in(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return list(of_page(text) if path.endswith(".md") else of_source(text))


def too_long(files):
    """A line for each page that is too long."""
    words = {}
    for path in files:
        if path.endswith(".md"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            words[path] = 0 if path == "README.md" else len(text.split())
            limit = LIMITS.get(path, WORDS_OF_PAGE)
            if path == "README.md" and text.count("\n") > LINES_OF_README:
                yield f"README.md: {text.count(chr(10))} lines; at most {LINES_OF_README}"
            if path.count("/") == 1 and words[path] > limit:
                yield f"{path}: {words[path]} words; at most {limit}: move algorithms and reasons to docs/design"
    if sum(words.values()) > WORDS_OF_DOCS:
        yield f"docs: {sum(words.values())} words without evidence and reference; at most {WORDS_OF_DOCS}"


def subjects():
    """Subjects that break the rule; none where the history is not there."""
    if subprocess.run(["git", "merge-base", "--is-ancestor", SINCE, "HEAD"], capture_output=True, check=False).returncode:
        return []
    log = subprocess.run(["git", "log", "--no-merges", "--format=%h %s", SINCE + "..HEAD"], capture_output=True, text=True, check=True).stdout
    return [s for s in log.splitlines() if not re.match(r"\S+ [a-z][\w/., +-]*: [a-z]", s) or len(s.split(" ", 1)[1]) > 72]


def main():
    tracked = subprocess.run(["git", "ls-files", "base", "fleet", "fingerprint", "runs", "model", "gate", "main.c", "README.md", "docs"],
                             capture_output=True, text=True, check=True).stdout.split()
    files = [f for f in tracked if f.endswith((".c", ".h")) or f.endswith(".md") and not f.startswith(("docs/evidence/", "docs/reference/"))]
    if sys.argv[1:2] == ["--show"]:
        for path in sys.argv[2:]:
            for kind, line, said in found_in(path):
                print(f"{path}:{line}: {kind}: {said}")
        return 0
    allowed, now, places = {}, {}, {}
    with open("tests/words", encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                count, kind, path = line.split()
                allowed[path, kind] = int(count)
    for path in files:
        for kind, line, said in found_in(path):
            now[path, kind] = now.get((path, kind), 0) + 1
            places.setdefault((path, kind), []).append(f"{path}:{line}: {kind}: {said}")
    more = [k for k in sorted(now) if now[k] > allowed.get(k, 0)]
    for key in more:
        print(f"{key[0]}: {now[key]} of kind '{key[1]}', {allowed.get(key, 0)} before; one of:")
        print("\n".join("  " + p for p in places[key]))
    long_pages = list(too_long(files))
    print("\n".join(long_pages), end="\n" if long_pages else "")
    bad = subjects()
    for subject in bad:
        print(f"commit {subject}: the subject is not 'area: verb object' of at most 72 characters")
    if "--write" in sys.argv and (not more or "--first" in sys.argv):
        with open("tests/words", "w", encoding="utf-8") as file:
            file.write("# Places that are hard to read, by file (tests/check_words.py): numbers only fall.\n")
            file.writelines(f"{n} {kind} {path}\n" for (path, kind), n in sorted(now.items()))
        return 0
    if not more and not bad and not long_pages:
        kinds = {}
        for (_, kind), n in now.items():
            kinds[kind] = kinds.get(kind, 0) + n
        print("left: " + ", ".join(f"{n} of kind {kind}" for kind, n in sorted(kinds.items())))
    return 1 if more or bad or long_pages else 0


sys.exit(main())
