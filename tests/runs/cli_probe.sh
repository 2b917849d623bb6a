# The probe in real programs, by gcc and clang: inspect, probe, samples.
. "${ASSAY_SOURCE:?}/tests/lib_probe.sh"

# shellcheck disable=SC2086
for compiler in gcc clang-14; do
	what="$compiler: known numbers of calls, every one measured"
	$compiler $flags "$source/calls.c" -o calls || exit 1
	native=$(./calls 20)
	probe --functions fib,work,tiny,structure,extended --budget 0 -- ./calls 20
	expect_status 0
	expect_printed "$native"
	expect_member calls fib 21891
	expect_member samples fib 21891
	expect_member calls tiny 20000
	expect_member samples tiny 20000
	expect_member samples work 20
	expect_member samples structure 20
	expect_member samples extended 20
	expect_member unwound tiny 0
	expect_json .files[0].back_end time
	expect_json .files[0].finished true

	what="$compiler: short functions are sampled, calls are counted all the same"
	probe --functions work,tiny -- ./calls 100
	expect_status 0
	expect_printed "$(./calls 100)"
	expect_member calls tiny 100000
	expect_member calls work 100
	cases=$((cases + 1))
	[ "$(member samples tiny)" -lt 100000 ] || fail "$(member samples tiny) of 100000 calls were measured"
	cases=$((cases + 1))
	[ "$(member max_weight tiny)" -gt 1 ] || fail 'a weight above 1 expected'

	what="$compiler: exceptions, long jumps, pthread_exit, tail calls, backtrace"
	$([ $compiler = gcc ] && echo g++ || echo clang++-14) $flags "$source/unwind.cc" -o unwind -pthread || exit 1
	$([ $compiler = gcc ] && echo g++ || echo clang++-14) $flags "$source/throws.cc" -o throws || exit 1
	probe --functions run,leaf --budget 0 -- ./throws
	expect_status 0
	expect_printed 300
	expect_member calls leaf 300
	expect_member samples leaf 300
	expect_member samples run 1
	native=$(./unwind)
	functions='thrower(int),catcher(int),rethrower(int),nester(int),outer(int),jumper(int),jump(int),tail(int),tail_end(int),all(int),leave(int)'
	functions="$functions,thread(void*),main,deep_enough()"
	for budget in 0 0.03 0.3; do
		probe --functions "$functions" --budget $budget -- ./unwind
		expect_status 0
		expect_printed "$native"
		expect_member calls main 1
		expect_json .files[0].finished true
	done
	probe --functions "$functions" --budget 0 -- ./unwind
	expect_member calls 'jumper(int)' 1500
	expect_member unwound 'jumper(int)' 1500
	expect_member samples 'tail(int)' 500
	expect_member unwound 'tail(int)' 0
	expect_member unwound 'catcher(int)' 0
	expect_member unwound 'leave(int)' 16
	expect_member threads 'leave(int)' 4
	expect_member unwound 'all(int)' 0
	expect_member threads 'all(int)' 5
done

what='no register changes, whether a call is measured or only counted'
gcc $flags "$source/registers.c" -o registers || exit 1
for budget in 0 0.03; do
	probe --functions keeper --budget $budget -- ./registers
	expect_status 0
	expect_printed 0
	expect_member calls keeper 20000
done

what='which calls are measured: others in each run, and the file says by which seed'
gcc $flags "$source/calls.c" -o calls || exit 1
probe --functions tiny --seed 7 -- ./calls 100
expect_json .files[0].about.seed 7
probe --functions tiny -- ./calls 100
first=$(sed -n 's/.*"seed": "\([0-9]*\)".*/\1/p' "$tmp/out")
probe --functions tiny -- ./calls 100
cases=$((cases + 1))
[ -n "$first" ] && [ "$first" != "$(sed -n 's/.*"seed": "\([0-9]*\)".*/\1/p' "$tmp/out")" ] || fail "two runs with the seed '$first'"
rm -f samples/*.samples
for _ in 1 2; do
	LD_PRELOAD=$library ASSAY_PROBE_LIST=samples/functions.list ASSAY_PROBE_DIRECTORY=samples ./calls 100 >printed
done
run inspect samples --format json
cases=$((cases + 1))
[ "$(sed -n 's/.*"seed": "\([0-9]*\)".*/\1/p' "$tmp/out" | sort -u | wc -l)" = 2 ] || fail 'two runs by hand should have two seeds'

