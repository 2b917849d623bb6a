#!/bin/sh
# Results of other tools become results of applications: real files of hyperfine and of Google Benchmark, CSV, and a file as the Phoronix Test
# Suite writes it.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

lab=$tmp/lab
run init "$lab"
expect_status 0
import() {
	run -C "$lab" result import "$@"
}

what='hyperfine'
hyperfine -N -r 12 -w 1 --export-json "$tmp/hyperfine.json" true >/dev/null 2>&1 || skip "hyperfine is not there"
import "$tmp/hyperfine.json" --application nothing --version 1
refused 2 'does not name the machine' '--machine NAME'
import "$tmp/hyperfine.json" --application nothing --version 1 --machine node1 --format json
expect_status 0
expect_json .from hyperfine
expect_json .rows 12
expect_json .results_added 12
import "$tmp/hyperfine.json" --application nothing --version 1 --machine node1 --format json
expect_json .results_added 0
expect_json .results_known 12
import "$tmp/hyperfine.json" --application nothing --version 2 --machine node1
expect_status 0
holds "$tmp/err" 'a remark' 'results of nothing@2 are those of nothing@1, measured at the same time'
# The same commands, half as slow again: the gate finds what was done to the numbers.
/usr/bin/python3 - "$tmp" <<'P'
import json, sys
said = json.load(open(sys.argv[1] + '/hyperfine.json'))
one = said['results'][0]
for name, factor in (('a', 1), ('b', 1.5)):
    one['times'] = [.01 * factor * (1 + .001 * i) for i in range(12)]
    json.dump(said, open(f'{sys.argv[1]}/{name}.json', 'w'))
one['exit_codes'] = [0] * 9 + [1, None, 2]
said['results'].append(dict(one, command='other'))
json.dump(said, open(sys.argv[1] + '/failed.json', 'w'))
P
touch -d 2026-01-02 "$tmp/a.json"
touch -d 2026-01-03 "$tmp/b.json"
for n in 1 2 3; do
	import "$tmp/a.json" --application made --version a --machine "node$n"
	import "$tmp/b.json" --application made --version b --machine "node$n"
	expect_stdout '12 results of made@b, read from hyperfine: 12 new, 0 known before.'
done
run -C "$lab" gate made@a made@b --format json
expect_status 4
expect_json '.reasons[0].code' order_confounded
# Unless they took turns, which only the user knows: known results learn it.
for version in a b; do
	for n in 1 2 3; do
		import "$tmp/$version.json" --application made --version $version --machine "node$n" --interleaved
		expect_stdout '0 new, 12 known before.'
	done
done
run -C "$lab" gate made@a made@b --format json
expect_status 3
expect_near .ratio 1.5 1e-9

what='failed measurements are none'
import "$tmp/failed.json" --application two --version 1 --machine node1 --format json
expect_json .rows 18
expect_json .failed 6
run -C "$lab" result list
expect_stdout 'two/other' 'two/true'

what='names do not hang on what succeeded'
for failing in 1:false 2:true; do
	printf '{"context": {"date": "2026-11-21T10:00:00+00:00", "host_name": "node7"}, "benchmarks": [%s, %s]}' \
		'{"name": "BM_sort", "run_type": "iteration", "real_time": 10, "time_unit": "us"}' \
		"{\"name\": \"BM_err\", \"run_type\": \"iteration\", \"error_occurred\": ${failing#*:}, \"real_time\": 10, \"time_unit\": \"us\"}" >"$tmp/gb.json"
	import "$tmp/gb.json" --application myb --version "${failing%:*}"
	expect_status 0
done
expect_stdout '1 result of myb/BM_sort@2'
run -C "$lab" result show myb/BM_sort@2 --format json
expect_json .results 1
/usr/bin/python3 - "$tmp" <<'P'
import json, sys
said = json.load(open(sys.argv[1] + '/failed.json'))
said['results'][1]['exit_codes'] = [1] * 12
json.dump(said, open(sys.argv[1] + '/allfailed.json', 'w'))
P
import "$tmp/allfailed.json" --application two --version 2 --machine node1
expect_stdout 'two/true@2'

