#!/bin/sh
# A night: from suite.yaml to decisions that are kept, told and verified.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
. "${ASSAY_SOURCE:?}/tests/lib_night.sh"

suite_of_two
mv "$lab/suite.yaml" "$tmp/suite.yaml"

what='no suite'
run -C "$lab" nightly run
refused 2 'suite.yaml' 'comparisons'

what='no nights yet'
run -C "$lab" nightly show --list
expect_status 0
run -C "$lab" nightly show
refused 2 'no nights yet'

mv "$tmp/suite.yaml" "$lab/suite.yaml"

what='a suite that contradicts the laboratory or itself'
for line in "{ application: bad, hosts: host9 }" "{ application: bad, candidates: [v2, v3, v2] }" "{ application: bad, against: [v1, v1] }" \
	"{ application: bad, budget: 9999999999999h }"; do
	printf 'comparisons:\n  - %s\nfingerprints: { battery: none }\n' "$line" >"$tmp/suite.yaml"
	cp "$lab/suite.yaml" "$tmp/good.yaml"
	cp "$tmp/suite.yaml" "$lab/suite.yaml"
	run -C "$lab" nightly run
	refused 2 'suite.yaml:2'
	cp "$tmp/good.yaml" "$lab/suite.yaml"
done

what='what an application has not got costs that application alone'
cp "$lab/suite.yaml" "$tmp/good.yaml"
printf '%s\n' 'comparisons:' '  - { application: worse }' '  - { application: bad, candidates: [v9, v2], against: [v7, v1] }' '  - { application: good, inputs: [x] }' \
	'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run --format json
expect_status 6
expect_json .decisions 5
expect_json .decisions[4].decision pass
expect_json .decisions[4].application bad
expect_json .decisions[4].baseline v1
holds "$tmp/out" 'the reasons' "suite.yaml:2: no application 'worse'" "suite.yaml:3: " "has no version 'v9'" "has no version 'v7'" \
	"suite.yaml:4: " "has no input 'x'"
