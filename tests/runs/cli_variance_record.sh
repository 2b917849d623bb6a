# assay record: calls of a program and of those that it starts, its output and how it ended.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

fail()
{
	echo "$*" >&2
	exit 1
}

"${ASSAY:?}" record -o records -- sh -c 'sleep .05; echo said' >out 2>told || fail "$(cat told)"
[ "$(cat out)" = said ] || fail 'the output of the program expected'
[ "$(ls records/*.samples | wc -l)" -ge 1 ] || fail 'records expected'
grep -q "records\? of about [1-9][0-9]* calls at [1-9][0-9]* call sites\? in 'records'" told || fail "$(cat told)"
cases=$((cases + 1))
grep -q "next: 'assay timeline records'" told || fail "$(cat told)"

# A shell that waits for its child does not compute.
"$ASSAY" timeline records --format json >shown
grep -q '"place": *"wait' shown || fail "a call that waits for a child expected: $(cat shown)"

# Whom a process talks to: a pipe has one name in both of its processes, a connection its two addresses.
gcc -O1 -o ends "${ASSAY_SOURCE:?}/tests/apps/special/ends.c"
"$ASSAY" record -o ends.records -- ./ends 2>told || fail "$(cat told)"
for file in ends.records/*.samples; do
	pid=$(basename "$file" | sed 's/-.*//')
	grep -a "^i[0-9a-f]* end:[0-9]* $pid " "$file" | sed "s/.* $pid //" | sort >>ends.told
done
[ "$(grep -c '^pipe ' ends.told)" -eq 2 ] && [ "$(grep '^pipe ' ends.told | sort -u | wc -l)" -eq 1 ] || fail "$(cat ends.told)"
[ "$(sed -n 's/^inet //p' ends.told | tr ' ' '\n' | sort | uniq -c | grep -c '^ *2 127\.0\.0\.1:[0-9]*$')" -eq 2 ] || fail "$(cat ends.told)"
cases=$((cases + 1))

# A call in a library, and one in a program without symbols, are in files that have names.
printf '#include <unistd.h>\nvoid said(void) { (void)!write(1, "x", 1); }\n' | gcc -O1 -shared -fPIC -x c -o libsaid.so -
printf '#include <unistd.h>\nvoid said(void);\nint main(void) { for (int i = 0; i < 300; i++) said(), (void)!write(1, "yyyyyyyyyyyyyyyy", 1 + (i & 1) * 15); }\n' | gcc -O1 -s -x c -o bare - -x none ./libsaid.so
"$ASSAY" record -o places -- ./bare >/dev/null 2>told || fail "$(cat told)"
"$ASSAY" timeline places >shown
grep -q 'write in said+[0-9a-f]* of libsaid.so' shown && grep -q '^write at [0-9a-f]* in bare  .* 16 ' shown || fail "$(cat shown)"
printf '#include <unistd.h>\nnamespace n { struct s { void said(int, void (*)(int)) const { (void)!write(1, "z", 1); } }; }\nint main() { for (int i = 0; i < 300; i++) n::s().said(i, nullptr); }\n' |
	g++ -O0 -x c++ -o plus -
"$ASSAY" record -o plus.records -- ./plus >/dev/null 2>told || fail "$(cat told)"
"$ASSAY" timeline plus.records >shown
grep -q 'write in n::s::said(int, void (\*)(int)) const+[0-9a-f]* of plus' shown || fail "$(cat shown)"
printf '#include <unistd.h>\nint main(void) { for (int i = 0; i < 300; i++) (void)!write(1, "y", 1); }\n' | gcc -O1 -s -Wl,--build-id=none -x c -o unmarked -
"$ASSAY" record -o unmarked.records -- ./unmarked >/dev/null 2>told || fail "$(cat told)"
"$ASSAY" timeline unmarked.records >shown
grep -q 'write at [0-9a-f]* in unmarked ' shown || fail "$(cat shown)"
ln -s bare called # is called otherwise than its file
"$ASSAY" record -o called.records -- ./called >/dev/null 2>told || fail "$(cat told)"
"$ASSAY" timeline called.records >shown
grep -q '(called)' shown && grep -q 'write at [0-9a-f]* in bare' shown || fail "$(cat shown)"
rm libsaid.so
"$ASSAY" timeline places >shown
grep -q 'write at [0-9a-f]* in libsaid.so' shown || fail "$(cat shown)"
cases=$((cases + 1))

