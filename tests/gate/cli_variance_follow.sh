# assay timeline --follow: a run is analysed while it goes on, by an analysis that is killed and begun again; and its end is noticed. The
# program runs until it is told to stop, so that nothing depends on how fast this machine is. What is found in windows: records whose truth is
# known; in runs that go on: `sh tests/run --evidence variance_follow`.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_variance.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
gcc -O2 -o "$tmp/paced" "$ASSAY_SOURCE/tests/interposed/paced.c" || fail 'cannot compile'
cd "$tmp"

# until_windows FILE: waits until two windows with fragments are told.
until_windows() {
	until_tries=0
	until [ "$(grep -c '"fragments":[1-9]' "$1")" -ge 2 ]; do
		until_tries=$((until_tries + 1))
		[ "$until_tries" -lt 3000 ] || { : >stop; fail "nothing is told: $(cat "$1")"; exit 1; }
		sleep .1
	done
}

# ends DIRECTORY [WINDOW]: following it ends by itself; what it says is in ends.out and ends.err.
ends() {
	"$ASSAY" timeline "$1" --follow --window "${2:-1}" >ends.out 2>ends.err &
	analysis=$!
	for _ in $(seq 1200); do
		kill -0 "$analysis" 2>/dev/null || break
		sleep .1
	done
	cases=$((cases + 1))
	! kill -9 "$analysis" 2>/dev/null || fail "it does not end: $(tail -n 2 ends.out ends.err)"
}

what='windows are told while the program runs'
mkdir records killed zombie
: >first.jsonl >second.jsonl >killed.jsonl
"$ASSAY" timeline records --follow --window 2 --format json >first.jsonl 2>first.err &
first=$!
until grep -q "waiting for records in 'records'" first.err; do
	kill -0 "$first" || fail "it does not wait: $(cat first.err)"
	sleep .1
done
"$ASSAY" record -o records -- ./paced 0 0 2>/dev/null &
program=$!
# Beside it two others, which are killed below.
"$ASSAY" record -o killed -- sh -c 'echo $$ >killed.pid; exec ./paced 0 0' 2>/dev/null &
killed=$!
"$ASSAY" timeline killed --follow --window 1 --format json >killed.jsonl 2>killed.err &
killed_analysis=$!
"$ASSAY" record -o zombie -- sh -c './paced 0 0 & echo $! >zombie.pid; exec timeout 100 sleep 100' 2>/dev/null &
zombie=$!
until_windows first.jsonl
cases=$((cases + 1))
kill -0 "$program" || fail 'the program runs until it is told to stop'

what='the analysis is killed, and begun again'
kill -9 "$first"
wait "$first" 2>/dev/null || :
"$ASSAY" timeline records --follow --window 2 --format json >second.jsonl 2>second.err &
second=$!

what='a program that was killed ends, too'
until_windows killed.jsonl
kill -9 "$(cat killed.pid)"
wait "$killed" 2>/dev/null || :
cases=$((cases + 1))
wait "$killed_analysis" || fail "it failed: $(cat killed.err)"

what='a program that was killed, and for which nobody has waited, has ended'
until ls zombie/"$(cat zombie.pid)"-*.samples >/dev/null 2>&1; do
	sleep .1
done
kill -9 "$(cat zombie.pid)"
ends zombie/"$(cat zombie.pid)"-*.samples
kill "$(pgrep -P "$zombie" -x timeout)"
wait "$zombie" || :

what='an analysis that was begun again begins at the beginning of the run'
until_windows second.jsonl
cases=$((cases + 1))
head -n 1 second.jsonl | grep -q '^{"from_s":0,' || fail "$(head -n 1 second.jsonl | cut -c1-100)"
: >stop
wait "$program" || fail 'the program ends in order'

