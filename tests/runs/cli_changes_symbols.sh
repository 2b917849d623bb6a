# assay changes: how functions are named and found by what compilers write: files and lines of each version of DWARF, symbols of Rust, what
# starts a file, and builds without debug information.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
command -v gcc >/dev/null && command -v g++ >/dev/null || skip 'gcc and g++ are needed'
. "$ASSAY_SOURCE/tests/lib_changes.sh"
cd "$tmp" || exit 1

# two COMPILER FLAGS... SOURCE: builds $tmp/1 and $tmp/2, of which the first has -DV=1, the second -DV=2.
two() {
	compiler=$1
	shift
	compile "$compiler" 1 -DV=1 "$@"
	compile "$compiler" 2 -DV=2 "$@"
}

# ---- files and lines ----

cat >inner.h <<'END_C'
static inline __attribute__((always_inline)) int inner(int x) { return (x ^ V) * x; }
END_C
cat >place.c <<'END_C'
#include "inner.h"
__attribute__((noinline)) static int local(int x) { return x * V + 3; }
__attribute__((noinline)) int everybodys(int x)
{
	return inner(x) + local(x);
}
int main(int argc, char **argv) { (void)argv; return everybodys(argc); }
END_C

# expect_place NAME PLACE: what people read.
expect_place() {
	cases=$((cases + 1))
	grep -q "^  $1  $2\$" "$tmp/out" || { fail "$1 should be at $2"; sed 's/^/  out: /' "$tmp/out"; }
}
while read -r compiler flags; do
	what="the places of functions: $compiler $flags"
	command -v "$compiler" >/dev/null || { echo "not tried, $compiler is not here: $what"; continue; }
	# shellcheck disable=SC2086
	two "$compiler" $flags place.c
	run changes 1 2 --list list
	expect_status 0
	expect_place local place.c:2
	expect_place everybodys place.c:3
	expect_place inner inner.h:1
	cases=$((cases + 1))
	awk -F '\t' '$1 == "everybodys" && $3 == "place.c" && $4 == 3 { n++ } END { exit n != 1 }' list || { fail 'the list should have it'; cat list; }
done <<'END_ROWS'
gcc -O2 -gdwarf-4
gcc -O2 -gdwarf-5
gcc -O0 -gdwarf-5 -flto
clang-14 -O2 -gdwarf-4
clang-14 -O2 -gdwarf-5
clang-14 -O0 -gdwarf-5
clang-14 -O2 -gdwarf-5 -ffunction-sections -gz
END_ROWS

# ---- Rust ----

# rust HASHES OUTPUT: two functions as Rust would name them, by the hashes of one build; `plain` calls the other.
rust() {
	sed "$1" <<'END_C' >rust.c
int total8(int) __asm__("_RNvMNtCsaENSZCjIpM2_1m4shopINtB2_4ItemhE5totalB4_");
int total32(int) __asm__("_RNvMNtCsaENSZCjIpM2_1m4shopINtB2_4ItemmE5totalB4_");
int older(int) __asm__("_ZN1m4shop13Item$LT$T$GT$5total17h1a0c8b4bed187cffE");
int dots(int) __asm__("_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE");
int other_dots(int) __asm__("_ZN4core3ptr46drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$17hfedcba9876543210E");
extern int counter __asm__("_RNvCsaENSZCjIpM2_1m7COUNTER");
int counter = 7;
#define APART __attribute__((noinline, noclone))
APART int total8(int x) { return x * V + counter++; }
APART int total32(int x) { return x * 5 + counter; }
APART int older(int x) { return total8(x) + total32(x + 1) * 9; }
APART int dots(int x) { return older(x) * 11 + x; }
APART int other_dots(int x) { return older(x) * 13 + x; }
int main(int argc, char **argv) { (void)argv; return dots(argc) + other_dots(argc); }
END_C
	shift
	compile gcc "$@" -O2 rust.c
}
what='symbols of Rust whose hashes differ'
hashes='s/CsaENSZCjIpM2_/CsbFOTADkJqN3_/; s/17h1a0c8b4bed187cffE/17h75fb11023f70d29cE/; s/17h0123456789abcdefE/17h00112233445566f7E/'
rust '' 1 -DV=1
rust "$hashes" 2 -DV=1
changes 1 2
expect_list
expect_json .compared 7
rust "$hashes" 2 -DV=2
changes 1 2
expect_list 'modified <m::shop::Item<u8>>::total'
what='hashes of another length, which move everything that refers back'
rust 's/CsaENSZCjIpM2_1m4shopINtB2_4Item\(.\)E5totalB4_/CsNSZCjIpM2_1m4shopINtB2_4Item\1E5totalB4_/' 2 -DV=2
changes 1 2
expect_list 'modified <m::shop::Item<u8>>::total'
what='names of Rust that have dots'
rust "$hashes
s/x \\* 11 + x/x * 12 + x/" 2 -DV=1
changes 1 2
expect_list
sed -i 's/older(x) \* 11/older(x) * 12/' rust.c && compile gcc 2 -O2 -DV=1 rust.c
changes 1 2 --wrapper 0
expect_list 'modified core::ptr::drop_in_place<alloc::string::String>'

