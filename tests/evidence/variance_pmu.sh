#!/bin/sh
# Work of fragments by the processor's instructions, on a PMU that Linux drives: QEMU's model of an aarch64 processor (pmu.sh), the recording
# library cross-compiled. What a program executes between two writes is known to the instruction.
. tests/lib_evidence.sh
. tests/lib_guest.sh
directory=build/variance-pmu
sh tests/install pmu
rm -rf "$directory"
mkdir -p "$directory"
version_of_kernel=$(sh tests/other_packages "$directory/root" $guest_kernel busybox-static | sed -n '1s/ .*//p')
guest_directories "$directory"
cross=aarch64-linux-gnu-gcc
$cross -O2 -std=c11 -D_GNU_SOURCE -DASSAY_VERSION='"guest"' -I. -include base/banned.h -fPIC -shared -fvisibility=hidden -fno-builtin -D__NO_INLINE__ \
	-fexceptions -o "$directory/guest/lib/recorder.so" runs/inside/interpose/*.c runs/inside/record/*.c
# Two instructions a turn; what is around them is some ten.
cat >"$directory/program.c" <<'END_C'
#include <fcntl.h>
#include <unistd.h>

__attribute__((noinline)) static void turns(long n)
{
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
}

int main(void)
{
	int file = open("/dev/null", O_WRONLY);

	for (int i = 0; i < 400; i++) {
		turns(i % 2 ? 50000 : 100000);
		if (write(file, "x", 1) != 1)
			return 1;
	}
	return 0;
}
END_C
$cross -O1 -o "$directory/guest/bin/program" "$directory/program.c"
for library in ld-linux-aarch64.so.1 libc.so.6; do cp -L /usr/aarch64-linux-gnu/lib/$library "$directory/guest/lib/"; done
guest_init "$directory" <<'END_SH'
echo 2 >/proc/sys/kernel/perf_event_paranoid 2>/dev/null
for who in root user; do
	mkdir -m 777 /tmp/$who
	command="LD_PRELOAD=/lib/recorder.so ASSAY_INTERPOSE_DIRECTORY=/tmp/$who ASSAY_INTERPOSE_OVERHEAD_PPM=0 ASSAY_INTERPOSE_BYTES_PER_S=0 program"
	if [ $who = root ]; then sh -c "$command"; else su user -c "$command"; fi
	echo "@ $who status $?"
	gzip -c /tmp/$who/*.samples | base64 | sed "s/^/@ $who file /"
done
echo '@ end'
poweroff -f
END_SH
echo 'user:x:1000:1000::/:/bin/sh' >"$directory/guest/etc/passwd"
guest_pack "$directory"

failed=0
# row PROCESSOR OK WHAT SAID
row() {
	[ "$2" = yes ] || { failed=$((failed + 1)); echo "FAIL: $1: $3: $4" >&2; }
	echo "| $1 | $3 | $4 |" >>"$work/rows"
}
# boot NAME PROCESSOR: what it says, and of each user's records the computation between two writes: how its work is known, and how much it is.
boot() {
	guest_run "$directory" "$2" 900 -m 256 -icount shift=2,sleep=off -seed 1 -rtc base=2024-01-01T00:00:00,clock=vm -nic none >"$work/$1.console" 2>&1 || true
	tr -d '\r' <"$work/$1.console" | sed -n 's/^@ //p' >"$work/$1"
	for who in root user; do
		mkdir -p "$work/records.$1.$who"
		sed -n "s/^$who file //p" "$work/$1" | base64 -d | gzip -dc >"$work/records.$1.$who/1-0.samples"
		"$assay" timeline --format json "$work/records.$1.$who" >"$work/shown" || true
		/usr/bin/python3 - "$work/shown" >"$work/$1.$who" <<'END_PY' || true
import json, sys
rows = [c for c in json.load(open(sys.argv[1]))["graph"] if c["place"].startswith("write") and "-> write" in c["place"]]
print("; ".join(f"{c['basis']} {c['work']:.0f} ({c['fragments']} fragments)" for c in sorted(rows, key=lambda c: c["work"])))
END_PY
	done
	row "$1" "$(grep -qx end "$work/$1" && [ "$(grep -c 'status 0' "$work/$1")" = 2 ] && echo yes)" 'the program ran, recorded, to its end' "$(grep status "$work/$1" | tr '\n' ' ')"
}
boot cortex-a57 cortex-a57 &
boot no-pmu cortex-a57,pmu=off
wait
for who in root user; do
	said=$(cat "$work/cortex-a57.$who")
	row cortex-a57 "$(echo "$said" | awk '$1 == "instructions" && $5 == "instructions" && $2 > 99000 && $2 < 101000 && $6 > 198000 && $6 < 202000 { print "yes" }')" \
		"as $who: 100,000 and 200,000 instructions by turns" "$said"
	said=$(cat "$work/no-pmu.$who")
	row no-pmu "$(echo "$said" | awk '$1 == "unverified" && !/instructions/ { print "yes" }')" "as $who: nothing counts" "$said"
done
[ $failed = 0 ] || { echo "variance_pmu: $failed expectations failed" >&2; cat "$work"/*.console | tail -n 40 >&2; exit 1; }
{
	evidence_head 'Work by instructions'
	cat <<-END_TEXT
	No virtual machine at hand has a PMU, but QEMU's model of aarch64 processors has one that Linux drives: $(qemu-system-aarch64 --version |
		sed -n '1s/.*version \([^ ]*\).*/QEMU \1/p'), \`-icount shift=2\`, Debian's $version_of_kernel, the recording library
	cross-compiled by $($cross --version | sed -n '1s/.*) /gcc /p'). Counters are read by system calls there. A program executes 100,000 and 200,000
	instructions by turns between two writes; each way is a cluster of its own where they are counted.

	| processor | what | computation between two writes |
	| --- | --- | --- |
	END_TEXT
	cat "$work/rows"
} >"$work/page"
evidence_done
