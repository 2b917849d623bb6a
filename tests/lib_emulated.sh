# Emulated fleets in scripts cli_emulated*.sh, which source this behind lib_cli.sh: their hosts by hand, and what belongs to them on this machine.
[ -x /usr/sbin/sshd ] || skip 'there is no /usr/sbin/sshd (openssh-server)'
command -v ssh >/dev/null || skip 'there is no ssh (openssh-client)'
[ "$(id -u)" = 0 ] || skip 'needs root, to be both root and an ordinary user'
chmod 755 "$tmp"
user=$((100000 + $$))
held=

tidy() {
	[ -n "$held" ] && kill "$held" 2>/dev/null
	for dir in "$tmp"/*/; do
		"$ASSAY" host down "$dir" >/dev/null 2>&1
	done
}

# on LAB N COMMAND: on the N-th host, as a user would by hand. The network may go before the end of a connection has come through it.
on() {
	dir=$1 n=$2
	shift 2
	timeout 200 ssh -F none -i "$dir/.assay/emulated/id_ed25519" -o IdentitiesOnly=yes -o UserKnownHostsFile="$dir/known_hosts" \
		-o StrictHostKeyChecking=yes -o BatchMode=yes -o ConnectTimeout=100 -o LogLevel=ERROR -o ServerAliveInterval=3 \
		-p "$(sed -n 's/^    port: //p' "$dir/lab.yaml" | sed -n "${n}p")" \
		"$(sed -n 's/^    user: "\(.*\)"/\1/p' "$dir/lab.yaml" | sed -n "${n}p")@$(sed -n 's/^    address: //p' "$dir/lab.yaml" | sed -n "${n}p")" "$@" \
		>"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	shown "(on host $n)" "$@"
}

# Everything on this machine that belongs to a laboratory: processes, links, control groups, mounts. Silent when there is nothing.
things() {
	tag=$(printf %s "$1" | sha256sum | cut -c1-8)
	{
		grep -lzE "^ASSAY_FLEET=$tag-" /proc/[0-9]*/environ
		grep -lF "$1/.assay/emulated/run/" /proc/[0-9]*/cmdline /proc/[0-9]*/mountinfo
	} 2>/dev/null | while read -r file; do # the greps found themselves, too
		[ ! -e "$file" ] || echo "$file ($(tr '\0' ' ' <"${file%/*}/cmdline"))"
	done
	ls /sys/class/net | grep "^as$tag" | sed 's/^/link /'
	find /sys/fs/cgroup -maxdepth 3 -name "assay-$tag" 2>/dev/null | sed 's/^/control group /'
	ls "$1/.assay/emulated" 2>/dev/null | grep -E '^(run|lib)$' | sed 's/^/directory /'
}

nothing_left() {
	cases=$((cases + 1))
	things "$1" >"$tmp/things"
	[ ! -s "$tmp/things" ] || fail "left behind: $(head -n 4 "$tmp/things")"
}

something_there() {
	cases=$((cases + 1))
	things "$1" >"$tmp/things"
	[ -s "$tmp/things" ] || fail 'this test sees nothing of a fleet that stands'
}

# sshd_of LAB N: the process that listens on the N-th host.
sshd_of() {
	pgrep -f "$1/.assay/emulated/run/emu0$2/sshd_config.*listener"
}

# both_there NUMBER: two sessions sleep for so long (a pattern).
both_there() {
	cases=$((cases + 1))
	for _ in $(seq 600); do
		[ "$(pgrep -cf "^sleep $1\$")" = 2 ] && return
		sleep .1
	done
	fail "not both sessions came: $(pgrep -af "^sleep $1\$")"
}

# end_client NUMBER: the ssh in the background, whose session slept for so long. The network of its host may have gone before the end of the connection
# has come through it: how long ssh waits for more is no matter of ours.
end_client() {
	for client in $(pgrep -f "^ssh .*sleep $1"); do kill "$client"; done
	wait "$held"
	held=
}