what='several versions in one file'
printf 'application,version,machine,time,result\nv,1.0,m,1764000000,2\nv,1.1,m,1764000000,3\n' >"$tmp/versions.csv"
import "$tmp/versions.csv"
expect_stdout '2 results of v@1.0 and other versions, read'

what='Google Benchmark'
cat >"$tmp/b.cc" <<'E2'
#include <benchmark/benchmark.h>
static void BM_turn(benchmark::State &s)
{
	for (auto _ : s)
		for (int i = 0; i < s.range(0); i++)
			benchmark::DoNotOptimize(i);
	s.SetItemsProcessed(s.iterations() * s.range(0));
}
BENCHMARK(BM_turn)->Arg(100)->Arg(10000);
static void BM_broken(benchmark::State &s)
{
	s.SkipWithError("out of order");
	for (auto _ : s)
		;
}
BENCHMARK(BM_broken);
BENCHMARK_MAIN();
E2
if g++ -O1 -o "$tmp/b" "$tmp/b.cc" -lbenchmark -lpthread 2>/dev/null; then
	"$tmp/b" --benchmark_repetitions=3 --benchmark_min_time=0.01 --benchmark_out="$tmp/g.json" --benchmark_out_format=json >/dev/null 2>&1
	import "$tmp/g.json" --version 2 --format json
	expect_status 0
	expect_json .from gbench
	expect_json .rows 6
	expect_json .failed 3
	host=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["context"]["host_name"])' "$tmp/g.json")
	run -C "$lab" result show BM_turn/10000 --format json
	expect_json '.results[0].machine' "$host"
	# In seconds, and when it was: as another reader of the file has it.
	/usr/bin/python3 - "$tmp/g.json" "$tmp/out" <<'P' || fail 'a value or the time differs from the file'
import datetime, json, sys
file = json.load(open(sys.argv[1]))
rows = [b for b in file['benchmarks'] if b['run_name'] == 'BM_turn/10000' and b['run_type'] == 'iteration']
stored = json.load(open(sys.argv[2]))['results']
when = datetime.datetime.fromisoformat(file['context']['date']).timestamp() * 1000
assert [r['metric'] for r in stored] == [b['real_time'] * 1e-9 for b in rows], (stored, rows)
assert all(r['taken_ms'] == when for r in stored), (stored, when)
P
	import "$tmp/g.json" --version 2 --metric items_per_second --application rate
	expect_status 0
	run -C "$lab" result list --format json
	[ "$(/usr/bin/python3 -c 'import json, sys; print({r["application"]: r["higher_is_better"] for r in json.load(sys.stdin)["applications"]}["rate/BM_turn/100"])' <"$tmp/out")" = True ] ||
		fail 'more items a second are not better'
	import "$tmp/g.json" --version 2 --metric nothing
	refused 2 "no benchmark of $tmp/g.json has a metric 'nothing'"
else
	echo 'Google Benchmark is not there: excluded'
fi

what='CSV'
printf 'bench,commit,host,date,secs\nx,a,n1,2026-01-01T01:00:00+01:00,1.5\nx,a,n1,2026-01-01T00:00:00Z,1.75\nx,b,n1,2026-01-02 01:00:00,bad\nx,b,n1,2026-01-02T01:00:00x01:00,3\n' >"$tmp/c.csv"
columns=application=bench,version=commit,machine=host,time=date,result=secs
import "$tmp/c.csv"
refused 2 "c.csv:1: no column 'result'" 'bench, commit'
import "$tmp/c.csv" --columns what=bench
refused 2 "'what=bench' is not of the form MEANING=COLUMN"
import "$tmp/c.csv" --columns "$columns"
expect_status 0
expect_stdout '2 results of x@a' "the time cannot be read, or is in the future (first in line 5: '2026-01-02T01:00:00x01:00' is neither a date" \
	'1: the result is not a finite number (first in line 4)'
