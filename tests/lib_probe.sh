# For the tests of the probe in real programs: what `assay inspect` says of what a program did.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
source=${ASSAY_SOURCE:?}/tests/probed
flags='-g -O2 -fpatchable-function-entry=5'
library=$(dirname "$ASSAY")/libassay-probe.so
cd "$tmp" || exit 1
[ "$(uname -m)" = x86_64 ] || skip 'x86-64 only'

# member NAME FUNCTION: of the function in the document on standard output, one line a file; `assay inspect` has a line a member.
member() {
	awk -v member="\"$1\":" -v wanted="\"$2\"," '
		$1 == "\"name\":" { at = substr($0, index($0, ":") + 2) == wanted }
		at && $1 == member { sub(/,$/, "", $2); print $2; at = 0 }' "$tmp/out" # the mean; limits and sums follow
}

# expect_member NAME FUNCTION VALUE
expect_member() {
	cases=$((cases + 1))
	value=$(member "$1" "$2" | tr '\n' ' ' | sed 's/ $//')
	[ "$value" = "$3" ] || fail "$1 of $2 is '$value', expected '$3'"
}

# probe ARGUMENT...: into a new directory, and its samples as JSON in $tmp/out afterwards; what the program printed in $tmp/printed.
probe() {
	rm -rf samples
	run record --for functions -o samples "$@"
	probe_status=$status
	cp "$tmp/out" printed
	cp "$tmp/err" said
	run inspect samples --format json
	status=$probe_status
	cp said "$tmp/err"
}

expect_printed() {
	cases=$((cases + 1))
	[ "$(cat printed)" = "$1" ] || fail "the program printed '$(cat printed)', by itself '$1'"
}
