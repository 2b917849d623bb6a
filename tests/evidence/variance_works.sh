#!/bin/sh
# Whether clusters of fixed work are the works that there were, in programs whose work is known: by statements, by arguments alone, by nothing.
# A minute or two.
. tests/lib_evidence.sh
. tests/lib_debian.sh
rounds=${ROUNDS:-1000}
sources=$work/sources
for program in bzip2 lz4 sqlite3; do unpack $program bookworm "$sources/$program" >/dev/null; done
(cd "$sources/sqlite3" && ./configure --disable-tcl --disable-readline && make -s sqlite3.c) >/dev/null
# works_of NAME: what else is compiled.
works_of() {
	case $1 in
	bzip2) (cd "$sources/bzip2" && for f in blocksort bzlib compress crctable decompress huffman randtable; do echo "$PWD/$f.c"; done; echo "-I$PWD -DWORKS_BZIP2") ;;
	lz4) (cd "$sources/lz4/lib" && echo "$PWD/lz4.c $PWD/lz4hc.c -I$PWD -DWORKS_LZ4") ;;
	sqlite3) (cd "$sources/sqlite3" && echo "$PWD/sqlite3.c -I$PWD -DWORKS_SQLITE3 -DSQLITE_THREADSAFE=0 -DSQLITE_TEMP_STORE=3 -lm -ldl -lpthread") ;;
	esac
}
# library_of NAME: the same, with the library's code in a library, of which calls can be recorded.
library_of() {
	flags=
	for word in $(works_of "$1"); do case $word in -*) flags="$flags $word" ;; esac; done
	gcc -O2 -w -fPIC -shared -o "$work/lib$1.so" $(works_of "$1")
	gcc -O2 -w -o "$work/$1.called" tests/bench/variance_works.c $flags "$work/lib$1.so"
}
# row NAME PROGRAM SITE WHAT [OPTION]...
row() {
	name=$1 program=$2 site=$3 what=$4
	shift 4
	rm -rf "$work/records"
	ASSAY_INTERPOSE_BYTES_PER_S=0 "$assay" record -o "$work/records" --overhead 0 "$@" -- "$program" "$name" "$rounds" "$work/truth" >/dev/null 2>&1
	found=$(build/release/tests/bench_variance_works "$work/records" "$work/truth" "$site")
	echo "| $name | $what $found" >>"$work/rows"
}
for name in own bzip2 lz4 sqlite3; do
	"$assay" build --for work -- gcc -O2 -w -o "$work/$name.counting" tests/bench/variance_works.c $(works_of $name)
	gcc -O2 -w -o "$work/$name.plain" tests/bench/variance_works.c $(works_of $name)
	row $name "$work/$name.counting" write 'statements are counted'
	row $name "$work/$name.plain" write 'nothing but calls'
	case $name in
	bzip2) called=BZ2_bzBuffToBuffCompress:4 ;;
	lz4) called=LZ4_compress_HC:3 ;;
	*) continue ;;
	esac
	library_of $name
	row $name "$work/$name.called" "${called%:*}:return" "calls of a function, with an argument (\`--call $called\`)" --call $called
done
{
	evidence_head 'Clusters of fixed work'
	cat <<-END_TEXT
	Programs that do one of nine works between two writes, $rounds times, whichever chance says (tests/bench/variance_works.c): loops of which the data decide a part;
	bzip2 and lz4 (-9), texts of three lengths, each as digits, as words and as runs; sqlite3 (without its locks, which are calls), three queries about three parts of a table.
	Every call is recorded and no processor counts. The V-measure (Rosenberg and Hirschberg, 2007) is 1 where clusters are the works, and 0 where they say nothing of them; .95 is asked
	where statements are counted. Works that differ by less than 5 % are one.

	| program | what is recorded | work is known by | pieces | works | clusters | V-measure |
	| --- | --- | --- | --- | --- | --- | --- |
	END_TEXT
	cat "$work/rows"
} >"$work/page"
evidence_done
