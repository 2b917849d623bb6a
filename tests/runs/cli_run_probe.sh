#!/bin/sh
# `assay run --probe`: samples of functions from hosts, by both back ends; nothing lost or doubled by kill -9, no result in the store, and what a host preloads
# stays in force.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
export XDG_CACHE_HOME="$tmp/cache" # of the programs that hosts keep

tidy() {
	[ -d "$tmp/fleet/.assay/emulated" ] && "$ASSAY" host down "$tmp/fleet" >/dev/null 2>&1
	kill_marked
}

# ---- two versions, of which one function differs ----

cat >"$tmp/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) void changed(long n) { for (long i = 0; i < n; i++) sink += i * FACTOR; }
__attribute__((noinline)) void same(long n) { for (long i = 0; i < n; i++) sink ^= i; }
__attribute__((noinline)) void never(long n) { sink = n; }
/* p CALLS [crash]: says what is preloaded by its last letters */
int main(int argc, char **argv)
{
	const char *preload = getenv("LD_PRELOAD");
	long n = atol(argv[1]);

	for (long i = 0; i < n; i++) {
		changed(100);
		same(10);
	}
	if (n < 0)
		never(n);
	printf("cost %d\npreload %s\n", getenv("COST") ? atoi(getenv("COST")) : 1, preload ? preload : "");
	fflush(stdout);
	if (argc > 2)
		abort();
	return 0;
}
END
mkdir "$tmp/built"
for version in a b; do
	mkdir "$tmp/built/p-$version" "$tmp/built/e-$version" "$tmp/built/plain-$version"
	[ $version = a ] && factor=1 || factor='(i % 7 + 1)'
	gcc -O2 -g -fpatchable-function-entry=5 "-DFACTOR=$factor" -o "$tmp/built/p-$version/p" "$tmp/p.c" || exit 1
	gcc -O2 -g "-DFACTOR=$factor" -o "$tmp/built/plain-$version/p" "$tmp/p.c" || exit 1
	"$ASSAY" build --for counters -- gcc -O2 -g "-DFACTOR=$factor" -o "$tmp/built/e-$version/p" "$tmp/p.c" || exit 1
done

# manifest NAME KIND PROBE: apps/NAME.yaml of versions of that kind.
manifest() {
	cat >"$lab/apps/$1.yaml" <<END
command: ['{build}/p', '{arguments}']
versions: { a: { directory: $tmp/built/$2-a }, b: { directory: $tmp/built/$2-b } }
inputs: { x: { arguments: [30] }, yy: { arguments: [40] } }
repetitions: 2
warm_ups: 1
time_limit: 20
metric: { source: regex, pattern: 'cost ([0-9]+)' }
probe: $3
END
}

# rows: every sample file of $1 in $lab: version, input, repetition, pack, sorted, in $tmp/rows; what was counted in them is there.
rows() {
	: >"$tmp/rows"
	for version in a b; do
		"$ASSAY" -C "$lab" inspect "$1@$version" --format json >"$tmp/out" 2>/dev/null || continue
		(tr -d ' \n' <"$tmp/out"; echo) | sed 's/},{/}\n{/g' | sed -n 's/.*"version":"\([^"]*\)".*"input":"\([^"]*\)".*"repetition":\([0-9]*\),"pack":\([0-9]*\),.*/\1 \2 \3 \4/p' >>"$tmp/rows"
	done
	sort -o "$tmp/rows" "$tmp/rows"
}

# Everything that is kept, as the hashes of the files' names.
stored() {
	find "$lab/.assay/samples" -type f 2>/dev/null | sed 's|.*/||' | sort
}

sample_count() {
	"$ASSAY" -C "$lab" inspect "$@" --show '' --format json | tr -d ' \n' | grep -o "\"name\":\"$function\",[^}]*\"samples\":[0-9]*" | sed 's/.*://' | sort -u | tr '\n' ' '
}