run -C "$lab" result show x@a --format json
expect_json '.results[0].taken_ms' 1767225600000
expect_json '.results[1].taken_ms' 1767225600000
expect_json '.results[1].repetition' 2
expect_json '.results[1].metric' 1.75
printf 'result\n3\n4\n' >"$tmp/bare.csv"
import "$tmp/bare.csv" --machine n1
refused 2 '--application NAME'
import "$tmp/bare.csv" --machine n1 --application bare --version 1 --time 1767225600
expect_status 0
printf 'result\n3\n5\n' >"$tmp/bare.csv"
import "$tmp/bare.csv" --machine n1 --application bare --version 1 --time 1767225600
refused 2 'is 5 here, but 4 is stored'

what='Phoronix Test Suite'
cat >"$tmp/p.xml" <<'E2'
<?xml version="1.0"?>
<PhoronixTestSuite>
  <Generated><Title>t</Title></Generated>
  <System><Identifier>node1</Identifier><Hardware>Processor: x</Hardware><TimeStamp>2021-10-20 08:33:00</TimeStamp></System>
  <System><Identifier>node2</Identifier><TimeStamp>2021-10-20 08:40:00</TimeStamp></System>
  <Result>
    <Identifier>pts/compress-7zip-1.10.0</Identifier><Title>7-Zip</Title><Description>Test: Rating</Description><Proportion>HIB</Proportion>
    <Data>
      <Entry><Identifier>node1</Identifier><Value>4130</Value><RawString>4120:4130:4140</RawString></Entry>
      <Entry><Identifier>node2</Identifier><Value>5130</Value><RawString>5120:5130:5140</RawString></Entry>
    </Data>
  </Result>
  <Result><Identifier>pts/x265-1.3.0</Identifier><Description/><Proportion>LIB</Proportion>
    <Data><Entry><Identifier>node1</Identifier><Value>12.5</Value></Entry><Entry><Identifier>node2</Identifier><Value/></Entry></Data></Result>
</PhoronixTestSuite>
E2
import "$tmp/p.xml" --version 3 --format json
expect_status 0
expect_json .from phoronix
expect_json .rows 7
expect_json .failed 1
run -C "$lab" result show 'pts/compress-7zip-1.10.0/Test: Rating' --format json
expect_json '.results[4].machine' node2
expect_json '.results[4].metric' 5130
expect_json '.results[4].repetition' 2
expect_json '.results[4].taken_ms' 1634719200000

what='one machine, whose systems are what was compared on it'
import "$tmp/p.xml" --machine x --application on-x
expect_stdout 'on-x/pts/compress-7zip-1.10.0/Test: Rating@node1 and other versions'
run -C "$lab" result show 'on-x/pts/compress-7zip-1.10.0/Test: Rating@node2' --format json
expect_json '.results[0].machine' x
expect_json .results 3

