"""What tests of the controller said on aarch64: aarch64_controller_table.py ALONE CONSOLE. ALONE has a line a test, by the emulation of
single programs: its name, and Passed or something else. CONSOLE is the guest's. Writes Markdown; exit status 1 when a step of the program was
not as it should be."""
import sys

alone = dict(line.split(maxsplit=1) for line in open(sys.argv[1]))
steps, guest, why, last = [], {}, {}, None
for line in open(sys.argv[2], errors="replace"):
    if line.startswith("@ step|"):
        steps.append(line.rstrip("\n").split("|", 5)[1:])
    elif line.startswith("@ test|"):
        _, last, status = line.strip().split("|")
        guest[last] = int(status)
    elif line.startswith("! ") and last:
        why.setdefault(last, line[2:].strip())

print("| step in the guest | as it should be | |\n| --- | --- | --- |")
for what, right, *said in steps:
    print("| `%s` | %s | %s |" % (what, right, "; ".join(said).replace("|", "/").strip()))
units = [name for name in alone if not name.startswith("fuzz_")]
fuzz = [name for name in alone if name.startswith("fuzz_")]
print("\n| programs of tests | single programs | guest |\n| --- | ---: | ---: |")
for title, names in (("suites of unit tests", units), ("corpora of fuzz targets", fuzz)):
    passed = sum(alone[name].strip() == "Passed" for name in names)
    print("| %s | %d of %d | %d of %d |" % (title, passed, len(names), sum(guest.get(name) == 0 for name in names), len(names)))
print("\nThose that do not pass in one of them:\n\n| suite | single programs | guest | |\n| --- | --- | --- | --- |")
for name in sorted(alone):
    there = {0: "passed", 77: "skipped", 124: "too long", 143: "too long", None: "not run"}.get(guest.get(name), "failed")
    if alone[name].strip() != "Passed" or there != "passed":
        print("| `%s` | %s | %s | %s |" % (name, alone[name].strip().lower(), there, why.get(name, "").replace("|", "/")))
sys.exit(any(right != "yes" for _, right, *_ in steps))
