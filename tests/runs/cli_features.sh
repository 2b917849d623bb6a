# Programs that count: whether the numbers are those that the program counts itself, whatever it does and however it ends; and the commands
# as users type them.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
cd "$tmp" || exit 1
probed=$ASSAY_SOURCE/tests/probed

# Compares what a program said (tests/probed/features.c) with its features as text; prints what differs, and how much was compared.
cat >same.awk <<'END'
FNR == NR { if ($1 == "branch") { taken[$2] += $3; tested[$2] += $4 } else truth[$1 " " $2] += $3; next }
$2 == "loop" { split($3, at, ":"); got["loop " at[2]] += $1 }
$2 == "call" { split($4, at, ":"); got["call " at[2]] += $1 }
$2 == "branch" && / taken$/ && !/ not taken$/ { split($3, at, ":"); yes[at[2]] = yes[at[2]] " " $1 }
$2 == "branch" && / not taken$/ { split($3, at, ":"); no[at[2]] = no[at[2]] " " $1 }
END {
	for (k in truth) { n++; if (truth[k] != got[k]) print k ": " truth[k] " expected, counted: " got[k] }
	for (k in tested) {
		n++
		if (!index(yes[k] " ", " " taken[k] " ") && !index(no[k] " ", " " tested[k] - taken[k] " "))
			print "branch " k ": " taken[k] " of " tested[k] " expected, taken:" yes[k] ", not:" no[k]
	}
	print n
}
END

# counts N PROGRAM...: the features are what the program says, N of them.
counts() {
	expected=$1
	shift
	rm -rf counts
	"$ASSAY" record --for features -o counts -- "$@" >truth 2>"$tmp/err"
	"$ASSAY" inspect --text counts >text 2>>"$tmp/err"
	cases=$((cases + 1))
	[ "$(awk -f "$tmp/same.awk" truth text)" = "$expected" ] || fail "$(awk -f "$tmp/same.awk" truth text)"
}

"$ASSAY" build --for features -- gcc -c -x c /dev/null -o none.o 2>err || ! grep -q 'without the plugin' err || skip 'no plugin of gcc'

for level in -O0 -O2; do
	what="loops, calls and branches, built with $level"
	run build --for features -- gcc $level -w -pthread "$probed/features.c" -o counted
	expect_status 0
	expect_no_stdout
	expect_no_stderr
	counts 12 ./counted one
	counts 22 ./counted quiet
done
what='children count in files of their own'
counts 15 ./counted fork
what='a coroutine that throws goes on as it would'
cat >coroutine.cc <<'END'
#include <coroutine>
#include <cstdio>
struct numbers {
	struct promise_type {
		int value;
		numbers get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int x) { value = x; return {}; }
		void return_void() {}
		void unhandled_exception() { throw; }
	};
	std::coroutine_handle<promise_type> handle;
	~numbers() { handle.destroy(); }
};
static numbers below(int n)
{
	for (int i = 0; i < n; i++)
		co_yield i;
	throw n;
}
int main()
{
	int sum = 0;
	for (int k = 0; k < 10; k++) {
		numbers all = below(20);
		try {
			for (;; sum += all.handle.promise().value)
				all.handle.resume();
		} catch (int n) {
			sum += n;
		}
	}
	printf("%d\n", sum);
}
END
run build --for features -- g++ -std=c++20 -O1 coroutine.cc -o coroutine
expect_status 0
rm -rf counts
run record --for features -o counts -- ./coroutine
expect_status 0
expect_stdout 2100
run inspect --text counts
what='sources, objects and options in files'
echo "-O1 -w '$probed/features.c'" >response
run build --for features -- gcc -pthread @response -o from_file
expect_status 0
counts 12 ./from_file one
run build --for features -- gcc -O1 -w -c "$probed/features.c" -o from_file.o
expect_status 0
echo "from_file.o -o from_file" >response
run build --for features -- gcc -pthread @response
expect_status 0
counts 12 ./from_file one
what='a child that can make no file'
cat >no_file.c <<'END'
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	volatile long sum = 0;
	if (fork() > 0)
		return wait(0) < 0;
	for (int i = 0; i < 100; i++)
		sum += i;
	return sum < 0;
}
END
sed 's/volatile long sum = 0;/& setrlimit(RLIMIT_NOFILE, \&(struct rlimit){ 3, 3 });/' no_file.c >limited.c
for name in no_file limited; do
	run build --for features -- gcc -O1 -w $name.c -o $name
	expect_status 0
	rm -rf counts
	run record --for features -o counts -- ./$name
	expect_status 0
	run inspect counts --format json
	expect_json .incomplete "$([ $name = limited ] && echo true || echo false)"