# ---- the probe ----

run_lab one
manifest p p '{ functions: changed, budget: 0, counters: [perf::PAGE-FAULTS] }'
what='a dry run says what would be measured, and does nothing'
run -C "$lab" run p --probe --dry-run
expect_status 0
expect_no_stderr
expect_stdout 'by the probe' 'no results' 'a: 1 entry point' 'b: 1 entry point' 'Nothing was run'
run -C "$lab" run p --probe --dry-run --format json
expect_json .probe.back_end probe
expect_json .probe.versions[1].entry_points 1
expect_json .probe.functions changed
cases=$((cases + 1))
[ ! -e "$lab/.assay/runs.db" ] || fail 'a dry run made a database'

what='samples of the function that changed'
run -C "$lab" run p --probe --seed 3 --format json
expect_status 0
expect_no_stderr
expect_json .complete true
expect_json .warm_ups 1
expect_json .hosts[0].ok 8
expect_json .results[0].samples_files 2
expect_json .results[3].samples_files 2
expect_json .results[0].median '(nothing)'
nothing_left_of "$(plan_id)"
no_process_left
rows p
cat >"$tmp/undisturbed" <<'END'
a x 1 0
a x 2 0
a yy 1 0
a yy 2 0
b x 1 0
b x 2 0
b yy 1 0
b yy 2 0
END
expect_same_files "$tmp/rows" "$tmp/undisturbed"
function=changed
cases=$((cases + 1))
[ "$(sample_count p/x@a)" = '30 ' ] && [ "$(sample_count p/yy@b)" = '40 ' ] || fail "every call is measured: $(sample_count p/x@a), $(sample_count p/yy@b)"
function=same
cases=$((cases + 1))
[ -z "$(sample_count p@a)" ] || fail 'a function that did not change was measured'
run -C "$lab" inspect p/x@a
expect_stdout software here '2 sample files of p/x@a'
run -C "$lab" inspect p
refused 2 'several versions' 'a, b'
run -C "$lab" inspect p@c
refused 2 'a, b'
run -C "$lab" inspect nothing
refused 2 "assay run nothing --probe"
cases=$((cases + 1))
[ -z "$(find "$lab/.assay/samples" -type f ! -perm 600)" ] && [ -z "$(find "$lab/.assay/samples" -type d ! -perm 700)" ] || fail 'others may read samples'

what='each repetition measures calls of its own'
run -C "$lab" inspect p@a --show '' --format json
seeds=$(sed -n 's/.*"seed": "\([0-9]*\)".*/\1/p' "$tmp/out" | sort -u | wc -l)
cases=$((cases + 1))
[ "$seeds" = 4 ] || fail "4 runs with $seeds seeds"

what='they are no results'
run -C "$lab" result list --format json
expect_json .applications 0
run -C "$lab" gate p/x@a p/x@b
expect_status 2
run -C "$lab" run p --versions a --inputs x --repetitions 1 --format json
expect_status 0
expect_json .probe null
expect_json .results[0].median 1
run -C "$lab" result show p/x@a --format json
expect_json .results 1
rows p
expect_same_files "$tmp/rows" "$tmp/undisturbed"

# ---- kill -9 ----

what='kill -9, three times'
run_lab killed
manifest p p '{ functions: changed, budget: 0, counters: [] }'
for files in 1 3 5; do # of eight: killed about when so many are there, between a file and its row as well as elsewhere
	to_resume p --probe
	"$ASSAY" -C "$lab" run p --probe --seed 3 $resume >"$tmp/out" 2>"$tmp/err" </dev/null &
	victim=$!
	for _ in $(seq 2000); do
		[ "$(stored | wc -l)" -lt $files ] || break
		sleep .02
	done
	kill -KILL $victim 2>/dev/null
	wait $victim 2>/dev/null
