#!/bin/sh
# Decisions in the formats of other programs, each read by a program that others wrote for it: Debian's, also where there is another python3.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

command -v xmllint >/dev/null && command -v cmark-gfm >/dev/null && command -v prometheus-node-exporter >/dev/null && /usr/bin/python3 -c 'import jsonschema, junitparser, prometheus_client' 2>/dev/null ||
	skip 'the readers of the formats are missing: sh tests/install test'
make_package "$tmp/package" 8 12
# A name that means something in every one of them.
sed -i 's/,slow,/,"s<l>o\&w""|`*_%::[x]\\",/' "$tmp/package/results.csv"
healthy_lab "$tmp/package"
slow='app/s<l>o&w"|`*_%::[x]\'
export slow tmp

# rendering FORMAT STATUS BASELINE CANDIDATE: in $tmp/out
rendering() {
	what="$1 of $4"
	run -C "$lab" gate "$3" "$4" --format "$1"
	expect_status "$2"
	expect_no_stderr
}

# reads PROGRAM...: it reads the answer and is content with it.
reads() {
	cases=$((cases + 1))
	"$@" <"$tmp/out" >"$tmp/read" 2>&1 || fail "$1: $(tail -n 3 "$tmp/read")"
}

rendering junit 3 "$slow@1.0" "$slow@1.1"
reads xmllint --noout -
reads /usr/bin/python3 -c '
import os, sys, junitparser
suites = junitparser.JUnitXml.fromstring(sys.stdin.read())
suite, = suites
case, = suite
assert suites.name == "assay gate" and suite.name == os.environ["slow"], suite.name
assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (1, 1, 0, 0)
assert case.name == "1.1 against 1.0" and case.classname == os.environ["slow"]
failure, = case.result
assert isinstance(failure, junitparser.Failure) and failure.type == "regression" and "costs 1.49" in failure.message, failure.message
assert "95 % interval" in case.system_out and "regression: " in case.system_out, case.system_out'
rendering junit 0 same@1.0 same@1.1
reads /usr/bin/python3 -c '
import sys, junitparser
suite, = junitparser.JUnitXml.fromstring(sys.stdin.read())
case, = suite
assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (1, 0, 0, 0) and not case.result'

rendering openmetrics 3 "$slow@1.0" "$slow@1.1"
reads /usr/bin/python3 -c '
import os, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
found = {f.name: f for f in parse(sys.stdin.read())}
ratio, = found["assay_cost_ratio"].samples
low, = found["assay_cost_ratio_low"].samples
assert ratio.labels == {"application": os.environ["slow"], "baseline": "1.0", "candidate": "1.1"}, ratio.labels
assert 1.4 < low.value < ratio.value < 1.6
assert found["assay_cost_ratio_level"].samples[0].value == .95
states = {s.labels["assay_decision"]: s.value for s in found["assay_decision"].samples}
assert found["assay_decision"].type == "gauge" and states.pop("regression") == 1 and not any(states.values()), states'
reads /usr/bin/python3 -c '
import sys
from prometheus_client.parser import text_string_to_metric_families as parse # what textfile collectors read
assert len(list(parse(sys.stdin.read()))) == 6'

# exported: Prometheus's node exporter takes $tmp/out by its textfile collector; what it says of it is in $tmp/out then.
exported() {
	mkdir -p "$tmp/textfile"
	cp "$tmp/out" "$tmp/textfile/assay.prom"
	: >"$tmp/exporter"
	prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory="$tmp/textfile" \
		--web.disable-exporter-metrics --web.listen-address=127.0.0.1:0 2>"$tmp/exporter" &
	exporter=$!
	/usr/bin/python3 - "$tmp/exporter" >"$tmp/out" <<'P' || fail "the node exporter: $(cat "$tmp/exporter")"
import re, sys, time, urllib.request
address = None
for _ in range(600):
    address = re.search(r"127\.0\.0\.1:\d\d+", open(sys.argv[1]).read())
    if address:
        break
    time.sleep(.1)
print(urllib.request.urlopen(f"http://{address[0]}/metrics", timeout=60).read().decode())
P
	kill "$exporter"
	wait "$exporter" 2>/dev/null || :
	holds "$tmp/out" 'the node exporter' 'node_textfile_scrape_error 0'
}
exported
holds "$tmp/out" 'the node exporter' 'assay_decision="regression"' 'assay_cost_ratio{'

