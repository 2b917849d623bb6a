# Pages in a browser, behind lib_cli.sh, for scripts that have found one as $browser.

# browse FILE: what it is once its scripts are done. Without the browser's sandbox, which root and containers do not have: the page is ours.
browse() {
	HOME=$tmp timeout -k 5 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
		--disable-background-networking --allow-file-access-from-files --user-data-dir="$tmp/profile" --enable-logging=stderr \
		--virtual-time-budget=5000 --dump-dom "file://$1" </dev/null
}

# look NAME: opens $tmp/NAME.html in all frames of report_probe.html; facts into $tmp/out, what the console said into $tmp/err.
look() {
	what="$1 in a browser"
	rm -rf "$tmp/look"
	mkdir "$tmp/look"
	cp "$ASSAY_SOURCE/tests/gate/report_probe.html" "$tmp/look/probe.html"
	cp "$tmp/$1.html" "$tmp/look/page.html"
	browse "$tmp/look/probe.html" >"$tmp/look/dom" 2>"$tmp/look/log"
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
	sections=${1:-decision,ratios,time,fingerprints,left-out,method}
	for frame in phone-light phone-dark screen-light screen-dark no-script; do
		expect_fact $frame sections "$sections"
		expect_fact $frame scrolls-sideways no
		expect_fact $frame too-wide 0
		case $frame in phone-*) [ "$(fact $frame unreachable-links)" = 'no links' ] || expect_fact $frame unreachable-links 0 ;; esac
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
