#!/bin/sh
# From a regression to the function, without being asked: `assay gate --run` and nights measure functions of versions that are slower, and say
# why not where they cannot. The manifest has no key `probe`.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
command -v gcc >/dev/null || skip 'there is no gcc'

tidy() {
	kill_marked
}

cat >"$tmp/p.c" <<'END'
#include <stdio.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) void changed(long n) { for (long i = 0; i < n * TIMES; i++) sink += i; }
__attribute__((noinline)) void same(long n) { for (long i = 0; i < n; i++) sink ^= i; }
int main(void)
{
	for (long i = 0; i < 50; i++) {
		changed(20000);
		same(20000);
	}
	printf("cost %d\n", 10000 * TIMES + getpid() % 7);
	return 0;
}
END
run_lab one "$(hosts_here 2)"

# application NAME OPTIONS: versions `old`, `same`, `slow` and `worse`, built with these options.
application() {
	mkdir -p "$tmp/built/$1"
	for version in old:1 same:1 slow:8 worse:9; do
		mkdir "$tmp/built/$1/${version%:*}"
		gcc -O2 -g $2 "-DTIMES=${version#*:}" -o "$tmp/built/$1/${version%:*}/p" "$tmp/p.c" || exit 1
	done
	cat >"$lab/apps/$1.yaml" <<END
command: ['{build}/p']
versions:
  old: { directory: $tmp/built/$1/old }
  same: { directory: $tmp/built/$1/same }
  slow: { directory: $tmp/built/$1/slow }
  worse: { directory: $tmp/built/$1/worse }
repetitions: 4
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
}
application entries -fpatchable-function-entry=5
application plain ''

what='a regression leads to the function'
run -C "$lab" gate entries@old entries@slow --run --format json
expect_status 3
expect_stderr 'measuring functions on 1 host'
expect_json .decision regression
expect_json .why.hosts 1
expect_json .why.runs 38
expect_json .why.code null
expect_json .functions.explains true
run -C "$lab" gate entries@old entries@slow
expect_stdout 'the change is explained by' ' changed (' 'p.c:4)'

what='versions from git or sources are built for it, by their own command; what they cost is of the plain build'
git init -q "$tmp/source"
for times in 1 8; do
	sed "1i #define TIMES $times" "$tmp/p.c" >"$tmp/source/p.c"
	git -C "$tmp/source" add p.c
	git -C "$tmp/source" -c user.name=a -c user.email=a@b commit -qm "$times times"
done
cat >"$lab/apps/fromgit.yaml" <<END
command: ['{build}/p']
versions:
  old: { git: { repository: $tmp/source, reference: HEAD^, build: [gcc, -O2, p.c, -o, p] } }
  slow: { sources: $tmp/source, build: [gcc, -O2, p.c, -o, p] }
repetitions: 4
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
run -C "$lab" gate fromgit@old fromgit@slow --run --format json
expect_status 3
expect_json .why.code null
emulated=$(json .why.emulated) # 0 where processors count
run -C "$lab" gate fromgit@old fromgit@slow
expect_stdout 'the change is explained by' 'changed'
case $emulated in
0) ;;
*)
	expect_stdout 'changed' 'more work at each call' 'emulated counters'
	run -C "$lab" detect fromgit@old fromgit@slow --format json
	expect_json .backend emulated .functions[0].name changed .functions[0].kind more_work
	;;
