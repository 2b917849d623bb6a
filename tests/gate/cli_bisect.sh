#!/bin/sh
# The commit that made a program slower, among 64, in at most nine builds; with noise, with commits that do not build, and after kill -9.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

tidy() {
	kill_marked
}

run_lab bisect
rm "$lab/apps/tiny.yaml" "$lab"/apps/*.example* 2>/dev/null
mkdir "$tmp/code" "$tmp/scratch"
git_in() {
	git -C "$tmp/code" -c user.name=a -c user.email=a@localhost -c commit.gpgsign=false "$@"
}
git_in init -q -b main
# 64 commits behind v1; from the 41st on it costs a tenth more; the 20th and the 44th do not build.
for n in $(seq 0 64); do
	cost=100
	[ "$n" -lt 41 ] || cost=110
	cat >"$tmp/code/cost.sh" <<END
#!/bin/sh
# commit $n
i=\$(cat "$tmp/scratch/$n" 2>/dev/null || echo 0)
echo \$((i + 1)) >"$tmp/scratch/$n"
while [ -e "$tmp/scratch/hold" ]; do sleep .05; done
awk -v n=\$i -v m=$n 'BEGIN { x = sin(n * 78.233 + m) * 43758.5453; x -= int(x); printf "cost %.6f\n", $cost * (1 + .01 * x) }'
END
	printf '#!/bin/sh\n' >"$tmp/code/build.sh"
	case $n in 20 | 44) printf 'exit 1\n' >>"$tmp/code/build.sh" ;; esac
	chmod 755 "$tmp/code/cost.sh" "$tmp/code/build.sh"
	git_in add . && git_in commit -q -m "change $n"
	[ "$n" -gt 0 ] || git_in tag v1
done
first=$(git_in rev-list --reverse v1..main | sed -n 41p)
cat >"$lab/apps/app.yaml" <<E2
versions:
  main: { git: { repository: '$tmp/code', reference: main, build: [./build.sh] }, command: ['{build}/cost.sh'] }
repetitions: 3
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9.]+)' }
E2

what='refused'
run -C "$lab" bisect app --good v1 --bad v9
refused 2 "has no commit 'v9'"
run -C "$lab" bisect app --good main --bad v1
refused 2 "'main' is not an ancestor of 'v1'"
run -C "$lab" bisect app --good main --bad main
refused 2 'the same commit'
run -C "$lab" bisect app@other --good v1 --bad main
refused 2 'no version other is built from git'
run -C "$lab" bisect app --good v1
refused 2 '--bad REV is required'

what='killed in the middle'
touch "$tmp/scratch/hold"
"$ASSAY" -C "$lab" bisect app --good v1 --bad main >/dev/null 2>&1 &
first_process=$!
for _ in $(seq 200); do
	sleep .1
	[ -e "$tmp/scratch/0" ] && break
done
kill -9 "$first_process"
wait "$first_process" 2>/dev/null
rm "$tmp/scratch/hold"

what='found'
run -C "$lab" bisect app --good v1 --bad main --format json
expect_status 0
expect_json .outcome found
expect_json .first.commit "$first"
expect_json .first.subject 'change 41'
expect_json .commits 64
cases=$((cases + 1))
[ "$(json .builds)" -le 10 ] || fail 'too many builds' # one may be a commit that does not build
cases=$((cases + 1))
[ "$(find "$tmp/scratch" -type f | wc -l)" -le 9 ] || fail 'too many versions were run'

what='asked again, nothing is run'
cat "$tmp"/scratch/* >"$tmp/before"
run -C "$lab" bisect app@main --good v1 --bad main
expect_status 0
expect_stdout "found  $(echo "$first" | cut -c 1-12) is the first bad commit of 64" 'change 41'
cat "$tmp"/scratch/* >"$tmp/after"
expect_same_files "$tmp/before" "$tmp/after"

what='nothing to find'
run -C "$lab" bisect app --good v1 --bad main~30 --format json
expect_status 0
expect_json .outcome nothing_to_find

what='it cannot be told'
git_in checkout -q -b unsteady v1
sed -i 's/ + .01 \* x/ + .9 * x/' "$tmp/code/cost.sh"
git_in commit -q -a -m unsteady
run -C "$lab" bisect app --good v1 --bad unsteady # inconclusive, or environment where this machine is busy
expect_stdout 'cannot tell  whether unsteady is slower than v1: '
run -C "$lab" bisect app --good v1 --bad unsteady --format json
expect_json .outcome cannot_tell

what='behind one that does not build'
git_in checkout -q -b side v1
printf '#!/bin/sh\nexit 1\n' >"$tmp/code/build.sh"
git_in commit -q -a -m broken
git_in checkout -q main -- .
git_in commit -q -a -m slower
run -C "$lab" bisect app --good v1 --bad side
expect_status 4
expect_stdout 'not certain  it is between' '2 of 2 commits'
finish
