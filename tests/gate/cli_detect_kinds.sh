# What is said of a function beside its leading kind of trouble: that it is a side effect of another one, or has a second fault; by detect, in the gate and
# on the page.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
cd "$tmp" || exit 1

# build SOURCE FLAG PROGRAM
build() {
	"$ASSAY" build --for counters -- gcc -O2 -g -std=c11 -D_GNU_SOURCE "$2" "$1" -pthread -o "$3" || exit 1
}

# sample PROGRAM DIRECTORY RUNS [ARGUMENT...]
sample() {
	program=$1 directory=$2 runs=$3
	shift 3
	for i in $(seq "$runs"); do
		mkdir -p "$directory/$i"
		ASSAY_EMULATE_DIRECTORY=$directory/$i "./$program" "$@" >/dev/null || exit 1
	done
}

# walk goes through memory, each step on a page of its own where STEP is 1024; look does the same in any case, on 64 pages that walk then evicts.
cat >evicts.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
static volatile long sum;
static int *walked, *looked;
__attribute__((noinline)) void walk(void) { for (long i = 0; i < 4096; i++) sum += walked[i * STEP]; }
__attribute__((noinline)) void look(void) { for (long i = 0; i < 4096; i++) sum += looked[i % 64 * 1024]; }
int main(void)
{
	walked = calloc(4096 * 1024, sizeof(int));
	looked = calloc(64 * 1024, sizeof(int));
	for (int i = 0; i < 60; i++) {
		walk();
		look();
	}
	printf("cost %d\n", STEP);
	return sum != 0;
}
EOF
build evicts.c -DSTEP=1 good
build evicts.c -DSTEP=1024 bad
sample good old 9
sample bad new 3

what='a side effect'
run detect old new --rate .1 --new-build bad
expect_status 3
expect_stdout '1 of 2 functions changed behaviour' 'side effects: caused by another function' \
	"  look  ($tmp/evicts.c:6)  of walk, in 3 of 3 runs"
run detect old new --rate .1 --format json
expect_status 3
expect_json .functions[0].name walk
expect_json .functions[0].anomalous true
expect_json .functions[0].side_effect_of null
expect_json .functions[1].name look
expect_json .functions[1].anomalous false
expect_json .functions[1].side_effect_of walk
expect_json .functions[1].kind tlb
expect_json .functions[1].runs_anomalous 3
expect_json .reasons[1].code side_effect
expect_json .reasons[1].text 'look: a side effect of walk'
run detect new old --rate .25 --format json
expect_status 0
expect_json .decision improved
expect_json .functions[1].side_effect_of null

what='two kinds of one function'
run detect old new --rate .1 --format json
expect_json .functions[0].kind tlb
expect_json .functions[0].further_kinds 1
expect_json .functions[0].further_kinds[0] cache_capacity
run detect old new --rate .1
expect_stdout '  TLB: it uses more pages' '  also cache capacity: '

what='two faults in one function'
both=$ASSAY_SOURCE/tests/bench/detect_both.c
build "$both" -DFAULTS=0 none
build "$both" -DFAULTS=1 sharing
build "$both" -DFAULTS=15 asking
sample none b-old 9 4 30
sample sharing b-one 3 4 30
sample asking b-two 3 4 30
run detect b-old b-one --rate .1 --format json
expect_status 3
expect_json .functions[0].kind false_sharing
expect_json .functions[0].further_kinds 0
run detect b-old b-two --rate .1 --format json
expect_status 3
expect_json .functions[0].name work_on
expect_json .functions[0].kind false_sharing
expect_json .functions[0].further_kinds[0] system_calls
expect_json .reasons[0].text 'work_on: false sharing: threads write different words of one cache line; also system calls, in 3 of 3 runs'
run detect b-two b-old --rate .25
expect_status 0
expect_stdout 'improved, less: false sharing' '  also less: system calls'

what='in the gate and on the page'
"$ASSAY" init lab >/dev/null
mkdir -p lab/built/a lab/built/b
cp good lab/built/a/p
cp bad lab/built/b/p
printf 'hosts: [{ name: here, transport: local }]\n' >>lab/lab.yaml
cat >lab/apps/p.yaml <<EOF
command: ['{build}/p']
versions: { a: { directory: $tmp/lab/built/a }, b: { directory: $tmp/lab/built/b } }
repetitions: 4
warm_ups: 0
time_limit: 20
metric: { source: regex, pattern: 'cost ([0-9]+)' }
probe: { back_end: emulated, functions: [walk, look] }
EOF
run -C lab run p --probe
expect_status 0
run -C lab run p
expect_status 0
run -C lab gate p@a p@b --format json
expect_json .functions.functions[0].name walk
expect_json .functions.functions[0].further_kinds[0] cache_capacity
expect_json .functions.functions[1].name look
expect_json .functions.functions[1].side_effect_of walk
run -C lab gate p@a p@b
expect_stdout '  walk (' ': TLB: it uses more pages than the TLB holds; also cache capacity: ' '  side effects: look of walk'
run -C lab report p@a p@b -o lab/page.html
expect_status 0
cp lab/page.html out
expect_stdout 'data-function="walk" data-kind="tlb"' '; also cache capacity: ' 'side effects: look of '

what='samples of another build than the results'
cp good lab/built/b/p
run -C lab run p
expect_status 0
run -C lab gate p@a p@b --format json
expect_json .functions.missing "those of p@b are from another build than the results ('assay run p --probe --versions a,b' takes new samples)"
expect_json .functions.explains false
expect_json .functions.functions '(nothing)'
run -C lab gate p@a p@b
expect_stdout "Samples of functions cannot be used: those of p@b are from another build than the results ('assay run p --probe --versions a,b' takes new samples)"
run -C lab report p@a p@b -o lab/page.html
expect_status 0
cp lab/page.html out
expect_stdout 'Samples of functions cannot be used: those of p@b are from another build'
run -C lab detect p@a p@b --rate .2 --format json
expect_status 3
expect_json .samples[0].stale false
expect_json .samples[1].stale true
cases=$((cases + 1))
grep -q "p@b: its samples are from another build than its latest runs" "$tmp/err" || fail "the samples are old: $(cat "$tmp/err")"
run -C lab inspect p@b --format json
expect_json .files[0].stale true
run -C lab inspect p@b
expect_stdout 'from another build than the latest runs'
what='new samples, and older ones beside them'
run -C lab run p --probe --versions a,b
expect_status 0
run -C lab gate p@a p@b --format json
expect_json .functions.missing null
expect_json .functions.samples[0].other_builds 0
expect_json .functions.samples[1].other_builds 4
run -C lab gate p@a p@b
expect_stdout 'p@b: samples of 4 runs of another build than the results are excluded'
run -C lab report p@a p@b -o lab/page.html
cp lab/page.html out
expect_stdout 'Samples of 4 runs of p@b</dt><dd>of another build than that of its results'
what='samples of a build that has no results yet: those of the build that has some'
cp bad lab/built/b/p
run -C lab run p --probe --versions a,b
expect_status 0
run -C lab gate p@a p@b --format json
expect_json .functions.missing null
expect_json .functions.samples[1].other_builds 8
expect_json .functions.samples[1].runs 4

finish
