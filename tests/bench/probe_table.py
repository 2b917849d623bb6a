"""Native against probed: python3 probe_table.py ASSAY LIBRARY NOTHING SOURCE WORK [PROGRAM...]. Prints the tables of docs/evidence/probe.md;
with names of programs, those only."""
import csv
import glob
import json
import math
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys

ASSAY, LIBRARY, NOTHING, SOURCE, WORK = sys.argv[1:6]
ONLY = sys.argv[6:]
ROUNDS_CALL, ROUNDS_APP, MOST_ROUNDS = 9, 14, 42
WITHIN = 1.5  # per cent, either way, to which the control of a program is to be known
PLACES = 14  # of a program: where its code lies decides by some per cent, on some machines by ten
DRAWN = 1000  # by the bootstrap
LIMIT = 4
SMALLER = 32  # inputs under valgrind
BATCHES, CALLS = 40, 50000  # of probe_call.c
LEAST_S = .06  # CPU time of a program, so that its start is not what is measured
# Five bytes at a function's entry move its loops, which can cost a third (matrix_multiply) or win as much: so all variants align loops. They
# move the rest of the program, too, as any change does: so there are several places.
FLAGS = ['-O2', '-g', '-std=gnu11', '-pthread', '-falign-loops=32']
PATCHABLE = '-fpatchable-function-entry=5'
os.chdir(WORK)


