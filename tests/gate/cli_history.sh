#!/bin/sh
# What an application cost over versions, with changes that are known: their place, their size, the machines, spikes, modes.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# series NAME COST [VERSION]: forty points on three machines, of which the second is twice as slow as the first; cost(n) in awk gives the cost of
# the nth, and VERSION, an expression, which version it is of: without it, each of one of its own.
series() {
	mkdir -p "$tmp/$1"
	awk -v header="$HEADER" -v name="$1" '
	function version(n) { return '"${3:-n}"' }
	function noise() { seed = (seed * 16807) % 2147483647; return 1 + .01 * (seed / 2147483647 - .5) }
	'"$2"'
	BEGIN {
		seed = 4711
		print header ",version"
		for (n = 0; n < 40; n++)
			for (m = 1; m <= 3; m++)
				for (pass = 1; pass <= 3; pass++)
					printf "url,abc,me,%d,%s,node%d,%d,%s,%.9g,v%d\n", 1500000000 + 86400 * n, name, m, pass, name, m * cost(n, m) * noise(), version(n)
	}' >"$tmp/$1/results.csv"
	lab_of "$1"
	expect_status 0
	run -C "$tmp/$1.lab" history "$1" --format json
	expect_status 0
}

what='two changes'
series stepped 'function cost(n, m) { return n < 15 ? 10 : n < 30 ? 10.8 : m == 2 ? 10.8 : 9.9 }'
expect_json .outcome changed
expect_json .changes 2
expect_json '.changes[0].version' v15
expect_json '.changes[0].after_version' v14
expect_near '.changes[0].ratio' 1.08 .01
expect_json '.changes[0].machines_moved' 3
expect_json '.changes[1].version' v30
expect_json '.changes[1].machines' 3
expect_json '.changes[1].machines_moved' 2
expect_json .points 40
expect_json '.points[20].segment' 1
expect_near '.points[20].cost' 1.08 .01
cp "$tmp/out" "$tmp/first"
run -C "$tmp/stepped.lab" history stepped --format json
expect_same_files "$tmp/out" "$tmp/first"
run -C "$tmp/stepped.lab" history stepped
expect_stdout 'changed  stepped costs' 'after 2 changes in 40 points' v15 '3 of 3' '2 of 3'
run -C "$tmp/stepped.lab" history stepped --min-effect 0.2
expect_stdout 'steady  stepped costs the same as before: no change of 20.0 % or more'

what='fixed later'
series fixed 'function cost(n, m) { return n >= 17 && n < 23 ? 12.5 : 10 }'
expect_json .outcome changed
expect_json .changes 2
expect_json '.changes[0].version' v17
expect_json '.changes[1].version' v23
expect_near '.changes[0].ratio' 1.25 .01
expect_near '.changes[1].ratio' .8 .01

what='near the ends, and between two steps'
series late 'function cost(n, m) { return n >= 38 ? 12 : 10 }'
expect_json .changes 1
expect_json '.changes[0].version' v38
series early 'function cost(n, m) { return n < 2 ? 8 : 10 }'
expect_json .changes 1
expect_json '.changes[0].version' v2
series stairs 'function cost(n, m) { return n < 20 ? 10 : n < 22 ? 11.5 : 13.5 }'
expect_json .changes 2
expect_json '.changes[0].version' v20
expect_json '.changes[1].version' v22

what='the last point alone'
series last 'function cost(n, m) { return n == 39 ? 13 : 10 }'
expect_json .outcome cannot_tell
expect_json .changes 0
run -C "$tmp/last.lab" history last
expect_stdout 'cannot tell  last costs 1.3' 'in v39 as before: one more point will distinguish a change from a spike'

what='one machine of three'
series lame 'function cost(n, m) { return m == 3 && n >= 25 ? 12 : 10 }'
expect_json .outcome changed
expect_json .changes 1
expect_json '.changes[0].version' v25
expect_json '.changes[0].machine' node3
expect_json '.changes[0].machines_moved' 1
run -C "$tmp/lame.lab" history lame
expect_stdout 'changed  lame costs 1.2' 'on one machine: node3' 'node3 alone'

what='a faster machine does not hide a slower one'
series mixture 'function cost(n, m) { return m == 1 && n >= 25 ? 12 : m == 3 && n >= 25 ? 8 : 10 }'
expect_json .outcome changed
expect_json .changes 2
run -C "$tmp/mixture.lab" history mixture
expect_stdout 'changed  mixture costs 1.1' 'from v25 on, on one machine: node1; 1 more change of single machines or versions'

