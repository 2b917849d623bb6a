# What a command stresses on this machine: without a laboratory, and without changing anything. The shape of the answers only: how right
# shares are, which depends on the machine and on what else it does, is measured by `sh tests/run --evidence profile`.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
mkdir "$tmp/here"
cd "$tmp/here" || exit 1

what='a command that waits'
run stat --budget 0.5 --format json -- sleep 0.2
expect_status 0
expect_json_parses
expect_json '.levels[0].how' measured
expect_json '.levels[2].level' time
cases=$((cases + 1))
case $(json .sentence) in "'sleep 0.2' spends "*' % of its time '*) ;; *) fail "the sentence is: $(json .sentence)" ;; esac

what='calls are counted'
run stat --budget 0.1 --format json -- dd if=/dev/zero of=/dev/null bs=7 count=30000
expect_status 0
cases=$((cases + 1))
[ "$(json .counts.read_calls | cut -d. -f1)" -ge 30000 ] || fail "30,000 calls of read() were $(json .counts.read_calls)"
cases=$((cases + 1))
[ "$(json .counts.write_bytes | cut -d. -f1)" -ge 210000 ] || fail "210,000 bytes were $(json .counts.write_bytes)"

what='a process that runs already, and what it starts'
sh -c 'awk "BEGIN { while (1) x++ }" & wait' &
busy=$!
run stat --pid "$busy" --for 1s --format json
expect_status 0
cases=$((cases + 1))
case $(json .sentence) in "'"*"(process $busy)' spends "*' computing'*) ;; *) fail "the sentence is: $(json .sentence)" ;; esac
pkill -P "$busy" awk
wait "$busy"
run stat --pid "$busy"
refused 6 "there is no process '$busy'"
run stat --pid 1x
refused 6 "there is no process '1x'"
run stat --pid 1 -- true
refused 2 'exclude each other'
sleep 0.5 &
run stat --pid "$!" --for 2s
refused 6 "process $! ended while it was watched"

what='where its time went, or why that is not known'
run stat --budget 1 --format json -- dd if=/dev/zero of=/dev/null bs=1M count=3000
expect_status 0
sampled() {
	[ -n "$(json .samples)" ] && [ "$(json .samples)" != null ] && [ "$(json .samples)" -gt 10 ]
}
cases=$((cases + 1))
! sampled || [ "$(json '.levels[3].level')" = category ] || fail "no category is below the levels of time: $(json .levels)"

# at NAME: the share of a row for human readers, in percent; 0 if there is no such row.
at() {
	sed -n "s/^ *$1  *\([0-9.]*\)  .*/\1/p
\$s/.*/0/p" "$tmp/out" | head -n 1
}

what='the names of the kernel that are kept until the next start of the machine'
kept=/dev/shm/assay-$(id -u).kernel
# poisoned MODE: they say that everything is a call of mmap(), under that mode
poisoned() {
	rm -f "$kept.new"
	/usr/bin/python3 - "$kept" <<'END'
import sys
data = open(sys.argv[1], "rb").read()
head, entries = data[:-(len(data) - 296)], [data[i:i + 64] for i in range(296, len(data), 64)]
assert len(entries) > 100 and len(entries[-1]) == 64
open(sys.argv[1] + ".new", "wb").write(head + b"".join(e[:16] + b"mmap".ljust(48, b"\0") for e in entries))
END
	chmod "$1" "$kept.new"
	mv "$kept.new" "$kept"
}
# copied WHAT: the kernel's work is with files, and not with mapping memory.
copied() {
	run stat --budget 0.5 -- dd if=/dev/zero of=/dev/null bs=64k count=300000
	expect_status 0
	cases=$((cases + 1))
	awk -v data="$(at 'file data')" -v mapping="$(at 'mapping memory')" 'BEGIN { exit !(data > mapping) }' || fail "$1: $(cat "$tmp/out")"
}
if sampled && [ -f "$kept" ] && command -v /usr/bin/python3 >/dev/null; then
	cases=$((cases + 1))
	[ "$(stat -c %a "$kept")" = 600 ] || fail "others can read them: $(stat -c %A "$kept")"
	poisoned 644
	copied 'what others could have written is not believed'
	poisoned 600
	run stat --budget 0.5 -- dd if=/dev/zero of=/dev/null bs=64k count=300000
	cases=$((cases + 1))
	awk -v data="$(at 'file data')" -v mapping="$(at 'mapping memory')" 'BEGIN { exit !(mapping > data) }' || fail "they are not kept: $(cat "$tmp/out")"
	printf x | dd of="$kept" bs=1 seek=3 conv=notrunc 2>/dev/null
	copied 'those of another start are not believed'
	head -c 3000 "$kept" >"$kept.new" && chmod 600 "$kept.new" && mv "$kept.new" "$kept"
	copied 'half of them are not believed'
	rm -f "$kept"
	ln -s "$tmp/elsewhere" "$kept"
	copied 'a link is not followed'
	cases=$((cases + 1))
	[ ! -e "$tmp/elsewhere" ] || fail 'a link was followed'
