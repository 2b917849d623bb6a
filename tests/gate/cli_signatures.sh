# The group of stressors whose part of the time grew, matched with the function that looks like it: counters of functions and of stressors are
# measured for real (events of the kernel, which every machine has). The work of stressors, their rates and the costs of the versions are made up:
# so there are several hardware types, and what is counted does not depend on how busy this machine is.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
sshd_available && [ "$(id -u)" = 0 ] || skip 'emulated hosts need root and openssh-server'
command -v stress-ng >/dev/null || skip 'there is no stress-ng'
command -v gcc >/dev/null || skip 'there is no gcc'
export XDG_CACHE_HOME="$tmp/cache"
chmod 755 "$tmp"
lab=$tmp/lab
tidy() {
	"$ASSAY" host down "$lab" >/dev/null 2>&1
}
events=perf::TASK-CLOCK,perf::PAGE-FAULTS,perf::CONTEXT-SWITCHES

# ---- a stress-ng whose rates are those of the host; while there is `counted` it works, so much each time ----

cat >"$tmp/works.c" <<'END'
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	volatile long sink = 0;

	if (strstr("brk fault malloc", kind))
		for (int r = 0; r < 600; r++) {
			char *p = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			for (int i = 0; i < 64; i++)
				p[i * 4096] = 1;
			munmap(p, 64 * 4096);
		}
	else if (strstr("pipe switch yield", kind)) {
		int there[2], back[2];
		char c = 0;

		if (pipe(there) || pipe(back))
			return 1;
		if (fork() == 0) {
			close(there[1]);
			while (read(there[0], &c, 1) == 1)
				if (write(back[1], &c, 1) != 1)
					break;
			_exit(0);
		}
		for (int i = 0; i < 3000; i++)
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				return 1;
	} else
		for (long i = 0; i < 50000000; i++)
			sink += i * 7;
	return 0;
}
END
gcc -O2 -w -o "$tmp/works" "$tmp/works.c" || exit 1

version=$(stress-ng --version | sed 's/.*version \([0-9.]*\).*/\1/')
mkdir "$tmp/fake" "$tmp/built" "$tmp/built/a" "$tmp/built/b"
cat >"$tmp/fake/stress-ng" <<END
#!/bin/sh
[ "\$1" = --version ] && exec $(command -v stress-ng) --version
while [ "\$1" != -t ]; do shift; done
stressor=\${3#--}
[ ! -e $tmp/counted ] || "$tmp/works" "\$stressor" || exit 1
case \$stressor in
brk | fault | malloc) own=7 ;;
pipe | switch | yield) own=5 ;;
*) own=3 ;;
esac
rate=\$((100 * (1 + MACHINE * own % 11)))
printf -- '---\nsystem-info:\n      stress-ng-version: $version\n\nmetrics:\n    - stressor: %s\n      bogo-ops: %s\n' "\$stressor" "\$rate"
printf '      bogo-ops-per-second-usr-sys-time: %s\n      bogo-ops-per-second-real-time: %s\n' \$rate \$rate
printf '      wall-clock-time: 1\n      user-time: 1\n      system-time: 0.0\n\n...\n'
END
chmod 755 "$tmp/fake/stress-ng"

# ---- two versions: one touches new memory in a function, which takes time by how fast a machine is at that ----

cat >"$tmp/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
static volatile long sink;
static void burn(long n) { for (long i = 0; i < n; i++) sink += i * 7; }
__attribute__((noinline)) void computes(void) { burn(BAD ? 300000 : 20000); }
__attribute__((noinline)) void touches(void)
{
	burn(20000);
	for (int r = 0; r < 16 * BAD; r++) {
		char *p = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; i < 64; i++)
			p[i * 4096] = 1;
		munmap(p, 64 * 4096);
	}
}
int main(void)
{
	int machine = atoi(getenv("MACHINE"));

	for (int i = 0; i < 10; i++) {
		computes();
		touches();
	}
	printf("cost %.9g\n", 1. / (1 + machine * 3 % 11) + BAD * .5 / (1 + machine * 7 % 11));
	return 0;
}
END
gcc -O2 -g -fpatchable-function-entry=5 -DBAD=0 -o "$tmp/built/a/p" "$tmp/p.c" && gcc -O2 -g -fpatchable-function-entry=5 -DBAD=1 -o "$tmp/built/b/p" "$tmp/p.c" || exit 1

what='six hosts of six types'
run host up "$lab" --hosts 6
expect_status 0
for m in 1 2 3 4 5 6; do
	sed -i "/name: emu0$m/,/env:/s|env: { |env: { MACHINE: $m, PATH: \"$tmp/fake:$PATH\", |" "$lab/lab.yaml"
done
cat >"$lab/apps/p.yaml" <<END
command: ['{build}/p']
versions: { a: { directory: $tmp/built/a }, b: { directory: $tmp/built/b } }
repetitions: 3
warm_ups: 0
time_limit: 20
metric: { source: regex, pattern: 'cost ([0-9.e-]+)' }
probe: { functions: [computes, touches], budget: 0, counters: [$(echo $events | sed 's/,/, /g')] }
END
cat >"$tmp/battery.yaml" <<'END'
name: small
passes: 1
seconds: 60
stressors:
  - { stressor: brk }
  - { stressor: cpu, arguments: [--cpu-method, int64] }
  - { stressor: crypt }
  - { stressor: fault }
  - { stressor: malloc, arguments: [--malloc-bytes, 64K, --malloc-max, 4096] }
  - { stressor: pipe }
  - { stressor: str }
  - { stressor: switch }
  - { stressor: yield }
