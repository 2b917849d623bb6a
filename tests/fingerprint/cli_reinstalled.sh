#!/bin/sh
# A host whose system was installed again: another machine-id and another host key on the same hardware. A real sshd; machine-id, board and
# processor are files that are mounted over those of this machine.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
sshd_available || skip 'there is no sshd, ssh-keygen or setpriv (openssh-server, util-linux)'
[ -n "${ASSAY_TEST_SHM:-}" ] || skip 'needs root and mount namespaces, to have a machine-id of its own'
export HOME="$tmp/home"
mkdir -p "$HOME" "$tmp/fake"
unset SSH_AUTH_SOCK
cat >"$tmp/fake/stress-ng" <<'END'
#!/bin/sh
[ "$1" = --version ] && { echo 'stress-ng, version 0.15.06 (gcc 12.2, x86_64 Linux 6.1)'; exit; }
while [ "$1" != -t ]; do shift; done
printf -- '---\nsystem-info:\n      stress-ng-version: 0.15.06\n\nmetrics:\n    - stressor: %s\n      bogo-ops: 100\n' "${3#--}"
printf '      wall-clock-time: 0.1\n      user-time: 0.1\n      system-time: 0.0\n\n...\n'
END
chmod 755 "$tmp/fake/stress-ng"
printf 'name: tiny\npasses: 3\nseconds: 10\nstressors:\n  - { stressor: cpu }\n  - { stressor: qsort }\n' >"$tmp/tiny.yaml"

# machine ID SERIAL [CPU]: what the files say of this machine from now on; SERIAL '': it does not say.
cp /proc/cpuinfo "$tmp/cpuinfo"
echo >"$tmp/machine-id"
[ -e /etc/machine-id ] || skip 'there is no /etc/machine-id to mount over'
mount --bind "$tmp/machine-id" /etc/machine-id || skip 'nothing can be mounted here'
mount -t tmpfs tmpfs /sys/class && mkdir -p /sys/class/dmi/id && mount --bind "$tmp/cpuinfo" /proc/cpuinfo || skip 'nothing can be mounted here'
machine() {
	echo "$1" >"$tmp/machine-id"
	rm -f /sys/class/dmi/id/board_serial
	[ -z "$2" ] || echo "$2" >/sys/class/dmi/id/board_serial
	printf 'processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: %s\nstepping\t: 7\n' "${3:-Xeon of the test}" >"$tmp/cpuinfo"
}
# reinstalled SERIAL [CPU]: a new system with a new host key, and the next machine-id, of which $id is the number.
id=0
reinstalled() {
	id=$((id + 1))
	machine "$(id_of $id)" "$@"
	[ ! -f "$tmp/one.key" ] || sshd_stop one
	rm -f "$tmp/one.key" "$tmp/one.key.pub"
	sshd_start one "SetEnv XDG_CACHE_HOME=$tmp/cache"
}
id_of() {
	printf '%032d' "$1"
}

reinstalled S1
lab=$tmp/lab
run init "$lab"
cat >"$lab/lab.yaml" <<END
hosts:
  - { name: node1, address: 127.0.0.1, port: $port, identity_file: $tmp/user, env: { PATH: '$tmp/fake:$PATH' } }
END
fingerprint() {
	run -C "$lab" host measure --battery "$tmp/tiny.yaml" "$@"
}
trust() {
	run -C "$lab" host trust -w node1 "$@"
}
# kept: nothing of the laboratory's keys and machines changed since `keep`.
keep() {
	rm -rf "$tmp/before"
	mkdir "$tmp/before"
	cp -R "$lab/known_hosts" "$lab/machines" "$tmp/before"
}
kept() {
	cases=$((cases + 1))
	diff -r "$tmp/before/machines" "$lab/machines" >"$tmp/diff" && cmp -s "$tmp/before/known_hosts" "$lab/known_hosts" || fail "something was recorded: $(cat "$tmp/diff")"
}
trust
expect_status 0

what='a host without a fingerprint: its first run tells the catalog which machine it is'
mkdir -p "$lab/apps"
printf '%s\n' 'command: [/bin/true]' 'versions: { v1: }' 'repetitions: 1' 'warm_ups: 0' 'metric: wall' >"$lab/apps/plain.yaml"
run -C "$lab" run plain --quiet
expect_status 0
run -C "$lab" host show node1
expect_stdout "$(id_of 1)"
machine "$(id_of 1)" S9
run -C "$lab" run plain --quiet
expect_status 1
holds "$tmp/err" 'a replaced machine' "this is not the machine that the catalog has as 'node1': its board serial number was 'S1' and is 'S9'"
machine "$(id_of 1)" S1
fingerprint
expect_status 0

what='a new system is met: step by step, with what each command says'
reinstalled S1
fingerprint
expect_status 1
expect_stdout "'assay host trust --replace -w node1'"
trust --replace
expect_status 0
fingerprint
expect_status 1
expect_stdout "this is not the machine that the catalog has as 'node1': its machine-id was '$(id_of 1)'" 'assay host trust --reinstalled -w'
trust --reinstalled
expect_status 0
expect_stdout 'node1: known SHA256:' "node1: machine-id was '$(id_of 1)', is '$(id_of 2)'; board serial number 'S1' as before; board UUID not known; CPU model 'Xeon of the test' as before"
fingerprint
expect_status 0
run -C "$lab" host show node1
expect_stdout "$(id_of 2)"
run -C "$lab" check
expect_status 0

what='one command does it'
reinstalled S1
trust --reinstalled --format json
expect_status 0
expect_json .hosts[0].action replaced
holds "$tmp/out" JSON "machine-id was '$(id_of 2)', is '$(id_of 3)'"
fingerprint
expect_status 0
cases=$((cases + 1))
[ "$(grep -c . "$lab/known_hosts")" = 1 ] || fail 'the old key should be gone'

what='the same system once more'
keep
trust --reinstalled
expect_status 0
expect_stdout "machine-id '$(id_of 3)' as before"
kept

what='another board is another machine'
reinstalled S2
keep
trust --reinstalled
expect_status 1
expect_stdout 'node1: refused SHA256:' "board serial number was 'S1', is 'S2'" "this is not the machine that the catalog has as 'node1': its board serial number was 'S1' and is 'S2'"
kept

what='so is another processor'
reinstalled S1 'EPYC of the test'
trust --reinstalled --format json
expect_status 1
expect_json .hosts[0].action refused
kept

what='a host that does not say its board: the administrator does'
reinstalled ''
trust --reinstalled
expect_status 0
expect_stdout 'board serial number not known' 'neither board serial nor UUID matches: only --reinstalled accepts it as the same machine'

what='a machine-id that another machine of the catalog has'
run -C "$lab" host rename node1 other
expect_status 0
others=$(id_of $id)
reinstalled S3
trust --replace
fingerprint
expect_status 0
reinstalled S3
machine "$others" S3
keep
trust --reinstalled
expect_status 1
expect_stdout "'node1' has the same machine-id '$others' as 'other'"
kept

what='this machine needs no key; a machine that the catalog does not know has nothing to be compared'
cat >>"$lab/lab.yaml" <<END
  - { name: here, transport: local }
END
run -C "$lab" host trust -w here --reinstalled
expect_status 0
expect_stdout 'here: local: no key is needed' 'here: the catalog has no machine of this name'

what='a host that is not there'
sshd_stop one
trust --reinstalled
expect_status 1
expect_stdout 'node1: failed'
finish