fi

# named NAME: a row of that name is there.
named() {
	cases=$((cases + 1))
	grep -q "^ *$1  *[0-9.]*  " "$tmp/out" || fail "no row '$1': $(cat "$tmp/out")"
}

what='functions, as far as they can be named'
if sampled && command -v gcc >/dev/null && command -v strip >/dev/null; then
	cat >"$tmp/work.c" <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <time.h>
		#include <unistd.h>
		static volatile unsigned sink;
		static int done(double seconds) { return (double)clock() / CLOCKS_PER_SEC >= seconds; }
		__attribute__((noinline)) void turn_in_circles(void) { for (unsigned i = 0; i < 1000000; i++) sink += i; }
		int main(int argc, char **argv)
		{
			char kind = argc > 1 ? *argv[1] : 0;
			static char text[1 << 20];
			/* mov $1000000, %ecx; dec %ecx; jne; ret */
			static const unsigned char code[] = { 0xb9, 0x40, 0x42, 0x0f, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
			void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			void (*generated)(void);
			memset(text, 'a', sizeof(text) - 1);
			memcpy(page, code, sizeof(code));
			memcpy(&generated, &page, sizeof(generated));
			while (!done(.4)) {
				if (kind == 'o') turn_in_circles();
				if (kind == 'm') for (int i = 0; i < 100; i++) { sink += strlen(text); sink += memchr(text, 'b', sizeof(text)) != NULL; }
				if (kind == 'j') generated();
			}
			return 0;
		}
	END
	gcc -O1 -o "$tmp/work" "$tmp/work.c" && strip -o "$tmp/bare" "$tmp/work" || exit 1
	run stat --budget 1 -- "$tmp/work" own
	named 'own code of work'
	named turn_in_circles
	run stat --budget 1 -- "$tmp/bare" own
	named 'own code of bare'
	named 'bare+0x[0-9a-f]*'
	run stat --budget 1 -- "$tmp/work" memory
	named 'string functions'
	run stat --budget 1 -- "$tmp/work" jit
	named 'generated code'
	cases=$((cases + 1))
	grep -q '^Functions are indicative: for .* the function is not known' "$tmp/out" || fail 'generated code has functions'
	run stat --budget 1 -- sh -c 'cp "$0" "$0.new"; "$0.new" own; rm "$0.new"' "$tmp/work"
	named 'work.new'
	cases=$((cases + 1))
	! grep -q turn_in_circles "$tmp/out" || fail 'a file that is gone has functions'
fi

what='a command of several programs'
run stat --budget 1 --format json -- sh -c 'dd if=/dev/zero bs=64k count=20000 | cat >/dev/null; i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
expect_status 0
if sampled; then
	cases=$((cases + 1))
	names=" $(json '.programs[0].name') $(json '.programs[1].name') $(json '.programs[2].name') "
	for program in dd cat sh; do case $names in *" $program "*) ;; *) fail "the programs are$names, without $program" ;; esac done
fi
run stat --budget 0.5 --format json -- dd if=/dev/zero of=/dev/null bs=1M count=2000
expect_json .programs 0

what='tiers that are the same program'
ln -s "$(command -v dd)" "$tmp/front" && ln -s "$(command -v dd)" "$tmp/store"
run stat --budget 1 --format json -- sh -c '"$1/front" if=/dev/zero bs=64k count=20000 | "$1/store" of=/dev/null bs=64k' sh "$tmp"
expect_status 0
if sampled; then
	cases=$((cases + 1))
	names=" $(json '.programs[0].name') $(json '.programs[1].name') "
	for tier in front store; do case $names in *" $tier "*) ;; *) fail "the programs are$names, without $tier" ;; esac done
fi

what='ranks of a parallel program'
cat >"$tmp/ranks" <<'END'
#!/bin/sh
OMPI_COMM_WORLD_RANK=0 dd if=/dev/zero of=/dev/null bs=64k count=100000 2>/dev/null &
OMPI_COMM_WORLD_RANK=1 sh -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done' &
wait
END
chmod 755 "$tmp/ranks"
cp "$tmp/ranks" "$tmp/mpirun"
run stat --budget 1 --format json -- "$tmp/mpirun"
expect_status 0
if sampled; then
	cases=$((cases + 3))
	for i in 0 1; do
		case $(json ".programs[$i].name") in
		'rank 0' | 'rank 1') ;;
		*) fail "one of the first two is $(json ".programs[$i].name")" ;;
		esac
	done
	run stat --budget 1 -- "$tmp/mpirun"
	grep -q '^It is [23] \(ranks\|programs and ranks\), each with its own profile:' "$tmp/out" || fail "not said: $(grep 'It is' "$tmp/out")"
