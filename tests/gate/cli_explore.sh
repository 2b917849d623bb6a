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
what='into a directory that does not exist'
run -C "$many" explore -o "$tmp/no/x.html"
refused 1 "$tmp/no"
what='nothing was written'
cases=$((cases + 1))
[ ! -e "$tmp/x.html" ] || fail 'a page was left behind'
what='explore --help'
run explore --help
expect_stdout 'assay explore -o machines.html'

# ---- pages ----

explore many "$many"
expect_stdout 'hardware types       8' 'stressors            12' 'effective rank       1.' "$page"
says "default-src 'none'" 'id="variability"' 'id="correlation"' 'id="components"' 'node08'
says '<th role="columnheader" scope="col" class="corner"><span>Stressor</span>' '<th role="rowheader" scope="row">s01</th><td role="cell" class="num h10">+1.00'

explore json "$many" --format json
expect_json_parses
expect_json .file "$page"
expect_json .machines 8
expect_json .hardware_types 8
expect_json .stressors 12
expect_json .groups 1

make_package "$tmp/three" 3 5
lab_of three
explore three "$tmp/three.lab"
says '3 machines that differ in about 1 thing'
make_package "$tmp/one" 1 5
lab_of one
explore one "$tmp/one.lab"
says 'One machine: there is nothing to compare it with'
run init "$tmp/empty.lab"
explore empty "$tmp/empty.lab"
expect_stdout 'machines             0'
says 'No machine of this catalog has a fingerprint' 'assay fingerprint'

# ---- who is retired is out ----

what='a machine that is retired'
cp -R "$many" "$tmp/retired.lab"
run -C "$tmp/retired.lab" host retire node08 --reason sold
expect_status 0
explore retired "$tmp/retired.lab"
expect_stdout 'machines             7' 'hardware types       7'
says '1 retired machine' 'no longer in use'

# ---- the same data, the same bytes; no larger than need be; nothing from elsewhere ----

what='the same data'
cp -R "$many" "$tmp/elsewhere"
run -C "$tmp/elsewhere" explore -o "$tmp/again.html"
expect_same_files "$tmp/many.html" "$tmp/again.html"
make_package "$tmp/large" 50 43
lab_of large
explore large "$tmp/large.lab"
cases=$((cases + 1))
bytes=$(wc -c <"$page")
[ "$bytes" -lt 1000000 ] || fail "a page of 50 machines and 43 stressors has $bytes bytes"
echo "50 machines and 43 stressors: $bytes bytes"
what='nothing is loaded'
cases=$((cases + 1))
if grep -qiE '(src|href)="[^#]|url\(|@import|https?:' "$page"; then fail 'the page refers to something outside'; fi

finish
