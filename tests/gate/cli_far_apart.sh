# Results that are as far apart as they may be (0 < result <= 1e100): every command that computes with them says what it can, as text without
# "inf" and "nan" and as JSON, or refuses; none dies.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

# One stressor that follows the machine and 14 machines, in two versions: `steep` from 1e-99 to 1e83, `far` alternately 1e-300 and 1e99.
mkdir "$tmp/package"
awk -v header="$HEADER" '
function noise() { seed = (seed * 16807) % 2147483647; return 1 + .02 * (seed / 2147483647 - .5) }
function row(benchmark, m, pass, test, value, version) {
	printf "url,abc,me,1500000000,%s,node%02d,%d,%s,%.9g,%s\n", benchmark, m, pass, test, value * noise(), version
}
BEGIN {
	seed = 4711
	print header ",version"
	for (m = 1; m <= 14; m++)
		for (pass = 1; pass <= 2; pass++) {
			for (j = 1; j <= 3; j++)
				row("stressng", m, pass, "s" j, (100 + 40 * m + (m * j * 7) % 13) * j, "")
			row("app", m, pass, "x", 10 ^ (13 * m - 99), "steep")
			row("app", m, pass, "x", m % 2 ? 1e-300 : 1e99, "far")
		}
}' >"$tmp/package/results.csv"
lab_of package
lab=$tmp/package.lab

# finite FILE: no number in it is none.
finite() {
	cases=$((cases + 1))
	! grep -qE '(^|[^[:alnum:]])(inf|nan)($|[^[:alnum:]])' "$1" || fail "'inf' or 'nan' in $(basename "$1")"
}

# both STATUS ARGUMENTS...: for people and for programs.
both() {
	expected=$1
	shift
	what="$*"
	run -C "$lab" "$@"
	expect_status "$expected"
	finite "$tmp/out"
	finite "$tmp/err"
	run -C "$lab" "$@" --format json
	expect_status "$expected"
	expect_json_parses
}

for version in steep far; do
	both 0 profile "app/x@$version"
	both 0 profile "app/x@$version" --model paper
	both 0 suggest "app/x@$version"
	both 0 predict "app/x@$version" --machine node03
done
both 6 gate app/x@steep app/x@far
both 6 gate app/x@far app/x@steep
both 0 host list --types
run -C "$lab" host list --format html
cp "$tmp/out" "$tmp/catalog.html"
finite "$tmp/catalog.html"
both 0 report app/x@steep app/x@far -o "$tmp/report.html"
finite "$tmp/report.html"

what='a prediction without an upper limit'
run -C "$lab" predict app/x@far --machine node03
expect_stdout 'without an upper limit'
run -C "$lab" predict app/x@far --machine node03 --format json
expect_json .low 0
expect_json .high null

finish