what='C++ names need no arguments when they are alone'
probe --functions catcher -- ./unwind
expect_status 0

what='more functions than are counted in thread-local storage itself'
awk 'BEGIN {
	for (i = 0; i < 300; i++)
		printf "__attribute__((noinline)) long f%d(long x) { __asm__ volatile(\"\" ::: \"memory\"); return x + %d; }\n", i, i
	print "int main(void)\n{\n\tlong x = 0;\n\tfor (int i = 0; i < 2000; i++) {"
	for (i = 0; i < 300; i++)
		printf "\t\tif (i >= %d) x = f%d(x);\n", i, i
	print "\t}\n\treturn x != 80744950;\n}" }' >many.c
gcc $flags many.c -o many || exit 1
awk 'BEGIN { for (i = 0; i < 300; i++) print "f" i }' >many.txt
for budget in 0 0.03; do
	probe --functions @many.txt --budget $budget -- ./many
	expect_status 0
	for i in 0 255 256 299; do
		expect_member calls f$i $((2000 - i))
		[ $budget = 0.03 ] || expect_member samples f$i $((2000 - i))
	done
done

what='the heap grows where it would without the probe'
cat >heap.c <<'EOF'
#include <unistd.h>
__attribute__((noinline)) long step(long x) { __asm__ volatile(""); return x + 1; }
int main(void) { return step(0) != 1 || sbrk(256 << 20) == (void *)-1; }
EOF
gcc $flags heap.c -o heap || exit 1
if setarch -R true 2>/dev/null; then
	rm -rf samples
	setarch -R "$ASSAY" record --for functions -o samples --functions step -- ./heap >"$tmp/out" 2>"$tmp/err"
	status=$?
	expect_status 0
else
	echo 'not tested: addresses that are not random (setarch -R is not allowed)'
fi

what='a thread that is at work when the process ends'
gcc $flags "$source/alive.c" -o alive -pthread || exit 1
for budget in 0 0.03; do
	probe --functions step --budget $budget -- ./alive
	expect_status 0
	expect_member calls step 1000
done

what='two functions of one name'
gcc $flags -DNAME=one -DMAIN -DOFFSET=1 -c "$source/same.c" -o one.o && gcc $flags -DNAME=other -DOFFSET=2 -c "$source/same.c" -o two.o &&
	gcc one.o two.o -o twice || exit 1
run record --for functions --functions same -- ./twice
refused 2 "2 functions of './twice' are called 'same'" same@0x
address=$(sed -n 's/.*one of \(same@0x[0-9a-f]*\).*/\1/p' "$tmp/err")
probe --functions "$address" -- ./twice
expect_status 0
expect_member calls same 2

what='the list of another command'
printf '# assay functions 1\n# build-id -\nsame\t%s\tsame.c\t3\nother\t0x0\tsame.c\t10\n' "${address#same@}" >list
run record --for functions --functions @list -- ./twice
refused 2 'no function'
printf '# assay functions 1\n# build-id 00\nother\t0x0\tsame.c\t10\n' >list # of another build: by its name
probe --functions @list -- ./twice
expect_status 0
expect_member calls other 1

