# Two programs in Rust, whose names are mangled in its own way (v0), measured by the probe: functions, their names as people write them, their
# files and lines. Which of them is slower is measured time, and not tested.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
cd "$tmp" || exit 1
apps=$ASSAY_SOURCE/tests/apps/rust
# The option is one of the compiler's unstable ones.
build() {
	RUSTC_BOOTSTRAP=1 rustc -O -g -Zpatchable-function-entry=5 -Csymbol-mangling-version=v0 "$@" 2>rustc.err
}
build "$apps/words.rs" -o words.old || skip "there is no rustc that builds with -Zpatchable-function-entry ($(head -n 1 rustc.err))"
build --cfg bad "$apps/words.rs" -o words.new || exit 1
build "$apps/graph.rs" -o graph.old || exit 1
build --cfg bad "$apps/graph.rs" -o graph.new || exit 1

# named PROGRAM SYMBOLS NAME SOURCE-LINE
named() {
	what="$1: $3"
	for side in old new; do
		nm "$1.$side" | sed -n "s/.* [tT] \(_R[0-9A-Za-z]*_5$1\($2\).*\)/\1/p" >"functions.$side"
		mkdir -p "$1/$side"
		for i in 1 2 3; do
			"$ASSAY" probe --functions "@functions.$side" --counters none -o "$1/$side/$i" -- "./$1.$side" >/dev/null 2>probe.err ||
				{ cat probe.err; exit 1; }
		done
	done
	run detect "$1/old" "$1/new" --all --new-build "$1.new" --format json
	cases=$((cases + 1))
	for i in 0 1 2 3 4 5; do
		[ "$(json ".functions[$i].name")" != "$3" ] || break
	done
	[ "$(json ".functions[$i].name")" = "$3" ] || { fail 'it is not among the functions'; return; }
	expect_json ".functions[$i].file" "$apps/$1.rs"
	expect_json ".functions[$i].line" "$(grep -n "$4" "$apps/$1.rs" | tail -n 1 | cut -d: -f1)"
}

named words '.*normalise\|.*next_word\|5count' '<words::Lower as words::Normalise>::normalise' 'fn normalise'
named graph '.*insert\|.*Graph3new\|.*Graph7reached' '<graph::graph::Seen>::insert' 'pub fn insert'
finish
