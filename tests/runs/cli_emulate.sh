# The commands of the emulation as users type them, and what they say when something is wrong. What is counted: test_emulation.c.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
cd "$tmp" || exit 1
apps=$ASSAY_SOURCE/tests/apps

what='a program in one step'
run build --for counters -- gcc -O2 -D_GNU_SOURCE "$apps/branch.c" -o one
expect_status 0
expect_no_stdout
expect_no_stderr

what='and in two'
run build --for counters -- gcc -O2 -D_GNU_SOURCE -c "$apps/branch.c" -o two.o
expect_status 0
run build --for counters -- gcc two.o -o two
expect_status 0
cmp -s one two || { echo 'note: the two differ'; }

what='sources and options in a file'
echo "-O2 -D_GNU_SOURCE '$apps/branch.c'" >response
run build --for counters -- gcc @response -o three
expect_status 0
run record --for counters -o of-three -- ./three 1 1000
expect_status 0
expect_error "samples in 1 file of 'of-three'"

if command -v cmake >/dev/null; then
	what='cmake, with ccache as its launcher'
	mkdir by-cmake launcher
	printf '#!/bin/sh\nexec "$@"\n' >launcher/ccache
	chmod 755 launcher/ccache
	printf 'cmake_minimum_required(VERSION 3.21)\nproject(p C)\nadd_executable(made %s)\nset(CMAKE_C_FLAGS -D_GNU_SOURCE)\n' "$apps/branch.c" >by-cmake/CMakeLists.txt
	CC=gcc "$ASSAY" build --for counters -- cmake -S by-cmake -B built "-DCMAKE_C_COMPILER_LAUNCHER=$PWD/launcher/ccache" >out.log 2>&1
	"$ASSAY" build --for counters -- cmake --build built >>out.log 2>&1
	run record --for counters -o of-made -- built/made 1 1000
	expect_status 0
	expect_error "samples in 1 file of 'of-made'"
fi

what='it runs as any other'
gcc -O2 -D_GNU_SOURCE -w "$apps/branch.c" -o native
./native 1 1000 >expected
./one 1 1000 >out
expect_same_files expected out
./two 1 1000 >out
expect_same_files expected out
ls -- *.samples >/dev/null 2>&1 && fail 'samples although nobody asked for them'