done
# As if a kill had come between a file and its row, and between the halves of a file.
orphan=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.samples.zst
mkdir -p -m 700 "$lab/.assay/samples/01"
echo nothing >"$lab/.assay/samples/01/$orphan"
echo nothing >"$lab/.assay/samples/01/.assay-half"
run -C "$lab" run p --resume
expect_status 0
expect_stdout "no run of 'p' was interrupted: there is nothing to resume"
to_resume p --probe
run -C "$lab" run p --probe --seed 3 $resume --format json
expect_status 0
expect_json .complete true
nothing_left_of "$(plan_id)"
no_process_left
[ -n "$resume" ] || "$ASSAY" -C "$lab" run p --probe --seed 3 --resume >/dev/null 2>&1
rows p
expect_same_files "$tmp/rows" "$tmp/undisturbed"
cases=$((cases + 1))
[ "$(stored | wc -l)" = 8 ] || fail "a file for each of the 8 rows: $(stored)"

what='what may not change'
manifest half p '{ functions: [changed], budget: 0, counters: [] }'
sed -i 's/repetitions: 2/repetitions: 20/' "$lab/apps/half.yaml"
"$ASSAY" -C "$lab" run half --probe >"$tmp/out" 2>"$tmp/err" </dev/null &
victim=$!
for _ in $(seq 1000); do
	rows half
	[ -s "$tmp/rows" ] && break
	sleep .05
done
there=$(left_of '*')
kill -KILL $victim
wait $victim 2>/dev/null
sed -i 's/budget: 0/budget: 0.1/' "$lab/apps/half.yaml"
run -C "$lab" run half --probe --resume
refused 2 'has changed since' 'the probe'
sed -i 's/budget: 0.1/budget: 0/' "$lab/apps/half.yaml"
run -C "$lab" run half --probe --resume --versions a
refused 2 '--versions contradicts'
what='what a killed session has on the host goes with it'
rows half
run -C "$lab" inspect "half@$(cut -c1 "$tmp/rows" | head -n 1)" --format json
id=$(json .files[0].plan)
cases=$((cases + 1))
case $there in
*"-$id-"*) ;;
*) fail 'the session was killed in the middle: it had its directory' ;;
esac
nothing_left_of "$id"

# ---- the emulation ----

what='the emulated back end'
run_lab emulated
manifest e e '{ back_end: emulated, full: true }'
run -C "$lab" run e --probe --inputs x --repetitions 1 --format json
expect_status 0
expect_json .warm_ups 0
expect_json .hosts[0].ok 2
expect_json .probe.versions[0].entry_points 1
run -C "$lab" inspect e@b --show '' --format json
expect_json .files[0].back_end emulated
expect_json .files[0].functions 1
expect_json .files[0].functions[0].name changed
expect_json .files[0].functions[0].calls 30

# ---- what fails ----

what='a program that crashes: its samples until then'
manifest crash p '{ functions: [changed], budget: 0, counters: [] }'
sed -i 's/arguments: \[30\]/arguments: [30, crash]/' "$lab/apps/crash.yaml"
run -C "$lab" run crash --probe --inputs x --versions a --repetitions 1 --format json
expect_status 1
expect_json .failures[0].outcome killed
expect_json .results[0].samples_files 1
run -C "$lab" inspect crash@a --format json
expect_json .files[0].ok false
function=changed
cases=$((cases + 1))
[ "$(sample_count crash@a)" = '30 ' ] || fail "30 calls were measured before the crash: $(sample_count crash@a)"
run -C "$lab" result show crash/x --failed
expect_stdout 'instrumented' SIGABRT

what='no samples at all'
manifest never p '{ functions: [never] }'
run -C "$lab" run never --probe --inputs x --versions a --repetitions 1 --format json
expect_status 1
expect_json .failures[0].outcome no_samples
expect_stdout 'no selected function was called'

