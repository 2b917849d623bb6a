# assay changes: which functions changed between two builds. Programs are built here, in directories of their own, and edited.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
command -v gcc >/dev/null && command -v g++ >/dev/null || skip 'gcc and g++ are needed'

. "$ASSAY_SOURCE/tests/lib_changes.sh"

# ---- C ----

mkdir -p "$tmp/a" "$tmp/b/deeper/down"
cat >"$tmp/a/one.c" <<'END_C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shared.h"

static const int table[] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
static const char *const words[] = { "zero", "one", "two", "three" };
int counter, other_counter;
static _Thread_local int mine, yours;
_Thread_local int everybodys;

void fail_at(const char *file, int line, const char *text) __attribute__((noreturn, cold));
#define CHECK(x) do { if (!(x)) fail_at(__FILE__, __LINE__, #x); } while (0)

static inline __attribute__((always_inline)) int squared(int x)
{
	return (x ^ 0x1234) * x;
}

__attribute__((noinline)) int leaf(int x)
{
	counter += x;
	return counter ^ 0x55;
}

__attribute__((noinline)) static int twice(int x, int unused)
{
	CHECK(x < 1000);
	return leaf(x) + leaf(x + 1);
}

int host(int x)
{
	return squared(x) + leaf(x);
}

int second_host(int x)
{
	return leaf(squared(x + 2)) * 3;
}

int checked(int x)
{
	CHECK(x > 0);
	CHECK(x < 100);
	return table[x & 15] + twice(x, 0);
}

const char *word(int i)
{
	return words[i & 3];
}

int choose(int x)
{
	switch (x) {
	case 0: return leaf(7);
	case 1: case 8: return leaf(2) * 9;
	case 2: puts("two"); return 2;
	case 3: return everybodys++;
	case 4: return mine += 2;
	case 5: return yours *= 3;
	case 6: puts("six"); return 12;
	case 7: return leaf(x) * 11;
	}
	return other_counter;
}

int wrapper(int x)
{
	return leaf(x + 1);
}

int through_wrapper(int x)
{
	return wrapper(x) + 1;
}

int looped(const int *p, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += p[i] * table[i & 15];
	return sum;
}

int global_other(void) { return other_counter ^ 1; }
int local_other(void) { return mine -= 4; }
int import_other(const char *s) { return remove(s); }
double float_other(double x) { return x * 7.25; }

int alone(int x)
{
	printf("%d %s %s\n", x, word(x), TITLE);
	return looped(table, 16);
}
END_C
cat >"$tmp/a/shared.h" <<'END_C'
#define TITLE "title"
int main_part(int x);
END_C
cat >"$tmp/a/two.c" <<'END_C'
#include <stdio.h>
#include <stdlib.h>
#include "shared.h"
int checked(int), host(int), second_host(int), choose(int), through_wrapper(int), alone(int);

void fail_at(const char *file, int line, const char *text)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, text);
	abort();
}

/* another function of this name is in one.c */
__attribute__((noinline)) static int twice(int x)
{
	return 2 * x + 5;
}

int main_part(int x)
{
	return checked(x) + twice(x);
}

int main(int argc, char **argv)
{
	return main_part(argc) + host(argc) + second_host(argc) + choose(argc) + through_wrapper(argc) + alone(argc);
}
END_C

# again: $tmp/b/deeper/down has the sources as they were.
again() {
	rm -rf "$tmp/b/deeper/down"
	cp -R "$tmp/a" "$tmp/b/deeper/down"
	new=$tmp/b/deeper/down
	cd "$new" || exit 1
}

# edited EXPRESSION [FILE]: a build of the sources after an edit, in $new/prog.
edited() {
	again
	sed -i "$1" "${2:-one.c}"
	cmp -s "$new/${2:-one.c}" "$tmp/a/${2:-one.c}" && { echo "the edit '$1' does nothing"; exit 1; }
	compile gcc prog -O2 one.c two.c
}

cd "$tmp/a" || exit 1
compile gcc prog -O2 one.c two.c
old=$tmp/a/prog

