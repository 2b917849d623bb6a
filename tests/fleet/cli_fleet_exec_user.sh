#!/bin/sh
# cli_fleet_exec.sh as an ordinary user with a shell, whom only this script sees.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
script=$ASSAY_SOURCE/tests/fleet/cli_fleet_exec.sh
[ "$(id -u)" = 0 ] || skip 'this is an ordinary user: cli_fleet_exec is the same'
[ -x /usr/sbin/sshd ] && command -v setpriv >/dev/null && unshare -m true 2>/dev/null || skip 'there is no sshd, no setpriv or no mount namespace'
user=$((100000 + $$)) # nobody else has left a helper in /tmp
setpriv --reuid $user --regid $user --clear-groups test -r "$script" -a -x "$ASSAY" || skip 'an ordinary user cannot read this directory'
cp /etc/passwd "$tmp/passwd"
echo "assaytest:*:$user:$user::/:/bin/sh" >>"$tmp/passwd"
# shellcheck disable=SC2016 # the inner shell's words
unshare -m --propagation private sh -c 'mount --bind "$1" /etc/passwd &&
	ASSAY_TEST_AGAIN=1 TMPDIR=/tmp exec setpriv --reuid "$3" --regid "$3" --clear-groups sh "$2"' sh "$tmp/passwd" "$script" $user
exit # its status
