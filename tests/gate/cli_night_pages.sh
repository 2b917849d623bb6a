#!/bin/sh
# The pages of a night in a browser: from the night to a function by clicks; on a telephone, in the dark, by the keyboard, without colours, without scripts.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip 'no browser to open pages in (sh tests/install test brings chromium)'
. "$ASSAY_SOURCE/tests/lib_look.sh"
export XDG_CACHE_HOME="$tmp/cache" # of the programs that hosts keep

tidy() {
	kill_marked
}

run_lab night "$(hosts_here 3)"
cat >"$tmp/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile long sink;
__attribute__((noinline)) void parse_words(long n) { for (long i = 0; i < n * FACTOR; i++) sink += i; }
__attribute__((noinline)) void count_words(long n) { for (long i = 0; i < n * FACTOR; i++) sink ^= i; }
int main(void)
{
	for (int i = 0; i < 10; i++) {
		parse_words(1000);
		count_words(1000);
	}
	printf("cost %s\n", getenv("COST"));
	return 0;
}
END
for version in old new; do
	[ $version = old ] && factor=1 || factor=2
	mkdir "$tmp/$version"
	"$ASSAY" build --for counters -- gcc -O2 -g "-DFACTOR=$factor" -o "$tmp/$version/p" "$tmp/p.c" || exit 1
done
# What functions do is counted: whether a clock shows it hangs on how busy the machine is.
# application NAME COST: is slower than before by what its cost is above 100.
application() {
	cat >"$lab/apps/$1.yaml" <<END
command: ['{build}/p']
versions:
  v1: { directory: $tmp/old, environment: { COST: 100 } }
  v2: { directory: $tmp/new, environment: { COST: $2 } }
repetitions: 8
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9.]+)' }
probe: { back_end: emulated, functions: changed }
END
}
application words 130
application a-long-name-of-a-program-that-counts-and-counts 100
rm -f "$lab/apps/tiny.yaml" "$lab"/apps/example*
printf '%s\n' "comparisons: [{ application: '*', against: v1 }]" 'fingerprints: { battery: none }' >"$lab/suite.yaml"

what='a night with samples'
run -C "$lab" run words --probe --quiet
expect_status 0
run -C "$lab" nightly run --quiet
expect_status 3
run -C "$lab" nightly pages -o "$tmp/pages"
expect_status 0

what='clicks'
cp "$ASSAY_SOURCE/tests/gate/night_click.html" "$tmp/click.html"
browse "$tmp/click.html" >"$tmp/dom" 2>/dev/null
sed -n '/<pre id="facts">/,/<\/pre>/p' "$tmp/dom" | sed 's/<[^>]*>//g' >"$tmp/facts"
holds "$tmp/facts" 'what was seen' 'first index.html' 'rows 2' 'regression' 'machines host1,host2,host3' 'wide true' 'heading words@v2 costs' \
	'section #functions' 'source true' 'back night-' 'history history-' 'end reached'
cases=$((cases + 1))
[ "$(grep -Ec '^(function|straight) (parse|count)_words$' "$tmp/facts")" = 2 ] || fail "$(cat "$tmp/facts")"

what='the first page'
cp "$tmp/pages/index.html" "$tmp/night.html"
look night
expect_layout night,applications,machines
expect_fact phone-light badge regression
expect_fact screen-light keyboard yes
expect_fact phone-dark keyboard yes
expect_fact screen-dark signs yes

what='the report'
report=$(grep -o 'href="\./[0-9a-f]*\.html"' "$tmp/pages/index.html" | head -n 1 | cut -d '"' -f 2) # the worst
cp "$tmp/pages/$report" "$tmp/decision.html"
look decision
expect_fact phone-light scrolls-sideways no
expect_fact phone-light unreachable-links 0
expect_fact phone-dark keyboard yes
at_least screen-dark contrast 4.5

what='a history with changes'
mkdir "$tmp/stepped"
awk -v header="$HEADER" '
function noise() { seed = (seed * 16807) % 2147483647; return 1 + .01 * (seed / 2147483647 - .5) }
function row(n, benchmark, m, pass, test, value, version) {
	printf "url,abc,me,%d,%s,node%d,%d,%s,%.9g,%s\n", 1500000000 + 86400 * n, benchmark, m, pass, test, value, version
}
BEGIN {
	seed = 4711
	print header ",version"
	for (n = 0; n < 40; n++)
		for (m = 1; m <= 3; m++)
			for (pass = 1; pass <= 2; pass++) {
				for (j = 1; n % 13 == 0 && j <= 4; j++)
					row(n, "stressng", m, pass, "s" j, 100 * j * m * noise() * (m == 3 && n > 30 ? .93 : 1), "")
				row(n, "stepped", m, pass, "stepped", (n < 15 ? 10 : n < 30 ? 10.8 : 9.9) * (n == 22 ? 1.4 : 1) * m * noise(), "v" n)
			}
}' >"$tmp/stepped/results.csv"
lab_of stepped
expect_status 0
run -C "$tmp/stepped.lab" history stepped --format html
cp "$tmp/out" "$tmp/history.html"
page=$tmp/history.html
says 'Rings: spikes.' 'first version after it'
look history
expect_layout answer,section-1
expect_fact phone-light pictures 1
expect_fact screen-dark changes 2
expect_fact phone-dark keyboard yes
finish
