"""Native against probed: python3 probe_table.py ASSAY LIBRARY NOTHING SOURCE WORK. Prints the tables of docs/evidence/probe.md."""
import csv
import glob
import json
import math
import os
import re
import resource
import subprocess
import sys

ASSAY, LIBRARY, NOTHING, SOURCE, WORK = sys.argv[1:6]
ROUNDS_CALL, ROUNDS_APP = 9, 15
BATCHES, CALLS = 40, 50000  # of probe_call.c
LEAST_S = .1  # CPU time of a program, so that its start is not what is measured
# Five bytes at a function's entry move its loops, which can cost a third (matrix_multiply) or win as much: so all variants align loops.
FLAGS = ['-O2', '-g', '-std=gnu11', '-pthread', '-falign-loops=32']
PATCHABLE = '-fpatchable-function-entry=5'
os.chdir(WORK)


def sh(*words, **environment):
    return subprocess.run(words, check=True, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def compile_c(source, out, *more):
    sh('gcc', *FLAGS, *more, source, '-o', out, '-lm')


def listed(program, functions):
    sh(ASSAY, 'probe', '--list', program + '.list', '--functions', functions, '--', './' + program)
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
    """Such that the program (built as ./native) takes LEAST_S: its own default, doubled as often as that needs."""
    size = int(re.search(r'app_begin\(argc, argv, (\d+)', open(source).read()).group(1))
    while min(cpu_s(['./native', '2', str(size)], {})[0] for _ in range(2)) < LEAST_S:
        size *= 2
    return str(size)


def programs():
    print('## Whole programs\n')
    print(f'CPU time (user and system) of the programs of tests/apps with 2 threads and inputs for at least {LEAST_S} s, the function of truth.csv selected, default budget: least of '
          f'{ROUNDS_APP} runs each, native, built for the probe, and probed taking turns. Native is built without -fpatchable-function-entry; all with '
          f'-falign-loops=32: without that, where the five bytes move a loop to decides by up to a third (matrix_multiply), either way.\n')
    row('program', 'variant', 'native s', 'built for it s', 'probed s', 'overhead', 'median of the pairs', 'samples')
    row('---', '---', '---:', '---:', '---:', '---:', '---:', '---:')
    ratios, medians = [], []
    for truth in csv.DictReader(open(SOURCE + '/tests/apps/truth.csv')):
        for variant in ['', '-D' + truth['flag']]:
            if truth['program'] == 'seven' and not variant and truth['flag'] != 'FAULT=1':
                continue
            more = [variant] if variant else []
            source = f'{SOURCE}/tests/apps/{truth["program"]}.c'
            compile_c(source, 'native', *more)
            compile_c(source, 'ready', PATCHABLE, *more)
            size = size_for(source)
            environment = probed(listed('ready', truth['function']))
            native, ready, with_probe = [], [], []
            turns = [(native, './native', {}), (ready, './ready', {}), (with_probe, './ready', environment)]
            for i in range(ROUNDS_APP):
                printed = set()
                for seconds, words, variables in turns if i % 2 else reversed(turns):
                    s, out = cpu_s([words, '2', size], variables)
                    seconds.append(s)
                    printed.add(out)
                assert len(printed) == 1, f'{truth["program"]} printed something else'
            taken, dropped = samples_taken()
            assert taken and not dropped
            ratio = min(with_probe) / min(native)
            median = sorted(b / a for a, b in zip(native, with_probe))[ROUNDS_APP // 2]
            ratios.append(ratio)
            medians.append(median)
            row(truth['program'], truth['flag'].lower() if variant else 'good', f'{min(native):.4f}', f'{min(ready):.4f}', f'{min(with_probe):.4f}',
                f'{100 * (ratio - 1):+.1f} %', f'{100 * (median - 1):+.1f} %', taken // ROUNDS_APP)
    for name, values in [('of the least times', ratios), ('of the medians of pairs', medians)]:
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f'\nGeometric mean {name}: {100 * (mean - 1):+.2f} %, the greatest {100 * (max(values) - 1):+.1f} %.')
    print('Wanted: at most 2 % in the geometric mean and 4 % for any.')


calls()
start()
programs()
