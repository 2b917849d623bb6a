#!/bin/sh
# The controller itself on aarch64: cross-compiled by gcc and by clang, the programs of its tests by QEMU's emulation of single programs,
# and in a guest with Debian's kernel, where it measures and decides as well. Needs the packages of the sections aarch64 and pmu.
needs=nothing
. tests/lib_evidence.sh
. tests/lib_guest.sh
. tests/lib_build.sh
directory=build/guest_controller
tests=build/aarch64-release/tests
sh tests/install build test aarch64 pmu >&2
sh tests/other_packages --libraries build/aarch64 >/dev/null
build aarch64 'by gcc' -DASSAY_WERROR=ON >&2
ctest --preset aarch64 -N | sed -n 's/^ *Test *#[0-9]*: *//p' | sort >"$work/names"

# ---- a guest: the program, and the programs of tests ----

rm -rf "$directory"
mkdir -p "$directory"
root=$directory/root
# Programs of Debian's, for some of busybox know less: sleep, truncate, the shells.
version_of_kernel=$(sh tests/other_packages --needed "$root" $guest_kernel busybox-static stress-ng libopenblas0-pthread libgfortran5 \
	dash bash coreutils libc-bin openssh-client | sed -n '1s/ .*//p')
guest_directories "$directory"
cp -R build/aarch64/usr build/aarch64/lib "$root/" 2>/dev/null
mkdir -p "$root/opt"
cp build/aarch64-release/assay build/aarch64-release/libassay-probe.so build/aarch64-release/libassay-interpose.so "$root/opt/"
for program in "$tests"/runner_* "$tests"/test_* "$tests/replay" "$tests/interposed"; do [ ! -f "$program" ] || [ ! -x "$program" ] || cp "$program" "$root/opt/"; done
aarch64-linux-gnu-gcc -O1 -g -finstrument-functions -o "$root/opt/work" -x c - <<'END_C'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static int work(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i;
	return sum;
}
int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < 200; i++)
		work(turns);
	return write(1, "\n", 1) != 1;
}
END_C
# shellcheck disable=SC2046 # a list of paths
guest_programs "$directory" $(cd "$root" && find opt bin usr/bin -type f)
ln -sf dash "$directory/guest/bin/sh"
for name in libopenblas.so.0 libc.so.6 libm.so.6 ld-linux-aarch64.so.1 libpapi.so.7.0 libpfm.so.4; do
	[ -e "$directory/guest/lib/$name" ] || cp -L "$(find "$root/usr/lib" "$root/lib" -name "$name" | head -n 1)" "$directory/guest/lib/$name"