what='two builds of one source in different directories'
again
for flags in '-O2' '-O0 -gz' '-O3 -flto' '-O2 -no-pie -fno-pie -gdwarf-4' '-O2 -fPIC -shared -fcf-protection -ffunction-sections -Wl,--gc-sections' \
	'-O2 -fno-plt -static'; do
	what="two builds of one source in different directories, gcc $flags"
	# shellcheck disable=SC2086
	(cd "$tmp/a" && compile gcc same $flags "$tmp/a/one.c" two.c) && (cd "$new" && compile gcc same $flags "$new/one.c" two.c)
	changes "$tmp/a/same" "$new/same"
	expect_list
	cases=$((cases + 1))
	cmp -s "$tmp/a/same" "$new/same" && fail 'the files should differ, or nothing is tested'
done
run changes "$tmp/a/same" "$new/same"
expect_status 0
expect_stdout 'Nothing changed.'
expect_no_stderr
if command -v clang-14 >/dev/null; then
	for flags in '-O2' '-O0 -no-pie -fno-pie'; do
		what="two builds of one source in different directories, clang $flags"
		# shellcheck disable=SC2086
		(cd "$tmp/a" && compile clang-14 same $flags "$tmp/a/one.c" two.c) && (cd "$new" && compile clang-14 same $flags "$new/one.c" two.c)
		changes "$tmp/a/same" "$new/same"
		expect_list
	done
fi

what='one statement'
edited 's/0x55/0x5a/'
changes "$old" "$new/prog"
expect_list 'modified leaf'
expect_json .compared "$(json .old.functions)"
expect_json '.functions[0].old.file' one.c
expect_json '.functions[0].old.line' 20
expect_json '.functions[0].reasons[0]' code
functions=$(json .new.functions)
run changes "$old" "$new/prog"
expect_status 0
expect_stdout "1 of $functions functions changed." 'Modified: 1' '  leaf  one.c:20'

what='lines that move'
edited '5i\\n\n'
changes "$old" "$new/prog"
expect_list 'line_numbers checked' 'line_numbers twice'
edited '/CHECK(x < 100);/i\\t/* a remark */'
changes "$old" "$new/prog"
expect_list 'line_numbers checked'
run changes "$old" "$new/prog"
expect_stdout 'Differ in line numbers only: 1 (--all lists them)'
run changes "$old" "$new/prog" --all
expect_stdout '  checked  one.c:42'

what='a number that changes with its line, but not by as much'
edited 's/x < 1000/x < 1003/; 5i\\n\n'
changes "$old" "$new/prog"
expect_list 'modified twice' 'caller checked'

what='an inline function and its hosts'
edited 's/0x1234/0x1235/'
changes "$old" "$new/prog"
expect_list 'modified squared' 'inline_host host' 'inline_host second_host' 'caller main'
expect_json '.functions[0].inlined_into[0].name' second_host
expect_json '.functions[1].because_of[0].name' squared
expect_json '.functions[1].because_of[0].reason' inlines

what='a table, a word in a table of pointers'
edited 's/3, 1, 4, 1, 5/3, 1, 4, 7, 5/; s/"two", "three"/"TWO", "three"/'
changes "$old" "$new/prog"
expect_list 'modified checked' 'modified looped' 'modified word' 'modified alone'
expect_json '.functions[0].reasons[0]' constant
expect_json '.functions[0].constant' table
run changes "$old" "$new/prog"
expect_stdout 'a constant that it reads differs (words)'

what='a literal; another variable of the same kind'
edited 's/"six"/"SIX"/; s/other_counter ^ 1/counter ^ 1/; s/mine -= 4/yours -= 4/; s/7.25/7.5/; s/remove(s)/puts(s)/'
changes "$old" "$new/prog"
expect_list 'modified choose' 'modified global_other' 'modified local_other' 'modified float_other' 'modified import_other'

what='cases of a switch that change places'
edited 's/case 4: return mine/case 5: return mine/; s/case 5: return yours/case 4: return yours/'
changes "$old" "$new/prog"
expect_list 'modified choose'

edited 's/case 1: case 8:/case 1:/; s/case 6: puts/case 6: case 8: puts/'
(cd "$tmp/a" && compile gcc table -O0 one.c two.c) && compile gcc table -O0 one.c two.c # in the order of the source: only the table differs
changes "$tmp/a/table" table
expect_list 'modified choose'

