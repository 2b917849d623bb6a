#!/bin/sh
# Rows of imported files: one that cannot be used never costs the file, one that failed counts as failed, and rows of different things never become
# repetitions of one.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

lab=$tmp/lab
run init "$lab"
expect_status 0
import() {
	run -C "$lab" result import "$@"
}
# decides BASELINE CANDIDATE STATUS: the gate, as JSON in $tmp/out
decides() {
	run -C "$lab" gate "$1" "$2" --format json
	expect_status "$3"
}
# benchmarks ROW...: a file of Google Benchmark in $tmp/g.json; each ROW is what a benchmark has besides a good one's members
benchmarks() {
	/usr/bin/python3 - "$tmp/g.json" "$@" <<'P'
import json, sys
rows = [{"name": "BM_a", "run_name": "BM_a", "run_type": "iteration", "real_time": 10 + i % 3, "time_unit": "ms", **json.loads(row)}
        for i, row in enumerate(sys.argv[2:])]
json.dump({"context": {"date": "2026-05-04T03:02:01+00:00", "host_name": "g1"}, "benchmarks": rows}, open(sys.argv[1], "w"))
P
}

# ---- failures are evidence ----

what='CSV: runs without a result'
# csv VERSION RESULT...: a file of one version in $tmp/VERSION.csv
csv() {
	version=$1
	shift
	{ echo application,version,machine,result && printf "zip,$version,c1,%s\n" "$@"; } >"$tmp/$version.csv"
}
csv good 4.1 4.2 4.15 4.12 4.18 4.11
csv some 4.1 nan 4.15 ERROR '' 4.11
csv none timeout NaN -inf Failed n/a null
csv zero 4.1 0 4.15 -1 0 4.11
for version in good some none zero; do
	import "$tmp/$version.csv" --format json
	expect_status 0
done
run -C "$lab" result list --format json
expect_json '.applications[1].failed' 6
expect_json '.applications[1].results' 0
decides zip@good zip@some 4
holds "$tmp/out" 'the reasons' runs_failed '3 of 6 runs of the candidate failed'
decides zip@good zip@zero 4
decides zip@good zip@none 3
expect_json '.reasons[0].code' candidate_always_fails
run -C "$lab" result show zip@some --failed --format json
expect_json '.failed[0].outcome' no_metric
expect_json '.failed[0].plan' null
expect_json '.failed[1].repetition' 4
expect_json '.failed[1].detail' "its result is 'ERROR'"

what='CSV: exit statuses'
printf 'application,version,machine,result,exit_status\ntar,a,c1,1,0\ntar,a,c1,1.1,0\ntar,b,c1,1,139\ntar,b,c1,1.1,-6\ntar,c,c1,1,\ntar,c,c1,1,0x0\n' >"$tmp/exit.csv"
import "$tmp/exit.csv" --format json
expect_json .failed 3
expect_json .not_used.unknown_end 1
run -C "$lab" result show tar@b --failed
expect_stdout 'failed: exit status 139' 'failed: exit status -6'
decides tar@a tar@b 3

what='CSV: ends of runs as words'
words='SIGSEGV timeout error crashed FAIL killed 0x8b broken'
# ends VERSION END...: a file of one version, with a result beside each end
ends() {
	version=$1
	shift
	{ echo application,version,machine,result,exit_status && printf "lz,$version,c1,1.0%s,%s\n" "$@"; } >"$tmp/ends.csv"
	import "$tmp/ends.csv" --format json
}
ends good 1 0 2 ok 3 Success 4 0.0 5 passed 6 -0
expect_json .results_added 6
ends bad 1 0 2 ok 3 success 4 0 5 SIGSEGV 6 timeout 7 error 8 crashed 9 FAIL 1 1.0
expect_json .results_added 4
expect_json .failed 6
ends unknown 1 0 2 '' 3 NaN 4 n/a
expect_json .not_used.unknown_end 3
import "$tmp/ends.csv"
printf 'application,version,machine,result,exit_status\nlz,word,c1,1,0\nlz,word,c1,1,broken pipe\n' >"$tmp/ends.csv"
import "$tmp/ends.csv"
expect_stdout 'failed        1 run without a result (first in line 3: exit status broken pipe)'
decides lz@good lz@bad 4
holds "$tmp/out" 'the reasons' runs_failed '6 of 10 runs of the candidate failed'

printf 'application,version,machine,time,exit_status,result\nsp,1,c1,2026-11-01, 0,1.5\nsp,1,c1,2026-11-02,\tok ,1.25\nsp,1,c1,2026-11-03, 7 ,1\nsp,1,c1,2026-11-04, ,1\nsp,1,c1,2026-11-05,0,\n' >"$tmp/spaces.csv"
import "$tmp/spaces.csv" --format json
expect_json .results_added 2
expect_json .failed 2
expect_json .not_used.unknown_end 1

