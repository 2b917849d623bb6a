# Real sshd's on loopback ports for the scripts cli_*.sh, which source this behind lib_cli.sh. They end with the script, also when it
# is killed; sshd_stop ends one before. Each has its own host key and configuration; who holds $tmp/user may log in. Their ports are
# below those of emulated hosts (22001 and up), which are kept free for these by sockets that sshd may share.

sshd_available() {
	[ -x /usr/sbin/sshd ] && command -v ssh-keygen >/dev/null && command -v setpriv >/dev/null
}

# sshd_start NAME [LINE]: $tmp/NAME.key is made where it is missing; NAME keeps its port when it is started again. LINE is added to the
# configuration; it may set variables with SetEnv. SHLVL keeps bash from its start-up file, which may take long. sshd uses only the first
# SetEnv, so SHLVL is added to that. Sets $port and $sshd_NAME (the process).
sshd_start() {
	[ -f "$tmp/user" ] || ssh-keygen -q -t ed25519 -N '' -C test -f "$tmp/user"
	[ -f "$tmp/$1.key" ] || ssh-keygen -q -t ed25519 -N '' -C test -f "$tmp/$1.key"
	[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
	case ${2:-} in
	*SetEnv*) added=$(printf '%s\n' "$2" | sed 's/^SetEnv /SetEnv SHLVL=2 /') ;;
	*) added="${2:-}
SetEnv SHLVL=2" ;;
	esac
	tries=0
	while :; do
		port=$(cat "$tmp/$1.port" 2>/dev/null) || port=$((10000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
		printf 'ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nPidFile none\nUsePAM no\nStrictModes no\nAuthorizedKeysFile %s\n%s\n' \
			"$port" "$tmp/$1.key" "$tmp/user.pub" "PermitRootLogin yes
MaxStartups 500
$added" >"$tmp/$1.conf"
		: >"$tmp/$1.log" # or what an earlier one wrote there would be taken for its word
		setpriv --pdeathsig KILL /usr/sbin/sshd -D -e -f "$tmp/$1.conf" >>"$tmp/$1.log" 2>&1 &
		eval "sshd_$1=$!"
		for wait in $(seq 600); do
			grep -qs 'Server listening' "$tmp/$1.log" && { echo "$port" >"$tmp/$1.port"; return; }
			kill -0 $! 2>/dev/null || break
			sleep .05
		done
		tries=$((tries + 1))
		[ $tries -lt 20 ] || { echo "sshd does not start: $(cat "$tmp/$1.log")"; exit 1; }
	done
}

sshd_stop() {
	eval "kill \$sshd_$1; wait \$sshd_$1" 2>/dev/null
}