rendering bencher 3 "$slow@1.0" "$slow@1.1"
reads /usr/bin/python3 -c '
import json, os, sys
(name, measures), = json.load(sys.stdin).items()
measure = measures["cost-ratio"]
assert name == os.environ["slow"] + "@1.1 (against 1.0)" and list(measures) == ["cost-ratio", "regression"]
assert measures["regression"] == {"value": 1}
assert 1.4 < measure["lower_value"] < measure["value"] < measure["upper_value"] < 1.6'

# Google Benchmark's own program for two results.
rendering google-benchmark 3 "$slow@1.0" "$slow@1.1"
if [ -f /usr/share/benchmark/compare.py ]; then
	cp "$tmp/out" "$tmp/google.json"
	reads /usr/bin/python3 /usr/share/benchmark/compare.py --no-color --no-utest filters "$tmp/google.json" baseline candidate
	holds "$tmp/read" "Google Benchmark's compare" '[baseline vs. candidate]/app/' '+0.4'
fi
reads /usr/bin/python3 -c '
import json, os, sys
baseline, candidate = json.load(sys.stdin)["benchmarks"]
assert baseline["name"] == "baseline/" + os.environ["slow"] + "@1.1 (against 1.0)" and baseline["real_time"] == 1
assert 1.4 < candidate["low"] < candidate["real_time"] < candidate["high"] < 1.6 and candidate["run_type"] == "iteration"'

rendering github 3 "$slow@1.0" "$slow@1.1"
# As GitHub's runner reads a line: properties up to "::", where %25 %0D %0A %3A %2C stand for what they may not hold.
reads /usr/bin/python3 -c '
import os, re, sys
line, = sys.stdin.read().splitlines()
level, title, text = re.fullmatch(r"::(\w+) title=([^:,]*)::(.*)", line).groups()
back = lambda s: s.replace("%0A", "\n").replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
assert level == "error" and back(title) == "assay: regression of " + os.environ["slow"], title
assert back(text).startswith("1.1 costs 1.49") and "\n- " in back(text), text'
rendering github 0 same@1.0 same@1.1
holds "$tmp/out" 'a pass' '::notice title=assay%3A pass of same::1.1 costs 0.99'

rendering markdown 3 "$slow@1.0" "$slow@1.1"
reads cmark-gfm --extension table --to xml
cp "$tmp/read" "$tmp/markdown.xml"
reads /usr/bin/python3 -c '
import os, xml.etree.ElementTree as tree
ns = "{http://commonmark.org/xml/1.0}"
root = tree.parse(os.environ["tmp"] + "/markdown.xml").getroot()
text = lambda node: "".join(t.text or "" for t in node.iter(ns + "text"))
heading, = root.iter(ns + "heading")
cells = [text(cell) for cell in root.iter(ns + "table_cell")]
assert text(heading) == "assay: 1 regression", text(heading)
assert cells[6:10] == ["regression", os.environ["slow"], "1.1", "1.0"], cells
assert any("slower" in text(item) or "costs" in text(item) for item in root.iter(ns + "item"))
assert not list(root.iter(ns + "html_inline")) and not list(root.iter(ns + "link"))'

rendering json 3 "$slow@1.0" "$slow@1.1"
rendering json 0 same@1.0 same@1.1