what='CSV: failures with one repetition number are counted each, also when the file is imported again'
printf 'application,version,machine,repetition,exit_status,result\nrp,1,c1,1,0,1.5\nrp,1,c1,2,1,\nrp,1,c1,2,1,\nrp,1,c1,2,SIGSEGV,\n' >"$tmp/repeated.csv"
for again in 1 2; do
	import "$tmp/repeated.csv"
	run -C "$lab" result show rp --failed --format json
	expect_json '.failed[2].repetition' 2 '.failed[3]' '(nothing)'
done

what='CSV: runs count by row on both sides, whatever the repetition numbers'
awk 'BEGIN { print "application,version,machine,repetition,exit_status,result"
	for (i = 0; i < 48; i++) print "mask,1,c1,1," (i % 12 == 0) "," (i % 12 ? 1 + i % 5 / 100 : "")
	for (i = 0; i < 48; i++) print "mask,2,c1," i + 1 "," (i % 12 < 4) "," (i % 12 < 4 ? "" : 1 + i % 5 / 100) }' >"$tmp/mask.csv"
import "$tmp/mask.csv" --interleaved
run -C "$lab" gate mask@1 mask@2
expect_stdout '16 of 48 runs against 4 of 48'

what='CSV: a cost of 0 is no failure, a rate of 0 is'
printf 'application,version,machine,result,direction\nmisses,1,c1,5,lower\nmisses,1,c1,0,lower\nrate,1,c1,5,higher\nrate,1,c1,0,higher\n' >"$tmp/zero.csv"
import "$tmp/zero.csv" --format json
expect_json .not_used.zero 2 .failed 0
run -C "$lab" result show misses --failed --format json
expect_json '.failed[0]' '(nothing)'
run -C "$lab" result show rate --failed --format json
expect_json '.failed[0].detail' 'the result is 0, which has no ratio'

run -C "$lab" result export "$tmp/own" # assay's own table: what failed there has neither a result nor, mostly, an exit status
run init "$tmp/again"
run -C "$tmp/again" result import "$tmp/own/executions.csv" --columns 'time=taken_ms,result=metric,ignore=*' --format json
expect_json .failed 46
expect_json .rows 0

what='hyperfine: exit codes'
cat >"$tmp/h.json" <<'E2'
{"results": [
 {"command": "all", "times": [3, 3.1], "exit_codes": [0, 0]},
 {"command": "dies", "times": [3, 3.1, 3.2], "exit_codes": [0, null, 7]},
 {"command": "short", "times": [3, 3.1, 3.2], "exit_codes": [0, 0]},
 {"command": "long", "times": [3], "exit_codes": [0, 0]},
 {"command": "null", "times": [3], "exit_codes": null},
 {"command": "empty", "times": [3], "exit_codes": []},
 {"command": "silent", "times": [3, 3.1]}]}
E2
import "$tmp/h.json" --machine h1 --version 1
expect_status 0
expect_stdout '5 results of several applications, such as all@1' 'failed        2 runs without a result' \
	'6: the file does not say how the run ended (first in results[2].times[0]: short: it has 3 times and 2 exit codes)' \
	'exit codes    missing for 2 runs: whether they failed is not known'
run -C "$lab" result show dies@1 --failed --format json
expect_json '.failed[0].outcome' killed
expect_json '.failed[1].detail' 'exit status 7'
run -C "$lab" result show dies@1 --format json
expect_json '.results[0].repetition' 1

what='Google Benchmark: errors, skipped repetitions, values that are none'
benchmarks '{}' '{"error_occurred": true, "error_message": "no device", "real_time": 0}' '{"skipped": true, "skip_message": "no\nlock", "real_time": 0}' '{}' \
	'{"error_occurred": false, "skipped": false}' '{"real_time": "@"}' '{"real_time": 0.0}' '{"real_time": -3}'
sed -i 's/"@"/-NaN/' "$tmp/g.json"
import "$tmp/g.json" --version 1 --format json
expect_json .rows 5
expect_json .failed 3
expect_json .results_added 3
expect_json .not_used.zero 1
expect_json .not_used.negative 1
run -C "$lab" result show BM_a@1 --failed
expect_stdout 'repetition 2: no_metric: no device' 'repetition 3: no_metric: no?lock' 'repetition 6: no_metric: its result is not a finite number' 'repetition 8: no_metric: the result is negative'
import "$tmp/g.json" --version 1 --format json
expect_json .results_known 3
run -C "$lab" result list --format json
expect_json '.applications[0].failed' 4

what='failures leave with the tables, and move with their machine'
run -C "$lab" result export "$tmp/tables"
holds "$tmp/tables/executions.csv" 'a table' 'zip,none,,c1' ',no_metric,' 'dies,1,,h1'
run -C "$lab" host rename h1 h2
expect_status 0
run -C "$lab" result show dies@1 --failed --format json
expect_json '.failed[0].machine' h2

# ---- one bad row ----