fi
run stat --budget 1 --format json -- "$tmp/ranks" # nobody has launched them as ranks
cases=$((cases + 1))
! grep -q '"rank ' "$tmp/out" || fail 'what no launcher has started is called a rank'
if sampled && command -v mpirun >/dev/null; then
	run stat --budget 1 --format json -- mpirun --allow-run-as-root --oversubscribe -n 2 sh -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done'
	expect_status 0
	cases=$((cases + 1))
	grep -q '"rank 0"' "$tmp/out" && grep -q '"rank 1"' "$tmp/out" || fail "no ranks: $(json '.programs[0].name') $(json '.programs[1].name')"
fi

what='a budget with a unit'
run stat --budget 0.2s -- true
expect_status 0
run stat --budget 0.005m -- true
expect_status 0
run stat --budget 5x -- true
refused 2 budget 20m 'at most a year'

what='a file whose name has lines'
mkdir "$tmp/names"
cp "$(command -v dd)" "$tmp/names/$(printf 'a\n7 nowhere b')"
run stat --budget 0.1 -- "$tmp/names/$(printf 'a\n7 nowhere b')" if=/dev/zero of=/dev/null bs=16 count=200000
expect_status 0

what='what is left is ended, and told'
run stat --budget 0.1 -- sh -c 'setsid sleep 1000 & exit 0'
expect_status 0
cases=$((cases + 1))
grep -qE 'still running at its end, and were stopped: [1-9][0-9]* process(es)?$' "$tmp/out" || fail 'nothing is said of the process that was left'

what='a command that prints a lot'
run stat --budget 0.1 -- head -c 300000000 /dev/zero
expect_status 0

what='lines are no longer than a terminal'
cases=$((cases + 1))
[ "$(grep -E '^ *[a-z].* +[0-9.]+ +(-|[0-9.]+ to [0-9.]+) ' "$tmp/out" | LC_ALL=C.UTF-8 wc -L)" -le 80 ] || fail "long lines: $(cat "$tmp/out")"

what='standard input: each run reads all of it'
# given COMMAND...: as run, with our standard input
given() {
	"$ASSAY" "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	shown "$@"
}
seq 1000 >"$tmp/numbers"
reads='i=0; while read -r n && [ "$n" = $((i + 1)) ]; do i=$n; done; echo "line $i" >&2; [ $i = "$0" ]'
for budget in 0.3 3 30; do # until there is time for a second run
	given stat --budget $budget --format json -- sh -c "$reads" 1000 <"$tmp/numbers"
	expect_status 0
	[ "$(json .runs)" = 1 ] || break
done
cases=$((cases + 1))
[ "$(json .runs)" -gt 1 ] || fail "one run: $(cat "$tmp/out")"
seq 1000 | "$ASSAY" stat --budget 0.3 -- sh -c "$reads" 1000 >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 0
{
	read -r n
	given stat --budget 0.1 -- sh -c "$reads" 1000
} <"$tmp/numbers"
refused 6 'line 0' # what is left begins with the second one
given stat --budget 0.1 -- sh -c 'cat >&2; ! read -r n' <&-
expect_status 0
given stat --budget 0.1 -- cat <"$tmp"
refused 1 'standard input' 'directory'

what='words of the command are its own'
run stat --budget 0.1 -- sh -c 'test "$1" = --help' sh --help
expect_status 0

what='what is shown of a command is harmless'
run stat --budget 0.1 -- sh -c "$(printf ': \033[31m\n')"
expect_status 0
cases=$((cases + 1))
! grep -q "$(printf '\033')\[31m" "$tmp/out" || fail 'an escape sequence of the command reached the terminal'

what='a command that fails'
run stat --budget 5 -- sh -c 'echo no such table >&2; exit 3'
refused 6 'exit status 3' 'no such table' '--ignore-failure'
run stat --budget 0.1 --ignore-failure -- sh -c 'exit 3'
expect_status 0
expect_stdout 'runs ended with a status other than 0'
run stat --budget 0.1 --ignore-failure -- sh -c 'kill -9 $$'
refused 6 SIGKILL
run stat -- "$tmp/nonesuch"
refused 6 'No such file'

what='wrong usage'
run stat gzip -c words
refused 2 "'-c'" 'after --'
run stat
refused 2 'COMMAND'
run profile app@1 app@2
refused 2 "'app@2'" 'expected APP'
run stat --budget 0 -- true
refused 2 'budget'

what='nothing stays'
cases=$((cases + 1))
[ -z "$(ls -A)" ] || fail "files are left: $(ls -A)"
finish
