#!/bin/sh
# Files of other tools become results: values in seconds, or per second with higher better; which runs failed; and that a file is one session, so its
# repetitions never count as turns. tests/runs/recorded has files that pytest-benchmark 3.2, Catch2 2.13, Go 1.19, perf 6.1, criterion 0.3, pytest 7.2,
# CTest 3.25 and GoogleTest 1.12 wrote. That of JMH and cargo-criterion's messages follow the documented formats.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

lab=$tmp/lab recorded=$ASSAY_SOURCE/tests/runs/recorded
run init "$lab"
expect_status 0
import() {
	run -C "$lab" result import "$@"
}
# imports FILE FROM ADDED FAILED [OPTION...]: recognized as FROM, with so many results and failed runs
imports() {
	file=$1 from=$2 added=$3 failed=$4
	shift 4
	import "$recorded/$file" "$@" --format json
	expect_status 0
	expect_json .from "$from"
	expect_json .results_added "$added"
	expect_json .failed "$failed"
}
# value APPLICATION INDEX VALUE [HIGHER]: a stored result, and whether higher is better
value() {
	run -C "$lab" result show "$1" --format json
	expect_near ".results[$2].metric" "$3" 1e-15
	expect_json .higher_is_better "${4:-false}"
}

what='pytest-benchmark'
imports pytest.json pytest 12 0
run -C "$lab" result show 'test_small.py::test_sum[10]@imported' --format json
expect_json .results 6
expect_json '.results[0].machine' node1
/usr/bin/python3 - "$recorded/pytest.json" "$tmp/out" <<'P' || fail 'a value or the time differs from the file'
import datetime, json, sys
file, stored = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))['results']
assert [r['metric'] for r in stored] == file['benchmarks'][0]['stats']['data'], stored
when = datetime.datetime.fromisoformat(file['datetime'])
assert abs(stored[0]['taken_ms'] - when.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000) < 1, (stored, when)
P
imports pytest-means.json pytest 2 0 --version means
sed 's/"unversioned"/"abc12"/; s/"dirty": false/"dirty": true/' "$recorded/pytest.json" >"$tmp/commit.json"
import "$tmp/commit.json"
expect_stdout 'test_sum[10]@abc12-dirty'
import "$tmp/commit.json" --version named
expect_stdout 'test_sum[10]@named'
/usr/bin/python3 - "$recorded/pytest.json" "$tmp/many.json" <<'P'
import json, sys
said = json.load(open(sys.argv[1]))
said['benchmarks'][0]['stats']['data'] = [1 + i for i in range(2500)]
json.dump(said, open(sys.argv[2], 'w'))
P
import "$tmp/many.json" --version many
expect_stdout '1006 results' 'not used      1500 samples of benchmarks with very many samples'

what='Catch2'
import "$recorded/catch2.xml"
refused 2 'does not name the machine'
imports catch2.xml catch2 2 1 --machine m
/usr/bin/python3 - "$recorded/catch2.xml" >"$tmp/mean" <<'P'
import sys, xml.etree.ElementTree as x
print(repr(float(x.parse(sys.argv[1]).find('.//mean').get('value')) * 1e-9))
P
value sums/small 0 "$(cat "$tmp/mean")"
run -C "$lab" result show 'sums/a < b & c/large' --format json
expect_json .results 1
run -C "$lab" result show broken/throws --failed
expect_stdout 'no device'
printf '{"version": 1, "metadata": {}, "test-cases": []}' >"$tmp/catch2.json"
import "$tmp/catch2.json" --machine m
refused 2 "Catch2's JSON, which has no benchmarks" '--reporter xml'

what='criterion'
imports criterion-messages.json criterion 3 0 --machine m
value fib/20 1 "$(/usr/bin/python3 -c 'print(2100 * (1e-9 / 20))')"
new=criterion/fib/recursive/8/new
imports $new/sample.json criterion 10 0 --machine m --version sample
value fib/recursive/8@sample 9 "$(/usr/bin/python3 -c 'print(8907903.0 * (1e-9 / 102430.0))')"
imports $new/estimates.json criterion 1 0 --machine m --version estimates
value fib/recursive/8@estimates 0 "$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["slope"]["point_estimate"] * 1e-9)' "$recorded/$new/estimates.json")"
cp "$recorded/$new/sample.json" "$tmp/sample.json"
import "$tmp/sample.json" --machine m
refused 2 '--application NAME'

what='JMH'
imports jmh.json jmh 6 0 --machine m
value 'org.example.Sort.sort (size=1000, thrpt)' 3 127000 true
value 'org.example.Sort.sort (sample, 4 threads, size=1000)' 0 8.5e-06
imports jmh.json jmh 4 0 --machine m --application gc --metric gc.alloc.rate.norm
value 'gc (size=1000, thrpt)' 1 24.5

