"""Works with the JSON Schemas of docs/schema:
  schemas.py answers FILE...   holds JSON answers against the schema of their command. FILE has {"words": [...], "answer": {...}}, as often as wanted;
                               of a folder all files are read
  schemas.py files             holds the keys of YAML files against the tables of their parsers, the YAML files of the project against the schemas, and
                               looks whether some schema has each member and each code that the sources name
  schemas.py pages [--write]   holds docs/reference against the pages that schemas and command rows give, or writes it; ASSAY names the program"""
import glob, json, os, re, subprocess, sys

source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
folder = os.path.join(source, 'docs/schema')
schemas = {}
for path in sorted(glob.glob(folder + '/*.json')):
    with open(path) as file:
        schemas[os.path.basename(path)] = json.load(file)
commands = {s['title'][len('assay '):]: s for s in schemas.values() if s['title'].startswith('assay ')}

# ---- answers ----


def validator(schema):
    import jsonschema
    resolver = jsonschema.RefResolver(schema['$id'], schema, store=schemas)
    return jsonschema.Draft202012Validator(schema, resolver=resolver)


def explain(error):
    """Says what is wrong in the form of the answer that fits best, and where."""
    while error.context:
        forms = {}
        for below in error.context:
            forms.setdefault(below.schema_path[0], []).append(below)
        error = min(forms.values(), key=len)[0]
    return f'{error.json_path}: {error.message[-400:]}'


def command_of(words):
    """Returns the longest command that the words start with, None if it has no schema."""
    at = 1
    while at < len(words) and words[at].startswith('-'):
        at += 2 if words[at] in ('-C', '--directory') else 1
    names = [' '.join(words[at:at + n]) for n in (3, 2, 1)]
    return next((name for name in names if name in commands), None)


def documents(path):
    """Yields the JSON documents of a file, one after the other."""
    text, decoder = open(path).read().strip(), json.JSONDecoder()
    while text:
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:].lstrip()


def check_answers(paths):
    validators = {name: validator(s) for name, s in commands.items()}
    seen, bad, n = set(), 0, 0
    for path in sorted(p for path in paths for p in (glob.glob(path + '/*') if os.path.isdir(path) else [path])):
        for kept in documents(path):
            name = command_of(kept['words'])
            error = name and next(validators[name].iter_errors(kept['answer']), None)
            n += 1
            seen.add(name)
            if error or not name:
                bad += 1
                print(f'{os.path.basename(path)}: {" ".join(kept["words"][1:])}: {explain(error) if error else "no schema"}')
    print(f'{n} JSON documents of {len(seen)} commands; {bad} not as docs/schema says')
    print('no document of:', ', '.join(sorted(set(commands) - seen)) or 'none')
    return bad


# ---- YAML files ----

parsers = {  # tables of keys that these schemas describe, and files of the project
    'lab.json': (['fleet/lab/lab.c', 'fleet/inventory/inventory.c'], ['fleet/lab/init/lab.yaml']),
    'manifest.json': (['runs/running/manifest_parse.c', 'runs/running/metric.c'], ['fleet/lab/init/example.yaml', 'machines/demo-lab/apps/*.yaml']),
    'suite.json': (['gate/nightly/suite.c'], []),
    'battery.json': (['fingerprint/battery/battery.c'], ['fingerprint/battery/*.yaml', 'machines/demo-lab/battery.yaml']),
    'baselines.json': (['gate/nightly/baselines.c'], []),
}


def keys_of(schema):
    """Yields the set of keys of each object that a schema describes."""
    if isinstance(schema, dict):
        if isinstance(schema.get('properties'), dict):
            yield frozenset(schema['properties'])
        schema = schema.values()
    for below in schema if not isinstance(schema, str) else []:
        if isinstance(below, (dict, list)) or hasattr(below, 'values'):
            yield from keys_of(below)


def members(schema):
    """Returns how many members a schema describes."""
    below = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []
    own = schema.get('properties') if isinstance(schema, dict) else None
    return sum(members(x) for x in below) + (len(own) if isinstance(own, dict) else 0)


