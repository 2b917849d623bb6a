# The probe in real programs, by gcc and clang: doctor, probe, samples.
. "$(dirname "$0")/lib_cli.sh"
source=${ASSAY_SOURCE:?}/tests/probed
flags='-g -O2 -fpatchable-function-entry=5'
cd "$tmp" || exit 1
[ "$(uname -m)" = x86_64 ] || skip 'x86-64 only'

# member NAME FUNCTION: of the function in the document on standard output, one line a file; `assay samples` has a line a member.
member() {
	awk -v member="\"$1\":" -v wanted="\"$2\"," '
		$1 == "\"name\":" { at = substr($0, index($0, ":") + 2) == wanted }
		at && $1 == member { sub(/,$/, "", $2); print $2 }' "$tmp/out"
}

# expect_member NAME FUNCTION VALUE
expect_member() {
	cases=$((cases + 1))
	value=$(member "$1" "$2" | tr '\n' ' ' | sed 's/ $//')
	[ "$value" = "$3" ] || fail "$1 of $2 is '$value', expected '$3'"
}

# probe ARGUMENT...: into a new directory, and its samples as JSON in $tmp/out afterwards; what the program printed in $tmp/printed.
probe() {
	rm -rf samples
	run probe -o samples "$@"
	probe_status=$status
	cp "$tmp/out" printed
	cp "$tmp/err" said
	run samples samples --format json
	status=$probe_status
	cp said "$tmp/err"
}

expect_printed() {
	cases=$((cases + 1))
	[ "$(cat printed)" = "$1" ] || fail "the program printed '$(cat printed)', by itself '$1'"
}

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
	[ "$(member samples tiny)" -lt 20000 ] || fail "$(member samples tiny) of 100000 calls were measured"
	cases=$((cases + 1))
	[ "$(member max_weight tiny)" -gt 1 ] || fail 'a weight above 1 expected'

	what="$compiler: a function that takes less than measuring it is measured the less"
	probe --functions tiny -- ./calls 2000
	expect_status 0
	cases=$((cases + 1))
	# Some 300 on an idle machine, more where others interrupt calls that are measured; 15000 if it were thought to take the 60 ns that a measured call does.
	[ "$(member samples tiny)" -lt 2000 ] || fail "$(member samples tiny) of 2000000 calls were measured: at 60 ns each, more than the budget"

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
	expect_member calls _Z6jumperi 1500
	expect_member unwound _Z6jumperi 1500
	expect_member samples _Z4taili 500
	expect_member unwound _Z4taili 0
	expect_member unwound _Z7catcheri 0
	expect_member unwound _Z5leavei 16
	expect_member threads _Z5leavei 4
	expect_member unwound _Z3alli 0
	expect_member threads _Z3alli 5
done

what='no register changes, whether a call is measured or only counted'
gcc $flags "$source/registers.c" -o registers || exit 1
for budget in 0 0.03; do
	probe --functions keeper --budget $budget -- ./registers
	expect_status 0
	expect_printed 0
	expect_member calls keeper 20000
done

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
	setarch -R "$ASSAY" probe -o samples --functions step -- ./heap >"$tmp/out" 2>"$tmp/err"
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

what='fork: each process has a file of its own'
gcc $flags "$source/processes.c" -o processes || exit 1
probe --functions forker,step --budget 0 -- ./processes
expect_status 0
expect_printed 100
cases=$((cases + 1))
[ "$(member samples step | sort -n | tr '\n' ' ')" = '30 100 ' ] || fail "samples of step: $(member samples step | tr '\n' ' ')"
cases=$((cases + 1))
[ "$(member calls forker | sort -n | tr '\n' ' ')" = '1 ' ] || [ "$(member samples forker | sort -n | tr '\n' ' ')" = '0 1 ' ] ||
	fail 'forker began in the parent: it is the parent that measured it'
what='a call on the stack of a signal handler is counted, not measured'
cases=$((cases + 1))
member calls step | grep -q '^101$' || fail "calls of step: $(member calls step | tr '\n' ' ')"

