#!/bin/sh
# Compares tests/packages with what the build and the fast suite use: headers, libraries, pkg-config modules, programs of scripts, Python
# modules. Reports what no listed package brings, and listed packages that nothing uses. It knows what packages contain from dpkg, so a
# program that is not installed here is not seen: the test that calls it fails instead.
set -eu
cd "${ASSAY_SOURCE:?}"
command -v dpkg-query >/dev/null && [ -f /etc/debian_version ] || { echo 'skipped: this is not Debian' && exit 77; }
exec /usr/bin/python3 - "$(dirname "${ASSAY:?}")" <<'END'
import collections, glob, os, re, shutil, subprocess, sys

build = sys.argv[1]
problems = []


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def text_of(path):
    with open(path, errors="replace") as file:
        return file.read()


# ---- The list: packages by section, each with the word that shows its use, if it has one. ----

sections = collections.defaultdict(dict)
section = None
for line in text_of("tests/packages").splitlines():
    fields = line.split("#")[0].split(None, 1)
    if line.startswith("["):
        section = line.strip("[]")
    elif fields:
        sections[section][fields[0]] = fields[1].strip() if len(fields) > 1 else None

# ---- What is installed: dependencies, and the packages that every Debian has. ----


def names_in(relation):
    return [re.sub(r"[:\s(].*", "", word.strip()) for word in re.split(r"[,|]", relation) if word.strip()]


needs, providers, base = {}, collections.defaultdict(set), {"apt"}
form = "${Package}\t${Essential}\t${Priority}\t${Provides}\t${Depends}, ${Pre-Depends}\n"
for line in output("dpkg-query", "-W", "-f", form).splitlines():
    name, essential, priority, provides, depends = line.split("\t")
    needs[name] = names_in(depends)
    for word in names_in(provides):
        providers[word].add(name)
    if essential == "yes" or priority == "required":
        base.add(name)


def with_dependencies(names):
    found, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += needs.get(name, []) + list(providers.get(name, []))
    return found


base = with_dependencies(base)
in_build = base | with_dependencies(sections["build"])
in_demo = in_build | with_dependencies(sections["demo"])
in_test = in_build | with_dependencies(sections["test"])
anywhere = base.union(*(with_dependencies(names) for names in sections.values()))

uses = []  # (path, its name in a message, packages that may bring it or None if it need not be there, the name of these in a message)

# ---- Headers, libraries and modules of pkg-config: from the build, as ninja knows it. ----

headers = set()
of_tests = False
for line in output("ninja", "-C", build, "-t", "deps").splitlines():
    if line and not line.startswith(" "):
        of_tests = line.startswith("tests/")
    elif line.startswith("    /usr/"):
        headers.add((line.strip(), of_tests))
if len(headers) < 100:
    problems.append(f"ninja knows only {len(headers)} headers of {build}")
for path, of_tests in headers:
    uses.append((path, f"header {path}", in_test if of_tests else in_build, "[build] or [test]" if of_tests else "[build]"))
for path in set(re.findall(r"/usr/[^ :]*\.(?:so|a)\b", text_of(build + "/build.ninja"))):
    uses.append((path, f"library {path}", in_test, "[build] or [test]"))
for modules in re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET ([^)]*)\)", text_of("CMakeLists.txt")):
    for module in modules.split():
        uses.append((output("pkg-config", "--path", module).strip(), f"module {module}", in_build, "[build]"))

# ---- Programs that scripts call: words that stand where a command begins, and are programs here. ----

no_calls = {"file", "look", "time"}  # words of messages and of other languages
begins = re.compile(r"(?:^|[|;&({`!]|\$\(|\b(?:do|then|else|if|while|until|exec|env|nice|timeout [0-9.]+|xargs|sudo|setsid|nohup|reads))\s*"
                    r"(?:[A-Za-z_]\w*=\S*\s+)*((?:/usr)?/s?bin/)?([A-Za-z][\w.+-]*)(?=[\s);|&`]|$)", re.M)


