# Helpers for the scripts cli_*.sh, which source this first. Each case sets $what, calls `run` (or fills $tmp/out, $tmp/err and
# $status itself) and states what it expects; failures are counted and shown, `finish` ends the script. CLI_SHOW=1 shows what every
# run said, to be read by a person.
set -u
: "${ASSAY:?must name the program}" "${ASSAY_JSON:?must name tool_json}"

# The box's lock and what runs leave are in /dev/shm: root's scripts have one of their own each, or they would wait for each other's turns. Helpers
# that anything else has left below /tmp are out of sight, too.
if [ "$(id -u)" = 0 ] && [ -z "${ASSAY_TEST_SHM:-}" ] && [ -d /dev/shm ] && unshare -m true 2>/dev/null; then
	export ASSAY_TEST_SHM=1
	# shellcheck disable=SC2016 # the inner shell's words
	exec unshare -m --propagation private sh -c 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		[ ! -d /tmp/assay-0 ] || mount -t tmpfs -o mode=700 tmpfs /tmp/assay-0
		exec sh "$0"' "$0"
fi
: >"${ASSAY_ANSWERS:-/dev/null}" # what keep_answers.c has of the last time
exec </dev/null # whatever the tests are started with: some commands read their input to its end
unset NO_COLOR COLUMNS
umask 022 # other users are to read some of what scripts make

tmp=$(mktemp -d) || exit 1
export XDG_CACHE_HOME="$tmp/.cache"
what=start
status=0
failures=0
cases=0

# Scripts that have more to undo define tidy.
tidy() { :; }
cleanup() {
	tidy
	chmod -R u+rwX "$tmp"
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM

skip() {
	echo "skipped: $*"
	exit 77
}

finish() {
	if [ "$failures" -gt 0 ]; then
		echo "$failures of $cases expectations failed"
		exit 1
	fi
	echo "$cases expectations hold"
	exit 0
}

fail() {
	failures=$((failures + 1))
	printf 'FAIL: %s: %s\n' "$what" "$*"
	printf '  status %s\n' "$status"
	sed 's/^/  out: /' "$tmp/out" | head -n 4
	sed 's/^/  err: /' "$tmp/err" | head -n 4
}

run() {
	"$ASSAY" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	shown "$@"
}

shown() {
	[ -z "${CLI_SHOW:-}" ] && return
	printf '$ assay %s\n' "$*"
	head -n 40 "$tmp/out"
	sed 's/^/! /' "$tmp/err"
	printf '=> %s\n' "$status"
}

expect_status() {
	cases=$((cases + 1))
	[ "$status" -eq "$1" ] || fail "exit status $1 expected"
}

# holds FILE WHAT TEXT...: each stands somewhere in it. Read once: there are thousands of these.
holds() {
	holds_text=$(cat "$1") holds_name=$2
	shift 2
	for text; do
		cases=$((cases + 1))
		case $holds_text in *"$text"*) ;; *) fail "$holds_name should have: $text" ;; esac
	done
}

expect_stdout() {
	holds "$tmp/out" 'standard output' "$@"
}

expect_no_stdout() {
	cases=$((cases + 1))
	[ ! -s "$tmp/out" ] || fail 'nothing expected on standard output'
}

# Accepts lines about the progress of long work, which a busy machine makes, and about processes that another test has left.
expect_no_stderr() {
	cases=$((cases + 1))
	[ ! -s "$tmp/err" ] || ! grep -qvE '^[0-9]+ of [0-9]+ (runs|measurements), last on |: no data since |processes of a killed session of this laboratory were stopped: .*$' "$tmp/err" || fail 'nothing expected on standard error'
}

# Each TEXT.
expect_stderr() {
	for text; do
		cases=$((cases + 1))
		grep -qF -e "$text" "$tmp/err" || fail "standard error should have: $text"
	done
}

# One line that begins with the program's name and holds each TEXT.
expect_error() {
	cases=$((cases + 1))
	[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail 'one line expected on standard error'
	case $(cat "$tmp/err") in assay*) ;; *) fail 'the line should begin with the name of the program' ;; esac
	holds "$tmp/err" 'the error' "$@"
}

# refused STATUS TEXT...: that status, nothing on standard output, one line of error.
refused() {
	expect_status "$1"
	shift
	expect_no_stdout
	expect_error "$@"
}

# The value at a path of the JSON document on standard output.
json() {
	"$ASSAY_JSON" "$1" <"$tmp/out" 2>/dev/null
}

