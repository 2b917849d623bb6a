# Building programs and comparing them with `assay changes`, for the scripts that test that. Sourced after lib_cli.sh.

# compile COMPILER OUTPUT FLAGS... SOURCES: run in the directory of the sources, so that paths differ between builds.
compile() {
	compiler=$1 output=$2
	shift 2
	"$compiler" -w -g "$@" -o "$output" 2>"$tmp/compiler" || { cat "$tmp/compiler"; echo "cannot compile for: $what"; exit 1; }
}

# changes OLD NEW [OPTION...]: the list as lines "change name" in $tmp/list.
changes() {
	run -C "${lab:-.}" changes "$@" --format json
	expect_status 0
	expect_json_parses
	sed -n 's/^      "name": "\(.*\)",$/\1/p; s/^      "change": "\(.*\)",$/\1/p' "$tmp/out" |
		awk 'NR % 2 { name = $0; next } { print $0 " " name }' | sort >"$tmp/list"
}

# expect_list LINE...: exactly these changes, in any order.
expect_list() {
	for line; do echo "$line"; done | sed '/^$/d' | sort >"$tmp/expected"
	cases=$((cases + 1))
	cmp -s "$tmp/expected" "$tmp/list" || { fail 'another list expected:'; diff "$tmp/expected" "$tmp/list" | sed 's/^/  /'; }
}

expect_change() {
	for line; do
		cases=$((cases + 1))
		grep -qxF -e "$line" "$tmp/list" || { fail "expected: $line"; sed 's/^/  list: /' "$tmp/list"; }
	done
}

expect_unchanged() {
	for name; do
		cases=$((cases + 1))
		grep -q " $name\$" "$tmp/list" && { fail "$name did not change"; sed 's/^/  list: /' "$tmp/list"; }
	done
}