what='another function is called'
edited 's/return wrapper(x) + 1/return leaf(x) + 1/'
changes "$old" "$new/prog"
expect_change 'modified through_wrapper'
expect_unchanged leaf checked

what='an added function brings in its callers'
edited '$a\__attribute__((noinline)) int extra(int x) { return counter *= x + 3; }
	s/^\treturn leaf(x) + leaf(x + 1);/\treturn leaf(x) + leaf(x + 1) + extra(x);/; 12a\int extra(int);'
changes "$old" "$new/prog"
expect_change 'added extra' 'modified twice'
run changes "$old" "$new/prog"
expect_stdout 'calls the added function extra'

what='a removed function, and variables that move'
edited '/^int wrapper/,/^}/d; s/return wrapper(x) + 1/return leaf(x + 1) + 1/; s/^int counter/int in_front[1000], counter/'
changes "$old" "$new/prog"
expect_change 'removed wrapper'
expect_unchanged leaf host choose

what='padding that changes, and a linkage table for the control-flow protection of the processor'
flags='-O2 -falign-functions=1 -falign-loops=64:60 -fcf-protection -Wl,-z,ibtplt'
# shellcheck disable=SC2086
(cd "$tmp/a" && compile gcc padded $flags one.c two.c)
edited '/^int wrapper/,/^}/d; s/return wrapper(x) + 1/return leaf(x + 1) + 1/; s/remove(s)/puts(s)/'
# shellcheck disable=SC2086
compile gcc padded $flags one.c two.c
changes "$tmp/a/padded" padded
expect_change 'removed wrapper' 'modified import_other'
expect_unchanged looped alone choose leaf

what='a renamed function'
again
sed -i 's/\bleaf\b/leaves/g; s/\bchoose\b/select_one/g' one.c two.c
compile gcc prog -O2 one.c two.c
changes "$old" "$new/prog"
expect_list 'renamed leaves' 'renamed select_one'
expect_json '.functions[0].old.symbol' leaf
run changes "$old" "$new/prog"
expect_stdout 'leaf -> leaves  one.c:20'

what='a static function of a name that two files have'
edited 's/2 \* x + 5/2 * x + 6/' two.c
changes "$old" "$new/prog"
expect_list 'modified twice'
expect_json '.functions[0].new.file' two.c

what='a small wrapper brings in its callers'
edited 's/return leaf(x + 1);/return leaf(x + 2);/'
sed -i 's/^int wrapper/__attribute__((noipa)) int wrapper/' one.c
compile gcc prog -O2 one.c two.c
mkdir -p "$tmp/w"
cp one.c two.c shared.h "$tmp/w"
(cd "$tmp/w" && sed -i 's/return leaf(x + 2);/return leaf(x + 1);/' one.c && compile gcc prog -O2 one.c two.c)
changes "$tmp/w/prog" "$new/prog" --list "$tmp/functions" --list-old "$tmp/functions.old"
expect_list 'modified wrapper' 'caller through_wrapper' 'caller main'
expect_json '.functions[1].because_of[0].reason' calls_wrapper
changes "$tmp/w/prog" "$new/prog" --wrapper 1
expect_list 'modified wrapper'

what='the list for the probe'
cases=$((cases + 1))
[ "$(grep -vc '^#' "$tmp/functions")" = 3 ] || fail 'three functions expected'
cases=$((cases + 1))
address=$(nm "$new/prog" | sed -n 's/^0*\([0-9a-f]*\) T wrapper$/0x\1/p')
grep -qx "wrapper	$address	one.c	[0-9]*" "$tmp/functions" || { fail "wrapper at $address expected"; cat "$tmp/functions"; }
cases=$((cases + 1))
address=$(nm "$tmp/w/prog" | sed -n 's/^0*\([0-9a-f]*\) T through_wrapper$/0x\1/p')
grep -qx "through_wrapper	$address	one.c	[0-9]*" "$tmp/functions.old" || { fail "through_wrapper at $address expected"; cat "$tmp/functions.old"; }
cases=$((cases + 1))
id=$(readelf -n "$new/prog" | sed -n 's/.*Build ID: //p')
grep -qx "# build-id ${id:--}" "$tmp/functions" || fail 'the build-id should stand in it'

# ---- C++ ----

