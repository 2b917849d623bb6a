#!/bin/sh
# assay changes on releases of a C and a C++ project, and on one edited statement of SQLite, all from Debian's source packages (through a
# private list of apt's: the machine's is not touched). Each name of the expected lists below was
# checked by hand against the projects' own differences.
. tests/lib_evidence.sh
ASSAY_JSON=$PWD/build/release/tests/tool_json

# ---- sources ----

. tests/lib_debian.sh
# release PROJECT WHICH PACKAGE SUITE COMPILE...: builds src/ of a directory that only this release has; adds it to the repository.
release() {
	project=$1 which=$2
	version=$(unpack "$3" "$4" "$work/$project-$which/all")
	shift 4
	mkdir -p "$work/$project-$which/src" "$work/$project"
	cp "$work/$project-$which"/all/*.[ch]* "$work/$project-$which/src"
	(cd "$work/$project-$which/src" && "$@")
	[ -d "$work/$project/.git" ] || git init -q "$work/$project"
	(cd "$work/$project" && cp "$work/$project-$which"/src/*.[ch]* . && git add -A &&
		git -c user.name=x -c user.email=x@example.org commit -qm "$which" && git tag "$which")
	eval "version_$which=\$version"
}

# ---- the page ----

failed=0
# names KIND: of the changes in $work/json.
names() {
	sed -n 's/^      "name": "\(.*\)",$/\1/p; s/^      "change": "\(.*\)",$/\1/p' "$work/json" |
		awk -v kind="$1" 'NR % 2 { name = $0; next } $0 == kind { print name }' | sort
}
# expect KIND NAME...: exactly these.
expect() {
	kind=$1
	shift
	for name; do echo "$name"; done | sed '/^$/d' | sort >"$work/expected"
	names "$kind" >"$work/found"
	if cmp -s "$work/expected" "$work/found"; then
		echo "- \`$kind\`: as expected ($#)$(sed 's/.*/`&`/' "$work/found" | tr '\n' ' ' | sed 's/^/: /; s/ $//')"
	else
		failed=1
		echo "- \`$kind\`: **not as expected**"
		echo
		diff "$work/expected" "$work/found" | sed 's/^/      /'
	fi
}
# count KIND: how many.
count() {
	echo "- \`$1\`: $(names "$1" | wc -l)"
}
# compare OLD NEW [OPTION...]: into $work/json; the median of five times.
compare() {
	for i in 1 2 3 4 5; do
		start=$(date +%s%N)
		"$assay" changes "$@" --format json >"$work/json"
		echo $((($(date +%s%N) - start) / 1000000))
	done | sort -n | sed -n 3p
}
{
	evidence_head 'Which functions changed'
	echo "\`assay changes\` on what Debian has as sources, compiled with $(gcc --version | head -n 1) \`-O2 -g -fPIC -shared\`, each release in"
	echo 'a directory of its own. Each expected name was checked by hand against the difference of the sources and stands in the script; nothing'
	echo 'else counts as right. Milliseconds are the median of five whole runs of the command.'

	release zlib old zlib bookworm sh -c 'gcc -O2 -g -w -fPIC -shared -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H -o ../lib.so *.c'
	release zlib new zlib trixie sh -c 'gcc -O2 -g -w -fPIC -shared -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H -o ../lib.so *.c'
	echo
	echo "## C: $version_old and $version_new"
	echo
	ms=$(compare "$work/zlib-old/lib.so" "$work/zlib-new/lib.so" --git "$work/zlib" --refs old..new)
	echo "$("$ASSAY_JSON" .compared <"$work/json") functions in both, $("$ASSAY_JSON" .source.hunks <"$work/json") hunks, $ms ms. This release wrote"
	echo 'nearly every function anew in the style of ISO C, and changed few. `compress2`, `gz_look`, `gz_init`, `uncompress2` have the version as a'
	echo 'literal, by a macro; `zError` changed by a macro, `inflate_table` by a table.'
	echo
	expect modified compress2 deflateBound deflateCopy gzbuffer gz_look gzungetc gz_init gzsetparams inflatePrime inflateSync inflate_table \
		uncompress2 zlibVersion zError
	expect added gz_intmax
	expect removed
	expect inline_host
	expect compiled_differently
	count source_only
	count line_numbers
	python3 tests/bench/changes_bodies.py "$work/zlib-old/src" "$work/zlib-new/src" -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H | sort >"$work/bodies"
	names modified >"$work/found"
	echo
	echo "A second opinion, without debug information and without machine code: the bodies of $(wc -l <"$work/bodies") functions differ as the"
	echo "preprocessor leaves them. All that are \`modified\` are among these; the others, $(comm -13 "$work/found" "$work/bodies" | sed 's/.*/\`&\`/' |
		tr '\n' ' ' | sed 's/ $//; s/ /, /g'), differ in expressions that the compiler folds to the same constants."
	[ -z "$(comm -23 "$work/found" "$work/bodies")" ] || { failed=1; echo; echo "**Not among these**: $(comm -23 "$work/found" "$work/bodies")"; }

	release tinyxml2 old tinyxml2 bookworm g++ -O2 -g -w -fPIC -shared -o ../lib.so tinyxml2.cpp
	release tinyxml2 new tinyxml2 trixie g++ -O2 -g -w -fPIC -shared -o ../lib.so tinyxml2.cpp
	echo
	echo "## C++: $version_old and $version_new"
	echo
	ms=$(compare "$work/tinyxml2-old/lib.so" "$work/tinyxml2-new/lib.so" --git "$work/tinyxml2" --refs old..new)
	echo "$("$ASSAY_JSON" .compared <"$work/json") functions in both, $("$ASSAY_JSON" .source.hunks <"$work/json") hunks, $ms ms. A parameter of two"
	echo 'templates changed its type, so that their instances have other names: they are removed and added, and what inlines them are hosts.'
	echo
	expect modified 'tinyxml2::XMLUtil::GetCharacterRef(char const*, char*, int*)' \
		'tinyxml2::XMLNode::ParseDeep(char*, tinyxml2::StrPair*, int*)' 'tinyxml2::XMLDocument::MarkInUse(tinyxml2::XMLNode const*)' \
		'tinyxml2::XMLDocument::Parse(char const*, unsigned long)' 'tinyxml2::XMLUtil::StringEqual(char const*, char const*, int)'
	for kind in added removed renamed inline_host compiled_differently source_only; do count $kind; done
	names added | grep -v -e 'DynArray<' -e 'MemPoolT<' >"$work/left" || :
	names removed | grep -v -e 'DynArray<' -e 'MemPoolT<' >>"$work/left" || :
	printf '%s\n' 'tinyxml2::XMLDocument::Identify(char*, tinyxml2::XMLNode**)' 'tinyxml2::XMLDocument::Identify(char*, tinyxml2::XMLNode**, bool)' \
		'tinyxml2::XMLNode::ChildElementCount() const' 'tinyxml2::XMLNode::ChildElementCount(char const*) const' >"$work/expected"
	if sort "$work/left" | cmp -s - "$work/expected"; then
		echo "- added and removed but for the two templates: as expected$(sed 's/.*/`&`/' "$work/expected" | tr '\n' ' ' | sed 's/^/: /; s/ $//')"
	else
		failed=1
		echo '- added and removed but for the two templates: **not as expected**'
	fi

	unpack sqlite3 bookworm "$work/sqlite" >"$work/version"
	(mkdir "$work/amalgamation" && cd "$work/amalgamation" && ../sqlite/configure --disable-tcl >/dev/null 2>&1 && make sqlite3.c >/dev/null 2>&1)
	for which in old same/deeper statement inlined; do
		mkdir -p "$work/sqlite-$which"
		cp "$work"/amalgamation/sqlite3.[ch] "$work/sqlite-$which"
	done
	sed -i 's/const int ARRAY_INCR = 5;/const int ARRAY_INCR = 7;/' "$work/sqlite-statement/sqlite3.c"
	sed -i '1i /* one\n two\n three */' "$work/sqlite-inlined/sqlite3.c"
	sed -i 's/  if( gap+2+nByte>top ){/  if( gap+3+nByte>top ){/' "$work/sqlite-inlined/sqlite3.c"
	for which in old same/deeper statement inlined; do
		(cd "$work/sqlite-$which" && gcc -O2 -g -fPIC -shared -o sqlite3.so sqlite3.c)
	done
	echo
	echo "## One statement: SQLite's amalgamation from $(cat "$work/version")"
	echo
	ms=$(compare "$work/sqlite-old/sqlite3.so" "$work/sqlite-same/deeper/sqlite3.so")
	echo "$(stat -c %s "$work/sqlite-old/sqlite3.so") bytes with debug information, $("$ASSAY_JSON" .compared <"$work/json") functions; without the sources."
	echo
	echo "Two builds in different directories, $ms ms:"
	echo
	for kind in modified added removed renamed inline_host compiled_differently caller line_numbers; do expect $kind; done
	echo
	ms=$(compare "$work/sqlite-old/sqlite3.so" "$work/sqlite-statement/sqlite3.so")
	echo "One constant in \`growVTrans\`, which is not inlined, $ms ms:"
	echo
	for kind in added removed renamed inline_host compiled_differently caller line_numbers; do expect $kind; done
	expect modified growVTrans
	echo
	ms=$(compare "$work/sqlite-old/sqlite3.so" "$work/sqlite-inlined/sqlite3.so")
	echo "One constant in \`allocateSpace\`, which is inlined into \`insertCell\` and nowhere else, and three lines in front of all, $ms ms:"
	echo
	for kind in added removed renamed compiled_differently caller; do expect $kind; done
	expect modified allocateSpace
	expect inline_host insertCell
	count line_numbers
} >"$work/page"
evidence_done
[ "$failed" = 0 ] || { echo 'evidence: not all is as expected' >&2; exit 1; }
