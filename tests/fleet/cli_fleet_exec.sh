#!/bin/sh
# `assay host trust` and `assay host exec` against real sshd's, as the user who runs this; cli_fleet_exec_user.sh runs it as an ordinary user.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
sshd_available || skip 'there is no sshd, ssh-keygen or setpriv (openssh-server, util-linux)'
export HOME="$tmp/home"
mkdir "$HOME"
unset SSH_AUTH_SOCK
settings="SetEnv XDG_CACHE_HOME=$tmp/cache"

# Accounts that never start the helper, without --timeout; looked at at the end. Who logs in makes no difference to them.
cat >"$tmp/dripping" <<'END'
#!/bin/sh
printf '1) status\n2) log out\nchoose: '
while [ "$1" = drips ]; do sleep .3; printf '*'; done
cat >/dev/null
END
chmod +x "$tmp/dripping"
mkdir "$tmp/dripping-lab"
cat >"$tmp/dripping-lab/lab.yaml" <<END
hosts:
  - { name: drips, transport: command, launcher: [$tmp/dripping, drips] }
  - { name: menu, transport: command, launcher: [$tmp/dripping, menu] }
END
dripping=
if [ -z "${ASSAY_TEST_AGAIN:-}" ]; then
	dripping='exec put'
	timeout 300 "$ASSAY" -C "$tmp/dripping-lab" host exec -- true >/dev/null 2>"$tmp/dripping-exec" </dev/null &
	dripping_exec=$!
	timeout 300 "$ASSAY" -C "$tmp/dripping-lab" host copy "$tmp/dripping" x >/dev/null 2>"$tmp/dripping-put" </dev/null &
	dripping_put=$!
fi
sshd_start one "$settings"
cat >"$tmp/hosts" <<END
hosts:
  - name: node[1-3]
    address: 127.0.0.1
    port: $port
    identity_file: $tmp/user
    groups: [good]
END
run init "$tmp/lab"
cp "$tmp/hosts" "$tmp/lab/lab.yaml"

host() {
	verb=$1
	shift
	run -C "$tmp/lab" host "$verb" "$@"
}

expect_lines() {
	cases=$((cases + 1))
	sort "$tmp/out" >"$tmp/sorted"
	printf '%s\n' "$@" >"$tmp/expected"
	cmp -s "$tmp/sorted" "$tmp/expected" || fail "lines expected: $*"
}

what='a host whose key nobody knows'
host exec -- touch "$tmp/was-here"
expect_status 1
expect_no_stdout
expect_stderr 'hostkey: node1: its key SHA256:' "'assay host trust -w node1'"
cases=$((cases + 1))
[ ! -e "$tmp/was-here" ] || fail 'the command was run all the same'

what='trust names its hosts'
host trust
refused 2 '--hosts HOSTS is required'

what='trust'
host trust -w node1
expect_status 0
fingerprint=$(ssh-keygen -lf "$tmp/one.key.pub" | cut -d' ' -f2)
expect_stdout "node1: recorded $fingerprint (ssh-ed25519)" '1 key written'
what='trust again'
host trust -w @good --format json
expect_status 0
expect_json '.hosts[0].action' known
expect_json '.hosts[2].fingerprint' "$fingerprint"
cases=$((cases + 1))
[ "$(wc -l <"$tmp/lab/known_hosts")" = 1 ] || fail 'one line expected in known_hosts'

what='all are well'
host exec -- echo hello
expect_status 0
expect_lines 'node1: hello' 'node2: hello' 'node3: hello'
expect_stderr 'assay host exec: ok: node[1-3]'
what='words arrive as they are'
host exec -w node1 -- printf '<%s>\n' 'a b' "it's" '$HOME' '$(x)' '*' '' '\n' 'ü' '"'
expect_status 0
for word in 'a b' "it's" '$HOME' '$(x)' '*' '' '\n' 'ü' '"'; do
	printf 'node1: <%s>\n' "$word"