what='C++'
mkdir -p "$tmp/c" "$tmp/d"
cat >"$tmp/c/a.cc" <<'END_C'
#include <cstdio>
#include <vector>
namespace shop {
struct item { const char *name; int price; };
class basket {
public:
	basket();
	virtual ~basket();
	void add(const char *name, int price);
	virtual int total() const;
	template <typename T> __attribute__((noinline)) T scaled(T factor) const { return factor * total() + T(1); }
private:
	std::vector<item> items;
};
namespace {
__attribute__((noinline)) int hidden(int x) { return x * 7 + 1; }
}
basket::basket() { items.reserve(4); }
basket::~basket() { std::puts("gone"); }
void basket::add(const char *name, int price)
{
	if (price < 0)
		throw price;
	items.push_back({ name, hidden(price) });
}
int basket::total() const
{
	int sum = 0;
	for (const auto &i : items)
		sum += i.price;
	return sum;
}
template <typename F> __attribute__((noinline)) int each(const std::vector<item> &v, F f)
{
	int sum = 0;
	for (const auto &i : v)
		sum += f(i);
	return sum;
}
int dear(const std::vector<item> &v, int least)
{
	return each(v, [&](const item &i) __attribute__((noinline)) { return i.price > least ? i.price : 0; });
}
}
int main(int argc, char **)
{
	shop::basket b;
	b.add("apple", argc);
	return b.scaled(argc) + int(b.scaled(1.5)) + shop::dear({ { "x", argc }, { "y", 2 } }, 1);
}
END_C
# plus EXPRESSION: builds of the source and of what an edit makes of it.
plus() {
	cp "$tmp/c/a.cc" "$tmp/d/a.cc"
	sed -i "$1" "$tmp/d/a.cc"
	cd "$tmp/d" && compile "${2:-g++}" prog -O2 "$tmp/d/a.cc"
}
cd "$tmp/c" && compile g++ prog -O2 "$tmp/c/a.cc"
plus ''
changes "$tmp/c/prog" "$tmp/d/prog"
expect_list
plus 's/T(1)/T(2)/; s/i.price > least/i.price < least/; s/x \* 7 + 1/x * 7 + 2/; s/throw price/throw -price/'
changes "$tmp/c/prog" "$tmp/d/prog"
expect_list 'modified double shop::basket::scaled<double>(double) const' 'modified int shop::basket::scaled<int>(int) const' \
	'modified shop::(anonymous namespace)::hidden(int)' 'modified shop::basket::add(char const*, int)' \
	'modified shop::dear(std::vector<shop::item, std::allocator<shop::item> > const&, int)::{lambda(shop::item const&)#1}::operator()(shop::item const&) const'
plus 's/reserve(4)/reserve(8)/; s/virtual int total/virtual int more() { return 5; } virtual int total/'
changes "$tmp/c/prog" "$tmp/d/prog"
expect_change 'modified shop::basket::basket()' 'added shop::basket::more()'
expect_unchanged 'shop::basket::add.*' 'shop::basket::total() const'
if command -v clang++-14 >/dev/null; then
	what='C++, clang'
	cd "$tmp/c" && compile clang++-14 prog -O2 "$tmp/c/a.cc"
	plus '' clang++-14
	changes "$tmp/c/prog" "$tmp/d/prog"
	expect_list
	plus 's/return factor \*/return 2 + factor */' clang++-14
	changes "$tmp/c/prog" "$tmp/d/prog"
	expect_list 'modified double shop::basket::scaled<double>(double) const' 'modified int shop::basket::scaled<int>(int) const'
fi

# ---- git ----

what='with the difference of the sources'
mkdir -p "$tmp/repo/src"
cd "$tmp/repo" || exit 1
git init -q . && git config user.email test@example.org && git config user.name test
cp "$tmp/a/one.c" "$tmp/a/two.c" "$tmp/a/shared.h" src
git add -A && git commit -qm old && git tag v1
sed -i 's/0x1234) \* x/0x1234) + x/; s/^int looped/\/* how far? *\/\nint looped/' src/one.c
sed -i 's/"title"/"another title"/; s/"%s:%d: %s\\n"/"%s:%d: "  "%s\\n"/' src/shared.h src/two.c
git commit -qam new && git tag v2
mkdir -p "$tmp/e1" "$tmp/e2"
git archive v1 | tar x -C "$tmp/e1" && git archive v2 | tar x -C "$tmp/e2"
(cd "$tmp/e1/src" && compile gcc prog -O2 one.c two.c)
(cd "$tmp/e2/src" && compile gcc prog -O2 one.c two.c)
changes "$tmp/e1/src/prog" "$tmp/e2/src/prog" --git "$tmp/repo" --refs v1..v2
expect_list 'modified squared' 'inline_host host' 'inline_host second_host' 'compiled_differently alone' 'source_only fail_at' 'caller main'
expect_json '.functions[0].old.file' src/one.c
expect_json '.source.hunks' 4
expect_json '.source.old_commit' "$(git rev-parse v1)"