def sh(*words, **environment):
    return subprocess.run(words, check=True, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def compile_c(source, out, *more):
    sh('gcc', *FLAGS, *more, source, '-o', out, '-lm')


def listed(program, functions):
    sh(ASSAY, 'record', '--for', 'functions', '--list', program + '.list', '--functions', functions, '--', './' + program)
    return os.path.abspath(program + '.list')


def probed(program_list, **more):
    os.makedirs('samples', exist_ok=True)
    return {'LD_PRELOAD': LIBRARY, 'ASSAY_PROBE_LIST': program_list, 'ASSAY_PROBE_DIRECTORY': os.path.abspath('samples'), **more}


def samples_taken():
    """Of all files, which are removed: (samples, dropped)."""
    files = glob.glob('samples/*.samples')
    total = dropped = 0
    for name in files:
        document = json.loads(sh(ASSAY, 'samples', name, '--format', 'json'))
        total += sum(f['samples'] for d in document['files'] for f in d['functions'])
        dropped += sum(d['dropped'] for d in document['files'])
        os.remove(name)
    return total, dropped


def row(*cells):
    print('| ' + ' | '.join(str(c) for c in cells) + ' |')


def calls():
    source = SOURCE + '/tests/bench/probe_call.c'
    compile_c(source, 'plain')
    compile_c(source, 'patchable', PATCHABLE)
    compile_c(source, 'mcount', '-pg')
    compile_c(source, 'instrumented', '-finstrument-functions')
    selected, instrumented = listed('patchable', 'selected'), listed('instrumented', 'selected')
    ways = [
        ('none: built without anything', ['./plain'], {}),
        ('-fpatchable-function-entry=5, nothing loaded', ['./patchable'], {}),
        ('the probe that does nothing', ['./patchable'], {'LD_PRELOAD': NOTHING, 'ASSAY_PROBE_LIST': selected}),
        ('the probe, default budget', ['./patchable'], probed(selected)),
        ('the probe, every call measured and stored', ['./patchable'], probed(selected, ASSAY_PROBE_BUDGET='0')),
        ('-finstrument-functions, default budget', ['./instrumented'], probed(instrumented)),
        ('-finstrument-functions, every call', ['./instrumented'], probed(instrumented, ASSAY_PROBE_BUDGET='0')),
        ('uftrace -P (patched the same way)', ['uftrace', 'record', '--no-libcall', '-d', 'uf', '-P', 'selected', './patchable'], {}),
        ('uftrace -F (-pg)', ['uftrace', 'record', '--no-libcall', '-d', 'uf', '-F', 'selected', './mcount'], {}),
    ]
    got = {way[0]: [] for way in ways}
    for _ in range(ROUNDS_CALL):
        for name, words, environment in ways:
            got[name].append([float(x) for x in sh(*words, **environment).split()[-2:]])
            if 'every call' in name:
                taken, dropped = samples_taken()
                assert taken >= 40 * 50000 and not dropped, f'{name}: {taken} samples, {dropped} dropped: not what was to be timed'
    samples_taken()
    print('## One call\n')
    print(f'CPU time of a call of an empty function, ns: the least of {ROUNDS_CALL} runs, each the least of 40 batches of 50,000 calls, ways taking turns.')
    print('`selected` is measured, `another` is not.\n')
    row('way', 'selected', 'another', 'selected in all runs')
    row('---', '---:', '---:', '---')
    for name, values in got.items():
        row(name, f'{min(v[0] for v in values):.1f}', f'{min(v[1] for v in values):.1f}', ' '.join(f'{v[0]:.1f}' for v in values))
    ours = min(v[0] for v in got['the probe, every call measured and stored'])
    peer = min(min(v[0] for v in got[name]) for name in got if name.startswith('uftrace -P'))
    print(f'\nThe thread itself spends {ours / peer:.2f} of what it spends with uftrace -P ({ours:.1f} and {peer:.1f} ns); uftrace writes its file in a process of its own.\n')
    whole_cost({name: way for way in ways for name in [way[0]] if name.startswith(('none', 'the probe, every', 'uftrace -P'))})


def whole_cost(ways):
    """CPU time of a call in all processes that take part, with the file written: a run with many calls less one with few."""
    got = {way[0]: [] for way in ways.values()}
    for _ in range(ROUNDS_CALL):
        for name, words, environment in ways.values():
            seconds = {n: cpu_s(words + [str(n)], environment)[0] for n in (10, CALLS)}
            got[name].append(1e9 * (seconds[CALLS] - seconds[10]) / (BATCHES * (CALLS - 10)))
            for path in glob.glob('samples/*.samples'):
                os.remove(path)
    print('CPU time a call of all processes together (user and system, children too), ns: calls of `selected` and of `another` take turns in batches, so both are in it.\n')
    row('way', 'least', 'all runs')
    row('---', '---:', '---')
    for name, values in got.items():
        row(name, f'{min(values):.1f}', ' '.join(f'{v:.1f}' for v in values))
    none, ours, peer = (min(values) for values in got.values())
    print(f'\nMeasuring and storing a call costs {(ours - none) / (peer - none):.2f} of what it costs with uftrace -P ({ours - none:.1f} and {peer - none:.1f} ns above none); '
          'wanted: at most .5.\n')


def cpu_s(words, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = sh(*words, **environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, out


def start():
    """What the probe costs at the start and end of a program, with one call."""
    with open('one.c', 'w') as source:
        source.write('__attribute__((noinline)) int f(int x) { __asm__ volatile(""); return x; }\nint main(void) { return f(0); }\n')
    compile_c('one.c', 'one', PATCHABLE)
    environment = probed(listed('one', 'f'))
    native, nothing, with_probe = [], [], []
    for _ in range(40):
        native.append(cpu_s(['./one'], {})[0])
        nothing.append(cpu_s(['./one'], {'LD_PRELOAD': NOTHING})[0])
        with_probe.append(cpu_s(['./one'], environment)[0])
    samples_taken()
    print('## Start and end of a program\n')
    print(f'CPU time of a program with one call, the least of 40 runs: {1e3 * min(native):.2f} ms native, {1e3 * min(nothing):.2f} ms with the probe that '
          f'does nothing, {1e3 * min(with_probe):.2f} ms with the probe.\n')


def size_for(source):
    """Such that the program (built as ./native0) takes LEAST_S: its own default, doubled as often as that needs."""
    size = int(re.search(r'app_begin\(argc, argv, (\d+)', open(source).read()).group(1))
    while min(cpu_s(['./native0', '2', str(size)], {})[0] for _ in range(2)) < LEAST_S:
        size *= 2
    return size


def pads():
    """Objects that are linked first, so that a program lies elsewhere: what that alone changes is no cost of the probe's. Multiples of 64: alignment stays."""
    for i in range(PLACES):
        with open(f'pad{i}.s', 'w') as source:
            source.write(f'.text\n.skip {64 * (1 + 7 * i)}, 0x90\n.section .note.GNU-stack,"",@progbits\n')
        sh('gcc', '-c', f'pad{i}.s', '-o', f'pad{i}.o')


def build(source, more):
    """native0..., ready0...: one compilation each, at PLACES places."""
    for name, flags in [('native', []), ('ready', [PATCHABLE])]:
        compile_c(source, name + '.o', '-c', *flags, *more)
        for i in range(PLACES):
            sh('gcc', '-pthread', f'pad{i}.o', name + '.o', '-o', f'{name}{i}', '-lm')


def interval(logs):
    """Median of the ratios, and where 95 of 100 medians of as many drawn from them lie; in per cent."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(logs, k=len(logs))) for _ in range(DRAWN))
    return [100 * math.expm1(x) for x in (statistics.median(logs), medians[DRAWN // 40], medians[-1 - DRAWN // 40])]


def rounds_for(logs):
    """How many rounds make the control's interval narrow enough: asked of the control alone, lest the result choose its own number of rounds."""
    _, low, high = interval(logs)
    return min(MOST_ROUNDS, max(ROUNDS_APP, math.ceil(len(logs) * ((high - low) / 2 / WITHIN) ** 2)))


def timed(size, lists):
    """CPU seconds of each way in each round. `elsewhere` is the native program at another place: what it differs by is chance."""
    got = {'native': [], 'elsewhere': [], 'ready': [], 'probed': []}
    draw = random.Random(2)
    rounds = ROUNDS_APP
    for i in range(MOST_ROUNDS):
        if i == ROUNDS_APP:
            rounds = rounds_for([math.log(y / x) for x, y in zip(got['native'], got['elsewhere'])])
        if i == rounds:
            break
        here, there = i % PLACES, (i + 1 + i // PLACES) % PLACES
        turns = [('native', f'./native{here}', {}), ('elsewhere', f'./native{there}', {}), ('ready', f'./ready{here}', {}),
                 ('probed', f'./ready{here}', probed(lists[here]))]
        draw.shuffle(turns)
        printed = set()
        for name, program, variables in turns:
            seconds, out = cpu_s([program, '2', str(size)], {**variables, 'PLACE': 'x' * draw.randrange(64)})  # moves the stack
            got[name].append(seconds)
            printed.add(out)
        assert len(printed) == 1, 'a program printed something else'
    return got


def instructions(program, size, environment):
    """And the CPU seconds that counting them took."""
    words = ['valgrind', '--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null', '--log-file=counted', program, '2', str(size)]
    seconds, _ = cpu_s(words, environment)
    return int(re.search(r'I\s+refs:\s+([\d,]+)', open('counted').read()).group(1).replace(',', '')), seconds


def added(size, native_s, program_list):
    """Per cent of instructions that the five bytes add, and that the probe adds to that; without what the start takes. Under valgrind all is slower
    but the probe's own idea of what it costs, so that the budget is made smaller by as much."""
    small = max(size // SMALLER, 2)
    before, began = instructions('./native0', 1, {})
    native, slowed = instructions('./native0', small, {})
    environment = probed(program_list, ASSAY_PROBE_BUDGET=str(.03 * native_s * small / size / max(slowed - began, .01)))
    ready = instructions('./ready0', small, {})[0] - before
    with_probe = instructions('./ready0', small, environment)[0] - instructions('./ready0', 1, environment)[0]
    samples_taken()
    return [100 * (ready / (native - before) - 1), 100 * (with_probe / ready - 1)]


def verdict(total, control):
    if total[2] <= LIMIT:
        return f'at most {LIMIT} %'
    if total[1] > LIMIT:
        return f'**more than {LIMIT} %**'
    return 'noise is wider' if control[2] - control[1] > LIMIT else 'open'


def cells(values):
    return f'{values[0]:+.1f} ({values[1]:+.1f} to {values[2]:+.1f})'


def programs():
    print('## Whole programs\n')
    print(f'CPU time (user and system) of the programs of tests/apps with 2 threads and inputs for at least {LEAST_S} s, the function of truth.csv selected, default budget: '
          f'medians over the rounds of the ratio within a round, in per cent, and the interval of 95 % (bootstrap). {ROUNDS_APP} rounds, or as many as should give the '
          f'control an interval of {WITHIN} % either way, at most {MOST_ROUNDS}: what the control shows decides on the number, not what the probe costs. Native is built without '
          f'-fpatchable-function-entry; all with -falign-loops=32. In each round, in random order: the native program, the native program '
          f'*elsewhere* (linked behind another number of bytes, {PLACES} in all: the same instructions at other addresses, the control of all else), the program built for the probe, '
          f'and that one probed. Instructions are counted by valgrind at 1/{SMALLER} of the input, the start left out.\n')
    row('program', 'variant', 'rounds', 'native s', 'native elsewhere', 'built for it', 'the probe itself', 'both', f'at most {LIMIT} %?', 'samples',
        'instructions: built for it', 'the probe')
    row('---', '---', '---:', '---:', '---:', '---:', '---:', '---:', '---', '---:', '---:', '---:')
    pads()
    all_logs, verdicts = {'elsewhere': [], 'probed': []}, {}
    for truth in csv.DictReader(open(SOURCE + '/tests/apps/truth.csv')):
        for variant in ['', '-D' + truth['flag']]:
            if ONLY and truth['program'] not in ONLY:
                continue
            if truth['program'] == 'seven' and not variant and truth['flag'] != 'FAULT=1':
                continue
            source = f'{SOURCE}/tests/apps/{truth["program"]}.c'
            build(source, [variant] if variant else [])
            size = size_for(source)
            lists = [listed(f'ready{i}', truth['function']) for i in range(PLACES)]
            got = timed(size, lists)
            taken, dropped = samples_taken()
            assert taken and not dropped
            logs = {(a, b): [math.log(y / x) for x, y in zip(got[a], got[b])]
                    for a, b in [('native', 'elsewhere'), ('native', 'ready'), ('ready', 'probed'), ('native', 'probed')]}
            found = {key: interval(values) for key, values in logs.items()}
            for name, values in all_logs.items():
                values.append(statistics.median(logs['native', name]))
            said = verdict(found['native', 'probed'], found['native', 'elsewhere'])
            verdicts[said] = verdicts.get(said, 0) + 1
            counted = added(size, statistics.median(got['native']), lists[0]) if shutil.which('valgrind') else None
            row(truth['program'], truth['flag'].lower() if variant else 'good', len(got['native']), f'{statistics.median(got["native"]):.4f}', *map(cells, found.values()), said,
                taken // len(got['native']), *(f'{x:+.2f}' for x in counted or []))
    for name, what in [('probed', 'Geometric mean'), ('elsewhere', 'The same of the native programs elsewhere, which is chance')]:
        values = all_logs[name]
        print(f'\n{what}: {100 * math.expm1(sum(values) / len(values)):+.2f} %, the greatest {100 * math.expm1(max(values)):+.1f} %.')
    print('\nWanted: at most 2 % in the geometric mean and 4 % for any. Programs: ' + ', '.join(f'{n} {said}' for said, n in sorted(verdicts.items())) + '.')


if not ONLY:
    calls()
    start()
programs()
