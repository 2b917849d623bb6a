# Two commands on this machine: which is slower, and what the difference is made of. The shape of answers; what follows from which times:
# test_here_compare.c.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# The exit status is that of the decision.
decides()
{
	cases=$((cases + 1))
	case "$status $(json .decision)" in
	'0 pass' | '0 improved' | '3 regression' | '4 inconclusive' | '5 environment') ;;
	*) fail "status $status of the decision '$(json .decision)'" ;;
	esac
}

mkdir "$tmp/here"
cd "$tmp/here" || exit 1

what='two commands that wait'
run diff --budget 2 --format json -- sleep 0.05 -- sleep 0.1
decides
expect_json .baseline.version 'sleep 0.05'
expect_json .candidate.version 'sleep 0.1'
expect_json .machines[0].machine local
expect_json .machines[0].candidate_runs "$(json .a.runs)"
expect_json .a.command 'sleep 0.05'
expect_json .b.command 'sleep 0.1'
expect_json .a.runs "$(json .b.runs)"
expect_json '.measured.parts[0].level' time
cases=$((cases + 1))
case "$(json .ratio) $(json '.measured.parts[0].difference')" in *[!-+.e0-9\ ]* | ' '*) fail "no numbers: $(cat "$tmp/out")" ;; esac

what='decisions that do not fail'
run diff --budget 1 --fail-on nothing -- sleep 0.02 -- sleep 0.1
expect_status 0
run diff --fail-on improved -- true -- true
refused 2 '--fail-on takes regression'

what='the same command twice, for people'
run diff --budget 1 -- sh -c ': "$1"' sh -x -- sh -c ': "$1"' sh -x
cases=$((cases + 1))
grep -Eq "'sh -c : \"[$]1\" sh ...' (costs [0-9.]+ times as much|takes [0-9.]+ times as much CPU time) as 'sh -c" "$tmp/out" || fail 'no answer'
grep -q '^Parts of the difference$' "$tmp/out" || fail 'no table'
grep -q '^Time of each command$' "$tmp/out" || fail 'no profiles'

what='both read all of standard input'
seq 1000 | "$ASSAY" diff --budget 0.5 -- sh -c '[ "$(wc -l)" = 1000 ]' -- awk 'END { exit NR != 1000 }' >"$tmp/out" 2>"$tmp/err"
cases=$((cases + 1))
[ ! -s "$tmp/err" ] || fail "$(cat "$tmp/err")"

what='the smallest effect that matters'
run diff --budget 0.5 --min-effect 1 --format json -- true -- true
decides
expect_json .min_effect 1
run diff --min-effect 0 -- true -- true
refused 2 min-effect

what='a command that fails'
run diff --budget 1 -- true -- sh -c 'echo no such table >&2; exit 3'
refused 6 'exit status 3' 'no such table'
run diff --budget 0.1 --ignore-failure --format json -- true -- sh -c 'exit 3'
decides
expect_stdout 'runs of the candidate ended with a status that no run of the other version had'
run diff --budget 0.1 --ignore-failure --format json -- sh -c 'exit 3' -- sh -c 'exit 3'
decides
cases=$((cases + 1))
! grep -q 'no run of the other version had' "$tmp/out" || fail 'a status that both ended with is a failure'
run diff --budget 1 -- "$tmp/nonesuch" -- true
refused 6 'No such file'

what='several --'
run diff --budget 0.1 -- sh -c 'exit 0' -- "$tmp/nonesuch" -- sh -c 'exit 0'
refused 6 "the first '--'" 'sh -c'
run diff --budget 0.1 -- true -- sh -c 'exit $#' sh --
refused 6 "the first '--'"
run diff --budget 0.1 -- true -- false
refused 6 'exit status 1'
cases=$((cases + 1))
! grep -q several "$tmp/err" || fail 'a hint that does not apply'

what='wrong usage'
run diff -- true
refused 2 'two commands'
run diff -- true --
refused 2 'two commands'
run diff -- -- true
refused 2 'two commands'
run diff
refused 2 'missing argument' '-- A'
run diff a@1 b@1
refused 2 'two commands' "'assay gate'"

what='nothing stays'
cases=$((cases + 1))
[ -z "$(ls -A)" ] || fail "files are left: $(ls -A)"
finish
