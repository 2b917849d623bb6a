# assay variance record --progressive: a process takes coarse counters until an analysis that follows the run asks for finer ones, level by
# level, and goes back when it is not slow any more. The program, and what disturbs it, run until what is waited for has been seen.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
command -v taskset >/dev/null || skip 'there is no taskset'
gcc -O2 -o "$tmp/paced" "$ASSAY_SOURCE/tests/interposed/paced.c" || fail 'cannot compile'
cd "$tmp"

program=
hogs=
tidy() {
	[ -z "$hogs" ] || kill $hogs 2>/dev/null
	: >stop
	[ -z "$program" ] || wait "$program" # before its directory goes, and the file with it
}

# until_there PATTERN: in what the analysis says.
until_there() {
	until_tries=0
	until grep -q "$1" told.jsonl; do
		until_tries=$((until_tries + 1))
		[ "$until_tries" -lt 900 ] && kill -0 "$program" && kill -0 "$analysis" || { fail "nothing like $1: $(cut -c1-3000 told.jsonl)"; exit 1; }
		sleep .1
	done
}

what='who waits for a processor is told in the first window, for whom in the one after the next'
mkdir records
: >told.jsonl
processor=$(taskset -pc $$ | sed 's/.*: *//;s/[-,].*//')
taskset -c "$processor" "$ASSAY" variance record --progressive -o records -- timeout 200 ./paced compute >/dev/null 2>&1 &
program=$!
"$ASSAY" variance show records --follow --window 2 --format json >told.jsonl 2>told.err &
analysis=$!
until_there '^{"from_s":1,.*"fragments":[1-9]'
for i in 1 2 3; do
	taskset -c "$processor" timeout 100 sh -c 'while :; do :; done' & # however this script ends
	hogs="$hogs $!"
done
until_there '"cause":"run_queue"'
kill $hogs
hogs=
cases=$((cases + 1))
# What other programs do to the processor may be told before.
grep '"parts":\[{"cause"' told.jsonl | head -n 1 | grep -q '"parts":\[{"cause":"\(waiting\|on_processor\)".*"asked":\[.*(paced)","level":2}' ||
	fail "the first window of those: $(grep '"cause"' told.jsonl | head -n 1)"
cases=$((cases + 1))
grep -q '"cause":"run_queue"' told.jsonl || fail 'never refined'

what='for an analysis that finds nothing slow it goes back, whatever the machine is doing'
kill -9 "$analysis"
wait "$analysis" 2>/dev/null || :
for file in records/*; do # it may have gone back by itself meanwhile
	printf '\003' | dd of="$file" bs=1 seek=104 conv=notrunc 2>/dev/null # the header's level (runs/inside/record/record.h)
done
"$ASSAY" variance show records --follow --window 2 --min-loss 1000000 --format json >told.jsonl 2>told.err &
analysis=$!
until_there '"asked":\[.*(paced)","level":1}'
: >stop
wait "$program" || fail 'the program ends in order'
program=
wait "$analysis" || fail "it failed: $(cat told.err)"

what='a program that was not begun so is told nothing'
rm stop
"$ASSAY" variance record -o whole -- timeout 2 ./paced 0 1 2>/dev/null || :
"$ASSAY" variance show whole --follow --window 1 --format json >told.jsonl || fail 'it failed'
cases=$((cases + 1))
grep -q '"cause":"stopped"' told.jsonl || fail "no region: $(cut -c1-1000 told.jsonl)"
cases=$((cases + 1))
! grep -q '"asked":\[{' told.jsonl || fail "it was asked: $(grep '"asked":\[{' told.jsonl)"

finish
