# Hosts behind a command that is run on a login node: a real sshd, and a launcher that says what it was given.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
sshd_available || skip 'there is no sshd, ssh-keygen or setpriv (openssh-server, util-linux)'
command -v ssh >/dev/null || skip 'there is no ssh (openssh-client)'
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip 'needs root and mount namespaces, to have a home of its own'

mkdir -p "$tmp/home/.ssh"
chmod 700 "$tmp/home/.ssh"
sed "s|^\\(root:[^:]*:0:0:[^:]*:\\)[^:]*|\\1$tmp/home|" /etc/passwd >"$tmp/passwd"
unset SSH_AUTH_SOCK
host() {
	unshare -m sh -c 'mount --bind "$0" /etc/passwd || exit 99; exec "$@"' "$tmp/passwd" \
		env HOME="$tmp/home" "$ASSAY" -C "$tmp/lab" host "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	shown fleet "$@"
}

sshd_start front
front=$port
printf 'Host *\n\tIdentityFile %s\n\tIdentitiesOnly yes\n' "$tmp/user" >"$tmp/home/.ssh/config"
chmod 600 "$tmp/home/.ssh/config"
cat >"$tmp/launcher" <<END
#!/bin/sh
echo "\$1: \$2" >>$tmp/seen
shift 2
exec "\$@"
END
chmod 755 "$tmp/launcher"
run init "$tmp/lab"
printf "hosts:\n  - name: node1\n    transport: command\n    login: 127.0.0.1:%s\n    launcher: [%s, \"it's a word; \$HOME\", '{host}']\n" \
	"$front" "$tmp/launcher" >"$tmp/lab/lab.yaml"

what='a login node whose key nobody knows'
host exec -- true
expect_status 1
expect_stderr 'hostkey: node1: the key of the login node'
expect_stderr "'assay host trust -w node1'"

what='its key is recorded'
host trust -w node1
expect_status 0
holds "$tmp/lab/known_hosts" known_hosts "[127.0.0.1]:$front"

what='words come as they are, through both shells'
host exec -- printf '%s|' a 'b  c' "d'e" '$HOME'
expect_status 0
holds "$tmp/out" 'the output' "node1: a|b  c|d'e|\$HOME|"
holds "$tmp/seen" 'what the launcher saw' "it's a word; \$HOME: node1"

what='the status is that of the command'
host exec -- sh -c 'exit 3'
holds "$tmp/err" 'the error' 'failed: node1: exit status 3'

finish