what='what cannot be probed'
run record --for functions --functions nothing -- ./calls
refused 2 "no function 'nothing' in './calls'"
run record --for functions --functions wrok -- ./calls
refused 2 "did you mean 'work'"
run record --for functions --functions work -- ./not-there
refused 2 not-there
run record --for functions --functions work -- not-there
refused 2 'no program'
run record --for functions -o none/samples --functions work -- ./calls
refused 1 "cannot make the directory 'none/samples': there is no directory 'none' (mkdir -p makes it)"
gcc -g -O2 "$source/calls.c" -o plain
run record --for functions --functions work -- ./plain
refused 2 -fpatchable-function-entry=5
run inspect ./plain
refused 2 -fpatchable-function-entry=5
gcc -O2 -fpatchable-function-entry=5 "$source/calls.c" -o nodebug
run inspect ./nodebug
refused 2 -g
cp calls stripped && strip stripped
run inspect ./stripped
refused 2 stripped
cp calls arm && printf '\267' | dd of=arm bs=1 seek=18 conv=notrunc 2>/dev/null
run inspect ./arm
refused 2 x86-64
head -c 3000 calls >cut
run inspect ./cut
refused 2 truncated
gcc $flags -static "$source/calls.c" -o static && run inspect ./static
refused 2 'static program'
run inspect "$source/calls.c"
refused 2 'not a sample file'
mkdir empty && run inspect empty
refused 6 'no sample files (*.samples)' empty

what='inspect'
run inspect ./calls
expect_status 0
expect_stdout 'can be probed' some_entries
run inspect ./calls --format json
expect_json .can_be_probed true
run inspect ./plain --format json
expect_status 2
expect_json .can_be_probed false

what='flags for other build systems'
# shellcheck disable=SC2046
gcc -O2 $(PKG_CONFIG_PATH=$(dirname "$ASSAY") pkg-config --cflags assay-probe) "$source/calls.c" -o by_pkg_config
run inspect ./by_pkg_config
expect_status 0
mkdir project
cat >project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.20)
project(p C CXX)
include($ASSAY_SOURCE/runs/inside/probe/assay-probe.cmake)
add_executable(calls $source/calls.c)
add_executable(shapes $source/shapes.cc $source/shapes_make.cc)
assay_probe(calls shapes)
END
cmake -S project -B project/build >/dev/null && cmake --build project/build >/dev/null
run inspect project/build/calls
expect_status 0

what='C++ of several files, which gcc 12 does not link without a script'
run record --for functions -o shapes.samples --functions 'make' --budget 0 -- project/build/shapes
expect_status 0
expect_stdout 53
link=$(PKG_CONFIG_PATH=$(dirname "$ASSAY") pkg-config --variable=cxx_link assay-probe)
[ "${link##*/}" = assay-probe.ld ] || fail "pkg-config's cxx_link is '$link'"

what='a function that is never called'
rm -rf samples
run record --for functions -o samples --functions other -- ./twice
expect_status 0
gcc $flags -fPIC -shared "$source/plugin.c" -o libplugin.so || exit 1
run record --for functions -o not-called --functions plugin --module libplugin.so -- true
expect_status 6
expect_error 'no selected function was called'

what='a list of another build, and one that is none'
printf 'f fffffffffffffff8 =calls beyond\nf 1 =calls odd\n' >wild.list
LD_PRELOAD=$library ASSAY_PROBE_LIST=wild.list ./calls 3 >printed 2>"$tmp/err"
expect_printed "$(./calls 3)"
printf '# functions\nf 10\n' >wild.list
LD_PRELOAD=$library ASSAY_PROBE_LIST=wild.list ./calls 3 >printed 2>"$tmp/err"
expect_printed "$(./calls 3)"
cases=$((cases + 1))
grep -q 'line 2$' "$tmp/err" || fail "the line that is none should be said: $(cat "$tmp/err")"

