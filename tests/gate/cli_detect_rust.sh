# Two programs in Rust, whose names are mangled in its own way (v0), with a planted fault each, measured by the probe: the function, its name as
# people write it, its file and line; who calls it is measured, too, and stands behind it.
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

# detected PROGRAM SYMBOLS NAME SOURCE-LINE
detected() {
	what="$1: the function that does more"
	for side in old new; do
		nm "$1.$side" | sed -n "s/.* [tT] \(_R[0-9A-Za-z]*_5$1\($2\).*\)/\1/p" >"functions.$side"
		mkdir -p "$1/$side"
	done
	for i in $(seq 9); do
		for side in old new; do # by turns: what else the machine does is the same for both
			"$ASSAY" probe --functions "@functions.$side" --counters none -o "$1/$side/$i" -- "./$1.$side" >/dev/null 2>probe.err ||
				{ cat probe.err; exit 1; }
		done
	done
	run detect "$1/old" "$1/new" --rate .1 --model mann-whitney --new-build "$1.new" --format json
	expect_status 3
	expect_json .functions[0].name "$3"
	expect_json .functions[0].kind slower
	expect_json .functions[0].file "$apps/$1.rs"
	expect_json .functions[0].line "$(grep -n "$4" "$apps/$1.rs" | tail -n 1 | cut -d: -f1)"
}

detected words '.*normalise\|.*next_word\|5count' '<words::Lower as words::Normalise>::normalise' 'fn normalise'
detected graph '.*insert\|.*Graph3new\|.*Graph7reached' '<graph::graph::Seen>::insert' 'pub fn insert'
finish