what='Go'
imports go.txt go 10 1 --machine m
expect_json .not_used.bad_row 0
value example.com/sum/BenchmarkSum-2 1 "$(/usr/bin/python3 -c 'print(repr(951.2 * 1e-9))')"
run -C "$lab" result show example.com/sum/BenchmarkBad-2 --failed
expect_stdout 'it failed (--- FAIL)'
imports go.txt go 4 1 --machine m --application rate --metric MB/s
value 'rate/example.com/sum/BenchmarkSize/n=10-2' 0 21816.2 true
import "$recorded/go.txt" --machine m --metric cpu_time
refused 2 "has a metric 'cpu_time'"
head -n 6 "$recorded/go.txt" >"$tmp/grown.txt" # a file that grows: what it had keeps its time
touch -d 2026-01-02 "$tmp/grown.txt"
import "$tmp/grown.txt" --machine m2
expect_stdout '2 results'
cp "$recorded/go.txt" "$tmp/grown.txt"
import "$tmp/grown.txt" --machine m2 --format json
expect_json .results_known 2
expect_json .results_added 8

what='Go: a benchmark that ends its program has failed'
for end in 'panic: boom\n\ngoroutine 1 [running]:\nexit status 2\nFAIL\tp\t1.2s' 'exit status 2\nFAIL\tp\t1s' '\nfatal error: all goroutines are asleep\nFAIL\tp\t1s'; do
	printf "pkg: p\nBenchmarkA-4 \t 100\t 5 ns/op\nBenchmarkQ-4   \t$end\nFAIL\n" >"$tmp/ends.txt"
	import "$tmp/ends.txt" --machine m --version "$(cksum <"$tmp/ends.txt" | cut -d' ' -f1)" --format json
	expect_json .results_added 1 .failed 1
done
printf 'pkg: p\nBenchmarkA-4 \t 100\t 5 ns/op\nFAIL\tq [build failed]\n' >"$tmp/ends.txt"
import "$tmp/ends.txt" --machine m --version unbuilt
expect_stdout 'package q [build failed] failed, but no benchmark is named'

what='perf stat'
import "$recorded/perf.json" --machine m
refused 2 'does not name the application'
imports perf.json perf 2 0 --machine m --application true
value true 0 0.161309569
expect_json '.results[0].taken_ms' 1777908610000
expect_json '.results[1].taken_ms' 1777908617000
imports perf.json perf 2 0 --machine m --application faults --metric page-faults
value faults 0 47
imports perf-repeat.json perf 1 0 --machine m --application repeat
import "$recorded/perf.json" --machine m --application none --metric cycles
refused 6 'the tool did not measure it (first in line 6: cycles: <not supported>)'
import "$recorded/perf-interval.json" --machine m --application none
refused 6 "it counts only a part of the run ('interval')"

what='JUnit'
imports junit-pytest.xml junit 2 1
imports junit-ctest.xml junit 1 2 --machine m
expect_json .not_used.not_measured 2
imports junit-gtest.xml junit 2 1 --machine m
expect_json .not_used.not_measured 3 # disabled, skipped, and one that took 0 s: too short for the file, but no failure
expect_json .not_used.zero 0
import "$recorded/junit-catch2.xml" # its host name is "tbd"
refused 2 'does not name the machine'

what='JUnit: failures without an element of their own'
junit() {
	printf '<?xml version="1.0"?><testsuite name="s" timestamp="2024-02-0%sT00:00:00"%s</testsuite>' "$@" >"$tmp/states.xml"
	import "$tmp/states.xml" --machine m --version states --format json
}
junit 1 '><testcase name="a" time="1" status="run"/><testcase name="b" time="1" status="fail"/><testcase name="c" time="1" result="failed"/>'
expect_json .results_added 1 .failed 2 .not_used.bad_row 0
junit 2 '><testcase name="a" time="1"/><error message="crashed"/>'
expect_json .results_added 1 .failed 0 .not_used.bad_row 1
junit 3 ' tests="3" failures="3"><testcase name="a" time="1"/>'
expect_json .results_added 1 .failed 0 .not_used.bad_row 1
junit 4 ' failures="1"><testcase name="a" time="1"><failure message="no"/></testcase>'
expect_json .failed 1 .not_used.bad_row 0

what='a file is one session: its repetitions are not turns'
for version in a b; do
	cp "$recorded/go.txt" "$tmp/$version.txt"
	[ $version = a ] || sed -i 's/872.1/1872.1/; s/951.2/1951.2/' "$tmp/$version.txt"
	touch -d "2026-01-02 $([ $version = a ] && echo 10 || echo 11):00" "$tmp/$version.txt"
	import "$tmp/$version.txt" --machine m --application turns --version $version
	expect_status 0
