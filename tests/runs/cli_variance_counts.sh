# assay build --for work: statements are added where that is seldom; at each call into the outside a thread has counted as many as if each
# block had added its own. Of functions that chance makes, and of programs that leave functions otherwise than by returning.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
cd "$tmp" || exit 1
interposed=$ASSAY_SOURCE/tests/interposed
"$ASSAY" build --for work -- gcc -c -x c /dev/null -o none.o 2>err || { grep -q 'without the plugin' err && skip "$(cat err)"; }
gcc -O2 -Wall -Werror -fPIC -shared "$interposed/counts.c" -o libcounts.so

# plainly COMPILER WORD...: as `assay build --for work` does it, but each block adds its own.
plainly() {
	"$@" "-fplugin=${ASSAY_FEATURES_PARTS:?}/assay_features_gcc.so" -fplugin-arg-assay_features_gcc-statements=plainly \
		-xnone "$ASSAY_FEATURES_PARTS/assay_statements.o" -Wl,--export-dynamic-symbol=assay_statements
}
# counted PROGRAM: what is counted at each of its calls.
counted() {
	rm -f "$1.counts"
	COUNTS=$1.counts LD_LIBRARY_PATH=. "./$1" >out 2>err || fail "$1: status $?: $(tail -n 3 err)"
}
# alike WORD...: built both ways by g++.
alike() {
	cases=$((cases + 1))
	"$ASSAY" build --for work -- g++ -w "$@" -o seldom -L. -lcounts || fail 'not built'
	plainly g++ -w "$@" -o plainly -L. -lcounts || fail 'not built plainly'
	counted seldom
	counted plainly
	[ "$(wc -l <seldom.counts)" -ge 40 ] || fail "$(wc -l <seldom.counts) calls"
	grep -q ' [1-9]' seldom.counts || fail 'nothing is counted'
	cmp -s seldom.counts plainly.counts || fail "$(diff seldom.counts plainly.counts | head -n 4)"
}

/usr/bin/python3 "$interposed/ways.py" 1 >ways.cc
for level in -O0 -Og -O1 -Os -O2 -O3 '-O2 -fPIC'; do
	what="functions that chance makes, $level"
	# shellcheck disable=SC2086 # words
	alike $level ways.cc
done

cat >twice.cc <<'END'
#include <csetjmp>
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>
static std::jmp_buf back;
__attribute__((noinline)) static void jumps(int n)
{
	for (int i = 0; i < n; i++)
		if (i * i > 50)
			std::longjmp(back, i);
}
__attribute__((noinline)) static int between(int n)
{
	volatile int sum = 0;
	for (int i = 0; i < n; i++)
		sum = sum + i;
	jumps(n);
	return sum;
}
int main()
{
	volatile int sum = 0;
	for (int i = 0; i < 20; i++) {
		if (setjmp(back) == 0)
			sum = sum + between(i);
		std::fwrite("xyz", 1, 3, stdout);
		std::puts("yes");
	}
	std::fflush(stdout);
	if (fork() == 0)
		_exit(between(3) > 100);
	return wait(NULL) < 0;
}
END
for level in -O0 -O2; do
	what="setjmp and a child, $level"
	alike $level twice.cc
done

cat >divides.cc <<'END'
#include <csignal>
#include <cstdio>
static volatile int kept;
__attribute__((noinline)) static int divides(int n)
{
	int sum = n;
	for (int i = 0; i < n; i++)
		sum = sum * 3 + n / (5 - i);
	return sum;
}
static void thrown(int)
{
	throw 1;
}
int main()
{
	struct sigaction how = {};
	how.sa_handler = thrown;
	how.sa_flags = SA_NODEFER;
	sigaction(SIGFPE, &how, NULL);
	for (int i = 0; i < 50; i++)
		try { kept = divides(i); } catch (int) { std::puts("thrown"); }
}
END
what='what throws and is no call'
alike -O2 -fnon-call-exceptions divides.cc

finish
