# The page about a catalog as a user makes it; tests/gate/cli_report_look.sh opens it in a browser.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# explore NAME LAB: the page $tmp/NAME.html.
explore() {
	page=$tmp/$1.html
	what="the page of $1"
	run -C "$2" host list --format html
	expect_status 0
	expect_no_stderr
	cp "$tmp/out" "$page"
}

make_package "$tmp/many" 8 12
lab_of many
many=$tmp/many.lab

# ---- pages ----

explore many "$many"
says "default-src 'none'" 'id="variability"' 'id="correlation"' 'id="components"' 'node08'
says '<th role="columnheader" scope="col" class="corner"><span>Stressor</span>' '<th role="rowheader" scope="row">s01</th><td role="cell" class="num h10">+1.00'

make_package "$tmp/three" 3 5
lab_of three
explore three "$tmp/three.lab"
says '3 machines that differ in about 1 thing'
make_package "$tmp/one" 1 5
lab_of one
explore one "$tmp/one.lab"
says 'One machine: there is no other machine to compare it with'
run init "$tmp/empty.lab"
explore empty "$tmp/empty.lab"
says 'No machine of this catalog has a fingerprint' 'assay host measure'

# ---- who is retired is out ----

what='a machine that is retired'
cp -R "$many" "$tmp/retired.lab"
run -C "$tmp/retired.lab" host retire node08 --reason sold
expect_status 0
explore retired "$tmp/retired.lab"
says '7 machines' '1 retired machine' 'no longer in use'

# ---- the same data, the same bytes; no larger than need be; nothing from elsewhere ----

what='the same data'
cp -R "$many" "$tmp/elsewhere"
run -C "$tmp/elsewhere" host list --format html
expect_same_files "$tmp/many.html" "$tmp/out"
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
