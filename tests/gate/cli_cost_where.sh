#!/bin/sh
# Where a version became slower on inputs that the other has not run: the function and the loop, by samples of where the time went.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
"$ASSAY" build --for features -- gcc -c -x c /dev/null -o "$tmp/none.o" 2>"$tmp/err" || { grep -q 'without the plugin' "$tmp/err" && skip "$(cat "$tmp/err")"; }

tidy() {
	kill_marked
}

run_lab lab
cat >"$tmp/template" <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned sink;
NEW/* Lines above what is
NEW * slower. */
__attribute__((noinline)) void first(long n)
{
	for (long i = 0; i < n; i++)
		sink += (unsigned)i * 3;
}
__attribute__((noinline)) void second(long n)
{
	for (long i = 0; i < n; i++)
		sink ^= (unsigned)i;
	for (long i = 0; i < n; i++) {
		sink += 7;
NEW		sink += 8;
NEW		sink += 9;
	}
}
int main(int argc, char **argv)
{
	long n = atol(argv[1]), m = atol(argv[2]);

	first(n * 100000);
	second(m * 100000);
	printf("%u\n", sink * (unsigned)argc);
	return 0;
}
END
for version in old new same counts early slice wrong; do
	mkdir "$lab/apps/$version" "$tmp/$version"
	if [ $version = new ]; then sed 's/^NEW//' "$tmp/template"; else grep -v ^NEW "$tmp/template"; fi >"$tmp/$version/work.c"
	case $version in
	counts) builder="$ASSAY build --for features --" ;;
	early) builder="$ASSAY build --for features --until second --" ;;
	slice | wrong)
		echo "skip second work.c:$(grep -n 'void second' "$tmp/$version/work.c" | cut -d : -f 1)" >"$tmp/without"
		builder="$ASSAY build --for features --without $tmp/without --"
		[ $version = slice ] || sed -i 's/first(n \* 100000)/first(n * 100000 + (argc > 1 \&\& n > 200))/' "$tmp/wrong/work.c"
		;;
	*) builder= ;;
	esac
	builder="$builder gcc -O1 -g"
	(cd "$tmp/$version" && $builder -o "$lab/apps/$version/work" work.c) || exit 1
done
awk 'BEGIN {
	srand(7)
	print "command: [\"{build}/work\", \"{arguments}\"]"
	print "versions: { old: { directory: old }, new: { directory: new }, same: { directory: same }, counts: { directory: counts }, slice: { directory: slice }, wrong: { directory: wrong }, early: { directory: early, environment: { ASSAY_FEATURES_UNTIL: 1 } } }"
	print "repetitions: 1\nwarm_ups: 0\ninputs:"
	for (i = 1; i <= 52; i++)
		printf "  %s%02d: { arguments: [\"%d\", \"%d\"] }\n", i <= 40 ? "a" : "b", i, 40 + int(rand() * 200), 40 + int(rand() * 200)
}' >"$lab/apps/work.yaml"
names() {
	awk -v of="$1" '$1 ~ "^" of "[0-9]+:" { sub(":.*", ""); printf "%s%s", n++ ? "," : "", $1 }' "$lab/apps/work.yaml" | tr -d ' '
}

what='runs with samples'
run -C "$lab" run work --versions counts --quiet
expect_status 0
for part in "$(names a0)" "$(names a1)" "$(names a2)" "$(names a3),a40"; do # sessions
	run -C "$lab" run work --versions old --inputs "$part" --quiet
	expect_status 0
done
run -C "$lab" run work --versions new,same --inputs "$(names b)" --quiet
expect_status 0
sqlite3 "$lab/.assay/runs.db" "SELECT json_extract(signature, '\$.samples') FROM execution WHERE version = 'new'" >"$tmp/samples"
case $(head -n 1 "$tmp/samples") in
"0 "*) skip "$(head -n 1 "$tmp/samples")" ;;
esac
cases=$((cases + 2))
grep -Eq '^[0-9]+ line work\.c:[0-9]+:11 second$' "$tmp/samples" || fail "no line of second(), which takes most of the time: $(head -n 20 "$tmp/samples")"
grep -q ' at ' "$tmp/samples" && fail "an address: $(grep ' at ' "$tmp/samples" | head -n 1)"