END

what='everything is measured'
run -C "$lab" host measure --battery "$tmp/battery.yaml"
expect_status 0
run -C "$lab" run p
expect_status 0
run -C "$lab" run p -w emu01 --probe
expect_status 0

what='without counters of stressors'
run -C "$lab" gate p@a p@b --format json
expect_status 3
expect_json .signatures.group null
expect_json .signatures.functions 0
run -C "$lab" gate p@a p@b
expect_stdout 'is not known: ' "hardware type 'base'" "assay host measure --counters=perf::CONTEXT-SWITCHES,perf::PAGE-FAULTS,perf::TASK-CLOCK'"

what='with them'
touch "$tmp/counted"
run -C "$lab" host measure --battery "$tmp/battery.yaml" -w emu01 --counters=$events
expect_status 0
run -C "$lab" gate p@a p@b --format json
expect_status 3
expect_json .contributions.groups[0].members[0] brk
expect_json .signatures.missing null
expect_json .signatures.members 3
expect_json .signatures.unit perf::TASK-CLOCK
expect_json .signatures.fingerprints 1
for i in 0 1; do
	name=$(json ".signatures.functions[$i].name")
	[ "$name" = touches ] && expect_json ".signatures.functions[$i].matches" true
	[ "$name" = computes ] && expect_json ".signatures.functions[$i].matches" false
done
run -C "$lab" gate p@a p@b
expect_stdout 'touches looks like the group that grew: '
run -C "$lab" report p@a p@b -o "$tmp/page.html"
expect_status 0
cases=$((cases + 1))
grep -q 'id="signatures"' "$tmp/page.html" && [ "$(grep -c 'data-matches="true"' "$tmp/page.html")" -eq 1 ] || fail 'the page should have one match'
cp "$tmp/page.html" "$tmp/out"
expect_stdout 'touches</bdi> <span class="of-type">looks like the group</span>' 'compared is at most 0.05.</p>'

# ---- every command computes the same comparison ----

what='a night over the same builds, recorded and calibrated'
sed 's/^warm_ups: 0/&\nvariance: yes/' "$lab/apps/p.yaml" >"$lab/apps/q.yaml"
run -C "$lab" run q -w emu01 --probe
expect_status 0
cat >"$lab/calibration.json" <<'END'
{"applications": [{"application": "q", "version": "a", "plan": "0", "taken_ms": 1, "repetitions": 4, "min_effect": 0.03, "waited": null, "machines": ["emu01"],
"identical": {"pairs": 40, "resampled": 30, "pass": 38, "improved": 0, "regression": 1, "inconclusive": 1, "environment": 0, "seen_again": 0, "improved_again": 0,
"repetitions": 4}, "planted": []}]}
END
# No repetitions are added: of three runs none is left out, however busy the machine.
cat >"$lab/suite.yaml" <<'END'
comparisons: [{ application: q, candidates: [b], against: [a], budget: 1s }]
fingerprints: { battery: none }
confirm: { fresh_runs: no }
END
run -C "$lab" nightly run --format json
expect_status 3
id=$(json '.decisions[0].id')
what='gate, report, night and explain have the same members with the same values'
run -C "$lab" gate q@a q@b --format json
cp "$tmp/out" "$tmp/gate.json"
run -C "$lab" report q@a q@b -o "$tmp/page.html" --format json
cp "$tmp/out" "$tmp/report.json"
run -C "$lab" explain "$id" --format json
cp "$tmp/out" "$tmp/explain.json"
sqlite3 "$lab/.assay/runs.db" 'SELECT document FROM decision' >"$tmp/kept.json" || fail 'no decision is kept'
cases=$((cases + 1))
/usr/bin/python3 - "$tmp" >"$tmp/differ" 2>&1 <<'END' || fail "they differ: $(cat "$tmp/differ")"
import json, sys

def load(name):
    with open(f'{sys.argv[1]}/{name}.json') as file:
        return json.load(file)

def paths(value, path=''):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    yield path, type(value).__name__ if items else value
    for key, item in items:
        yield from paths(item, f'{path}.{key}')

gate, report, kept, explain = map(load, ('gate', 'report', 'kept', 'explain'))
del report['file']
assert gate['absent'] == [], gate['absent']  # every part is there: none is the same because it is nothing
for part in 'contributions', 'functions', 'signatures', 'variance', 'calibration':
    assert len(list(paths(gate[part]))) > 10, f'{part}: {gate[part]}'
expected = dict(paths(gate))
for name, other in ('report', report), ('kept', kept['runs']), ('explain', explain['evidence']['runs']):
    found = dict(paths(other))
    differ = [path for path in expected.keys() | found.keys() if path not in expected or path not in found or expected[path] != found[path]]
    assert not differ, f'{name}: {sorted(differ)[:8]}'
    assert list(gate) == list(other), f'{name}: the order of members'
assert (kept['decision'], kept['ratio'], kept['low'], kept['high']) == (gate['decision'], *(gate['effect'][k] for k in ('ratio', 'low', 'high')))
assert explain['calibration'] == gate['calibration']
assert kept['disturbed'] == [] or not any(run['left_out'] for run in kept['disturbed']), kept['disturbed']
END
what='verify, before and after there are more samples'
run -C "$lab" verify "$id"
expect_status 0
expect_stdout 'byte by byte'
run -C "$lab" run q -w emu01 --probe
expect_status 0
run -C "$lab" verify "$id"
expect_status 0
expect_stdout 'samples of functions were removed or added since'

finish