done >"$tmp/expected"
expect_same_files "$tmp/out" "$tmp/expected"
what='options of the command are its own'
host exec -w node1 -- echo -w node2 --format json --help
expect_status 0
expect_lines 'node1: -w node2 --format json --help'
what='a command that is not there'
host exec -w node1 -- no-such-command
expect_status 1
expect_no_stdout
expect_stderr "failed: node1: cannot execute 'no-such-command': No such file or directory"
what='a whole line for a shell in one word'
host exec -w node1 -- 'ls -l | wc -l'
expect_status 1
expect_stderr "failed: node1: cannot execute 'ls -l | wc -l'" "the arguments are not passed to a shell; for a shell command: -- sh -c '...'"
what='one host fails'
host exec -w node[1-2] -- mkdir "$tmp/one-only"
expect_status 7
expect_stderr 'ok: node' 'failed: node' 'exit status 1' 'File exists'

what='two streams, the last line not ended'
host exec -w node1 -- sh -c 'printf "1\n2"; printf wrong >&2; exit 4'
expect_status 1
expect_lines 'node1: 1' 'node1: 2'
expect_stderr 'node1: wrong' 'failed: node1: exit status 4'

what='JSON'
host exec -w node1 --format json -- sh -c 'printf "a\377"; echo text >&2; kill -TERM $$'
expect_status 1
expect_json_parses
expect_no_stderr
expect_json '.hosts[0].outcome' failed
expect_json '.hosts[0].exit_status' null
expect_json '.hosts[0].signal' TERM
expect_json '.hosts[0].stdout_base64' Yf8=
expect_json '.command[0]' sh
expect_json '.hosts[0].without_helper' null
expect_json '.hosts[0].usage.leftovers' 0
what='secrets among the words are not repeated'
host exec -w node1 --format json -- env API_TOKEN=hunter2secret sh -c 'printf %s "$API_TOKEN"'
expect_status 0
expect_json .command[1] 'API_TOKEN=(hidden)'
expect_json .hosts[0].stdout hunter2secret
host exec -w node1 -- API_TOKEN=hunter2secret true
expect_status 1
expect_stderr "failed: node1: cannot execute 'API_TOKEN=(hidden)'"
what='the binary output of many lines is whole'
head -c 3000000 /dev/urandom >"$tmp/random"
host exec -w node1 --format json -- cat "$tmp/random"
expect_status 0
json '.hosts[0].stdout_base64' | base64 -d >"$tmp/arrived"
expect_same_files "$tmp/random" "$tmp/arrived"
what='a damaged helper is deployed again, once, and that is said'
helper=$(find "$tmp/cache" -name 'helper-*')
cp "$helper" "$tmp/helper"
: >"$helper"
host exec -w node1 --format json -- true
expect_status 0
expect_json '.hosts[0].outcome' ok
expect_json '.hosts[0].without_helper' null
expect_stderr 'note: node1: the helper there was damaged and was deployed again'
expect_same_files "$helper" "$tmp/helper"
host exec -w node1 -- true
cases=$((cases + 1))
! grep -q damaged "$tmp/err" || fail 'a helper that was deployed again is whole'
what='a flood is cut, also where the helper comes first'
rm -r "$tmp/cache"
host exec -w node1 --format json -- head -c 20000000 /dev/zero
expect_status 1
expect_json '.hosts[0].outcome' failed
expect_json '.hosts[0].exit_status' null
expect_json '.hosts[0].message' 'more than 16 MiB of standard output: truncated, and the connection closed'
cases=$((cases + 1))
[ "$(json '.hosts[0].stdout_base64' | base64 -d | wc -c)" -gt 16000000 ] || fail 'what has come before should be there'

what='a command that takes too long'
host exec -w node[1-2] --timeout 0.3 -- sleep 5
expect_status 1
expect_stderr 'timeout: node[1-2]: the command did not end within 0.3 s and was killed'
what='what it leaves behind is ended'
host exec -w node1 --format json -- sh -c "sleep 4$$ >/dev/null 2>&1 & echo begun"
expect_status 0
expect_json '.hosts[0].usage.leftovers' 1
cases=$((cases + 1))
grep -lzqx "[4]$$" /proc/[0-9]*/cmdline 2>/dev/null && fail 'sleep should be gone'

