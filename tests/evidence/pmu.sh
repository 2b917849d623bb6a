#!/bin/sh
# Counters on a PMU that Linux drives: QEMU's model of an aarch64 processor, Debian's kernel, the fleet's helper and counting program
# cross-compiled. Instructions are counted by the clock of the guest (-icount), so what a program executes is known to the instruction.
needs=nothing
. tests/lib_evidence.sh
. tests/lib_guest.sh
directory=build/pmu
others='busybox-static libpapi-dev libpfm4-dev'
loop=10000000

# ---- what the guest is made of ----

# frame KIND TEXT: of the helper's protocol; shorter than 256 bytes.
frame() {
	# shellcheck disable=SC2059
	printf "$1\\000\\000\\000\\$(printf %03o ${#2})%s" "$2"
}

make_guest() {
	guest_directories "$directory"
	# The very programs that a build deploys.
	cmake -S . -B "$directory/build" -G Ninja -DCMAKE_C_FLAGS='-O2 -g' -DASSAY_OTHER_ARCHITECTURE=ON \
		-DASSAY_OTHER_ROOT="$PWD/$directory/root" >/dev/null
	cmake --build "$directory/build" --target other_programs >/dev/null
	cp "$directory/build/fleet/helper/helper-aarch64" "$directory/guest/helper"
	cp "$directory/build/fleet/counting/counting-aarch64" "$directory/guest/counting"
	# Two instructions a turn; three around them.
	cat >"$directory/loop.s" <<-END_S
		.globl _start
		_start:	ldr x1, =$((loop / 2))
		again:	subs x1, x1, #1
			b.ne again
			mov x0, #0
			mov x8, #93
			svc #0
	END_S
	aarch64-linux-gnu-gcc -nostdlib -static -s -o "$directory/guest/loop" "$directory/loop.s"
	{ frame H 1; frame o facts; frame G ''; } >"$directory/guest/facts"
	{
		frame H 1
		frame o run
		for word in /counting run /tmp/by-helper hardware INST_RETIRED -- /loop; do frame a "$word"; done
		frame G ''
	} >"$directory/guest/asked"
	echo 'user:x:1000:1000::/:/bin/sh' >"$directory/guest/etc/passwd"
	guest_init "$directory" <<'END_SH'
presets='PAPI_TOT_INS PAPI_TOT_CYC PAPI_L1_DCM PAPI_L1_ICM PAPI_BR_MSP'
native='INST_RETIRED CPU_CYCLES'

# say WHAT COMMAND...: each line of what it writes, after a name.
say() {
	what=$1
	shift
	"$@" 2>&1 | sed "s/^/@ $what: /"
}
counted() {
	rm -f /tmp/counted
	"$@" && cat /tmp/counted
}
cases() {
	say "$1 root" /counting plan $presets
	say "$1 user" su user -c "/counting plan $presets"
}
cases "paranoid $(cat /proc/sys/kernel/perf_event_paranoid)"
echo 2 >/proc/sys/kernel/perf_event_paranoid
cases 'paranoid 2'
say 'native' /counting plan $native
say 'both' /counting plan perf::TASK-CLOCK $native
say 'presets' counted /counting run /tmp/counted hardware PAPI_TOT_INS PAPI_TOT_CYC -- /loop
say 'natives' counted /counting run /tmp/counted hardware $native -- /loop
say 'by user' su user -c '/counting run /tmp/user hardware INST_RETIRED -- /loop; cat /tmp/user'
say 'threefold' counted /counting run /tmp/counted hardware INST_RETIRED -- sh -c '/loop; /loop; /loop'
{ cat /facts; sleep 2; } | /helper | tr '\000' '\n' | tr -dc '\n -~' | sed -n '/^architecture\|^has_pmu\|^perf_event_paranoid/s/^/@ facts: /p'
{ cat /asked; sleep 5; } | /helper >/tmp/answer
say 'by helper' cat /tmp/by-helper
echo '@ end'
poweroff -f
END_SH
	guest_pack "$directory"
}