what='git that cannot'
run changes "$old" "$old" --git "$tmp/repo" --refs v1..v3
refused 2 "reference 'v3'" repo
run changes "$old" "$old" --git "$tmp/nowhere" --refs v1..v2
refused 2 nowhere
run changes "$old" "$old" --git "$tmp/repo" --refs --output=x..v2
refused 2 "reference '--output=x'"
run changes "$old" "$old" --git "$tmp/repo"
refused 2 '--git and --refs belong together'
for refs in v1 v1.. ..v2 a..b..c; do
	run changes "$old" "$old" --git "$tmp/repo" --refs $refs
	refused 2 '--refs: expected two references'
done
what='a build of something else'
cd "$tmp/c" && compile gcc other -O2 -x c - <<'END_C'
int main(void) { return 0; }
END_C
run changes "$tmp/c/other" "$tmp/c/other" --git "$tmp/repo" --refs v1..v2
refused 6 'no source file of the old build'

# ---- versions of an application ----

what='versions of a manifest'
cat >"$tmp/repo/build.sh" <<'END_SH'
mkdir -p bin && gcc -w -g -O2 src/one.c src/two.c -o bin/prog
END_SH
run init "$tmp/lab"
mkdir -p "$tmp/lab/apps"
cat >"$tmp/lab/apps/app.yaml" <<END_YAML
command: ['{build}/bin/prog']
versions:
  old: { git: { repository: $tmp/repo, reference: v1, build: [sh, $tmp/repo/build.sh] } }
  new: { git: { repository: $tmp/repo, reference: v2, build: [sh, $tmp/repo/build.sh] } }
  ready: { directory: $tmp/e2/src, command: ['{build}/prog'] }
  shell: { directory: $tmp/e2/src, command: [sh, -c, prog] }
END_YAML
lab=$tmp/lab
changes app@old app@new
expect_list 'modified squared' 'inline_host host' 'inline_host second_host' 'compiled_differently alone' 'source_only fail_at' 'caller main'
expect_json '.source.new_commit' "$(git -C "$tmp/repo" rev-parse v2)"
changes app@old app@ready
expect_change 'modified squared' 'inline_host host' 'modified alone'
expect_json .source null
run -C "$tmp/lab" changes app@new app@shell --object prog
refused 2 "'prog' is not a file of 'app@new'" bin/prog
run -C "$tmp/lab" changes app@ready app@shell --object prog
expect_status 0
expect_stdout 'Nothing changed.'
run -C "$tmp/lab" changes app@old app@shell
refused 2 "'sh' is not a file of 'app@shell'" '--object'
run -C "$tmp/lab" changes app@old app@none
refused 2 "no version 'none'" 'old, new, ready, shell'
run -C "$tmp/lab" changes other@old app@old
refused 2 "no application 'other'" app

# ---- debug information elsewhere ----

what='debug information in a file of its own'
cd "$tmp/e1/src" || exit 1
objcopy --only-keep-debug prog apart.debug
cp prog whole
strip prog
run changes prog prog
refused 2 "'prog' is stripped"
mv apart.debug prog.debug
run changes prog prog
expect_status 0
mv prog.debug apart.debug
objcopy --add-gnu-debuglink=apart.debug prog
changes prog "$tmp/e2/src/prog"
expect_change 'modified squared' 'inline_host host'
cp "$tmp/e2/src/prog" apart.debug
run changes prog prog
refused 2 "'prog' is stripped" 'neither next to it'
rm apart.debug
run changes prog prog
refused 2 'debug information is neither next to it nor under'

