# What stored answers are about (tests/answers sources this): builds, samples and a laboratory, made once by the program $ASSAY in the
# directory $fixture, so that two programs are asked about the same bytes. Some ten minutes, and about 100 MB.
#   builds/   programs in two versions, for the emulation and the probe; a git repository with the tags one and two
#   samples/  of these programs, a directory a run
#   lab/      twelve emulated hosts (down): fingerprints, some of them twice; sqlite; an application with samples; one that fails

fixture_sources() {
	mkdir -p "$fixture/builds"
	cp "$source"/tests/apps/*.[ch] "$source"/tests/probed/calls.c "$source"/tests/probed/throws.cc "$fixture/builds"
	cat >"$fixture/builds/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile long sink;
__attribute__((noinline)) void changed(long n) { for (long i = 0; i < n; i++) sink += i * FACTOR; }
__attribute__((noinline)) void same(long n) { for (long i = 0; i < n; i++) sink ^= i; }
__attribute__((noinline)) void never(long n) { sink = n; }
/* p CALLS [crash] */
int main(int argc, char **argv)
{
	long n = atol(argv[1]);

	for (long i = 0; i < n; i++) {
		changed(100);
		same(10);
	}
	if (n < 0)
		never(n);
	printf("cost %ld\n", n * FACTOR_COST);
	fflush(stdout);
	if (argc > 2)
		abort();
	return 0;
}
END
}

# fixture_emulated PROGRAM SOURCE [FLAG...]
fixture_emulated() {
	program=$1 file=$2
	shift 2
	"$ASSAY" build --for counters -- gcc -O2 -g -w -std=c11 -D_GNU_SOURCE "$@" "$file" -pthread -o "$program"
}

# fixture_plain PROGRAM SOURCE [FLAG...]: for the probe.
fixture_plain() {
	program=$1 file=$2
	shift 2
	gcc -O2 -g -w -std=c11 -D_GNU_SOURCE -fpatchable-function-entry=5 "$@" "$file" -pthread -o "$program"
}

fixture_builds() (
	cd "$fixture/builds"
	fixture_emulated seven seven.c
	for fault in 1 3 5 6 27; do fixture_emulated "seven-$fault" seven.c "-DFAULT=$fault"; done
	for name in scalar_sum hash_lock extra_copy branch; do
		fixture_emulated "$name" "$name.c"
		fixture_emulated "$name-bad" "$name.c" -DBAD
	done
	fixture_plain seven-plain seven.c
	fixture_plain seven-plain-27 seven.c -DFAULT=27
	fixture_plain calls calls.c
	g++ -O2 -g -w -fpatchable-function-entry=5 throws.cc -o throws
	gcc -O2 -w calls.c -o not-for-the-probe
	for version in a b; do
		factor='1 -DFACTOR_COST=1'
		[ $version = a ] || factor='(i%7+1) -DFACTOR_COST=2'
		mkdir -p "probed-$version" "emulated-$version"
		# shellcheck disable=SC2086
		fixture_plain "probed-$version/p" p.c -DFACTOR=$factor
		# shellcheck disable=SC2086
		fixture_emulated "emulated-$version/p" p.c -DFACTOR=$factor
	done
	mkdir -p repository
	cd repository
	git init -q .
	for tag in one two; do
		if [ $tag = one ]; then cp ../seven.c ../app.h .; else sed 's/^#define FAULT 0/#define FAULT 27/' ../seven.c >seven.c; fi
		git add .
		git -c user.name=answers -c user.email=answers@localhost commit -q -m "$tag"
		git tag "$tag"
		fixture_plain "../seven-$tag" seven.c
	done
)

# fixture_runs PROGRAM DIRECTORY RUNS ARGUMENT...: in the emulation.
fixture_runs() {
	program=$fixture/builds/$1 directory=$fixture/samples/$2 runs=$3
	shift 3
	for i in $(seq "$runs"); do
		mkdir -p "$directory/$i"
		"$ASSAY" record --for counters -o "$directory/$i" -- "$program" "$@" >>"$fixture/log" 2>&1
	done
}

# fixture_probes PROGRAM DIRECTORY RUNS FUNCTIONS ARGUMENT...: with the probe.
fixture_probes() {
	program=$fixture/builds/$1 directory=$fixture/samples/$2 runs=$3 functions=$4
	shift 4
	for i in $(seq "$runs"); do
		mkdir -p "$directory/$i"
		"$ASSAY" record --for functions --functions "$functions" --budget 0 -o "$directory/$i" -- "$program" "$@" >>"$fixture/log" 2>&1
	done
}