what='a host where the helper cannot be kept: the shell, and every word in quotes'
sshd_start bare "SetEnv PATH=$tmp/none XDG_CACHE_HOME=$tmp/none"
cp "$tmp/lab/lab.yaml" "$tmp/without-bare"
cp "$tmp/lab/known_hosts" "$tmp/known-without-bare"
cat >>"$tmp/lab/lab.yaml" <<END
  - name: bare[1-2]
    address: 127.0.0.1
    port: $port
    identity_file: $tmp/user
END
host trust -w bare[1-2]
host exec -w bare[1-2] -- /usr/bin/printf '<%s>\n' 'a b' "it's" '$(x)' ''
expect_status 0
expect_lines 'bare1: <$(x)>' 'bare1: <>' 'bare1: <a b>' "bare1: <it's>" 'bare2: <$(x)>' 'bare2: <>' 'bare2: <a b>' "bare2: <it's>"
expect_stderr 'note: the shell of bare[1-2] ran the command: the helper could not be deployed: '
host exec -w bare1,node1 --format json -- /bin/sh -c 'echo out; exit 3'
expect_status 1
expect_json '.hosts[0].usage.survivors' 0
expect_json '.hosts[1].usage' null
expect_json '.hosts[1].stdout' out
expect_json '.hosts[1].exit_status' 3
host exec -w bare1 --timeout 0.5 -- /bin/sleep 3
expect_status 1
expect_stderr 'timeout: bare1: the command did not end within 0.5 s'

what='a controller that was stopped for longer than the time limit'
"$ASSAY" -C "$tmp/lab" host exec -w bare1 --timeout 3 -- /bin/sleep 1 >"$tmp/stopped.out" 2>"$tmp/stopped.err" </dev/null &
controller=$!
sleep .4
kill -STOP $controller
(sleep 3.5; kill -CONT $controller) & # its end is looked at below
mv "$tmp/without-bare" "$tmp/lab/lab.yaml"
mv "$tmp/known-without-bare" "$tmp/lab/known_hosts"

cat >>"$tmp/lab/lab.yaml" <<END
  - name: dead[1-2]
    address: 127.0.0.1
    port: 1
  - name: here
    transport: local
    env: { WHERE: "it's here", EMPTY: "" }
END
# A host that says nothing, until it may end; looked at below.
mkfifo "$tmp/end"
"$ASSAY" -C "$tmp/lab" host exec -w node1,here -- sh -c '[ -z "$SSH_CONNECTION" ] || exec cat "$0"' "$tmp/end" >/dev/null 2>"$tmp/silent" </dev/null &
silent=$!
# A host that is stopped; looked at below, too.
(
	started=$(date +%s)
	"$ASSAY" -C "$tmp/lab" host exec -w node1,here --timeout 8 -- sh -c '[ -z "$SSH_CONNECTION" ] || exec sleep "$0"' "61$$" >/dev/null 2>"$tmp/stopped-host" </dev/null &
	for _ in $(seq 1200); do
		sleeper=$(pgrep -xf "sleep 61$$") && break
		sleep .05
	done
	helper=$(sed -n 's/^PPid:\t//p' "/proc/$sleeper/status")
	kill -STOP "$helper"
	echo "$helper" >"$tmp/stopped"
	wait $!
	echo "$? $(($(date +%s) - started))" >"$tmp/stopped-status"
) &
stopped=$!
what='some hosts fail: 7, and hosts with the same end share a line'
host exec -x here -- true
expect_status 7
expect_stderr 'ok: node[1-3]' 'unreachable: dead[1-2]: cannot connect to 127.0.0.1 port 1: Connection refused'
what='this machine, and the environment of a host'
host exec -w here -- printenv WHERE EMPTY
expect_status 0
expect_lines 'here: ' "here: it's here"
host exec -w here -- sh -c 'printf "%s" "$WHERE"'
expect_lines "here: it's here"
what='no key is needed'
host trust -w here
expect_status 0
expect_stdout 'here: local'
what='a host that is not there cannot be trusted'
host trust -w dead1,node1
expect_status 7
expect_stdout 'dead1: failed: cannot connect'