# PATH VALUE, as often as wanted.
expect_json() {
	while [ $# -ge 2 ]; do
		cases=$((cases + 1))
		value=$(json "$1") || value='(nothing)'
		[ "$value" = "$2" ] || fail "JSON at $1 is $value, expected $2"
		shift 2
	done
	[ $# = 0 ] || fail "nothing is expected of $1"
}

expect_json_parses() {
	cases=$((cases + 1))
	"$ASSAY_JSON" <"$tmp/out" >/dev/null 2>"$tmp/json" || fail "not JSON: $(cat "$tmp/json")"
}

# near A B RELATIVE
near() {
	awk -v a="$1" -v b="$2" -v e="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; m = b < 0 ? -b : b; exit !(d <= e * m) }'
}

expect_near() {
	cases=$((cases + 1))
	value=$(json "$1") || value=nan
	near "$value" "$2" "$3" || fail "JSON at $1 is $value, expected $2 within $3"
}

expect_same_files() {
	cases=$((cases + 1))
	cmp -s "$1" "$2" || fail "$(basename "$1") and $(basename "$2") differ"
}

HEADER=giturl,commit,user,timestamp,benchmark,machine,repetition,test,result

# make_package DIR MACHINES STRESSORS [TIME]: results.csv with three passes of so many stressors on so many machines, no two of which are
# alike, and two applications in versions 1.0 and 1.1; version 1.1 of app/slow takes 1.5 times as long, of `same` as long as before.
make_package() {
	mkdir -p "$1"
	awk -v machines="$2" -v stressors="$3" -v taken="${4:-1500000000}" -v header="$HEADER" '
	function noise() { seed = (seed * 16807) % 2147483647; return 1 + .02 * (seed / 2147483647 - .5) }
	function row(benchmark, m, pass, test, value, version) {
		printf "url,abc,me,%s,%s,node%02d,%d,%s,%.9g,%s\n", taken, benchmark, m, pass, test, value, version
	}
	BEGIN {
		seed = 4711
		print header ",version"
		for (m = 1; m <= machines; m++)
			for (pass = 1; pass <= 3; pass++) {
				for (j = 1; j <= stressors; j++)
					row("stressng", m, pass, sprintf("s%02d", j), (100 + 40 * m + (m * j * 7) % 13) * j * noise(), "")
				row("app", m, pass, "slow", 1000 / (100 + 40 * m) * noise(), "1.0")
				row("app", m, pass, "slow", 1500 / (100 + 40 * m) * noise(), "1.1")
				row("same", m, pass, "same", 500 / (100 + 40 * m) * noise(), "1.0")
				row("same", m, pass, "same", 500 / (100 + 40 * m) * noise(), "1.1")
			}
	}' >"$1/results.csv"
	python3 "$ASSAY_SOURCE/tests/recorded.py" "$1" "$1/t" || fail 'no tables could be made of the package'
}

# import_file LAB DIR/(machines|results).csv
import_file() {
	case $2 in
	*/machines.csv) run -C "$1" host import "$2" ;;
	*) run -C "$1" result import "$2" ;;
	esac
}

# import_package LAB PACKAGE [TYPES]: imports the machines and the results of a package (recorded.py), each if there are any; $tmp/out has
# both answers.
import_package() {
	rm -rf "$tmp/of_package"
	python3 "$ASSAY_SOURCE/tests/recorded.py" "$2" "$tmp/of_package" ${3:+"$3"} || fail 'no tables could be made of the package'
	: >"$tmp/both"
	status=0
	for file in machines results; do
		if [ "$status" = 0 ] && [ -f "$tmp/of_package/$file.csv" ]; then
			import_file "$1" "$tmp/of_package/$file.csv"
			cat "$tmp/out" >>"$tmp/both"
		fi
	done
	cp "$tmp/both" "$tmp/out"
}

# export_to FILE [DIR]: all that the laboratory DIR ($lab) exports, in one file.
export_to() {
	rm -rf "$tmp/exported.d"
	mkdir -m 777 "$tmp/exported.d" # some tests run the program as another user
	run -C "${2:-$lab}" result export "$tmp/exported.d"
	cat "$tmp/exported.d"/*.csv >"$1"
}

# lab_of NAME: the laboratory $tmp/NAME.lab with the package $tmp/NAME in it.
lab_of() {
	run init "$tmp/$1.lab"
	import_package "$tmp/$1.lab" "$tmp/$1"
}

# says TEXT...: the page $page has each of them.
says() {
	holds "$page" 'the page' "$@"
}

# healthy_lab PACKAGE: the laboratory $lab with the package in it, and its export.
healthy_lab() {
	what='a healthy laboratory'
	lab=$tmp/lab
	run init "$lab"
	import_package "$lab" "$1"
	expect_status 0
	export_to "$tmp/export"
	run -C "$lab" check
	expect_status 0
}

# still_there [DIR]: what healthy_lab stored is still in $lab (or its copy DIR), and all is well with it.
still_there() {
	export_to "$tmp/now" "${1:-$lab}"
	expect_status 0
	expect_same_files "$tmp/now" "$tmp/export"
	run -C "${1:-$lab}" check
	expect_status 0
}

# $tmp/broken is a copy of the laboratory to break.
fresh() {
	rm -rf "$tmp/broken"
	cp -R "$lab" "$tmp/broken"
}