done
what='threads, each in counters of its own'
counts 18 ./counted threads
what='a program that becomes another one'
counts 12 ./counted exec
what='what was counted is there when a program is killed'
counts 12 ./counted kill
run inspect counts
expect_stdout '1 of the files is of a process that did not exit normally'
what='when it crashes'
counts 12 ./counted crash
run inspect counts --format json
expect_json .cut_off 1
what='when it gives up'
counts 12 ./counted abort
what='jumps out of functions'
counts 13 ./counted jump
what='a program that closes all descriptors before it starts threads'
counts 19 ./counted closed
what='a library that is loaded and removed'
run build --for features -- gcc -O2 -w -fPIC -shared "$probed/features_library.c" -o library.so
expect_status 0
counts 16 ./counted library ./library.so

what='it runs as any other without a directory'
rm -rf counts
./counted one >said
cases=$((cases + 1))
[ -z "$(find . -name '*.features')" ] || fail 'files although nobody asked for them'

what='a run that ends in order'
printf '#include <stdlib.h>\nint main(int n, char **a) { int x = 0; for (int i = atoi(a[1]); i; i--) x += i & n; return x == 1; }\n' >some.c
run build --for features -- gcc -O2 some.c -o some
"$ASSAY" record --for features -o same1 -- ./some 10 2>err
run inspect same1
expect_status 0
expect_stdout '10  loop some.c:2 main' '1  call main some.c:2'
cases=$((cases + 1))
! grep -q 'exit normally' "$tmp/out" || fail 'it ended in order'

what='only what is wanted'
printf '10 loop some.c:2 main\ncall other some.c:9\n' >wanted
run build --for features --only wanted -- gcc -O2 some.c -o some
expect_status 0
"$ASSAY" record --for features -o few -- ./some 12 2>err
run inspect --text few
cases=$((cases + 1))
[ "$(cat "$tmp/out")" = '12 loop some.c:2 main' ] || fail 'one feature expected'
run build --for features --only missing -- gcc -O2 some.c -o some
refused 1 "cannot read 'missing'"
printf 'loop some.c:2 main\nsome.c\n' >wrong
run build --for features --only wrong -- gcc -O2 some.c -o some
refused 2 "wrong:2: 'some.c' is not a feature"
: >nothing
run build --for features --only nothing -- gcc -O2 some.c -o some
refused 2 'nothing: the file has no feature'

what='exceptions and threads of C++, and values'
cat >throws.cc <<'END'
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>
static int f(int i) { if (i % 7 == 0) throw std::runtime_error("x"); return i; }
int main()
{
	std::map<int, int> m;
	std::vector<std::thread> all;
	for (int i = 0; i < 1000; i++) {
		try { m[f(i) % 50]++; } catch (const std::exception &) { m[-1]++; }
	}
	for (int k = 0; k < 4; k++)
		all.emplace_back([k] { for (volatile int i = 0; i < 100000 + k; i = i + 1); });
	for (auto &t : all) t.join();
	return m.size() == 51 ? 0 : 1;
}
END
run build --for features --values -- g++ -O2 throws.cc -o throws -pthread
expect_status 0
run record --for features -o thrown -- ./throws
expect_status 0
run inspect --text thrown
expect_stdout '143 exception throws.cc:5 f thrown' '143 exception throws.cc:11 main caught' '1000 call f throws.cc:5' \
	'1000 loop throws.cc:10 main' '400006 loop throws.cc:14 ' '0 value i throws.cc:5 f 1' '4 value i throws.cc:5 f 5'