id=$("$ASSAY" -C "$lab" nightly show --format json | /usr/bin/python3 -c '
import json, sys
print(next(d["id"] for d in json.load(sys.stdin)["decisions"] if d["candidate"] == "v9"))')
holds "$tmp/err" 'what is said at once' "not measured: suite.yaml:2: no application 'worse'" "bad.yaml' has no version 'v9' (did you mean 'v"
what='what comes next is a command that is taken'
run -C "$lab" explain "$id"
expect_stdout "Next: 'assay run bad --versions v9 --dry-run'"
run -C "$lab" run bad --versions v9 --dry-run
refused 2 "has no version 'v9'"
cp "$tmp/good.yaml" "$lab/suite.yaml"

what='a suite of which nothing is there is refused before the night begins'
begun=$(sqlite3 "$lab/.assay/runs.db" 'SELECT count(*) FROM night')
for line in "{ application: bad, candidates: [v9] } has no version 'v9' (did you mean 'v" "{ application: bad, against: v7 } has no version 'v7'" \
	"{ application: bad, against: acepted } has no version 'acepted' (did you mean 'accepted'?)" \
	"{ application: bad, candidates: smaller } has no version 'smaller' (known: " \
	"{ application: godo } no application 'godo' (did you mean 'good'?)" "{ application: good, inputs: [x] } has no input 'x'"; do
	printf 'comparisons:\n  - %s}\nfingerprints: { battery: none }\n' "${line%%\}*}" >"$lab/suite.yaml"
	run -C "$lab" nightly run
	refused 2 'suite.yaml:2' "${line#*\} }"
done
[ "$(sqlite3 "$lab/.assay/runs.db" 'SELECT count(*) FROM night')" = "$begun" ] || fail 'a night started'
cp "$tmp/good.yaml" "$lab/suite.yaml"

what='a suite that cannot be meant'
cp "$lab/suite.yaml" "$tmp/good.yaml"
echo 'comparisons: []' >"$lab/suite.yaml"
run -C "$lab" nightly run
refused 2 'suite.yaml:1' 'is empty, so that nothing would be compared'
printf '%s\n' 'comparisons: [{ application: good }]' 'fingerprints:' '  battery: nosuch' >"$lab/suite.yaml"
run -C "$lab" nightly run
refused 2 'suite.yaml:3' "no battery 'nosuch'" 'there are quick and paper'
cp "$tmp/good.yaml" "$lab/suite.yaml"

what='an answer that could not be written is refused before anything is measured'
begun=$(sqlite3 "$lab/.assay/runs.db" 'SELECT count(*) FROM night')
for place in "$tmp/no/where" "$tmp" /proc/where; do
	run -C "$lab" nightly run -f openmetrics -o "$place"
	refused 1 "cannot write '$place'"
done
[ "$(sqlite3 "$lab/.assay/runs.db" 'SELECT count(*) FROM night')" = "$begun" ] || fail 'a night started'

what='a laboratory that cannot be written'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod -R a+rX "$tmp"
	status=0
	setpriv --reuid 65534 --regid 65534 --clear-groups "$ASSAY" -C "$lab" nightly run >"$tmp/out" 2>"$tmp/err" || status=$?
	refused 1 'stores its results in the laboratory' 'must be writable'
fi

# Runs of the user's that were interrupted.
: >"$tmp/scratch/hold"
"$ASSAY" -C "$lab" run good --quiet >"$tmp/out" 2>&1 </dev/null &
victim=$!
for _ in $(seq 200); do
	[ "$(sqlite3 "$lab/.assay/runs.db" 'SELECT count(*) FROM plan' 2>/dev/null)" = 1 ] && break
	sleep .05
done
kill -KILL $victim
wait $victim 2>/dev/null
rm "$tmp/scratch/hold"

what='a night'
run -C "$lab" nightly run --format json
expect_status 3
cases=$((cases + 1))
grep -q 'interrupted' "$tmp/err" && fail "runs of others are no matter of a night's: $(grep interrupted "$tmp/err" | head -n 1)"
expect_json .decisions 3
expect_json .decisions[0].decision regression
expect_json .decisions[0].application bad
expect_json .decisions[0].candidate v3
expect_json .decisions[2].decision pass
expect_json .decisions[2].baseline v1
expect_json .decisions[0].machines 3
night=$(json .night)
decision=$(json .decisions[0].id)

what='findings are confirmed by fresh runs, beside a control'
run -C "$lab" result list --format json
expect_stdout 'v1+again'

what='its log'
log=$lab/.assay/night.log
cases=$((cases + 1))
[ "$(stat -c %a "$log")" = 600 ] || fail "the log's mode is $(stat -c %a "$log")"
holds "$log" 'the log' "$(printf %.8s "$night") 3 comparisons" 'measuring bad v3 against v1' 'confirming bad v3' "decided bad v3: regression ($decision)" \
	'ended with status 3'
cases=$((cases + 1))
grep -Evq '^20[0-9-]*T[0-9:]*Z ([0-9a-f]{8}|-) ' "$log" && fail "a line without its time: $(grep -Ev '^20[0-9-]*T' "$log" | head -n 1)"
dd if=/dev/zero bs=1024 count=1100 2>/dev/null | tr '\0' x >>"$log" # long ago

what='it is kept'
run -C "$lab" nightly show --format json
expect_status 3
expect_json .night "$night"
expect_json .decisions[0].id "$decision"
run -C "$lab" nightly show "$(printf %.6s "$night")" --fail-on environment,hosts
expect_status 0
run -C "$lab" nightly show --list --format json
expect_json .nights[0].night "$night"
expect_json .nights[0].exit_status 3
run -C "$lab" nightly show nothing
refused 2 "no night 'nothing'"

what='the pages of a night'
run -C "$lab" nightly pages "$night" -o "$tmp/pages" --format json
expect_status 0
expect_json .night "$night"
expect_json .pages 8 # three decisions, two applications, the night twice, and the list of nights
page=$tmp/pages/index.html
says 'Applications and machines' 'regression</span>' 'pass</span>' 'host1' "href=\"./$decision.html\"" 'href="./history-'
grep -o 'href="\./[^"]*' "$page" | cut -c 9- | sort -u >"$tmp/links"
while read -r link; do
	[ -f "$tmp/pages/$link" ] || fail "there is no $link"
done <"$tmp/links"
[ "$(wc -l <"$tmp/links")" = 6 ] || fail "$(wc -l <"$tmp/links") links"
page=$tmp/pages/$decision.html
says "href=\"./night-$night.html\"" 'regression' '(previous).'
cp -r "$tmp/pages" "$tmp/again"
run -C "$lab" nightly pages "$night" -o "$tmp/again"
expect_status 0
cmp -s "$tmp/pages/index.html" "$tmp/again/index.html" || fail 'the same night gives another page'
run -C "$lab" nightly pages
refused 2 '--output'
run -C "$lab" nightly pages -o "$tmp/no/where"
refused 1 'no/where'

what='a hook is run with each decision'
cp "$lab/suite.yaml" "$tmp/good.yaml"
echo 'pages: here' >>"$lab/suite.yaml"
echo "hook: [sh, -c, 'pwd >>\"\$0\"; echo \"\$1\" >>\"\$0\"; exit 3', '$tmp/told']" >>"$lab/suite.yaml"
run -C "$lab" nightly run --applications good --format json
expect_status 0
cases=$((cases + 1))
[ "$(cat "$tmp/told")" = "$(cd "$lab" && pwd -P)
$(json '.decisions[0].id')" ] || fail "the hook was told: $(cat "$tmp/told")"
holds "$tmp/err" 'a remark' "the hook 'sh' failed for decision" 'exit status 3'
[ -f "$lab/here/index.html" ] || fail 'the night has not written its pages'
cp "$tmp/good.yaml" "$lab/suite.yaml"

what='a long log becomes the one before'
cases=$((cases + 1))
[ "$(stat -c %s "$log")" -lt 100000 ] && [ "$(stat -c %s "$log.1")" -gt 1000000 ] || fail "$(ls -l "$lab/.assay")"
holds "$log" 'the log' "the hook 'sh' failed for decision"

what='a decision is explained'
run -C "$lab" explain "$(printf %.8s "$decision")"
expect_status 0
expect_stdout 'regression  bad@v3 costs 1.' 'runs of both versions, in turn, on 3 machines' 'the finding was confirmed' "Next: 'assay nightly pages $night -o pages'" "Its report is then pages/$decision.html"
run -C "$lab" explain "$decision" --format json
expect_json .application bad
expect_json .evidence.decision regression
run -C "$lab" explain none
refused 2 "no decision 'none'"

what='a decision is verified'
run -C "$lab" verify "$decision" --format json
expect_status 0
expect_json .verdict same
sqlite3 "$lab/.assay/runs.db" "CREATE TABLE kept AS SELECT * FROM run WHERE application = 'bad'; UPDATE run SET metric = metric * 1.000001 WHERE application = 'bad' AND version = 'v3'"
run -C "$lab" verify "$decision" --format json
expect_status 1
expect_json .verdict differs
expect_json .first_difference ratio
# by_rules RULES: as an assay with these rules would have kept it; $decision is its id then.
by_rules() {
	decision=$(/usr/bin/python3 - "$lab/.assay/runs.db" "$decision" "$1" <<'END_OF_SCRIPT'
import hashlib, re, sqlite3, sys
store, decision, rules = sys.argv[1:]
db = sqlite3.connect(store)
db.execute('PRAGMA foreign_keys = ON')
db.execute('UPDATE decision SET rules = ? WHERE id = ?', (rules, decision))
def text(x):
    if isinstance(x, float):
        return str(int(x)) if x == int(x) else re.sub('e-0*', 'e-', repr(x))
    return '' if x is None else str(x)
kept = ''
for table, of in (('', 'id'), ('_reason', 'decision'), ('_machine', 'decision'), ('_disturbed', 'decision'), ('_calibration', 'decision')):
    rows = db.execute(f'SELECT * FROM decision{table} WHERE {of} = ?' + (' ORDER BY number' if table not in ('', '_calibration') else ''), (decision,))
    left_out = ('id', 'made_ms') if not table else ('decision', 'number')
    for row in rows:
        kept += ''.join(text(x) + '\n' for x, column in zip(row, rows.description) if column[0] not in left_out)
id = hashlib.sha256(kept.encode()).hexdigest()[:16]
db.execute('UPDATE decision SET id = ? WHERE id = ?', (id, decision))
db.commit()
print(id)
END_OF_SCRIPT
	)
}
by_rules 2
run -C "$lab" verify "$decision"
expect_status 4
expect_stdout 'other rules  decided by rules of version 2; version 1 of this assay decides differently' "first difference at 'ratio'"
by_rules 1
sqlite3 "$lab/.assay/runs.db" "DELETE FROM run WHERE application = 'bad'; INSERT INTO run SELECT * FROM kept; DROP TABLE kept"
run -C "$lab" verify "$decision"
expect_status 0
expect_stdout 'same  ' 'regression'

what='a machine that has another name now is no forgery'
run -C "$lab" host rename host2 renamed
expect_status 0
run -C "$lab" verify "$decision"
expect_status 6
expect_stdout "not verifiable: machine 'host2' is called 'renamed' now" 'host rename'
run -C "$lab" host rename renamed host2
expect_status 0
run -C "$lab" verify "$decision"
expect_status 0

what='what was kept beside its document is verified, too'
while read -r column value; do
	sqlite3 "$lab/.assay/runs.db" 'DROP TABLE IF EXISTS kept' "CREATE TABLE kept AS SELECT * FROM decision" "UPDATE decision SET $column = $value WHERE id = '$decision'"
	run -C "$lab" verify "$decision" --format json
	expect_status 1
	expect_json .verdict differs
	expect_json .first_difference id
	sqlite3 "$lab/.assay/runs.db" 'DELETE FROM decision' 'INSERT INTO decision SELECT * FROM kept' 'DROP TABLE kept'
done <<'END_OF_COLUMNS'
decision 'improved'
application 'good'
baseline 'v9'
candidate 'v9'
ratio .5
low NULL
high high*1.0000000001
number 77
night 'elsewhere'
min_effect min_effect*1.0000000001
plan 'other'
cause 'nothing'
document replace(document,'"min_effect":','"min_effect": ')
END_OF_COLUMNS
run -C "$lab" verify "$decision"
expect_status 0

what='other renderings'
run -C "$lab" nightly show "$night" --format junit
expect_stdout '<failure'
cp "$tmp/good.yaml" "$lab/suite.yaml"

what='only some applications'
run -C "$lab" nightly run --applications 'goo*' --format json
expect_status 0
expect_json .decisions 1

finish
