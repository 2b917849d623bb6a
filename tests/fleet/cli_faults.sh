#!/bin/sh
# Faults of tests/evidence/faults.sh, a trial of each: a host that dies, a killed controller, a link that is down for a moment, a lock that is
# removed, a damaged helper, while emulated hosts are measured. What the trials look at stands in tests/bench/faults.py.
TMPDIR=/var/tmp # each host has a /tmp of its own, and must see what it is made of
export TMPDIR
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
[ "$(id -u)" = 0 ] && [ -x /usr/sbin/sshd ] && command -v stress-ng nsenter python3 >/dev/null || skip 'this needs root, openssh-server, stress-ng and python3'
unshare --mount --net --pid --fork true 2>/dev/null || skip 'there are no namespaces here'

# begin NAME FAULT COMMAND MOMENT: at the same time as the others.
begin() {
	mkdir "$tmp/$1"
	FAULT=$2 COMMAND=$3 SEED=1 MOMENT=$4 python3 "$ASSAY_SOURCE/tests/bench/faults.py" "$ASSAY" "$tmp/$1" >"$tmp/$1.out" 2>&1 &
	eval "$1=\$!"
}

begin dead 'dead' run 1.1
begin killed 'controller killed' 'host measure' 1.3
begin blips 'link blips' 'host measure' .8
begin lock 'lock removed' 'host measure' .9
begin helper 'helper damaged' run 1.2
for name in dead killed blips lock helper; do
	eval "wait \$$name"
	status=$?
	what=$name
	cp "$tmp/$name.out" "$tmp/out"
	: >"$tmp/err"
	expect_status 0
	[ "$status" = 0 ] || cat "$tmp/out"
done
finish