what='Google Benchmark: rows that make no sense'
benchmarks '{}' '{"name": 3, "run_name": null}' '{"real_time": null}' '{"real_time": "12"}' '{"time_unit": "h"}' '{"run_name": "a@b"}' '{"run_name": ""}' '{}'
sed -i 's/"benchmarks": \[/&7, null, {"name": "BM_a", "name": "BM_b"}, {"counter": NaN, "other": -Infinity, "third": 1e999, "name": "BM_n", "real_time": 5, "time_unit": "s"}, /' "$tmp/g.json"
import "$tmp/g.json" --version 2 --format json
expect_status 0
expect_json .results_added 3
expect_json .not_used.bad_row 7
expect_json .not_used.bad_name 2
import "$tmp/g.json" --version 2
expect_stdout 'such as BM_n@2' '7: the row cannot be read (first in benchmarks[0]: it is no object with a name)' \
	"2: a name cannot be used (first in benchmarks[9]: the name 'a@b' has an '@', which separates the version: change it"

what='Google Benchmark before 1.5: aggregates without run_type'
cat >"$tmp/old.json" <<'E2'
{"context": {"date": "2018-05-06 07:08:09"}, "benchmarks": [
{"name": "BM_merge/8", "iterations": 5, "real_time": 4, "time_unit": "us"}, {"name": "BM_merge/8", "iterations": 5, "real_time": 6, "time_unit": "us"},
{"name": "BM_merge/8_mean", "iterations": 2, "real_time": 5, "time_unit": "us"}, {"name": "BM_merge/8_median", "iterations": 2, "real_time": 5, "time_unit": "us"},
{"name": "BM_merge/8_stddev", "iterations": 2, "real_time": 1, "time_unit": "us"}, {"name": "BM_merge_BigO", "cpu_coefficient": 1, "real_coefficient": 2, "big_o": "NlgN", "time_unit": "us"},
{"name": "BM_merge_RMS", "cpu_coefficient": 1, "real_coefficient": 2, "rms": 3}, {"name": "BM_arithmetic_mean", "iterations": 5, "real_time": 9, "time_unit": "us"},
{"name": "BM_only_mean", "real_time": 5, "time_unit": "us"}, {"name": "BM_only_median", "real_time": 5, "time_unit": "us"}, {"name": "BM_only_stddev", "real_time": 5, "time_unit": "us"}]}
E2
import "$tmp/old.json" --machine g2 --version 1
expect_stdout '3 results of several applications, such as BM_merge/8@1' '8 aggregates computed by the tool'
run -C "$lab" result show BM_merge/8@1 --format json
expect_json .results 2
run -C "$lab" result show BM_arithmetic_mean@1 --format json
expect_json .results 1
printf '{"context": {}, "benchmarks": [{"name": "x_mean", "run_name": "x", "run_type": "aggregate", "real_time": 1, "time_unit": "s"}]}' >"$tmp/means.json"
import "$tmp/means.json" --machine g2
refused 6 'means.json has no measurement but aggregates' '--benchmark_report_aggregates_only'

what='CSV: rows that are broken'
printf 'application,version,machine,result\r\nls,1,c1,2\r\nls,1,c1\r\nls,1,c1,3,4\r\nls,1,,5\r\n"ls,1,c1,6\r\nls,1,c1,"7"x\r\nls,1,c1,\377\r\nl@s,1,c1,8\r\nls,1,c1,9\r\n' >"$tmp/broken.csv"
import "$tmp/broken.csv" --format json
expect_json .results_added 2
expect_json .not_used.bad_row 4
expect_json .not_used.bad_name 2
import "$tmp/broken.csv"
expect_stdout '2 results of ls@1' '4: the row cannot be read (first in line 3: 3 fields where the header has 4)' '(first in line 5: it does not name the machine'

what='options that this file has no use for'
import "$tmp/broken.csv" --metric user
refused 2 "has a metric 'user'"
import "$tmp/h.json" --machine h1 --metric user
refused 2 "has a metric 'user'"
import "$tmp/g.json" --columns result=x
refused 2 'g.json has no columns: it was read as Google Benchmark'
import "$tmp/h.json" --machine h1 --columns result=mean
refused 2 'h.json has no columns: it was read as hyperfine'
printf 'application,machine,result,size\nsz,c1,2,3\n' >"$tmp/size.csv"
for columns in name=size,ignore=size ignore=result name=size,name=size version=size,name=size; do
	import "$tmp/size.csv" --columns "$columns"
	refused 2 'two meanings'
done

what='dates without hyphens'
printf 'application,version,machine,time,result\nco,1,m,20261101,1\nco,1,m,202611021530,2\nco,1,m,20261301,3\nco,1,m,20260230,4\n' >"$tmp/compact.csv"
import "$tmp/compact.csv" --format json
expect_json .results_added 2
expect_json .not_used.bad_timestamp 2
run -C "$lab" result show co@1 --format json
expect_json '.results[0].taken_ms' 1793491200000
expect_json '.results[1].taken_ms' 1793633400000

