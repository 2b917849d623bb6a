#!/bin/sh
# Programs with changed functions are measured first in a night; what the others hide is counted.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

tidy() {
	kill_marked
}

run_lab suspects "$(hosts_here 3)"
cat >"$tmp/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile long sink;
__attribute__((noinline)) void work(long n)
{
	for (long i = 0; i < n; i++)
		sink += i * FACTOR;
}
int main(void)
{
	work(20);
	printf("cost %s\n", getenv("COST"));
	return 0;
}
END
for version in old same changed; do
	mkdir "$lab/apps/$version"
	factor=1
	[ $version != changed ] || factor='(i % 7 + 1)'
	gcc -O2 -g "-DFACTOR=$factor" -o "$lab/apps/$version/p" "$tmp/p.c" || exit 1
done
# application NAME DIRECTORY COST
application() {
	printf '%s\n' "command: ['{build}/p']" "versions: { v1: { directory: old, environment: { COST: 100 } }, v2: { directory: $2, environment: { COST: $3 } } }" \
		'repetitions: 2' 'warm_ups: 0' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }" >"$lab/apps/$1.yaml"
}
application alpha same 130
application beta changed 100
rm -f "$lab/apps/tiny.yaml"
printf '%s\n' 'comparisons: [{ application: alpha }, { application: beta }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"

what='suspects first, and what they alone would have missed'
run -C "$lab" nightly --quiet --format json
expect_status 3
expect_json .decisions[0].application alpha
expect_json .decisions[0].decision regression
expect_json .notes[0].code suspects
grep -q 'of 2 comparisons 1 have programs without a changed function.*missed 1 of 1 finding' "$tmp/out" || fail "no count: $(grep -A1 suspects "$tmp/out")"
cases=$((cases + 1))
[ "$(sqlite3 "$lab/.assay/runs.db" 'SELECT application FROM plan ORDER BY started_ms LIMIT 1')" = beta ] || fail 'beta was not measured first'

what='programs that cannot be compared are measured in the order of the suite'
strip "$lab/apps/changed/p" "$lab/apps/old/p" "$lab/apps/same/p"
run -C "$lab" nightly --quiet --format json
expect_status 3
cases=$((cases + 1))
[ "$(sqlite3 "$lab/.assay/runs.db" "SELECT count(*) FROM night, json_each(night.notes) WHERE json_extract(value, '\$.code') = 'suspects'")" = 1 ] ||
	fail 'stripped programs were compared'
finish
