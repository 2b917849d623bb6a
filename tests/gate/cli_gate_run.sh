#!/bin/sh
# Measuring until there is a decision: more repetitions where nothing is settled, none where it is, and an end with the budget.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

tidy() {
	kill_marked
}

run_lab spent "$(hosts_here 3)"
# cost.sh FACTOR NOISE: a cost around FACTOR, off by NOISE parts of it at most; the same at the same place in the order.
cat >"$lab/apps/tiny/cost.sh" <<'END'
#!/bin/sh
n=$(cat "$3/$1.count" 2>/dev/null || echo 0)
echo $((n + 1)) >"$3/$1.count"
awk -v f="$1" -v noise="$2" -v n="$n" 'BEGIN { x = sin(n * 78.233 + f) * 43758.5453; x -= int(x); printf "cost %.6f\n", f * (1 + noise * x) }'
END
chmod 755 "$lab/apps/tiny/cost.sh"

# application NAME NOISE
application() {
	cat >"$lab/apps/$1.yaml" <<END
files: [tiny/cost.sh]
command: ['{files}/cost.sh', '{arguments}', '$2', "$tmp/scratch"]
versions:
  old: { command: ['{files}/cost.sh', '100', '$2', "$tmp/scratch"] }
  same: { command: ['{files}/cost.sh', '100.001', '$2', "$tmp/scratch"] }
  worse: { command: ['{files}/cost.sh', '150', '$2', "$tmp/scratch"] }
repetitions: 2
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9.]+)' }
END
}
application quiet .001
application noisy .3

what='settled at the first look'
run -C "$lab" gate quiet@old quiet@same --run --format json
expect_status 0
expect_json .decision pass
expect_json .spent.looks 1
expect_json .spent.repetitions 2
expect_json .spent.runs 12

what='results that do not count are told'
expect_json .set_aside '(nothing)'
run -C "$lab" run quiet --versions old --quiet
run -C "$lab" gate quiet@old quiet@same --format json
expect_json .set_aside.baseline 6
expect_json .set_aside.candidate 0
expect_json '.machines[0].baseline_runs' 2
run -C "$lab" gate quiet@old quiet@same
expect_stdout 'only its latest runs in which both took turns: 6 results of old and 0 of same are set aside'

what='not settled at once: doubled'
run -C "$lab" gate noisy@old noisy@worse --run --format json -w host1,host2
expect_status 3
cases=$((cases + 2))
[ "$(json .spent.repetitions)" -gt 2 ] || fail 'more repetitions'
[ "$(json .spent.looks)" -le 4 ] || fail 'not more looks than needed'

what='a budget ends it'
application wild .9
run -C "$lab" gate wild@old wild@same --run --budget 1s --format json
expect_status 4
expect_json .spent.budget_ended true
expect_stdout '"what_it_takes"'
repetitions=$(json .spent.repetitions)

what='who decides later uses the same interval'
low=$(json .effect.low)
run -C "$lab" gate wild@old wild@same --format json
expect_status 4
expect_json .effect.low "$low"

what='what does not go together'
run -C "$lab" gate wild@old wild@same --budget 1s
refused 2 '--budget, --hosts, --exclude and --why belong to --run'
run -C "$lab" gate wild@old quiet@same --run
refused 2 'two versions of one application'
run -C "$lab" gate wild@old wild@same --run --budget never
refused 2 '90s, 20m or 2h'
finish
