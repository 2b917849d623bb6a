#!/bin/sh
# Counts of a build that counts: the model of another build's costs in them, the cost of an input that only the counting build has run, and the
# loop that became slower where inputs are other ones.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
"$ASSAY" build --for features -- gcc -c -x c /dev/null -o "$tmp/none.o" 2>"$tmp/err" || { grep -q 'without the plugin' "$tmp/err" && skip "$(cat "$tmp/err")"; }

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
		sink += (unsigned)i * 3;
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
	return printf("cost %d\n", 3000 + 2 * n + m * EACH / 10) < 0;
}
END
mkdir "$lab/apps/old" "$lab/apps/changed" "$lab/apps/counts"
cd "$tmp" || exit 1
gcc -O1 -g -DEACH=10 work.c -o "$lab/apps/old/work" && gcc -O1 -g -DEACH=12 work.c -o "$lab/apps/changed/work" &&
	"$ASSAY" build --for features -- gcc -O1 -g -DEACH=0 work.c -o "$lab/apps/counts/work" || exit 1
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
versions: { old: { directory: old }, changed: { directory: changed }, counts: { directory: counts } }
repetitions: 1
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
names() {
	(cd "$lab/apps/data" && echo $1* | tr ' ' ,)
}
for session in a[abc] a[de]; do
	run -C "$lab" run work --versions old --inputs "$(names "$session")" --quiet
	expect_status 0
done
run -C "$lab" run work --versions counts --inputs "$(names a),$(names b)" --quiet
expect_status 0

what='the terms of the model, and the places that it needs'
run -C "$lab" cost train work@old --counts counts --of metric --selected selected
expect_status 0
expect_stdout ' 2 * (iterations of the loop at work.c:5)' ' 1 * (iterations of the loop at work.c:18)'
cases=$((cases + 1))
[ "$(sort selected)" = "$(printf 'loop work.c:18 main\nloop work.c:5 inner')" ] || fail "selected: $(cat selected)"

what='counts that were never seen'
printf '5000 loop work.c:5 inner\n5000 loop work.c:18 main\n1 call never.c:1 never\n' >features
run -C "$lab" predict work@old --counts counts --of metric --features features
expect_status 0
echo '500 loop never.c:3 never' >>features
run -C "$lab" predict work@old --counts counts --of metric --features features
expect_status 4
expect_stdout "'places that no input reached' is 501" 'more than 1 % of all counts'

what='one loop became slower, and inputs are other ones'
run -C "$lab" run work --versions changed --inputs "$(cd "$lab/apps/data" && echo b[efg]? | tr ' ' ,)" --quiet
expect_status 0
run -C "$lab" gate work@old work@changed --method cost --counts counts --of metric --format json
expect_status 3
expect_json .slower[0].term '(iterations of the loop at work.c:18)'
cases=$((cases + 1))
awk -v slower="$(json '.slower[0].slower')" 'BEGIN { exit !(slower > .19 && slower < .21) }' || fail "20 % expected, not $(json '.slower[0].slower')"

what='a model of some of the inputs that were run, since no others were counted'
cp "$lab/.assay/runs.db" all.db
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET version = 'none' WHERE version = 'counts' AND input > 'aca'"
run -C "$lab" cost train work@old --counts counts --of metric
refused 6 "ran 20 inputs on 'here' that 'counts' counted (24 runs of other inputs are excluded)"
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET version = 'none' WHERE version = 'counts' AND input > 'aah'"
run -C "$lab" cost explain work@old --counts counts --of metric --min-runs 4 --max-error 1000 --input aah --format json
expect_json .low null .high null
cp all.db "$lab/.assay/runs.db"
# What a clock would say of such short runs is not the subject.
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET user_us = metric, sys_us = 0 WHERE metric IS NOT NULL"

what='of an input that was not run the sizes of files are known, which say little'
sed 's/^./8/' "$lab/apps/data/bfa" >"$lab/apps/data/never"
run -C "$lab" predict work@old --counts counts --input never
refused 6 'static features predict the cost of this input within' --max-error --features
run -C "$lab" predict work@old --counts counts --input never --max-error 50
expect_status 0
expect_stdout 'from static features'
what='what the version that counts has counted in it'
run -C "$lab" predict work@old --counts counts --input bfa
expect_status 0
expect_stdout 'its counts come from a run of this input by work@counts'
read -r n m rest <"$lab/apps/data/bfa"
run -C "$lab" predict work@old --counts counts --of metric --input bfa --format json
expect_json .features_of counts .before false
expect_near .value "$((3000 + 2 * ${n#0} + ${m#0}))" .01
run -C "$lab" predict work@old --counts counts --input bother
expect_status 4
expect_stdout 'places that no input reached'
run -C "$lab" predict work@old --counts counts --input aab
expect_status 0

what='counted by the version itself'
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET features = (SELECT features FROM execution AS c
	WHERE c.version = 'counts' AND c.input = execution.input) WHERE metric IS NOT NULL"
run -C "$lab" predict work@old --input bfa
refused 6 'static features predict the cost of this input' "counted in a run with this input, but counts depend on the code (--counts "

finish