what='programs of rustc'
cat >crate.rs <<'END_RS'
#![no_std]
#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
pub struct Item<T> { v: T }
impl<T: Copy + Into<u64>> Item<T> {
    #[inline(never)] pub fn total(&self, n: u64) -> u64 { let v: u64 = self.v.into(); v.wrapping_mul(n).wrapping_add(V) }
}
#[inline(never)] fn each<F: Fn(u64) -> u64>(n: u64, f: F) -> u64 { let mut s = 0u64; for i in 0..n { s = s.wrapping_add(f(i)); } s }
#[no_mangle] pub extern "C" fn api(n: u64) -> u64 { each(n, |x| x ^ Item { v: n as u8 }.total(x)) ^ Item { v: 3u32 }.total(n) }
END_RS
if command -v rustc >/dev/null && rustc --version >/dev/null 2>&1; then
	for mangling in '' '-C symbol-mangling-version=v0'; do
		for version in 1 2; do
			{ cat crate.rs; echo "const V: u64 = $version;"; } >rust.rs
			# shellcheck disable=SC2086
			rustc -g -O -C panic=abort --crate-type cdylib -C "metadata=build$version" $mangling rust.rs -o "$version" 2>compiler ||
				{ cat compiler; skip "this rustc cannot compile for: $what"; }
		done
		changes 1 2
		cases=$((cases + 2))
		[ "$(grep -c '^modified .*Item<.*>.*::total$' list)" = 2 ] || { fail 'both instances of total() changed'; cat list; }
		grep -q '^added\|^removed' list && { fail 'nothing was added or removed'; cat list; }
	done
else
	echo "not tried, rustc is not here: $what"
fi

# ---- what starts a file ----

cat >start.cc <<'END_C'
#include <cstdlib>
struct X { char *s; X(const char *t) : s(strdup_of(t)) {} ~X() { std::free(s); } static char *strdup_of(const char *t); };
char *X::strdup_of(const char *t) { char *s = (char *)std::malloc(9); if (s) s[0] = t[0]; return s; }
X FIRST("one"), other(NAME);
int main(int argc, char **) { return argc + other.s[0] * V; }
END_C
cat >more.cc <<'END_C'
#include <string>
std::string text(20, 'x');
static std::string *again = new std::string(text + "y");
int more() { return (int)again->size(); }
END_C
# start NUMBER COMPILER FLAGS...
start() {
	output=$1 compiler=$2
	shift 2
	compile "$compiler" "$output" "$@" -lstdc++
}
for compiler in g++ clang++-14; do
	command -v "$compiler" >/dev/null || { echo "not tried, $compiler is not here: what starts a file"; continue; }
	what="$compiler: a file's first variable has another name"
	start 1 "$compiler" -O2 -DV=1 -DFIRST=first '-DNAME="a"' start.cc
	start 2 "$compiler" -O2 -DV=1 -DFIRST=uno '-DNAME="a"' start.cc
	changes 1 2
	expect_list
	what="$compiler: the initial value of a variable"
	start 2 "$compiler" -O2 -DV=1 -DFIRST=first '-DNAME=std::getenv("HOME")' start.cc
	changes 1 2
	cases=$((cases + 1))
	grep -qE '^modified (__static_initialization|__cxx_global|_GLOBAL__sub_I)' list || { fail 'it changed'; cat list; }
	expect_json '.functions[0].new.file' start.cc
	what="$compiler: another file in the program"
	start 2 "$compiler" -O2 -DV=1 -DFIRST=first '-DNAME="a"' start.cc more.cc
	changes 1 2
	expect_change 'added more()'
	cases=$((cases + 1))
	grep '_sub_\|_GLOBAL_' list && fail 'it is of the compiler'
