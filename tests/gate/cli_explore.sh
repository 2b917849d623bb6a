# The page about a catalog as a user makes it; tests/gate/cli_report_look.sh opens it in a browser.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# explore NAME LAB ARGUMENTS...: the page $tmp/NAME.html.
explore() {
	page=$tmp/$1.html
	what="explore $1"
	lab=$2
	shift 2
	run -C "$lab" explore -o "$page" "$@"
	expect_status 0
	expect_no_stderr
}

says_not() {
	cases=$((cases + 1))
	if grep -qF -e "$1" "$page"; then fail "the page should not have: $1"; fi
}

make_package "$tmp/many" 8 12
lab_of many
many=$tmp/many.lab

# ---- usage ----

what='explore without a file'
run -C "$many" explore
refused 2 '--output FILE is required'
what='explore with a word too many'
run -C "$many" explore -o "$tmp/x.html" same
refused 2 "unexpected argument 'same'"
what='an application that does not exist'
run -C "$many" explore -o "$tmp/x.html" --app app/slo@1.0
refused 2 'app/slow'
what='an application of several versions'
run -C "$many" explore -o "$tmp/x.html" --app same
refused 2 '1.0' '1.1'
what='into a directory that does not exist'
run -C "$many" explore -o "$tmp/no/x.html"
refused 1 "$tmp/no"
what='nothing was written'
cases=$((cases + 1))
[ ! -e "$tmp/x.html" ] || fail 'a page was left behind'
what='explore --help'
run explore --help
expect_stdout 'Examples:' 'assay explore -o machines.html --app hpccg'

# ---- pages ----

explore many "$many"
expect_stdout '8 machines of 8 hardware types, 12 stressors, effective rank 1.' "$page"
says "default-src 'none'" 'id="variability"' 'id="correlation"' 'id="components"' 'id="profiles"' 'node08' '>slow@<' '>same@<'
says '<th role="columnheader" scope="col" class="corner"><span>Stressor</span>' '<th role="rowheader" scope="row">s01</th><td role="cell" class="num h10">+1.00'
says_not 'other versions of applications'
says_not 'have nothing to do with each other'

explore chosen "$many" --app same@1.1 --app app/slow@1.0 --app same@1.1 --format json
expect_json_parses
expect_json .file "$page"
expect_json .machines 8
expect_json .hardware_types 8
expect_json .stressors 12
expect_json ".applications[0].application" same
expect_json ".applications[1].version" 1.0
expect_json .applications 2
says '--app same@1.1 \' 'app/'
says_not '1.0</bdi>, '

make_package "$tmp/three" 3 5
lab_of three
explore three "$tmp/three.lab"
says '3 machines that differ in about 1 thing' 'not identifiable' 'too_few_types' 'some 33 look correlated'
make_package "$tmp/one" 1 5
lab_of one
explore one "$tmp/one.lab"
says 'One machine: there is nothing to compare it with'
run init "$tmp/empty.lab"
explore empty "$tmp/empty.lab"
expect_stdout '0 machines of 0 hardware types'
says 'No machine of this catalog has a fingerprint' 'assay fingerprint'

# ---- who is retired is out ----

what='a machine that is retired'
cp -R "$many" "$tmp/retired.lab"
run -C "$tmp/retired.lab" catalog retire node08 --reason sold
expect_status 0
explore retired "$tmp/retired.lab"
expect_stdout '7 machines of 7 hardware types'
says '1 retired machine' 'no longer in use'

# ---- the same data, the same bytes; no larger than need be; nothing from elsewhere ----

what='the same data'
cp -R "$many" "$tmp/elsewhere"
run -C "$tmp/elsewhere" explore -o "$tmp/again.html"
expect_same_files "$tmp/many.html" "$tmp/again.html"
make_package "$tmp/large" 50 43
mkdir "$tmp/bare" # without applications: their profiles are another matter
awk -F, 'NR == 1 || $5 == "stressng"' "$tmp/large/results.csv" >"$tmp/bare/results.csv"
lab_of bare
explore bare "$tmp/bare.lab"
says 'No application has results'
cases=$((cases + 1))
bytes=$(wc -c <"$page")
[ "$bytes" -lt 1000000 ] || fail "a page of 50 machines and 43 stressors has $bytes bytes"
echo "50 machines and 43 stressors: $bytes bytes"
what='nothing is loaded'
cases=$((cases + 1))
if grep -qiE '(src|href)="[^#]|url\(|@import|https?:' "$page"; then fail 'the page refers to something outside'; fi

finish