what='vfork: the child ends with exit(), and its parent goes on to be measured'
probe --functions step --budget 0 -- ./processes vfork
expect_status 0
cases=$((cases + 1))
[ "$(member samples step | sort -n | tr '\n' ' ')" = '30 100 ' ] || fail "samples of step: $(member samples step | tr '\n' ' ')"

what='a child that begins threads before it calls anything that is measured'
gcc $flags "$source/daemon.c" -o daemon -pthread || exit 1
probe --functions step --budget 0 -- ./daemon
expect_status 0
expect_printed 0
cases=$((cases + 1))
[ "$(member samples step | sort -n | tr '\n' ' ')" = '70 100 ' ] || fail "samples of step: $(member samples step | tr '\n' ' ')"
what='a child for which there can be no file goes on'
probe --functions step --budget 0 -- ./daemon gone
expect_status 0
expect_printed 0
expect_member samples step 100

what='exec: what was measured before is kept'
probe --functions step --budget 0 -- ./processes exec
expect_status 0
cases=$((cases + 1))
member samples step | grep -q '^100$' || fail "samples of step: $(member samples step | tr '\n' ' ')"

what='a program that is killed'
probe --functions step --budget 0 -- ./processes killed
expect_status 1
cases=$((cases + 1))
grep -q "'./processes' was ended by signal 9" said || fail 'it should be said how the program ended'
cases=$((cases + 1))
member samples step | grep -q '^100$' || fail "samples of step: $(member samples step | tr '\n' ' ')"
cases=$((cases + 1))
grep -q '"finished": false' "$tmp/out" || fail 'a file should say that its process did not end in order'

what='a library that is loaded later, three times'
mkdir plugins
gcc $flags -fPIC -shared "$source/plugin.c" -o plugins/libplugin.so || exit 1
gcc $flags "$source/loader.c" -o loader -ldl -Wl,-rpath,"$tmp/plugins",--enable-new-dtags || exit 1
native=$(./loader)
probe --functions plugin,plugin_inner --module plugins/libplugin.so --budget 0 -- ./loader
expect_status 0
expect_printed "$native"
expect_member samples plugin_inner 30
expect_member calls plugin 30

what='threads that were there before the library, and one that loads it'
gcc $flags "$source/late.c" -o late -ldl -pthread -Wl,-rpath,"$tmp/plugins",--enable-new-dtags || exit 1
for how in '' worker; do
	probe --functions plugin_inner --module plugins/libplugin.so --budget 0 -- ./late $how
	expect_status 0
	expect_printed 'done'
	expect_member samples plugin_inner 50
	expect_member calls plugin_inner 50
done

what='two functions of one name'
gcc $flags -DNAME=one -DMAIN -DOFFSET=1 -c "$source/same.c" -o one.o && gcc $flags -DNAME=other -DOFFSET=2 -c "$source/same.c" -o two.o &&
	gcc one.o two.o -o twice || exit 1
run probe --functions same -- ./twice
refused 2 "2 functions of './twice' are called 'same'" same@0x
address=$(sed -n 's/.*one of \(same@0x[0-9a-f]*\).*/\1/p' "$tmp/err")
probe --functions "$address" -- ./twice
expect_status 0
expect_member calls same 2

what='the list of another command'
printf '# assay functions 1\n# build-id -\nsame\t%s\tsame.c\t3\nother\t0x0\tsame.c\t10\n' "${address#same@}" >list
run probe --functions @list -- ./twice
refused 2 'no function'
printf '# assay functions 1\n# build-id 00\nother\t0x0\tsame.c\t10\n' >list # of another build: by its name
probe --functions @list -- ./twice
expect_status 0
expect_member calls other 1