what='the end of the run is the end of the analysis'
wait "$second" || fail "it failed: $(cat second.err)"
cases=$((cases + 1))
sed 's/^{"from_s":\([0-9.]*\).*/\1/' second.jsonl | awk '$1 != NR - 1 { exit 1 }' || fail 'a window is missing'
cases=$((cases + 1))
[ "$(tail -n 1 second.jsonl | sed 's/.*"running":\([0-9]*\).*/\1/')" = 0 ] || fail 'no process runs any more'
what='for people, of a run that has ended'
run timeline records --follow --window 2
expect_status 0
expect_stdout '0.0 s to 2.0 s' '1.0 s to 3.0 s'
expect_no_stderr

what='what is slow during whole windows is known by those before'
made long 1 24 counted 0:8:24:slow:1.5
"$ASSAY" timeline long --follow --window 4 --format json >long.jsonl || fail 'it failed'
cases=$((cases + 1))
[ "$(grep -c '"variance":true' long.jsonl)" -ge 9 ] || fail "slow in windows: $(grep '"variance":true' long.jsonl | cut -c1-30)"
cases=$((cases + 1))
[ "$(head -n 2 long.jsonl | grep -c '"variance":false')" = 2 ] || fail 'nothing was slow until 8 s'

what='a pipe that nobody writes and a link to itself are refused, and what is beside them is told'
made beside 2 8
mkfifo beside/pipe.samples
ln -s loop.samples beside/loop.samples
ends beside 4
cases=$((cases + 1))
grep -q "'beside/pipe.samples': it is not a regular file" ends.err || fail "$(cat ends.err)"
grep -q "cannot read 'beside/loop.samples': " ends.err || fail "$(cat ends.err)"
rm beside/pipe.samples beside/loop.samples
run timeline beside --follow --window 4
cmp ends.out "$tmp/out" || fail 'another answer'

what='what waited for a CPU all along is told, though nothing is known to be usual'
made hogged 1 3 0:0:99:queue:4
run timeline hogged --follow
expect_stdout 'waiting for a CPU that other programs were using: rank 0 lost '

what='a process that was killed, whose number another one has now'
made reused 1 2 "killed=$$"
ends reused

what='a clock that was not set yet'
made unset 1 2 unset
ends unset
made unset 1 2
ends unset
cases=$((cases + 1))
[ "$(grep -c 'no variance' ends.out)" -ge 3 ] && [ "$(wc -l <ends.out)" -le 6 ] || fail "two processes: $(head -n 30 ends.out)"

what='a clock that was set before a process began: windows as if it had not been'
made as_ever 2 4 one 1:1:2:queue:2
ends as_ever
cp ends.out as_ever.out
for set_by in -3600 3600; do
	made "one$set_by" 2 4 one "set=$set_by" 1:1:2:queue:2
	ends "one$set_by"
	cases=$((cases + 1))
	cmp as_ever.out ends.out || fail "set by $set_by: $(cat ends.out)"
done

