#!/bin/sh
# What a program can do without and still count right: that the search finds it, that what is built without it counts the same on inputs that
# were not looked at, and that such a program can do no harm.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
cd "$tmp" || exit 1
"$ASSAY" build --for features -- gcc -c -x c /dev/null -o none.o 2>err || { grep -q 'without the plugin' err && skip "$(cat err)"; }

# Reads words, works long on each, and keeps what it found in a file, if it is told to.
cat >work.c <<'END'
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static double results[1000];
static int words(FILE *file)
{
	char word[64];
	int n = 0;

	while (n < 1000 && fscanf(file, "%63s", word) == 1)
		results[n++] = (double)strlen(word);
	return n;
}
static double work(double x)
{
	for (int i = 0; i < 3000; i++)
		x += sqrt(x) / (1.0 + i);
	return x;
}
static void keep(const char *path)
{
	FILE *file;

	unlink(path);
	file = fopen(path, "w");
	fprintf(file, "%g\n", results[0]);
	fclose(file);
}
int main(int argc, char **argv)
{
	int n = words(fopen(argv[1], "r")), longs = 0;

	for (int i = 0; i < n; i++) {
		if (results[i] > 4)
			longs++;
		results[i] = work(results[i]);
		if (results[i] > 20)
			printf("%g\n", results[i]);
	}
	if (argc > 2)
		keep(argv[2]);
	return longs > 1000;
}
END
for i in 1 2 3; do
	awk -v i="$i" 'BEGIN { srand(i); for (k = 0; k < 100 * i; k++) printf "%s ", substr("abcdefghij", 1, 1 + int(rand() * 10)) }' >"in$i"
done
printf './pieces in1\n./pieces in2 >/dev/null\n\n' >commands
run build --for features --pieces -- gcc -O2 work.c -o pieces -lm
expect_status 0

what='pieces that can be left out'
run build --for features --slice commands -o without --format json
expect_status 0
expect_json_parses
cases=$((cases + 5))
[ "$(json .sliced)" -ge 3 ] || fail "sliced: $(cat "$tmp/out")"
[ "$(json .left_out)" -ge 1 ] || fail "excluded: $(cat "$tmp/out")"
awk -v price="$(json .price)" 'BEGIN { exit !(price > 0 && price < .05) }' || fail "a price of $(json .price)"
grep -q 'loop work.c:11 words' "$tmp/out" || fail 'the words are counted'
[ -s without ] || fail 'nothing is excluded'
run build --for features --slice commands
expect_stdout ' features can be counted for at most 5 % of the counts of the run' 'refused: too expensive  loop work.c:17 work'
echo 'loop work.c:17 work' >dear
run build --for features --slice commands --only dear --format json
expect_json .wanted 1 .sliced 0 .price null

what='what is left counts the same of an input that was not looked at, for less'
run build --for features -- gcc -O2 work.c -o counting -lm
run build --for features --without without -- gcc -O2 work.c -o slice -lm
expect_status 0
run record --for features -o whole -- ./counting in3
run record --for features -o cut -- ./slice in3
expect_status 0
"$ASSAY" inspect --text whole >whole.txt 2>err
"$ASSAY" inspect --text cut >cut.txt 2>err
cases=$((cases + 3))
[ "$(grep 'loop work.c:11 words' whole.txt)" = "$(grep 'loop work.c:11 words' cut.txt)" ] || fail "$(grep 'loop work.c:11' whole.txt cut.txt)"
grep -q '^301 loop work.c:11 words' cut.txt || fail "$(cat cut.txt)"
awk 'FNR == NR { whole += $1; next } { cut += $1 } END { exit !(cut < .05 * whole) }' whole.txt cut.txt || fail 'it should count much less'