what='dates'
printf 'application,time,machine,result\ncp,2025-02-29,m,1\ncp,2025-02-28 23:59,m,2\ncp,1790899200.25,m,3\ncp,2026-01-01T00:00:00+02:00,m,4\ncp,,m,5\ncp,31.12.2025,m,6\ncp,1971-01-01,m,7\n' >"$tmp/dates.csv"
import "$tmp/dates.csv" --version 1
expect_stdout '4 results of cp@1' "3: the time cannot be read, or is in the future (first in line 2: '2025-02-29' is neither a date" 'give the time with --time TIME'
run -C "$lab" result show cp@1 --format json
expect_json '.results[0].taken_ms' 31536000000
expect_json '.results[1].taken_ms' 1740787140000
expect_json '.results[2].taken_ms' 1767218400000
expect_json '.results[3].taken_ms' 1790899200250
import "$tmp/dates.csv" --version 2 --time 2026-03-04T05:06
expect_stdout '7 results of cp@2'
import "$tmp/dates.csv" --version 2 --time yesterday
refused 2 "'yesterday' is not a time"
printf '{"context": {"date": "05/06/18 07:08:09"}, "benchmarks": [{"name": "BM_d", "real_time": 4, "time_unit": "us"}]}' >"$tmp/date.json"
import "$tmp/date.json" --machine g2
refused 6 'none of its 1 rows' "benchmarks[0]: '05/06/18 07:08:09' is neither" '--time TIME'
import "$tmp/date.json" --machine g2 --time 1525590489
expect_status 0
printf '{"context": {}, "benchmarks": [{"name": "BM_e", "real_time": 4, "time_unit": "us"}]}' >"$tmp/date.json"
import "$tmp/date.json" --machine g2
expect_status 0

printf 'application,time,machine,result\nmv,2033-01-01,m,1\nmv,2026-01-01,m,2\nmv,1e10,m,3\nmv,9999999999,m,4\n' >"$tmp/dates.csv"
import "$tmp/dates.csv" --version 1
expect_stdout '1 result of mv@1' "3: the time cannot be read, or is in the future (first in line 2: '2033-01-01' is in the future"
import "$tmp/dates.csv" --version 2 --time 2026-03-04
expect_stdout '4 results of mv@2'
import "$tmp/dates.csv" --version 2 --time 2033-03-04
refused 2 "--time: '2033-03-04' is in the future"
printf 'application,machine,result\nrm,m,1\n' >"$tmp/late.csv"
touch -d 2033-01-01 "$tmp/late.csv"
import "$tmp/late.csv"
refused 6 'is in the future; give the time with --time TIME'

what='names that cannot be used'
long=$(printf '%0201d' 0)
cat >"$tmp/names.json" <<E2
{"results": [
 {"command": "curl me@host", "times": [1, 2]}, {"command": "a\nb", "times": [3]}, {"command": "$long", "times": [4]}, {"command": "", "times": [5]}, {"command": "good", "times": [6]}]}
E2
import "$tmp/names.json" --machine m --version names
expect_stdout '1 result of good@names' "5: a name cannot be used (first in results[0].times[0]: the name 'curl me@host' has an '@', which separates the version: change 'command' in the file, or measure with hyperfine -n NAME)"
import "$tmp/names.json" --machine m --version a@b
refused 2 "'a@b' cannot be the name of a version: it has an '@'"
for fault in 'a	b|has a line break or another control character' "$long|is longer than 200 bytes"; do
	printf 'application,version,machine,result\nx,"%s",m,1\n' "${fault%|*}" >"$tmp/names.csv"
	import "$tmp/names.csv"
	refused 6 "line 2: the version '" "${fault#*|}: change it in the file"
done
printf 'application,machine,result\nx, m,1\n' >"$tmp/names.csv"
import "$tmp/names.csv"
refused 6 "a machine's name must not start or end with a blank: ' m'" '--machine NAME'

what='files without times are known by their content'
# known FILE NEW KNOWN: a copy of the file, later, has that many results
known() {
	nth=$((${nth:-0} + 1))
	cp "$tmp/$1" "$tmp/known"
	touch -d "2026-02-01 00:00:$nth" "$tmp/known"
	import "$tmp/known" --machine m --version k --format json
	expect_json .results_added "$2"
	expect_json .results_known "$3"
}
printf '{"results": [{"command": "h", "times": [1, 1, 2], "exit_codes": [0, 0, 0]}, {"command": "i", "times": [1, 2], "exit_codes": [0, 1]}]}' >"$tmp/h.json"
printf '{"context": {}, "benchmarks": [{"name": "BM_k", "real_time": 4, "time_unit": "us"}, {"name": "BM_k", "real_time": 4, "time_unit": "us"}]}' >"$tmp/k.json"
printf '<PhoronixTestSuite><Result><Title>k</Title><Scale>s</Scale><Proportion>LIB</Proportion><Data><Entry><Identifier>p1</Identifier><RawString>7:7:8</RawString></Entry></Data></Result></PhoronixTestSuite>' >"$tmp/k.xml"
known h.json 4 0
known h.json 0 4
known k.json 2 0
known k.json 0 2
known k.xml 3 0
known k.xml 0 3
run -C "$lab" result list --format json
holds "$tmp/out" 'the failed run of i, once' '"failed": 1,'
printf 'application,version,result\n' >"$tmp/k.csv"
old=0
for night in 1 2 3; do
	printf "g,v$night,%s\n" 1.0 1.1 1.0 nan >>"$tmp/k.csv"
	known k.csv 3 $old
	old=$((old + 3))
	known k.csv 0 $old