# Two nights of a branch that moved, of versions, and of one whose runs all failed.
night_of() { # ID COMMIT PREVIOUS
	{
		echo "PRAGMA foreign_keys = OFF; INSERT INTO night VALUES ('$1', 1500000000000, 0, 1500000090000, 3, '');"
		n=0
		while read -r candidate baseline against decision ratio reason lost; do
			n=$((n + 1))
			cat <<-END_OF_ROW
				INSERT INTO night_comparison (night, number, manifest, application, input, candidate, baseline, against, hosts, min_effect, budget_s,
					state, plan, fresh_plan, decision, detail, seconds) VALUES ('$1', $n, 'mix', 'mix', '', '$candidate', '$baseline', '$against', '', .03, 0,
					'decided', '${lost:+plan}', '', '$1$n', '$lost', 1);
				INSERT INTO decision (id, night, number, made_ms, application, baseline, candidate, rules, plan, fresh_plan, min_effect, decision,
					ratio, low, high, document) VALUES ('$1$n', '$1', $n, 1500000090000, 'mix', '$baseline', '$candidate', 1, '', '', .03, '$decision',
					$ratio, $ratio, $ratio, '{}');
				INSERT INTO decision_reason VALUES ('$1$n', 0, '$reason', '$reason of $candidate');
			END_OF_ROW
		done
	} <<-END_OF_NIGHT | sqlite3 "$lab/.assay/runs.db" || fail 'no night'
		main-$2 ok version pass 1.01 steady
		main-$2 main-$3 previous regression 1.2 slower
		main-$2 main-000000000000 accepted pass 1.01 steady
		main-$2 main-000000000000 release pass 1.01 steady
		main-111111111111 ok version pass 1.0 steady
		same ok version pass 1.0 steady gone: cannot connect
		slow ok version regression 1.7 slower
		crash ok version regression NULL candidate_always_fails
		unbuilt ok version nothing_measured NULL not_run
	END_OF_NIGHT
}
night_of aaaaaaaa 222222222222 333333333333
night_of bbbbbbbb 444444444444 222222222222
# of_night ID FORMAT: in $tmp/out
of_night() {
	what="$2 of a night"
	run -C "$lab" nightly show "$1" --format "$2"
	expect_no_stderr
}
keys_of() {
	/usr/bin/python3 -c '
import json, sys
pairs = []
def seen(found):
    assert len(dict(found)) == len(found), [k for k, v in found]
    return dict(found)
d = json.load(sys.stdin, object_pairs_hook=seen)
names = [b["name"] for b in d["benchmarks"]] if "benchmarks" in d else list(d)
assert len(set(names)) == len(names), names
print("\n".join(sorted(names)))'
}
for format in bencher google-benchmark; do
	for night in aaaaaaaa bbbbbbbb; do
		of_night $night $format
		reads keys_of
		cp "$tmp/out" "$tmp/$format.$night"
		# What is compared twice at one time has the commits, too.
		sed 's/222222222222\|333333333333\|444444444444/COMMIT/g' "$tmp/read" >"$tmp/$format.keys.$night"
	done
	expect_same_files "$tmp/$format.keys.aaaaaaaa" "$tmp/$format.keys.bbbbbbbb"
done
holds "$tmp/bencher.keys.bbbbbbbb" 'keys' 'mix@main (against previous)' 'mix@main (against accepted)' 'mix@main-COMMIT (against ok)' 'mix@main-111111111111 (against ok)' \
	'mix@slow (against ok)'

# names_of FORMAT: of test cases, or of series
names_of() {
	if [ "$1" = junit ]; then
		grep '<testcase' "$tmp/out"
	else
		sed -n '/assay_comparison_versions/d; s/^\([a-z_]*{.*}\) .*/\1/p' "$tmp/out"
	fi | sed 's/222222222222\|333333333333\|444444444444/COMMIT/g' | sort
}
for format in junit openmetrics; do
	for night in aaaaaaaa bbbbbbbb; do
		of_night $night $format
		names_of $format >"$tmp/$format.names.$night"
		[ "$(wc -l <"$tmp/$format.names.$night")" = "$(sort -u "$tmp/$format.names.$night" | wc -l)" ] || fail 'a name stands twice'
	done
	expect_same_files "$tmp/$format.names.aaaaaaaa" "$tmp/$format.names.bbbbbbbb"
