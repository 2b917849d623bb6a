# The report, and the page about a catalog, as a browser shows them: at two widths, in light and dark, and without scripts.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip 'no browser to open the report in (sh tests/install test brings chromium)'

. "$ASSAY_SOURCE/tests/lib_look.sh"

# report NAME BASELINE CANDIDATE: the page $tmp/NAME.html from the package $tmp/NAME.
report() {
	what="report $1"
	run init "$tmp/$1.lab"
	import_package "$tmp/$1.lab" "$tmp/$1"
	expect_status 0
	run -C "$tmp/$1.lab" report "$2" "$3" -o "$tmp/$1.html"
	expect_status 0
}

make_package "$tmp/plain" 8 12
report plain app/slow@1.0 app/slow@1.1
look plain
expect_layout
at_most screen-light decision-bottom 800 # in one screen
at_most phone-light interval-bottom 620
for frame in phone-light screen-dark no-script; do
	expect_fact $frame badge regression
	expect_fact $frame machines 8
done
expect_fact screen-light sorts yes
expect_fact no-script sorts 'no button'

# Names from outside that would like to be markup, and very long ones.
mkdir "$tmp/hostile"
awk -F, -v OFS=, 'NR == 1 { print; next }
{ $6 = "\"</script><b onload=\"\"x\"\">" $6 "\"" }
$5 == "app" { $5 = "</title></style><b onload=x>"; $8 = "a"; for (i = 0; i < 12; i++) $8 = $8 "averylongword" }
{ print }' "$tmp/plain/results.csv" >"$tmp/hostile/results.csv"
name="</title></style><b onload=x>/a$(printf 'averylongword%.0s' 1 2 3 4 5 6 7 8 9 10 11 12)"
report hostile "$name@1.0" "$name@1.1"
look hostile
expect_layout
expect_fact screen-light machines 8
expect_fact screen-light sorts yes

what='the page about a catalog'
run -C "$tmp/hostile.lab" host list --format html
expect_status 0
cp "$tmp/out" "$tmp/explore.html"
look explore
expect_layout catalog,variability,correlation,components,fingerprints,left-out
expect_fact phone-light badge '8 machines that differ in about 1 thing'
for frame in phone-dark screen-light no-script; do
	expect_fact $frame marks 8
	expect_fact $frame dots 96
	expect_fact $frame cells 144
done
expect_fact screen-light sorts yes
expect_fact screen-light reads yes

mkdir "$tmp/apart"
awk -F, 'NR == 1 || $5 == "stressng" || ($6 <= "node04") == ($10 == "1.0")' "$tmp/plain/results.csv" >"$tmp/apart/results.csv"
report apart app/slow@1.0 app/slow@1.1
look apart
expect_layout decision,ratios,time,fingerprints,left-out,method
expect_fact phone-light badge nothing_measured
expect_fact phone-light machines 0

finish
