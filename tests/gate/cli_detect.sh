# Two programs of tests/apps in the emulation, and seven functions of which one is broken: what is found, and what is said when something is wrong.
# Whether it is right how often: tests/evidence/.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
cd "$tmp" || exit 1
apps=$ASSAY_SOURCE/tests/apps

# build SOURCE FLAG PROGRAM
build() {
	"$ASSAY" build --for counters -- gcc -O2 -g -D_GNU_SOURCE -w "$apps/$1.c" ${2:+"$2"} -pthread -o "$3" || exit 1
}

# sample PROGRAM DIRECTORY RUNS SIZE
sample() {
	mkdir -p "$2"
	for i in $(seq "$3"); do
		mkdir "$2/$i"
		ASSAY_EMULATE_DIRECTORY=$2/$i "./$1" 4 "$4" >/dev/null || exit 1
	done
}

build scalar_sum '' good
build scalar_sum -DBAD bad
sample good old 19 30000
sample good same 3 30000
sample bad new 3 30000

what='nothing has changed'
run detect old same
expect_status 0
expect_stdout 'pass  none of 1 function changed behaviour (old -> same)' 'normal: 19 runs' 'emulated counters'
run detect old same --format json
expect_status 0
expect_json_parses
expect_json .decision pass
expect_json .functions[0].name sum_part
expect_json .functions[0].anomalous false
expect_json .functions[0].runs_anomalous 0
expect_json .functions[0].kind null
expect_json .backend emulated
expect_json .training.runs 19
expect_json .false_positive_rate.asked 0.05

what='false sharing'
run detect old new
expect_status 3
expect_stdout 'regression  1 of 1 function changed behaviour (old -> new)' 'sum_part' 'false sharing' 'in 3 of 3 runs' 'potential HITM by false sharing'
run detect old new --new-build bad --format json
expect_status 3
cp out found
expect_json .decision regression
expect_json .functions[0].name sum_part
expect_json .functions[0].anomalous true
expect_json .functions[0].runs 3
expect_json .functions[0].runs_anomalous 3
expect_json .functions[0].kind false_sharing
expect_json .functions[0].counters[0].name emulated:hitm_false_milli
expect_json .functions[0].counters[0].direction more
expect_json .functions[0].file "$apps/scalar_sum.c"
expect_json .functions[0].line "$(grep -n 'FUNCTION void sum_part' "$apps/scalar_sum.c" | cut -d: -f1)"

what='the same with any number of threads, and the other way round better'
run detect old new --new-build bad --format json --threads 1
expect_same_files out found
run detect new old --rate 0.25 --format json
expect_status 0
expect_json .decision improved
expect_json .functions[0].improved true
expect_json .functions[0].kind false_sharing
expect_json .functions[0].counters[0].direction less

what='trained as published, the same fault'
run detect old new --model paper --format json
expect_status 3
expect_json .functions[0].kind false_sharing
# What never moved is dropped, as published: it cannot see a counter that was always 0, only what the threads' misses make of it, which is
# little unless they really ran at the same time.
run detect old new --paper --format json
cases=$((cases + 1))
if [ "$status" = 3 ]; then
	expect_json .functions[0].kind false_sharing
else
	expect_status 0
fi
run detect old new --threshold deviation --t 3 --clusters each --single-sample
expect_status 3

what='too few runs'
mkdir few
cp -R old/1 old/2 old/3 old/4 few
run detect few new
expect_status 4
expect_stdout 'inconclusive' '4 normal runs are too few for a false positive rate of 0.05: it needs 19, 15 more' 'sum_part'
run detect few new --format json
expect_status 4
expect_json .reasons[0].code too_few_runs
expect_json .training.runs_needed 19
expect_json .false_positive_rate.used 0.2
mkdir two
cp -R old/1 old/2 two
run detect two new
expect_status 4
expect_stdout 'nothing could be judged' '17 more'

what='a function that did little in the old version'
cat >rarely.c <<'END'
#ifndef MORE
#define MORE 1
#endif
static volatile long table[300000];
__attribute__((noinline)) void often(void) { for (int i = 0; i < 300000; i++) table[i] += i; }
__attribute__((noinline)) void rarely(void) { for (int i = 0; i < 300 * MORE; i++) table[i] += i; }
int main(void) { often(); rarely(); return 0; }
END
for more in 1 50; do
	"$ASSAY" build --for counters -- gcc -O2 -g -w -DMORE=$more rarely.c -o rarely.$more || exit 1