def unknown():
    """Yields members and codes that sources name and no schema has."""
    names, codes = set(), set()

    def walk(s):
        if isinstance(s, dict):
            names.update(s.get('properties') or {})
            codes.update(v for v in s.get('enum') or [] if isinstance(v, str))
        for below in s.values() if isinstance(s, dict) else s if isinstance(s, list) else []:
            walk(below)
    walk(schemas)
    for path in sorted(glob.glob(source + '/*/**/*.c', recursive=True)):
        folder = os.path.relpath(path, source).split('/')[0]
        if folder not in ('base', 'fleet', 'fingerprint', 'runs', 'gate'):
            continue
        text = open(path).read()
        for name in re.findall(r'\bdoc_(?:set|show|showf|table|list|object|texts|set_json|set_bool|set_empty)\([\w&>.-]+,\s*"([a-z_0-9]+)"', text):
            if name not in names:
                yield path, f'member {name}'
        for code in re.findall(r'(?:reason_add|add_reason|reasons_add|doc_reason|nightly_note|add_remark)\([^"();]*"([a-z_0-9]+)"', text):
            if code not in codes:
                yield path, f'code {code}'


def undescribed():
    """Yields the members that neither have a description nor refer to a definition with one."""
    def walk(name, schema, path):
        if not isinstance(schema, dict):
            return
        for key, m in (schema.get('properties') or {}).items():
            if not (m.get('description') or Page(schemas[name]).described(m)):
                yield name, f'{path}.{key}'
        for key, below in schema.items():
            for k, x in below.items() if key in ('properties', '$defs') else [(key, below)] + [(key, b) for b in below] if isinstance(below, list) else [(key, below)]:
                yield from walk(name, x, f'{path}.{k}')
    for name, schema in schemas.items():
        yield from walk(name, schema, '')