done
what='the registration of files with a sanitizer'
echo 'int table[4] = { 1, 2, 3 }; int more(int x) { return table[x & 3]; }' >more.c
if compile gcc 1 -fsanitize=address -DV=1 place.c && compile gcc 2 -fsanitize=address -DV=1 place.c more.c; then
	cases=$((cases + 1))
	nm 2 | grep -q '_sub_I_00099_' || fail 'there should be something to leave out'
	changes 1 2
	expect_list 'added more'
fi

# ---- without debug information ----

cat >library.c <<'END_C'
#include <stdio.h>
#include <string.h>
static int state, steps[4] = { 1, 2, 3, 4 };
#if V == 3
int many_more[100] = { 1 };
#endif
__attribute__((noinline)) static int hidden(int x)
{
	state += x;
#if V == 3
	if (x > 7)
		state *= x + 3;
#endif
	return x * 3 + state;
}
int api_a(int x) { return hidden(x) * (V == 2 ? 7 : 5); }
int api_b(int x)
{
	static const char *const words[] = { "a", "bb" };

	puts(words[x & 1]);
	return hidden(x) + steps[x & 3];
}
int api_c(const char *s) { return (int)strlen(s) + api_a(3) + hidden(2) + ++state; }
END_C
for v in 1 2 3; do
	compile gcc whole$v -O2 -fPIC -shared -DV=$v library.c
	cp whole$v symbols$v && strip -g symbols$v
	cp whole$v stripped$v && strip stripped$v
done
what='a library without debug information'
changes symbols1 symbols2 --wrapper 0
expect_list 'modified api_a'
expect_json .known_from symbols
expect_json '.functions[0].new.file' null
run changes symbols1 symbols2
expect_stdout 'The builds have no debug information' 'Build both with -g'

what='a stripped library'
changes stripped1 stripped2 --wrapper 0
expect_list 'modified api_a'
expect_json .known_from exported_symbols
run changes stripped1 stripped2
expect_stdout 'The builds are stripped: only exported functions are compared' "before 'strip'"
what='a stripped library: what is not exported moves and changes'
changes stripped1 stripped3
expect_list
run changes stripped1 stripped3
expect_stdout 'No exported function changed.'
what='one of two is stripped'
run changes stripped1 whole2
refused 2 "'stripped1' is stripped, and 'whole2' has debug information" 'compare two builds of the same kind'
run changes symbols1 stripped2
refused 2 "'symbols1' has symbols, but no debug information" "'stripped2' is stripped"
changes whole1 whole2 --wrapper 0
expect_list 'modified api_a'
expect_json .known_from debug_information

what='a number that has a symbol, and is an address of code by chance, is no function'
for v in 1 2; do
	printf '.globl number\n.type number,@function\n.size number,32\nnumber = 0x11%s0\n' $v >fixed.s
	compile gcc fixed$v -O2 -fPIC -shared -DV=$v library.c fixed.s
	strip -g fixed$v
done
changes fixed1 fixed2 --wrapper 0
expect_list 'modified api_a'

what='debug information beside a file without a build-id is known by its checksum'
for v in 1 2; do
	compile gcc plain$v -O2 -fPIC -shared -Wl,--build-id=none -DV=$v library.c
	objcopy --only-keep-debug plain$v plain$v.debug
	strip plain$v && objcopy --add-gnu-debuglink=plain$v.debug plain$v
done
changes plain1 plain2 --wrapper 0
expect_list 'modified api_a'
expect_json .known_from debug_information
expect_json '.functions[0].new.file' library.c
mkdir .debug && mv plain2.debug .debug
changes plain1 plain2 --wrapper 0
expect_json .known_from debug_information
cp plain1.debug .debug/plain2.debug
run changes plain2 plain2
expect_status 0
expect_stdout 'No exported function changed.' 'The builds are stripped'
finish