what='a key that has changed'
sshd_stop one
rm "$tmp/one.key" "$tmp/one.key.pub"
sshd_start one "$settings"
host exec -w node1 -- true
expect_status 1
expect_stderr 'hostkey: node1' "known_hosts:1: find out why" '--replace'
host trust -w node1
expect_status 1
expect_stdout 'node1: refused' 'known_hosts:1 has another key'
host trust -w node1 --replace
expect_status 0
expect_stdout 'node1: replaced' "$(ssh-keygen -lf "$tmp/one.key.pub" | cut -d' ' -f2)"
cases=$((cases + 1))
[ "$(wc -l <"$tmp/lab/known_hosts")" = 1 ] || fail 'the old line should be gone'
host exec -w node1 -- true
expect_status 0

what='a revoked key is never trusted'
cp "$tmp/lab/known_hosts" "$tmp/good"
sed 's/^/@revoked /' "$tmp/good" >"$tmp/lab/known_hosts"
host trust -w node1 --replace
expect_status 1
expect_stdout 'node1: refused' 'is revoked'
what='a line about several hosts is left to the user'
{ printf 'other,'; sed 's/ .*//' "$tmp/good" | tr -d '\n'; ssh-keygen -q -t ed25519 -N '' -f "$tmp/old" && printf ' %s\n' "$(cut -d' ' -f1,2 "$tmp/old.pub")"; } >"$tmp/lab/known_hosts"
host trust -w node1 --replace
refused 2 'known_hosts:1 is for 127.0.0.1 and other hosts'
what='a line that cannot be read'
echo 'nonsense' >"$tmp/lab/known_hosts"
host exec -w node1 -- true
refused 2 'known_hosts:1'
cp "$tmp/good" "$tmp/lab/known_hosts"

what='a standard output that is full'
"$ASSAY" -C "$tmp/lab" host exec -w node1,here -- echo word >/dev/full 2>"$tmp/err"
status=$?
expect_status 1
expect_stderr 'cannot write to standard output: No space left on device'

what='a standard output that has failed ends the hosts that go on'
one_goes_on() {
	timeout 60 "$ASSAY" -C "$tmp/lab" host exec -w node1,here -- sh -c '[ -z "$SSH_CONNECTION" ] || { echo a; exit; }; sleep "$0"' "71$$" 2>"$tmp/err" </dev/null
	echo $? >"$tmp/status"
}
ended_with() {
	status=$(cat "$tmp/status")
	expect_status 1
	cases=$((cases + 1))
	[ "$(cat "$tmp/err")" = "assay host exec: cannot write to standard output: $1" ] || fail "only that is expected, not: $(cat "$tmp/err")"
	cases=$((cases + 1))
	grep -lzx "[7]1$$" /proc/[0-9]*/cmdline 2>/dev/null && fail 'the command of the other host should be gone'
}
one_goes_on >/dev/full
ended_with 'No space left on device'
what='nobody reads its standard output any more'
one_goes_on | head -n 1 >"$tmp/out"
expect_lines 'node1: a'
ended_with 'Broken pipe'