def check_files():
    import yaml

    class Loader(yaml.SafeLoader):
        """Leaves days as text."""
    Loader.yaml_implicit_resolvers = {first: [r for r in resolvers if r[0] != 'tag:yaml.org,2002:timestamp']
                                      for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
    bad = n = 0
    for name, (sources, files) in parsers.items():
        tables = set()
        for file in sources:
            text = open(os.path.join(source, file)).read()
            for table in re.findall(r'\bkeys\[\] = \{(.*?)\}', text, re.S):
                tables.add(frozenset(re.findall(r'"(.*?)"', table)))
        described = set(keys_of(schemas[name]))
        for keys in tables ^ described:
            print(f'{name}: {"no object has the keys" if keys in tables else "no parser has the keys"} {", ".join(sorted(keys))}')
            bad += 1
        for pattern in files:
            paths = glob.glob(os.path.join(source, pattern))
            bad += not paths
            for path in paths:
                content = yaml.load(open(path), Loader)
                n += 1
                error = next(validator(schemas[name]).iter_errors(content or {}), None)
                if error:
                    print(f'{path}: {explain(error)}')
                    bad += 1
    for path, what in unknown():
        print(f'{os.path.relpath(path, source)}: no schema has the {what}')
        bad += 1
    for name, path in undescribed():
        print(f'{name}: {path} has no description')
        bad += 1
    print(f'{len(schemas)} schemas with {sum(members(s) for s in schemas.values())} members; {n} YAML files; {bad} differences')
    return bad


# ---- pages ----

note = '<!-- tests/schemas.py pages --write makes this page from docs/schema and from the rows of the commands. -->\n\n'


introduction = '''# Reference

Options and JSON members of every command, and keys of every YAML file. The [schemas](../schema) are for programs and editors. An editor with a YAML
language server checks a file that starts with `# yaml-language-server: $schema=/usr/share/doc/assay/schema/manifest.json`.

`--format json` prints one object on standard output; notes, progress and errors go to standard error. A command that fails (status 1 or 2) prints no object.
`?` after a member: it may be absent. A value that is not known is null, never 0. Members that are described here stay, with their meaning, for all versions
with the same first number; new ones may come with any version. `--format html` has the same content as a page.

| exit status | commands that decide | other commands |
| --- | --- | --- |
| 0 | pass or improved | done |
| 1 | failure of the tool or of what it needs | the same; of commands on many hosts: all failed |
| 2 | wrong usage, configuration or input | the same |
| 3 | regression | |
| 4 | inconclusive | |
| 5 | environment | |
| 6 | nothing measured | nothing to work on |
| 7 | hosts were lost (nights) | some hosts failed |
'''


class Page:
    def __init__(self, schema, yaml=False):
        self.schema, self.yaml, self.lines, self.lists = schema, yaml, [], []

    def link(self, ref):
        """Returns a link to a definition, which is on this page or on that of the shared ones."""
        file, name = ref.split('#/$defs/')
        page = '' if not file or file == self.schema['$id'] else file.replace('.json', '.md')
        return f'[{name}]({page}#{name})'

    def type_of(self, s):
        if '$ref' in s:
            return self.link(s['$ref'])
        if 'const' in s:
            return f'`{json.dumps(s["const"])}`' if not isinstance(s['const'], str) else f'`{s["const"]}`'
        if 'anyOf' in s:
            return ' or '.join(self.type_of(x) for x in s['anyOf'])
        types = s.get('type', 'any value')
        types = types if isinstance(types, list) else [types]
        if 'enum' in s:
            values = [str(v).lower() if isinstance(v, bool) else v for v in s['enum'] if v is not None]
            words = [f'`{v}`' for v in values] if 'enumDescriptions' not in s else ['code']
            return ', '.join(words) + (' or null' if None in s['enum'] else '')
        words = []
        for t in types:
            if t == 'array':
                t = 'list of ' + self.type_of(s.get('items', {}))
            elif t == 'object' and isinstance(s.get('additionalProperties'), dict):
                t = 'map of ' + self.type_of(s['additionalProperties'])
            words.append({'string': 'text', 'boolean': 'true or false', 'object': 'object'}.get(t, t))
        return ' or '.join(words)

    def described(self, s):
        """Returns the description of the definition that a schema refers to."""
        ref = s.get('$ref') or s.get('items', {}).get('$ref') or next((x['$ref'] for x in s.get('anyOf', []) if '$ref' in x), None)
        if not ref:
            return ''
        file, name = ref.split('#/$defs/')
        return (schemas[file] if file else self.schema)['$defs'][name].get('description', '')

    def rows(self, s, prefix):
        """Adds the rows of an object's members, and of the objects in them."""
        required = s.get('required', [])
        for key, m in s.get('properties', {}).items():
            path = f'{prefix}{key}'
            inner, below = m, path
            while True:
                if inner.get('items'):
                    inner, below = inner['items'], below + '[]'
                elif isinstance(inner.get('additionalProperties'), dict):
                    inner, below = inner['additionalProperties'], below + '.NAME'
                else:
                    break
            unit = m.get('unit') or inner.get('unit') or ''
            text = m.get('description') or self.described(m)
            cells = [f'`{path}`' + ('' if key in required else ' ?'), self.type_of(m), unit]
            if self.yaml:
                default = m.get('default', '')
                cells.append(f'`{default if isinstance(default, str) else json.dumps(default)}`' if default != '' else '')
            self.lines.append('| ' + ' | '.join(c.replace('|', '\\|') for c in cells + [text]) + ' |')
            if 'enumDescriptions' in inner:
                self.lists.append((path, inner))
            if 'properties' in inner:
                self.rows(inner, below + '.')

    def codes(self, s):
        self.lines += ['| code | meaning |', '| --- | --- |']
        self.lines += [f'| `{v}` | {t} |' for v, t in zip(s['enum'], s['enumDescriptions']) if v is not None]
        self.lines.append('')

    def object(self, s):
        if '$ref' in s:
            self.lines += [f'All members of {self.link(s["$ref"])}' + (', and:' if s.get('properties') else '.'), '']
        if s.get('properties'):
            head = ['key' if self.yaml else 'member', 'type', 'unit'] + ['default'] * self.yaml + ['meaning']
            self.lines += ['| ' + ' | '.join(head) + ' |', '|' + ' --- |' * len(head)]
            self.rows(s, '')
            self.lines.append('')
        lists, self.lists = self.lists, []
        for path, s in lists:
            self.lines += [f'`{path}`:', '']
            self.codes(s)

    def definition(self, name, s):
        self.lines += [f'### {name}', '']
        if s.get('description'):
            self.lines += [s['description'][0].upper() + s['description'][1:] + '.', '']
        while s.get('items') and ('properties' in s['items'] or '$ref' in s['items']):
            s = s['items']
        if 'enumDescriptions' in s:
            self.codes(s)
        elif 'properties' in s or '$ref' in s:
            self.object(s)
        else:
            self.lines += [f'Type: {self.type_of(s)}.', '']

    def whole(self):
        s, forms = self.schema, []
        for form in s.get('anyOf', []):
            name = form['$ref'].split('/')[-1]
            forms.append(name)
            d = s['$defs'][name]
            self.lines += [f'### {name}', '', d['description'], '']
            self.object(d)
        if not forms and ('properties' in s or '$ref' in s):
            self.object(s)
        for name, d in s.get('$defs', {}).items():
            if name not in forms:
                self.definition(name, d)
        return '\n'.join(self.lines).rstrip('\n') + '\n'


def shown(*words):
    return subprocess.run([os.environ['ASSAY'], *words], capture_output=True, text=True, check=True).stdout


def make_pages():
    pages = {}
    index = [introduction]
    for line in shown('--help').splitlines():
        row = re.match(r'  ([a-z][a-z-]*(?: [a-z][a-z-]*)*)  +(\S.*)$', line)
        if line.endswith(':') and not line.startswith(' '):
            heading = ['', f'## {line.rstrip(":")}', '', '| command | task |', '| --- | --- |']
        elif row:
            name, file = row[1], row[1].replace(' ', '-')
            index += heading
            heading = []
            index.append(f'| [{name}]({file}.md) | {row[2]} |')
            text = f'{note}# assay {name}\n\n```\n{shown(*name.split(), "--help").rstrip()}\n```\n'
            if name in commands:
                text += f'\n## JSON\n\nSchema: [{file}.json](../schema/{file}.json). {commands[name]["description"].partition("prints.")[2].strip()}'.rstrip() + '\n\n' + Page(commands[name]).whole()
            pages[file + '.md'] = text
    index += ['', '## Files', '', '| file | content |', '| --- | --- |']
    for name, s in schemas.items():
        if not s['title'].startswith('assay '):
            is_file, file = s['title'].endswith('.yaml'), name.replace('.json', '.md')
            index.append(f'| [{s["title"]}]({file}) | {s["description"].split(". ")[0].rstrip(".")}. |')
            pages[file] = f'{note}# {s["title"]}\n\n{s["description"]} Schema: [{name}](../schema/{name}).\n\n' + Page(s, is_file).whole()
    pages['README.md'] = note + '\n'.join(index) + '\n'
    return pages


def check_pages(write):
    target, pages, bad = os.path.join(source, 'docs/reference'), make_pages(), 0
    os.makedirs(target, exist_ok=True)
    for name in sorted(set(os.listdir(target)) | set(pages)):
        path = os.path.join(target, name)
        old = open(path).read() if os.path.exists(path) else None
        if old == pages.get(name):
            continue
        bad += 1
        if not write:
            print(f'docs/reference/{name} is not as docs/schema and the commands say')
        elif name in pages:
            open(path, 'w').write(pages[name])
        else:
            os.remove(path)
    missing = sorted(name for name in commands if name.replace(' ', '-') + '.md' not in pages)
    if missing:
        print('docs/schema has what is no command:', ', '.join(missing))
    if bad and not write:
        print("'ASSAY=build/release/assay python3 tests/schemas.py pages --write' writes it")
    return len(missing) + (0 if write else bad)


def main(task=None, *words):
    if task == 'answers':
        return check_answers(words)
    if task == 'files':
        return check_files()
    if task == 'pages':
        return check_pages('--write' in words)
    sys.exit(__doc__)


sys.exit(main(*sys.argv[1:]) > 0)