what='a run that ends where its features are known'
printf '#include <stdio.h>\nint n;\n__attribute__((noinline)) void rest(void) { puts("rest"); }\n' >until.c
printf 'int main(int c, char **v) { for (int i = 0; i < 10; i++) n += c; rest(); (void)v; return 0; }\n' >>until.c
run build --for features --until rest -- gcc -O2 until.c -o until
expect_status 0
run record --for features -o whole -- ./until
expect_stdout rest
ASSAY_FEATURES_UNTIL=1 "$ASSAY" record --for features -o early -- ./until >said 2>err
cases=$((cases + 1))
[ ! -s said ] || fail 'it should have ended'
"$ASSAY" inspect --text whole >whole.txt
"$ASSAY" inspect --text early >early.txt
cases=$((cases + 1))
cmp -s whole.txt early.txt || fail 'what is known by then should be the same'

what='make, and cmake'
mkdir made
printf 'made: some.o\n\t$(CC) some.o -o made\nsome.o: ../some.c\n\t$(CC) -c ../some.c\n' >made/Makefile
run build --for features -- make -s -C made CC=gcc
expect_status 0
"$ASSAY" record --for features -o of-make -- made/made 5 2>err
run build --for features -- make -s -C made
expect_status 0
expect_error 'nothing had to be compiled'
printf 'all:\n\tgcc -c ../some.c -o by-name.o\n' >made/by-name
run build --for features -- make -s -C made -f by-name
expect_no_stderr
cases=$((cases + 1))
nm made/by-name.o | grep -q assay_features || fail 'a compiler that is called by its name was not ours'
run inspect of-make
expect_stdout '5  loop some.c:2 main'
if command -v cmake >/dev/null; then
	printf 'cmake_minimum_required(VERSION 3.21)\nproject(p C)\nadd_executable(by-cmake some.c)\n' >CMakeLists.txt
	run build --for features -- cmake -B built -DCMAKE_C_COMPILER=gcc .
	expect_status 0
	run build --for features -- cmake --build built
	"$ASSAY" record --for features -o of-cmake -- built/by-cmake 7 2>err
	run inspect of-cmake
	expect_stdout '7  loop some.c:2 main'
	run build --for features -- cmake --build built
	expect_error 'nothing had to be compiled'
	rm -r built
	run build --for features -- cmake -B built .
	expect_no_stderr
	run build --for features -- cmake --build built
	expect_no_stderr

	what='cmake with another launcher'
	mkdir launcher
	printf '#!/bin/sh\necho "$1" >>"%s/launched"\nexec "$@"\n' "$PWD" >launcher/ccache
	chmod 755 launcher/ccache
	for generator in 'Unix Makefiles' Ninja; do
		[ "$generator" != Ninja ] || command -v ninja >/dev/null || continue
		rm -rf built launched
		run build --for features -- cmake -G "$generator" -B built -DCMAKE_C_COMPILER=gcc "-DCMAKE_C_COMPILER_LAUNCHER=$PWD/launcher/ccache" .
		expect_status 0
		run build --for features -- cmake --build built
		expect_no_stderr
		rm -rf of-cmake
		"$ASSAY" record --for features -o of-cmake -- built/by-cmake 9 2>err
		run inspect of-cmake
		expect_stdout '9  loop some.c:2 main'
		cases=$((cases + 1))
		grep -q gcc launched || fail "the launcher was excluded: $(cat launched)"
	done
fi

