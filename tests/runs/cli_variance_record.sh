# assay variance record: calls of a program and of those that it starts, its output and how it ended.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

fail()
{
	echo "$*" >&2
	exit 1
}

"${ASSAY:?}" variance record -o records -- sh -c 'sleep .05; echo said' >out 2>told || fail "$(cat told)"
[ "$(cat out)" = said ] || fail 'the output of the program expected'
[ "$(ls records/*.samples | wc -l)" -ge 1 ] || fail 'records expected'
grep -q "records\? of about [1-9][0-9]* calls at [1-9][0-9]* call sites\? in 'records'" told || fail "$(cat told)"
cases=$((cases + 1))
grep -q "next: 'assay variance show records'" told || fail "$(cat told)"

status=0
"$ASSAY" variance record -o records -- sh -c 'sleep .01; exit 3' 2>told || status=$?
[ "$status" -eq 1 ] || fail "status $status of a program that failed"
grep -q 'ended with status 3' told || fail "$(cat told)"
grep -q 'records\? of about' told || fail 'what it did until then is kept'

# The same place in many processes is one call site.
"$ASSAY" variance record -o same -- sh -c 'sleep .01; sleep .01; sleep .01' 2>told || fail "$(cat told)"
once=$(sed -n "s/.* calls at \([0-9]*\) call site.*/\1/p" told)
"$ASSAY" variance record -o same -- sh -c 'sleep .01; sleep .01; sleep .01; sleep .01; sleep .01; sleep .01' 2>told || fail "$(cat told)"
[ "$(sed -n "s/.* calls at \([0-9]*\) call site.*/\1/p" told)" -le $((once + 1)) ] || fail "$once sites, then: $(cat told)"

status=0
"$ASSAY" variance record -o missing/records -- true 2>told || status=$?
[ "$status" -eq 1 ] || fail "status $status without the directory's parent"