done
guest_libraries "$root/usr/lib/aarch64-linux-gnu/libopenblas.so.0"
mkdir -p "$directory/guest/source" "$directory/guest/usr/bin" "$directory/guest/etc"
git archive HEAD tests fingerprint machines docs fleet gate/page | tar -x -C "$directory/guest/source"
cp -R "$root/etc/." "$directory/guest/etc/" 2>/dev/null || true
echo 'root:x:0:0::/root:/bin/sh' >"$directory/guest/etc/passwd"
printf 'root:x:0:\n' >"$directory/guest/etc/group"
# Names of tests as they are called: a program, and a suite.
while read -r name; do
	case $name in
	fuzz_*) echo "$name /opt/replay $name /source/tests/fuzz/corpus/${name#fuzz_}" ;;
	*)
		found=$(ls tests/*/"$name.c" | sed 's/tests\/\(.*\)\/.*/\1/')
		if [ -x "$tests/$name" ]; then echo "$name /opt/$name"; else echo "$name /opt/runner_$found $name"; fi
		;;
	esac
done <"$work/names" >"$directory/guest/suites"
cat >"$directory/guest/battery.yaml" <<'END_YAML'
name: small
passes: 3
seconds: .2
stressors:
  - { stressor: cpu, arguments: [--cpu-method, int64] }
  - { stressor: qsort, arguments: [--qsort-size, 1024] }
  - { stressor: getdent }
  - { stressor: pipe }
END_YAML
mkdir "$directory/guest/one" "$directory/guest/same" "$directory/guest/slow"
printf '#!/bin/sh\nexec /opt/work 1000000\n' >"$directory/guest/one/work"
printf '#!/bin/sh\nexec /opt/work 1500000\n' >"$directory/guest/slow/work"
cp "$directory/guest/one/work" "$directory/guest/same/work"
chmod +x "$directory"/guest/*/work
cat >"$directory/guest/work.yaml" <<'END_YAML'
command: ['{build}/work']
versions: { one: { directory: /one }, same: { directory: /same }, slow: { directory: /slow } }
metric: cpu
repetitions: 6
END_YAML
guest_init "$directory" <<'END_SH'
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
chmod 1777 /dev/shm
ifconfig lo 127.0.0.1 up
hostname guest
echo 1 >/proc/sys/kernel/perf_event_paranoid
export PATH=/opt:/usr/bin:/bin HOME=/root ASSAY_SOURCE=/source ASSAY=/opt/assay ASSAY_QUIHO=/nowhere
export ASSAY_INTERPOSE=/opt/libassay-interpose.so ASSAY_INTERPOSED=/opt/interposed
# step STATUSES WHAT COMMAND...
step() {
	statuses=$1 what=$2
	shift 2
	"$@" >/tmp/said 2>&1
	status=$?
	case " $statuses " in *" $status "*) right=yes ;; *) right=no ;; esac
	echo "@ step|$what|$right|status $status|$(cut -c1-160 /tmp/said | head -n ${lines:-1} | tr '\n' ' ')"
	[ $right = yes ] || sed 's/^/! /' /tmp/said | head -n 20
}
cd /tmp
step 0 'uname -m' uname -m
step 0 'init' assay init /lab
printf 'hosts:\n  - { name: here, transport: local }\n' >>/lab/lab.yaml
cp /work.yaml /lab/work.yaml
sleep 60 # until the load of starting is gone
step 0 'host check' assay -C /lab host check
lines=3
step 0 'host measure' assay -C /lab host measure --battery /battery.yaml
step 0 'run work' assay -C /lab run /lab/work.yaml
step '3' 'gate work@one work@slow' assay -C /lab gate work@one work@slow --min-effect .1
step '0' 'gate work@one work@same' assay -C /lab gate work@one work@same --min-effect .1
step '0 6' 'profile work@one' assay -C /lab profile work@one
step 0 'probe --functions work' assay record --for functions --functions work -o /tmp/probed -- /opt/work 20000
step 0 'samples' assay inspect /tmp/probed
step 0 'record' assay record -o /tmp/recorded -- /opt/work 20000
step 2 'build --for counters' assay build --for counters -- gcc -o x x.c
step 2 'build --for features' assay build --for features -- gcc -o x x.c
mkdir /tests && cd /tests
while read -r name words; do
	rm -rf /tests/*
	timeout 600 $words >/tmp/said 2>&1
	status=$?
	echo "@ test|$name|$status"
	[ $status = 0 ] || [ $status = 77 ] || grep -a 'ERROR\|Failed\|rror' /tmp/said | cut -c1-200 | head -n 6 | sed 's/^/! /'
done </suites
poweroff -f
END_SH
guest_pack "$directory"
leave() { kill "$(cat "$work/qemu" 2>/dev/null)" 2>/dev/null || true; }
guest_run "$directory" cortex-a57 3000 -m 4096 -smp 2 -nic none -pidfile "$work/qemu" >"$directory/console" &
guest=$!
while kill -0 $guest 2>/dev/null && ! grep -aq '^@ test' "$directory/console"; do sleep 1; done # what it measures wants a calm machine

# ---- meanwhile, the programs of tests by the emulation of single programs ----

# ALONE=FILE: what an earlier run has kept of this part, build/aarch64-release/alone.
if [ -n "${ALONE:-}" ]; then
	cp "$ALONE" "$work/alone"
else
	ctest --preset aarch64 >"$work/ctest" || true
	sed -n 's/^[ 0-9]*\/[0-9]* Test *#[0-9]*: \([a-z_0-9]*\) .*\(\*\*\*Failed\|Passed\|\*\*\*Skipped\|\*\*\*Exception\|\*\*\*Timeout\).*/\1 \2/p' "$work/ctest" |
		tr -d '*' | sort >"$work/alone"
	cp "$work/alone" build/aarch64-release/alone
fi
build aarch64-clang 'by clang' -DASSAY_WERROR=ON >&2
wait
sed 's/\r//' "$directory/console" >"$work/console"
grep -q '^@ step' "$work/console" || { tail -n 40 "$work/console" >&2; exit 1; }
/usr/bin/python3 tests/bench/aarch64_controller_table.py "$work/alone" "$work/console" >"$work/table"
{
	evidence_head 'The controller on aarch64'
	cat <<-END_TEXT
	Cross-compiled without a warning by aarch64-linux-gnu-gcc $(aarch64-linux-gnu-gcc -dumpfullversion) and clang $(clang-14 -dumpversion) (\`-Werror\`), against Debian's libraries of aarch64.
	Programs of tests ran by $(qemu-aarch64 --version | sed -n '1s/.*version \([^ ]*\).*/QEMU \1/p')'s emulation of single programs on this machine, and in a guest: cortex-a57, two processors, Debian's $version_of_kernel, busybox, stress-ng.

	END_TEXT
	cat "$work/table"
} >"$work/page"
evidence_done