what='runs on a fleet bring their counts home, and a model learns from them'
run_lab lab
mkdir "$lab/apps/counted" "$lab/apps/plain"
cat >work.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	unsigned long steps = 0;

	for (unsigned long n = strtoul(argv[argc - 1], NULL, 10); n > 1; n = n % 2 ? 3 * n + 1 : n / 2)
		if (steps++ && n % 5 == 3 && n % 7 < 6)
			fputs("", stdout);
	printf("cost %lu\n", 5000 + 100 * steps + steps * 7919 % 97);
	return 0;
}
END
run build --for features -- gcc -O2 work.c -o "$lab/apps/counted/work"
gcc -O2 work.c -o "$lab/apps/plain/work"
{
	printf "metric: { source: regex, pattern: 'cost ([0-9]+)' }\nrepetitions: 1\nwarm_ups: 0\nsampling: off\n"
	printf "versions:\n  counted: { directory: counted, command: ['{build}/work', '{arguments}'] }\n"
	printf "  plain: { directory: plain, command: ['{build}/work', '{arguments}'] }\ninputs:\n"
	i=0
	while [ $i -lt 48 ]; do
		printf '  i%02d: { arguments: [%d] }\n' $i $((1000 + i * 7919 % 5003))
		i=$((i + 1))
	done
} >"$lab/apps/work.yaml"
run -C "$lab" run work --versions counted
expect_status 0
run -C "$lab" cost train work@counted --of metric
expect_status 0
expect_stdout '(iterations of the loop at work.c:7)'
run -C "$lab" run work --versions plain --inputs i00
expect_status 0

what='what is wrong'
run record --for features -o same1 -- ./some 1
refused 2 "'same1' already has the features of a run" 'name another directory with -o'
run record --for features -o plain -- true
refused 6 'the program counted nothing' "'assay build --for features'"
run record --for features -o failed -- ./counted kill
expect_status 1
expect_error 'killed by signal 9'
run inspect none
refused 2 "no file 'none'"
mkdir empty
run inspect empty
refused 6 'no sample files (*.samples)' empty
printf 'rubbish' >empty/1-0.features
run inspect empty
refused 2 'empty/1-0.features: not a feature file'
run build --for features
refused 2 'missing argument'
printf 'int main(void) { return y; }\n' >wrong.c
run build --for features -- gcc wrong.c -o wrong
expect_status 1
cases=$((cases + 1))
grep -q "^assay build: 'gcc' ended with status 1" "$tmp/err" ||
	fail 'the last line should say who failed'
printf '#!/bin/sh\n[ "$1" = -dumpfullversion ] && echo 11.9.1\n' >old-gcc
printf '#!/bin/sh\n: >clang-called\n' >clang-15
chmod +x old-gcc clang-15
run build --for features -- ./old-gcc -c some.c
refused 1 "'./old-gcc' is gcc 11.9.1, but assay's plugin is for gcc"
what='clang is refused, however it is called, and the message names the remedy'
refuses="'./clang-15' is clang: only gcc and g++ can build counting programs: set for example CC=gcc CXX=g++"
run build --for features -- ./clang-15 -c some.c
refused 2 "$refuses"
run build --for features -- ./clang-15 some.o -o some
refused 2 "$refuses"
run build --for work -- ./clang-15 -c some.c
refused 2 "$refuses"
printf 'some-by-clang.o: some.c\n\t$(CC) -c some.c -o some-by-clang.o\n' >by-clang
PATH=$PWD:$PATH run build --for features -- make -s -f by-clang CC=clang-15
cases=$((cases + 2))
grep -qF "${refuses#*/}" "$tmp/err" || fail 'make was given clang by its argument'
export CC=clang-15
PATH=$PWD:$PATH run build --for features -- make -s -f by-clang
unset CC
grep -qF "${refuses#*/}" "$tmp/err" || fail 'make was given clang by the environment'
run build --for features -- make -s -f by-clang CC=gcc
expect_status 0
cases=$((cases + 1))
[ ! -e clang-called ] || fail 'clang was called'

finish