done
for i in $(seq 19); do # one thousandth of the work
	mkdir -p little/$i much/$i
	ASSAY_EMULATE_DIRECTORY=little/$i ./rarely.1 || exit 1
	[ "$i" -gt 3 ] || ASSAY_EMULATE_DIRECTORY=much/$i ./rarely.50 || exit 1
done
run detect little much --format json
expect_status 3
expect_json .functions[0].name rarely
expect_json .functions[0].runs_anomalous 3
run detect little little
expect_status 0

what='one of seven functions'
build seven '' seven
build seven -DFAULT=6 broken
sample seven s-old 9 70
sample broken s-new 3 70
run detect s-old s-new --rate .1 --format json
expect_status 3
expect_json .functions[0].name store
expect_json .functions[0].kind allocation
expect_json .functions[1].anomalous false

what='two faults: neither is a side effect of the other'
build seven -DFAULT=67 chasing
sample chasing s-chase 3 70
run detect s-old s-chase --rate .1 --functions store,parse,walk --format json
expect_status 3
expect_json .functions[0].name walk
expect_json .functions[0].anomalous true
expect_json .functions[0].side_effect_of null
expect_json .functions[1].name store
expect_json .functions[1].kind allocation
expect_json .functions[1].side_effect_of null
run detect s-old s-chase --rate .1 --functions store,parse,walk --new-build chasing
expect_stdout "walk  ($apps/seven.c:" 'misses of the second TLB'

what='only changed functions'
run detect s-old s-new --rate .1 --old-build seven --new-build broken --format json
expect_status 3
expect_json .functions[0].name store
expect_json .functions[0].file "$apps/seven.c"
expect_json .functions 7 # each of them does more than a tenth
expect_json .functions[1].anomalous false
run detect s-old s-new --rate .1 --functions tally,walk
expect_status 0
expect_stdout 'none of 2 functions'
run detect s-old s-new --functions nonesuch
refused 6 'none of the functions that changed or were selected'
run detect s-old s-new --old-build nonesuch --new-build broken
refused 2 'nonesuch'

what='a function that only one version has'
sample good short 9 70
run detect short s-new --rate .1
expect_status 3
expect_stdout 'work' '  only the new version has it; app_thread calls it'
run detect s-new short --format json
expect_status 4
expect_stdout '"name": "app_thread"' '"caller": null'
run detect s-new short --all
expect_stdout "only one version has it: its work is counted for its callers"

what='what cannot be compared'
cat >measured.c <<'END'
__attribute__((noinline)) int work(int n) { volatile int x = 0; for (int i = 0; i < n; i++) x += i; return x; }
int main(void) { int sum = 0; for (int i = 0; i < 2000; i++) sum += work(100); return sum == 1; }
END
gcc -O2 -g -fpatchable-function-entry=5 measured.c -o measured
mkdir timed
for i in 1 2 3 4; do
	"$ASSAY" record --for functions --functions work --budget 0 -o "timed/$i" -- ./measured >/dev/null 2>"$tmp/err" || skip "the probe does not work here: $(cat "$tmp/err")"