what='one version that changes'
series moved 'function cost(n, m) { return n >= 25 ? 12 : 10 }' 1
expect_json .outcome changed
expect_json '.changes[0].version' v1
expect_json '.changes[0].after_version' v1
run -C "$tmp/moved.lab" history moved
expect_stdout 'within that version: the cause is outside the version' 'not caused by it'

what='too much noise'
series noisy 'function cost(n, m) { return 10 * (1 + .6 * (n * n * 7 % 11) / 11) }'
expect_json .outcome cannot_tell
run -C "$tmp/noisy.lab" history noisy
expect_stdout 'cannot tell  noisy has no visible change, but with 40 points and this noise only changes from about'

what='more is better'
mkdir "$tmp/throughput"
sed 's/stepped/throughput/g; 1s/$/,direction/; 2,$s/$/,higher/' "$tmp/stepped/results.csv" >"$tmp/throughput/results.csv"
run init "$tmp/throughput.lab"
import_package "$tmp/throughput.lab" "$tmp/throughput"
expect_status 0
run -C "$tmp/throughput.lab" history throughput --format json
expect_near '.changes[0].ratio' .926 .01

what='a spike is no change'
series spiky 'function cost(n, m) { return n == 11 || n == 25 ? 14 : 10 }'
expect_json .outcome steady
expect_json '.points[11].spike' true
expect_json '.points[25].spike' true
expect_json '.points[12].spike' false

what='two modes are no changes'
series moody 'function cost(n, m) { return n * n % 7 % 3 == 1 ? 10 : 12 }'
expect_json .outcome steady
expect_near '.modes[0].low' 1 .01
expect_near '.modes[0].high' 1.2 .01
expect_json '.modes[0].decided_by' unknown # each version was measured once
run -C "$tmp/moody.lab" history moody
expect_stdout 'steady  ' 'the cause may be the versions or outside them'

what='where the version decides, the order of measurement is no mood'
series bisected 'function cost(n, m) { return version(n) < 6 ? 10 : 14.5 }' 'n * 5 % 8'
expect_json .outcome by_version
expect_json .changes 0
expect_json '.modes[0].decided_by' versions
expect_json '.modes[0].high_versions' 2
expect_json '.modes[0].high_versions[0]' v7
expect_json '.modes[0].high_versions[1]' v6
run -C "$tmp/bisected.lab" history bisected
expect_stdout 'by version  bisected costs 1.4' 'in 2 of 8 versions' 'the version decides between two levels' 'the higher one is that of v7, v6'
run -C "$tmp/bisected.lab" history bisected --min-effect 0.6
expect_stdout 'steady  '

what='where the same version is on both levels, something else decides'
series other 'function cost(n, m) { return n * n % 7 % 3 == 1 ? 10 : 12 }' 'n % 5'
expect_json '.modes[0].decided_by' other
run -C "$tmp/other.lab" history other
expect_stdout 'the cause is outside the versions'

what='too short'
sed '/,v\([5-9]\|[0-9][0-9]\)$/d' "$tmp/moody/results.csv" >"$tmp/results.csv"
mkdir "$tmp/short"
mv "$tmp/results.csv" "$tmp/short"
lab_of short
run -C "$tmp/short.lab" history moody
expect_status 0
expect_stdout 'too short  5 points of moody'

what='architectures are never merged'
mkdir "$tmp/mixed"
awk -v header="$HEADER" 'BEGIN {
	print header ",version,battery,battery_hash,stress_ng,architecture"
	for (m = 1; m <= 3; m++)
		printf "url,abc,me,1500000000,stressng,node%d,1,cpu,%d,,b,h,1,%s\n", m, m, m < 3 ? "x86_64" : "aarch64"
	for (n = 0; n < 40; n++)
		for (m = 1; m <= 3; m++)
			for (pass = 1; pass <= 3; pass++)
				printf "url,abc,me,%d,mixed,node%d,%d,mixed,%.9g,v%02d,,,,\n", 1500000000 + 86400 * n, m, pass,
					(m < 3 ? 10 : n < 15 ? 3 : 4) * (1 + .001 * (n * 7 % 10 + pass)), n
}' >"$tmp/mixed/results.csv"
lab_of mixed
run -C "$tmp/mixed.lab" history mixed --format json
expect_json .architecture x86_64
expect_json .other_architectures 1
expect_json .other_architectures[0].architecture aarch64
expect_json .other_architectures[0].results 120
expect_json .machines 2
expect_json .outcome steady
expect_json .points[0].runs 6
run -C "$tmp/mixed.lab" history mixed --architecture aarch64 --format json
expect_json .architecture aarch64
expect_json .machines 1
expect_json .changes 1
expect_json '.changes[0].version' v15
expect_near '.changes[0].ratio' 1.333 .01
expect_json .points 40
run -C "$tmp/mixed.lab" history mixed
expect_stdout 'never combined: these are from x86_64' '120 of aarch64 have their own history: --architecture aarch64'

