# What the scripts cli_why*.sh share, behind lib_cli.sh: a laboratory of this machine, and applications with a function that is slower. Their manifests
# have no key `probe`.
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v gcc >/dev/null || skip 'there is no gcc'

tidy() {
	kill_marked
}

cat >"$tmp/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) void changed(long n) { for (long i = 0; i < n * TIMES; i++) sink += i; }
#ifndef SAME
#define SAME 1
#endif
__attribute__((noinline)) void same(long n) { for (long i = 0; i < n; i++) sink ^= i; }
int main(void)
{
	int counted = getenv("ASSAY_EMULATE_DIRECTORY") != NULL; /* which takes long; else there is enough for samples of each run */
	long n = counted ? 20000 : 200000;
	for (long i = counted ? 47 : 0; i < 50; i++) {
		changed(n);
		same(SAME * n);
	}
	printf("cost %d\n", 10000 * (TIMES + SAME) + getpid() % 7);
	return 0;
}
END
run_lab one "$(hosts_here 1)"

# application NAME OPTIONS: versions `old`, `same`, `slow`, `worse` and `longer`, which calls the unchanged function `same` for longer, built with these
# options.
application() {
	mkdir -p "$tmp/built/$1"
	for version in old:1:1 same:1:1 slow:8:1 worse:9:1 longer:1:10; do
		values=${version#*:} version=${version%%:*}
		mkdir "$tmp/built/$1/$version"
		gcc -O2 -g $2 "-DTIMES=${values%:*}" "-DSAME=${values#*:}" -o "$tmp/built/$1/$version/p" "$tmp/p.c" || exit 1
	done
	cat >"$lab/apps/$1.yaml" <<END
command: ['{build}/p']
versions:
  old: { directory: $tmp/built/$1/old }
  same: { directory: $tmp/built/$1/same }
  slow: { directory: $tmp/built/$1/slow }
  worse: { directory: $tmp/built/$1/worse }
  longer: { directory: $tmp/built/$1/longer }
repetitions: 4
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
}