# boot NAME PROCESSOR: what it says, in $directory/NAME.
boot() {
	guest_run "$directory" "$2" 900 -m 256 -icount shift=2,sleep=off -seed 1 -rtc base=2024-01-01T00:00:00,clock=vm -nic none \
		>"$directory/$1.console" 2>&1 || true
	tr -d '\r' <"$directory/$1.console" | sed -n 's/^@ //p' >"$directory/$1"
}

# ---- what is expected ----

failed=0
# row NAME OK WHAT SAID: one of the page's table.
row() {
	[ "$2" = yes ] || { failed=$((failed + 1)); echo "FAIL: $1: $3: $4" >&2; }
	echo "| $1 | $3 | $4 |" >>"$work/rows"
}

# says NAME START PATTERN WHAT: the lines of boot NAME that begin so; one of them matches, and it is shown.
says() {
	line=$(sed -n "s/^$2: //p" "$directory/$1" | grep -m 1 -e "$3" || true)
	row "$1" "${line:+yes}" "$4" "${line:-nothing like '$3'}"
}

# never NAME PATTERN WHAT: it stands nowhere.
never() {
	line=$(grep -m 1 -e "$2" "$directory/$1" || true)
	row "$1" "$([ -n "$line" ] || echo yes)" "$3" "${line:-right}"
}

# counts NAME START EVENT EXPECTED WHAT: within 1 %.
counts() {
	value=$(sed -n "s/^$2: count $3 //p" "$directory/$1")
	row "$1" "$(awk -v v="${value:-0}" -v e="$4" 'BEGIN { if (v >= .99 * e && v <= 1.01 * e) print "yes" }')" "$5" \
		"${value:-nothing} of $4 $3"
}

setting='kernel.perf_event_paranoid is 3.*2 would allow it'

# counting NAME: a processor whose instructions and cycles can be counted; four cycles an instruction by -icount shift=2.
counting() {
	says "$1" 'paranoid 3 root' "^none .*$setting" 'as Debian sets it, as root'
	says "$1" 'paranoid 3 user' "^none .*$setting" 'as Debian sets it, as a user'
	never "$1" 'does not know this processor' 'a setting is not taken for an unknown processor'
	for who in root user; do
		says "$1" "paranoid 2 $who" '^run 1 hardware user PAPI_TOT_INS PAPI_TOT_CYC$' "paranoid 2, as $who: what counts"
	done
	never "$1" '^paranoid 2 .*run .*\(PAPI_L1\|PAPI_BR\)' 'what opens and stays 0 is not planned'
	counts "$1" presets PAPI_TOT_INS $loop 'instructions'
	counts "$1" presets PAPI_TOT_CYC $((4 * loop)) 'cycles'
	says "$1" native '^run 1 hardware user INST_RETIRED CPU_CYCLES$' 'native names'
	counts "$1" natives INST_RETIRED $loop 'instructions by their native name'
	counts "$1" natives CPU_CYCLES $((4 * loop)) 'cycles by their native name'
	counts "$1" 'by user' INST_RETIRED $loop 'counted by a user'
	counts "$1" threefold INST_RETIRED $((3 * loop)) 'a shell and three children'
	counts "$1" 'by helper' INST_RETIRED $loop 'run by the helper'
	says "$1" facts '^has_pmu 1$' "the helper's facts"
}

uncounted() {
	never "$1" '^[^:]*: \(run [0-9]* hardware\|count PAPI\|count INST\)' 'nothing is said to be counted'
	says "$1" both '^run 1 software [a-z]* perf::TASK-CLOCK$' "the kernel's own events remain"
}

# processor_s FILE: seconds of what this shell has called so far; `times` must be the shell's own.
processor_s() {
	sed -n '2s/[ms]/ /gp' "$1" | awk '{ print int(60 * ($1 + $3) + $2 + $4) }'
}