done
run -C "$lab" result list --format json
holds "$tmp/out" 'a failed run of each night, once' '"failed": 1,'
run -C "$lab" result show g@v2 --format json
expect_json .results 3
expect_json '.results[2].repetition' 3
tail=$(tail -n 4 "$tmp/k.csv") # the same values again, measured anew
printf '%s\n' "$tail" >>"$tmp/k.csv"
known k.csv 3 9
printf 'g,v3,1.2' >>"$tmp/k.csv" # as it is while rows are written
known k.csv 1 12
printf '5\ng,v' >>"$tmp/k.csv"
known k.csv 1 12
printf '3,"1.4"' >>"$tmp/k.csv"
known k.csv 1 13
printf '\r\n\ng,v3,1.5\r\n' >>"$tmp/k.csv"
known k.csv 1 14
known k.csv 0 15
import "$tmp/k.csv" --machine other --version k --format json
expect_json .results_added 15
import "$tmp/k.csv" --machine m --version k --time 2026-03-01 --format json
expect_json .results_added 15
sed 's/,1\.1$/,1.7/' "$tmp/k.csv" >"$tmp/changed.csv" # no start of it was imported
known changed.csv 15 0
# grown VERSION NEW KNOWN: the file of rows without versions, which is imported at each version
grown() {
	nth=$((nth + 1))
	touch -d "2026-02-01 00:00:$nth" "$tmp/grown.csv"
	import "$tmp/grown.csv" --machine m --version "$1" --format json
	expect_json .results_added "$2"
	expect_json .results_known "$3"
}
printf 'application,result\nw,1.0\nw,1.1\n' >"$tmp/grown.csv"
grown w1 2 0
printf 'w,1.0\nw,1.1\nw,nan\n' >>"$tmp/grown.csv"
grown w2 2 2
printf 'w,1.0\n' >>"$tmp/grown.csv"
grown w3 1 4
for version in 'w1 2' 'w2 2' 'w3 1'; do
	run -C "$lab" result show "w@${version% *}" --format json
	expect_json .results "${version#* }"
done
run -C "$lab" result show w@w2 --failed --format json
expect_json .failed 1
run -C "$lab" result show w@w3 --failed --format json
expect_json .failed 0
grown w4 1 4 # the rows that only the whole file has, under another version
printf 'application,result\nk,1.0\nk,1.1\n' >"$tmp/one.csv"
printf 'application,result\nk,1.0\nk,1.2\n' >"$tmp/two.csv"
known one.csv 2 0
known two.csv 2 0
known one.csv 0 2
import "$tmp/one.csv" --machine m --version k --time 2026-03-01 --format json
expect_json .results_added 2

what='encodings'
printf '\357\273\277{"results": [{"command": "bom", "times": [1], "exit_codes": [0]}]}' >"$tmp/bom.json"
import "$tmp/bom.json" --machine m --format json
expect_json .from hyperfine
expect_json .results_added 1
printf '\357\273\277application,machine,result\r\nbom2,m,1\r\n' >"$tmp/bom.csv"
import "$tmp/bom.csv"
expect_stdout '1 result of bom2'
for name in bom.json bom.csv p.xml; do
	echo '<PhoronixTestSuite/>' >"$tmp/p.xml"
	for code in UTF-16 UTF-16LE UTF-16BE UTF-32; do
		iconv -f UTF-8 -t $code "$tmp/$name" >"$tmp/wide"
		import "$tmp/wide" --machine m
		refused 2 'wide is UTF-16, not UTF-8' 'iconv'
	done
done
what='a string that is not UTF-8 costs its rows'
printf '{"context": {"executable": "C:\\x\\caf\351"}, "results": [{"command": "caf\351", "times": [1], "exit_codes": [0]}, {"command": "tea", "times": [1, 2], "exit_codes": [0, 0]}]}' >"$tmp/latin1.json"
import "$tmp/latin1.json" --machine m --version latin1
expect_stdout '2 results of tea@latin1' "1: a name cannot be used (first in results[0].times[0]: the name 'caf?' has characters that cannot be read (is the file UTF-8?)"
printf '{"benchmarks": [{"name": "A", "label": "\377", "real_time": 1, "time_unit": "s"}, {"name": "\\ud800", "real_time": 1, "time_unit": "s"}, {"name": "B", "real_time": 1, "time_unit": "s"}]}' >"$tmp/latin1.json"
import "$tmp/latin1.json" --machine m --version latin1 --format json
expect_json .results_added 1
expect_json .not_used.bad_name 2
printf '[{"command": "x"}]' >"$tmp/list.json"
import "$tmp/list.json" --machine m
refused 2 'list.json is JSON, but not of a supported tool' 'CSV, with the columns application'
printf '{"machine_info": {}, "benchmarks": [{"name": "test_x", "stats": {"data": [1]}}]}' >"$tmp/pytest.json"
import "$tmp/pytest.json"
refused 2 'pytest.json does not name the machine'
printf '<tests/>' >"$tmp/tests.xml"
import "$tmp/tests.xml" --machine m
refused 2 'tests.xml is XML, but not of a supported tool' 'write it as CSV'

