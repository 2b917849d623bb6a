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
expect_stdout 'regression  every run of broken@crashes failed (3 of 3); of broken@good 0' 'fails more often' '--failed'
run -C "$lab" gate broken@good broken@crashes --format json
expect_status 3
expect_json .decision regression '.reasons[0].code' candidate_always_fails .effect.ratio null .change.kind not_tested
run -C "$lab" report broken@good broken@crashes -o "$tmp/page.html"
expect_status 0
grep -q 'data-decision="regression"' "$tmp/page.html" || fail 'the page does not say regression'
grep -q 'failed (3 of 3); of' "$tmp/page.html" || fail 'the page does not say how many failed'

what='nothing is compared'
run -C "$lab" gate broken@crashes broken@never
expect_status 6
expect_stdout 'every run of broken@crashes failed (3 of 3)' 'every run of both failed'
run -C "$lab" gate broken@crashes broken@good # repaired
expect_status 6
expect_stdout 'nothing_measured  every run of broken@crashes failed (3 of 3); of broken@good 0' 'because every run of the baseline failed'
what='some runs of the candidate fail'
{
	echo application,version,machine,time,result,exit_status
	for n in 0 1 2 3 4 5 6 7 8 9; do
		echo "part,ok,m,2026-11-01T02:0$n:00Z,1.00$n,0"
		[ $n -lt 7 ] && echo "part,fast,m,2026-11-01T03:0$n:00Z,0.80$n,0" || echo "part,fast,m,2026-11-01T03:0$n:00Z,,1"
	done
} >"$tmp/part.csv"
run -C "$lab" result import "$tmp/part.csv"
run -C "$lab" gate part@ok part@fast
expect_status 4
expect_stdout 'inconclusive  the candidate fails more often, in 3 of 10 runs against 0 of 10; part@fast costs 0.'
run -C "$lab" gate part@ok part@fast --format junit
expect_stdout 'message="inconclusive: the candidate fails more often, in 3 of 10 runs against 0 of 10; fast costs 0.' \
	'>inconclusive: the candidate fails more often, in 3 of 10 runs against 0 of 10; fast costs 0.'
run -C "$lab" gate part@ok part@fast --format github
expect_stdout '::the candidate fails more often, in 3 of 10 runs against 0 of 10; fast costs 0.'
run -C "$lab" report part@ok part@fast -o "$tmp/page.html"
grep -q 'fails more often' "$tmp/page.html" || fail 'the page does not say that it fails more often'
finish