what='refused'
run -C "$tmp/mixed.lab" history mixed --architecture riscv64
refused 2 "no results of 'mixed' are known to be from the architecture 'riscv64'"
run -C "$tmp/short.lab" history mody
refused 2 "no application 'mody' (did you mean 'moody'?"
run init "$tmp/inputs.lab"
printf '%s\n' 'hosts: [{ name: h1, transport: local, type: t1, on: here }]' >"$tmp/inputs.lab/lab.yaml"
printf '%s\n' 'versions: { v1: { command: [true] } }' 'inputs: { small: , large: }' 'repetitions: 1' >"$tmp/inputs.lab/apps/parts.yaml"
run -C "$tmp/inputs.lab" run parts --quiet
run -C "$tmp/inputs.lab" history parts
refused 2 "'parts' has results by input, name one: ' parts/large, parts/small"

what='a metric of which more is better'
printf '%s\n' "metric: { pattern: 'rate ([0-9]+)', direction: higher }" 'versions: { a: { command: [echo, rate 100] }, b: { command: [echo, rate 200] } }' \
	'repetitions: 1' >"$tmp/inputs.lab/apps/rate.yaml"
run -C "$tmp/inputs.lab" run rate --versions a --quiet
run -C "$tmp/inputs.lab" run rate --versions b --quiet
run -C "$tmp/inputs.lab" history rate --by metric --format json
expect_json '.points[1].version' b
expect_near '.points[1].cost' .7071 .001 # of the level of both; half of the other

what='the newest version fails, wholly or more often than the others'
for failing in 5 3; do
	awk -v failing=$failing 'BEGIN {
		print "application,version,machine,time,exit_status,result"
		for (v = 1; v <= 9; v++)
			for (n = 1; n <= 5; n++)
				printf "app%d,v%d,m,2025-01-%02dT00:00:%02dZ,%d,%s\n", failing, v, v, n, v == 9 && n <= failing, 1 + n / 1000
	}' >"$tmp/failing.csv"
	run -C "$tmp/inputs.lab" result import "$tmp/failing.csv"
	run -C "$tmp/inputs.lab" history app$failing
	expect_stdout "fails  $failing of 5 runs of app$failing@v9 failed, more than of the versions before v9"
	run -C "$tmp/inputs.lab" history app$failing --format json
	expect_json .outcome fails
	expect_json .failed $failing
done
awk 'BEGIN {
	print "application,version,machine,time,exit_status,result"
	for (v = 1; v <= 12; v++)
		for (n = 1; n <= 5; n++)
			printf "slower,v%d,m,2025-01-%02dT00:00:%02dZ,%d,%s\n", v, v, n, v == 12 && n == 1, (v > 6 ? 2 : 1) + n / 1000
}' >"$tmp/failing.csv"
run -C "$tmp/inputs.lab" result import "$tmp/failing.csv"
run -C "$tmp/inputs.lab" history slower --format json
expect_json .outcome changed # one run that failed does not hide that
expect_json .failed 1
run -C "$tmp/inputs.lab" history slower
expect_stdout '; 1 of 5 runs of slower@v12 failed, more than of the versions before v12'

what='failures of a while, up to now or until they were mended, stay visible'
awk 'BEGIN {
	print "application,version,machine,time,exit_status,result"
	split("up_to_now mended flaky", names)
	for (a = 1; a <= 3; a++)
		for (v = 10; v <= 29; v++)
			for (n = 1; n <= 5; n++)
				printf "%s,v%d,m,2025-01-%02dT00:00:%02dZ,%d,%s\n", names[a], v, v, n,
					(a == 1 && v >= 20) || (a == 2 && v >= 20 && v < 24) || (a == 3 && n == 1), 1 + n / 1000
}' >"$tmp/failing.csv"
run -C "$tmp/inputs.lab" result import "$tmp/failing.csv"
run -C "$tmp/inputs.lab" history up_to_now
expect_stdout 'fails  5 of 5 runs of up_to_now@v29 failed, more than of the versions before v20' '2025-01-20  v20           5     5'
run -C "$tmp/inputs.lab" history mended
expect_stdout 'steady  mended costs' 'in 16 points; 20 of 100 runs failed' '2025-01-23  v23           5     5'
run -C "$tmp/inputs.lab" history mended --format json
expect_json .failures[0].version v20 .failures[3].version v23 .failures[3].failed 5 .failures[3].runs 5
run -C "$tmp/inputs.lab" history flaky
expect_stdout 'steady  flaky costs' 'in 20 points; 20 of 100 runs failed'
finish
