# What a command stresses, held against programs whose parts time themselves (apps/composed.c): only loosely, for machines are busy.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
[ "$(uname -m)" = x86_64 ] || skip 'composed reads the time stamp counter of x86-64'
command -v gcc >/dev/null || skip 'there is no gcc'
gcc -O2 -pthread -o "$tmp/composed" "$ASSAY_SOURCE/tests/apps/composed.c" && mkdir "$tmp/files" || exit 1
export TMPDIR="$tmp/files"

# profile PART=WEIGHT...: half a second of that, as often as in a second; $sum of a column of the truth.
profile() {
	what=$*
	rm -f "$tmp/truth"
	run profile --here --budget 1 --format json -- "$tmp/composed" "$@" seconds=0.5 "truth=$tmp/truth"
	expect_status 0
	cases=$((cases + 1))
	[ "$(cut -d, -f1 "$tmp/truth" | uniq | wc -l)" = "$(json .runs)" ] || fail "$(json .runs) runs have not written as often: $(cut -d, -f1,2 "$tmp/truth" | tr '\n' ' ')"
}

# of PART COLUMN
of() {
	awk -F, -v part="$1" -v column="$2" '$2 == part { sum += $column } END { print sum + 0 }' "$tmp/truth"
}

# row LEVEL [NAME]: the first row of that level, of that name, in the answer: its number.
row() {
	for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		[ "$(json ".levels[$i].level")" = "$1" ] && [ "$(json ".levels[$i].name")" = "${2:-$(json ".levels[$i].name")}" ] && echo $i && return
	done
}

# leads TEXT...: one of these categories leads, where the kernel lets that be seen.
leads() {
	sampled || return
	name=$(json '.categories[0].name') || name=$(json ".levels[$(row category)].name")
	cases=$((cases + 1))
	case "|$(printf '%s|' "$@")" in *"|$name|"*) ;; *) fail "what leads is $name" ;; esac
}

sampled() {
	[ -n "$(json .samples)" ] && [ "$(json .samples)" != null ] && [ "$(json .samples)" -gt 30 ]
}

profile strings=1
expect_json '.levels[0].name' compute
cases=$((cases + 1))
awk -v calls="$(of strings 8)" -v cpu="$(of strings 4)" 'BEGIN { exit !(calls == 0 && cpu > .4) }' || fail "strings are $(cat "$tmp/truth")"
leads 'C library' 'string functions'

profile file-data=1
expect_json '.levels[0].name' kernel
cases=$((cases + 1))
awk -v calls="$(of file-data 8)" -v wall="$(of file-data 3)" 'BEGIN { exit !(calls > .8 * wall && calls <= wall) }' || fail "file data is $(cat "$tmp/truth")"
leads 'reading and writing' 'file data' 'other work'

# Shares come out as they were asked for, whatever else the machine does.
profile arithmetic=50 mapping=30 sleeping=20
cases=$((cases + 1))
awk -v a="$(of arithmetic 4)" -v m="$(of mapping 4)" 'BEGIN { exit !(a > 1.4 * m && a < 2 * m) }' || fail "five to three are $(of arithmetic 4) to $(of mapping 4) s"
cases=$((cases + 1))
awk -v s="$(of sleeping 3)" -v cpu="$(of sleeping 4)" 'BEGIN { exit !(cpu < .5 * s) }' || fail "sleeping is $(cat "$tmp/truth")"
cases=$((cases + 1))
share=$(json ".levels[$(row time compute)].share")
awk -v share="$share" 'BEGIN { exit !(share > .25 && share < .75) }' || fail "half computing is $share"

# Parts one after another are phases, in their order, each as long as its part; by turns they are none. Others' load may leave too few samples.
what='parts one after another'
rm -f "$tmp/truth"
run profile --here --budget 1 --format json -- "$tmp/composed" arithmetic=40 file-data=60 seconds=1.6 order=after "truth=$tmp/truth"
expect_status 0
if sampled && [ "$(json .samples)" -ge 150 ]; then
	expect_json '.phases[0].categories[0].name' 'own code of composed'
	cases=$((cases + 1))
	[ -z "$(json '.phases[2].from_s' 2>/dev/null)" ] ||
		fail "more than two phases: $(json .phases)"
	cases=$((cases + 1))
	awk -v share="$(json '.phases[0].share')" 'BEGIN { exit !(share > .32 && share < .48) }' || fail "the first of two, of .4, is $(json '.phases[0].share')"
	run profile --here --budget 1 --format json -- "$tmp/composed" arithmetic=40 file-data=60 seconds=1.6 "truth=$tmp/truth"
	cases=$((cases + 1))
	[ "$(json .phases)" = 0 ] || fail "phases where parts take turns: $(json .phases)"
fi

what='what is no part'
cases=$((cases + 1))
! "$tmp/composed" dreaming=1 2>"$tmp/err" >"$tmp/out" && grep -q 'usage: .* PART=WEIGHT' "$tmp/err" || fail 'no usage'
cases=$((cases + 1))
[ -z "$(ls -A "$tmp/files")" ] || fail "files are left: $(ls -A "$tmp/files")"
finish