what='what can be counted early, and what it costs'
run -C "$lab" run work --versions early --inputs "$(names a)" --quiet
expect_status 0
run -C "$lab" cost train work@old --counts counts --predictor-cost .9 --early early --format json --max-error 100
expect_status 0
expect_json .cheap.early_inputs 40 .cheap.prices[2].source early_exit .cheap.slice null
cases=$((cases + 4))
[ "$(json .cheap.final)" -ge 1 ] || fail "final: $(json .cheap)"
[ "$(json .cheap.changes)" -ge 2 ] || fail "not final: $(json .cheap)"
case $(json .cheap.price) in
0 | 0.[0-8]*) ;;
*) fail "it costs $(json .cheap.price)" ;;
esac
case $(json '.cheap.prices[2].price') in
0.[0-9]*) ;;
*) fail "to come there costs $(json '.cheap.prices[2].price')" ;;
esac
what='what a slice counts, and what it costs'
run -C "$lab" run work --versions slice --inputs "$(names a)" --quiet
expect_status 0
run -C "$lab" cost train work@old --counts counts --predictor-cost .9 --early early --slice slice --format json --max-error 100
expect_status 0
expect_json .cheap.slice.inputs 40 .cheap.prices[3].source slice
cases=$((cases + 3))
[ "$(json .cheap.slice.wanted)" = $(($(json .cheap.slice.exact) + $(json .cheap.slice.refused))) ] || fail "$(json .cheap.slice)"
[ "$(json .cheap.slice.same)" -ge 1 ] || fail "the same: $(json .cheap.slice)"
[ "$(json .cheap.slice.other)" -ge 2 ] || fail "loops of second() are not counted: $(json .cheap.slice)"
cp "$tmp/out" "$tmp/sliced"
# In some inputs it counts something else: all that is wrong there is refused.
run -C "$lab" run work --versions wrong --inputs "$(names 'a[23]')" --quiet
run -C "$lab" cost train work@old --counts counts --predictor-cost .9 --slice wrong --format json --max-error 100
cases=$((cases + 1))
[ "$(json .cheap.slice.same)" -lt "$(sed -n 's/.*"same": *\([0-9]*\).*/\1/p' "$tmp/sliced")" ] || fail "still the same: $(json .cheap.slice)"
run -C "$lab" cost train work@old --counts counts --predictor-cost .9 --slice slice --max-error 100
expect_stdout 'counts of the slice equal those of whole runs for all of 40 inputs' refused
run -C "$lab" cost train work@old --slice slice
refused 2 '--slice needs --predictor-cost'
run -C "$lab" cost train work@old --early early
refused 2 '--early needs --predictor-cost'
run -C "$lab" cost train work@old --predictor-cost .05 --of metric
refused 2 'not in units of the metric'

what='the function, its line in the new source, and the loop of the old one'
# Whether it is decided hangs on measured times: how often it is right is shown by `sh tests/run --evidence cost_lines`.
run -C "$lab" gate work@old work@new --method cost --counts counts --format json
expect_json_parses
if [ "$status" = 3 ] && [ "$(json .slower_at[0].function)" = second ]; then
	expect_json .slower_at[0].loop 'loop work.c:13 second'
	cases=$((cases + 2))
	line=$(json .slower_at[0].line)
	[ "${line#work.c:}" -ge 15 ] && [ "${line#work.c:}" -le 18 ] || fail "the line is $line"
	awk -v adds="$(json .slower_at[0].adds)" -v low="$(json .slower_at[0].low)" -v high="$(json .slower_at[0].high)" 'BEGIN { exit !(adds > 0 && low >= 0 && low <= adds && adds <= high) }' ||
		fail "it adds $(json .slower_at[0].adds), from $(json .slower_at[0].low) to $(json .slower_at[0].high)"
	certain=$(json .slower_at[0].certain)
	run -C "$lab" gate work@old work@new --method cost --counts counts
	[ "$certain" = false ] || expect_stdout 'slower in second, which adds ' ', in (iterations of the loop at work.c:13)'
else
	echo "not seen, on a busy machine: status $status, $(json .decision)"
fi

what='nothing became slower'
run -C "$lab" gate work@old work@same --method cost --counts counts --format json
cases=$((cases + 1))
if [ "$(json .decision)" = pass ]; then
	[ -z "$(json '.slower_at[0]')" ] || fail "$(json .slower_at)"
fi
finish