what='a process whose clock was set while it ran'
made set 1 2 "killed=$$"
touch -d '+1 day' set/*.samples
ends set
cases=$((cases + 1))
[ "$(wc -l <ends.out)" -le 20 ] || fail "$(wc -l <ends.out) windows"

# What follows waits for windows of programs that go on: of all of them at the same time.

# lines FILE N: waits until it has more than so many.
lines() {
	for _ in $(seq 1200); do
		[ "$(wc -l <"$1")" -le "$2" ] || return 0
		sleep .1
	done
	return 1
}
# recorded DIRECTORY [PROGRAM]: begins to record a program there, by the process program_DIRECTORY.
recorded() {
	"$ASSAY" record -o "$1" -- "${2:-./paced}" 0 0 2>/dev/null &
	eval "program_$1=\$!"
}
# begun DIRECTORY: waits until its program has begun; the records are $files.
begun() {
	until files=$(ls "$1"/*.samples 2>/dev/null) && [ -n "$files" ]; do
		sleep .1
	done
}
rm -f stop

what='a clock that is set while it follows'
cat >clock.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	long failed = syscall(SYS_clock_gettime, clock, t), set = 0;
	FILE *f = clock == CLOCK_REALTIME ? fopen(getenv("SET_BY"), "r") : NULL;

	if (f && fscanf(f, "%ld", &set) == 1)
		t->tv_sec += set;
	if (f)
		fclose(f);
	return (int)failed;
}
C
gcc -O1 -shared -fPIC -o clock.so clock.c || fail 'cannot compile'
# at_clock FILE ARGUMENT...: assay, by the clock that the file sets.
at_clock() {
	export SET_BY="$1"
	shift
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$tmp/clock.so" exec "$ASSAY" "$@"
}
echo -3600 >clock_before.set
echo 1800 >clock_ahead.set
clocks='clock_back clock_on clock_before clock_ahead'
for clock in $clocks; do
	recorded $clock
done
for clock in $clocks; do
	begun $clock
	: >$clock.jsonl
	at_clock $clock.set timeline $clock --follow --window 1 --format json >$clock.jsonl 2>$clock.err &
	eval "analysis_$clock=\$!"
done

what='records that vanish while they are followed'
ways='vanishes emptied fifo directory device other shorter'
for way in $ways; do
	recorded $way
done
# Beside them a program whose name is not for a terminal.
name=$(printf 'p\302\2331m\033[31m\377')
cp paced "$name"
recorded named "./$name"
for way in $ways; do
	begun $way
	: >$way.out
	"$ASSAY" timeline $way --follow --window 1 >$way.out 2>$way.err &
	eval "analysis_$way=\$!"
done
for way in $ways; do
	cases=$((cases + 1))
	lines $way.out 1 || fail "nothing is told: $(cat $way.err)"
done
for way in $ways; do
	begun $way
	case $way in
	vanishes) mv vanishes elsewhere ;;
	emptied) rm $files ;;
	fifo) rm "$files" && mkfifo "$files" ;;
	directory) rm "$files" && mkdir "$files" ;;
	device) ln -sf /dev/zero "$files" ;;
	other) cp beside/*-0.samples other.copy 2>/dev/null || cp "$(ls beside/*.samples | head -n 1)" other.copy && mv other.copy "$files" ;;
	shorter) cp "$files" shorter.copy && truncate -s 8192 shorter.copy && mv shorter.copy "$files" ;;
	esac
	eval "files_$way=\$files"
done
# ended WAY STATUS TEXT: its analysis ends by itself while the program runs on, and says why.
ended() {
	eval "analysis=\$analysis_$1"
	for _ in $(seq 1200); do
		kill -0 "$analysis" 2>/dev/null || break
		sleep .1
	done
	cases=$((cases + 1))
	! kill -9 "$analysis" 2>/dev/null || fail "$1: it does not end"
	status=0
	wait "$analysis" || status=$?
	[ "$status" -eq "$2" ] && grep -q "$3" "$1.err" && [ "$(wc -l <"$1.err")" -le 2 ] || fail "$1: status $status: $(cat "$1.err")"
}
ended vanishes 1 "cannot read 'vanishes': No such file"
for way in emptied fifo directory device other shorter; do
	eval "files=\$files_$way"
	case $way in
	emptied) why='it is gone' ;;
	other | shorter) why='it was truncated or replaced' ;;
	*) why='it is not a regular file' ;;
	esac
	ended $way 0 "cannot read '$files': $why"
done

what='a clock that is set while it follows'
for clock in $clocks; do
	cases=$((cases + 1))
	lines $clock.jsonl 1 || fail "nothing is told ($clock): $(cat $clock.err)"
done
echo -3600 >clock_back.set
echo 7200 >clock_on.set
for clock in $clocks; do
	eval "told_$clock=$(wc -l <$clock.jsonl)"
done
for clock in $clocks; do
	eval "told=\$told_$clock analysis=\$analysis_$clock"
	cases=$((cases + 3))
	lines $clock.jsonl $((told + 3)) || fail "nothing is told after that ($clock): $(tail -n 1 $clock.jsonl | cut -c1-100)"
	[ "$(wc -l <$clock.jsonl)" -le $((told + 500)) ] || fail "more windows than time ($clock)"
	tail -n 1 $clock.jsonl | grep -q '"lag_s":-\{0,1\}[0-9]\{1,2\}[.,]' || fail "another lag ($clock): $(tail -n 1 $clock.jsonl | cut -c1-100)"
	kill -0 "$analysis" || fail "it has ended ($clock): $(cat $clock.err)"
done
: >stop
for clock in $clocks; do
	eval "program=\$program_$clock analysis=\$analysis_$clock"
	wait "$program" || fail 'the program ends in order'
	wait "$analysis" || fail "it failed: $(cat $clock.err)"
done
for way in $ways; do
	eval "program=\$program_$way"
	wait "$program" || :
done

what='a record file that is damaged while it is followed does not take the others with it'
made damaged 2 2 "killed=$$"
file=$(ls damaged/*-0.samples | head -n 1)
printf 'xxxxxxxxxxxxxxxx' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") - 5000)) conv=notrunc 2>/dev/null
ends damaged
cases=$((cases + 2))
[ "$(grep -c "$file: the file is damaged" ends.err)" = 1 ] && [ "$(wc -l <ends.err)" = 1 ] || fail "$(cat ends.err)"
grep -q 'no variance; coverage' ends.out || fail "nothing of the other: $(cat ends.out)"

what='names of programs are not obeyed by a terminal'
wait "$program_named" || fail 'it failed'
"$ASSAY" timeline named --follow --window 1 >named.out 2>&1 || fail "$(cat named.out)"
"$ASSAY" timeline named --region 0:0-2 >>named.out 2>&1 || fail "$(cat named.out)"
cases=$((cases + 2))
! LC_ALL=C grep -q "$(printf '\302\233')" named.out && ! grep -q "$(printf '\033')" named.out || fail "$(cat -v named.out)"
"$ASSAY" timeline named --follow --window 1 --format json >named.jsonl || fail 'it failed'
"$ASSAY" timeline named --format json >>named.jsonl || fail 'it failed'
iconv -f UTF-8 -t UTF-8 named.jsonl >/dev/null || fail "not UTF-8: $(cat -v named.jsonl)"

what='wrong words'
run timeline records --follow --region 0:1-2
refused 2 region
run timeline nowhere --follow
refused 2 nowhere

what='where nothing counts the work, the way from one call to another is not taken for the way back'
made back 1 12
"$ASSAY" timeline back --follow --window 4 --format json >back.jsonl || fail 'it failed'
cases=$((cases + 1))
! grep -q '"variance":true' back.jsonl || fail "nothing was slow: $(grep '"variance":true' back.jsonl | cut -c1-300)"

# fragments FILE: of the whole run.
fragments() { sed -n 's/^  "fragments": \([0-9]*\),/\1/p' "$1"; }

what='the last window is said when the program has ended, not before, and has all of it'
rm -f stop
mkdir last
"$ASSAY" record -o last -- ./paced 0 0 2>/dev/null &
program=$!
"$ASSAY" timeline last --follow --window 1000 --format json >last.jsonl 2>last.err &
analysis=$!
until "$ASSAY" timeline last --format json >now.json 2>/dev/null && [ "$(fragments now.json)" -gt 200 ]; do
	sleep .1
done
sleep 1 # it looks twice a second
cases=$((cases + 1))
kill -0 "$analysis" || fail "it has ended: $(cat last.err)"
cases=$((cases + 1))
[ ! -s last.jsonl ] || fail "a window was said while the program ran: $(cut -c1-200 last.jsonl)"
: >stop
wait "$program" || fail 'the program ends in order'
wait "$analysis" || fail "it failed: $(cat last.err)"
"$ASSAY" timeline last --format json >now.json || fail 'it can be shown'
cases=$((cases + 1))
[ "$(grep -c '"running":0,' last.jsonl)" = 1 ] || fail "one window: $(cut -c1-200 last.jsonl)"
cases=$((cases + 1))
[ "$(sed 's/.*"processes":[0-9]*,"fragments":\([0-9]*\),.*/\1/' last.jsonl)" = "$(fragments now.json)" ] ||
	fail "not all of the run: $(cut -c1-200 last.jsonl), $(grep fragments now.json)"

finish
