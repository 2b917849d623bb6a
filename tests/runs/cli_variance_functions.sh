# assay record --call: functions of libraries that the user names. The program does the same as without it, and the computation in
# each of them is work that repeats, by the argument that tells how much.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
cd "$tmp"
for level in -O0 -O2; do
	gcc "$level" -fPIC -shared -DIN_LIBRARY "$ASSAY_SOURCE/tests/interposed/functions.c" -o libfunctions.so || fail 'no library'
	gcc "$level" "$ASSAY_SOURCE/tests/interposed/functions.c" -o functions -L. -lfunctions -Wl,-rpath,"$tmp" || fail 'no program'
	./functions >plain
	for bind in '' 1; do
		what="values of all kinds pass ($level, LD_BIND_NOW=$bind)"
		rm -rf records
		LD_BIND_NOW=$bind "$ASSAY" record -o records --overhead 0 --call many --call large_of --call pair_of --call precise --call print_all \
			--call fails --call leaves --call nested:1 --call work:2 -- sh -c './functions >out; echo $? >status' 2>err || fail "$(cat err)"
		cases=$((cases + 2))
		[ "$(cat status)" = 5 ] || fail "status $(cat status)"
		cmp -s plain out || fail "another output: $(diff plain out | head -n 4)"
	done
done

what='what they do is work of as much as the argument says'
"$ASSAY" timeline records --format json >shown || fail 'it cannot be shown'
/usr/bin/python3 - shown >got <<'END' || fail 'no answer'
import json, sys
rows = [c for c in json.load(open(sys.argv[1]))["graph"] if c["place"].startswith("work ") and "-> work:return " in c["place"]]
for c in sorted(rows, key=lambda c: c["work"]):
    print(c["activity"], c["basis"], c["work"], c["stand_for"] >= 10)
END
cases=$((cases + 1))
printf 'computation arguments %s True\n' 300000 600000 | cmp -s - got || fail "$(cat got)"

what='exceptions pass'
if command -v g++ >/dev/null; then
	echo 'int thrower(int n) { if (n % 2) throw n; return n; }' >thrower.cc
	printf '%s\n' '#include <cstdio>' 'int thrower(int n);' 'extern "C" int through(int n) { try { return thrower(n); } catch (int m) { return -m; } }' \
		'int main() { long s = 0; for (int i = 0; i < 1000; i++) s += through(i) * (i % 7); printf("%ld\n", s); }' >catcher.cc
	g++ -O2 -fPIC -shared thrower.cc -o libthrower.so && g++ -O2 catcher.cc -o catcher -L. -lthrower -Wl,-rpath,"$tmp" || fail 'cannot compile'
	./catcher >plain
	"$ASSAY" record -o thrown --overhead 0 --call _Z7throweri -- ./catcher >out 2>err || fail "$(cat err)"
	cases=$((cases + 1))
	cmp -s plain out || fail "another output: $(cat out)"
	"$ASSAY" timeline thrown --format json >shown
	cases=$((cases + 1))
	grep -q '"_Z7throweri ' shown || fail "not recorded: $(grep -m 3 '"place"' shown)"
fi

what='a function that no library has'
printf '%s\n' 'void nowhere(void) __attribute__((weak));' 'int main(void) { if (nowhere) nowhere(); return 0; }' >weak.c
gcc -O0 -fno-pie -no-pie weak.c -o weak
"$ASSAY" record -o weak.records --call nowhere -- ./weak 2>err
status=$?
cases=$((cases + 1))
grep -q 'no library has a function that --call names' err || [ "$status" = 6 ] || fail "status $status: $(cat err)"

what='wrong words'
for word in '' 'a b' 'f:0' 'f:7' 'f:' '1f' 'f:11'; do
	run record -o nothing --call "$word" -- true
	refused 2 call
done
run record -o nothing --call f --call f:2 -- true
refused 2 twice
[ ! -e nothing ] || fail 'nothing was made'

finish