what='a program without pieces writes, makes and removes no file, though it is told that it does, and starts nothing'
echo precious >precious
run build --for features --without without -- gcc -O2 work.c -o slice -lm
./slice in3 precious >/dev/null 2>&1
./pieces in3 precious >/dev/null 2>&1
./pieces in3 made >/dev/null 2>&1
cases=$((cases + 4))
[ "$(cat precious)" = precious ] || fail 'the file was changed'
[ ! -e made ] || fail 'a file was made'
printf '#include <stdlib.h>\nint main(void) { return system("touch made") != 0; }\n' >starts.c
"$ASSAY" build --for features --pieces -- gcc starts.c -o starts
./starts
[ ! -e made ] || fail 'a program was started'
printf './pieces in1 precious\n./pieces in2 precious\n' >harmful
run build --for features --slice harmful
expect_status 0
expect_stdout 'call keep work.c:21'
[ "$(cat precious)" = precious ] || fail 'the file was changed'
echo ./starts >harmful
run build --for features --slice harmful
expect_status 1
expect_error "'./starts' fails; a program without some pieces may only read, print and seem to write"

what='it is interrupted'
printf '#include <time.h>\nint main(int c, char **v) { struct timespec t = { 5, 0 }; for (int i = 0; i < c; i++) nanosleep(&t, 0); return c > 9; (void)v; }\n' >slow.c
"$ASSAY" build --for features --pieces -- gcc slow.c -o slow
echo ./slow >commands-slow
mkdir temporary
# timeout tells its group, too, which is a second signal, and that ends a command at once: of the child alone it is one.
TMPDIR=$tmp/temporary timeout --foreground -s TERM 3 "$ASSAY" build --for features --slice commands-slow >"$tmp/out" 2>"$tmp/err"
cases=$((cases + 2))
[ -z "$(ls temporary)" ] || fail "left: $(ls temporary)"
grep -q interrupted "$tmp/err" || fail "$(cat "$tmp/err")"

what='C++: exceptions, and objects that are returned'
cat >maps.cc <<'END'
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
static int check(const std::string &word)
{
	if (word.size() == 3)
		throw std::runtime_error(word);
	return (int)word.size();
}
__attribute__((noinline)) static std::map<std::string, int> work(const std::string &word)
{
	std::map<std::string, int> all;

	for (int i = 0; i < 300; i++)
		all[word + std::to_string(i % 50)] += i;
	return all;
}
int main(int, char **argv)
{
	std::ifstream file(argv[1]);
	std::string word;
	long sum = 0, bad = 0;

	while (file >> word)
		try {
			sum += check(word);
			sum += work(word).size();
		} catch (const std::exception &) {
			bad++;
		}
	std::cout << sum << ' ' << bad << '\n';
}
END
run build --for features --pieces -- g++ -O2 maps.cc -o maps
expect_status 0
printf './maps in1\n./maps in2\n' >commands
run build --for features --slice commands -o without-maps --format json
expect_status 0
cases=$((cases + 1))
[ "$(json .sliced)" -ge 2 ] || fail "sliced: $(cat "$tmp/out")"
run build --for features -- g++ -O2 maps.cc -o maps-counting
run build --for features --without without-maps -- g++ -O2 maps.cc -o maps-slice
expect_status 0
run record --for features -o maps-whole -- ./maps-counting in2
run record --for features -o maps-cut -- ./maps-slice in2
expect_status 0
"$ASSAY" inspect --text maps-whole 2>err | grep 'thrown\|caught\|loop maps.cc:27' >whole.txt
"$ASSAY" inspect --text maps-cut 2>err | grep 'thrown\|caught\|loop maps.cc:27' >cut.txt
cases=$((cases + 1))
cmp -s whole.txt cut.txt || fail "$(cat whole.txt cut.txt)"

what='what is none'
run build --for features --slice commands --only nowhere
refused 2 "nowhere"
echo './counting in1' >commands
run build --for features --slice commands
refused 6 "build it with 'assay build --for features --pieces'"
echo /bin/true >commands
run build --for features --slice commands
refused 6 "'/bin/true' counted nothing"
: >commands
run build --for features --slice commands
refused 2 'the file has no command'
run build --for features --without nowhere -- gcc -O2 work.c -o slice -lm
refused 1 "cannot read 'nowhere'"

finish
