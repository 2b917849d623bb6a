#!/bin/sh
# A candidate that fails in every run, on this machine: a regression where the baseline never fails, and no answer where both do.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

tidy() {
	kill_marked
}

run_lab failing
cat >"$lab/apps/broken.yaml" <<END
command: [echo, cost 3]
versions:
  good: { command: [sh, -c, 'echo cost 3'] }
  crashes: { command: [sh, -c, 'kill -SEGV \$\$'] }
  never: { command: ['false'] }
repetitions: 3
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END

what='every run of the candidate fails'
run -C "$lab" run broken
expect_status 7
run -C "$lab" gate broken@good broken@crashes
expect_status 3
expect_stdout 'regression  every run of broken@crashes failed (3 of 3); of broken@good 0' 'worse by any measure' '--failed'
run -C "$lab" gate broken@good broken@crashes --format json
expect_status 3
expect_json .decision regression '.reasons[0].code' candidate_always_fails .effect.ratio null .change.kind not_tested
run -C "$lab" report broken@good broken@crashes -o "$tmp/page.html"
expect_status 0
grep -q 'data-decision="regression"' "$tmp/page.html" || fail 'the page does not say regression'
grep -q 'failed, 0 of' "$tmp/page.html" || fail 'the page does not say how many failed'

what='nothing is compared'
run -C "$lab" gate broken@crashes broken@never
expect_status 6
run -C "$lab" gate broken@crashes broken@good # repaired
expect_status 6
run -C "$lab" compare broken@good broken@crashes # which decides nothing
expect_status 6
finish
