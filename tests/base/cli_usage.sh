# How the program is called: help, options, words, formats, colours.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# Every row of the table in main.c.
COMMANDS=$("${ASSAY:?}" --help | sed -n 's/^  \([a-z][a-z -]*[a-z]\)   *.*$/\1/p' | sed 's/  .*//')
[ "$(echo "$COMMANDS" | wc -l)" -ge 20 ] || { echo 'the list of commands cannot be read'; exit 1; }

# ---- help ----

what='assay --help'
for option in --help -h; do
	run $option
	expect_status 0
	expect_stdout Usage: 'assay -C lab host import'
	expect_no_stderr
done
cp "$tmp/out" "$tmp/help"
run help
expect_status 0
cases=$((cases + 1))
cmp -s "$tmp/out" "$tmp/help" || fail 'help should be --help'
for command in gate 'cost train' cost; do
	run $command --help
	cp "$tmp/out" "$tmp/help"
	run help $command
	expect_status 0
	expect_no_stderr
	cases=$((cases + 1))
	cmp -s "$tmp/out" "$tmp/help" || fail "help $command should be $command --help"
done
run help frobnicate
refused 2 "unknown command 'frobnicate'"
run help gate extra
refused 2 "unexpected argument 'extra'"
run --help
echo "$COMMANDS" | while read -r command; do grep -q "^  $command " "$tmp/out" || echo "$command"; done >"$tmp/missing"
cases=$((cases + 1))
[ -s "$tmp/missing" ] && fail "not in the list of commands: $(cat "$tmp/missing")"
cases=$((cases + 1))
listed=$(grep -c '^  [a-z][a-z -]*  ' "$tmp/out")
[ "$listed" -eq "$(echo "$COMMANDS" | wc -l)" ] || fail 'every row of the table in main.c should be listed'

# What works on no laboratory, and what has one format only.
without_directory() {
	case $1 in
	stat | diff | build | record | timeline | counters | help) echo yes ;;
	esac
}
without_format() {
	case $1 in
	record | help) echo yes ;;
	esac
}
without_progress() {
	case $1 in
	run | detect | gate | 'nightly run' | bisect | calibrate | stat | diff | 'host measure' | 'host check' | 'host exec' | 'host copy') ;;
	*) echo yes ;;
	esac
}
# shared OPTION WITHOUT: the help has it, unless it would have no effect.
shared() {
	cases=$((cases + 1))
	if grep -q -e "$1[= ]" "$tmp/out"; then
		[ -z "$2" ] || fail "$1 has no effect, and should not be there"
	else
		[ -n "$2" ] || fail "$1 should be there"
	fi
}

while read -r command; do
	what="$command --help"
	# shellcheck disable=SC2086
	for option in --help -h; do
		run $command $option
		expect_status 0
		expect_no_stderr
		expect_stdout "Usage: assay $command" Example "assay $command" --help
	done
	shared --directory "$(without_directory "$command")"
	shared --format "$(without_format "$command")"
	shared --quiet "$(without_progress "$command")"
	cases=$((cases + 1))
	awk 'length > 130' "$tmp/out" | grep -q . && fail 'a line is too long to be read'
	cases=$((cases + 1))
	grep -q ' $' "$tmp/out" && fail 'a line ends with blanks'
	cases=$((cases + 1))
	awk '/^(Methods|Models):$/ { on = 1; next } /^$/ { on = 0 } on && !/^  /' "$tmp/out" | grep -q . && fail 'an entry of a list is broken'
	cases=$((cases + 1))
	awk '/^Example:/ { on = 1; next } /^$/ { on = 0 } on && !/^  /' "$tmp/out" | grep -q . && fail 'a line of the example is broken: it cannot be pasted'
done <<END
$COMMANDS
END

what='groups of commands'
for group in host result baseline nightly cost; do
	run $group --help
	expect_status 0
	expect_stdout "Usage: assay $group COMMAND" "  $group "
	expect_no_stderr
	cp "$tmp/out" "$tmp/help"
	for arguments in '' '--format json'; do
		# shellcheck disable=SC2086
		run $group $arguments
		expect_status 2
		cases=$((cases + 1))
		cmp -s "$tmp/out" "$tmp/help" || fail 'the help of the group is expected'
	done
done
run host --help
cases=$((cases + 1))
grep -q '^  [a-gi-z]' "$tmp/out" && fail 'a command of another group is in it'

