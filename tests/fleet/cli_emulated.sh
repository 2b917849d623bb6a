#!/bin/sh
# The emulated fleet as root: real sshd's with namespaces; what is left behind after every kind of end. cli_emulated_user.sh: with less.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_emulated.sh"

milliseconds() {
	echo $(($(date +%s%N) / 1000000))
}

# touched LAB N TIMES KB: kB of a sleeping program's pages on the N-th host that count as used: the least of so many looks, of which the first that
# sees less than KB is the last.
touched() {
	on "$1" "$2" "sleep 100 & p=\$!; for i in \$(seq $3); do sleep .5; n=\$(awk '/^Referenced/ { s += \$2 } END { print s }' /proc/\$p/smaps); echo \$n; [ \$n -ge $4 ] || break; done | sort -n | head -n 1; kill \$p"
	cat "$tmp/out"
}

what='three hosts as root'
lab=$tmp/lab
umask 0
run host up "$lab" --profiles base,meta+str+sort,bw
umask 022
expect_status 0
limited=$(cat "$tmp/out" "$tmp/err" | grep -c 'each host is limited to 1024 MiB of memory')
expect_stdout emu01 emu02 emu03 'meta+str+sort' '3 emulated hosts are up'
for n in 1 2 3; do
	on "$lab" $n 'hostname; pwd; echo $ASSAY_EMULATED; df "$HOME" | tail -n 1; stat -c %a "$TMPDIR"; grep ^Seccomp /proc/self/status'
	expect_status 0
	cp "$tmp/out" "$tmp/host$n"
done
what='what the hosts say'
mv "$tmp/host2" "$tmp/out"
expect_stdout 'meta+str+sort' 'Seccomp_filters:	1'
cp "$tmp/host1" "$tmp/out"
expect_stdout base 'Seccomp_filters:	0'
namespaces=no
grep -q emu01 "$tmp/host1" && namespaces=yes
if [ $namespaces = yes ]; then
	expect_stdout emu01 ' 65536 ' 1777
else
	echo 'namespaces: not tested, this machine does not allow them'
fi
something_there "$lab"

what='.assay is its owner'"'"'s alone'
cases=$((cases + 1))
# Public keys, and what is mounted on /etc/machine-id of a host, are for all; they are behind .assay.
find "$lab/.assay" -perm /077 ! -type l ! -type s ! -name '*.pub' ! -name machine-id >"$tmp/open"
[ "$(stat -c %a "$lab/.assay")" = 700 ] || fail "others may enter $lab/.assay"
[ ! -s "$tmp/open" ] || fail "others may read $(head -n 3 "$tmp/open" | tr '\n' ' ')"

what='the preloaded library works in what runs on the host'
on "$lab" 2 'grep -c knobs_string.so /proc/self/maps'
expect_status 0

what='the inventory is one that assay reads'
if "$ASSAY" host list --help >/dev/null 2>&1; then
	run -C "$lab" host list
	expect_status 0
	expect_stdout emu01 emu03 'meta+str+sort'
fi

what='which limits are of a host, and which of its box'
if [ "$limited" -gt 0 ]; then
	run -C "$lab" host check
	expect_stdout 'emu[01-03]: note: its cgroup or affinity limits it to 1.0 GiB of memory' \
		"its physical host has $(awk '/^MemTotal/ { printf "%.1f", $2 / 1048576 }' /proc/meminfo) GiB"
	run -C "$lab" host check -w emu01 --format json
	expect_json .hosts[0].facts.memory_limit_bytes 1073741824
else
	echo 'limits: not tested, there are no control groups here'
fi

what='the memory hog works while a program runs, and only then'
hog=$(pgrep -x assay-hog | while read -r pid; do
	grep -qF "$(sed -n 's/^assay-emulated-1 //p' "$lab/.assay/emulated/state")" "/proc/$pid/net/unix" 2>/dev/null && echo "$pid"
done | head -n 1)
ticks() {
	awk '{ print $14 + $15 }' "/proc/$hog/stat"
}
# rests: its ticks stand still for a while, within some seconds; others may be at work on this machine, so that it comes late to anything.
rests() {
	cases=$((cases + 1))
	for _ in $(seq 200); do
		before=$(ticks)
		sleep .3
		idle=$(ticks)
		[ "$before" = "$idle" ] && return
	done
	fail "the hog works while no program runs: $before to $idle ticks"
}
rests
on "$lab" 3 "while [ ! -e '$tmp/enough' ]; do sleep .05; done" &
session=$!
for _ in $(seq 600); do
	busy=$(ticks)
	[ $((busy - idle)) -ge 5 ] && break
	sleep .1