# its_files NAME SCRIPT: the program, and then sample files that it made itself.
its_files() {
	manifest "$1" p '{ functions: [changed], budget: 0, counters: [] }'
	sed -i "s|^command:.*|command: [sh, -c, 'n=\$2; \"\$1/p\" \$n; cd \"\$ASSAY_PROBE_DIRECTORY\"; $2', sh, '{build}', '{arguments}']|; s/^probe: {/probe: { module: p,/" "$lab/apps/$1.yaml"
	run -C "$lab" run "$1" --probe --inputs x --versions a --repetitions 1 --format json
}
what='files that are none'
its_files garbage 'echo garbage >1-1.samples'
expect_json .failures[0].outcome no_samples
expect_stdout '1-1.samples: not a sample file'
its_files large 'truncate -s 150M 1-1.samples 2-1.samples'
expect_json .failures[0].outcome no_samples
expect_stdout 'its samples exceed the limit for a run (256 MiB in 1000 files)'
its_files others 'echo x >notes.txt; echo x >1-1.samples.old; mkdir 2-2.samples'
expect_status 0
expect_json .hosts[0].ok 1
nothing_left_of "$(plan_id)"

what='what cannot be measured is said before anything runs'
printf 'command: ["{build}/p", "1"]\nversions: { a: { directory: %s/built/p-a } }\n' "$tmp" >"$lab/apps/without.yaml"
run -C "$lab" run without --probe
refused 2 'two versions' '--versions BASELINE,CANDIDATE' without.yaml
run -C "$lab" run e --probe --versions a
refused 2 'two versions' '--versions BASELINE,CANDIDATE'
manifest wrong plain '{ functions: [changed] }'
run -C "$lab" run wrong --probe
refused 2 "version 'a'" 'can be probed' -fpatchable-function-entry=5
manifest wrong p '{ back_end: emulated, functions: [changed] }'
run -C "$lab" run wrong --probe
refused 2 "version 'a'" 'not built with the emulation' 'assay build --for counters'
manifest wrong p '{ functions: [chnaged] }'
run -C "$lab" run wrong --probe
refused 2 "did you mean 'changed'"
manifest wrong p '{ functions: [changed], module: libx.so }'
run -C "$lab" run wrong --probe
refused 2 "'libx.so' is not a file of" "'module' of 'probe'"
manifest wrong p '{ functions: changed }'
sed -i "s|{ directory: $tmp/built/p-b }|{ directory: $tmp/built/p-a }|" "$lab/apps/wrong.yaml"
run -C "$lab" run wrong --probe
refused 6 'no function differs'
manifest wrong p '{ functions: [changed], bugdet: 0 }'
run -C "$lab" run wrong --probe
refused 2 'wrong.yaml:8' "did you mean 'budget'"

# ---- counters that take several runs ----

what='a repetition is run once for each pack of counters'
counting=$(find "$tmp/cache/assay" -name 'counting-*')
cat >"$tmp/counting" <<'END'
#!/bin/sh
echo 'assay counting 1'
echo 'run 1 software all perf::PAGE-FAULTS'
echo 'run 2 software all perf::CONTEXT-SWITCHES'
END
chmod 700 "$tmp/counting"
mv "$counting" "$tmp/kept"
cp "$tmp/counting" "$counting"
manifest packs p '{ functions: changed, budget: 0, counters: default }'
run -C "$lab" run packs --probe --inputs x --format json
expect_status 0
expect_json .hosts[0].ok 4
rows packs
sed -n 's/\([ab] x [12]\) 0/\1 0\n\1 1/p' "$tmp/undisturbed" >"$tmp/expected"
expect_same_files "$tmp/rows" "$tmp/expected"
run -C "$lab" inspect packs@a --show '' --format json
cases=$((cases + 1))
awk '/"counters": {/ { means = 1 } /}/ { means = 0 } means' "$tmp/out" >"$tmp/means"
[ "$(grep -c 'perf::PAGE-FAULTS' "$tmp/means")" = 2 ] && [ "$(grep -c 'perf::CONTEXT-SWITCHES' "$tmp/means")" = 2 ] || fail 'each pack has its own counter'
mv "$tmp/kept" "$counting"