done
run -C "$lab" gate turns/example.com/sum/BenchmarkSum-2@a turns/example.com/sum/BenchmarkSum-2@b --format json
expect_status 4
holds "$tmp/out" 'the reasons' order_

what='odd files'
# odd STATUS TEXT FROM CONTENT: the error names the file, and says TEXT
odd() {
	printf '%b' "$4" >"$tmp/odd"
	import "$tmp/odd" --machine m --application odd --from "$3"
	refused "$1" odd "$2"
}
odd 2 ':2: ' pytest '{"machine_info": {},\n "benchmarks": [{"fullname":'
odd 2 "it has no list 'benchmarks'" pytest '{"machine_info": {}}'
odd 6 "it is no object with 'fullname'" pytest '{"benchmarks": [3, {}]}'
odd 6 "neither 'data' nor a 'mean'" pytest '{"benchmarks": [{"fullname": "x", "stats": {"data": []}}]}'
odd 6 'cannot be distinguished from another result' pytest '{"benchmarks": [{"fullname": "x", "stats": {"mean": 1}}, {"fullname": "x", "stats": {"mean": 1}}]}'
odd 6 'the result is above 1e100' pytest '{"benchmarks": [{"fullname": "x", "stats": {"mean": 1e200}}]}'
printf '{"machine_info": {}, "benchmarks": [{"fullname": "nan", "stats": {"mean": NaN}}]}' >"$tmp/odd"
import "$tmp/odd" --machine m
expect_stdout '0 results' 'its result is not a finite number'
echo '[{"benchmark": "x", "mode": "thrpt", "primaryMetric": {"scoreUnit": "ops/ns", "rawData": [[1e305]]}}]' >"$tmp/odd"
import "$tmp/odd" --machine m
expect_stdout '0 results' 'its result is not a finite number'
echo '{"iters": [1e-310], "times": [5e300]}' >"$tmp/odd"
import "$tmp/odd" --machine m --application odd
expect_stdout '0 results' 'its result is not a finite number'
odd 2 ':3: ' catch2 '<Catch2TestRun>\n<TestCase name="a">\n'
odd 6 'it has no mean' catch2 '<Catch2TestRun><TestCase name="a"><BenchmarkResults name="b"/></TestCase></Catch2TestRun>'
odd 2 ':2: ' criterion '{"reason": "benchmark-complete"}\n{"reason": }\n'
odd 6 'no benchmark with a name' criterion '{"reason": "benchmark-complete", "id": "x"}\n'
odd 6 'no number of iterations' criterion '{"iters": [0], "times": [5]}'
odd 2 'has no list' jmh '3'
odd 6 "no object with 'benchmark' and 'primaryMetric'" jmh '[{"benchmark": "x"}]'
odd 6 'its score is not a number' jmh '[{"benchmark": "x", "mode": "avgt", "primaryMetric": {"scoreUnit": "ns/op", "rawData": [["NaN"]]}}]'
odd 6 'it has no ns/op' go 'BenchmarkX-2 100 12'
odd 6 'no measurement' go 'BenchmarkX\nBenchmarking 3 things\n'
odd 6 'its result is missing' go 'BenchmarkX-2 \thello\n'
odd 6 'not a finite number' go 'BenchmarkX-2 100 NaN ns/op'
odd 2 ':2: ' perf '{"counter-value" : "1", "event" : "task-clock"}\n{"counter-val\n'
odd 6 'not a decimal number such as 1.5' perf '{"counter-value" : "1,5", "unit" : "msec", "event" : "task-clock"}\n'
odd 2 'has no event duration_time' perf '{"counter-value" : "1", "event" : "cycles"}\n'
odd 2 ':1: ' junit '<testsuite><testcase name="a" time="1"/>'
odd 6 "it has no 'time'" junit '<testsuite><testcase name="a"/></testsuite>'
odd 6 "'1,234.5'" junit '<testsuite><testcase name="a" time="1,234.5"/></testsuite>'
printf '<testsuite><testcase name="" time="1"/></testsuite>' >"$tmp/odd"
import "$tmp/odd" --machine m
refused 6 "the name '' is empty"
odd 6 'is neither a date' junit '<testsuite timestamp="soon"><testcase name="a" time="1"/></testsuite>'
for from in pytest catch2 criterion jmh go perf junit; do
	odd 2 'UTF-16' $from '\0377\0376{\0'
	: >"$tmp/odd"
	import "$tmp/odd" --machine m --application odd --from $from
	expect_error odd
done
{ printf '\357\273\277' && cat "$recorded/go.txt"; } >"$tmp/bom.txt"
import "$tmp/bom.txt" --machine m --version bom
expect_stdout '10 results'
finish
