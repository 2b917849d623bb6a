# What programs read: the JSON of each command, on a small laboratory, is as docs/schema says. In the build with sanitizers answers_fit holds that of
# all other scripts against it as well.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_here.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
tidy() { kill_marked; }

# keys COMMAND ARGUMENT...: adds what it prints to $tmp/answers.
keys() {
	name=$1
	shift
	what="$name $*"
	# shellcheck disable=SC2086 # a command may have two words
	run -C "$lab" $name "$@" --format json
	expect_json_parses
	printf '{"words": ["assay", "%s"], "answer": ' "$(echo "$name" | sed 's/ /", "/g')" >>"$tmp/answers"
	cat "$tmp/out" >>"$tmp/answers"
	echo '}' >>"$tmp/answers"
}

# fits FILE: its answers are as docs/schema says.
fits() {
	cases=$((cases + 1))
	/usr/bin/python3 "$ASSAY_SOURCE/tests/schemas.py" answers "$1" >"$tmp/out" 2>"$tmp/err" || fail "not as docs/schema says"
}

make_package "$tmp/some" 12 6
lab_of some
lab=$tmp/some.lab
keys 'host import' "$tmp/some/t/machines.csv"
keys 'result export' "$tmp/tables"
printf 'result\n3\n' >"$tmp/results.csv"
keys 'result import' "$tmp/results.csv" --machine node01 --application results
keys 'host list'
keys 'host list --types'
keys 'check'
keys 'host drift'
keys 'suggest' same@1.0
keys 'host accept' node01 --reason test
keys 'host list --fingerprints'
keys 'host show --passes' node01
keys 'host show' node01 node02
keys 'result list'
keys 'result show' same@1.0
keys 'profile' same@1.0
keys 'profile' same@1.0 --model paper
keys 'predict' same@1.0 --machine node01
keys 'gate' app/slow@1.0 app/slow@1.1
keys 'report' app/slow@1.0 app/slow@1.1 -o "$tmp/page.html"
keys 'baseline accept' same@1.1 --reason test
keys 'baseline list'
keys 'history' app/slow
keys 'backup' "$tmp/backup"
printf '%s' '{"applications": [{"application": "app/slow", "version": "1.0", "plan": "p", "taken_ms": 1, "repetitions": 4, "min_effect": 0.03, "waited": null,
"machines": [], "identical": {"pairs": 1, "resampled": 0, "pass": 1, "improved": 0, "regression": 0, "inconclusive": 0, "environment": 0, "seen_again": 0, "improved_again": 0,
"repetitions": 4}, "planted": []}]}' >"$lab/calibration.json"
keys 'gate' app/slow@1.0 app/slow@1.1
keys 'host retire' node08 --reason 'sold'
keys 'host rename' node07 other
keys 'host show' other
keys 'host show' node08
keys 'host drift'
keys 'host list'

# ---- what runs on this machine ----

cat >"$tmp/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile long sink;
__attribute__((noinline)) void changed(long n) { for (long i = 0; i < n; i++) sink += i * FACTOR; }
int main(int argc, char **argv)
{
	for (long i = 0; i < 60; i++)
		changed(20 + i);
	printf("cost %d\n", argc);
	return argc > 2 ? atoi(argv[2]) : 0;
}
END
for version in a b; do
	mkdir "$tmp/$version"
	[ $version = a ] && factor=1 || factor='(i % 7 + 1)'
	gcc -O2 -g -fpatchable-function-entry=5 "-DFACTOR=$factor" -o "$tmp/$version/p" "$tmp/p.c" || exit 1
done
make_lab here
cat >"$lab/apps/p.yaml" <<END
command: ['{build}/p', '{arguments}']
versions: { a: { directory: $tmp/a }, b: { directory: $tmp/b } }
inputs: { good: { arguments: [1] }, bad: { arguments: [1, 3] } }
repetitions: 2
metric: { source: regex, pattern: 'cost ([0-9]+)' }
probe: { budget: 0 }
END
battery "$tmp/tiny.yaml" 1 60 cpu:600
keys 'host list'
keys 'host check'
mkdir "$tmp/away"
echo 'hosts: [{ name: away, address: 127.0.0.1, port: 1 }]' >"$tmp/away/lab.yaml"
lab=$tmp/away keys 'host check' # a problem that does not hang on what else the machine does
keys 'host measure' --battery "$tmp/tiny.yaml"
keys 'host show --passes' here
keys 'run' p --dry-run
keys 'run' p
keys 'calibrate' p/good@a --budget 1s --pairs 2
keys 'run' p --probe --inputs good
keys 'result show' p/good@a
keys 'result show' p/bad@a --failed --output
keys 'inspect' p/good@a
keys 'inspect' p/good@a --show ''
keys 'detect' p/good@a p/good@b --rate 0.3
keys 'gate' p/good@a p/good@b
printf 'comparisons: [{ application: p, candidates: [b], against: [a], inputs: [good], budget: 5s }]\nfingerprints: { battery: none }\n' >"$lab/suite.yaml"
keys 'nightly run' --dry-run
keys 'nightly run'
decision=$(json '.decisions[0].id')
keys 'nightly show --list'
keys 'nightly show'
keys 'nightly pages' -o "$tmp/pages"
keys 'explain' "$decision"
keys 'verify' "$decision"
keys 'history' p/good
keys 'prune' --older-than 0
keys 'changes' "$tmp/a/p" "$tmp/b/p"
keys 'changes' "$tmp/a/p" "$tmp/b/p" --all
keys 'inspect' "$tmp/a/p"
mkdir "$tmp/slow" "$tmp/still"
"${ASSAY_VARIANCE:?}" "$tmp/slow" 3 2 coupled 1:.5:1:queue:2
"$ASSAY_VARIANCE" "$tmp/still" 3 2 coupled
keys 'timeline' "$tmp/slow"
keys 'timeline --follow' "$tmp/slow" --window 100

what='all of them'
fits "$tmp/answers"
what='a member that no schema has, or one that is missing, is refused'
for wrong in '"more": 1, ' ''; do
	echo "{\"words\": [\"assay\", \"init\"], \"answer\": {$wrong\"laborator${wrong:+y}\": \"lab\"}}" >"$tmp/wrong"
	(fits "$tmp/wrong") | grep -q '^FAIL' || fail 'it is not'
done

finish