done
run detect old timed
refused 2 "different back ends are never compared: 'old' is emulated, 'timed' is time"
mkdir -p both/1 both/2
cp old/1/* both/1
cp timed/1/* both/2
run detect both new
refused 2 "different back ends are never mixed"
run detect timed timed --rate .2 --format json
expect_json .backend time
expect_json .functions[0].name work

what='a laboratory'
"$ASSAY" init lab >/dev/null
mkdir -p lab/built/a lab/built/b
cp good lab/built/a/p
cp bad lab/built/b/p
printf 'hosts: [{ name: here, transport: local }]\n' >>lab/lab.yaml
cat >lab/apps/p.yaml <<END
command: ['{build}/p', '{arguments}']
versions: { a: { directory: $tmp/lab/built/a }, b: { directory: $tmp/lab/built/b } }
inputs: { x: { arguments: [4, 30000] } }
repetitions: 4
warm_ups: 0
time_limit: 20
metric: { source: regex, pattern: '([0-9]+)' }
probe: { back_end: emulated, functions: [sum_part] }
END
run -C lab detect p@a p@b
refused 6 'has no samples' "'assay run --probe' makes them"
run -C lab run p --probe
expect_status 0
run -C lab detect p@a p@b --format json
expect_status 4
expect_json .reasons[0].code too_few_runs
expect_json .functions[0].name sum_part
expect_json .functions[0].kind false_sharing
expect_json .functions[0].runs_anomalous 4
expect_json .functions[0].file "$apps/scalar_sum.c"
run -C lab detect p@a p@b --rate .2
expect_status 3
expect_stdout "($apps/scalar_sum.c:"
run -C lab detect p@a p@c
refused 6 'has no samples'

what='in the gate and in the report'
run -C lab run p --repetitions 2
expect_status 0
run -C lab gate p@a p@b
refused 2 "'p' has results by input, name one: ' p/x"
run -C lab gate p/x@a p/x@b --format json
expect_json .functions.functions[0].kind false_sharing
expect_json .functions.explains false
expect_json .functions.missing null
run -C lab gate p/x@a p/x@b
expect_status 4
expect_stdout 'anomalous, but this does not change the decision' 'sum_part (' ': false sharing: threads write different words' '4 and 4 runs with emulated counters (too few to be sure)'
run -C lab report p/x@a p/x@b -o lab/page.html
expect_status 0
cp lab/page.html out
expect_stdout '<section id="functions"' 'data-function="sum_part" data-kind="false_sharing"' 'FUNCTION void sum_part'

# As if a clock had measured them on machines of two types, which are never mixed.
what='several hardware types'
sqlite3 lab/.assay/runs.db "UPDATE sample_file SET back_end = 'time', hardware_type = CASE repetition WHEN 1 THEN 'few' ELSE 'many' END"
run -C lab detect p@a p@b
refused 2 "choose one of 'few', 'many' with --type"
run -C lab gate p/x@a p/x@b
expect_stdout "3 and 3 runs on hardware type 'many' (of 2 that ran both; 'assay detect --type' selects another)"
run -C lab gate p/x@a p/x@b --format json
expect_json .functions.hardware_type many
expect_json .functions.hardware_types 2
expect_json .functions.missing null
sqlite3 lab/.assay/runs.db "UPDATE sample_file SET back_end = 'emulated', hardware_type = ''"

what='the source of what git built'
mkdir lab/repository
cp "$apps/scalar_sum.c" "$apps"/*.h lab/repository
(cd lab/repository && git init -q && git add . && git -c user.name=a -c user.email=a@example.org commit -qm 'A sum') || exit 1
words="-O2 -g -D_GNU_SOURCE -w scalar_sum.c -pthread -o p"
cat >lab/apps/g.yaml <<END
command: ['{build}/p', '4', '30000']
versions:
  a: { git: { repository: ../repository, reference: HEAD, build: [sh, -c, '"$ASSAY" build --for counters -- gcc $words'], directory: p } }
  b: { git: { repository: ../repository, reference: HEAD, build: [sh, -c, '"$ASSAY" build --for counters -- gcc -DBAD $words'], directory: p } }
repetitions: 4
warm_ups: 0
metric: { source: regex, pattern: '([0-9]+)' }
probe: { back_end: emulated, functions: [sum_part] }
END
run -C lab run g --versions a,b --probe
expect_status 0
run -C lab run g --repetitions 2
expect_status 0
run -C lab report g@a g@b -o lab/page.html
expect_status 0
cp lab/page.html out
expect_stdout 'scalar_sum.c:' 'FUNCTION void sum_part'
cases=$((cases + 1))
grep -q '[.]partial' out && fail 'the page names the directory of a build'
rm -r lab/.assay/samples
run -C lab detect p@a p@b
refused 1 'is missing'
run -C lab gate p/x@a p/x@b
expect_stdout 'Samples of functions cannot be used:'

what='nothing there'
mkdir empty
run detect empty new
refused 6 'no sample files'
run detect nonesuch new
refused 2 "there is no directory 'nonesuch'"
mkdir -p damaged/1
head -c 100 "$(ls old/1/*.samples)" >damaged/1/1-1.samples
run detect damaged new
refused 6 'sample files of all its 1 runs are cut off' 'damaged/1/1-1.samples'

what='usage'
run detect old
refused 2 NEW
run detect old new --model nonesuch
refused 2 '--model must be autoencoder or paper'
run detect old new --rate 2
refused 2 '--rate'
run detect old new --clusters 0
refused 2 '--clusters'
run detect old new --threshold x
refused 2 '--threshold'
run detect old new --t 4
refused 2 '--t'
run detect --help
expect_status 0
expect_stdout Example 'Exit status'

finish
