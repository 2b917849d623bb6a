#!/usr/bin/env python3
"""Which functions of a C project differ in their text, told without debug information: their bodies as the preprocessor leaves them, without
blanks. An independent opinion for tests/evidence/changes.sh.
Usage: changes_bodies.py OLD-DIRECTORY NEW-DIRECTORY [OPTION OF THE COMPILER...]; one name a line, functions of both only."""
import glob
import os
import re
import subprocess
import sys


def after_literal(text, i):
    quote = text[i]
    i += 1
    while text[i] != quote:
        i += 2 if text[i] == "\\" else 1
    return i + 1


def name_of(head):
    """Of what stands before a body: prototypes, then the head; in the old style also declarations of its parameters."""
    parts = [part for part in head.split(";") if "(" in part]
    found = re.search(r"(\w+)\s*\(", parts[-1]) if parts else None
    return found.group(1) if found else None


def bodies_in(text):
    depth = end = start = i = 0
    while i < len(text):
        if text[i] in "\"'":
            i = after_literal(text, i)
            continue
        if text[i] == "{":
            if depth == 0:
                start = i
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0:
                name = name_of(text[end:start])
                if name:
                    yield name, re.sub(r"\s+", "", text[start:i + 1])
                end = i + 1
        i += 1


def bodies_of(directory, options):
    found = {}
    for path in sorted(glob.glob(os.path.join(directory, "*.c"))):
        text = subprocess.run(["gcc", "-E", "-P", *options, path], capture_output=True, text=True, check=True).stdout
        for name, body in bodies_in(text):
            found[os.path.basename(path), name] = body
    return found


old, new = (bodies_of(directory, sys.argv[3:]) for directory in sys.argv[1:3])
for key in sorted(key for key in old if key in new and old[key] != new[key]):
    print(key[1])