fixture_samples() {
	fixture_runs seven seven 20 4 12 1
	fixture_runs seven seven-same 3 4 12 2
	for fault in 1 3 5 6 27; do fixture_runs "seven-$fault" "seven-$fault" 3 4 12 3; done
	fixture_runs seven seven-few 4 4 12 4
	for name in scalar_sum:30000 hash_lock:10000 extra_copy:2000 branch:30000; do
		fixture_runs "${name%:*}" "${name%:*}" 19 4 "${name#*:}"
		fixture_runs "${name%:*}-bad" "${name%:*}-bad" 3 4 "${name#*:}"
	done
	fixture_probes seven-plain probed-seven 19 tally,draw,parse,choose,ask,store,walk 4 12 1
	fixture_probes seven-plain-27 probed-seven-27 3 tally,draw,parse,choose,ask,store,walk 4 12 1
	fixture_probes calls probed-calls 2 fib,work,tiny 30
	# What is empty takes no room.
	find "$fixture/samples" -name '*.samples' -exec fallocate -d {} + 2>/dev/null || true
}

# fixture_manifest NAME KIND PROBE: of the versions a and b of p.
fixture_manifest() {
	cat >"$fixture/lab/apps/$1.yaml" <<END
command: ['{build}/p', '{arguments}']
versions: { a: { directory: $fixture/builds/$2-a }, b: { directory: $fixture/builds/$2-b } }
inputs: { x: { arguments: [300] }, yy: { arguments: [400] } }
repetitions: 5
warm_ups: 0
time_limit: 20
metric: { source: regex, pattern: 'cost ([0-9]+)' }
probe: $3
END
}

# As the commands that decide: all that is refused is that nothing worked.
fixture_some() {
	"$ASSAY" -C "$fixture/lab" "$@" >>"$fixture/log" 2>&1 || [ $? = 7 ] || { tail -n 3 "$fixture/log" >&2; return 1; }
}

fixture_measure() {
	fixture_some host measure &&
		fixture_some host measure -w emu01,emu02 &&
		fixture_some run sqlite --repetitions 3 --seed 1 &&
		fixture_some run probed --seed 1 -w emu01,emu02,emu03 &&
		fixture_some run probed --probe --seed 1 -w emu01,emu02 &&
		fixture_some run emulated --probe --seed 1 -w emu01,emu02 &&
		fixture_some run fails --seed 1 -w emu01,emu02
}

fixture_lab() {
	cp -R "$source/machines/demo-lab" "$fixture/lab"
	fixture_manifest probed probed '{ functions: [changed, same], budget: 0 }'
	fixture_manifest emulated emulated '{ back_end: emulated }'
	fixture_manifest fails probed '{ functions: [changed] }'
	sed -i 's/\[400\]/[400, crash]/' "$fixture/lab/apps/fails.yaml"
	"$ASSAY" host up "$fixture/lab" >>"$fixture/log" 2>&1
	fixture_measure || { "$ASSAY" host down "$fixture/lab" >/dev/null 2>&1; return 1; }
	"$ASSAY" host down "$fixture/lab" >>"$fixture/log" 2>&1
}

fixture_quiho() {
	"$ASSAY" init "$fixture/quiho" >/dev/null
	python3 "$source/tests/recorded.py" "$quiho" "$fixture/tables" "$quiho/types.csv"
	"$ASSAY" -C "$fixture/quiho" host import "$fixture/tables/machines.csv" >/dev/null
	"$ASSAY" -C "$fixture/quiho" result import "$fixture/tables/results.csv" >/dev/null
}

# fixture_part NAME FUNCTION
fixture_part() {
	[ -e "$fixture/made-$1" ] && return
	echo "tests/answers: making $1 in $fixture" >&2
	rm -rf "${fixture:?}/$1"
	"fixture_$1"
	: >"$fixture/made-$1"
}

fixture() {
	mkdir -p "$fixture"
	[ -e "$fixture/made" ] || date -u +%Y-%m-%dT%H:%M:%S.%NZ >"$fixture/made"
	[ -e "$fixture/made-builds" ] || fixture_sources
	[ -e "$fixture/made-builds" ] || { fixture_builds && : >"$fixture/made-builds"; }
	fixture_part samples
	[ ! -f "$quiho/results.csv" ] || fixture_part quiho
	fixture_part lab
}