what='CSV as spreadsheets and people write it'
printf 'application,result\nodd,"1,5"\nodd,1.5 s\nodd, 1.5\nodd,0x1p3\nodd,<3\nodd,2\nodd,1e999\nodd,SIGSEGV 11\n' >"$tmp/odd.csv"
import "$tmp/odd.csv" --machine m --version odd --format json
expect_json .results_added 1
expect_json .not_used.bad_number 5
expect_json .not_used.not_a_number 2
import "$tmp/odd.csv" --machine m --version odd
expect_stdout "5: the result is not a decimal number such as 1.5, without spaces and units (first in line 2: '1,5')"
run -C "$lab" result show odd@odd --failed --format json
expect_json .failed 2
for between in ';' '	' '|'; do
	printf "application%sresult\nodd%s1,5\n" "$between" "$between" >"$tmp/semicolons.csv"
	import "$tmp/semicolons.csv" --machine m
	refused 2 "semicolons.csv:1: no column 'result'" 'columns are separated by commas, and numbers have a decimal point'
done
printf 'sep=;\napplication;result\nodd;1,5\n' >"$tmp/semicolons.csv"
import "$tmp/semicolons.csv" --machine m
refused 2 'columns are separated by commas'
printf 'App,Seconds\nodd,1\n' >"$tmp/names.csv"
import "$tmp/names.csv" --machine m
refused 2 "names.csv:1: no column 'result' (there are: App, Seconds): give its column with --columns result=COLUMN"
printf 'application,result,,\nodd,1,,\n' >"$tmp/empty.csv"
import "$tmp/empty.csv" --machine m
refused 2 "the column '' has no meaning" "'ignore=*' ignores all such columns"
import "$tmp/empty.csv" --machine m --version empty --columns 'ignore=*' --format json
expect_json .results_added 1
printf 'application,result,\nodd,1,x\n' >"$tmp/empty.csv"
import "$tmp/empty.csv" --machine m --version empty --columns name= --format json
expect_json .results_added 1

what='standard input'
printf 'application,result\nin,1\n' >"$tmp/in.csv"
"$ASSAY" -C "$lab" result import - --machine m --format json <"$tmp/in.csv" >"$tmp/out" 2>"$tmp/err"
status=$?
expect_json .results_added 1
printf 'application,result\nin,1\n' | "$ASSAY" -C "$lab" result import - --machine m --format json >"$tmp/out" 2>"$tmp/err"
status=$?
expect_json .results_known 1

# ---- what distinguishes results ----

what='labels that are no texts'
printf '{"benchmarks": [{"name": "L", "label": 4, "real_time": 1, "time_unit": "s"}, {"name": "L", "label": 8.5, "real_time": 2, "time_unit": "s"}, {"name": "L", "label": true, "real_time": 3, "time_unit": "s"}, {"name": "L", "label": null, "real_time": 4, "time_unit": "s"}, {"name": "L", "label": {"a": 1}, "real_time": 5, "time_unit": "s"}]}' >"$tmp/labels.json"
import "$tmp/labels.json" --machine m --version labels
for name in 'L (4)' 'L (8.5)' 'L (true)' L 'L ({"a":1})'; do
	run -C "$lab" result show "$name@labels" --format json
	expect_json '.results' 1
done

what='words for success measure nothing, and are no failures'
cat >"$tmp/pass.xml" <<'E2'
<PhoronixTestSuite><Result><Title>One</Title><DisplayFormat>PASS_FAIL</DisplayFormat><Data><Entry><Identifier>m</Identifier><Value>PASS</Value></Entry></Data></Result>
<Result><Title>Many</Title><DisplayFormat>MULTI_PASS_FAIL</DisplayFormat><Data><Entry><Identifier>m</Identifier><Value>PASS,FAIL,PASS</Value></Entry></Data></Result>
<Result><Title>Monitor</Title><DisplayFormat>LINE_GRAPH</DisplayFormat><Data><Entry><Identifier>m</Identifier><Value>1,2,3</Value></Entry></Data></Result>
<Result><Title>Time</Title><Data><Entry><Identifier>m</Identifier><Value>3</Value></Entry></Data></Result></PhoronixTestSuite>
E2
import "$tmp/pass.xml" --version pass --format json
expect_json .results_added 1
expect_json .failed 1
expect_json .not_used.passed 3
expect_json .not_used.not_a_number 0
expect_json .not_used.bad_row 1
printf 'application,exit_status,result\nw,0,ok\nw,1,passed\nw,0,2\nw,0,error\n' >"$tmp/pass.csv"
import "$tmp/pass.csv" --machine m --version pass --format json
expect_json .results_added 1
expect_json .failed 2
expect_json .not_used.passed 1

