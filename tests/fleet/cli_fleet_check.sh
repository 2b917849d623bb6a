#!/bin/sh
# `assay host check` against a real sshd: what is found, and how it is said. The rules themselves are proved by test_checkup.c.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
sshd_available || skip 'there is no sshd, ssh-keygen or setpriv (openssh-server, util-linux)'
export HOME="$tmp/home"
mkdir "$HOME"
unset SSH_AUTH_SOCK
sshd_start one "SetEnv XDG_CACHE_HOME=$tmp/cache"

# What is called stress-ng in these directories.
stress_ng() {
	mkdir "$tmp/$1"
	printf '#!/bin/sh\n%s\n' "$2" >"$tmp/$1/stress-ng"
	chmod +x "$tmp/$1/stress-ng"
}
stress_ng good 'echo "stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux)"'
stress_ng new 'echo "stress-ng, version 0.17.08 (gcc 12.2.0, x86_64 Linux)"'
stress_ng rubbish 'printf "\033[31mhello\n"'
stress_ng hangs '/bin/sleep 60'

run init "$tmp/lab"
cat >"$tmp/lab/lab.yaml" <<END
hosts:
  - { name: 'good[1-3]', address: 127.0.0.1, port: $port, identity_file: $tmp/user, profile: base, env: { PATH: $tmp/good } }
  - { name: new, address: 127.0.0.1, port: $port, identity_file: $tmp/user, profile: base, env: { PATH: $tmp/new } }
  - { name: without, address: 127.0.0.1, port: $port, identity_file: $tmp/user, profile: base, env: { PATH: $tmp/none } }
  - { name: rubbish, address: 127.0.0.1, port: $port, identity_file: $tmp/user, profile: base, env: { PATH: $tmp/rubbish } }
  - { name: hangs, address: 127.0.0.1, port: $port, identity_file: $tmp/user, profile: base, env: { PATH: $tmp/hangs } }
  - { name: 'twin[1-2]', address: 127.0.0.1, port: $port, identity_file: $tmp/user, env: { PATH: $tmp/good } }
  - { name: dead, address: 127.0.0.1, port: 1 }
  - { name: locked, address: 127.0.0.1, port: $port, identity_file: $tmp/one.key, profile: base }
  - { name: here, transport: local, env: { PATH: "$tmp/good:$PATH" } }
END
check() {
	run -C "$tmp/lab" host check "$@"
}
expect_no_line() {
	cases=$((cases + 1))
	grep -q -e "$1" "$tmp/out" && fail "no line '$1' expected"
}

what='a key that nobody knows'
check -w good1
expect_status 1
expect_stdout 'good1: problem: hostkey: its key' "'assay host trust -w good1'" '0 of 1 host without a problem'
run -C "$tmp/lab" host trust -w good1
expect_status 0

what='good hosts'
check -w good[1-3]
expect_no_line stress-ng\ is
expect_no_line machine-id
expect_no_line 'its clock'
expect_stdout 'good1  ' '0.15.06' emulated

what='each problem has its line'
check --timeout 2
expect_no_stderr
expect_stdout 'dead: problem: unreachable: cannot connect to 127.0.0.1 port 1' 'locked: problem: auth: ' \
	'new: problem: its stress-ng is 0.17.08, but 6 of 7 hosts have 0.15.06' \
	"without: problem: stress-ng is missing (cannot execute 'stress-ng': No such file or directory): install it" \
	"rubbish: problem: the stress-ng there does not print its version, but '?[31mhello'" \
	'hangs: problem: stress-ng --version hangs' 'of 12 hosts without a problem'
if [ -s /etc/machine-id ]; then
	expect_stdout 'twin1: problem: it has the machine-id of twin2,here' 'twin2: problem: it has the machine-id of twin1,here' \
		'here: problem: it has the machine-id of twin[1-2]'
fi
good=$(sed -n 's/^\([0-9]*\) of 12 hosts.*/\1/p' "$tmp/out")
cases=$((cases + 1))
[ "$status" -eq $((good ? 7 : 1)) ] || fail "$good hosts are good"

what='the exit status of good hosts says whether there are problems (this machine may be busy)'
check -w good[1-3] --format json
if grep -q '"problems":[[:space:]]*\[\]' "$tmp/out"; then
	expect_status 0
else
	expect_status 1
	expect_json '.problems[0].code' load
fi

what='JSON'
check -w dead,new,good1,here --format json
expect_json_parses
expect_no_stderr
expect_json '.hosts[0].host' good1
expect_json '.hosts[0].emulated' true
expect_json '.hosts[0].outcome' ok
expect_json '.hosts[0].stress_ng' 0.15.06
expect_json '.hosts[0].facts.kernel' "$(uname -r)"
expect_json '.hosts[0].facts.architecture' "$(uname -m)"
expect_json '.hosts[0].facts.uid' "$(id -u)"
expect_json '.hosts[2].host' dead
expect_json '.hosts[2].facts' null
expect_json '.hosts[2].clock_offset_ms' null
expect_json '.hosts[3].emulated' false
expect_json '.hosts[3].machine' here
cases=$((cases + 1))
grep -q '"code": *"unreachable"' "$tmp/out" || fail 'a problem with the code unreachable expected'
grep -q '"code": *"stress_ng_version"' "$tmp/out" || fail 'a problem with the code stress_ng_version expected'
cases=$((cases + 1))
offset=$(json '.hosts[0].clock_offset_ms')
awk -v o="$offset" 'BEGIN { exit !(o > -60000 && o < 60000) }' || fail "the clock of this machine is $offset ms off itself"

what='a host that may use one processor of its box'
if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
	taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$ASSAY" -C "$tmp/lab" host check -w here >"$tmp/out" 2>"$tmp/err"
	expect_stdout 'here: note: its cgroup or affinity limits it to ' " GiB of memory and 1 CPUs; its physical host has " " GiB and $(getconf _NPROCESSORS_ONLN), "
fi

what='a machine that was replaced, or whose system was installed again'
if [ -s /etc/machine-id ]; then
	mkdir -p "$tmp/lab/machines"
	printf '{"format": "assay machine", "version": 1, "id": "here", "identity": {"machine_id": "0123456789abcdef0123456789abcdef"}, "fingerprints": []}' >"$tmp/lab/machines/here.json"
	check -w here --format json
	expect_stdout '"code": "identity"' "its machine-id was '0123456789abcdef0123456789abcdef' and is '$(cat /etc/machine-id)'" '--reinstalled -w'
	rm "$tmp/lab/machines/here.json"
fi

what='wrong usage'
check extra
refused 2 "unexpected argument 'extra'"
check -w nope
refused 2 nope
sshd_stop one
finish
