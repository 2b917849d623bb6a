# assay build: variants by build systems that find their compilers in different ways, and the reasons for which there is none.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
cd "$tmp" || exit 1
export HOME="$tmp" CCACHE_DIR="$tmp/ccache" GIT_CONFIG_GLOBAL=/dev/null
unset CC CXX XDG_CACHE_HOME CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
mkdir src
cat >src/main.c <<'END_C'
int part(int);
int main(int argc, char **argv) { (void)argv; return part(argc) - 3; }
END_C
echo 'int part(int n) { return n + 2; }' >src/part.c

# patchable PROGRAM: how many of its two functions have room for the probe.
patchable() {
	objdump -d "$1" | awk '/^[0-9a-f]+ <(main|part)>:/ { here = 1; next } here && ++n > 0 { found += /nop/; here = 0 } END { print found + 0 }'
}
# The variant of the last `run` has room in both functions, and works.
built() {
	expect_status 0
	path=$(json .path)
	cases=$((cases + 2))
	[ -x "$path" ] && [ "$(patchable "$path")" = 2 ] || fail "$path has room in $(patchable "$path" 2>&1) functions"
	"$path" || fail "the variant ends with $?"
}
# not_built CODE TEXT
not_built() {
	expect_status 1
	cases=$((cases + 2))
	grep -q "^  \"reason\": \"$1\"" "$tmp/out" || fail "the reason is not $1"
	grep -qe "$2" "$tmp/out" || fail "the text has not: $2"
}
variant() { run build --for functions -o cache --format json "$@"; }

what='a plain command'
variant --sources src --program x -- gcc -O2 main.c part.c -o x
built

what='nothing is built twice, and the sources stay as they are'
variant --sources src --program x -- gcc -O2 main.c part.c -o x
built
cases=$((cases + 1))
[ "$(ls src)" = "$(printf 'main.c\npart.c')" ] && [ "$(ls -d cache/*.commands | wc -l)" = 2 ] || fail "$(ls src cache)"

what='make, with its own compiler and one of the environment or the command line'
printf 'x: main.o part.o\n\t$(CC) -O2 $^ -o $@\n' >src/Makefile
variant --sources src --program x -- make -j2
built
for compiler in gcc "$(command -v gcc)"; do
	variant --sources src --program x -- make "CC=$compiler"
	built
	CC=$compiler
	export CC
	variant --sources src --program x -- make -e
	built
	unset CC
done
if command -v clang >/dev/null; then
	variant --sources src --program x -- make CC=clang
	built
fi

what='C++ of several files with one inline function'
echo 'template <class T> T twice(T n) { for (T i = 0; i < n % 3; i++) n += i; return 2 * n; }' >src/both.hh
printf '#include "both.hh"\nint part(int n) { return twice(n) + 1; }\n' >src/part.cc
printf '#include "both.hh"\nint part(int);\nint main() { return part(twice(1)) - 5; }\n' >src/main.cc
variant --sources src --program y -- g++ -O0 main.cc part.cc -o y -s
expect_json .reason built
cases=$((cases + 1))
[ "$(objdump -d "$(json .path)" | grep -A 1 '<.*twice.*>:$' | grep -c nop)" = 1 ] || fail 'the inline function has no room'

if command -v ccache >/dev/null; then
	what='ccache, in front and in PATH'
	ccache_real=$(command -v ccache)
	for before in "CC=ccache gcc" "CC=$ccache_real $(command -v gcc)"; do
		variant --sources src --program x -- make "$before"
		built
	done
	mkdir masks
	ln -s "$ccache_real" masks/gcc
	PATH=$tmp/masks:$PATH variant --sources src --program x -- make CC=gcc
	built
fi

if command -v cmake >/dev/null; then
	what='CMake'
	printf 'cmake_minimum_required(VERSION 3.16)\nproject(x C)\nadd_executable(x main.c part.c)\n' >src/CMakeLists.txt
	variant --sources src --program build/x -- sh -c 'cmake -DCMAKE_BUILD_TYPE=Release -B build . >/dev/null && cmake --build build'
	built
	variant --sources src --program build/x -- sh -c "cmake -DCMAKE_C_COMPILER=$(command -v gcc) -B build . && cmake --build build"
	built
fi

