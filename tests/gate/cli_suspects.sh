#!/bin/sh
# Programs that can reach a changed function are measured first in a night; what the others hide is counted.
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

# What is changed is there, and called by nobody; or called through a table; or in a library, by one of two programs that use others of it; or in one
# that is opened by its name, by the program or by a library that the version does not bring along.
cat >"$tmp/dead.c" <<'END'
#include "p.c"
__attribute__((noinline, used)) static void spare(long n) { sink += n * SPARE + n % (SPARE + 2); }
END
cat >"$tmp/table.c" <<'END'
#define main plain
#include "p.c"
#undef main
__attribute__((noinline)) static void spare(long n) { sink += n * SPARE + n % (SPARE + 2); }
static void (*volatile table[])(long) = { work, spare };
int main(void)
{
	for (int i = 0; i < 2; i++)
		table[i](20);
	return plain();
}
END
cat >"$tmp/library.c" <<'END'
static volatile long sink;
void one(long n) { sink += n; }
void other(long n) { sink += n * SPARE + n % (SPARE + 2); }
END
cat >"$tmp/uses.c" <<'END'
#define main plain
#include "p.c"
#undef main
void FUNCTION(long n);
int main(void)
{
	FUNCTION(20);
	return plain();
}
END
cat >"$tmp/opens.c" <<'END'
#include <dlfcn.h>
#define main plain
#include "p.c"
#undef main
void *opener(const char *name);
int main(void)
{
	void *library = OPEN("libspare.so.1");
	void (*other)(long) = library ? (void (*)(long))dlsym(library, "other") : 0;

	if (!other)
		return 1;
	other(20);
	return plain();
}
END
echo '#include <dlfcn.h>
void *opener(const char *name) { return dlopen(name, RTLD_NOW); }' >"$tmp/opener.c"
mkdir "$tmp/system"
gcc -O2 -shared -fPIC -Wl,-soname,libopener.so -o "$tmp/system/libopener.so" "$tmp/opener.c" || exit 1
for spare in 3 5; do
	at="$lab/apps/spare$spare"
	mkdir -p "$at/lib"
	for program in dead table; do
		gcc -O2 -g -DFACTOR=1 -DSPARE=$spare -o "$at/$program" "$tmp/$program.c" || exit 1
	done
	gcc -O2 -g -shared -fPIC -Wl,-soname,libspare.so.1 -DSPARE=$spare -o "$at/lib/libspare.so.1" "$tmp/library.c" || exit 1
	for function in one other; do
		gcc -O2 -g -DFACTOR=1 -DFUNCTION=$function -Wl,-rpath,'$ORIGIN/lib' -o "$at/$function" "$tmp/uses.c" "$at/lib/libspare.so.1" || exit 1
	done
	rpath="-Wl,--disable-new-dtags,-rpath,\$ORIGIN/lib,-rpath,$tmp/system" # so that it holds for what others open, too
	gcc -O2 -g -DFACTOR=1 '-DOPEN(name)=dlopen(name, RTLD_NOW)' "$rpath" -o "$at/opens" "$tmp/opens.c" || exit 1
	gcc -O2 -g -DFACTOR=1 -DOPEN=opener "$rpath" -o "$at/indirect" "$tmp/opens.c" "$tmp/system/libopener.so" || exit 1
done
# application NAME PROGRAM OLD NEW COST
application() {
	printf '%s\n' "command: ['{build}/$2']" "versions: { v1: { directory: $3, environment: { COST: 100 } }, v2: { directory: $4, environment: { COST: $5 } } }" \
		'repetitions: 2' 'warm_ups: 0' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }" >"$lab/apps/$1.yaml"
}
application alpha p old same 130
application beta p old changed 100
application dead dead spare3 spare5 100
application indirect indirect spare3 spare5 100
application one one spare3 spare5 100
application opens opens spare3 spare5 100
application other other spare3 spare5 100
application table table spare3 spare5 100
rm -f "$lab/apps/tiny.yaml" "$lab/apps/example.yaml"
printf '%s\n' 'comparisons: [{ application: "*" }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"

what='suspects first, and what they alone would have missed'
run -C "$lab" nightly --quiet --format json
expect_status 3
expect_json .decisions[0].application alpha
expect_json .decisions[0].decision regression
expect_json .notes[0].code suspects
grep -q 'of 8 comparisons 3 have programs that cannot reach a changed function.*missed 1 of 1 finding' "$tmp/out" ||
	fail "no count: $(grep -A1 suspects "$tmp/out")"
cases=$((cases + 1))
first=$(sqlite3 "$lab/.assay/runs.db" 'SELECT application FROM plan ORDER BY started_ms LIMIT 8' | tr '\n' ' ')
[ "$first" = 'beta indirect opens other table alpha dead one ' ] || fail "measured in the order: $first"

what='programs that cannot be compared are measured in the order of the suite'
strip "$lab"/apps/changed/p "$lab"/apps/old/p "$lab"/apps/same/p "$lab"/apps/spare?/dead "$lab"/apps/spare?/table "$lab"/apps/spare?/one "$lab"/apps/spare?/other "$lab"/apps/spare?/opens "$lab"/apps/spare?/indirect
run -C "$lab" nightly --quiet --format json
expect_status 3
cases=$((cases + 1))
[ "$(sqlite3 "$lab/.assay/runs.db" "SELECT count(*) FROM night, json_each(night.notes) WHERE json_extract(value, '\$.code') = 'suspects'")" = 1 ] ||
	fail 'stripped programs were compared'
finish