done
cases=$((cases + 1))
[ $((busy - idle)) -ge 5 ] || fail "ticks of the hog: idle $idle, busy to $busy"
: >"$tmp/enough"
wait "$session"
rests

what='up again: the earlier one goes, host keys stay'
cp "$lab/.assay/emulated/keys/emu01.pub" "$tmp/key"
run host up "$lab" --profiles io,base -f json
expect_status 0
expect_json_parses
expect_json .hosts[1].profile base
expect_same_files "$tmp/key" "$lab/.assay/emulated/keys/emu01.pub"
time_of() {
	start=$(milliseconds)
	on "$lab" "$1" 'dd bs=1 count=30000 if=/dev/zero of=/dev/null'
	echo $(($(milliseconds) - start))
}
slow=$(time_of 1)
fast=$(time_of 2)
echo "60000 small reads and writes, with the connection: $slow ms under the profile io, $fast ms under base"

what='what a session left, what survived its sshd, a stopped process'
on "$lab" 1 "setsid sleep 4711$$ >/dev/null 2>&1 &"
(on "$lab" 1 "setsid sh -c 'trap \"\" TERM HUP; sleep 4712$$; true' & kill -STOP \$\$") &
held=$!
both_there "471[12]$$"
kill -9 "$(sshd_of "$lab" 2)"
run host down "$lab"
expect_status 0
nothing_left "$lab"
end_client "4712$$"
what='what brings the same hosts up again'
run -C "$lab" host exec -w emu01 -- true
expect_status 1
holds "$tmp/err" 'the error' 'an emulated host: lab.yaml starts with the command that brings it up again'
again=$(sed -n 's/^# assay //p' "$lab/lab.yaml")
cases=$((cases + 1))
[ "$again" = "host up $lab --hosts 2 --profiles io,base" ] || fail "this brings something else up: $again"

what='down twice'
run host down "$lab"
expect_status 0
expect_stdout 'There is no emulated fleet'
cases=$((cases + 1))
[ -f "$lab/lab.yaml" ] && [ -d "$lab/machines" ] || fail 'down should leave the laboratory'

what='killed at any moment'
for delay in .005 .03 .07 .15 .3; do
	"$ASSAY" host up "$lab" -n 4 >/dev/null 2>&1 &
	killed=$!
	sleep $delay
	kill -9 $killed 2>/dev/null
	wait $killed 2>/dev/null
	run host down "$lab"
	expect_status 0
	nothing_left "$lab"
done
"$ASSAY" host up "$tmp/fresh" -n 4 >/dev/null 2>&1 &
killed=$!
sleep .03
kill -9 $killed 2>/dev/null
wait $killed 2>/dev/null
run host up "$tmp/fresh" -n 2
expect_status 0
on "$tmp/fresh" 2 true
expect_status 0
run host down "$tmp/fresh"
nothing_left "$tmp/fresh"

what='what one that was killed had begun holds the lock for a moment more'
run host up "$lab" -n 1
flock "$lab/.assay/emulated/lock" sleep 1 &
sleep .3
run host down "$lab"
expect_status 0
nothing_left "$lab"

what='Ctrl-C'
: >"$tmp/err" # what the last command said must not pass for a word of the next one
"$ASSAY" host up "$lab" -n 20 >"$tmp/out" 2>"$tmp/err" &
killed=$!
while [ ! -s "$tmp/err" ] && kill -0 $killed 2>/dev/null; do sleep .01; done # it is at work: signals are caught by now
kill -TERM $killed
wait $killed
status=$?
if [ $status -ne 0 ]; then
	expect_status 1
	nothing_left "$lab"
fi
run host down "$lab"

