# The report, and the page about a catalog, as a browser shows them: at two widths, in light and dark, and without scripts.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip 'no browser to open the report in (sh tests/install test brings chromium)'

# report NAME BASELINE CANDIDATE: the page $tmp/NAME.html from the package $tmp/NAME.
report() {
	what="report $1"
	run init "$tmp/$1.lab"
	run -C "$tmp/$1.lab" import quiho "$tmp/$1"
	expect_status 0
	run -C "$tmp/$1.lab" report "$2" "$3" -o "$tmp/$1.html"
	expect_status 0
}

# look NAME: opens $tmp/NAME.html in all frames of report_probe.html; facts into $tmp/out, what the console said into $tmp/err.
look() {
	what="$1 in a browser"
	rm -rf "$tmp/look"
	mkdir "$tmp/look"
	cp "$ASSAY_SOURCE/tests/gate/report_probe.html" "$tmp/look/probe.html"
	cp "$tmp/$1.html" "$tmp/look/page.html"
	# Without its sandbox, which root and containers do not have: the page is ours.
	HOME=$tmp/look timeout -k 5 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
		--allow-file-access-from-files --user-data-dir="$tmp/look/profile" --enable-logging=stderr \
		--dump-dom "file://$tmp/look/probe.html" >"$tmp/look/dom" 2>"$tmp/look/log" </dev/null
	status=$?
	expect_status 0
	sed -n '/<pre id="facts">/,/<\/pre>/p' "$tmp/look/dom" | grep -v pre >"$tmp/out"
	# That scripts do not run in the frame without scripts is as it should be.
	grep CONSOLE "$tmp/look/log" | grep -v 'Blocked script execution' >"$tmp/err"
	expect_no_stderr
}

# fact FRAME NAME: its value.
fact() {
	sed -n "s/^$1 $2 //p" "$tmp/out"
}

expect_fact() {
	cases=$((cases + 1))
	value=$(fact "$1" "$2")
	[ "$value" = "$3" ] || fail "$1: $2 is '$value', expected '$3'"
}

# at_most FRAME NAME LIMIT; at_least alike: the first word is a number.
at_most() {
	cases=$((cases + 1))
	fact "$1" "$2" | awk -v limit="$3" '{ ok = $1 <= limit } END { exit !ok }' || fail "$1: $2 is $(fact "$1" "$2"), at most $3 expected"
}

at_least() {
	cases=$((cases + 1))
	fact "$1" "$2" | awk -v limit="$3" '{ ok = $1 >= limit } END { exit !ok }' || fail "$1: $2 is $(fact "$1" "$2"), at least $3 expected"
}

# What holds for every page, in every frame. $1: its sections, where they are not those of a report.
expect_layout() {
	sections=${1:-decision,ratios,moves,time,profiles,fingerprints,conditions,left-out,method}
	for frame in phone-light phone-dark screen-light screen-dark no-script; do
		expect_fact $frame sections "$sections"
		expect_fact $frame scrolls-sideways no
		expect_fact $frame too-wide 0
		case $frame in phone-*) expect_fact $frame unreachable-links 0 ;; esac
		at_most $frame overlaps 0
		at_most $frame misaligned 0
		expect_fact $frame bad-references 0
		expect_fact $frame broken-scales 0
		expect_fact $frame levels-skip no
		expect_fact $frame unnamed-images 0
		expect_fact $frame foreign 0
		at_least $frame contrast 4.5
		at_least $frame smallest-text 12
	done
	expect_fact phone-light width 390
	expect_fact phone-dark scheme dark
	expect_fact screen-light width 1280
	expect_fact screen-light scheme light
	expect_fact screen-dark scheme dark
}

make_package "$tmp/plain" 8 12
report plain app/slow@1.0 app/slow@1.1
look plain
expect_layout
at_most screen-light decision-bottom 800 # in one screen
at_most phone-light interval-bottom 620
for frame in phone-light screen-dark no-script; do
	expect_fact $frame badge Regression
	expect_fact $frame machines 8
	expect_fact $frame cells 96
	expect_fact $frame bars 4
done
expect_fact screen-light sorts yes
expect_fact screen-light reads yes
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
run -C "$tmp/hostile.lab" explore -o "$tmp/explore.html"
expect_status 0
look explore
expect_layout catalog,variability,correlation,battery,components,profiles,conditions,left-out,method
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
expect_layout
expect_fact phone-light badge 'Nothing measured'
expect_fact phone-light machines 0

finish