what='what to do next is said'
run -C "$lab" run packs --probe --inputs x --repetitions 1
expect_status 0
expect_stdout 'inspect packs@a' 'inspect packs@b' 'detect packs@a packs@b'

what='old samples can be removed'
run -C "$lab" prune --samples
refused 2 '--older-than'
run -C "$lab" prune --samples --older-than 0 --dry-run
expect_status 0
cases=$((cases + 1))
[ -n "$(stored)" ] || fail 'pruned by a dry run'
run -C "$lab" prune --samples --older-than 0 --format json
expect_status 0
cases=$((cases + 1))
[ -z "$(stored)" ] || fail "not pruned: $(stored)"
run -C "$lab" inspect packs@a
expect_stdout pruned
run -C "$lab" inspect packs@a --show ''
refused 6 'was removed by'

# ---- what hosts preload ----

what='a preloaded library of the manifest, one of the host, and the probe'
run_lab preload "hosts:
  - { name: here, transport: local, env: { ASSAY_TEST_MARK: '$tmp', LD_PRELOAD: libm.so.6 } }"
manifest p p '{ functions: [changed], budget: 0, counters: [] }'
printf 'environment: { LD_PRELOAD: libdl.so.2 }\n' >>"$lab/apps/p.yaml"
sed -i "s|^metric:.*|metric: { source: regex, pattern: 'cost ([0-9])' }|; s/x: { arguments: \[30\] }/x: { arguments: [30, crash] }/" "$lab/apps/p.yaml"
run -C "$lab" run p --probe --inputs x --versions a --repetitions 1 --format json
run -C "$lab" result show p/x --failed --output
cases=$((cases + 1))
grep -q 'preload .*/probe/libassay-probe.so:libdl.so.2:libm.so.6$' "$tmp/out" || fail "all three: $(grep preload "$tmp/out")"
run -C "$lab" run p --inputs x --versions a --repetitions 1 --format json
run -C "$lab" result show p/x --failed --output
cases=$((cases + 1))
grep -q 'preload libdl.so.2:libm.so.6$' "$tmp/out" || fail "both: $(grep preload "$tmp/out")"

if ! sshd_available || [ "$(id -u)" != 0 ]; then
	echo 'not tried: emulated hosts need root and openssh-server'
	finish
fi
what='emulated hosts stay slow'
run host up "$tmp/fleet" --hosts 1 --profiles str
expect_status 0
lab=$tmp/fleet
manifest p p '{ functions: changed, budget: 0, counters: [] }'
printf 'environment: { LD_PRELOAD: libm.so.6 }\n' >>"$lab/apps/p.yaml"
sed -i 's/x: { arguments: \[30\] }/x: { arguments: [30, crash] }/' "$lab/apps/p.yaml"
run -C "$lab" run p --probe --inputs x --repetitions 1 --format json
expect_json .hosts[0].emulated true
run -C "$lab" result show p/x --failed --output
cases=$((cases + 1))
[ "$(grep -c 'preload .*/probe/libassay-probe.so:libm.so.6:.*knobs_' "$tmp/out")" = 2 ] || fail "all three: $(grep preload "$tmp/out")"
run -C "$lab" inspect p@a --format json
expect_json .files 1
expect_json .files[0].hardware_type str
manifest e e '{ back_end: emulated }'
run -C "$lab" run e --probe --inputs yy --repetitions 1 --format json
expect_status 0
expect_json .results[0].samples_files 1
run -C "$lab" run p --inputs x --versions a --repetitions 1
run -C "$lab" result show p/x --failed --output
cases=$((cases + 1))
[ "$(grep -c 'preload libm.so.6:.*knobs_' "$tmp/out")" = 1 ] || fail "a result of the slow host: $(grep preload "$tmp/out")"
finish
