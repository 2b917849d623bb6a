# Two source trees on this machine, of a git repository or of directories: what is built, from what, what is answered, and that nothing is written
# where the sources come from.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
cd "$tmp" || exit 1
export XDG_CACHE_HOME="$tmp/cache" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
unset CC CFLAGS
mkdir -p cache repo/src

# A program whose function `walk` makes ten times as many steps in the second commit; `idle` changes, too, and costs nothing. Where functions are
# counted, which takes long, it has less to do; and where it has a second argument it writes that file then, and waits.
source_of() {
	cat >repo/src/work.c <<END
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static unsigned idle(unsigned x) { return x + $2; }

__attribute__((noinline)) static unsigned walk(unsigned x)
{
	for (volatile int i = 0; i < $1; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

int main(int argc, char **argv)
{
	FILE *file = fopen(argv[1], "r");
	unsigned x = idle((unsigned)argc);
	int counted = getenv("ASSAY_EMULATE_DIRECTORY") != NULL;

	if (!file)
		return 3;
	if (counted && argc > 2 && fopen(argv[2], "w"))
		sleep(100);
	for (int i = 0; i < (counted ? 2 : 100); i++)
		x = walk(x);
	printf("%u\n", x);
	return 0;
}
END
}
git -C repo init --quiet --initial-branch=main
printf 'all:\n\t@echo made >>made\n\t$(CC) -O1 -g -o src/work src/work.c\n' >repo/Makefile
source_of 30000 1
git -C repo add .
git -C repo commit --quiet -m one
git -C repo tag v1
source_of 300000 2
git -C repo commit --quiet -a -m two
git -C repo tag v2
source_of 1500000 2 # long enough for samples
git -C repo commit --quiet -a -m long
git -C repo tag long
echo 'int library(void) { return 2; }' >repo/src/library.c
git -C repo add .
git -C repo commit --quiet -m library
git -C repo tag library
# Another name for the function that takes most of the time, while `idle` takes a third of that.
sed -i 's/walk/wander/; s/unsigned idle(unsigned x) {/& for (volatile int i = 0; i < 50000000; i++);/' repo/src/work.c
git -C repo commit --quiet -a -m renamed
git -C repo tag renamed
source_of 300000 2
sed -i 's/^int main/this is no C/' repo/src/work.c
git -C repo commit --quiet -a -m broken
git -C repo tag broken
echo 'not committed' >>repo/src/work.c # a work tree that is dirty, and an index that is
echo x >repo/staged
git -C repo add staged
echo x >repo/untracked
echo words >input

# It was measured; how that is decided on a busy machine is no matter of this test (test_here_compare.c), and what is named is only where it is
# slower. The function is ten times as slow, and takes nearly all of the time.
measured() {
	cases=$((cases + 1))
	case $status in 3 | 4 | 5) ;; *) fail 'it was not measured' ;; esac
	[ "$status" = 3 ] && grep -q '"function"' "$tmp/out"
}

# The repository, with its index and times.
state_of() {
	find repo -printf '%p %s %T@ %i\n' | LC_ALL=C sort
	git -C repo for-each-ref
}
state_of >before

unchanged() {
	cases=$((cases + 1))
	state_of | cmp -s - before || fail "the repository was changed: $(state_of | diff before - | head -n 5)"
}

for tag in v1 v2; do
	mkdir "$tag"
	git -C repo archive "$tag" | tar -x -C "$tag"
done

what='two commits'
run diff --git repo v1 v2 --build make --budget 8 --format json -- ./src/work input
expect_json_parses
expect_json .baseline.version v1
expect_json .candidate.version v2
expect_json .a.command './src/work input'
expect_json '.trees[1].commit' "$(git -C repo rev-parse v2)"
if measured; then
	expect_json .decision regression
	expect_stdout '"name": "walk"' '"source": "src/work.c"' '"line": 6' '"change": "modified"'
	cases=$((cases + 1))
	case $(json .cause) in *'most in walk (src/work.c:6, modified, mostly at src/work.c:'[89]'): more work at each call; '*) ;; *) fail "the cause is: $(json .cause)" ;; esac
	expect_json .why.code null .functions.explains true
	cases=$((cases + 1))
	grep -q '"hottest_line": "src/work.c:[89]"' "$tmp/out" || fail 'the loop has the hottest line' # its head or its body, by chance