what='no command'
run
expect_status 2
expect_stdout Usage:

what='--version'
run --version
expect_status 0
expect_stdout 'assay '
cases=$((cases + 1))
[ "$(wc -l <"$tmp/out")" -eq 1 ] || fail 'one line expected'

# ---- wrong usage: row = words | what the line must have ----

while IFS='|' read -r words wanted also; do
	what="wrong usage: $words"
	# shellcheck disable=SC2086
	run $words
	refused 2 "$wanted" "${also:-}"
done <<'END'
frobnicate|unknown command 'frobnicate'|--help
prfile hpccg|unknown command 'prfile'|did you mean 'profile'
host lst|unknown command 'host lst'|did you mean 'host list'
hots list|unknown command 'hots list'|did you mean 'host list'
result imprt x|unknown command 'result imprt'|did you mean 'result import'
stats -- true|unknown command 'stats'|did you mean 'stat'
dif -- a -- b|unknown command 'dif'|did you mean 'diff'
recrod -- true|unknown command 'recrod'|did you mean 'record'
reprot a b|unknown command 'reprot a'|did you mean 'report'
compre -- a -- b|unknown command 'compre'|did you mean 'diff'
variance shwo x|unknown command 'variance'; it is 'assay timeline'
compare -- a -- b|unknown command 'compare'; it is 'assay diff'
fleet put a b|unknown command 'fleet put'; it is 'assay host copy'
fleet|unknown command 'fleet'; it is 'assay host'
help fleet up|unknown command 'fleet'; it is 'assay host'
drift|unknown command 'drift'; it is 'assay host drift'
host delete m|unknown command 'host delete'; it is 'assay host retire'
host remove m|unknown command 'host remove'; it is 'assay host retire'
hosts|unknown command 'hosts'; it is 'assay host list'
machines|unknown command 'machines'; it is 'assay host list'
version|unknown command 'version'; it is 'assay --version'
profile --here -- true|unknown command 'profile --here'; it is 'assay stat'
catalog types|unknown command 'catalog types'; it is 'assay host list --types'
probe --functions f -- true|unknown command 'probe'; it is 'assay record --for functions'
-x|unknown option '-x'|--help
--versoin|unknown option '--versoin'|did you mean '--version'
-C|-C needs a directory
result list -C|'-C' needs a value: DIR
result list -C=|not a laboratory
result list extra|unexpected argument 'extra'
host list --types --format=json extra|unexpected argument 'extra'
profile|missing argument: APP[@VERSION]
profile a b|unexpected argument 'b'
gate|missing argument: BASELINE and CANDIDATE
gate a|missing argument: CANDIDATE (expected BASELINE and CANDIDATE)
gate a b c|unexpected argument 'c'
host import|missing argument: FILE
host show|missing argument: A
host accept|missing argument: MACHINE
host accept m|--reason
host accept m --reason=|a reason must have
host retire|missing argument: MACHINE
host retire m --undo --reason x|exclude each other
host rename a|missing argument: NEW (expected OLD and NEW)
host drift x|unexpected argument 'x'
host show a b c|unexpected argument 'c'
host show --passes a b|--passes shows one fingerprint
host list --types --fingerprints|exclude each other
host import x --dry-run|are for 'host import slurm'
init a b|unexpected argument 'b'
profile a --modle paper|unknown option '--modle'|did you mean '--model'
profile a --modle=paper|unknown option '--modle=paper'|did you mean '--model'
profile a --frobnicate|unknown option '--frobnicate'|profile --help
profile -x a|unknown option '-x'
result list -xf|'-xf'
profile --help=3|'--help' takes no value
profile a --model papr|'papr'|paper
result list --format jsno|--format must be human, json or html, not 'jsno'
result list --format|'--format' needs a value
result list -f|'-f' needs a value
profile a --top 0|--top must be a whole number from 1 to 10000, not '0'
profile a --top 10001|--top must be a whole number from 1 to 10000, not '10001'
profile p --seed x|--seed must be a whole number from 0 to 9223372036854775807, not 'x'
profile a --top 1e3|--top
profile a --top 99999999999999999999|--top
gate a b --min-effect -1|--min-effect
gate a b --min-effect 5|--min-effect must be a number from 1e-6 to 1, not '5'
host down a b|unexpected argument 'b'
host up a b|unexpected argument 'b'
gate a b --min-effect nan|--min-effect
gate a b --min-effect 1e999|--min-effect
result import x --version a@b|'a@b' cannot be the name of a version
stat -C x -- true|unknown option '-C'
stat|missing argument: -- COMMAND
nightly show --list x|--list cannot be combined
nightly show --list --fail-on regression|--list cannot be combined
help --completion bash gate|--completion cannot be combined
help --completion bash --man|--completion cannot be combined
record -C x -- true|unknown option '-C'
record --directory=x -- true|unknown option '--directory=x'
record --for functions -- true|--functions NAME,...|@FILE is required
record --functions f -- true|--functions needs --for functions or --for counters
record --for counters --call f -- true|--call, --overhead, --context-aware and --progressive need --for calls
record --for features --budget 0 -- true|need --for functions
record --full -- true|--full and --nodes need --for counters
predict a@1|predict for a machine (--machine MACHINE) or an input
predict a@1 --machine m --counts v|--max-error need an input
END