what='a directory that was removed while its fleet stood'
run host up "$tmp/gone" -n 2
rm -rf "$tmp/gone"
something_there "$tmp/gone"
run host up "$tmp/gone" -n 1
expect_status 0
mkdir "$tmp/inside"
mv "$tmp/gone/.assay" "$tmp/inside"
run host down "$tmp/gone"
expect_status 0
nothing_left "$tmp/gone"
run host up "$tmp/inside/.gone" -n 1
rm -rf "$tmp/inside"
run host down "$tmp/inside/none"
refused 2 "no directory '$tmp/inside/none'"
cd "$tmp"
run host down inside/.gone/
expect_status 0
cd "$OLDPWD"
expect_stdout 'is down'
nothing_left "$tmp/inside/.gone"

what='a state file that is not ours'
cp "$lab/.assay/emulated/state" "$tmp/state"
printf 'user root\n' >>"$lab/.assay/emulated/state"
run host down "$lab"
refused 1 state:3 'not a line'
cp "$tmp/state" "$lab/.assay/emulated/state"

what='fleets on loopback that come up at the same time take no port from each other'
for i in 1 2 3 4; do
	{ "$ASSAY" host up "$tmp/at-once$i" --no-root -n 4 >"$tmp/at-once$i.out" 2>&1 || : >"$tmp/at-once$i.failed"; } &
done
wait
for i in 1 2 3 4; do
	cases=$((cases + 1))
	[ ! -e "$tmp/at-once$i.failed" ] || fail "$(tail -n 1 "$tmp/at-once$i.out")"
	run host down "$tmp/at-once$i"
	expect_status 0
done

# ---- what a user might do wrong ----

what="a laboratory of the user's"
run init "$tmp/mine"
run host up "$tmp/mine"
refused 2 'was not written by' 'another directory'
cases=$((cases + 1))
[ ! -e "$tmp/mine/.assay/emulated" ] || fail 'it should not be touched'

what='wrong usage'
run host up "$lab" --profiles base,vmm
refused 2 "no profile 'vmm'" 'io+str+malloc'
run host up "$lab" --profiles ''
refused 2 'is empty'
run host up "$lab" --hosts 0
refused 2 '1 to 1000'
run host up "$lab" --hosts 1001
refused 2 '1 to 1000'
run host up "$lab" "$tmp/two"
refused 2 'unexpected argument'
run host up "$tmp/with blank"
refused 2 'spaces' 'another directory'
run host up "$tmp/no/such"
refused 1 "$tmp/no"
run host down "$tmp/nowhere"
refused 2 'no directory'
run host down "$tmp/mine"
refused 2 'has no emulated fleet'
run host up --help
expect_stdout 'Examples:' '--profile-dir'

what='pages that are marked as not used, events that each page fault sets off'
run host up "$lab" --profiles base,walk,fault
expect_status 0
base=$(touched "$lab" 1 4 0)
walk=$(touched "$lab" 2 120 $((base / 2))) # a busy machine marks late
cases=$((cases + 1))
[ "${base:-0}" -gt 100 ] && [ "${walk:-$base}" -lt $((base / 2)) ] || fail "kB of pages in use: base '$base', walk '$walk'"
cases=$((cases + 1))
grep -q 'page faults of hosts are those of' "$tmp/err" || pgrep -x assay-hog | while read -r pid; do
	ls -l "/proc/$pid/fd" 2>/dev/null | grep -c perf_event
done | grep -qx 16 || fail 'no process holds the sixteen events of the host'
run host down "$lab"
expect_status 0

what='profiles of the user'
mkdir "$tmp/profiles"
printf 'strings: 2\n' >"$tmp/profiles/own.yaml"
run host up "$lab" --profile-dir "$tmp/profiles" -n 1
expect_status 0
expect_stdout own
printf 'string: 2\n' >"$tmp/profiles/own.yaml"
run host up "$lab" --profile-dir "$tmp/profiles"
refused 2 own.yaml:1 strings
on "$lab" 1 true
expect_status 0

what='somebody else is at work'
(
	flock 9
	exec sleep 100
) 9>>"$lab/.assay/emulated/lock" &
held=$!
while flock -n "$lab/.assay/emulated/lock" true; do sleep .02; done
run host down "$lab"
refused 1 'is running in'
kill "$held"
wait "$held" 2>/dev/null
held=
run host down "$lab"
expect_status 0
nothing_left "$lab"
finish