done
holds "$tmp/junit.names.aaaaaaaa" 'names' 'name="main against previous"' 'name="main against accepted"' 'name="slow against ok"'
holds "$tmp/openmetrics.names.aaaaaaaa" 'names' 'baseline="previous",candidate="main"' 'baseline="accepted",candidate="main"'
of_night aaaaaaaa junit
holds "$tmp/out" 'properties' '<property name="candidate of main against previous" value="main-222222222222"/>' \
	'<property name="baseline of main against previous" value="main-333333333333"/>'
of_night aaaaaaaa openmetrics
holds "$tmp/out" 'versions' 'assay_comparison_versions{application="mix",baseline="previous",candidate="main",baseline_version="main-333333333333",candidate_version="main-222222222222"} 1'
of_night aaaaaaaa markdown
cases=$((cases + 1))
[ "$(grep -o '^| [*a-z_]*' "$tmp/out" | uniq | tr -d '|*\n')" = ' decision  regression nothing_measured pass' ] || fail "not the worst first: $(grep '^|' "$tmp/out")"

cp "$tmp/bencher.bbbbbbbb" "$tmp/out"
what='what has no ratio, for Bencher'
reads /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["mix@crash (against ok)"] == {"regression": {"value": 1}} and d["mix@same (against ok)"]["regression"] == {"value": 0}
assert not any("unbuilt" in key for key in d)'
cp "$tmp/google-benchmark.bbbbbbbb" "$tmp/out"
what="what has no ratio, for Google Benchmark's readers"
reads /usr/bin/python3 -c '
import json, sys
d = {b["name"]: b for b in json.load(sys.stdin)["benchmarks"]}
assert d["candidate/mix@crash (against ok)"]["error_occurred"] is True and "real_time" not in d["candidate/mix@crash (against ok)"]
assert "baseline/mix@crash (against ok)" not in d and "candidate/mix@unbuilt (against ok)" in d'

of_night aaaaaaaa junit
holds "$tmp/out" 'JUnit' 'message="regression: crash cannot be compared with ok: candidate_always_fails of crash"' '- gone: cannot connect'
reads /usr/bin/python3 -c '
import sys, junitparser
case, = (c for s in junitparser.JUnitXml.fromstring(sys.stdin.read()) for c in s if c.name == "same against ok")
error, = case.result
assert isinstance(error, junitparser.Error) and error.type == "hosts_lost" and error.message.startswith("pass, and hosts were lost: same costs"), error'
of_night aaaaaaaa github
holds "$tmp/out" 'GitHub' 'crash cannot be compared with ok: candidate_always_fails of crash' '%0A- gone: cannot connect' '::warning title=assay%3A pass of mix::same'
of_night aaaaaaaa markdown
holds "$tmp/out" 'Markdown' '## assay: 3 regressions, 1 nothing_measured, 5 pass; hosts were lost in 1 comparison' '| - | - |' '- gone: cannot connect'
grep -q -e '- to -' "$tmp/out" && fail 'an interval of nothing'
of_night aaaaaaaa human
holds "$tmp/out" 'the answer' '; hosts were lost in 1 comparison; night of 2017' 'mix@same: gone: cannot connect'
of_night aaaaaaaa openmetrics
reads /usr/bin/python3 -c '
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
found = {f.name: f for f in parse(sys.stdin.read())}
assert found["assay_night_exit_status"].samples[0].value == 3
assert found["assay_night_started_timestamp_seconds"].samples[0].value == 1500000000
assert found["assay_night_finished_timestamp_seconds"].samples[0].value == 1500000090
lost = {s.labels["candidate"]: s.value for s in found["assay_comparison_hosts_lost"].samples}
assert lost.pop("same") == 1 and len(lost) > 4 and not any(lost.values()), lost'
exported
holds "$tmp/out" 'the node exporter' 'baseline="accepted",candidate="main"' 'assay_night_exit_status 3'