what='control characters in a word'
run "fro$(printf '\n\033[31mb')"
refused 2 'fro??[31mb'
run profile -C "$tmp/no$(printf '\n\033[31mb')" hpccg
refused 2 'no??[31mb'

what='an option of the command may be cut short'
run profile --mo paper nope -C "$tmp/nowhere"
refused 2 'not a laboratory'

# ---- where the laboratory is ----

what='-C before and behind the command'
make_package "$tmp/package" 6 8
run init "$tmp/lab" --format json
expect_status 0
expect_json .laboratory "$tmp/lab"
cases=$((cases + 1))
[ -f "$tmp/lab/lab.yaml" ] && [ -d "$tmp/lab/machines" ] && [ -d "$tmp/lab/apps" ] || fail 'the folders of a laboratory'
import_package "$tmp/lab" "$tmp/package"
expect_status 0
for words in "-C $tmp/lab result list" "result list -C $tmp/lab" "-C$tmp/lab result list" "--directory $tmp/lab result list" \
	"result list --directory=$tmp/lab" "-C /nowhere result list -C $tmp/lab"; do
	what="$words"
	# shellcheck disable=SC2086
	run $words
	expect_status 0
	expect_stdout app/slow
done
what='the current directory'
(cd "$tmp/lab" && "$ASSAY" result list) >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 0
expect_stdout app/slow
what='a relative path is from where you are, not from -C'
(cd "$tmp" && "$ASSAY" -C lab host import package/t/machines.csv) >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 0
expect_stdout '0 new'
what='init twice'
run init "$tmp/lab"
refused 2 lab.yaml 'already a laboratory'
what='commands that are advised can be typed as they stand'
run init "$tmp/two words"
expect_status 0
expect_stdout "try 'assay -C '$tmp/two words' host check'"
what='init with -C'
run -C "$tmp/lab2" init
expect_status 0
expect_stdout "$tmp/lab2"

# ---- formats and colours ----

wanted=0
json_of() {
	what="$* --format json"
	run -C "$tmp/lab" "$@" --format json
	expect_status "$wanted"
	expect_no_stderr
	expect_json_parses
}
json_of host import "$tmp/package/t/machines.csv"
expect_json .machines 6
json_of result export "$tmp/tables"
json_of host list
expect_json .machines 6
expect_json '.machines[0].id' node01
json_of host show node01
expect_json .id node01
json_of host list --types
json_of check
expect_json .problems 0
json_of result list
expect_json .applications 4
json_of result show app/slow@1.0
expect_json .results 18
json_of profile app/slow@1.0
expect_json .application app/slow
wanted=3
json_of gate app/slow@1.0 app/slow@1.1
expect_json .decision regression
expect_json '.machines[0].used' true

what='a median has the digits that its noise lets be known'
run -C "$tmp/lab" result show app/slow@1.0
cases=$((cases + 1))
awk '/^node/ { n++; gsub(/[.]/, "", $5); sub(/^0*/, "", $5); if (length($5) > 4) exit 1 } END { exit n < 6 }' "$tmp/out" ||
	fail "noise of 1 %, and medians such as $(awk '/^node01/ { print $5 }' "$tmp/out")"

export TERM=xterm-256color
escape=$(printf '\033')
no_escapes() {
	cases=$((cases + 1))
	grep -q "$escape" "$tmp/out" "$tmp/err" && fail 'escape sequences in it'
}
while read -r words; do
	what="no colours where nobody sees them: $words"
	# shellcheck disable=SC2086
	run -C "$tmp/lab" $words
	cases=$((cases + 1))
	[ -s "$tmp/out" ] || fail 'no output'
	no_escapes