what='a library of another version'
rm -rf samples
run record --for functions -o samples --functions work -- ./calls 3
LD_PRELOAD=$library ASSAY_PROBE_VERSION=99 ASSAY_PROBE_LIST=samples/functions.list ASSAY_PROBE_DIRECTORY=none ./calls 3 >printed 2>"$tmp/err"
cases=$((cases + 1))
[ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q 'version 99' "$tmp/err" || fail 'one line that names both versions expected'
run record --for functions -o samples --functions work -- ./calls 3
refused 2 "'samples' has 1 sample file of an earlier run"
run record --for functions -o wants --functions work --module ./calls -- sh -c 'echo "wants version $ASSAY_PROBE_VERSION"; ./calls 3 >/dev/null'
expect_status 0
expect_stdout 'wants version 1'

what='no room for samples: the program goes on'
run record --for functions --functions fib,tiny --list samples/functions.list -- ./calls
(
	ulimit -f 1000 2>/dev/null # of 512 or 1024 bytes: names fit, not all samples
	ASSAY_PROBE_BUDGET=0 LD_PRELOAD=$library ASSAY_PROBE_LIST=samples/functions.list ASSAY_PROBE_DIRECTORY=samples ./calls 20 >printed 2>"$tmp/err"
	echo $? >ended
)
expect_printed "$(./calls 20)"
cases=$((cases + 1))
[ "$(cat ended)" = 0 ] || fail "the program ended with $(cat ended)"
run inspect samples/*.samples --format json
cases=$((cases + 3))
grep '"dropped"' "$tmp/out" | grep -qv ' 0,' || fail 'samples should have been dropped, and counted'
grep -q '"dropped": "File too large"' "$tmp/out" || fail 'it should be said why'
grep -q '"arguments": "20"' "$tmp/out" || fail 'what the program was asked to do should be kept'
run inspect samples/*.samples
expect_stdout 'samples were dropped: File too large'
LD_PRELOAD=$library ASSAY_PROBE_LIST=samples/functions.list ASSAY_PROBE_DIRECTORY=/proc/none ./calls 20 >printed 2>"$tmp/err"
expect_printed "$(./calls 20)"
cases=$((cases + 1))
grep -q 'cannot write samples' "$tmp/err" || fail 'it should be said that samples cannot be written'

what='little address space'
rm -f samples/*.samples
(
	ulimit -v 400000 # KiB
	ASSAY_PROBE_BUDGET=0 LD_PRELOAD=$library ASSAY_PROBE_LIST=samples/functions.list ASSAY_PROBE_DIRECTORY=samples ./calls 20 >printed 2>"$tmp/err"
)
expect_printed "$(./calls 20)"
run inspect samples/*.samples --format json
expect_member samples fib 21891

what='-finstrument-functions'
gcc -g -O1 -finstrument-functions "$source/calls.c" -o instrumented || exit 1
run inspect ./instrumented
expect_status 0
expect_stdout instrumented
for budget in 0 0.03; do
	probe --functions fib,work,tiny --budget $budget -- ./instrumented 20
	expect_status 0
	expect_printed "$(./instrumented 20)"
	expect_member calls fib 21891
	expect_member calls tiny 20000
	expect_member samples work 20
done

what='linked instead of preloaded'
gcc $flags "$source/calls.c" -o linked -Wl,--no-as-needed "$library" -Wl,-rpath,"$(dirname "$library")" || exit 1
run record --for functions --functions fib --list linked.list -- ./linked
expect_status 0
rm -rf samples && mkdir samples
ASSAY_PROBE_BUDGET=0 ASSAY_PROBE_LIST=linked.list ASSAY_PROBE_DIRECTORY=samples ./linked 1 >printed
run inspect samples/*.samples --format json
expect_member samples fib 21891

what='a system that refuses to change code'
gcc -O2 "$source/refuse.c" -o refuse
if ./refuse code true; then
	probe --functions work --module ./calls -- ./refuse code ./calls 3
	cases=$((cases + 1))
	grep -q "refuses to let this program's code be changed" said && grep -q finstrument-functions said || fail "it should be said, with the way out: $(cat said)"
	expect_printed "$(./calls 3)"
fi

run counters NO_SUCH_EVENT
expect_status 6
run counters --format json
expect_json_parses

finish