what='hyperfine: parameters, and one name twice'
cat >"$tmp/p.json" <<'E2'
{"results": [
 {"command": "q", "times": [1, 1.1], "exit_codes": [0, 0], "parameters": {"size": "8", "delay": "0.1"}},
 {"command": "q", "times": [2, 2.1], "exit_codes": [0, 0], "parameters": {"delay": "0.2", "size": "8"}},
 {"command": "w", "times": [3, 3.1], "exit_codes": [0, 0]},
 {"command": "w", "times": [4, 4.1], "exit_codes": [0, 1]},
 {"command": "v", "times": [5], "exit_codes": [0], "parameters": {}}]}
E2
import "$tmp/p.json" --machine h1 --version 5
expect_stdout '5 results of several applications, such as q (delay=0.1, size=8)@5' \
	'4: it cannot be distinguished from another result of the file (first in results[2].times[0]: w)'
run -C "$lab" result show 'q (delay=0.2, size=8)@5' --format json
expect_json .results 2
expect_json '.results[0].metric' 2
import "$tmp/p.json" --machine h1 --version 5 --application job
run -C "$lab" result show 'job/q (delay=0.1, size=8)@5' --format json
expect_json .results 2

what='one application has one metric'
# metric VERSION DIRECTION RESULT...: a file of one version
metric() {
	version=$1 direction=$2
	shift 2
	{ echo application,version,machine,direction,result && printf "dd,$version,c1,$direction,%s\n" "$@"; } >"$tmp/metric.csv"
	import "$tmp/metric.csv" --interleaved
}
metric a higher 100 101 102 100 101
metric b higher 80 81 82 80 81
decides dd@a dd@b 3
metric c lower 5 6
refused 2 "metric.csv: the metric of 'dd' is 'result' (lower is better) here, but 'result' (higher is better) in its stored results" '--application NAME'
decides dd@a dd@b 3
metric c '' 99 98 # says nothing, and is taken as its application is
expect_status 0
decides dd@c dd@b 3
import "$tmp/metric.csv" --application other
expect_stdout '2 results of other@c' 'direction     not given for 1 application; assumed lower is better'
printf 'application,machine,user,wall,rate\nbz,m,1,2,3\n' >"$tmp/wide.csv"
import "$tmp/wide.csv" --columns 'result=wall,ignore=*' --version a
expect_status 0
import "$tmp/wide.csv" --columns 'result=user,ignore=*' --version b
refused 2 "the metric of 'bz' is 'user' (lower is better) here, but 'wall' (lower is better) in"
benchmarks '{"run_name": "BM_m", "cpu_time": 2, "items_per_second": 5}'
import "$tmp/g.json" --version a
expect_status 0
for other in cpu_time items_per_second; do
	import "$tmp/g.json" --version b --metric $other
	refused 2 "the metric of 'BM_m' is '$other'" "but 'real_time' (lower is better) in"
	import "$tmp/g.json" --version b --metric $other --application "$other/BM_m"
	expect_status 0
done

what='CSV: lower is better unless the file or a pattern of the laboratory says otherwise'
printf 'application,machine,result\nfio/read,m,1\nstream/copy,m,2\n' >"$tmp/fio.csv"
run init "$tmp/fio"
run -C "$tmp/fio" result import "$tmp/fio.csv"
expect_stdout "direction     not given for 2 applications; assumed lower is better (set it with a column 'direction')"
run -C "$tmp/fio" result list
expect_stdout 'fio/read     imported  lower' 'stream/copy  imported  lower'

what='Google Benchmark: labels, and one name registered twice'
benchmarks '{"label": "hot"}' '{"label": "cold"}' '{"label": "hot"}' '{"label": ""}' '{"run_name": "BM_t", "family_index": 1, "per_family_instance_index": 0}' \
	'{"run_name": "BM_t", "family_index": 2, "per_family_instance_index": 0}' '{"run_name": "BM_t", "family_index": 1, "per_family_instance_index": 0}'
import "$tmp/g.json" --version 6 --format json
expect_json .results_added 4
expect_json .not_used.alike 3
run -C "$lab" result show 'BM_a (hot)@6' --format json
expect_json .results 2
run -C "$lab" result show 'BM_a@6' --format json
expect_json .results 1
benchmarks '{"label": "hot"}' '{"label": "cold"}'
import "$tmp/g.json" --version 7 --application one
run -C "$lab" result show 'one (cold)@7' --format json
expect_json .results 1

