# assay build --for work: whether the statements that a program counts tell its work, in threads, children and libraries.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
cd "$tmp" || exit 1
program=$ASSAY_SOURCE/tests/interposed/counted.c
"$ASSAY" build --for work -- gcc -c -x c /dev/null -o none.o 2>err || { grep -q 'without the plugin' err && skip "$(cat err)"; }

# With counters of the processor that are played (probed/perf_event.c), lest those of this machine be used. By default there are none.
# recorded COMMAND...
recorded() {
	LD_PRELOAD=${ASSAY_PERF_EVENT:?} ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 PERF_EVENT_ERRNO=${played:-13} "$@"
}
# clusters ./PROGRAM: of each cluster of computation in between two writes how its work is known, and how much it is of the least; sorted.
clusters() {
	rm -rf records
	recorded "$ASSAY" record --overhead 0 -o records -- "$@" 2>"$tmp/err" || fail 'not recorded'
	"$ASSAY" timeline --format json records >shown
	/usr/bin/python3 - shown <<'END' >got || fail 'no answer'
import json, sys
rows = [c for c in json.load(open(sys.argv[1]))["graph"] if c["place"].startswith("write") and "-> write" in c["place"]]
least = min(c["work"] for c in rows)
for c in sorted(rows, key=lambda c: c["work"]):
    print(c["basis"], "%.2f" % (c["work"] / least if least else 0))
END
}
# divided ./PROGRAM: by its work, exactly.
divided() {
	clusters "$@"
	cases=$((cases + 1))
	printf 'statements %s\n' 1.00 1.20 1.50 2.00 | cmp -s - got || fail "$(cat got)"
}

for level in -O0 -Og -O1 -Os -O2 -O3; do
	what="built with $level"
	run build --for work -- gcc "$level" "$program" -o counted -pthread
	expect_status 0
	expect_no_stdout
	expect_no_stderr
	divided ./counted
done

what='of a shell that begins it, too, for most of the computation is its own'
clusters sh -c './counted; :'
cases=$((cases + 1))
grep -q '^  "basis": "statements"' shown || fail "$(grep '^  "basis"' shown)"

what='functions at work become jumps as before'
./counted 10000001 || fail "status $?"

what='a program that does not count'
gcc -O2 "$program" -o plain -pthread
clusters ./plain
cases=$((cases + 1))
[ "$(cat got)" = 'unverified 0.00' ] || fail "$(cat got)"

what='what the processor counts is known before what the program counts'
# by ./PROGRAM: how its work is known.
by() {
	clusters "$@"
	cut -d' ' -f1 got | uniq
}
if played=0 LIBPFM_FORCE_PMU=skl && export LIBPFM_FORCE_PMU && recorded "${ASSAY_COUNTED:?}" counters PAPI_TOT_INS >/dev/null 2>&1; then
	cases=$((cases + 4))
	[ "$(by ./counted)" = instructions ] || fail "by: $(cat got)"
	played=13
	[ "$(by ./counted)" = statements ] || fail "by: $(cat got)"
	played=0
	[ "$(by ./plain)" = instructions ] || fail "by: $(cat got)"
	grep -q '"basis": "instructions"' shown || fail 'the answer does not say by what work is known'
else
	echo 'not tested: counters of the CPU (this user may not count)'
fi
played=13

what='places are functions and lines as far as the program, as it was, tells them'
cases=$((cases + 3))
grep -q '"write in [a-z_]*+[0-9a-f]* of plain' shown || fail "no function: $(grep -m 1 '"place"' shown)"
gcc -O2 -g "$program" -o lines -pthread
clusters ./lines
grep -q '"write in [a-z_]*, counted.c:[0-9]' shown || fail "no line: $(grep -m 1 '"place"' shown)"
cp plain lines
run timeline --format json records
grep -q '"write at [0-9a-f]* in [0-9a-f]* ->' "$tmp/out" || fail "of another program: $(grep -m 1 '"place"' "$tmp/out")"

