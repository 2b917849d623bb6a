#!/bin/sh
# A laboratory of two architectures: two emulated hosts of this machine and a guest of aarch64 with its own sshd, from host trust to
# history. Needs root (emulated hosts), and the packages of the sections aarch64 and pmu. Some five minutes.
needs=nothing
. tests/lib_evidence.sh
. tests/lib_guest.sh
. tests/lib_build.sh
directory=build/guest
sh tests/install build demo aarch64 pmu
sh tests/other_packages build/aarch64 libpapi-dev libpfm4-dev >/dev/null
build release 'what users run' -DASSAY_OTHER_ARCHITECTURE=ON -DASSAY_TESTS=ON >&2

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

# ---- the application: its aarch64 program alone is slower in the version slow ----

cat >"$work/work.c" <<'END_C'
int main(void)
{
	for (volatile unsigned long i = 0; i < TURNS; i++)
		;
	return 0;
}
END_C
mkdir "$work/x86_64" "$work/emulated" "$work/aarch64" "$work/programs"
gcc -O2 -g -fpatchable-function-entry=5 -DTURNS=600000000 -o "$work/x86_64/work" "$work/work.c"
"$assay" build --for counters -- gcc -O2 -g -DTURNS=600000 -o "$work/emulated/work" "$work/work.c"
aarch64-linux-gnu-gcc -O2 -g -static -DTURNS=3000000 -o "$work/aarch64/work" "$work/work.c"
for version in one same slow; do
	for architecture in x86_64 aarch64; do cp "$work/$architecture/work" "$work/programs/$version-$architecture"; done
done
aarch64-linux-gnu-gcc -O2 -g -static -DTURNS=4500000 -o "$work/programs/slow-aarch64" "$work/work.c"
chmod -x "$work/programs"/*

{
	evidence_head 'A laboratory of two architectures'
	cat <<-END_TEXT
	Two emulated hosts of this machine, and a guest of aarch64 with its own sshd: $(qemu-system-aarch64 --version |
		sed -n '1s/.*version \([^ ]*\).*/QEMU \1/p'), cortex-a57, Debian's $version_of_kernel, openssh-server and stress-ng, reached through a port
	of the loopback. The guest's clock counts its instructions (\`-icount shift=3\`, 125 million a second), so that this machine's load does not
	make its code slower.
	The application is a loop, built for each architecture; in its version \`slow\` the program for aarch64 alone makes half as many turns again.

	END_TEXT
	/usr/bin/python3 tests/bench/aarch64_table.py "$assay" "$work" "$directory" ${PARTS:-} # all, or some of: facts fingerprints runs decisions refusals death
} >"$work/page" || { cat "$work/page" >&2; exit 1; }
evidence_done
