#!/bin/sh
# Hosts behind jump hosts, with the ~/.ssh/config of an account whose home this script makes: real sshd's, and OpenSSH's client.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
sshd_available || skip 'there is no sshd, ssh-keygen or setpriv (openssh-server, util-linux)'
command -v ssh >/dev/null || skip 'there is no ssh (openssh-client)'
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip 'needs root and mount namespaces, to have a home of its own'

mkdir -p "$tmp/home/.ssh" "$tmp/elsewhere"
chmod 700 "$tmp/home/.ssh"
sed "s|^\\(root:[^:]*:0:0:[^:]*:\\)[^:]*|\\1$tmp/home|" /etc/passwd >"$tmp/passwd"
unset SSH_AUTH_SOCK

# As the account sees it; HOME leads elsewhere, which ssh does not follow, so that nothing else does.
host() {
	unshare -m sh -c 'mount --bind "$0" /etc/passwd || exit 99; exec "$@"' "$tmp/passwd" \
		env HOME="$tmp/elsewhere" "$ASSAY" -C "$tmp/lab" host "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	shown fleet "$@"
}

fingerprint() {
	ssh-keygen -lf "$tmp/$1.key.pub" | cut -d' ' -f2
}

sshd_start outer
outer=$port
sshd_start inner
inner=$port
sshd_start target
run init "$tmp/lab"
printf 'hosts:\n  - name: node1\n    address: 127.0.0.1\n    port: %s\n' "$port" >"$tmp/lab/lab.yaml"
printf 'Host outer\n\tPort %s\nHost inner\n\tPort %s\n\tProxyJump outer\nHost outer inner\n\tHostName 127.0.0.1\n' "$outer" "$inner" >"$tmp/home/.ssh/jumps"
printf 'Include jumps\nMatch host 127.0.0.1 originalhost 127.0.0.1\n\tProxyJump inner\nHost *\n\tIdentityFile %s\n\tIdentitiesOnly yes\n' "$tmp/user" >"$tmp/home/.ssh/config"
chmod 600 "$tmp/home/.ssh/config"

what='jump hosts whose keys nobody knows'
host exec -- true
expect_status 1
holds "$tmp/err" 'the error' \
	"hostkey: node1: through outer,inner: the key of the jump host at [127.0.0.1]:$outer is not known: verify it, then 'assay host trust -w node1'"

what='they are trusted on the way'
host trust -w node1
expect_status 0
expect_stdout "outer (jump host): recorded $(fingerprint outer)" "inner (jump host): recorded $(fingerprint inner)" \
	"node1: recorded $(fingerprint target)" '3 keys written'

what='what only the laboratory knows'
host exec -- echo through
expect_status 0
expect_stdout 'node1: through'
cases=$((cases + 1))
[ ! -e "$tmp/home/.ssh/known_hosts" ] || fail 'only the laboratory writes keys'

what='trusted already'
host trust -w node1 --format json
expect_status 0
expect_json '.hosts[0].host' outer
expect_json '.hosts[0].jump' true
expect_json '.hosts[0].action' known
expect_json '.hosts[2].host' node1
expect_json '.hosts[2].jump' false

what='another key of a jump host'
sshd_stop inner
rm "$tmp/inner.key" "$tmp/inner.key.pub"
sshd_start inner
host exec -- true
expect_status 1
holds "$tmp/err" 'the error' "the key of the jump host at [127.0.0.1]:$port has changed: find out why, then 'assay host trust --replace -w node1'"
host trust -w node1
expect_status 7
expect_stdout 'inner (jump host): refused'
host trust -w node1 --replace
expect_status 0
expect_stdout 'outer (jump host): known' 'inner (jump host): replaced' 'node1: known'
host exec -- true
expect_status 0

what='another key of the first jump host: the remedy names a host of lab.yaml'
sshd_stop outer
rm "$tmp/outer.key" "$tmp/outer.key.pub"
sshd_start outer
sed -i "s/^\\(\tPort \\)$outer$/\\1$port/" "$tmp/home/.ssh/jumps"
sed -i "s/^\\[127.0.0.1\\]:$outer /[127.0.0.1]:$port /" "$tmp/lab/known_hosts"
host trust -w node1
expect_status 1
expect_stdout 'outer (jump host): refused' \
	"inner (jump host): failed: through outer: the key of this jump host has changed: find out why, then 'assay host trust --replace -w node1'"
host trust -w node1 --replace
expect_status 0
expect_stdout 'outer (jump host): replaced' 'inner (jump host): known' 'node1: known'

what='more hosts at once than a jump host lets log in'
target=$(cat "$tmp/target.port")
sshd_stop outer
sshd_start outer 'MaxStartups 1:100:1'
printf 'hosts:\n  - {name: "many[1-6]", address: 127.0.0.1, port: %s}\n' "$target" >"$tmp/lab/lab.yaml"
host exec -- true
expect_status 0
cases=$((cases + 1))
grep -q 'MaxStartups' "$tmp/outer.log" || fail "the jump host refused nobody: $(cat "$tmp/outer.log")"

what='a jump host that lets nobody log in'
/usr/bin/python3 -c 'import socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
while True:
    s.accept()[0].close()' >"$tmp/closes" &
closes=$!
until [ -s "$tmp/closes" ]; do sleep .05; done
sed -i "s/^\\(\tPort \\)$(cat "$tmp/outer.port")$/\\1$(cat "$tmp/closes")/" "$tmp/home/.ssh/jumps"
printf 'hosts:\n  - {name: node1, address: 127.0.0.1, port: %s}\n' "$target" >"$tmp/lab/lab.yaml"
host exec --connect-timeout 2 -- true
expect_status 1
holds "$tmp/err" 'the error' 'unreachable: node1: through outer,inner: ' \
	"sshd does so if more clients log in at once than its MaxStartups allows; use a smaller 'fanout' in lab.yaml"
kill "$closes"

finish