what='a file as the suite saves it: one run that measures two things, another test, a monitor'
# result IDENTIFIER TITLE ARGUMENTS DESCRIPTION SCALE PROPORTION FORMAT VALUE RAW
result() {
	cat <<E2
  <Result>
    <Identifier>$1</Identifier>
    <Title>$2</Title>
    <AppVersion>1.23</AppVersion>
    <Arguments>$3</Arguments>
    <Description>$4</Description>
    <Scale>$5</Scale>
    <Proportion>$6</Proportion>
    <DisplayFormat>$7</DisplayFormat>
    <Data>
      <Entry>
        <Identifier>ci &amp; more</Identifier>
        <Value>$8</Value>
        <RawString>$9</RawString>
        <JSON>{"compiler-options":{"compiler-type":"CXX","compiler":"g++"},"test-run-times":"24.18:17.79"}</JSON>
      </Entry>
    </Data>
  </Result>
E2
}
suite() {
	cat <<'E2'
<?xml version="1.0"?>
<!--Phoronix Test Suite v10.8.4-->
<PhoronixTestSuite>
  <Generated>
    <Title>nightly</Title>
    <LastModified>2026-09-29 22:55:10</LastModified>
    <TestClient>Phoronix Test Suite v10.8.4</TestClient>
    <Description>KVM testing on Debian 12 via the Phoronix Test Suite.</Description>
  </Generated>
  <System>
    <Identifier>ci &amp; more</Identifier>
    <Hardware>Processor: 19/01 (4 Cores), Memory: 8GB</Hardware>
    <Software>OS: Debian 12, Kernel: 6.1.102 (x86_64)</Software>
    <User>ubuntu</User>
    <TimeStamp>2026-09-29 22:54:14</TimeStamp>
    <TestClientVersion>10.8.4</TestClientVersion>
    <Notes></Notes>
    <JSON>{"cpu-microcode":"0x1000065"}</JSON>
  </System>
E2
	result pts/leveldb-1.1.0 LevelDB '--benchmarks=fillsync' 'Benchmark: Fill Sync' MB/s HIB BAR_GRAPH "${1:-}" "${1:+0.4:0.5:0.6}"
	result pts/leveldb-1.1.0 LevelDB '--benchmarks=fillsync' 'Benchmark: Fill Sync' 'Microseconds Per Op' LIB BAR_GRAPH 7012.1 7011.9:7012.0:7012.4
	result pts/leveldb-1.1.0 LevelDB '--benchmarks=readhot' 'Benchmark: Hot Read' 'Microseconds Per Op' LIB BAR_GRAPH 3.5 3.4:3.6
	result '' 'CPU Temperature Monitor' '' 'Phoronix Test Suite System Monitoring' Celsius '' LINE_GRAPH 35,36,38.5 ''
	echo '</PhoronixTestSuite>'
}
leveldb='pts/leveldb-1.1.0/Benchmark: Fill Sync'
for megabytes in 0.5 ''; do # where one has failed, the other keeps its name
	suite $megabytes >"$tmp/suite.xml"
	import "$tmp/suite.xml" --version "v$megabytes" --format json
	expect_status 0
	expect_json .rows "$([ "$megabytes" ] && echo 9 || echo 6)"
	expect_json .not_used.bad_row 1
	run -C "$lab" result show "$leveldb (--benchmarks=fillsync, Microseconds Per Op)@v$megabytes" --format json
	expect_json .results 3
	expect_json .higher_is_better false
	expect_json '.results[2].metric' 7012.4
	expect_json '.results[0].machine' 'ci & more'
	expect_json '.results[0].taken_ms' 1790722454000
done
run -C "$lab" result show "$leveldb (--benchmarks=fillsync, MB/s)@v0.5" --format json
expect_json .results 3
expect_json .higher_is_better true
run -C "$lab" result show "$leveldb (--benchmarks=fillsync, MB/s)@v" --format json
expect_json .results 0
expect_json .failed 1
run -C "$lab" result show 'pts/leveldb-1.1.0/Benchmark: Hot Read (--benchmarks=readhot, Microseconds Per Op)@v' --format json
expect_json .results 2
suite 0.5 | sed 's/Hot Read/Fill Sync/; s/readhot/fillsync/' >"$tmp/same.xml"
import "$tmp/same.xml" --version 3 # two results of one name, arguments and unit: which is which is not known
expect_stdout '3 results of' "5: it cannot be distinguished from another result of the file (first in Result[1].Entry[0]: ${leveldb% Sync}"

what='files that are none'
for text in '' '{' '{}' '[]' '<a' '<a/>' '{"results": 3}' '{"results": [{"command": "x", "times": ["y"]}]}' '{"benchmarks": []}' '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'; do
	printf '%s' "$text" >"$tmp/none"
	import "$tmp/none" --machine n1 --application x
	[ "$status" = 2 ] || [ "$status" = 6 ] || fail "status $status for '$text'"
	expect_error none
done
{ echo result && yes 1 | head -n 1000001; } >"$tmp/none" # bounded memory
import "$tmp/none" --machine n1 --application x
refused 2 'more than 1000000 measurements'
still=$(sqlite3 "$lab/.assay/runs.db" 'SELECT count(*) FROM run')
[ "$still" -gt 0 ] || fail 'the store is empty'
finish
