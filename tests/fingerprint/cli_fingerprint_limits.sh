# Limits of a stressor from the command line: what wants more memory or more processes than the battery allows is ended alone and is
# missing with the reason; without the rights for control groups that is said, and all is measured.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_here.sh"
[ -w /dev/shm ] || skip 'there is no /dev/shm to write to'

mkdir "$tmp/fake" "$tmp/home"
chmod 755 "$tmp"
cat >"$tmp/fake/stress-ng" <<'END'
#!/bin/sh
[ "$1" = --version ] && { echo 'stress-ng, version 0.15.06 (gcc 12.2, x86_64 Linux 6.1)'; exit; }
while [ "$1" != -t ]; do shift; done
stressor=${3#--}
# The real one maps a buffer as large as the last cache before it begins.
cache_kib=0
for size in /sys/devices/system/cpu/cpu0/cache/index*/size; do
	kib=$(sed -n 's/K$//p' "$size" 2>/dev/null)
	[ "${kib:-0}" -le "$cache_kib" ] || cache_kib=$kib
done
limit_kib=$(ulimit -v)
[ "$limit_kib" -ge $((131072 + cache_kib)) ] || exit 1
case $stressor in
# Each of them is below the limit of a process, all together are not.
vm) for i in 1 2 3 4; do head -c 60m /dev/zero | tail -c 60m >/dev/null & done; wait ;;
resources) for i in $(seq 40); do sleep 1000 & done ;;
esac
printf -- '---\nsystem-info:\n      stress-ng-version: 0.15.06\n\nmetrics:\n    - stressor: %s\n      bogo-ops: 100\n' "$stressor"
printf '      bogo-ops-per-second-usr-sys-time: 1000\n      bogo-ops-per-second-real-time: 1000\n'
printf '      wall-clock-time: 0.1\n      user-time: 0.1\n      system-time: 0.0\n\n...\n'
END
chmod 755 "$tmp/fake/stress-ng"
# The seconds are for a busy machine: all three end by themselves.
cat >"$tmp/limits.yaml" <<'END'
name: limits
passes: 1
seconds: 60
limits: { memory_bytes: 134217728, processes: 20 }
stressors: [{ stressor: cpu }, { stressor: resources }, { stressor: vm }]
END

what='with the rights that this user has'
make_lab mine "$tmp/fake:$PATH"
groups() {
	find /sys/fs/cgroup -type d -name 'assay-run-*' 2>/dev/null
}
groups >"$tmp/others"
run -C "$lab" host measure --battery "$tmp/limits.yaml" --format json
groups | grep -vxFf "$tmp/others" >"$tmp/groups"
expect_status 0
measured=$(json .hosts[0].measured)
no_process_left
run -C "$lab" host show --passes here --format json
cgroup=$(json .conditions.cgroup)
run -C "$lab" host show --passes here
case $cgroup in
v1 | v2)
	cases=$((cases + 1))
	[ "$measured" = 1 ] || fail "one should be measured, not $measured"
	expect_stdout "the kernel killed it because memory was short: the battery's limit of 134217728 bytes" "it wanted more processes than the battery's limit of 20"
	;;
none)
	echo 'this user can have no control groups here: not tested'
	cases=$((cases + 1))
	[ "$measured" = 3 ] || fail "all should be measured, not $measured"
	;;
*) fail "no such version of control groups: '$cgroup'" ;;
esac

# Those that were there at its end: its own, and those of others who measure at this time, which go, too.
what='groups are removed'
cases=$((cases + 1))
for _ in $(seq 600); do
	groups | grep -xFf "$tmp/groups" >"$tmp/left"
	[ -s "$tmp/left" ] || break
	sleep .1
done
[ ! -s "$tmp/left" ] || fail "left: $(cat "$tmp/left")"

what='a user without the rights'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$ASSAY" "$tmp/assay"
	chmod 755 "$tmp/assay"
	make_lab theirs "$tmp/fake:$PATH"
	chown -R 65534:65534 "$lab" "$tmp/home"
	HOME="$tmp/home" setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$tmp/assay" -C "$lab" host measure --battery "$tmp/limits.yaml" --format json >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	shown host measure
	expect_status 0
	expect_json .hosts[0].measured 3
	run -C "$lab" host show --passes here --format json
	expect_json .conditions.cgroup none
	no_process_left
else
	echo 'not root: no other user is tried'
fi

finish
