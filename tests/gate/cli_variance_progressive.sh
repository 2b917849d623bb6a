# assay record --progressive: a process takes coarse counters until an analysis that follows the run asks for finer ones, level by
# level, and goes back when it is not slow any more. What is slow, and when, is known: the records are made.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_variance.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
gcc -O2 -o "$tmp/paced" "$ASSAY_SOURCE/tests/interposed/paced.c" || fail 'cannot compile'
cd "$tmp"

program=
tidy() {
	: >stop
	[ -z "$program" ] || wait "$program" # before its directory goes, and the file with it
}

# at_level LEVEL FILE...: the level in the header of record files (runs/inside/record/record.h), as a process that is told would write it.
at_level() {
	level=$1
	shift
	for file; do
		printf "\\00$level" | dd of="$file" bs=1 seek=104 conv=notrunc 2>/dev/null
	done
}

# level_of FILE
level_of() {
	od -An -tu1 -j104 -N1 "$1" | tr -d ' '
}

what='level by level while it is slow, and back'
made slow 1 12 counted 0:4:8:slow:3 "killed=$$"
at_level 1 slow/*
"$ASSAY" timeline slow --follow --window 2 --format json >told.jsonl || fail 'it failed'
cases=$((cases + 1))
sed -n 's/.*"asked":\[{[^]]*"level":\([0-9]\)}\].*/\1/p' told.jsonl | tr '\n' ' ' >asked
[ "$(cat asked)" = '2 3 2 1 ' ] || fail "asked for: $(cat asked)"
cases=$((cases + 1))
[ "$(level_of "$(ls slow/*)")" = 1 ] || fail 'the level in the file is another one'
cases=$((cases + 1))
grep -q '"cause":"on_processor"' told.jsonl || fail "no cause: $(cut -c1-1000 told.jsonl)"

what='a process that was not begun so is told nothing'
made whole 1 12 counted 0:4:8:queue:3 "killed=$$"
"$ASSAY" timeline whole --follow --window 2 --format json >told.jsonl || fail 'it failed'
cases=$((cases + 1))
grep -q '"cause":"run_queue"' told.jsonl || fail "no region: $(cut -c1-1000 told.jsonl)"
cases=$((cases + 1))
! grep -q '"asked":\[{' told.jsonl || fail "it was asked: $(grep '"asked":\[{' told.jsonl)"

what='a real process begins at the first level, and is told to go back to it'
"$ASSAY" record --progressive -o records -- ./paced compute >/dev/null 2>&1 &
program=$!
until ls records/*.samples >/dev/null 2>&1; do
	kill -0 "$program" || fail 'it has ended'
	sleep .1
done
cases=$((cases + 1))
[ "$(level_of "$(ls records/*.samples | head -n 1)")" = 1 ] || fail 'it does not begin at the first level'
at_level 3 records/*.samples
: >told.jsonl
"$ASSAY" timeline records --follow --window 2 --min-loss 1000000 --format json >told.jsonl 2>told.err & # nothing is slow for it
analysis=$!
tries=0
until grep -q '"asked":\[.*(paced)","level":1}' told.jsonl; do
	tries=$((tries + 1))
	[ "$tries" -lt 1800 ] && kill -0 "$program" && kill -0 "$analysis" || { fail "it is not told: $(cut -c1-1000 told.jsonl)"; break; }
	sleep .1
done
: >stop
wait "$program" || fail 'the program ends in order'
program=
wait "$analysis" || fail "it failed: $(cat told.err)"
finish