what='what cannot be probed'
run probe --functions nothing -- ./calls
refused 2 "no function 'nothing' in './calls'"
run probe --functions wrok -- ./calls
refused 2 "did you mean 'work'"
run probe --functions work -- ./not-there
refused 2 not-there
run probe --functions work -- not-there
refused 2 'no program'
run probe -o none/samples --functions work -- ./calls
refused 1 "cannot make the directory 'none/samples': there is no directory 'none' (mkdir -p makes it)"
gcc -g -O2 "$source/calls.c" -o plain
run probe --functions work -- ./plain
refused 2 -fpatchable-function-entry=5
run doctor ./plain
refused 2 -fpatchable-function-entry=5
gcc -O2 -fpatchable-function-entry=5 "$source/calls.c" -o nodebug
run doctor ./nodebug
refused 2 -g
cp calls stripped && strip stripped
run doctor ./stripped
refused 2 stripped
cp calls arm && printf '\267' | dd of=arm bs=1 seek=18 conv=notrunc 2>/dev/null
run doctor ./arm
refused 2 x86-64
head -c 3000 calls >cut
run doctor ./cut
refused 2 truncated
gcc $flags -static "$source/calls.c" -o static && run doctor ./static
refused 2 'static program'
run samples calls
refused 2 'not a file of samples'
mkdir empty && run samples empty
refused 6 'no files of samples (*.samples)' empty

what='doctor'
run doctor ./calls
expect_status 0
expect_stdout 'can be probed' some_entries
run doctor ./calls --format json
expect_json .can_be_probed true
run doctor ./plain --format json
expect_status 2
expect_json .can_be_probed false

what='flags for other build systems'
# shellcheck disable=SC2046
gcc -O2 $(PKG_CONFIG_PATH=$(dirname "$ASSAY") pkg-config --cflags assay-probe) "$source/calls.c" -o by_pkg_config
run doctor ./by_pkg_config
expect_status 0
mkdir project
printf 'cmake_minimum_required(VERSION 3.20)\nproject(p C)\ninclude(%s/runs/probe/assay-probe.cmake)\nadd_executable(calls %s/calls.c)\nassay_probe(calls)\n' \
	"$ASSAY_SOURCE" "$source" >project/CMakeLists.txt
cmake -S project -B project/build >/dev/null && cmake --build project/build >/dev/null
run doctor project/build/calls
expect_status 0

what='a function that is never called'
rm -rf samples
run probe -o samples --functions other -- ./twice
expect_status 0
run probe -o samples --functions plugin --module plugins/libplugin.so -- true
expect_status 6
expect_error 'no selected function was called'

what='a list of another build, and one that is none'
printf 'f fffffffffffffff8 =calls beyond\nf 1 =calls odd\n' >wild.list
LD_PRELOAD=$(dirname "$ASSAY")/libassay-probe.so ASSAY_PROBE_LIST=wild.list ./calls 3 >printed 2>"$tmp/err"
expect_printed "$(./calls 3)"
printf '# functions\nf 10\n' >wild.list
LD_PRELOAD=$(dirname "$ASSAY")/libassay-probe.so ASSAY_PROBE_LIST=wild.list ./calls 3 >printed 2>"$tmp/err"
expect_printed "$(./calls 3)"
cases=$((cases + 1))
grep -q 'line 2$' "$tmp/err" || fail "the line that is none should be said: $(cat "$tmp/err")"

