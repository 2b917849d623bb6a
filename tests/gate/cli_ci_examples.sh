#!/bin/sh
# The examples for a git hook and a hosted CI, with a real git: a slower change is stopped, another one is not.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v git >/dev/null || skip 'git is missing: sh tests/install test'

tidy() {
	kill_marked
}

run_lab lab "$(hosts_here 3)"
rm -f "$lab"/apps/*.yaml
export HOME="$tmp" GIT_CONFIG_NOSYSTEM=1
git config --global user.name me
git config --global user.email me@localhost
git config --global init.defaultBranch main
mkdir "$tmp/bin"
ln -s "$ASSAY" "$tmp/bin/assay"
PATH=$tmp/bin:$PATH

# commit COST TEXT
commit() {
	cat >"$tmp/code/cost.sh" <<END
#!/bin/sh
n=\$(cat "$tmp/scratch/count" 2>/dev/null || echo 0)
echo \$((n + 1)) >"$tmp/scratch/count"
awk -v n="\$n" 'BEGIN { x = sin(n * 78.233) * 43758.5453; x -= int(x); printf "cost %.6f\\n", $1 * (1 + .002 * x) }' # $2
END
	chmod 755 "$tmp/code/cost.sh"
	git -C "$tmp/code" add .
	git -C "$tmp/code" commit -qm "$2"
}
git init -q "$tmp/code"
git init -q --bare "$tmp/remote"
commit 100 first
git -C "$tmp/code" remote add origin "$tmp/remote"
git -C "$tmp/code" push -q origin main
cat >"$lab/apps/words.yaml" <<END
versions:
  main: { git: { repository: $tmp/code, reference: HEAD }, command: ['{build}/cost.sh'] }
repetitions: 2
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9.]+)' }
END

# push [OPTION...]: in $tmp/out, $tmp/err, $status
push() {
	git -C "$tmp/code" push -q "$@" origin main >"$tmp/out" 2>"$tmp/err"
	status=$?
}
what='the hook'
cp "$ASSAY_SOURCE/docs/ci/pre-push" "$tmp/code/.git/hooks/pre-push"
chmod 755 "$tmp/code/.git/hooks/pre-push"
commit 100 second
push
expect_status 0
holds "$tmp/err" 'the hook' 'not asked'
git -C "$tmp/code" config assay.laboratory "$lab"
git -C "$tmp/code" config assay.application words
git -C "$tmp/code" config assay.budget 1m
commit 100.01 third
push
expect_status 0
holds "$tmp/err" 'the hook' 'pass  '
commit 120 slower
push
expect_status 1
holds "$tmp/err" 'the hook' 'regression  ' 'the push is stopped'
cases=$((cases + 1))
[ "$(git -C "$tmp/remote" log -1 --format=%s)" = third ] || fail 'it was pushed'
push --no-verify
expect_status 0

what='the workflow'
/usr/bin/python3 -c 'import yaml' 2>/dev/null || { echo 'no python3-yaml: the workflow is excluded'; finish; }
git clone -q "$tmp/remote" "$tmp/runner"
mkdir "$tmp/steps"
/usr/bin/python3 - "$ASSAY_SOURCE/docs/ci/github-workflow.yml" "$tmp/steps" <<'END' || fail 'the workflow is not as such files are'
import sys, yaml
flow = yaml.safe_load(open(sys.argv[1]))
assert set(flow) == {"name", True, "permissions", "concurrency", "env", "jobs"}, flow.keys() # YAML 1.1 reads `on` as true
assert list(flow[True]) == ["pull_request"]
(job,) = flow["jobs"].values()
assert {"if", "runs-on", "timeout-minutes", "steps"} == set(job)
for step in job["steps"]:
    assert set(step) <= {"name", "uses", "with", "env", "run", "if"} and ("run" in step) != ("uses" in step), step
    if "run" in step:
        assert "${{" not in step["run"] # what others wrote is no part of a script
        open(sys.argv[2] + "/" + step["name"], "w").write(step["run"])
END
export LABORATORY="$lab" REPOSITORY="$tmp/code" APPLICATION=words BUDGET=1m GITHUB_ENV="$tmp/env" GITHUB_STEP_SUMMARY="$tmp/summary"
TARGET=$(git -C "$tmp/runner" rev-parse HEAD~1)
export TARGET
# step NAME: as a runner does it
step() {
	(cd "$tmp/runner" && { [ ! -f "$tmp/env" ] || . "$tmp/env"; } && export BASE HEAD && bash -e "$tmp/steps/$1") >"$tmp/out" 2>"$tmp/err"
	status=$?
}
step Compare
expect_status 0
step Decide
expect_status 3
expect_stdout '::error title=assay%3A regression of words::'
step Report
expect_status 0
holds "$tmp/summary" 'the summary' '1 regression' '| **regression** | words |'
cases=$((cases + 1))
[ -s "$tmp/runner/report.html" ] || fail 'there is no report'
finish