def add_programs(scripts, allowed, where):
    for script in scripts:
        text = re.sub(r"(?m)^\s*#.*", "", text_of(script))
        optional = set(re.findall(r"command -v ([\w.+-]+)", text))  # the script says what happens without it
        for word in {match[1] for match in begins.findall(text)} | optional:
            path = shutil.which(word, path="/usr/sbin:/usr/bin:/sbin:/bin")
            if path and word not in no_calls:
                uses.append((path, f"program {word} of {script}", None if word in optional else allowed, where))


scripts = [path for path in glob.glob("tests/*") + glob.glob("tests/*/cli_*.sh")
           if os.path.isfile(path) and (path.endswith(".sh") or text_of(path).startswith("#!/bin/sh"))]
add_programs(scripts, in_test, "[build] or [test]")
add_programs(["machines/demo", "tests/install", "tests/lib_build.sh"], in_demo, "[build] or [demo]")

# ---- Python modules of scripts. ----

modules = re.compile(r"(?m)^[ \t]*(?:import (\w[\w., ]*)|from (\w+)[\w.]* import )")
scripts = glob.glob("tests/**/*.py", recursive=True) + glob.glob("tests/**/*.sh", recursive=True)
modules_of_debian = "/usr/lib/python3/dist-packages"
own = {os.path.basename(path)[:-3] for path in scripts} | set(sys.stdlib_module_names)
for script in scripts:
    of_suite = script.endswith(".sh") and "/evidence/" not in script
    text = text_of(script)
    if script.endswith(".sh"):  # only programs in it: python3 -c '...', and here-documents
        text = "\n".join(a + c for a, b, c in re.findall(r"(?s)python3 (?:-c '(.*?)'|-[^\n]*<<-?['\"]?(\w+)[^\n]*\n(.*?)\n\s*\2\n)", text))
    for names, name in modules.findall(text):
        for module in ({word.split()[0].split(".")[0] for word in names.split(",") if word.split()} | {name}) - {""} - own:
            place = next((path for path in (f"{modules_of_debian}/{module}/__init__.py", f"{modules_of_debian}/{module}.py") if os.path.exists(path)), None)
            if place:
                uses.append((place, f"Python module {module} of {script}", in_test if of_suite else anywhere, "[test]" if of_suite else "any section"))
            elif of_suite:
                problems.append(f"tests/packages: Python module {module} of {script}: not installed here")

# ---- Which package brings each of them. /usr/bin/x may be known as /bin/x, and may lead to a file of another package. ----


def names_of(path):
    return [path, path.replace("/usr/", "/", 1), os.path.realpath(path)]


package_of = {}
for line in output("dpkg", "-S", *sorted({name for use in uses for name in names_of(use[0]) if name})).splitlines():
    packages, _, path = line.partition(": ")
    package_of[path] = re.split("[:,]", packages)[0]
used = set()
for path, what, allowed, where in uses:
    package = next((package_of[name] for name in names_of(path) if name in package_of), None)
    used.add(package)
    if package and allowed is not None and package not in allowed:
        problems.append(f"tests/packages: {what}: {package} is not in {where}")

# ---- Packages that nothing uses. ----

texts = "".join(text_of(path) for path in output("git", "ls-files", "*.sh", "*.py", "*.c", "*.h", "*.cc", "*.cmake", "*CMakeLists.txt", "machines").split()
                if path != "tests/check_packages.sh" and os.path.isfile(path))
for section, packages in sections.items():
    for package, word in packages.items():
        if word is None and package in needs and package not in used:
            problems.append(f"tests/packages: {package} in [{section}]: nothing uses it; the word after it may show where it is used")
        elif word is not None and word not in texts:
            problems.append(f"tests/packages: {package} in [{section}]: '{word}' is in no source")

print("\n".join(sorted(set(problems))) or f"{len(uses)} uses, {sum(map(len, sections.values()))} packages")
sys.exit(1 if problems else 0)
END