cat >opens.c <<'END'
#include <dlfcn.h>
unsigned work(unsigned rounds)
{
	static unsigned (*function)(unsigned);
	if (!function)
		function = (unsigned (*)(unsigned))dlsym(dlopen("./libwork.so", RTLD_NOW), "work");
	return function(rounds);
}
END
what='a library counts, and the program does not'
"$ASSAY" build --for work -- gcc -O2 -DIN_LIBRARY -fPIC -shared "$program" -o libwork.so
gcc -O2 -DIN_PROGRAM "$program" -o outside -L. -lwork -Wl,-rpath,"$tmp" -pthread
divided ./outside
what='a library that counts is loaded later, and the program does not count'
gcc -O2 -DIN_PROGRAM "$program" opens.c -o opens -pthread
divided ./opens
what='the program counts, too'
"$ASSAY" build --for work -- gcc -O2 -DIN_PROGRAM "$program" opens.c -o opens -pthread
divided ./opens
what='a library that is not built by -fPIC'
"$ASSAY" build --for work -- gcc -O2 -DIN_LIBRARY -shared "$program" -o libwork.so
divided ./outside
what='both count'
"$ASSAY" build --for work -- gcc -O2 -DIN_PROGRAM "$program" -o outside -L. -lwork -Wl,-rpath,"$tmp" -pthread
divided ./outside
what='both count, and the library comes first'
"$ASSAY" build --for work -- gcc -O2 -DIN_PROGRAM -c "$program" -o program.o
"$ASSAY" build --for work -- gcc -Wl,--no-as-needed ./libwork.so program.o -o outside -Wl,-rpath,"$tmp" -pthread
divided ./outside
what='an archive counts, and the program does not but is linked so'
"$ASSAY" build --for work -- gcc -O2 -DIN_LIBRARY -c "$program" -o work.o
ar rcs libparts.a work.o
gcc -O2 -DIN_PROGRAM -c "$program" -o program.o
"$ASSAY" build --for work -- gcc program.o -o outside -L. -lparts -pthread
divided ./outside
what='both count, an archive and a library that comes first'
"$ASSAY" build --for work -- gcc -O2 -DIN_PROGRAM -c "$program" -o program.o
"$ASSAY" build --for work -- gcc -Wl,--no-as-needed ./libwork.so program.o -o outside -L. -lparts -Wl,-rpath,"$tmp" -pthread
divided ./outside

what='a function that is entered twice, exceptions, and as jumps to computed places'
cat >jumps.cc <<'END'
#include <csetjmp>
#include <cstdio>
static std::jmp_buf back;
__attribute__((noinline)) static int thrower(int i) { if (i % 3 == 0) throw i; return i; }
static int by_table(int i)
{
	static void *const places[] = { &&one, &&two };
	goto *places[i % 2];
one:
	return 1;
two:
	return i;
}
int main()
{
	volatile int rounds = 0, sum = 0;
	if (setjmp(back))
		sum = sum + 1000;
	for (int i = 0; i < 100; i++)
		try { sum = sum + thrower(i) + by_table(i); } catch (int n) { sum = sum - n; }
	if (rounds++ < 3)
		std::longjmp(back, 1);
	std::printf("%d\n", sum);
}
END
for level in -O0 -O2 -O3; do
	g++ "$level" jumps.cc -o plain
	"$ASSAY" build --for work -- g++ "$level" jumps.cc -o counted
	cases=$((cases + 1))
	[ "$(./counted)" = "$(./plain)" ] || fail "$level: $(./counted) instead of $(./plain)"
done

what='make calls it as its compiler'
printf 'counted: counted.c\n\t$(CC) -O2 -pthread $^ -o $@\n' >Makefile
cp "$program" counted.c
rm counted
run build --for work -- make
expect_status 0
divided ./counted

finish