what='into a file'
run -C "$lab" gate "$slow@1.0" "$slow@1.1" --format junit --output "$tmp/junit.xml"
expect_status 3
expect_no_stdout
rendering junit 3 "$slow@1.0" "$slow@1.1"
expect_same_files "$tmp/out" "$tmp/junit.xml"
run -C "$lab" gate same@1.0 same@1.1 --output "$tmp/no/file"
refused 1 "$tmp/no"
what='stacks of the difference'
run -C "$lab" gate same@1.0 same@1.1 --stacks "$tmp/imported.folded"
refused 6 'no machine has timed runs of both versions'
. "$ASSAY_SOURCE/tests/lib_run.sh"
run_lab stacks
run -C "$lab" run tiny --quiet
expect_status 0
run -C "$lab" gate tiny/x@a tiny/x@bb --stacks "$tmp/stacks.folded"
cases=$((cases + 1))
grep -Eqv '^tiny/x;[^;]+(;[^;]+)? [0-9]+ [0-9]+$' "$tmp/stacks.folded" && fail "no stack: $(head -n 2 "$tmp/stacks.folded")"
grep -Eq '^tiny/x;waiting [0-9]+ [0-9]+$' "$tmp/stacks.folded" || fail 'no waiting'
# drawn FILE: $tmp/out is the picture that a program makes of it
drawn() {
	cp "$1" "$tmp/out"
	reads perl $flamegraph
	cp "$tmp/read" "$tmp/out"
	reads xmllint --nonet --noout -
}
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
[ ! -f $flamegraph ] || drawn "$tmp/stacks.folded"

what='stacks by function'
for version in old new; do
	mkdir "$lab/apps/$version"
	cat >"$tmp/work.c" <<-END
		static volatile unsigned sink;
		__attribute__((noinline)) void same(long n) { for (long i = 0; i < n; i++) sink += (unsigned)i; }
		__attribute__((noinline)) void dearer(long n) { for (long i = 0; i < n; i++) sink ^= (unsigned)i; }
		int main(void)
		{
			same(300000000);
			dearer($([ $version = old ] && echo 120000000 || echo 600000000));
			return 0;
		}
	END
	gcc -O1 -g -o "$lab/apps/$version/work" "$tmp/work.c" || exit 1
done
printf '%s\n' "command: ['{build}/work']" 'versions: { old: { directory: old }, new: { directory: new } }' 'repetitions: 3' >"$lab/apps/work.yaml"
run -C "$lab" run work --quiet
expect_status 0
if sqlite3 "$lab/.assay/runs.db" 'SELECT signature FROM execution' | grep -q ' line '; then # the kernel allows samples
	run -C "$lab" gate work@old work@new --stacks "$tmp/functions.folded"
	cases=$((cases + 1))
	awk '$0 ~ /^work;computing;own code of work;same / { same = $(NF - 1) > 0 && $NF > 0 }
		$0 ~ /^work;computing;own code of work;dearer / { dearer = $NF > $(NF - 1) }
		END { exit !(same && dearer) }' "$tmp/functions.folded" || fail "no functions: $(cat "$tmp/functions.folded")"
	if [ -f $flamegraph ]; then
		drawn "$tmp/functions.folded"
		cases=$((cases + 1))
		# What costs more is drawn in red, as much so as it costs more; what costs the same in no colour.
		/usr/bin/python3 -c '
import re, sys
text = sys.stdin.read()
colour = {}
for name, rgb in re.findall(r"<title>(\w+) \(.*?fill=\"rgb\(([\d,]+)\)", text, re.S):
    colour[name] = [int(x) for x in rgb.split(",")]
red, green, blue = colour["dearer"]
assert red == 255 and green < 255 and green == blue, colour' <"$tmp/out" || fail 'what costs more is not drawn so'
	fi
fi

what='only of decisions'
run -C "$lab" result list --format junit
refused 2 'human, json or html'
finish