fi
unchanged

what='for people, from what was built before'
first=$(json '.trees[0].directory')
run diff --git repo v1 v2 --build make --budget 2 --why off -- ./src/work input
measured
expect_stdout "'v2' "
cases=$((cases + 1))
[ "$(cat "$first/made")" = made ] || fail 'it was built again'

what='changed code that the program does not load'
run diff --git repo long library --build make --budget 4 -- ./src/work input
case $status in 0 | 4) expect_stdout "No function of 'work' differs between the builds" 'ldd PROGRAM' ;; esac
run diff --git repo v1 v2 --build make --budget 1 --why off -- ./src/work input
cases=$((cases + 1))
! grep -q 'No function of' "$tmp/out" || fail 'walk differs'

what='a function that only has another name is not what takes longer'
run diff --git repo long renamed --build make --budget 8 --why off --format json -- ./src/work input
if measured; then
	cases=$((cases + 1))
	case $(json .cause) in *'most in idle (src/work.c:4, '*) ;; *) fail "the cause is: $(json .cause)" ;; esac
fi

what='a slowdown of code that was not changed is measured again with functions at cache lines'
# The program does as much as its tree says. LIKE: the new version does no more where functions lie alike, as if its place had made it slower.
for version in same:10 LIKE:100 more:100; do
	mkdir "of-${version%:*}"
	cat >"of-${version%:*}/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned x;
__attribute__((noinline)) static void work(long n) { for (long i = 0; i < n; i++) x = x * 1664525u + 1013904223u; }
int main(void)
{
	char times[16] = "";
	FILE *file = fopen("times", "r");
	if (!file || !fgets(times, sizeof(times), file))
		return 1;
	work(atol(times) * 300000);
	return 0;
}
END
	echo "echo ${version#*:} >times; $([ "$version" != LIKE:100 ] || echo '[ $ASSAY_VARIANT != aligned ] || echo 10 >times;') exec gcc -O1 -g p.c -o p" \
		>"of-${version%:*}/build.sh"
done
run diff --trees of-same of-LIKE --build 'sh build.sh' --budget 8 --why off --in-tree --format json -- ./p
case $(json .reasons[0].code) in
layout) expect_json .decision inconclusive ;;
*) ! measured || fail "it is still called: $(json .decision)" ;;
esac
run diff --trees of-same of-more --build 'sh build.sh' --budget 8 --why off --in-tree --format json -- ./p
! measured || expect_stdout '"code": "layout_holds"'

what='counting ends when the user wants it, and the decision stays'
"$ASSAY" diff --git repo v1 v2 --build make --budget 8 --format json -- ./src/work input "$tmp/counts" >"$tmp/out" 2>"$tmp/err" &
compared=$!
until [ -f counts ] || ! kill -0 "$compared" 2>/dev/null; do sleep .05; done
kill -INT "$compared" 2>/dev/null
wait "$compared"
status=$?
if measured; then
	expect_stderr 'slower; counting why, run 1 of 38' 'Ctrl-C keeps the decision'
	expect_json .decision regression .why.code interrupted .functions null
	expect_stdout '"name": "walk"'
fi

what='another compiler is another build'
CFLAGS=-O2 "$ASSAY" diff --git repo v1 v1 --build make --budget 0.2 --format json -- ./src/work input >"$tmp/out" 2>"$tmp/err"
status=$?
cases=$((cases + 1))
[ "$(json '.trees[0].directory')" != "$first" ] || fail 'the same directory'
expect_json '.trees[0].directory' "$(json '.trees[1].directory')"

