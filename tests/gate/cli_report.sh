# The report as a user makes it, and as a browser shows it.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# report NAME LAB BASELINE CANDIDATE: the page $tmp/NAME.html, whatever the decision.
report() {
	page=$tmp/$1.html
	what="report $1"
	run -C "$2" report "$3" "$4" -o "$page"
	expect_status 0
	expect_no_stderr
	cases=$((cases + 1))
	[ "$(wc -l <"$tmp/out")" -eq 1 ] || fail 'one line expected'
	expect_stdout "$page"
}

# ---- usage ----

make_package "$tmp/many" 8 12
lab_of many
lab=$tmp/many.lab
what='report without a file'
run -C "$lab" report app/slow@1.0 app/slow@1.1
refused 2 '--output FILE is required'
what='report of one version'
run -C "$lab" report app/slow@1.0 -o "$tmp/x.html"
refused 2 'CANDIDATE'
what='report of an application that does not exist'
run -C "$lab" report app/slow@1.0 app/slo@1.1 -o "$tmp/x.html"
refused 2 'app/slow'
what='report into a directory that does not exist'
run -C "$lab" report app/slow@1.0 app/slow@1.1 -o "$tmp/no/x.html"
refused 1 "$tmp/no"
what='nothing was written'
cases=$((cases + 1))
[ ! -e "$tmp/x.html" ] || fail 'a page was left behind'
what='report --help'
run report --help
expect_stdout 'Example:' 'assay report myapp@1.0 myapp@1.1 -o report.html'

# ---- decisions; all end with 0 ----

report regression "$lab" app/slow@1.0 app/slow@1.1
expect_stdout 'regression  app/slow@1.0 -> app/slow@1.1'
says 'data-decision="regression"' 'node01' "default-src 'none'" 'data-code="slower"' '>Inferred from how the machines differ<' 'kind of change'
report pass "$lab" same@1.0 same@1.1
expect_stdout 'pass  '
what='report --min-effect, --format json'
run -C "$lab" report app/slow@1.0 app/slow@1.1 -o "$tmp/lenient.html" --min-effect 0.9 --format json
expect_status 0
expect_json .decision pass
expect_json .file "$tmp/lenient.html"
make_package "$tmp/one" 1 5
lab_of one
report one "$tmp/one.lab" app/slow@1.0 app/slow@1.1
says 'data-code="these_machines_only"' 'on these machines'
mkdir "$tmp/once"
awk -F, 'NR == 1 || $7 == 1' "$tmp/one/results.csv" >"$tmp/once/results.csv"
lab_of once
report once "$tmp/once.lab" app/slow@1.0 app/slow@1.1
says 'data-decision="inconclusive"' 'no interval'
mkdir "$tmp/bare"
grep -v stressng "$tmp/many/results.csv" >"$tmp/bare/results.csv"
lab_of bare
report bare "$tmp/bare.lab" app/slow@1.0 app/slow@1.1
says 'data-decision="regression"' 'None of these results has a fingerprint'
mkdir "$tmp/apart"
awk -F, 'NR == 1 || $5 == "stressng" || ($6 <= "node04") == ($10 == "1.0")' "$tmp/many/results.csv" >"$tmp/apart/results.csv"
lab_of apart
report apart "$tmp/apart.lab" app/slow@1.0 app/slow@1.1
expect_stdout 'nothing_measured'
says 'data-decision="nothing_measured"' 'the candidate has no result there'

# ---- the same data, the same bytes; no larger than need be; nothing from elsewhere ----

what='the same data'
cp -R "$lab" "$tmp/elsewhere"
run -C "$tmp/elsewhere" report app/slow@1.0 app/slow@1.1 -o "$tmp/again.html"
expect_same_files "$tmp/regression.html" "$tmp/again.html"
make_package "$tmp/large" 24 43
lab_of large
report large "$tmp/large.lab" app/slow@1.0 app/slow@1.1
cases=$((cases + 1))
bytes=$(wc -c <"$page")
[ "$bytes" -lt 500000 ] || fail "a page of 24 machines and 43 stressors has $bytes bytes"
echo "24 machines and 43 stressors: $bytes bytes"
what='nothing is loaded'
cases=$((cases + 1))
if grep -qiE '(src|href)="[^#]|url\(|@import|https?:' "$page"; then fail 'the page refers to something outside'; fi

finish
