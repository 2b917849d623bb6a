#!/bin/sh
# From a regression to the function in versions that assay builds: from git and sources; and what `assay gate --run` says where it cannot measure
# functions.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_why.sh"
application plain ''

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

what='what cannot be measured is said, and the decision stands'
run -C "$lab" gate plain@old plain@slow --run
expect_status 3
expect_stdout 'functions were not measured' '-fpatchable-function-entry=5'

what='nobody who says off is kept waiting'
run -C "$lab" gate plain@old plain@slow --run --why off --format json
expect_status 3
expect_json .why '(nothing)'
run -C "$lab" gate plain@old plain@slow --why 5m
refused 2 '--why belong to --run'
run -C "$lab" gate plain@old plain@slow --run --why soon
refused 2 'a time such as 90s, 20m or 2h'

finish