what='where it runs'
run diff --git repo v1 v2 --build make --budget 0.2 --in-tree --format json -- sh -c 'test -f src/work.c && exec src/work Makefile'
measured
run diff --git repo v1 v2 --build make --budget 0.2 -- ./src/work "$tmp/nonesuch"
refused 6 'exit status 3'
run diff --git repo v1 v2 --build make -- sh -c true
refused 2 "'sh' is not in the trees" --in-tree
run diff --git repo v1 v2 --build make -- ./bin/work
refused 2 "has no './bin/work'; see"
run diff --git repo v1 v2 -- ./src/work input
refused 2 "has no './src/work': no build command was given"
run diff --git repo v1 --build make -- ./src/work input
refused 2 "NEW: the repository " "has no commit './src/work'"
run diff --git repo v1 v2 --build 'make && true' -- ./src/work input
refused 2 "--build: 'make && true' needs a shell: sh -c '...'"

what='a build that fails'
run diff --git repo v1 broken --build "make --no-print-directory" -- ./src/work input
expect_status 1
expect_no_stdout
expect_stderr 'failed: exit status 2' 'no C' '.log'
cases=$((cases + 1))
! grep -q '^assay diff: \$ ' "$tmp/err" || fail 'commands that lay out the tree'
kept=$(sed -n "s/.*; see '\([^']*\).log'.*/\1/p" "$tmp/err")
cases=$((cases + 1))
[ -f "$kept/src/work.c" ] || fail "the tree of the failed build is gone: $kept"
run diff --git repo v1 v2 --build 'sh -c "exit 5"' -- ./src/work input
expect_status 1
expect_stderr 'exit status 5'
run diff --git repo v1 v2 --build "make 'x" -- ./src/work input
refused 2 --build 'not closed'
run diff --git repo v1 v2 --build ' ' -- ./src/work input
refused 2 --build
unchanged

what='what is not there'
run diff --git repo v1 nonesuch --build make -- ./src/work input
refused 2 'nonesuch'
run diff --git "$tmp/nowhere" v1 v2 --build make -- ./src/work input
refused 2 'nowhere'
run diff --git cache v1 v2 --build make -- ./src/work input
refused 2 'cache'
run diff --trees v1 nowhere --build make -- ./src/work input
refused 2 "'nowhere' is not a directory"

what='wrong usage'
run diff --git repo v1 --build make
refused 2 'OLD NEW'
run diff --git repo --trees v1 v2 -- ./x
refused 2 'exclude'
run diff --build make -- true -- true
refused 2 '--git or --trees'

what='killed while it builds'
cat >slow.sh <<END
touch "$tmp/builds"
sleep 60
END
"$ASSAY" diff --git repo v1 v2 --build "sh $tmp/slow.sh" -- ./src/work input >"$tmp/out" 2>"$tmp/err" &
compared=$!
until [ -f "$tmp/builds" ]; do sleep .05; done
kill -9 "$compared"
wait "$compared" 2>/dev/null
unchanged
run diff --git repo v1 v2 --build make --budget 0.2 --format json -- ./src/work input
expect_json '.trees[0].directory' "$first"
unchanged

what='two directories'
run diff --trees v1 v2 --build make --budget 8 --why off --format json -- ./src/work input
expect_json .candidate.version v2
expect_json '.trees[0].commit' null
cases=$((cases + 1))
[ ! -e v1/made ] || fail 'it was built in the directory itself'
if measured; then
	expect_stdout '"source": "src/work.c"' '"line": 6'
fi
run diff --trees v1 v1 --build make --budget 0.2 -- ./src/work input
cases=$((cases + 1))
[ "$status" -eq 0 ] || [ "$status" -eq 4 ] || [ "$status" -eq 5 ] || fail 'a tree differs from itself'
finish