what='CSV: columns without a meaning'
printf 'application,version,machine,threads,result,note\nsort,1,m,1,8,x\nsort,1,m,4,3,y\nsort,1,m,4,3.1,z\n' >"$tmp/t.csv"
import "$tmp/t.csv"
refused 2 "t.csv:1: the column 'threads' has no meaning" "--columns 'name=threads'" "'ignore=*' ignores all such columns"
import "$tmp/t.csv" --columns name=threads
refused 2 "the column 'note'"
import "$tmp/t.csv" --columns name=threads,ignore=note
expect_stdout '3 results of several applications, such as sort (threads=1)@1'
run -C "$lab" result show 'sort (threads=4)@1' --format json
expect_json .results 2
import "$tmp/t.csv" --columns 'ignore=*' --application all --version 1
run -C "$lab" result show 'all@1' --format json
import "$tmp/t.csv" --columns name=nothing
refused 2 "no column 'nothing'"

what='Phoronix Test Suite: two results of one name, in whatever order'
result() { # TITLE SCALE VALUES
	printf '<Result><Title>%s</Title><Scale>%s</Scale><Proportion>LIB</Proportion><Data><Entry><Identifier>p1</Identifier><RawString>%s</RawString></Entry></Data></Result>' "$@"
}
{ echo '<PhoronixTestSuite>' && result disk MB/s 7:8 && result disk ms 3:4 && result cpu s 5:5 && result cpu s 9:9 && result net s 6:x:7:; echo '</PhoronixTestSuite>'; } >"$tmp/1.xml"
{ echo '<PhoronixTestSuite>' && result disk ms 3:4 && result disk MB/s 7:8 && echo '</PhoronixTestSuite>'; } >"$tmp/2.xml"
import "$tmp/1.xml" --version 1 --format json
expect_json .results_added 6
expect_json .not_used.alike 4
expect_json .not_used.not_a_number 1
expect_json .failed 1
import "$tmp/2.xml" --version 2
expect_status 0
for version in 1 2; do
	run -C "$lab" result show "disk (ms)@$version" --format json
	expect_json '.results[1].metric' 4
done

what='rates of machines: columns without a meaning'
printf 'machine,time,stressor,rate,workers\nw1,2026-01-01,cpu,10,1\nw1,2026-01-01,cpu,20,2\n' >"$tmp/rates.csv"
run -C "$lab" host import "$tmp/rates.csv"
refused 2 "rates.csv:1: the column 'workers' has no meaning: make its values part of 'stressor'"
printf 'machine,time,stressor,rate\nw1,2026-01-01,cpu 1,10\nw1,2026-01-01,cpu 2,20\n' >"$tmp/rates.csv"
run -C "$lab" host import "$tmp/rates.csv" --format json
expect_json .rates_added 2
run -C "$lab" result export "$tmp/rates"
run init "$tmp/rates.lab"
run -C "$tmp/rates.lab" host import "$tmp/rates/machines.csv" --format json
expect_json .rates_added 2

what='Phoronix Test Suite: arguments distinguish results of one description, in one file and in two'
# ran ARGUMENTS APP_VERSION VALUES
ran() {
	printf '<Result><Title>zstd</Title><AppVersion>%s</AppVersion><Arguments>%s</Arguments><Description>Compress</Description><Scale>s</Scale><Proportion>LIB</Proportion><Data><Entry><Identifier>p1</Identifier><RawString>%s</RawString></Entry></Data></Result>' "$2" "$1" "$3"
}
long=$(printf '%0150d' 7)
{ echo '<PhoronixTestSuite>' && ran -b3 1.4 7:8 && ran -b19 1.4 3:4 && ran "-b3 $long" 1.4 1:1 && ran "-b19 $long" 1.4 2:2 && ran '' 1.4 5 && ran mail=a@b 1.4 6; echo '</PhoronixTestSuite>'; } >"$tmp/1.xml"
{ echo '<PhoronixTestSuite>' && ran -b22 1.4 9:9; echo '</PhoronixTestSuite>'; } >"$tmp/2.xml"
{ echo '<PhoronixTestSuite>' && ran -b22 1.5 6:6:6; echo '</PhoronixTestSuite>'; } >"$tmp/3.xml"
import "$tmp/1.xml" --version same --format json
expect_json .results_added 10
expect_json .not_used.alike 0
expect_json .not_used.bad_name 0
import "$tmp/2.xml" --version same --format json
expect_json .results_added 2
run -C "$lab" result list
expect_stdout 'zstd/Compress (-b3, s)' 'zstd/Compress (-b19, s)' 'zstd/Compress (-b22, s)' 'zstd/Compress (s)' 'zstd/Compress (arguments '
run -C "$lab" result show 'zstd/Compress (-b19, s)@same' --format json
expect_json .results 2
what='Phoronix Test Suite: the version of the program, where the user names none'
for n in 2 3; do
	import "$tmp/$n.xml"
	expect_status 0
done
run -C "$lab" result show 'zstd/Compress (-b22, s)@1.4' --format json
expect_json .results 2
run -C "$lab" result show 'zstd/Compress (-b22, s)@1.5' --format json
expect_json .results 3
finish