status=0
"$ASSAY" record -o failed -- sh -c 'sleep .01; exit 3' 2>told || status=$?
[ "$status" -eq 1 ] || fail "status $status of a program that failed"
grep -q 'ended with status 3' told || fail "$(cat told)"
grep -q 'records\? of about' told || fail 'what it did until then is kept'

# The same place in many processes is one call site.
"$ASSAY" record -o same -- sh -c 'sleep .01; sleep .01; sleep .01' 2>told || fail "$(cat told)"
"$ASSAY" timeline same | grep -q "record it 5 times (.assay record -o run1 -- " || fail "timeline does not say how runs are recorded"
once=$(sed -n "s/.* calls at \([0-9]*\) call site.*/\1/p" told)
"$ASSAY" record -o again -- sh -c 'sleep .01; sleep .01; sleep .01; sleep .01; sleep .01; sleep .01' 2>told || fail "$(cat told)"
[ "$(sed -n "s/.* calls at \([0-9]*\) call site.*/\1/p" told)" -le $((once + 1)) ] || fail "$once sites, then: $(cat told)"

# Their files in one directory are not taken for one run.
mkdir mixed
cp same/*.samples again/*.samples mixed
status=0
"$ASSAY" timeline mixed 2>told || status=$?
[ "$status" -eq 2 ] || fail "status $status of two runs in one directory"
grep -q 'belongs to another run than the files before it' told || fail "$(cat told)"

# Call sites beyond what there is room for, in a thread and in the process: what is not recorded is said with its reason.
for sites in 1400 1800; do
	{
		echo '#include <unistd.h>'
		echo 'int main(void) { int bad = 0;'
		yes 'bad += write(1, "", 0) != 0;' | head -n "$sites"
		echo 'return bad != 0; }'
	} >sites.c
	gcc -o sites.$sites sites.c
	"$ASSAY" record -o records.$sites -- ./sites.$sites 2>told || fail "$(cat told)"
	"$ASSAY" timeline records.$sites >shown || fail "$(cat shown)"
done
"$ASSAY" timeline records.1400 | grep 'could not be recorded' && fail 'room for 1,400 call sites expected'
grep -q ' calls of process .* could not be recorded (more call sites than there is room for)' shown || fail "$(cat shown)"

# One directory is one run: a second one would be taken for other processes of it.
status=0
ls records >before
"$ASSAY" record -o records -- sleep .01 2>told || status=$?
[ "$status" -eq 2 ] || fail "status $status with the records of another run"
grep -q "'records' already has the records of a run" told || fail "$(cat told)"
ls records | cmp - before || fail 'the program was run'

# Why nothing was recorded is said of a program that fails, too.
if printf 'int main(void) { return 7; }\n' | gcc -static -x c -o static - 2>/dev/null; then
	status=0
	"$ASSAY" record -o nothing -- ./static 2>told || status=$?
	[ "$status" -eq 1 ] || fail "status $status of a static program that failed"
	grep -q 'is linked statically' told && grep -q 'ended with status 7' told || fail "$(cat told)"
fi

# Some kernels run no 32-bit programs.
if printf 'int main(void) { return 0; }\n' | gcc -m32 -nostdlib -Wl,-e,main -x c -o narrow - 2>/dev/null; then
	status=0
	"$ASSAY" record -o nothing -- ./narrow 2>told || status=$?
	grep -q 'is a 32-bit program\|Exec format error' told || fail "status $status: $(cat told)"
fi

# A program that becomes a daemon goes on.
printf '#include <unistd.h>\nint main(void) { if (daemon(1, 0)) return 1; sleep(2); return write(1, "x", 1) != 1; }\n' | gcc -x c -o away -
status=0
"$ASSAY" record -o away.records -- ./away 2>told || status=$?
[ "$status" -eq 6 ] && grep -q 'no call was recorded yet: the program still runs in the background' told || fail "status $status: $(cat told)"
"$ASSAY" record -o background -- sh -c 'sleep 1 >out 2>&1 & sleep .01' 2>told || fail "$(cat told)"
grep -q "1 process of it is still running in the background" told || fail "$(cat told)"
cases=$((cases + 1))

# What cannot begin is said at once, and nothing else.
# refused STATUS TEXT ARGUMENT...: assay record with these.
refused()
{
	expected=$1 text=$2 status=0
	shift 2
	"$ASSAY" record "$@" 2>told || status=$?
	[ "$status" -eq "$expected" ] || fail "status $status of $*"
	grep -q "$text" told && [ "$(wc -l <told)" -eq 1 ] || fail "$*: $(cat told)"
}
refused 2 "there is no program './nosuch'" -o begun -- ./nosuch
refused 2 "there is no program 'nosuch' in PATH" -o begun -- nosuch
[ ! -e begun ] || fail 'a directory for the records of no program'
printf '#!/no/such/shell\n' >script
refused 1 "cannot run './script': Permission denied" -o begun -- ./script
chmod +x script
refused 1 "cannot run './script': No such file" -o begun -- ./script
refused 1 "nothing can be written in '/proc'" -o /proc -- touch ran
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 .
	mkdir own
	status=0
	setpriv --reuid 65534 --clear-groups "$ASSAY" record -o own -- touch "$directory/ran" 2>told || status=$?
	[ "$status" -eq 1 ] && grep -q "nothing can be written in 'own': Permission denied" told && [ "$(wc -l <told)" -eq 1 ] ||
		fail "status $status: $(cat told)"
fi
[ ! -e ran ] || fail 'the program was run without records'

status=0
"$ASSAY" record -o missing/records -- true 2>told || status=$?
[ "$status" -eq 1 ] || fail "status $status without the directory's parent"

# A function that nobody called, by that name, is said.
"$ASSAY" record --call nosuchfunction -o named -- sleep .01 2>told || fail "$(cat told)"
grep -q "'nosuchfunction' was never recorded" told || fail "$(cat told)"

# What ends the recorder ends the program, and the recorder after it, by the same signal; the records are there.
for signal in 15 1; do
	status=0
	"$ASSAY" record -o "ended$signal" -- sh -c 'echo $$ >pid; sleep .01; exec sleep 60' 2>told &
	recorder=$!
	until [ -s pid ] && grep -q '^sleep$' "/proc/$(cat pid)/comm"; do sleep .02; done
	kill -$signal $recorder
	wait $recorder || status=$?
	[ "$status" -eq $((128 + signal)) ] || fail "status $status after signal $signal"
	! kill -0 "$(cat pid)" 2>/dev/null || fail "the program goes on after signal $signal"
	grep -q 'records\? of about' told || fail "$(cat told)"
	rm pid
done

# A limit of the address space leaves the program its part.
"$ASSAY" record -o limited -- sh -c 'ulimit -v 400000; exec sh -c "grep VmSize /proc/\$\$/status; sleep .01"' >out 2>told || fail "$(cat told)"
[ "$(tr -dc 0-9 <out)" -lt 100000 ] || fail "$(cat out)"
# Also where the program sets it itself, and goes on.
"$ASSAY" record -o limited_later -- sh -c 'ulimit -v 200000; grep VmSize /proc/$$/status; seq 30000 >/dev/null; echo end >/dev/null' >out 2>told || fail "$(cat told)"
[ "$(tr -dc 0-9 <out)" -lt 100000 ] || fail "$(cat out)"

# A directory that is removed meanwhile has no records.
status=0
"$ASSAY" record -o removed -- rm -r removed 2>told || status=$?
[ "$status" -eq 6 ] || fail "status $status where the directory was removed"
grep -q 'their directory was removed or moved during the run' told || fail "$(cat told)"
"$ASSAY" record -o removed -- sh -c 'rm -r removed; mkdir removed; ls -d /' >/dev/null 2>told || fail "$(cat told)"
grep -q 'the directory was removed or moved during the run, with all earlier records' told || fail "$(cat told)"

# Processes are looked at from outside whatever the clock says, which may be set back meanwhile.
if command -v gcc >/dev/null; then
	cat >ahead.c <<'END'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* An hour ahead, but for who waits until then. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	int failed = (int)syscall(SYS_clock_gettime, clock, t);

	t->tv_sec += clock == CLOCK_REALTIME ? 3600 : 0;
	return failed;
}
END
	gcc -O1 -shared -fPIC -o ahead.so ahead.c
	LD_PRELOAD="$PWD/ahead.so" ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" "$ASSAY" record -o ahead -- \
		sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep .05; done' 2>told || fail "$(cat told)"
	"$ASSAY" inspect "$(find ahead -name '*.samples' | sort -V | head -n 1)" --format json >out || fail 'no samples'
	grep -q '"stopped_ns": *[0-9]' out || fail 'nobody looked'
fi

# Processes that left no records are counted.
"$ASSAY" record -o without -- sh -c '(env -u LD_PRELOAD sleep .05); sleep .01' 2>told || fail "$(cat told)"
grep -q '1 process, forked or having executed another program, left no records' told || fail "$(cat told)"
"$ASSAY" record -o without_too -- sh -c 'sleep .01; exec env -u LD_PRELOAD sleep .05' 2>told || fail "$(cat told)"
grep -q '1 process, forked or having executed another program, left no records' told || fail "$(cat told)"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 .
	"$ASSAY" record -o other_user -- setpriv --reuid 65534 --clear-groups sleep .01 2>told || fail "$(cat told)"
	grep -q "as another user, who may not write into 'other_user' ('mkdir -m 1777" told || fail "$(cat told)"
	mkdir -m 1777 for_all
	"$ASSAY" record -o for_all -- setpriv --reuid 65534 --clear-groups sleep .01 2>told || fail "$(cat told)"
	! grep -q 'left no records' told || fail "$(cat told)"
fi
if [ "$(id -u)" -eq 0 ] && cp "$(command -v sleep)" set && chown 65534 set && chmod 4755 set; then
	status=0
	"$ASSAY" record -o set_user -- ./set .01 2>told || status=$?
	[ "$status" -eq 6 ] || fail "status $status of a set-user-ID program"
	grep -q 'set-user-ID' told || fail "$(cat told)"
fi

# Programs of many kinds print the same as without it, on both streams, and end with the same status; and something of each is recorded.
# same STATUS PROGRAM...: with ./numbers as its input.
same()
{
	expected=$1
	shift
	command -v "$1" >/dev/null || return 0
	plain=0
	"$@" <numbers >plain.out 2>plain.err || plain=$?
	[ "$plain" -eq "$expected" ] || fail "status $plain of $* alone"
	rm -rf family
	# shellcheck disable=SC2016 # the inner shell's words
	"$ASSAY" record -o family -- sh -c '"$@" 2>family.err; echo $? >family.status' sh "$@" <numbers >family.out 2>told || fail "$(cat told)"
	[ "$(cat family.status)" -eq "$expected" ] || fail "status $(cat family.status) of $*"
	cmp plain.out family.out && cmp plain.err family.err || fail "another output of $*"
	grep -q 'records\? of about [1-9][0-9]* calls' told || fail "$*: $(cat told)"
}
seq 20000 >numbers
same 0 ls -l "$ASSAY_SOURCE/docs"
same 0 sort -rn numbers
same 0 wc numbers
same 0 md5sum numbers
same 0 cut -c1-3
same 1 grep -c nothing
same 0 awk '{ s += $1; print s >"/dev/stderr" } END { fflush(); print "x" | "cat" }'
same 3 perl -e 'while (<STDIN>) { $s += $_ } print "$s\n"; print `echo said`; exit 3'
same 4 python3 -c 'import subprocess, sys
print(sum(int(x) for x in sys.stdin), subprocess.check_output(["echo", "said"]))
sys.stderr.write("told"); sys.exit(4)'
same 0 python3 -c 'import multiprocessing
with multiprocessing.Pool(2) as p: print(sum(p.map(abs, range(1000))))'
same 0 sqlite3 :memory: 'CREATE TABLE t(a); INSERT INTO t VALUES (1), (2); SELECT sum(a) FROM t;'
same 5 sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done; echo said | cat; exec sh -c "exit 5"'
same 7 bash -c 'trap "echo trapped" EXIT; cat <(echo one) <(echo two); exit 7'
same 0 xz -c

# A program that would be killed for any other system call than its own.
if command -v gcc >/dev/null; then
	gcc -O2 "$ASSAY_SOURCE/tests/interposed/restricted.c" -o restricted
	same 4 ./restricted
	for end in _exit exit return; do
		same 4 ./restricted $end
	done
	# Nor does one that is executed where the recorder's own calls are forbidden; where everything has the filter, it is recorded.
	gcc -O2 "$ASSAY_SOURCE/tests/interposed/sandbox.c" -o sandbox
	same 0 ./sandbox strict cat
	grep -q 'restricted its system calls (seccomp' told || fail "$(cat told)"
	./sandbox lax "$ASSAY" record -o filtered -- cat numbers >/dev/null 2>told || fail "$(cat told)"
	grep -q 'from 1 process$' told || fail "$(cat told)"
fi

# Nor is one killed that does so by an instruction of its own, which no wrapper sees: nothing of it is recorded, and that is said.
if command -v gcc >/dev/null && [ "$(uname -m)" = x86_64 ]; then
	for flags in -O0 -O2 '-O2 -DWRAPPER'; do
		# shellcheck disable=SC2086 # several words
		gcc $flags "$ASSAY_SOURCE/tests/interposed/own.c" -o sandboxed -pthread
		for how in seccomp prctl tsync thread child; do
			same 4 ./sandboxed $how
			grep -q 'their own system call instructions' told || fail "$(cat told)"
		done
	done
	rm -rf family
	status=0
	"$ASSAY" record -o family -- ./sandboxed prctl >out 2>told || status=$? # as the program, which ends with 4
	[ $status -eq 1 ] && grep -q survived out && grep -q 'no call was recorded: .* by its own system call instructions' told || fail "$status, $(cat out told)"
fi

# Small stacks, threads without storage of their own, locked memory, the address sanitizer.
if command -v gcc >/dev/null; then
	gcc -O1 -D_GNU_SOURCE "$ASSAY_SOURCE/tests/interposed/edges.c" -o edges
	for i in 1 2 3; do
		same 0 ./edges coroutines
		same 0 ./edges bare
		"$ASSAY" timeline family >shown 2>&1 || fail "$(cat shown)"
	done
	same 0 ./edges locked
	if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
		mkdir -m 1777 locked
		chmod 755 .
		(
			ulimit -l 8192
			setpriv --reuid=65534 --regid=65534 --clear-groups "$ASSAY" record -o locked/in -- ./edges locked >out 2>told
		) || fail "$(cat out told)"
	fi
	echo 'int puts(const char *); int main(void) { return puts("well") < 0; }' >checked.c
	if gcc -fsanitize=address checked.c -o checked 2>/dev/null; then
		same 0 ./checked
	fi
fi

# A limit of file size ends it.
same 153 sh -c 'ulimit -c 0; ulimit -f 1; head -c 9999 /dev/zero >large'

# Where nothing is recorded any more, or nothing ever was, calls are jumps to what is behind the library: it returns to the program itself.
if command -v gcc >/dev/null; then
	cat >behind.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int fdatasync(int fd)
{
	Dl_info from;

	(void)fd;
	fputs(dladdr(__builtin_return_address(0), &from) && strstr(from.dli_fname, "interpose") ? "library\n" : "program\n", stdout);
	return 0;
}
END
	cat >jumps.c <<'END'
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int sum = 0;

	(void)argv;
	for (int i = 0; i < 4; i++) {
		if (argc > 1 && i == 2)
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		sum += fdatasync(-1);
	}
	return sum;
}
END
	gcc -O1 -shared -fPIC -o behind.so behind.c && gcc -O1 -o jumps jumps.c
	LD_PRELOAD="$ASSAY_INTERPOSE:$PWD/behind.so" ./jumps >out
	[ "$(tr '\n' ' ' <out)" = 'library program program program ' ] || fail "calls without records come from: $(cat out)"
	# shellcheck disable=SC2016 # the inner shell's words
	"$ASSAY" record -o jumps.records --overhead 0 -- sh -c 'LD_PRELOAD=$LD_PRELOAD:$PWD/behind.so exec ./jumps stop' >out 2>told || fail "$(cat told)"
	[ "$(tr '\n' ' ' <out)" = 'library library program program ' ] || fail "calls after the end of recording come from: $(cat out)"
fi

# Marks are there when it is recorded, and the computation before marks of one number is a place of its own; at fixed addresses, too.
if command -v gcc >/dev/null; then
	for how in -pie -no-pie; do
		gcc -O2 "$how" "$ASSAY_SOURCE/tests/interposed/marks.c" -o marks
		same 0 ./marks
		"$ASSAY" timeline family --format json | tr -d ' \n' >shown
		places=$(grep -Eo '"place":"mark(at|in)[^"]*->mark(at|in)[^"]*","fragments":(199|200),' shown | wc -l)
		[ "$places" = 2 ] || fail "computation of two kinds between marks has $places places ($how): $(cat shown)"
	done
fi

# With paths a place is as many vertices as there are ways to it, and the computation before it is told apart.
# places OPTION...: of how many kinds is computation before a write.
places()
{
	rm -rf family
	status=0
	"$ASSAY" record -o family --overhead 0 "$@" -- ./paths 2>told || status=$?
	grep -q 'ended with status 3' told || fail "$*: status $status, $(cat told)"
	"$ASSAY" timeline family --format json | tr -d ' \n' >shown
	grep -Eo '"place":"write(at|in)[^"]*->write(at|in)[^"]*"' shown | wc -l
}
if command -v gcc >/dev/null; then
	gcc -O2 "$ASSAY_SOURCE/tests/interposed/paths.c" -o paths
	[ "$(places)" = 1 ] || fail "one place has $(places) kinds: $(cat shown)"
	[ "$(places --context-aware)" = 2 ] || fail "two ways to a place have $(places --context-aware) kinds: $(cat shown)"
	grep -q '"place":"writein[^"]*<[0-9a-f]*<[0-9a-f]*' shown || fail "no path: $(cat shown)"
fi

# Many children do not take much of the disk.
"$ASSAY" record -o many -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do (sleep .01; exit 0); done' 2>told || fail "$(cat told)"
files=$(ls many/*.samples | wc -l)
[ "$(du -sk many | cut -f1)" -le $((32 * files)) ] || fail "$(du -sk many) for $files files"

# Nor do a thousand come to harm, each with a file of its own.
same 0 perl -e 'pipe(R, W); for (1 .. 1000) { if (!fork) { syswrite W, "x"; exit 0 } wait if $_ > 50 } close W;
while (sysread R, $b, 4096) { $n += length $b } 1 while wait > 0; print "$n\n"'
files=$(ls family/*.samples | wc -l)
[ "$(cat family.out)" = 1000 ] && [ "$files" -ge 1001 ] || fail "$(cat family.out) of 1000 children ended well, with $files files"
"$ASSAY" timeline family --format json | grep -q '"processes"' || fail 'no answer about a thousand children'
rm -rf family
