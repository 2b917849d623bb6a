# What was measured on this machine, kept as a laboratory: the gate says of it what was said at once, since both render one comparison.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

mkdir "$tmp/trees" "$tmp/trees/old" "$tmp/trees/new"
cd "$tmp" || exit 1

# same NAME: the answers of compare and gate, in $tmp/NAME.compare and .gate, have the same members with the same values, but for names, what
# only a laboratory can say, and what is known of two trees.
same() {
	cases=$((cases + 1))
	/usr/bin/python3 - "$tmp/$1.compare" "$tmp/$1.gate" <<'END' || fail 'compare and gate differ'
import json, sys

def answer(path):
    with open(path) as file:
        a = json.load(file)
    for key in ("a", "b", "trust", "trees", "why", "absent", "baseline", "candidate", "functions"):
        a.pop(key, None)
    for part in a["measured"]["parts"]:
        for key in ("change", "source", "line", "hottest_line"):
            part.pop(key, None)
    a["reasons"] = [r for r in a["reasons"] if r["code"] not in ("what_it_takes", "not_explained", "layout_holds")]
    a["cause"] = (a["cause"] or "").split("most in")[0].rstrip("; ")
    return a

compare, gate = map(answer, sys.argv[1:])
differ = [k for k in sorted(set(compare) | set(gate)) if compare.get(k, "missing") != gate.get(k, "missing")]
for key in differ:
    print(key, json.dumps(compare.get(key)), json.dumps(gate.get(key)), sep="\n")
sys.exit(len(differ) > 0 or len(compare) < 15)
END
}

# compares NAME WORDS...: both answers, and both exit statuses.
compares() {
	name=$1
	shift
	run diff --keep "$tmp/lab-$name" --budget 2 --format json "$@"
	cp "$tmp/out" "$tmp/$name.compare"
	said=$status
	run -C "$tmp/lab-$name" gate diff@"$old" diff@"$new" --format json
	cp "$tmp/out" "$tmp/$name.gate"
	cases=$((cases + 1))
	[ "$status" = "$said" ] || fail "status $status of the gate, $said of compare"
	same "$name"
}

old=a new=b
what='two commands that wait'
compares wait -- sleep 0.02 -- sleep 0.03

what='two commands that compute'
compares compute -- awk 'BEGIN { for (; i < 200000; i++) { x = x + i } }' -- awk 'BEGIN { for (; i < 300000; i++) { x = x + i } }'

what='the same command, which nobody changed'
compares same -- sh -c ': {x}; "$@"' sh true -- sh -c ': {x}; "$@"' sh true

what='two trees'
for tree in old new; do
	printf '#include <stdlib.h>\nint main(void)\n{\n\tvolatile unsigned x = 0;\n\tfor (unsigned i = 0; i < %s; i++)\n\t\tx += i;\n\treturn 0;\n}\n' \
		"$([ $tree = old ] && echo 20000000 || echo 30000000)" >trees/$tree/main.c
done
cd trees || exit 1
old=old new=new
compares trees --trees old new --why off --build 'cc -g -o loop main.c' -- ./loop
cd .. || exit 1

what='what is kept is used by other commands'
run -C "$tmp/lab-compute" profile diff@a
expect_status 0
run -C "$tmp/lab-compute" result show diff@a --format json
expect_status 0
what='which decisions fail'
run -C "$tmp/lab-compute" gate diff@a diff@b --fail-on nothing
expect_status 0
run -C "$tmp/lab-compute" gate diff@a diff@b --fail-on slower
refused 2 latent
what='a laboratory is never overwritten'
run diff --keep "$tmp/lab-wait" --budget 0.1 -- true -- true
refused 2 'lab.yaml'
finish