what='a library of another version'
rm -rf samples
run probe -o samples --functions work -- ./calls 3
library=$(dirname "$ASSAY")/libassay-probe.so
LD_PRELOAD=$library ASSAY_PROBE_VERSION=99 ASSAY_PROBE_LIST=samples/functions.list ASSAY_PROBE_DIRECTORY=none ./calls 3 >printed 2>"$tmp/err"
cases=$((cases + 1))
[ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q 'version 99' "$tmp/err" || fail 'one line that names both versions expected'

what='no room for samples: the program goes on'
run probe --functions fib,tiny --list samples/functions.list -- ./calls
(
	ulimit -f 1000 2>/dev/null # of 512 or 1024 bytes: names fit, not all samples
	ASSAY_PROBE_BUDGET=0 LD_PRELOAD=$library ASSAY_PROBE_LIST=samples/functions.list ASSAY_PROBE_DIRECTORY=samples ./calls 20 >printed 2>"$tmp/err"
	echo $? >ended
)
expect_printed "$(./calls 20)"
cases=$((cases + 1))
[ "$(cat ended)" = 0 ] || fail "the program ended with $(cat ended)"
run samples samples/*.samples --format json
cases=$((cases + 1))
grep '"dropped"' "$tmp/out" | grep -qv ' 0,' || fail 'samples should have been dropped, and counted'
LD_PRELOAD=$library ASSAY_PROBE_LIST=samples/functions.list ASSAY_PROBE_DIRECTORY=/proc/none ./calls 20 >printed 2>"$tmp/err"
expect_printed "$(./calls 20)"
cases=$((cases + 1))
grep -q 'cannot write samples' "$tmp/err" || fail 'it should be said that samples cannot be written'

what='-finstrument-functions'
gcc -g -O1 -finstrument-functions "$source/calls.c" -o instrumented || exit 1
run doctor ./instrumented
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
run probe --functions fib --list linked.list -- ./linked
expect_status 0
rm -rf samples && mkdir samples
ASSAY_PROBE_BUDGET=0 ASSAY_PROBE_LIST=linked.list ASSAY_PROBE_DIRECTORY=samples ./linked 1 >printed
run samples samples/*.samples --format json
expect_member samples fib 21891

what='a system that refuses to change code'
gcc -O2 "$source/refuse.c" -o refuse
if ./refuse true; then
	probe --functions work --module ./calls -- ./refuse ./calls 3
	cases=$((cases + 1))
	grep -q 'refuses to change' said && grep -q finstrument-functions said || fail "it should be said, with the way out: $(cat said)"
	expect_printed "$(./calls 3)"
fi

what='what the kernel counts'
probe --functions work --budget 0 --counters perf::PAGE-FAULTS,perf::CONTEXT-SWITCHES -- ./calls 5
if grep -q 'not allowed' said; then
	echo 'skipped: this user may not count'
else
	expect_status 0
	expect_json .files[0].back_end software
	expect_member samples work 5
	cases=$((cases + 1))
	[ -n "$(member perf::PAGE-FAULTS work)" ] || fail 'page faults of work expected'
	gcc $flags "$source/closes.c" -o closes || exit 1
	probe --functions step --budget 0 --counters perf::PAGE-FAULTS,perf::CONTEXT-SWITCHES -- ./closes
	expect_status 0
	expect_printed '0 0'
	expect_member samples step 21
fi

what='counters through PAPI, in a child too, unless its parent had other threads'
if gcc $flags "$source/counted.c" -o counted -lsde -pthread 2>"$tmp/err"; then
	run probe --functions step --list counted.list -- ./counted
	expect_status 0
	# how it runs, the counter's mean in parent and child (a call in which it went backwards is not counted), how many files say why not
	for row in 'alone:3 7 :0' 'backwards:3 7 :0' 'threads:null 3 :1'; do
		how=${row%%:*} refused=${row##*:} counted=${row#*:} counted=${counted%:*}
		rm -rf samples && mkdir samples
		LD_PRELOAD=$library ASSAY_PROBE_LIST=counted.list ASSAY_PROBE_DIRECTORY=samples ASSAY_PROBE_BUDGET=0 \
			ASSAY_PROBE_COUNTERS=papi:sde:::steps::taken ./counted "$how" >printed 2>"$tmp/err"
		status=$?
		expect_status 0
		run samples samples/*.samples --format json
		grep -c '"not_counted": "the child of a process with several threads"' "$tmp/out" >refused_children
		cases=$((cases + 3))
		[ "$(member samples step | sort -n | tr '\n' ' ')" = '30 100 ' ] || fail "$how: samples of step: $(member samples step | tr '\n' ' ')"
		[ "$(member sde:::steps::taken step | sort -n | tr '\n' ' ')" = "$counted" ] ||
			fail "$how: counted in step: $(member sde:::steps::taken step | tr '\n' ' ')"
		[ "$(cat refused_children)" = "$refused" ] || fail "$how: the reason belongs to the child of several threads alone"
	done
else
	echo 'not tested: counters through PAPI (no libsde; libpapi-dev has it)'
fi
run counters NO_SUCH_EVENT
expect_status 6
run counters --format json
expect_json_parses

finish