what='a command that never ends, and a reader that has enough'
timeout 60 "$ASSAY" -C "$tmp/lab" host exec -w node1,here -- sh -c 'while echo "$0" && echo wrong >&2; do :; done' "72$$" 2>"$tmp/err" </dev/null | head -n 500 >"$tmp/out"
cases=$((cases + 2))
[ "$(grep -cxE "(node1|here): 72$$" "$tmp/out")" = 500 ] || fail 'whole lines are expected, 500 of them'
grep -lzx "[7]2$$" /proc/[0-9]*/cmdline 2>/dev/null && fail 'the commands should be gone'
what='output is shown as it arrives, and lines stay whole'
mkfifo "$tmp/lines"
timeout 60 "$ASSAY" -C "$tmp/lab" host exec -w node1 -- sh -c 'printf "1\n2"; until [ -e "$0" ]; do sleep .05; done; printf "3\n4"' "$tmp/was-read" >"$tmp/lines" 2>"$tmp/err" </dev/null &
{
	IFS= read -r line
	echo "$line"
	touch "$tmp/was-read"
	cat
} <"$tmp/lines" >"$tmp/out"
wait $!
status=$?
expect_status 0
printf 'node1: %s\n' 1 23 4 >"$tmp/expected"
expect_same_files "$tmp/out" "$tmp/expected"

what='a standard output that nobody reads, and Ctrl-C'
mkfifo "$tmp/fifo"
exec 9<>"$tmp/fifo"
"$ASSAY" -C "$tmp/lab" host exec -w node[1-2],here -- head -c 300000 /dev/zero >&9 2>"$tmp/err" &
assay=$!
for _ in $(seq 1200); do # until one of its threads waits for the pipe, and nothing runs any more
	[ -z "$(pgrep -P $assay)" ] && timeout 1 dd <&9 of=/dev/null bs=1 count=1 2>/dev/null && break
	sleep .05
done
kill -INT $assay
for _ in $(seq 1200); do
	kill -0 $assay 2>/dev/null || break
	sleep .05
done
cases=$((cases + 1))
kill -KILL $assay 2>/dev/null && fail 'it should end when it is told to'
wait $assay
exec 9>&-

what='as many hosts at a time as lab.yaml says, unless the command says otherwise'
sed -i '1i fanout: 1' "$tmp/lab/lab.yaml"
turns() {
	host exec -w 'node[1-3]' "$@" "$tmp/turn"
	expect_status 0
}
# shellcheck disable=SC2016 # the words of the hosts' shells
{
	turns -- sh -c 'mkdir "$0" || echo together; sleep .1; rmdir "$0"'
	cases=$((cases + 1))
	grep -q together "$tmp/out" && fail 'one at a time'
	turns --fanout 3 -- sh -c ': >"$0.$$"; for i in $(seq 1200); do [ "$(ls "$0".* | wc -l)" = 3 ] && echo together && break; sleep .05; done'
	expect_lines 'node1: together' 'node2: together' 'node3: together'
}
sed -i 1d "$tmp/lab/lab.yaml"

what='wrong usage'
host exec
refused 2 'missing argument: -- COMMAND'
host exec --fanout 0 -- true
refused 2 '--fanout must be a whole number from 1 to'
host exec --timeout -1 -- true
refused 2 '--timeout: expected a number of seconds'
host exec -w node9 -- true
refused 2 "node9"

# Interrupted, in order or not: nothing of it is left anywhere.
marker=3$$
interrupted() {
	what="interrupted by SIG$1, $2 s behind the last command's start"
	"$ASSAY" -C "$tmp/lab" host exec -w node[1-3],here -- sh -c 'echo begun; sleep $0; true' "$marker" >"$tmp/out" 2>"$tmp/err" </dev/null &
	assay=$!
	for wait in $(seq 1200); do
		[ "$(left)" -ge 8 ] && break
		sleep .05
	done
	sleep "$2"
	kill -"$1" $assay
	started=$(date +%s)
	wait $assay 2>/dev/null
	status=$?
	cases=$((cases + 2))
	[ $(($(date +%s) - started)) -le 60 ] || fail 'it should end at once, not when the commands do, or a connection is given up'
	for wait in $(seq 1200); do
		[ "$(left)" = 0 ] && return
		sleep .05
	done
	fail "no command should be left, but $(left) are"
	for pid in $(pids); do
		tr '\0' ' ' <"/proc/$pid/cmdline"
		kill "$pid"
	done
}
left() { pids | wc -l; }
pids() { grep -lzx "[3]$$" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3; }

