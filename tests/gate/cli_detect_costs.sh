#!/bin/sh
# Functions whose work follows what inputs have inside are compared at like inputs by what a model of the cost expects of them.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
"$ASSAY" features build -- gcc -c -x c /dev/null -o "$tmp/none.o" 2>"$tmp/err" || { grep -q 'without the plugin' "$tmp/err" && skip "$(cat "$tmp/err")"; }
"$ASSAY" emulate build -- gcc -c -x c /dev/null -o "$tmp/none.o" 2>"$tmp/err" || skip "$(cat "$tmp/err")"

tidy() {
	kill_marked
}

run_lab lab
mkdir "$lab/apps/data"
cat >"$tmp/work.c" <<'END'
#include <stdio.h>
static volatile unsigned sink;
__attribute__((noinline)) void inner(int n)
{
	for (int i = 0; i < n; i++)
		sink += (unsigned)i * EACH;
#ifdef SLOWER
	for (int i = 0; i < n; i += 4)
		sink ^= (unsigned)i;
#endif
}
int main(int argc, char **argv)
{
	FILE *file = fopen(argv[argc - 1], "r");
	int n = 0, m = 0, once = 0;

	if (!file || fscanf(file, "%d %d %d", &n, &m, &once) < 2)
		return 1;
	inner(n);
	for (int i = 0; i < once; i++)
		sink += 5;
	for (int i = 0; i < m; i++)
		sink += 3;
	return printf("cost %d\n", 3000 + 2 * n + m) < 0;
}
END
for version in old same new counts; do
	mkdir "$lab/apps/$version"
	case $version in
	counts) builder="features build" ;;
	*) builder="emulate build" ;;
	esac
	(cd "$tmp" && "$ASSAY" $builder -- gcc -O1 -g -DEACH=3 "$([ $version = new ] && echo -DSLOWER || echo -DSAME)" work.c -o "$lab/apps/$version/work") || exit 1
done
awk -v to="$lab/apps/data/" 'BEGIN {
	srand(5)
	for (i = 1; i <= 60; i++)
		printf "%05d %05d%*s\n", 1000 + int(rand() * 9000), 1000 + int(rand() * 9000), 1 + i * 37 % 61, " " >sprintf("%s%s%c%c", to, i <= 44 ? "a" : "b", 97 + i / 10, 97 + i % 10)
	printf "%05d %05d\n", 90000, 1000 >to "beyond"
	printf "%05d %05d %d\n", 5000, 5000, 30000 >to "bother" # what no other has counted
}'
cat >"$lab/apps/work.yaml" <<'END'
inputs_of: data
command: ['{build}/work', '{files}/data/{input}']
versions: { old: { directory: old }, same: { directory: same }, new: { directory: new }, counts: { directory: counts } }
repetitions: 1
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)' }
probe: { back_end: emulated, functions: [inner] }
END
names() {
	(cd "$lab/apps/data" && echo $1* | tr ' ' ,)
}
run -C "$lab" run work --versions old --inputs "$(names a)" --quiet
expect_status 0
run -C "$lab" run work --versions counts --inputs "$(names a),$(names b)" --quiet
expect_status 0
run -C "$lab" run work --versions old --inputs "$(names a)" --probe --quiet
expect_status 0
run -C "$lab" run work --versions same,new --inputs "$(names b)" --probe --quiet
expect_status 0
# What a clock would say of such short runs is not the subject.
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET user_us = metric, sys_us = 0 WHERE metric IS NOT NULL"

what='nothing tells the inputs apart'
run -C "$lab" detect work@old work@new
cases=$((cases + 1))
! grep -q 'compared at like inputs' "$tmp/out" || fail "nothing is known of the inputs: $(cat "$tmp/out")"

what='counted'
run -C "$lab" detect work@old work@new --counts counts --format json
expect_status 3
expect_json .decision regression
expect_json '.functions[0].name' inner
run -C "$lab" detect work@old work@new --counts counts
expect_stdout 'what 1 function takes was compared at like inputs by (iterations of the loop at work.c:5)' '2 runs had inputs unlike those of normal runs'
run -C "$lab" detect work@old work@same --counts counts
expect_status 0

what='of an input that was not run the sizes of files are known, which say little'
sed 's/^./8/' "$lab/apps/data/bfa" >"$lab/apps/data/never"
run -C "$lab" cost predict work@old --counts counts --input never
refused 6 'what is known of this input before a run says what it costs within' --max-error --features
run -C "$lab" cost predict work@old --counts counts --input never --max-error 50
expect_status 0
expect_stdout 'from what is known before a run'
what='what the version that counts has counted in it'
run -C "$lab" cost predict work@old --counts counts --input bfa
expect_status 0
expect_stdout 'its counts are of a run of it by work@counts'
read -r n m rest <"$lab/apps/data/bfa"
run -C "$lab" cost predict work@old --counts counts --of metric --input bfa --format json
expect_json .features_of counts .before false
expect_near .value "$((3000 + 2 * ${n#0} + ${m#0}))" .01
run -C "$lab" cost predict work@old --counts counts --input bother
expect_status 4
expect_stdout 'places that no input reached'
run -C "$lab" cost predict work@old --counts counts --input aab
expect_status 0

what='counted by the versions themselves'
counted() {
	sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET user_us = metric, sys_us = 0, features = (SELECT features FROM execution AS c
		WHERE c.version = 'counts' AND c.input = execution.input) WHERE metric IS NOT NULL"
}
counted
run -C "$lab" cost predict work@old --input bfa
refused 6 'what is known of this input before a run' "has counted in it, but counts are of the code (--counts "
run -C "$lab" detect work@old work@same
cases=$((cases + 1))
! grep -q 'compared at like inputs' "$tmp/out" || fail "nothing is known of what the candidate ran: $(cat "$tmp/out")"
run -C "$lab" run work --versions same --inputs "$(names b)" --quiet
expect_status 0
counted
run -C "$lab" detect work@old work@same
expect_status 0
expect_stdout 'compared at like inputs by (iterations of the loop at work.c:5)'

what='asked for what is not there'
run -C "$lab" detect work@old work@new --counts nonesuch
refused 2 "nothing was run of version 'nonesuch'"
run -C "$lab" detect work@old "$lab/apps" --counts counts
refused 2 '--counts takes APP@OLD and APP@NEW'

finish