done <<'END'
host list
host show node01
host list --types
check
result list
result show app/slow@1.1
profile app/slow@1.0
gate app/slow@1.0 app/slow@1.1
END

# util-linux's script gives the program a terminal.
if command -v script >/dev/null 2>&1; then
	for words in 'profile app/slow@1.0' 'gate app/slow@1.0 app/slow@1.1'; do
		what="colours on a terminal: $words"
		script -qec "'$ASSAY' -C '$tmp/lab' $words" /dev/null >"$tmp/out" 2>"$tmp/err" </dev/null
		cases=$((cases + 1))
		grep -q "$escape" "$tmp/out" || fail 'escape sequences expected'
		what="NO_COLOR on a terminal: $words"
		NO_COLOR=1 script -qec "'$ASSAY' -C '$tmp/lab' $words" /dev/null >"$tmp/out" 2>"$tmp/err" </dev/null
		no_escapes
	done
	what='words of others do not steer the terminal'
	cp -R "$tmp/lab" "$tmp/theirs"
	sed -i 's/"stress_ng": "[^"]*"/"stress_ng": "1\\u001b]0;title\\u0007\\u009b2J\\u202egnp\\u2028"/' "$tmp/theirs/machines/node01.json"
	script -qec "'$ASSAY' -C '$tmp/theirs' host show node01" /dev/null >"$tmp/out" 2>&1 </dev/null
	expect_stdout '1?]0;title??2J?gnp?'
else
	echo 'no script(1) here: colours on a terminal were not looked at'
fi

what='a selector without version where several exist'
run -C "$tmp/lab" profile app/slow
refused 2 'several versions' app/slow@VERSION '1.0, 1.1'
what='options that belong to others'
while IFS='|' read -r words wanted; do
	# shellcheck disable=SC2086 # words
	run $words
	refused 2 "$wanted"
done <<'END'
profile a@1 --budget 5s|unknown option '--budget'
stat --model paper -- true|unknown option '--model'
gate a@1 a@2 --why 5m|--budget, --hosts, --exclude and --why belong to --run
gate a@1 a@2 -x m|--budget, --hosts, --exclude and --why belong to --run
END

what='a long word never costs the remedy'
run -C "$tmp" result import x --time "$(head -c 2000 /dev/zero | tr '\0' x)"
refused 2 'or seconds since 1970' --help

what='a version that is not there'
run -C "$tmp/lab" profile app/slow@2
refused 2 "no version '2'" '1.0, 1.1'
what='an application that is not there'
run -C "$tmp/lab" profile app/slwo
refused 2 "did you mean 'app/slow'"
what='a machine that is not there'
run -C "$tmp/lab" host show node99
refused 2 "no machine 'node99'" 'did you mean'

# ---- completion and manual pages ----

what='completion for bash'
run help --completion bash
expect_status 0
if command -v bash >/dev/null 2>&1; then
	# completes WORD...: what is offered for the last word.
	completes() {
		bash -c 'source "$1"; shift; COMP_WORDS=(assay "$@"); COMP_CWORD=$#; _assay; echo "${COMPREPLY[@]}"' - "$tmp/assay.bash" "$@" >"$tmp/out"
	}
	cp "$tmp/out" "$tmp/assay.bash"
	completes hos
	expect_stdout host
	completes host li
	expect_stdout list
	completes gate --min
	expect_stdout --min-effect
	completes gate --format ''
	expect_stdout human json html
	completes profile --model p
	expect_stdout paper
fi
for shell in zsh fish; do
	what="completion for $shell"
	run help --completion $shell
	expect_status 0
	expect_stdout host min-effect
	expect_no_stderr
done
what='completion for a shell that we do not know'
run help --completion tcsh
refused 2 tcsh 'bash, zsh or fish'

while read -r command; do
	what="help --man $command"
	# shellcheck disable=SC2086
	run help --man $command
	expect_status 0
	expect_stdout '.SH NAME' '.SH SYNOPSIS' '.SH OPTIONS' '.SH EXAMPLES' '.SH EXIT STATUS'
done <<END
$COMMANDS
END
what='the manual of the program'
run help --man
expect_status 0
expect_stdout '.TH ASSAY 1' '.B assay host exec'
what='a manual that is not there'
run help --man frobnicate
refused 2 frobnicate

finish
