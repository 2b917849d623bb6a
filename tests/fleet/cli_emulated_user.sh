#!/bin/sh
# The emulated fleet with less than root and namespaces: programs, accounts and rights that are missing, several fleets on loopback, an ordinary user.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_emulated.sh"
lab=$tmp/lab

# elsewhere 'MOUNTS' COMMAND...: in mounts of its own.
elsewhere() {
	mounts=$1
	shift
	unshare -m sh -c "$mounts"' || exit 99; exec "$@"' sh "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	shown "(elsewhere)" "$@"
}
elsewhere 'mount --bind /dev/null /usr/sbin/sshd' true
[ $status = 0 ] || skip 'this machine does not allow mounts'

what='need sshd'
elsewhere 'mount --bind /dev/null /usr/sbin/sshd' "$ASSAY" host up "$lab"
refused 1 'need sshd' 'openssh-server'
what='a locked account'
sed 's/^root:[^:]*:/root:!:/' /etc/shadow >"$tmp/shadow"
elsewhere "mount --bind $tmp/shadow /etc/shadow" "$ASSAY" host up "$lab"
refused 1 'is locked' "usermod -p '*' root"
what='an account without a shell'
sed '/^root:/s#:[^:]*$#:/usr/sbin/nologin#' /etc/passwd >"$tmp/passwd"
elsewhere "mount --bind $tmp/passwd /etc/passwd" "$ASSAY" host up "$lab"
refused 1 'runs no commands'
nothing_left "$lab"

what='root without the right to make namespaces'
elsewhere true setpriv --bounding-set=-sys_admin "$ASSAY" host up "$lab" -n 2 -p base,vm
expect_status 0
grep -q 'Operation not permitted' "$tmp/err" || fail 'it should say what is missing'
on "$lab" 2 'grep ^Seccomp_filters /proc/self/status'
expect_status 0
expect_stdout 'Seccomp_filters:	1'

what='two fleets on loopback'
run host up "$tmp/second" --no-root -n 2
expect_status 0
on "$tmp/second" 1 true
expect_status 0
on "$lab" 1 true
expect_status 0
run host down "$tmp/second"
on "$lab" 1 true
expect_status 0
what='without control groups: a session and what it left survive their sshd'
on "$lab" 1 "setsid sleep 4714$$ >/dev/null 2>&1 &"
(on "$lab" 1 "exec sleep 4715$$") &
held=$!
both_there "471[45]$$"
kill -9 "$(sshd_of "$lab" 1)"
run host down "$lab"
expect_status 0
nothing_left "$lab"
end_client "4715$$"
cases=$((cases + 1))
[ -z "$(pgrep -f "^sleep 471[45]$$\$")" ] || fail 'what the sessions ran should have ended'

what='an ordinary user'
mkdir "$tmp/home"
chown $user:$user "$tmp/home"
cp "$ASSAY" "$tmp/assay"
{ grep -v '^emulated:' /etc/passwd; echo "emulated:x:$user:$user::$tmp/home:/bin/sh"; } >"$tmp/passwd"
as_user() {
	elsewhere "mount --bind $tmp/passwd /etc/passwd" setpriv --reuid $user --regid $user --clear-groups env HOME="$tmp/home" "$tmp/assay" "$@"
}
as_user host up "$tmp/home/lab" -p base,vm,bw
expect_status 0
expect_stdout 127.0.0.1 220
grep -q 'only root may make namespaces' "$tmp/err" || fail 'it should say what is missing'
for n in 1 2 3; do
	on "$tmp/home/lab" $n 'id -u; echo $ASSAY_EMULATED; grep ^Seccomp /proc/self/status; (setsid sleep 4713 >/dev/null 2>&1 &)'
	expect_status 0
	expect_stdout $user
	[ $n != 2 ] || expect_stdout 'Seccomp:	2'
done
something_there "$tmp/home/lab"
as_user host down "$tmp/home/lab"
expect_status 0
nothing_left "$tmp/home/lab"
what="root's fleet, taken down by another user"
run host up "$lab" -n 1
as_user host down "$lab"
refused 1 'another user'
run host down "$lab"
expect_status 0
nothing_left "$lab"
finish