rm -rf "$directory"
mkdir -p "$directory"
began=$(date +%s)
sh tests/install pmu
installed=$(date +%s)
version_of_kernel=$(sh tests/other_packages "$directory/root" $guest_kernel $others | sed -n '1s/ .*//p')
fetched=$(date +%s)
times >"$work/before"
make_guest
made=$(date +%s)
# Two at a time: what is counted depends on the guest's clock alone.
boot cortex-a57 cortex-a57 &
boot again cortex-a57
wait
boot cortex-a53 cortex-a53 &
boot neoverse-n1 neoverse-n1
wait
boot cortex-a72 cortex-a72 &
boot no-pmu cortex-a57,pmu=off
wait
ended=$(date +%s)
times >"$work/after"

for name in cortex-a57 cortex-a53 neoverse-n1 cortex-a72 no-pmu; do
	row $name "$(grep -qx end "$directory/$name" && echo yes)" 'the guest came to its end' "$(wc -l <"$directory/$name") lines"
	says $name facts '^architecture aarch64$' "the helper's facts"
done
row cortex-a57 "$(cmp -s "$directory/cortex-a57.console" "$directory/again.console" && echo yes)" 'two boots say the same' \
	"$(cksum <"$directory/cortex-a57.console"), $(cksum <"$directory/again.console") (sum, bytes)"
counting cortex-a57
says cortex-a57 'paranoid 2 root' '^absent PAPI_L1_DCM .*stays 0' 'an event that opens and stays 0'
says cortex-a57 'paranoid 2 root' '^absent PAPI_L1_ICM .*stays 0' 'an event that opens and stays 0'
says cortex-a57 'paranoid 2 root' '^absent PAPI_BR_MSP .*stays 0' 'an event that opens and stays 0'
counting cortex-a53
counting neoverse-n1
never neoverse-n1 'cannot count it' 'where PAPI has no presets, native events stand for them'
says cortex-a72 'paranoid 3 root' "^none .*$setting" 'as Debian sets it, as root'
says cortex-a72 'paranoid 2 root' '^none PAPI does not know this processor' 'unknown to PAPI'
says cortex-a72 'by helper' '^failed PAPI does not know this processor' 'run by the helper'
says cortex-a72 facts '^has_pmu 1$' 'the kernel has counters'
uncounted cortex-a72
says no-pmu 'paranoid 2 root' '^none the kernel has no counters' 'no PMU'
says no-pmu 'by helper' '^failed the kernel has none to offer' 'run by the helper'
says no-pmu facts '^has_pmu 0$' "the helper's facts"
uncounted no-pmu
took=$((ended - fetched))
work_s=$(($(processor_s "$work/after") - $(processor_s "$work/before")))
# By the processor time, which other work on the machine does not make longer.
row all "$([ $work_s -le 120 ] && echo yes)" 'from nothing in two minutes, without the installation of packages' \
	"$work_s s of processor time; it took $took s: cross-compiling and packing $((made - fetched)) s, six boots $((ended - made)) s"
[ $failed = 0 ] || { echo "pmu: $failed of $(wc -l <"$work/rows") expectations failed; $directory has what the guests said" >&2; exit 1; }
{
	evidence_head 'Counters on a PMU'
	cat <<-END_TEXT
	No virtual machine at hand has a PMU, but QEMU's model of aarch64 processors has one that Linux drives: $(qemu-system-aarch64 --version |
		sed -n '1s/.*version \([^ ]*\).*/QEMU \1/p'), \`-icount shift=2\`, Debian's $version_of_kernel, helper and counting program
	cross-compiled by $(aarch64-linux-gnu-gcc --version | sed -n '1s/.*) /gcc /p'). With \`-icount\`, what a program executes is known to the
	instruction: the one that is counted here executes $loop in a loop and six around it. Cycles are four times as many.
	PAPI has presets for cortex-a57 and -a53, knows the events of neoverse-n1 but has no presets for it, and does not know cortex-a72. Of all
	events that open, only instructions and cycles move.

	Packages took $((installed - began)) s on this machine (the section [pmu] of tests/packages; those that were missing) and $((fetched - installed)) s
	for the guest (by a state of apt's own); the rest took $took s, at a load of $(cut -d ' ' -f 1 /proc/loadavg) on $(nproc) processors: $work_s s of
	processor time.

	| processor | what | as it was said |
	| --- | --- | --- |
	END_TEXT
	cat "$work/rows"
} >"$work/page"
evidence_done
