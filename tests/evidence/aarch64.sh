#!/bin/sh
# A laboratory of two architectures: two emulated hosts of this machine and a guest of aarch64 with its own sshd, from fleet trust to
# history. Needs root (emulated hosts), and the packages of the sections aarch64 and pmu. Some five minutes.
needs=nothing
. tests/lib_evidence.sh
. tests/lib_guest.sh
. tests/lib_build.sh
directory=build/guest
sh tests/install build demo aarch64 pmu
sh tests/other_packages build/aarch64 libpapi-dev libpfm4-dev >/dev/null
build release 'what users run' -DASSAY_OTHER_ARCHITECTURE=ON -DASSAY_TESTS=ON >&2
trap 'if [ -d "$work/lab" ]; then "$assay" fleet down "$work/lab" >/dev/null 2>&1; fi; rm -rf "$work"' EXIT

# ---- the guest ----

rm -rf "$directory"
mkdir -p "$directory"
version_of_kernel=$(sh tests/other_packages --needed "$directory/root" $guest_kernel busybox-static openssh-server stress-ng | sed -n '1s/ .*//p')
guest_directories "$directory"
guest_programs "$directory" usr/sbin/sshd usr/bin/stress-ng
modules='virtio_ring virtio virtio_mmio failover net_failover virtio_net'
guest_modules "$directory" $modules
mkdir -p "$directory/guest/home/bench" "$directory/guest/run/sshd" "$directory/guest/usr/bin"
ssh-keygen -q -t ed25519 -N '' -C bench -f "$work/user"
ssh-keygen -q -t ed25519 -N '' -C arm1 -f "$directory/guest/etc/host"
cp "$work/user.pub" "$directory/guest/etc/keys"
printf '%s\n' 'root:*:0:0::/root:/bin/sh' 'sshd:*:100:100::/run/sshd:/bin/false' 'bench:*:1000:1000::/home/bench:/bin/sh' \
	>"$directory/guest/etc/passwd"
printf '%s\n' 'root:x:0:' 'sshd:x:100:' 'bench:x:1000:' >"$directory/guest/etc/group"
printf '%s\n' 'HostKey /etc/host' 'AuthorizedKeysFile /etc/keys' 'UsePAM no' 'StrictModes no' 'PidFile none' 'SetEnv PATH=/bin:/usr/bin' \
	>"$directory/guest/etc/sshd_config"
guest_init "$directory" <<END_SH
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
chmod 1777 /dev/shm
chown -R bench:bench /home/bench
echo 2 >/proc/sys/kernel/perf_event_paranoid
hostname arm1
for module in $modules; do insmod /lib/\$module.ko; done
ifconfig lo 127.0.0.1 up
ifconfig eth0 10.0.2.15 up
route add default gw 10.0.2.2
/usr/sbin/sshd -D -e -f /etc/sshd_config
END_SH
guest_pack "$directory"

# ---- the application: its aarch64 code alone is slower in the version slow ----

cat >"$work/work.c" <<'END_C'
#include <string.h>

int main(int argc, char **argv)
{
	unsigned long turns = TURNS;

#ifdef __aarch64__
	if (argc > 1 && strcmp(argv[1], "slow") == 0)
		turns += turns / 2;
#endif
	for (volatile unsigned long i = 0; i < turns; i++)
		;
	return 0;
}
END_C
gcc -O2 -g -fpatchable-function-entry=5 -DTURNS=600000000 -o "$work/work-x86_64" "$work/work.c"
"$assay" emulate build -- gcc -O2 -g -DTURNS=600000 -o "$work/work-emulated" "$work/work.c"
aarch64-linux-gnu-gcc -O2 -g -static -DTURNS=3000000 -o "$work/work-aarch64" "$work/work.c"

{
	evidence_head 'A laboratory of two architectures'
	cat <<-END_TEXT
	Two emulated hosts of this machine, and a guest of aarch64 with its own sshd: $(qemu-system-aarch64 --version |
		sed -n '1s/.*version \([^ ]*\).*/QEMU \1/p'), cortex-a57, Debian's $version_of_kernel, openssh-server and stress-ng, reached through a port
	of the loopback. The guest's clock counts its instructions (\`-icount shift=3\`, 125 million a second), so that this machine's load does not
	make its code slower.
	The application is a loop, cross-built for each architecture; its version \`slow\` makes half as many turns again on aarch64 alone.

	END_TEXT
	/usr/bin/python3 tests/bench/aarch64_table.py "$assay" "$work" "$directory" ${PARTS:-} # all, or some of: facts fingerprints runs decisions refusals death
} >"$work/page" || { cat "$work/page" >&2; exit 1; }
evidence_done
