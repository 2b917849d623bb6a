# Two commands on this machine: which is slower, and what the difference is made of.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
mkdir "$tmp/here"
cd "$tmp/here" || exit 1

what='one waits for longer'
run compare --here --budget 4 --format json -- sleep 0.05 -- sleep 0.25
expect_status 0
expect_json_parses
expect_json .a.command 'sleep 0.05'
expect_json .b.command 'sleep 0.25'
expect_json .a.runs "$(json .b.runs)"
expect_json '.levels[0].name' waiting
expect_json '.levels[0].how' measured
cases=$((cases + 1))
json .wall.ratio | awk '{ exit !($1 > 1.2) }' || fail "the ratio is $(json .wall.ratio)"
cases=$((cases + 1))
json '.levels[0].difference' | awk '{ exit !($1 > .1 && $1 < 1) }' || fail "the difference is $(json '.levels[0].difference') s"
cases=$((cases + 1))
case $(json .sentence) in 'B is slower: it takes '*' times as long as A ('*') waiting '* | 'B is slower: it takes '*'): waiting +'* | 'B is not seen '*) ;;
'B is slower: it takes '*' each, in turn)') # where others had the processors, they may have been what it waited for
	json '.levels[0].low' | awk '{ exit !($1 <= 0) }' || fail "the sentence names nothing: $(json .sentence)" ;;
*) fail "the sentence is: $(json .sentence)" ;; esac

what='the same command twice, for people'
run compare --here --budget 1 -- sh -c ': "$1"' sh -x -- sh -c ': "$1"' sh -x
expect_status 0
cases=$((cases + 1))
grep -q '^Seconds a run$' "$tmp/out" || fail 'no table'

what='both read all of standard input'
seq 1000 | "$ASSAY" compare --here --budget 0.5 -- sh -c '[ "$(wc -l)" = 1000 ]' -- awk 'END { exit NR != 1000 }' >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 0

what='what is decided'
run compare --here --budget 0.5 --format json -- true -- true
case "$(json .wall.decision) $(json .processor.decision)" in *unknown* | *more* | *less* | *alike*) ;; *) fail "decisions: $(cat "$tmp/out")" ;; esac

what='a command that fails'
run compare --here --budget 1 -- true -- sh -c 'echo no such table >&2; exit 3'
refused 6 'exit status 3' 'no such table'
run compare --here --budget 0.1 --ignore-failure -- true -- sh -c 'exit 3'
expect_status 0
run compare --here --budget 1 -- "$tmp/nonesuch" -- true
refused 6 'No such file'

what='several --'
run compare --here --budget 0.1 -- sh -c 'exit 0' -- "$tmp/nonesuch" -- sh -c 'exit 0'
refused 6 "several '--'" 'sh -c'
run compare --here --budget 0.1 -- true -- sh -c 'exit $#' sh --
refused 6 "several '--'"
run compare --here --budget 0.1 -- true -- false
refused 6 'exit status 1'
cases=$((cases + 1))
! grep -q several "$tmp/err" || fail 'a hint that does not apply'

what='wrong usage'
run compare --here -- true
refused 2 'two commands'
run compare --here -- true --
refused 2 'two commands'
run compare --here -- -- true
refused 2 'two commands'
run compare a@1
refused 2 'missing argument' '--here'
run compare a@1 b@1 c@1
refused 2 "'c@1'" '--here'

what='nothing stays'
cases=$((cases + 1))
[ -z "$(ls -A)" ] || fail "files are left: $(ls -A)"
finish