# ---- bad input ----

what='files that cannot be compared'
cd "$tmp/a" || exit 1
echo text >text
printf '#!/bin/sh\n' >script
: >empty
gcc -c -g two.c -o object.o && ar rc archive.a object.o
gcc -O1 one.c two.c -w -o plain
cp plain stripped && strip stripped
head -c 3000 "$old" >truncated
gcc -g -gsplit-dwarf -w one.c two.c -o split
cp "$old" arm && printf '\267' | dd of=arm bs=1 seek=18 conv=notrunc 2>/dev/null
cp "$old" small && printf '\001' | dd of=small bs=1 seek=4 conv=notrunc 2>/dev/null
while read -r file text; do
	run changes "$file" "$old"
	refused 2 "'$file'" "$text"
	run changes "$old" "$file"
	refused 2 "'$file'" "$text"
done <<END_ROWS
text not an ELF file
script is a script
empty is empty
object.o is an object file
archive.a an archive
stripped is stripped
truncated is truncated
split -gsplit-dwarf
arm is for aarch64
small only x86-64
nowhere no such file
END_ROWS
run changes . "$old"
expect_status 1
run changes "$old"
refused 2 'OLD and NEW'
run changes "$old" "$old" --wrapper many
refused 2 '--wrapper must be a whole number'
run changes "$old" "$old" --list "$tmp/no/such/directory"
expect_status 1
expect_error directory

what='different compilers'
cd "$tmp/b/deeper/down" && compile gcc prog -O1 one.c two.c
run changes "$old" prog
expect_stdout 'different compilers or with different options'

what='the same compilers, linked in another order'
compile gcc one.o -c -O1 one.c
compile gcc two.o -c -O2 two.c
compile gcc forth one.o two.o
compile gcc back two.o one.o
changes forth back
expect_json .other_compiler false

# ---- builds that are made to take for ever ----

what='a symbol of 658 bytes that stands for a name of 2^60'
cd "$tmp" || exit 1
symbol=_Z1f1AIiiE
for i in 0 1 2 3 4 5 6 7 8 9 A B C D E F G H I J K L M N O P Q R S T U V W X Y Z; do symbol=${symbol}S_IS${i}_S${i}_E; done
for i in 0 1 2 3 4 5 6 7 8 9 A B C D E F G H I J K L M N; do symbol=${symbol}S_IS1${i}_S1${i}_E; done
printf 'int ff(int x) __asm__("%s");\n__attribute__((noinline)) int ff(int x) { __asm__ volatile(""); return x * VER; }\nint main(int c, char **v) { (void)v; return ff(c); }\n' \
	"$symbol" >long.c
compile gcc long1 -DVER=1 long.c
compile gcc long2 -DVER=2 long.c
changes long1 long2
expect_change "modified $symbol"

# nested N: N objects, each from its own place to the end of one table; one function refers to all of them.
nested() {
	for version in 1 2; do
		awk -v n="$1" -v last="$version" 'BEGIN {
			print ".text\n.globl f\n.type f,@function\nf:"
			for (i = 0; i < n; i++) print "lea s" i "(%rip),%rax"
			print "ret\n.size f,.-f\n.globl main\n.type main,@function\nmain: ret\n.size main,.-main"
			print ".section .note.GNU-stack,\"\",@progbits\n.section .data.rel.ro,\"aw\"\n.balign 8"
			for (i = 0; i < n; i++) printf ".globl s%d\n.type s%d,@object\n.size s%d,%d\ns%d: .quad main\n", i, i, i, 8 * (n - i), i
			print ".quad " last
		}' >nested.s
		compile gcc "nested$version" -pie nested.s
	done
	times >before
	run changes nested1 nested2
	expect_status 0
	times >after
	# Processor time of what this shell has called, in hundredths of a second.
	work=$(cat before after | tr ms '  ' | awk 'NR % 2 == 0 { t[NR] = 6000 * $1 + 100 * $2 } END { print int(t[4] - t[2]) }')
}

what='objects within objects: four times as many are four times the work, not sixteen'
nested 4000
few=$work
nested 16000
cases=$((cases + 1))
[ "$work" -le $((12 * few + 100)) ] || fail "4,000 took $few hundredths of a second, 16,000 took $work"
finish
