# What an application stresses on hosts that show less, over real ssh: two emulated hosts of one type, hosts that may not be sampled, and one
# like a container. Each gets the level that it supports, and for the rest a reason with the remedy.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
sshd_available && [ "$(id -u)" = 0 ] || skip 'hosts like these need root and openssh-server'
command -v gcc >/dev/null || skip 'there is no gcc'
export XDG_CACHE_HOME="$tmp/cache"
chmod 755 "$tmp"
gcc -o "$tmp/refuse" "$ASSAY_SOURCE/tests/probed/refuse.c" || exit 1
lab=$tmp/lab
tidy() {
	[ ! -d "$tmp/two" ] || "$ASSAY" host down "$tmp/two" >/dev/null 2>&1
}

# application LAB: half a second, nearly all of it the kernel's
application() {
	mkdir -p "$1/apps"
	cat >"$1/apps/copy.yaml" <<'END'
command: [sh, -c, 'dd if=/dev/zero of=/dev/null bs=64k count=60000 2>/dev/null && dd if=/dev/zero of=/dev/null bs=64 count=60000 2>/dev/null']
versions: { v: }
repetitions: 2
warm_ups: 0
END
}

# Three levels of the measured time, and whether there are `categories`: yes or no.
levels() {
	cases=$((cases + 3))
	[ "$(json '.levels[0].level')" = time ] && [ "$(json '.levels[2].level')" = time ] && [ "$(json '.levels[0].how')" = measured ] ||
		fail "levels are $(cat "$tmp/out")"
	kernel='' compute=''
	for i in 0 1 2; do
		case $(json ".levels[$i].name") in
		kernel) kernel=$(json ".levels[$i].share") ;;
		compute) compute=$(json ".levels[$i].share") ;;
		esac
	done
	awk -v k="$kernel" -v c="$compute" 'BEGIN { exit !(k > c) }' || fail "the kernel has $kernel, computing $compute"
	[ "$(json '.levels[3].level')" = category ] && found=yes || found=no
	[ $found = "$1" ] || fail "categories: $found, where $1 is expected: $(json .measured)"
}

# because LIST CODE TEXT...: among the reasons of .LIST, in the text of that code
because() {
	list=$1 code=$2
	shift 2
	cases=$((cases + 1))
	text=
	for i in 0 1 2 3 4 5 6; do
		[ "$(json ".$list.reasons[$i].code")" = "$code" ] && text=$(json ".$list.reasons[$i].text")
	done
	[ -n "$text" ] || fail "no reason of $list is $code: $(cat "$tmp/out")"
	for wanted; do
		case $text in *"$wanted"*) ;; *) fail "'$wanted' is not said: $text" ;; esac
	done
}

# A host for each: its sessions run under that command.
# host NAME COMMAND...
host() {
	name=$1
	shift
	cat >"$tmp/$name.sh" <<END
#!/bin/sh
exec $* sh -c "\$SSH_ORIGINAL_COMMAND"
END
	chmod 755 "$tmp/$name.sh"
	sshd_start "$name" "ForceCommand $tmp/$name.sh"
	printf '  - { name: %s, address: 127.0.0.1, port: %s, identity_file: %s, type: small, on: here }\n' "$name" "$port" "$tmp/user" >>"$lab/lab.yaml"
}

"$ASSAY" init "$lab" >/dev/null
echo 'hosts:' >>"$lab/lab.yaml"
host open env
host unsampled "$tmp/refuse" counters
# Like a container: processes and mounts of its own, control groups that it cannot write to, and neither events nor names of the kernel's functions.
host contained unshare -m -p -f --mount-proc "$tmp/refuse" counters
application "$lab"
run -C "$lab" host trust -w open,unsampled,contained
expect_status 0

# profiled HOST: what is known of the application from that host alone
profiled() {
	rm -f "$lab/.assay/runs.db"*
	run -C "$lab" run copy -w "$1" --format json
	expect_status 0
	expect_json .complete true
	run -C "$lab" profile copy@v --format json
	expect_status 0
	expect_json_parses
	expect_json .trust.verdict 'not identifiable'
	because trust no_fingerprints 'host measure'
}

if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
	what='a host that shows all'
	profiled open
	levels yes
	shown=$("$tmp/refuse" counters true && echo yes)
fi

if [ "${shown:-}" = yes ]; then
	what='a host that may not be sampled'
	profiled unsampled
	levels no
	because measured sampling_forbidden seccomp 'docker run --cap-add PERFMON'
fi

if unshare -m -p -f --mount-proc "$tmp/refuse" counters true; then
	what='a host like a container'
	profiled contained
	levels no
	because measured sampling_forbidden 'docker run --cap-add PERFMON'
fi

what='two emulated hosts of one type'
run host up "$tmp/two" --hosts 2 --profiles base
if [ "$status" = 0 ]; then
	application "$tmp/two"
	run -C "$tmp/two" run copy --format json
	expect_status 0
	run -C "$tmp/two" profile copy@v --format json
	expect_status 0
	levels yes
	expect_json .trust.verdict 'not identifiable'
	because trust no_fingerprints 'host measure'
	expect_json .machines 2
fi
finish