what='and counts when it is asked to'
run record --for counters -o samples -- ./one 1 1000
expect_status 0
expect_same_files expected out
expect_error "samples in 1 file of 'samples', 0." " MiB: 'assay inspect samples' shows them, 'assay detect OLD NEW' compares those of two builds"
cases=$((cases + 1))
[ "$(ls samples | wc -l)" -eq 1 ] || fail 'one sample file expected'
run inspect samples/*.samples --format json
cases=$((cases + 1))
grep -q '"arguments": "1 1000"' "$tmp/out" || fail 'what the program was asked to do should be kept'
cases=$((cases + 1))
[ "$(stat -c %a samples/*)" = 600 ] || fail 'nobody else should see it'

what='a second run into the same directory would look like one that did twice as much'
run record --for counters -o samples -- ./one 1 1000
refused 2 "'samples' has 1 sample file of an earlier run: name another directory with -o"
cases=$((cases + 1))
[ "$(ls samples | wc -l)" -eq 1 ] || fail 'the program should not have run'

what='what was not built for it writes nothing, and that is said'
printf 'int main(void) { return 0; }\n' >plain.c
gcc plain.c -o plain
run record --for counters -o nothing -- ./plain
refused 6 "the program wrote no samples: it must be built by 'assay build --for counters'"

what='what was built for it and wrote nothing all the same: why'
cat >ways.c <<'EOF'
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) long work(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}

int main(int argc, char **argv)
{
	if (work(1000) && argc > 1 && strcmp(argv[1], "exec") == 0)
		execl("/bin/true", "true", (char *)NULL);
	if (argc > 1 && strcmp(argv[1], "daemon") == 0 && daemon(1, 0) == 0)
		sleep(5);
	return 0;
}
EOF
run build --for counters -- gcc -O2 ways.c -o ways
run record --for counters -o ways-exec -- ./ways exec
refused 6 "the program's samples are lost or not yet written"
run record --for counters -o ways-daemon -- ./ways daemon
refused 6 "the program's samples are lost or not yet written"
run record --for counters -o ways-functions --functions nosuch -- ./ways
refused 6 'none of the functions of --functions was called'

what='more threads at a time than are followed: that is said'
cat >crowd.c <<'EOF'
#include <pthread.h>

#define CROWD 300

static pthread_barrier_t all;

static void *wait_for_all(void *unused)
{
	pthread_barrier_wait(&all);
	return unused;
}

int main(void)
{
	pthread_t threads[CROWD];

	pthread_barrier_init(&all, NULL, CROWD);
	for (int i = 0; i < CROWD; i++)
		pthread_create(&threads[i], NULL, wait_for_all, NULL);
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
EOF
run build --for counters -- gcc -O2 -pthread crowd.c -o crowd
run record --for counters -o crowd-samples -- ./crowd
expect_status 0
cases=$((cases + 2))
grep -q '45 threads were not simulated or counted: more ran at once than the emulation follows' "$tmp/err" || fail 'it should be said'
run detect crowd-samples crowd-samples
grep -q 'crowd-samples: 45 threads of a run were not simulated' "$tmp/err" || fail 'it should be said'

what='memory lies where it lies natively, however long the path of the program'
printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { printf("%%zx\\n", (size_t)malloc(40) %% 4096); return 0; }\n' >heap.c
gcc heap.c -o heap
./heap >expected-heap
for name in h hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh; do
	run build --for counters -- gcc heap.c -o "$name"
	expect_status 0
	run record --for counters -o "heap-samples.${#name}" -- ./"$name"
	expect_status 0
	expect_same_files expected-heap out
done

what='a function that the compiler inlines counts as its caller, as in production'
cat >helper.c <<'END'
#ifdef SPLIT
static long added(long x) { return x + 3; }
#else
#define added(x) ((x) + 3)
#endif
int main(void) { volatile long sum = 0; for (long i = 0; i < 1000; i++) sum = added(sum); return sum != 3000; }
END
for split in '' -DSPLIT; do
	run build --for counters -- gcc -O2 $split helper.c -o helper
	expect_status 0
	run record --for counters -o "helper-samples$split" -- ./helper
	expect_status 0
	run inspect "helper-samples$split" --format json
	jq -c '[.files[].functions[] | [.name, .calls]], .files[].about["total:emulated:blocks"]' out >"helper-counts$split"
done
expect_same_files helper-counts helper-counts-DSPLIT

what='a run leaves about 1 MiB, however many functions it calls, and the totals are whole'
{
	for i in $(seq 40); do echo "static __attribute__((noinline)) long f$i(volatile long *x) { return *x += $i; }"; done
	echo 'int main(void) { volatile long x = 0; for (int i = 0; i < 20000; i++) {'
	for i in $(seq 40); do echo "f$i(&x);"; done
	echo '} return 0; }'
} >many.c
run build --for counters -- gcc -O2 many.c -o many
expect_status 0
run record --for counters -o many-samples -- ./many
expect_status 0
cases=$((cases + 1))
[ "$(du -sk many-samples | cut -f 1)" -le 1300 ] || fail "$(du -sk many-samples)"
run inspect many-samples --format json
cases=$((cases + 1))
[ "$(jq '[.files[].functions[] | select(.calls == 20000 and .samples > 0)] | length' out)" = 40 ] || fail 'all functions have totals and samples'

what='make, with the compiler as a variable'
printf 'all: a.o b.o\n\t$(CC) a.o b.o -o made\n' >Makefile
printf 'int f(void);\nint main(void) { return f(); }\n' >a.c
printf 'static volatile int x;\nint f(void) { return x++; }\n' >b.c
make -s CC="$ASSAY build --for counters -- gcc" >out 2>err
status=$?
expect_status 0
touch a.c b.c
run build --for counters -- make -s
expect_status 0
expect_no_stderr
run record --for counters -o made-samples -- ./made
expect_status 0

what='a list of functions that cannot be read'
ASSAY_EMULATE_DIRECTORY=. ASSAY_EMULATE_FUNCTIONS=@none.list ./made >/dev/null 2>"$tmp/err"
status=$?
expect_status 0
cases=$((cases + 1))
grep -q 'cannot record samples: cannot read the list of functions @none.list: No such file' "$tmp/err" || fail "$(cat "$tmp/err")"

what='a program that does not compile'
printf 'int main(void) { return y; }\n' >wrong.c
run build --for counters -- gcc wrong.c -o wrong
expect_status 1
expect_no_stdout
cases=$((cases + 1))
grep -q "^assay build: 'gcc' ended with status 1" err || fail 'the last line should say who failed'
cases=$((cases + 1))
[ -z "$(ls -d "${TMPDIR:-/tmp}"/assay-emulate-* 2>/dev/null | xargs -r -n 1 find 2>/dev/null | grep wrong)" ] || fail 'something was left behind'

what='a program that fails'
printf 'int main(void) { return 3; }\n' >three.c
run build --for counters -- gcc three.c -o three
run record --for counters -o three-samples -- ./three
refused 1 "'./three' ended with status 3"

what='a program that is killed keeps what it has'
printf '#include <signal.h>\nstatic volatile int x; static __attribute__((noinline)) void f(void) { for (int i = 0; i < 200000; i++) x++; }\n' >killed.c
printf 'int main(void) { for (int i = 0; i < 40; i++) f(); raise(SIGKILL); }\n' >>killed.c
run build --for counters -- gcc -O2 killed.c -o killed
run record --for counters -o kept -- ./killed
refused 1 'was killed by signal 9'
cases=$((cases + 1))
[ "$(ls kept | wc -l)" -eq 1 ] || fail 'its samples should be there'

what='handlers that jump out of what they interrupt, locks too'
run build --for counters -- gcc -g -O2 "$ASSAY_SOURCE/tests/probed/jumps.c" -o jumps
timeout 600 "$ASSAY" record --for counters -o jumps-samples -- ./jumps 3000 >out 2>err
status=$?
expect_status 0
expect_stdout 'done'
cases=$((cases + 1))
! grep -q 'not built' err || fail "what the emulation does there is no time of the program's: $(cat err)"

what='signals at random moments, and coroutines that handlers switch to'
run build --for counters -- gcc -g -O1 "$ASSAY_SOURCE/tests/probed/hostile.c" -o hostile -pthread
for _ in 1 2 3; do
	rm -rf hostile-samples
	timeout 600 "$ASSAY" record --for counters -o hostile-samples -- ./hostile 100 >out 2>err
	status=$?
	expect_status 0
	cases=$((cases + 1))
	[ "$(sort -u out)" = 757 ] || fail "natively it prints 757 only, now: $(cat out err)"
done

what='storms of signals for threads that wait for each other in loops around sched_yield()'
run build --for counters -- gcc -g -O2 "$apps/special/storms.c" -o storms -pthread
for i in 1 2; do
	timeout 600 "$ASSAY" record --for counters -o storms-$i -- ./storms >out 2>err
	status=$?
	expect_status 0
	expect_stdout 1999000
	cases=$((cases + 1))
	"$ASSAY" inspect storms-$i --format json >said || fail 'its samples cannot be read'
	jq -e '.files[0] | (.about["total:emulated:accesses"] | tonumber) as $all | .functions | all((.counters["emulated:accesses"] - 1) * .calls <= $all
		and .total["emulated:accesses"] <= (.counters["emulated:accesses"] + 1) * .calls)' said >out ||
		fail "a function's own count is above its sum, or that above all that was counted"
	jq -e '[.files[0].functions[] | select(.name == "main" or .name == "gets").calls] == [1, 1]' said >out || fail 'each is called once'
	jq -e '.files[0].functions | map({key: .name, value: (.total["emulated:accesses"] / .calls)}) | from_entries |
		.put >= 3 and .put < 3.1 and .get >= 5 and .get < 5.1 and .on_signal == 8' said >out ||
		fail "all that each call does counts, and looks in vain do not: $(jq -c '.files[0].functions | map([.name, .calls, .total["emulated:accesses"]])' said)"
	jq -e '[.files[0].functions[] | select(.name == "put" or .name == "get").calls] == [2000, 2000]' said >out ||
		fail "looks in vain are no calls, and handlers end no waiting: $(jq -c '.files[0].functions | map([.name, .calls])' said)"
done

what='names of C++ as people write them, and the symbol'
printf 'struct pile { __attribute__((noinline)) int add(int x) { return y += x; } int y = 0; };\nint main() { pile p; return p.add(0); }\n' >names.cc
run build --for counters -- g++ names.cc -o names
run record --for counters -o names-samples -- ./names
run inspect names-samples
expect_stdout 'pile::add(int) '
run inspect names-samples --format json
expect_stdout '"name": "pile::add(int)",'
expect_stdout '"symbol": "_ZN4pile3addEi",'

what='many short calls in one thread: there is no other to wait for'
run build --for counters -- gcc -g -O1 "$ASSAY_SOURCE/tests/probed/calls.c" -o calls
timeout 600 "$ASSAY" record --for counters --functions fib,work -o calls-samples -- ./calls 10 >out 2>err
status=$?
expect_status 0
run inspect calls-samples
expect_stdout 'fib             1  21891'

what='many short calls in several threads: more than a thread keeps in one window of time'
run build --for counters -- gcc -g -O2 "$ASSAY_SOURCE/tests/probed/short.c" -o short -pthread
timeout 600 "$ASSAY" record --for counters -o short-samples -- ./short >out 2>err
status=$?
expect_status 0
expect_stdout 4185000
run inspect short-samples
expect_stdout 'leaf            3  139500'

what='a directory that cannot be written'
: >file
run record --for counters -o file -- ./one 1 1000
expect_status 1
ASSAY_EMULATE_DIRECTORY=$tmp/none ./one 1 1000 >out 2>err
status=$?
expect_status 0
expect_same_files expected out
expect_error 'cannot record samples: cannot write to '"$tmp/none"

what='the directory of a directory or a file is not made, and it is said which one is missing'
run record --for counters -o none/samples -- ./one 1 1000
refused 1 "cannot make the directory 'none/samples': there is no directory 'none' (mkdir -p makes it)"

what='what restricts its system calls, in the program or in a library, and what locks its memory'
gcc -shared -fPIC -O1 "$ASSAY_SOURCE/tests/emulated/seal.c" -DLIBRARY -o libseal.so
run build --for counters -- gcc -O1 -D_GNU_SOURCE "$ASSAY_SOURCE/tests/emulated/seal.c" -o sealed
expect_status 0
run build --for counters -- gcc -O1 -D_GNU_SOURCE -DCALLER "$ASSAY_SOURCE/tests/emulated/seal.c" -L. -lseal "-Wl,-rpath,$PWD" -o sealed-by-library
expect_status 0
for row in 'sealed prctl' 'sealed strict' 'sealed syscall' 'sealed locked' 'sealed-by-library syscall'; do
	rm -rf of-sealed
	# shellcheck disable=SC2086
	run record --for counters -o of-sealed -- ./$row
	expect_status 0
	expect_stdout survived
done

what='usage'
run build --for counters -- nonesuch-cc -c a.c
refused 1 "cannot run 'nonesuch-cc'"
run build --for counters -- gcc -static a.o -o a
refused 2 'linked dynamically'
run build --for counters -- gcc -fsanitize=address -c a.c
refused 2 'takes the place of such a sanitizer'
run record --for counters
refused 2 'missing argument: -- PROGRAM'
run record --for counters --nodes 0 -- ./one
refused 2 '--nodes'
run record --for counters --help
expect_status 0
expect_stdout 'Example'

finish
