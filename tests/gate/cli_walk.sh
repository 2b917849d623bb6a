# The walk down the ranking of stressors, as published.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

make_package "$tmp/package" 8 12
healthy_lab "$tmp/package"

what='the walk: a uniform slowdown does not show, and other noise does'
run -C "$lab" gate app/slow@1.0 app/slow@1.0 --method walk
expect_status 0
expect_stdout pass 'the method of the quiho paper' 'no stressor'
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --method walk --epsilon 100 --format json
expect_status 0
expect_json .method walk
expect_json .decision pass
expect_json .epsilon 100
expect_json .stopped_at null
expect_json '.reasons[0].code' profiles_alike
expect_json '.reasons[1].code' as_published
run -C "$lab" gate app/slow@1.0 same@1.0 --method walk --epsilon 0 --format json
expect_status 3
expect_json .decision regression
expect_json '.reasons[0].code' profiles_differ
run -C "$lab" gate app/slow@1.0 same@1.0 --method walk --epsilon 0
expect_status 3
expect_stdout 'stopped here'

what='options of the other method'
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --epsilon 5
refused 2 '--method walk'
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --method walk --min-effect .1
refused 2 --min-effect
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --method wlak
refused 2 wlak 'ratio, walk or cost'
run -C "$lab" gate app/slow@1.0 app/slow@1.1 --method ratio
expect_status 3

what='no fingerprints, no walk'
grep -v stressng "$tmp/package/results.csv" >"$tmp/none.csv"
mkdir "$tmp/none"
mv "$tmp/none.csv" "$tmp/none/results.csv"
run init "$tmp/bare"
import_package "$tmp/bare" "$tmp/none"
expect_status 0
run -C "$tmp/bare" gate app/slow@1.0 app/slow@1.1 --method walk
refused 6 fingerprint

finish