interrupted INT 1 # what was said before is to have come here
expect_status 1
expect_stderr 'failed: node[1-3],here: cancelled'
expect_stdout 'node1: begun' 'here: begun'
interrupted KILL 0

if command -v script >/dev/null 2>&1; then
	what='on a terminal: progress, and no escape sequences from hosts'
	script -qec "'$ASSAY' -C '$tmp/lab' host exec -w node1,here -- printf '\\033[31mred\\a\\n'" /dev/null >"$tmp/out" 2>&1 </dev/null
	expect_stdout 'node1: ?[31mred?' '1/2 hosts'
	what='on a terminal: --quiet shows no progress'
	script -qec "'$ASSAY' -C '$tmp/lab' host exec --quiet -w node1,here -- true" /dev/null >"$tmp/out" 2>&1 </dev/null
	cases=$((cases + 1))
	grep -q hosts "$tmp/out" && fail 'no progress is expected'
	what='on a terminal: a sequence that lies across two pieces of the output'
	script -qec "'$ASSAY' -C '$tmp/lab' host exec -w here -- sh -c 'head -c 65535 /dev/zero | tr \\\\0 a; printf \"\\\\302\\\\23331m\"'" /dev/null 2>&1 </dev/null | tail -c 200 >"$tmp/out"
	expect_stdout 'aaa?31m'
else
	echo 'no script(1) here: the terminal was not looked at'
fi

what='a host that is stopped: its limit counts, and it is named'
wait $stopped
cp "$tmp/stopped-host" "$tmp/err"
read -r status seconds <"$tmp/stopped-status"
kill -CONT "$(cat "$tmp/stopped")"
expect_status 7
expect_stderr 'timeout: node1: the command did not end within 8 s and the host does not answer: the command may still run there'
cases=$((cases + 1))
[ "$seconds" -lt 60 ] || fail "it should end near its limit of 8 s, not after $seconds s"

what='a controller that was stopped for longer than the time limit'
wait $controller
status=$?
cp "$tmp/stopped.err" "$tmp/err"
expect_status 0
sshd_stop bare

what='a host of which nothing is heard: after ten seconds that is said, without a terminal, too'
for _ in $(seq 600); do
	[ -s "$tmp/silent" ] && break
	sleep .1
done
echo >"$tmp/end"
wait $silent
status=$?
cp "$tmp/silent" "$tmp/err"
expect_status 0
expect_stderr 'assay host exec: note: node1: no data since 20' 'Z: still waiting (--timeout SECONDS sets a limit)' 'ok: node1,here'
cases=$((cases + 1))
[ "$(grep -c 'no data' "$tmp/err")" = 1 ] || fail 'once is enough'

what='accounts that show a menu, or send a byte now and then, end by themselves, and are cited'
for verb in $dripping; do
	eval "wait \$dripping_$verb"
	status=$?
	cp "$tmp/dripping-$verb" "$tmp/err"
	expect_status 1
	expect_stderr 'timeout: drips: no helper answered within 20 s: "1) status / 2) log out / choose: *' \
		'timeout: menu: no helper answered within 20 s: "1) status / 2) log out / choose:"'
done

what='a login program that stays after the command has ended is not waited for'
printf '#!/bin/sh\nsh -c "$SSH_ORIGINAL_COMMAND"\nexec sleep 300\n' >"$tmp/stays"
chmod +x "$tmp/stays"
sshd_start stays "$settings
ForceCommand $tmp/stays"
printf '  - { name: stays, address: 127.0.0.1, port: %s, identity_file: %s }\n' "$port" "$tmp/user" >>"$tmp/lab/lab.yaml"
host trust -w stays
timeout -k 5 100 "$ASSAY" -C "$tmp/lab" host exec -w stays -- echo done >"$tmp/out" 2>"$tmp/err" </dev/null
status=$?
expect_status 0
expect_lines 'stays: done'
sshd_stop stays
sshd_stop one
finish