what='configure, whose checks are not recorded, or have other names each time'
cat >src/configure <<'END_C'
#!/bin/sh
echo 'int main(void) { return 0; }' >conftest.c
for cc in ${CC:-gcc cc}; do $cc $CFLAGS conftest.c -o conftest && ./conftest && break; done
echo 'int main(void) { return 0; }' >check$$.c
$cc -c "$PWD/check$$.c" && $cc check$$.o -o check$$ && ./check$$ || exit 1
rm -f check$$*
$cc -v 2>/dev/null
printf 'x: main.c part.c\n\t%s %s main.c part.c -o x\n' "$cc" "$CFLAGS" >Makefile
END_C
chmod +x src/configure
variant --sources src --program x -- sh -c 'CFLAGS="-O1 -s" ./configure && make'
built
cases=$((cases + 1))
! grep -q conftest cache/*.commands && ! nm "$path" 2>&1 | grep -q 'no symbols' || fail 'checks are recorded, or symbols gone'

what='a program that is removed while it builds'
cp "$ASSAY" own
assay=$ASSAY
ASSAY=$tmp/own
variant --sources src --program x -- sh -c "rm -f '$tmp/own'; gcc -O2 main.c part.c -o x"
built
ASSAY=$assay

what='a commit, not what is there now, and not what another build has left'
git init -q src
git -C src add -A
git -C src -c user.name=a -c user.email=a@b commit -qm one
echo nonsense >src/part.c
variant --sources src --reference HEAD --program x -- make -f Makefile
built
variant --sources src --program x -- make
not_built build_failed 'the build command make failed'
git -C src checkout -q part.c
echo '*.o' >src/.gitignore
(cd src && gcc -c main.c part.c)
variant --sources src --program x -- make
built

what='another commit is another build, and the same one is found'
variant --sources src --reference no-such --program x -- make
expect_status 2
expect_stderr 'has no commit'

what='builds that differ from the plain one'
variant --sources src --program x -- sh -c 'gcc -O$(($(date +%N | sed "s/^0*//") % 100000000)) main.c part.c -o x'
not_built build_differs 'the plain build executes .{tree} gcc -O'
variant --sources src --program x -- sh -c 'cp main.c main$$.c; gcc -O2 main$$.c part.c -o x'
not_built build_differs 'main[0-9]*.c'
what='a build that the wrapper is not part of'
mkdir elsewhere
cp "$(command -v gcc)" elsewhere/gcc
variant --sources src --program x -- ../../elsewhere/gcc -B/usr/lib/gcc/x86_64-linux-gnu/12/ main.c part.c -o x
case $(grep reason "$tmp/out") in
*not_probed*) not_built not_probed 'called no compiler of PATH' ;;
esac
what='a static program'
variant --sources src --program x -- gcc -static main.c part.c -o x
not_built not_probed 'is a static program'
what='a program that is not made'
variant --sources src --program y -- gcc main.c part.c -o x
expect_status 2
expect_stderr "the build has no 'y'"
what='no compiler'
mkdir bin
ln -s /usr/bin/* bin
rm -f bin/cc bin/c++ bin/*gcc* bin/*g++* bin/c89* bin/c99* bin/*clang*
PATH=$tmp/bin variant --sources src --program main.c -- true
not_built no_compiler 'no C or C++ compiler in PATH'
PATH=$tmp/bin variant --sources src --program x -- gcc main.c part.c -o x
not_built no_compiler 'no C or C++ compiler in PATH'

what='here: the directory itself'
cd src || exit 1
rm -f ./*.o
run build --for functions -- make
expect_status 0
expect_no_stderr
cases=$((cases + 1))
[ "$(patchable x)" = 2 ] || fail "$(patchable x)"
run build --for functions -- make
expect_status 0
expect_stderr 'no compiler was called by name, or nothing had to be compiled'
run build --for functions -- gcc -O2 -c no-such.c
expect_status 1
expect_stderr "'gcc' ended with status 1"
what='a compiler that was remembered is not called without the rest'
"$(ls -d "$HOME"/.cache/assay-compilers-*)/gcc" --version >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 2
expect_stderr 'is assay in place of a compiler'
what='options that need each other'
run build --for functions --program x -- make
expect_status 2
run build -- make
expect_status 2

finish