esac
cases=$((cases + 1))
for build in "$lab"/.assay/builds/*/; do readelf -S "$build/p" 2>/dev/null | grep -c '\.debug_info'; done | sort | tr '\n' ' ' >"$tmp/debug"
case $(cat "$tmp/debug") in '0 0 '*' 1 1 ') ;; *) fail "two plain builds and two variants with debug information expected: $(cat "$tmp/debug")" ;; esac

what='a variant that cannot be built says why by a code, and the decision stands'
mkdir "$tmp/bin"
ln -s /usr/bin/* "$tmp/bin"
rm -f "$tmp"/bin/cc "$tmp"/bin/c++ "$tmp"/bin/*gcc* "$tmp"/bin/*g++* "$tmp"/bin/c89* "$tmp"/bin/c99* "$tmp"/bin/*clang* "$tmp/bin/ccache"
# unbuilt CODE SCRIPT [PATH]: versions `old` and `slow`, whose build command is the script.
unbuilt() {
	for version in old:1 slow:8; do
		mkdir -p "$tmp/$1/${version%:*}"
		sed "1i #define TIMES ${version#*:}" "$tmp/p.c" >"$tmp/$1/${version%:*}/p.c"
		cp "$tmp/built/plain/${version%:*}/p" "$tmp/$1/${version%:*}/made"
		echo "$2" >"$tmp/$1/${version%:*}/build.sh"
	done
	sed "s|^  old:.*|  old: { sources: $tmp/$1/old, build: [sh, build.sh] }|; s|^  slow:.*|  slow: { sources: $tmp/$1/slow, build: [sh, build.sh] }|
		/^  same:/d; /^  worse:/d" "$lab/apps/plain.yaml" >"$lab/apps/$1.yaml"
	PATH=${3:-$PATH}
	run -C "$lab" gate "$1@old" "$1@slow" --run --format json
	PATH=$path
	expect_status 3
	expect_json .decision regression .why.code "$1" .why.runs 0
}
path=$PATH
unbuilt build_failed '[ "$ASSAY_VARIANT" != functions ] || exit 3; exec gcc -O2 p.c -o p'
unbuilt build_differs 'exec gcc -O2 "-DFOR_$ASSAY_VARIANT" p.c -o p'
unbuilt not_probed 'exec gcc -O2 -static p.c -o p'
unbuilt no_compiler 'exec cp made p' "$tmp/bin"

what='what is known is not measured again'
run -C "$lab" gate entries@old entries@slow --run --format json
expect_json .why '(nothing)'

what='what is not slower asks nothing'
run -C "$lab" gate entries@old entries@same --run --budget 1s --format json
expect_json .why '(nothing)'

what='what cannot be measured is said, and the decision stands'
run -C "$lab" gate plain@old plain@slow --run --format json
expect_status 3
expect_json .decision regression
expect_json .why.code not_probed
expect_json .why.runs 0
run -C "$lab" gate plain@old plain@slow --run
expect_status 3
expect_stdout 'functions were not measured' '-fpatchable-function-entry=5'

what='nobody who says off is kept waiting'
run -C "$lab" gate plain@old plain@slow --run --why off --format json
expect_status 3
expect_json .why '(nothing)'
run -C "$lab" gate plain@old plain@slow --why 5m
refused 2 '--why belongs to --run'
run -C "$lab" gate plain@old plain@slow --run --why soon
refused 2 'a time such as 90s, 20m or 2h'

what='a night names the function as well, and notes what it could not measure'
cat >"$lab/suite.yaml" <<'END'
comparisons:
  - { application: entries, candidates: worse, against: [old] }
  - { application: plain, candidates: slow, against: [old] }
fingerprints: { battery: none }
confirm: { fresh_runs: no }
END
run -C "$lab" nightly --format json
expect_status 3
expect_json .notes[0].code functions_not_measured
expect_json .decisions[0].application entries .decisions[0].decision regression
cases=$((cases + 1))
case $(json .decisions[0].cause) in *'most in '*' (p.c:'*) ;; *) fail "the cause names no function: $(json .decisions[0].cause)" ;; esac
expect_json .decisions[0].functions[0].name changed .decisions[0].functions[0].line 4
decision=$(json .decisions[0].id)
run -C "$lab" explain "$decision" --format json
expect_json .functions[0].name changed .functions[0].kind "$(json .evidence.runs.functions.functions[0].kind)"
run -C "$lab" verify "$decision" --format json
expect_json .verdict same
run -C "$lab" gate entries@old entries@worse
expect_stdout 'the change is explained by' ' changed (' 'p.c:4)'
echo 'why: off' >>"$lab/suite.yaml"
run -C "$lab" nightly --format json
expect_status 3
expect_json .notes[0] '(nothing)'
sed -i 's/^why: off/why: soon/' "$lab/suite.yaml"
run -C "$lab" nightly
refused 2 suite.yaml:6: "'why'" soon
finish
