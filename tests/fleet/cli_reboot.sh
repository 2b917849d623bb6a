#!/bin/sh
# The machine starts again in the middle of measurements: controller, hosts and helpers are gone at once, memory is empty, and the kernel has
# another boot id. Played in namespaces of their own. What was stored is there once, and --resume makes the rest.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
[ "$(id -u)" = 0 ] && [ -x /usr/sbin/sshd ] && command -v stress-ng >/dev/null && unshare -m -p -f -n true 2>/dev/null ||
	skip 'emulated hosts in namespaces need root, openssh-server and stress-ng'
if [ -z "${INSIDE:-}" ]; then
	INSIDE=1 unshare -m -p -f -n --mount-proc --kill-child sh "$0"
	exit
fi
lab=$tmp/lab
tidy() {
	"$ASSAY" host down "$lab" >/dev/null 2>&1
	while umount /proc/sys/kernel/random/boot_id 2>/dev/null; do :; done
}

empty_memory() {
	umount -l /dev/shm /run 2>/dev/null
	mount -t tmpfs none /dev/shm && mount -t tmpfs none /run && mkdir -p /run/sshd /run/lock
}

restart() {
	kill -9 -1 # all but us, who have number 1
	wait
	empty_memory
	for link in $(ip -o link | sed -n 's/^[0-9]*: \([^:@]*\).*/\1/p'); do
		[ "$link" = lo ] || ip link del "$link" 2>/dev/null
	done
	cat /proc/sys/kernel/random/uuid >"$tmp/boot"
	mount --bind "$tmp/boot" /proc/sys/kernel/random/boot_id
}

# until_there COMMAND...: for 60 s at most.
until_there() {
	for _ in $(seq 600); do
		"$ASSAY" -C "$lab" "$@" >"$tmp/seen" 2>&1 && return
		sleep .1
	done
	fail "'$*' did not get to see anything: $(cat "$tmp/seen")"
}

mount --make-rprivate /
empty_memory
ip link set lo up
printf 'name: tiny\npasses: 6\nseconds: 60\nstressors:\n  - { stressor: brk, arguments: [--brk-ops, 50000] }\n  - { stressor: crypt, arguments: [--crypt-ops, 300] }\n' >"$tmp/tiny.yaml"
run host up "$lab" --hosts 2
expect_status 0

what='in a fingerprint'
"$ASSAY" -C "$lab" host measure --battery "$tmp/tiny.yaml" >/dev/null 2>&1 &
for _ in $(seq 600); do
	run -C "$lab" host list --fingerprints --format json
	[ "$(json .fingerprints[0].measured)" -ge 2 ] 2>/dev/null && break
	sleep .1
done
restart
run -C "$lab" host measure --battery "$tmp/tiny.yaml" --resume
expect_status 1
expect_stdout 'lab.yaml starts with the command that brings it up again'
run host up "$lab" --hosts 2
expect_status 0
run -C "$lab" host measure --battery "$tmp/tiny.yaml" --resume --format json
expect_status 0
expect_json .hosts[0].outcome ok
expect_json .hosts[1].outcome ok
run -C "$lab" host list --format json
expect_json .machines[0].fingerprints 1
expect_json .machines[1].fingerprints 1

what='in runs'
"$ASSAY" -C "$lab" run example --versions large-pieces --repetitions 20 >/dev/null 2>&1 &
until_there result show example@large-pieces
restart
run host up "$lab" --hosts 2
expect_status 0
run -C "$lab" run example --versions large-pieces --resume --format json
expect_status 0
expect_json .hosts[0].ok 20
expect_json .hosts[1].ok 20
run -C "$lab" check
expect_status 0

what='what is left'
run host down "$lab"
expect_status 0
cases=$((cases + 1))
left=$(ls /dev/shm | grep -v '^assay-[0-9]*\.kernel$') # names of the kernel's functions, good until the next start of the machine
[ "$left" = assay-box.lock ] || fail "in memory: $left"
finish
